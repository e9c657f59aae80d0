"""What waits in a queue counts for ``needs_backout()``, by what it waits for."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from crawling import SCRAPYS_FORM, ensureDeferred
from queueing import fill, open_scheduler, refuse

from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.politeness.connection_ceiling import ConnectionCeiling
from scrapy_mandelbot.politeness.flight import Wait
from scrapy_mandelbot.politeness.pause_policy import PausePolicy
from scrapy_mandelbot.politeness.site_state import Site
from scrapy_mandelbot.scheduling.round_robin import (
    QueueCounts,
    QueueParts,
    RoundRobin,
    SubQueue,
)
from scrapy_mandelbot.throttle import load

PLACES = 16


@pytest.fixture
def crawler(make_crawler, monkeypatch):
    """One whose downloader says how many places it has."""
    monkeypatch.setattr(load, "PAUSED", 10)
    crawler = make_crawler(CONCURRENT_REQUESTS=PLACES)
    downloader = crawler.engine.downloader
    downloader.total_concurrency = PLACES
    downloader.needs_backout = lambda: len(downloader.active) >= PLACES
    return crawler


@pytest.fixture
def scheduler(crawler):
    return open_scheduler(crawler)


def urls(host, number, first=0):
    return [f"https://{host}.example/{n}" for n in range(first, first + number)]


def is_enough(crawler, scheduler) -> bool:
    """Send all that the engine would, and return what it hears then."""
    downloader = crawler.engine.downloader
    while not downloader.needs_backout():
        request = scheduler.next_request()
        if request is None:
            return downloader.needs_backout()
        downloader.send(request)
    return True


@pytest.mark.parametrize(("number", "expected"), [(15, False), (16, True), (40, True)])
@ensureDeferred
async def test_requests_that_wait_for_their_turn_take_places(
    crawler, scheduler, number, expected
):
    """Eight of a site are sent, and the others wait."""
    fill(scheduler, *urls("a", number))
    assert is_enough(crawler, scheduler) is expected
    assert len(crawler.engine.downloader.active) == 8


@ensureDeferred
async def test_while_one_may_go_it_is_not_enough(crawler, scheduler):
    """The engine asks by the same method before it takes a request."""
    fill(scheduler, *urls("a", 40))
    assert not crawler.engine.downloader.needs_backout()
    assert is_enough(crawler, scheduler)
    fill(scheduler, *urls("b", 1))
    assert not crawler.engine.downloader.needs_backout()
    assert is_enough(crawler, scheduler)
    assert len(crawler.engine.downloader.active) == 9


@ensureDeferred
async def test_the_engine_asks_for_no_request_in_vain(crawler, scheduler):
    """The one that is the last to go is known to be: no signal asks for more."""
    fill(scheduler, *urls("a", 40))
    while not crawler.engine.downloader.needs_backout():
        crawler.engine.downloader.send(scheduler.next_request())
    assert len(crawler.engine.downloader.active) == 8


@ensureDeferred
async def test_nor_at_a_site_that_resets_connections_above_a_number(crawler, scheduler):
    """Four connections at once, for one, of which each above is reset."""
    fill(scheduler, *urls("a", 40))
    site = Crawl.of(crawler).throttle.sites.of("https://a.example")
    site.ceiling = ConnectionCeiling()
    site.ceiling.most = 4
    while not crawler.engine.downloader.needs_backout():
        request = scheduler.next_request()
        assert request is not None
        crawler.engine.downloader.send(request)
    assert len(crawler.engine.downloader.active) == 4


@ensureDeferred
async def test_requests_of_paused_sites_take_places_beyond_a_number(crawler, scheduler):
    """It is ten here; also of those that come in the pause."""
    fill(scheduler, *urls("a", 20))
    refuse(crawler, "https://a.example/")
    assert not is_enough(crawler, scheduler)
    fill(scheduler, *urls("a", 5, first=20))
    assert not is_enough(crawler, scheduler), "15 take a place"
    fill(scheduler, *urls("a", 1, first=25))
    assert is_enough(crawler, scheduler)


@ensureDeferred
async def test_when_a_pause_is_over_they_wait_for_their_turn(crawler, scheduler, clock):
    """Behind the probe they are of a paused site still."""
    fill(scheduler, *urls("a", 20))
    refuse(crawler, "https://a.example/")
    assert not is_enough(crawler, scheduler)
    clock.turn(1_000)
    assert not is_enough(crawler, scheduler)
    (probe,) = crawler.engine.downloader.active
    throttle = Crawl.of(crawler).throttle
    flight = throttle.flight_of(probe)
    throttle.answered(flight)
    throttle.release(flight)
    crawler.engine.downloader.active.clear()
    assert not crawler.engine.downloader.needs_backout()
    assert is_enough(crawler, scheduler)


@ensureDeferred
async def test_requests_that_are_left_to_the_next_run_take_no_place(
    make_crawler, monkeypatch, tmp_path
):
    """Of a site that is given up, with JOBDIR."""
    monkeypatch.setattr(load, "PAUSED", 10)
    crawler = make_crawler(JOBDIR=str(tmp_path), **SCRAPYS_FORM)
    crawler.engine.downloader.total_concurrency = PLACES
    crawler.engine.downloader.needs_backout = lambda: False
    scheduler = open_scheduler(crawler)
    fill(scheduler, *urls("a", 40))
    refuse(crawler, "https://a.example/")
    assert is_enough(crawler, scheduler)
    Crawl.of(crawler).manual_control.give_up_all("the test")
    assert not is_enough(crawler, scheduler)
    scheduler.close("finished")


@pytest.mark.parametrize("wait", [None, Wait.TURN])
@pytest.mark.parametrize("before", [Wait.PAUSE, Wait.ROBOTS, Wait.NOTHING])
def test_what_waits_for_no_pause_any_more_is_no_longer_counted_apart(before, wait):
    storage = SimpleNamespace(length=lambda _: 3)
    counts = QueueCounts(storage, RoundRobin(lambda _: 0))
    site = Site("https://a.example", PausePolicy())
    queue = SubQueue(site, QueueParts(site.name, "a.example", is_ours=False))
    counts.note(queue, before, 0.0)
    assert counts.paused.total + counts.left.total == 3
    counts.note(queue, wait, 0.0)
    assert counts.paused.total + counts.left.total == 0
