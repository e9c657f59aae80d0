"""The scheduler of a job, without a crawl: what it does with requests that have to
wait.
"""

from __future__ import annotations

import pickle
import sqlite3
from contextlib import closing

import pytest
from engine_slot import EngineSlot
from scrapy import FormRequest, Request
from scrapy.exceptions import NotConfigured
from scrapy.settings import Settings
from scrapy.utils.request import RequestFingerprinter

from scrapy_mandelbot import JobScheduler, engine
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.job.job import Job
from scrapy_mandelbot.job.job_storage import READ_AT_ONCE
from scrapy_mandelbot.job.job_store import LineOrder, Place
from scrapy_mandelbot.job.middleware import JobMiddleware
from scrapy_mandelbot.job.requests import CannotWriteError, RequestForm

PAGE = "https://example.com/page"


@pytest.fixture
def crawler(make_crawler, tmp_path):
    crawler = make_crawler(JOBDIR=str(tmp_path / "job"))
    crawler.request_fingerprinter = RequestFingerprinter(crawler)
    crawler.engine._slot = EngineSlot()
    return crawler


@pytest.fixture
def scheduler(crawler):
    scheduler = JobScheduler.from_crawler(crawler)
    scheduler.open(crawler.spider)
    yield scheduler
    scheduler.close("shutdown")


@pytest.fixture
def wakes(monkeypatch):
    """Count how often the engine is woken."""
    calls = []
    monkeypatch.setattr(engine, "wake", calls.append)
    return calls


def refuse_next(crawler, scheduler) -> None:
    """Refuse the next request, and give it up for good."""
    throttle = Crawl.of(crawler).throttle
    request = scheduler.next_request()
    flight = throttle.flight_of(request)
    throttle.let_leave(flight)
    throttle.pauses.refused(flight, "503", None)
    throttle.release(flight)
    scheduler.finish_request(request)


def test_a_new_request_equal_to_a_refused_one_waits_for_the_pause(
    crawler, scheduler, clock
):
    """It waits as long as that one would have, and the crawl goes on."""
    scheduler.enqueue_request(Request(PAGE))
    refuse_next(crawler, scheduler)
    scheduler.enqueue_request(Request("https://example.com/other"))
    assert scheduler.enqueue_request(Request(PAGE, dont_filter=True))
    urls, throttle = [], Crawl.of(crawler).throttle
    for _ in range(100):
        clock.turn(30)
        while (request := scheduler.next_request()) is not None:
            urls.append(request.url)
            flight = throttle.flight_of(request)
            throttle.answered(flight)
            throttle.release(flight)
            scheduler.finish_request(request)
    assert sorted(urls) == ["https://example.com/other", PAGE]
    assert not scheduler.has_pending_requests()


def test_a_request_like_one_before_is_dropped_and_counted(crawler, scheduler):
    """As Scrapy's own filter does."""
    crawler.spider.crawler = crawler
    assert scheduler.enqueue_request(Request(PAGE))
    assert not scheduler.enqueue_request(Request(PAGE))
    assert crawler.stats.get_value("dupefilter/filtered") == 1
    assert scheduler.next_request().url == PAGE
    assert crawler.stats.get_value("scheduler/enqueued") == 1
    assert crawler.stats.get_value("scheduler/enqueued/disk") == 1
    assert crawler.stats.get_value("scheduler/dequeued/disk") == 1


def test_unserializable_requests_count_as_enqueued_in_memory(crawler, scheduler):
    """As Scrapy counts it."""
    scheduler.enqueue_request(Request(PAGE, callback=lambda _: None))
    assert crawler.stats.get_value("scheduler/enqueued/memory") == 1
    assert scheduler.next_request().url == PAGE
    assert crawler.stats.get_value("scheduler/dequeued/memory") == 1
    assert crawler.stats.get_value("scheduler/enqueued/disk") is None


def test_a_request_handed_out_is_committed_as_claimed_a_second_later(
    crawler, scheduler, clock
):
    """Though nothing ends: a death then is one with that request in flight."""
    scheduler.enqueue_request(Request(PAGE))
    clock.turn(2)
    job = Job.of(crawler)
    assert not job.deliveries.sent
    assert scheduler.next_request().url == PAGE
    clock.turn(2)
    assert job.deliveries.sent == job.storage.sent(())
    assert len(job.deliveries.sent) == 1


@pytest.mark.usefixtures("scheduler")
def test_the_middleware_is_active_only_with_a_job(crawler, make_crawler):
    """And nowhere else."""
    assert JobMiddleware.from_crawler(crawler)
    with pytest.raises(NotConfigured):
        JobMiddleware.from_crawler(make_crawler())


