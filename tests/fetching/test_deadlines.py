"""No deadline judges a site by time in which the crawl could not read its answer.

The loop was blocked by a callback, the machine slept, or the time of day was set. A
slow DNS and a slow body are the whole crawls of ``tests/crawls/test_slow_robots.py``.
"""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest
from clocks import TurnedClock
from crawlers import get_crawler
from crawling import ensureDeferred
from queueing import fill, open_scheduler, refuse
from scrapy import Request
from scrapy.http import Response
from twisted.internet.error import TimeoutError as TimedOut

from scrapy_mandelbot import engine
from scrapy_mandelbot.clock import Clock
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.fetching.download_limits import Download, DownloadLimits
from scrapy_mandelbot.fetching.requesting import SiteFiles
from scrapy_mandelbot.fetching.slow_files import SlowFiles
from scrapy_mandelbot.politeness.probe import PROBE_IS_LATE
from scrapy_mandelbot.settings.config import Config

SITE = "https://example.com"
SILENCE = 10.0  # seconds
PLACES = 8
EVENTS = {"the loop was blocked": 12.0, "the machine slept": 7_200.0}
"""Seconds in which no timer fires."""


@pytest.fixture
def clock():
    return TurnedClock()


@pytest.fixture
def crawler():
    limits = {"robots_timeout": SILENCE}
    return get_crawler(settings_dict={"MANDELBOT_LIMITS": limits})


@pytest.mark.parametrize("event", EVENTS)
def test_a_silent_robots_txt_gets_the_time_back(clock, crawler, monkeypatch, event):
    """The site is called slow after so many seconds more."""
    told = []
    monkeypatch.setattr(engine, "add_place", lambda *_: 0)
    emitter = SimpleNamespace(emit=lambda *_, **values: told.append(values))
    slow = SlowFiles(crawler, clock, emitter, SILENCE)
    with slow.watched(SITE, Request(SITE), 180.0):
        clock.shift(EVENTS[event])
        clock.turn(0.1)
        assert not told
        clock.turn(EVENTS[event] - SILENCE + 0.1)
        assert told


class Downloads(DownloadLimits):
    """Downloads that end after some seconds of the clock, by an error or a response."""

    def __init__(self, crawler, clock, ends):
        super().__init__(crawler, clock.now)
        self._clock = clock
        self.ends = list(ends)
        self.places = 0

    def add_place(self, request, waiting):
        self.places += 1

    def drop_place(self, request):
        self.places -= 1

    async def download(self, request, most_bytes, seconds, **_):
        took, end = self.ends.pop(0)
        self._clock.shift(took)
        if isinstance(end, Exception):
            raise end
        return end, Download(most_bytes, seconds, self._clock.now())


@pytest.mark.parametrize(
    ("took", "error", "is_asked_again"),
    [
        *(
            pytest.param(one, TimedOut(), True, id=event)
            for event, one in EVENTS.items()
        ),
        pytest.param(SILENCE, TimedOut(), False, id="in time"),
        pytest.param(SILENCE + 0.9, TimedOut(), False, id="a bit late"),
        pytest.param(12.0, OSError(), False, id="another error"),
    ],
)
@ensureDeferred
async def test_a_deadline_that_fires_late_gives_the_time_back(
    crawler, clock, took, error, is_asked_again
):
    """The file is asked for once more: Scrapy's timer does not know how late it is."""
    downloads = Downloads(crawler, clock, [(took, error), (12.0, TimedOut())])
    config = Config.from_settings(crawler.settings)
    files = SiteFiles(downloads, config, clock.now, 100)
    found = await files.get(SITE, f"{SITE}/robots.txt", Request(SITE), None)
    assert (len(downloads.ends) == 0) == is_asked_again
    assert (found.error is error) != is_asked_again
    assert downloads.places == 0


