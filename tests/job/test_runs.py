"""A job from run to run, without a crawl: what comes again, what is passed over, what
goes last.
"""

from __future__ import annotations

import os
import pickle
from types import SimpleNamespace

import pytest
import scrapy
from engine_slot import EngineSlot
from scrapy import Request, signals
from scrapy.exceptions import CloseSpider
from scrapy.exporters import PythonItemExporter
from scrapy.extensions.feedexport import FeedExporter
from scrapy.extensions.spiderstate import SpiderState
from scrapy.utils.request import RequestFingerprinter

from scrapy_mandelbot import JobScheduler
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.job import job as job_module
from scrapy_mandelbot.job.deliveries import FEW, bring_back
from scrapy_mandelbot.job.job import Job, JobError
from scrapy_mandelbot.job.job_store import StorageError
from scrapy_mandelbot.job.middleware import JobMiddleware
from scrapy_mandelbot.job.sqlite_job import SqliteJob

PAGE = "https://example.com/"


class Pages(scrapy.Spider):
    """Its callbacks are never called: a test gives what they would."""

    name = "queue"

    def parse(self, response):
        """Be the callback of requests that name none."""

    def other(self, response):
        """Be another callback."""


class Run:
    """A run of the job."""

    def __init__(self, crawler, clock) -> None:
        self.crawler, self.clock = crawler, clock
        crawler.spider = Pages()
        crawler.spider.crawler, crawler.spider.state = crawler, {}
        crawler.request_fingerprinter = RequestFingerprinter(crawler)
        states = [SpiderState.from_crawler(crawler)]
        crawler.extensions = SimpleNamespace(middlewares=states)
        crawler.engine._slot = EngineSlot()
        self._throttle = Crawl.of(crawler).throttle
        self.scheduler = JobScheduler.from_crawler(crawler)
        self.job = Job.of(crawler)
        JobMiddleware.from_crawler(crawler)
        self.scheduler.open(crawler.spider)
        self.told = crawler.stats.get_value
        self.is_over = False

    def start(self, *urls: str, **arguments) -> list[bool]:
        """Push requests of start(); return which of them are new."""
        return [self.give(self.job.start, url, **arguments) for url in urls]

    def give(self, parent, url: str, **arguments) -> bool:
        """Push a request that a parent yielded; return whether it is kept."""
        request = Request(PAGE + url, **arguments)
        return self.job.gives(parent, request) and self.scheduler.enqueue_request(
            request
        )

    def next(self) -> Request | None:
        """Take the next request, as the engine does that has it in its downloader."""
        request = self.scheduler.next_request()
        if request is not None:
            self.crawler.engine.downloader.active.add(request)
        return request

    def all(self) -> list[str]:
        """Take all that may be sent now; return what they are called."""
        return [request.url[len(PAGE) :] for request in iter(self.next, None)]

    def end(self, request: Request) -> None:
        """End a request: nothing is left to do for it."""
        self._throttle.release(self._throttle.flight_of(request))
        self.scheduler.finish_request(request)
        self.clock.turn(0)

    def send_back(self, request: Request) -> None:
        """Send a request back, as for a site that is paused."""
        flight = self._throttle.flight_of(request)
        self.scheduler.enqueue_request(self._throttle.send_back(flight))
        self.scheduler.finish_request(request)
        self.clock.turn(0)

    def send(self, signal, **arguments) -> list:
        """Send a signal; return what its receivers did."""
        send = self.crawler.signals.send_catch_log
        return [
            answer
            for _, answer in send(signal, spider=self.crawler.spider, **arguments)
        ]

    def die(self) -> None:
        """End as by a kill -9, when this turn of the loop is over."""
        self.clock.turn(0)
        self.close(self.job.release)
        self.clock.calls.clear()

    def close(self, how=None, reason: str = "shutdown") -> None:
        """End in good order, or otherwise."""
        if not self.is_over:
            self.is_over = True
            self._throttle.close()
            (how or (lambda: self.scheduler.close(reason)))()


@pytest.fixture
def run(make_crawler, clock, tmp_path):
    """Start a run."""
    runs = []

    def start(**settings) -> Run:
        folder = str(tmp_path / "job")
        crawler = make_crawler(JOBDIR=folder, MANDELBOT_STORE="memory", **settings)
        runs.append(Run(crawler, clock))
        return runs[-1]

    yield start
    for one in runs:
        one.close()