def test_unreadable_requests_no_longer_count_as_pending(crawler, scheduler, caplog):
    """The line of these ends, and the crawl; the first is an error, the others are a
    number.
    """
    job = Job.of(crawler)
    for number in range(30):
        scheduler.enqueue_request(
            Request(f"{PAGE}/{number}", callback=crawler.spider.parse)
        )
    job.saves.now()
    with closing(sqlite3.connect(job.store.path, isolation_level=None)) as database:
        database.execute("UPDATE requests SET body = CAST('x' AS BLOB)")
    assert len(scheduler) == 30
    assert scheduler.next_request() is None
    assert len(scheduler) == 0
    assert not scheduler.has_pending_requests()
    assert crawler.stats.get_value("mandelbot/job/unreadable") == 30
    assert caplog.text.count("cannot be restored, and is set aside") == 1
    assert len(job.deliveries.aside) == 30


def test_many_unreadable_requests_do_not_block_the_event_loop(
    crawler, scheduler, clock, wakes
):
    """Some at a time, each time committed; readable requests come in order."""
    job = Job.of(crawler)
    spoilt = 2 * READ_AT_ONCE + 10
    for number in range(spoilt + 1):
        url = f"https://{number % 3}.example/{number}"
        scheduler.enqueue_request(Request(url, priority=-number))
    job.saves.now()
    with closing(sqlite3.connect(job.store.path, isolation_level=None)) as database:
        database.execute(
            "UPDATE requests SET body = CAST('x' AS BLOB) WHERE number <= ?", (spoilt,)
        )
    lengths = []
    while (request := scheduler.next_request()) is None:
        lengths.append(len(scheduler))
        clock.turn(0)
        assert len(wakes) == len(lengths)
        assert job.store.uncommitted == 0
    assert lengths == [spoilt + 1 - READ_AT_ONCE, spoilt + 1 - 2 * READ_AT_ONCE]
    assert request.url.endswith(f"/{spoilt}")
    scheduler.finish_request(request)
    assert scheduler.next_request() is None
    assert not scheduler.has_pending_requests()
    assert crawler.stats.get_value("mandelbot/job/unreadable") == spoilt


def test_more_requests_than_a_claim_skips_fit_between_two_commits(crawler, scheduler):
    """Each once, in their order, also where newer ones are written meanwhile."""
    job = Job.of(crawler)
    for number in range(300):
        scheduler.enqueue_request(Request(f"{PAGE}/{number}", priority=-number))
    job.saves.now()
    store, line = job.store, next(iter(job.store.lengths()))
    first = [store.claim(line).number for _ in range(150)]
    scheduler.enqueue_request(Request(f"{PAGE}/urgent", priority=5))
    job.saves.now()
    urgent = store.claim(line).number
    rest = [store.claim(line).number for _ in range(150)]
    assert store.claim(line) is None
    assert first + rest == sorted(first + rest)
    assert urgent == 301
    assert len({*first, *rest}) == 300


def test_start_requests_have_a_separate_queue_if_the_settings_name_one():
    """Behind the others, in an order of its own."""
    start = Request(PAGE, meta={"is_start_request": True}, priority=2)
    settings = {"SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleLifoDiskQueue"}
    fifo = {"SCHEDULER_START_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue"}
    order = LineOrder.of(Settings({**settings, **fifo}))
    assert order.place(start) == Place(-2, 1, is_last_first=False)
    assert order.place(Request(PAGE)) == Place(0, 0, is_last_first=True)
    order = LineOrder.of(Settings({**settings, "SCHEDULER_START_DISK_QUEUE": None}))
    assert order.place(start) == Place(-2, 0, is_last_first=True)


class Named:
    """What a project may have in meta."""


def test_plain_requests_need_no_class():
    """They are the same either way; others are refused when they are written, and when
    read.
    """
    plain, any_ = RequestForm(None, pickles=False), RequestForm(None)
    page = FormRequest(
        "https://example.com/é", formdata={"q": "1"}, headers={"A": ["1", "2"]},
        meta={"depth": 2, "seen": {1, 2}, "pair": (None, 1.5)},
        cb_kwargs={"n": [b"\xff"]},
    )  # fmt: skip
    for write, read in ((plain, plain), (any_, plain), (plain, any_)):
        again = read.read(write.write(page))
        assert type(again) is FormRequest
        assert again.to_dict() == page.to_dict()
    for value in (Named(), Named, print):
        other = Request("https://example.com", meta={"value": value})
        with pytest.raises(CannotWriteError, match="pickle"):
            plain.write(other)
        with pytest.raises(pickle.UnpicklingError, match="is not plain"):
            plain.read(any_.write(other))
    with pytest.raises(ValueError, match=r"os\.path is not plain"):
        plain.read(pickle.dumps({"url": "https://example.com", "_class": "os.path"}))
