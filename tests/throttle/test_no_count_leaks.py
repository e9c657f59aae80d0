"""After a hundred thousand requests of every fate nothing is counted that is not there."""

from __future__ import annotations

import random
from collections import Counter

import pytest
import scrapy
from crawling import SETTINGS
from scrapy import Request
from scrapy.core.scheduler import Scheduler
from scrapy.crawler import Crawler
from scrapy.settings import Settings

from scrapy_mandelbot.crawl import Crawl

pytestmark = pytest.mark.slow

STEPS = 100_000
SITES = 40


class Clock:
    """Time that is turned by the test, and what is to be called when."""

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self.calls: dict[object, tuple[float, object, tuple]] = {}

    def call_later(self, delay, function, *arguments):
        clock = self

        class Call:
            def cancel(self) -> None:
                clock.calls.pop(self, None)

        call = Call()
        self.calls[call] = (self.now + delay, function, arguments)
        return call

    def turn(self, seconds: float) -> None:
        self.now += seconds
        for call, (due, function, arguments) in list(self.calls.items()):
            if due <= self.now and self.calls.pop(call, None):
                function(*arguments)


class FakeDownloader:
    domain_concurrency = 4

    def __init__(self) -> None:
        self.slots = {}
        self.active: set[Request] = set()

    @staticmethod
    def get_slot_key(request: Request) -> str:
        return request.meta.get("download_slot") or request.url.split("/")[2]


class FakeEngine:
    running = True
    _slot = None

    def __init__(self) -> None:
        self.downloader = FakeDownloader()


@pytest.fixture
def clock(monkeypatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("scrapy_mandelbot.gates.alarms.call_later", clock.call_later)
    monkeypatch.setattr("scrapy_mandelbot.pqueues.aside.call_later", clock.call_later)
    monkeypatch.setattr(Crawl, "now", lambda _: clock.now)
    return clock


@pytest.mark.parametrize("delays", [{}, {f"site{n}": 0.05 * n for n in range(10)}])
def test_no_count_leaks(clock, delays):
    """Answers, refusals, evictions, exceptions, redirects, and requests that somebody swallows.

    Some of the sites may have a pace.
    """
    chance = random.Random(7)
    settings = {
        **SETTINGS,
        "ROBOTSTXT_OBEY": False,
        "MANDELBOT_PAUSE_BASE": 5,
        "MANDELBOT_PAUSE_TRIES": 10**6,
        "MANDELBOT_CRAWL_DELAYS": delays,
        "LOG_LEVEL": "ERROR",
    }
    crawler = Crawler(scrapy.Spider, Settings(settings))
    crawler.spider = scrapy.Spider("leaks")
    crawler._apply_settings()
    crawler.engine = FakeEngine()
    scheduler = Scheduler.from_crawler(crawler)
    scheduler.open(crawler.spider)
    gates = Crawl.of(crawler).gates
    active = crawler.engine.downloader.active
    fates: Counter[str] = Counter()
    made = 0
    sent_at: dict[str, float] = {}

    def ended(request: Request) -> None:
        active.discard(request)
        if request.meta.get("download_slot") and not request.meta.get("redirected"):
            assert request.meta["download_slot"] == request.url.split("/")[2]

    def answered(request: Request) -> None:
        gates.paces.ended(request)
        gates.answered(request)
        gates.let_go(request)
        ended(request)

    def refused(request: Request) -> None:
        gates.refused(request, "503", chance.choice([None, 1.0, 3.0]))
        evicted(request)

    def evicted(request: Request) -> None:
        gates.paces.ended(request)
        back = gates.send_back(request)
        assert back is request
        assert back.dont_filter
        ended(request)
        scheduler.enqueue_request(back)
        assert not request.dont_filter

    def failed(request: Request) -> None:
        gates.paces.ended(request)
        gates.let_go(request)
        ended(request)

    def redirected(request: Request) -> None:
        answered(request)
        site = chance.randrange(SITES)
        meta = {**request.meta, "redirected": True}
        scheduler.enqueue_request(Request(f"http://site{site}/r/{made}", meta=meta))

    # What becomes of a request, and how likely it is.
    outcomes = {answered: 70, refused: 6, evicted: 6, failed: 6, redirected: 6, ended: 6}
    waiting_to_end: list[Request] = []
    for _ in range(STEPS):
        made += 1
        scheduler.enqueue_request(Request(f"http://site{chance.randrange(SITES)}/{made}"))
        request = scheduler.next_request()
        if request is not None:
            active.add(request)
            host = request.url.split("/")[2]
            if chance.random() < 0.9:  # the others are forbidden, or come from the cache
                gates.paces.sent(request)
                if host in sent_at:
                    assert clock.now >= sent_at[host] + delays.get(host, 0) - 1e-6
                sent_at[host] = clock.now
            request.meta.setdefault("download_slot", request.url.split("/")[2])
            waiting_to_end.append(request)
        if len(waiting_to_end) > 60 or (request is None and waiting_to_end):
            request = waiting_to_end.pop(chance.randrange(len(waiting_to_end)))
            fate = chance.choices(list(outcomes), list(outcomes.values()))[0]
            fates[fate.__name__] += 1
            fate(request)
        clock.turn(0.02)

    for request in waiting_to_end:
        answered(request)
    idle = 0
    while len(scheduler):
        request = scheduler.next_request()
        if request is None:
            clock.turn(0.1)
            idle += 1
            assert idle < 200_000, f"{len(scheduler)} requests are never handed out"
            continue
        active.add(request)
        answered(request)

    assert set(fates) == {fate.__name__ for fate in outcomes}
    clock.turn(20)
    assert len(gates.paces) == 0
    handouts = gates.handouts
    for slot in list(handouts._in_slots):  # what was swallowed is found out when somebody looks
        crawler.engine.downloader.domain_concurrency = 1
        gates.handouts.is_full(slot)
    assert not handouts._in_slots
    assert not [one for one in handouts._outside if one in active]
    queue = scheduler.mqs
    assert not queue._turns._slots
    assert not queue._turns._lines
    assert not queue._by_gate
    assert not queue._aside._lengths
    assert not queue._shelf._lengths
    assert not queue._waits_for_an_end
    assert crawler.stats.get_value("scheduler/enqueued") >= STEPS
    gates.close()