def test_requests_in_flight_at_a_kill_are_sent_again(run):
    """What was settled does not; what waited is as it was."""
    first = run()
    first.start("1", "2", "3", "4")
    done, _ = first.next(), first.next()
    first.end(done)
    first.die()
    second = run()
    assert len(second.scheduler) == 3
    assert second.scheduler.has_pending_requests()
    left = second.all()
    assert len(left) == 2, "the one in flight goes last, when the others have ended"
    second.close()
    assert len(run().scheduler) == 3


@pytest.mark.parametrize("reason", ["finished", "shutdown", "job_set_aside", "died"])
def test_a_resumed_run_skips_the_start_requests_of_the_last_one(run, reason):
    """As often as it was given; a run after one that has finished asks for it anew."""
    first = run()
    assert first.start("1", "1", "2", dont_filter=True) == [True, True, True]
    for request in iter(first.next, None):
        first.end(request)
    first.die() if reason == "died" else first.close(reason=reason)
    second = run()
    is_new = reason in {"finished", "job_set_aside"}
    assert second.start("1", "2", "1", dont_filter=True) == [is_new] * 3
    assert second.start("1", "3", dont_filter=True) == [True, True]
    assert second.told("mandelbot/job/passed_over", 0) == (0 if is_new else 3)


def test_requests_of_an_interrupted_callback_are_skipped(run):
    """Those that no fingerprint stops, once each; what it had not given is new."""
    first = run()
    first.start("parent")
    parent = first.job.called(first.next())
    assert [first.give(parent, "a", dont_filter=True) for _ in range(2)] == [True, True]
    first.job.saves.now()
    first.die()
    second = run()
    assert sorted(second.all()) == ["a", "a"]
    second.close()
    third = run()
    requests = [third.next() for _ in range(2)]
    for request in requests:
        third.end(request)
    (parent,) = iter(third.next, None)
    one = third.job.called(parent)
    given = [third.give(one, "a", dont_filter=True) for _ in range(3)]
    assert given == [False, False, True]
    assert third.give(one, "b", dont_filter=True)
    third.end(parent)
    assert sorted(third.all()) == ["a", "b"]


def test_a_page_sent_back_after_its_callback_yields_all_requests_again(run):
    """It is called once more in this run, and what it gave was counted for the call
    before.
    """
    first = run()
    first.start("parent")
    request = first.next()
    assert first.give(first.job.called(request), "a", dont_filter=True)
    first.job.saves.now()
    first.send_back(request)
    first.job.saves.now()
    first.die()
    second = run()
    parent = next(one for one in iter(second.next, None) if one.url.endswith("parent"))
    assert second.give(second.job.called(parent), "a", dont_filter=True)


def test_a_page_is_settled_only_after_its_unserializable_requests(run):
    """A kill before that has ended brings the page back; its end ends both."""
    first = run()
    first.start("parent")
    parent = first.next()
    assert first.give(first.job.called(parent), "child", callback=lambda response: None)
    assert first.told("mandelbot/job/in_memory") == 1
    first.end(parent)
    first.die()
    second = run()
    assert len(second.scheduler) == 1
    parent = second.next()
    second.give(second.job.called(parent), "child", callback=lambda response: None)
    second.end(parent)
    child = second.next()
    assert child.url == PAGE + "child"
    second.end(child)
    assert not second.give(second.job.start, "child"), "it was seen"
    second.die()
    third = run()
    assert len(third.scheduler) == 0
    assert not third.give(third.job.start, "child"), "also by the next run"


def test_a_sent_request_is_committed_before_its_callback_runs(run):
    """A commit is made for that, and none where it is known."""
    first = run()
    first.start("1", "2")
    request = first.next()
    deliveries = first.job.deliveries
    first.job.saves.now()
    assert len(deliveries.sent) == 1
    commits = []
    first.job.before_commits(lambda: commits.append(None))
    first.job.begins(request)
    first.job.begins(Request(PAGE))
    first.job.begins(None)
    assert commits == []
    other = first.next()
    first.job.saves.error = StorageError("full")
    first.job.begins(other)
    assert commits == [], "it is tried again by its timer"
    first.job.saves.error = None
    first.job.begins(other)
    assert len(commits) == 1
    assert len(deliveries.sent) == 2
    first.job.begins(other)
    assert len(commits) == 1
    first.end(request)
    assert len(deliveries.sent) == 1
    first.send_back(other)
    first.job.saves.now()
    assert deliveries.sent == set()


