"""After a hundred thousand requests of every fate, no count is left over."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from queueing import open_scheduler
from scrapy import Request

from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.politeness.flight import GO

pytestmark = pytest.mark.slow

STEPS = [5_000, pytest.param(100_000, marks=pytest.mark.thorough)]
SITES = 40


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("delays", [{}, {f"site{n}": 0.05 * n for n in range(10)}])
def test_no_count_leaks(make_crawler, clock, delays, steps):
    """Answers, refusals, evictions, exceptions, redirects, and requests that are
    swallowed.

    Some of the sites may have a pace.
    """
    chance = random.Random(7)
    crawler = make_crawler(
        CONCURRENT_REQUESTS_PER_DOMAIN=4,
        MANDELBOT_PAUSE_OPTIONS={"longest": 5, "tries": 10**6},
        MANDELBOT_CRAWL_DELAYS=delays,
        LOG_LEVEL="ERROR",
    )
    scheduler = open_scheduler(crawler)
    throttle = Crawl.of(crawler).throttle
    active = crawler.engine.downloader.active
    fates: Counter[str] = Counter()
    admissions: Counter[bool] = Counter()
    made = 0
    sent_at: dict[str, float] = {}
    swallowed: list[Request] = []

    def ended(request: Request) -> None:
        active.discard(request)
        if request.meta.get("download_slot") and not request.meta.get("redirected"):
            assert request.meta["download_slot"] == request.url.split("/")[2]

    def answered(request: Request) -> None:
        flight = throttle.flight_of(request)
        throttle.answered(flight)
        throttle.release(flight)
        ended(request)

    def refused(request: Request) -> None:
        throttle.pauses.refused(
            throttle.flight_of(request), "503", chance.choice([None, 1.0, 3.0])
        )
        evicted(request)

    def evicted(request: Request) -> None:
        back = throttle.send_back(throttle.flight_of(request))
        assert back is request
        assert back.dont_filter
        ended(request)
        scheduler.enqueue_request(back)
        assert not request.dont_filter

    def failed(request: Request) -> None:
        throttle.release(throttle.flight_of(request))
        ended(request)

    def redirected(request: Request) -> None:
        answered(request)
        site = chance.randrange(SITES)
        meta = {**request.meta, "redirected": True}
        scheduler.enqueue_request(Request(f"http://site{site}/r/{made}", meta=meta))

    def lost(request: Request) -> None:
        swallowed.append(request)
        ended(request)

    # What becomes of a request, and how likely it is.
    outcomes = {answered: 70, refused: 6, evicted: 6, failed: 6, redirected: 6, lost: 6}
    waiting_to_end: list[Request] = []
    for _ in range(steps):
        made += 1
        scheduler.enqueue_request(
            Request(f"http://site{chance.randrange(SITES)}/{made}")
        )
        request = scheduler.next_request()
        if request is not None:
            active.add(request)
            host = request.url.split("/")[2]
            # the others are forbidden, or come from the cache
            if chance.random() < 0.9:
                admission = throttle.admit(throttle.flight_of(request))
                admissions[admission is GO] += 1
                assert admission is GO, "who was just handed out may be sent"
                if host in sent_at:
                    assert clock.now() >= sent_at[host] + delays.get(host, 0) - 1e-6
                sent_at[host] = clock.now()
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
    in_flight = throttle.in_flight
    flights = [
        flight
        for request in swallowed
        if (flight := in_flight.get(request)) is not None
    ]
    assert len(in_flight) == len(flights), (
        "what was swallowed is found out when it is looked for"
    )
    for flight in flights:
        assert in_flight.drop_if_lost(flight)
    assert len(in_flight) == 0
    assert not any(in_flight.in_slot(f"site{number}") for number in range(SITES))
    assert not in_flight.coming_back
    for site in map(throttle.sites.get, throttle.sites):
        assert list(site.awaited) == []
        assert not site.is_shut(clock.now())
        assert site.due(clock.now()) < clock.now() + 5
    queue = scheduler.mqs
    assert list(queue.sub_queues()) == []
    assert len(queue) == 0
    assert crawler.stats.get_value("scheduler/enqueued") >= steps
