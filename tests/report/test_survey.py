"""How many sites stand is found out in short turns of the loop, and is the same as all
at once.
"""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import pytest
import scrapy.signals
from clocks import TurnedClock
from crawling import SCRAPYS_FORM
from mandelbot.preferences.statements import Statement, Usage
from queueing import open_scheduler, queue_crawler, refuse
from scrapy import Request
from scrapy.http import Response

from scrapy_mandelbot import status, why_idle
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.events import ROBOTS_FROM_CACHE, TAGGED, USAGE_READ, WAITING
from scrapy_mandelbot.politeness.pause import PauseState
from scrapy_mandelbot.report import survey
from scrapy_mandelbot.report.metrics import CrawlMetrics
from scrapy_mandelbot.report.recorder import Recorder
from scrapy_mandelbot.report.samples import TagsRecord, UsageRecord
from scrapy_mandelbot.report.status import Reason
from scrapy_mandelbot.report.summary import CrawlSummary
from scrapy_mandelbot.report.survey import Survey
from scrapy_mandelbot.time_text import moment

AT_A_TIME = 50
SITES = 3 * AT_A_TIME
EVERY = 60.0


@pytest.fixture(autouse=True)
def _few_at_a_time(monkeypatch):
    """So that few sites are many."""
    monkeypatch.setattr("scrapy_mandelbot.clock.AT_A_TIME", AT_A_TIME)


class Stands:
    """A crawl whose sites are paused, paced or open, each with two requests."""

    def __init__(self, sites: int, **settings) -> None:
        self.clock = TurnedClock()
        self.crawler = queue_crawler(
            self.clock,
            MANDELBOT_STORE="memory",
            MANDELBOT_CRAWL_DELAYS={"*.paced.example": 600},
            LOGSTATS_INTERVAL=EVERY,
            **settings,
        )
        self.crawler.crawling = True
        self.crawl = Crawl.of(self.crawler)
        self.extensions = []
        self.lines: list[str] = []
        self.crawl.events.subscribe(
            lambda values: self.lines.append(values["status"]), WAITING
        )
        self.scheduler = self.crawler.engine.scheduler = open_scheduler(self.crawler)
        kinds = ("paused", "paced", "open")
        self.urls = [f"https://{n}.{kinds[n % 3]}.example/" for n in range(sites)]
        for url in self.urls:
            for page in "ab":
                self.scheduler.enqueue_request(Request(url + page))
            if ".paused." in url:
                refuse(self.crawler, url)
            elif ".paced." in url:
                self.learn_pace(url)

    def learn_pace(self, url: str) -> None:
        """Delay the site by some minutes."""
        request = Request(url)
        throttle = self.crawl.throttle
        flight = throttle.flight_of(request)
        self.crawl.learn_pace(request, flight.site)
        throttle.sites.note_trouble(flight.site)
        throttle.admit(flight)
        throttle.answered(flight)
        throttle.ended(flight)
        throttle.release(flight)

    def add(self, extension_class):
        extension = extension_class.from_crawler(self.crawler)
        self.extensions.append(extension)
        return extension

    def end_run(self) -> None:
        """Start a second run on the same job."""
        if self.scheduler is not None:
            self.scheduler.close("shutdown")
            self.scheduler = None

    def close(self) -> None:
        self.end_run()
        for extension in self.extensions:
            if isinstance(extension, CrawlMetrics):
                extension.spider_closed("finished")
            else:
                extension.spider_closed(self.crawler.spider)


@pytest.fixture
def made():
    crawls = []

    def make(sites=SITES, **settings) -> Stands:
        crawls.append(Stands(sites, **settings))
        return crawls[-1]

    yield make
    for one in crawls:
        one.close()
        one.crawl.throttle.close()
        one.clock.assert_nothing_left()