def waits_in_its_slot(run: Run, request: Request):
    """Let a request wait in its download slot; return what ends that."""
    downloader = run.crawler.engine.downloader
    downloader.send(request)
    queue = downloader.slots[downloader.get_slot_key(request)].queue
    queue.append((request, None))
    return queue.clear


def test_a_request_that_is_not_sent_has_no_part_in_a_death(run, clock):
    """Three runs die while it waits for its turn; the fourth sends it in its place."""
    first = run()
    first.start("waits", "later")
    for number in range(3):
        one = run() if number else first
        waits_in_its_slot(one, one.next())
        clock.turn(5)
        one.die()
    last = run()
    assert last.told("mandelbot/job/set_aside") is None
    assert sorted(last.all()) == ["later", "waits"]


def test_a_request_has_a_part_in_a_death_from_when_it_is_sent(run, clock):
    """The job notes it within a second: its download may kill the process."""
    first = run()
    first.start("kills")
    for number in range(3):
        one = run() if number else first
        leaves = waits_in_its_slot(one, one.next())
        clock.turn(5)
        leaves()
        clock.turn(1)
        one.die()
    last = run()
    assert last.next() is None
    assert last.told("mandelbot/job/set_aside") == 1


def test_nothing_is_written_while_a_request_only_waits(run, clock, monkeypatch):
    """However often the job looks whether it is sent."""
    one = run()
    one.start("waits")
    waits_in_its_slot(one, one.next())
    clock.turn(5)
    commits = []
    monkeypatch.setattr(one.job.store, "commit", lambda: commits.append(clock.now()))
    clock.turn(60)
    assert commits == []


def test_a_page_that_kills_each_run_is_set_aside_after_three(run, caplog):
    """It is told, the run does not end as finished, and it comes back when it is
    brought back.
    """
    first = run()
    first.start("kills", "well")
    (kills,) = [one for one in iter(first.next, None) if one.url.endswith("kills")]
    first.job.begins(kills)
    for request in list(first.job.storage.unacked):
        if request is not kills:
            first.end(request)
    first.die()
    for _ in range(2):
        again = run()
        assert len(again.scheduler) == 1
        again.job.begins(again.next())
        again.die()
    last = run()
    assert last.next() is None
    assert len(last.scheduler) == 0
    assert last.told("mandelbot/job/set_aside") == 1
    assert "3 runs have died with it" in caplog.text
    assert PAGE + "kills" in caplog.text
    answers = last.send(signals.spider_idle, dont_log=CloseSpider)
    assert [one.value.reason for one in answers if one is not None] == ["job_set_aside"]
    last.close(reason="job_set_aside")
    path = last.job.store.path
    for wanted, found in ((False, 0), (True, 1)):
        store = SqliteJob(path)
        assert len(bring_back(store, lambda *_, wanted=wanted: wanted)) == found
        store.commit()
        store.close()
    after = run()
    assert after.told("mandelbot/job/set_aside") is None
    assert after.all() == ["kills"]


def test_requests_in_flight_at_a_death_are_sent_a_few_at_a_time(run):
    """When nothing else is left to do, or in flight."""
    first = run()
    first.start(*map(str, range(20)))
    for _ in range(12):
        first.next()
        first.clock.turn(100)
    first.job.saves.now()
    count = len(first.job.deliveries.sent)
    first.die()
    second = run()
    assert len(second.scheduler) == 20
    for _ in range(20 - count):
        request = second.next()
        assert int(request.url[len(PAGE) :]) < 20 - count, (
            "the last ones were asked for first"
        )
        if len(second.scheduler) == count:
            assert second.next() is None
        second.end(request)
    assert len(second.all()) == min(FEW, count)


@pytest.mark.parametrize("deliveries", range(1, 6))
def test_a_page_that_kills_among_others_is_set_aside_alone(run, deliveries):
    """One of 200, of which 16 are sent at a time: no other page goes with it."""
    done: list[str] = []
    deaths = 0
    options = {"deliveries": deliveries}
    is_over = False
    while not is_over:
        one = run(MANDELBOT_JOB_OPTIONS=options)
        if not deaths:
            one.start(*map(str, range(200)))
        is_over = crawl(one, done)
        if not is_over:
            deaths += 1
            one.die()
    assert sorted(done, key=int) == [str(n) for n in range(200) if n != 100]
    assert deaths == max(deliveries, 2), "of several, the first death identifies none"
    assert one.told("mandelbot/job/set_aside") == 1