@ensureDeferred
async def test_what_comes_of_the_second_download_counts(crawler, clock):
    response = Response(f"{SITE}/robots.txt", body=b"User-agent: *\nDisallow: /no\n")
    downloads = Downloads(crawler, clock, [(12.0, TimedOut()), (0.1, response)])
    config = Config.from_settings(crawler.settings)
    files = SiteFiles(downloads, config, clock.now, 100)
    found = await files.get(SITE, response.url, Request(SITE), None)
    assert found.body == response.body
    assert found.error is None


def probed(crawler, clock):
    """Return the scheduler of a crawl whose site has a probe on its way."""
    scheduler = open_scheduler(crawler)
    refuse(crawler, SITE, retry_after=5)
    fill(scheduler, SITE + "/1", SITE + "/2")
    clock.turn(5)
    crawler.engine.downloader.send(scheduler.next_request())
    assert scheduler.next_request() is None
    return scheduler


@pytest.mark.parametrize("event", EVENTS)
@ensureDeferred
async def test_a_probe_gets_the_time_back(make_crawler, clock, event):
    """The site gets no second probe while its answer to the first may be unread."""
    scheduler = probed(make_crawler(), clock)
    clock.shift(EVENTS[event])
    assert scheduler.next_request() is None, "another site's answer is read first"
    back = min(EVENTS[event] - PROBE_IS_LATE, PROBE_IS_LATE)
    clock.turn(back - 0.1)
    assert scheduler.next_request() is None
    clock.turn(5.0)
    assert scheduler.next_request() is not None, "it gets them back once"


@ensureDeferred
async def test_a_probe_that_takes_long_in_a_loop_that_runs_is_not_waited_for(
    make_crawler, clock
):
    scheduler = probed(make_crawler(), clock)
    clock.turn(PROBE_IS_LATE - 0.1)
    assert scheduler.next_request() is None
    clock.turn(0.1)
    assert scheduler.next_request() is not None


def broad_crawl(crawler):
    """Return the scheduler of a crawl that asks eight new sites, and knows a ninth."""
    scheduler = open_scheduler(crawler)
    fill(scheduler, *(f"https://new{number}.example/" for number in range(20)))
    fill(scheduler, *(f"https://known.example/{number}" for number in range(20)))
    throttle = Crawl.of(crawler).throttle
    throttle.sites.of("https://known.example").has_answered = True
    while len(throttle.in_flight) < PLACES:
        crawler.engine.downloader.send(scheduler.next_request())
    return scheduler


def new_sites_of(crawler, scheduler):
    """Hand out a request in place of each that has ended; return those of new sites."""
    found = []
    in_flight = Crawl.of(crawler).throttle.in_flight
    for flight in list(in_flight.flights.values()):
        crawler.engine.downloader.active.discard(flight.request)
        in_flight.release(flight)
        request = crawler.engine.downloader.send(scheduler.next_request())
        if "new" in request.url:
            found.append(request)
    return found


@pytest.mark.parametrize("event", EVENTS)
@ensureDeferred
async def test_new_sites_keep_their_places(make_crawler, clock, event):
    """They lose half of them while sites hang, but not where nobody could listen."""
    crawler = make_crawler(CONCURRENT_REQUESTS=PLACES)
    scheduler = broad_crawl(crawler)
    before = len(Crawl.of(crawler).throttle.in_flight.unresponsive)
    clock.shift(EVENTS[event])
    new = new_sites_of(crawler, scheduler)
    assert before > PLACES / 2
    assert len(new) > PLACES / 2


@ensureDeferred
async def test_new_sites_that_hang_keep_half_of_the_places(make_crawler, clock):
    crawler = make_crawler(CONCURRENT_REQUESTS=PLACES)
    scheduler = broad_crawl(crawler)
    clock.turn(1.5)
    assert 0 < len(new_sites_of(crawler, scheduler)) <= PLACES / 2


@pytest.mark.parametrize("seconds", [-86_400.0, 3_600.0])
def test_no_deadline_follows_the_time_of_day(monkeypatch, seconds):
    """It may be set while a crawl runs."""
    clock = Clock()
    before = clock.now()
    monkeypatch.setattr(time, "time", lambda: before + seconds)
    assert 0 <= clock.now() - before < 60