@pytest.fixture
def looks(monkeypatch):
    """How often it was looked what holds a site back, by the time of the clock that
    stands.
    """
    found: Counter[float] = Counter()
    held = survey.held

    def counted(site, now):
        found[found.clock.now()] += 1
        return held(site, now)

    monkeypatch.setattr(survey, "held", counted)
    return found


def test_it_counts_what_status_lists(made):
    """Each site once, with the same reason and the same requests."""
    one = made(300)
    found = status(one.crawler)
    assert found.by_reason == {Reason.PAUSED: 100, Reason.PACE: 100, Reason.NEXT: 100}
    snapshots = [
        it for it in Survey(one.crawl.throttle, one.crawl.now()).snapshots() if it
    ]
    assert sorted((it.site, it.reason, it.waiting) for it in found.sites) == sorted(
        (it.site, it.reason, it.waiting) for it in snapshots
    )
    assert (found.waiting, found.elsewhere) == (600, 0)
    assert {it.details for it in found.sites if it.reason is Reason.PACE} == {
        "600 s between requests (set manually)"
    }
    assert why_idle(one.crawler).startswith(
        "It is not idle: requests are about to be sent."
    )


def test_the_logs_line_is_made_in_short_turns(made, looks):
    """However many sites are paused; it says the same as one that is made at once."""
    one = made(3 * SITES)
    looks.clock = one.clock
    one.add(CrawlSummary).spider_opened()
    one.clock.turn(EVERY + 5)
    assert max(looks.values()) <= AT_A_TIME
    assert sum(looks.values()) == 3 * SITES, "each once"
    (line,) = one.lines
    paused, paced = (
        f"{SITES:,} sites paused",
        f"{SITES:,} sites waiting for a crawl delay",
    )
    found = f"{paused}, {paced}, {4 * SITES:,} requests wait"
    assert line.startswith(f"{found}, next at 00:10:00 UTC: ")


def test_without_trouble_no_site_is_looked_at(made, looks):
    """The line costs nothing then."""
    one = made(0)
    looks.clock = one.clock
    one.add(CrawlSummary).spider_opened()
    one.clock.turn(EVERY + 5)
    assert not looks


def test_an_unchanged_line_is_not_logged_again(made):
    """Where nothing has changed; and is where one site of many has."""
    one = made()
    one.add(CrawlSummary).spider_opened()
    one.clock.turn(4 * EVERY)
    assert len(one.lines) == 1
    refuse(one.crawler, "https://2.open.example/")
    one.clock.turn(EVERY)
    first, second = one.lines
    third = SITES // 3
    paced = f"{third:,} sites waiting for a crawl delay"
    assert first.startswith(f"{third:,} sites paused, {paced}, {4 * third:,} ")
    assert second.startswith(f"{third + 1:,} sites paused, {paced}, {4 * third + 2:,} ")


@pytest.mark.parametrize("times", [1, 2, 4])
def test_metrics_are_measured_in_short_turns(made, looks, times):
    """A measurement looks at each site once, and each turn at a bounded number."""
    pytest.importorskip("prometheus_client")
    one = made(times * SITES, MANDELBOT_METRICS="127.0.0.1:0")
    looks.clock = one.clock
    extension = one.add(CrawlMetrics)
    extension.spider_opened(one.crawler.spider)
    assert extension.measured == {}, "it takes more than a turn"
    one.clock.turn(4.9)
    assert sum(looks.values()) == times * SITES
    assert max(looks.values()) <= AT_A_TIME
    by_state = {
        it.labels["state"]: it.value for it in extension.measured["mandelbot.sites"]
    }
    assert by_state == {"paused": times * SITES // 3} | dict.fromkeys(
        ("pace", "next"), times * SITES // 3
    )
    waiting = extension.measured["mandelbot.requests.waiting"]
    assert sum(it.value for it in waiting) == 2 * times * SITES