def crawl(one: Run, done: list[str]) -> bool:
    """Crawl as a process does that page 100 kills; return whether it is through."""
    sent: list[Request] = []
    while True:
        while len(sent) < 16 and (request := one.next()) is not None:
            sent.append(request)
        if not sent:
            return True
        request = sent.pop(0)
        one.job.begins(request)
        if request.url == f"{PAGE}100":
            return False
        done.append(request.url[len(PAGE) :])
        one.end(request)


@pytest.mark.parametrize("ends", ["died", "closed"])
def test_spider_state_is_restored_after_a_death(run, ends):
    """Scrapy gives back that of one that was closed."""
    first = run()
    first.crawler.spider.state = {"pages": 7}
    first.start("1")
    first.job.saves.now()
    first.die() if ends == "died" else first.close()
    second = run()
    second.crawler.extensions = SimpleNamespace(middlewares=[])
    second.send(signals.spider_opened)
    assert second.crawler.spider.state == ({"pages": 7} if ends == "died" else {})


def test_states_of_other_components_are_there_in_the_next_run(run):
    """By name, as of the last commit; an unreadable one closes the crawl."""
    first = run()
    values = {"a/1": b"1", "a/2": b"2", "b/1": b"3"}

    def keep() -> None:
        for name, value in values.items():
            first.job.put(name, value)

    first.job.before_commits(keep)
    first.job.saves.now()
    first.job.put("a/2", None)
    first.die()
    second = run()
    assert second.job.kept("a/") == {"a/1": b"1", "a/2": b"2"}
    assert second.job.kept("b/") == {"b/1": b"3"}
    second.job.put("a/1", None)
    second.close()
    assert run().job.kept("a/") == {"a/2": b"2"}


def test_a_job_that_cannot_be_read_closes_the_crawl_once(run, monkeypatch):
    """Whoever asks; what it asked for is nothing."""
    closed = []
    monkeypatch.setattr(
        job_module.engine, "close_spider", lambda _, reason: closed.append(reason)
    )

    def fails(*_):
        raise StorageError("broken")

    first = run()
    monkeypatch.setattr(first.job.store.states, "with_prefix", fails)
    assert first.job.kept("a/") == {}
    assert closed == ["job_unreadable"]
    monkeypatch.setattr(first.job.store, "has_seen", fails)
    assert first.scheduler.enqueue_request(Request(PAGE))
    monkeypatch.setattr(first.job.store, "claim", fails)
    assert first.next() is None
    assert closed == ["job_unreadable"]
    monkeypatch.undo()


def test_it_is_known_for_how_long_nothing_is_saved(run, clock, monkeypatch):
    """From the first failure on, whatever is tried meanwhile; a save ends it."""
    one = run()
    assert one.job.unsaved_for == 0

    def fails():
        raise StorageError("full")

    monkeypatch.setattr(one.job.store, "commit", fails)
    one.job.saves.now()
    clock.turn(100)
    assert one.job.unsaved_for == 100
    monkeypatch.undo()
    one.job.saves.now()
    assert one.job.unsaved_for == 0


def test_a_second_run_ends_at_its_start(run):
    """With what is wrong; when the first has ended, it may begin."""
    first = run()
    with pytest.raises(JobError, match="two runs cannot share a JOBDIR"):
        run()
    first.close()
    assert run().scheduler is not None


def test_a_resumed_run_is_reported(run, caplog):
    """With how many wait, and how the last one ended."""
    caplog.set_level("INFO")
    first = run()
    first.start("1", "2")
    assert "wait" not in caplog.text
    first.close()
    assert (
        run().told("mandelbot/job/resumed") is not None or "2 requests" in caplog.text
    )
    assert "was closed" in caplog.text


@pytest.mark.parametrize("reason", ["finished", "shutdown"])
def test_requests_left_in_memory_are_reported_at_the_end(run, caplog, reason):
    """The first ten by name, and how many are left."""
    first = run()
    for number in range(12):
        first.give(first.job.start, str(number), callback=lambda response: None)
    assert first.told("mandelbot/job/in_memory") == 12
    assert caplog.text.count("cannot be written") <= 10
    request = first.next()
    first.end(request)
    before = len(caplog.records)
    first.close(reason=reason)
    assert "11" in "".join(record.getMessage() for record in caplog.records[before:])


def test_callbacks_are_restored_by_name(run):
    """And a request that was changed on its way back is kept as it is then."""
    first = run()
    spider = first.crawler.spider
    first.give(
        first.job.start, "1", callback=spider.other, errback=spider.other, meta={"a": 1}
    )
    request = first.next()
    request.meta["a"] = 2
    first.send_back(request)
    first.close()
    second = run()
    again = second.next()
    assert again.meta["a"] == 2
    assert again.callback == again.errback == second.crawler.spider.other