def test_a_crawl_that_ends_during_a_measurement_is_measured_again(made):
    """A measurement in progress is cancelled; the last counts are complete."""
    pytest.importorskip("prometheus_client")
    one = made(MANDELBOT_METRICS="127.0.0.1:0")
    extension = one.add(CrawlMetrics)
    extension.spider_opened(one.crawler.spider)
    extension.spider_closed("finished")
    one.extensions.clear()
    assert sum(it.value for it in extension.measured["mandelbot.sites"]) == SITES


def test_the_crawl_goes_on_meanwhile(made):
    """Lines that come and go, sites that pause and resume: each site is seen once at
    most.
    """
    one = made(300)
    throttle, sites = one.crawl.throttle, []
    for number, it in enumerate(Survey(throttle, one.crawl.now()).snapshots()):
        if it is not None:
            sites.append(it.site)
        if number % 5 == 0:
            one.scheduler.enqueue_request(Request(f"https://new{number}.example/"))
        if number % 7 == 0:
            one.crawler.engine.downloader.send(one.scheduler.next_request())
        if number % 11 == 0:
            refuse(one.crawler, f"https://{number}.open.example/")
        if number % 13 == 0:
            one.crawl.manual_control.end_hold(f"https://{number}.paused.example")
    assert len(sites) == len(set(sites)) >= 300


def test_requests_of_the_previous_run_are_surveyed_in_steps(made, tmp_path):
    """A queue of it is opened in the turn in which it is looked at, and all of them are
    counted.
    """
    settings = {"JOBDIR": str(tmp_path), **SCRAPYS_FORM}
    first = made(60, **settings)
    first.end_run()
    one = made(0, **settings)
    queue = one.scheduler.dqs
    assert len(queue.unloaded) == 60
    snapshots = Survey(one.crawl.throttle, one.crawl.now()).snapshots()
    for left in range(59, -1, -1):
        assert next(snapshots) is None
        assert len(queue.unloaded) == left
    assert sum(it.waiting for it in snapshots if it is not None) == 120


def test_a_site_with_refused_pages_says_when_the_first_is_due(made):
    """Pages that were refused alone each have a time of their own: the site waits for
    the first.
    """
    one = made(0)
    throttle, requests = (
        one.crawl.throttle,
        [Request(f"https://one.example/{n}") for n in range(3)],
    )
    for request in requests:
        one.scheduler.enqueue_request(request)
    for minutes in (3, 1, 2):
        flight = throttle.flight_of(one.scheduler.next_request())
        sent_back = throttle.in_flight.send_back(flight, one.crawl.now() + 60 * minutes)
        one.scheduler.enqueue_request(sent_back)
    (site,) = status(one.crawler).sites
    assert (site.reason, site.waiting) == (Reason.PAGE, 3)
    assert site.until == moment(one.crawl.now() + 60)
    one.clock.turn(180)
    assert status(one.crawler).by_reason == {Reason.NEXT: 1}


@pytest.mark.parametrize("sites", [0, 3])
def test_a_table_is_logged_of_as_many_sites_as_are_wanted(made, caplog, sites):
    """Of none there is no table, and nothing is recorded for it."""
    one = made(9, MANDELBOT_SUMMARY=sites)
    extension = one.add(CrawlSummary)
    refuse(one.crawler, "https://refusing.example/")
    with caplog.at_level("INFO"):
        extension.spider_closed(one.crawler.spider)
    tables = [
        record.message for record in caplog.records if "at the sites" in record.message
    ]
    assert [" REFUSED " in table for table in tables] == ([True] if sites else [])


@pytest.mark.parametrize(
    "handlers", [None, SimpleNamespace(download_request_async=print)]
)
def test_requests_are_watched_where_the_downloader_lets_them_be(handlers):
    """What handlers there are is seen as the spider opens; without any there is no
    timeline.
    """
    crawler = queue_crawler(TurnedClock(), MANDELBOT_STORE="memory")
    record = Recorder.of(crawler, watches=True).record
    assert record.is_watched
    crawler.engine.downloader.handlers = handlers
    crawler.signals.send_catch_log(scrapy.signals.spider_opened, spider=crawler.spider)
    assert record.is_watched is (handlers is not None)
    assert (record.of("https://one.example", 0.0).timeline is None) is (
        handlers is None
    )