def test_a_feed_that_a_crash_may_harm_is_named_at_the_start(run, tmp_path, caplog):
    """With the reason."""
    feeds = {str(tmp_path / "items.own"): {"format": "own"}}
    first = run(FEEDS=feeds, FEED_EXPORTERS={"own": PythonItemExporter})
    exporter = FeedExporter(first.crawler)
    exporter.open_spider(first.crawler.spider)
    first.crawler.extensions = SimpleNamespace(middlewares=[exporter])
    first.send(signals.spider_opened)
    assert "own uses a custom exporter" in caplog.text


def test_a_page_sent_back_is_requested_again_though_another_depends_on_it(run):
    """Its row stays until both are settled; it waits in memory."""
    first = run()
    first.start("parent")
    parent = first.next()
    assert first.give(first.job.called(parent), "child", callback=lambda response: None)
    first.send_back(parent)
    assert sorted(first.all()) == ["child", "parent"]


class Trap:
    """Who unpickles it makes a folder."""

    def __init__(self, folder) -> None:
        self._folder = str(folder)

    def __reduce__(self):
        return os.mkdir, (self._folder,)


@pytest.mark.parametrize("pickles", [True, False])
@pytest.mark.parametrize("where", ["file", "job"])
def test_no_pickle_that_runs_code_is_read_where_none_may(run, tmp_path, where, pickles):
    """Of ``spider.state``, Scrapy's or the job's; with them it runs."""
    folder, told = tmp_path / "job", {"MANDELBOT_JOB_OPTIONS": {"pickle": pickles}}
    first = run(**told)
    if where == "job":
        first.job.put("spider.state", pickle.dumps({"pages": Trap(tmp_path / "ran")}))
    first.job.saves.now()
    first.die()
    if where == "file":
        (folder / "spider.state").write_bytes(pickle.dumps(Trap(tmp_path / "ran")))
    second = run(**told)
    second.send(signals.spider_opened)
    assert (tmp_path / "ran").exists() == pickles


@pytest.mark.parametrize("ends", ["die", "close"])
def test_a_plain_state_of_the_spider_outlasts_a_run_without_pickle(run, tmp_path, ends):
    """However that ended: Scrapy's extension, which pickles, has no part in it."""
    told = {"MANDELBOT_JOB_OPTIONS": {"pickle": False}}
    first = run(**told)
    first.send(signals.spider_opened)
    first.crawler.spider.state["pages"] = 7
    first.job.saves.now()
    getattr(first, ends)()
    first.send(signals.spider_closed, reason="shutdown")
    second = run(**told)
    second.send(signals.spider_opened)
    assert second.crawler.spider.state == {"pages": 7}
    assert not (tmp_path / "job" / "spider.state").exists()


def test_a_delay_survives_kills(run, clock):
    """The time is that of the day: what has passed has passed."""
    first = run()
    first.start("later", meta={"delay": 100})
    first.start("now")
    first.end(first.next())
    assert first.all() == []
    for _ in range(4):
        clock.turn(20)
        first.die()
        first = run()
        assert first.all() == []
        assert len(first.scheduler) == 1, "it was not sent, and kills nothing"
    clock.turn(20)
    assert first.all() == ["later"]


def test_delayed_requests_wait_in_the_file(run, clock):
    """However many there are: in memory is none of them. The first that is due goes
    first, whenever it came.
    """
    first = run()
    for number in range(50):
        first.start(f"{number}", meta={"delay": 100 + number % 7}, priority=number)
        assert first.all() == []
        assert not first.job.storage.unacked
    first.start("soon", meta={"delay": 10})
    clock.turn(10)
    assert first.all() == ["soon"]
    assert len(first.scheduler) == 50
    clock.turn(90)
    due = first.next()
    assert due.priority % 7 == 0


def test_a_clock_that_is_set_back_makes_no_delay_longer(run, clock):
    first = run()
    first.start("later", meta={"delay": 60})
    first.job.saves.now()
    first.die()
    clock.shift(-3_600)
    second = run()
    assert second.all() == []
    clock.turn(60)
    assert second.all() == ["later"]


def test_a_delay_survives_an_orderly_end(run, clock):
    first = run()
    first.start("later", meta={"delay": 100})
    assert first.all() == []
    clock.turn(60)
    first.close()
    second = run()
    assert second.all() == []
    clock.turn(40)
    assert second.all() == ["later"]