@pytest.mark.parametrize("watches", [False, True])
def test_answers_to_robots_txt_are_recorded_for_a_report(watches):
    """And for metrics; the table at the end of a crawl does not show them."""
    crawler = queue_crawler(TurnedClock(), MANDELBOT_STORE="memory")
    record = Recorder.of(crawler).record
    for _ in range(2):  # as the metrics and the report do
        Recorder.of(crawler, watches=watches)
    Crawl.of(crawler).events.count(ROBOTS_FROM_CACHE, site="https://one.example")
    assert record.of("https://one.example", 0.0).robots_seen == (
        {"from_cache": 1} if watches else {}
    )


def test_pages_with_robot_tags_are_counted_by_site():
    """Those that are unavailable by now, too."""
    crawler = queue_crawler(TurnedClock(), MANDELBOT_STORE="memory")
    record = Recorder.of(crawler).record
    response = Response("https://one.example/a")
    for is_over in (True, False, True):
        said = {"noindex": True, "nofollow": False, "unavailable": is_over}
        Crawl.of(crawler).events.count(TAGGED, response=response, **said)
    assert record.of("https://one.example", 0.0).tags == TagsRecord(3, 3, 0, 2)


def test_usage_preferences_are_counted_by_site():
    """Each answer for itself."""
    crawler = queue_crawler(TurnedClock(), MANDELBOT_STORE="memory")
    record = Recorder.of(crawler).record
    said = Statement("train-ai", False, "content-signal", "header", "ai-train=no")  # noqa: FBT003
    for allowed in (2, 1):
        counts = {"allowed": allowed, "disallowed": 3, "unknown": 4, "terms": 5}
        usage = Usage((said,))
        Crawl.of(crawler).events.count(
            USAGE_READ, site="https://one.example", usage=usage, **counts
        )
    usage = record.of("https://one.example", 0.0).usage
    assert usage == UsageRecord(2, 3, 6, 8, 10, {str(said): 2})


def test_sites_known_before_the_crawl_are_watched_too():
    """As those that come later are; and none where none can be."""
    record = Recorder.of(queue_crawler(TurnedClock(), MANDELBOT_STORE="memory")).record
    one = record.of("https://one.example", 0.0)
    for is_watched in (True, False):
        record.watch(is_watched=is_watched)
        assert one.is_watched is is_watched
        assert (one.timeline is not None) is is_watched


@pytest.mark.parametrize(
    ("state", "rate"),
    [(PauseState.RECOVERING, 0.5), (PauseState.PROBING, 0.0), (PauseState.OPEN, 0.0)],
)
def test_the_rate_of_a_recovery_is_in_the_timeline(state, rate):
    """While the site recovers; not while it is paused, or when all is well again."""

    async def download(request):
        return Response(request.url)

    clock = TurnedClock()
    crawler = queue_crawler(clock, MANDELBOT_STORE="memory")
    handlers = crawler.engine.downloader.handlers = SimpleNamespace(
        download_request_async=download
    )
    record = Recorder.of(crawler, watches=True).record
    crawler.signals.send_catch_log(scrapy.signals.spider_opened, spider=crawler.spider)
    request = Request("https://one.example/a")
    refuse(crawler, request.url)
    pause = Crawl.of(crawler).throttle.sites.of_request(request).pause
    pause.state, pause.rate_control.rate = state, 0.5
    with pytest.raises(StopIteration):
        handlers.download_request_async(request).send(None)
    ((_, bucket),) = record.of("https://one.example", clock.now()).timeline
    assert (bucket.answers, bucket.rate) == (1, rate)
