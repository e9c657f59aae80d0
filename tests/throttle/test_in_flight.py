"""What the queue handed out comes back as it was, and what ended without a word is
found.
"""

from __future__ import annotations

import gc
from types import SimpleNamespace

import pytest
from clocks import TurnedClock
from scrapy import Request

from scrapy_mandelbot.clock import LoopUptime, Timers
from scrapy_mandelbot.politeness.flight import Flight
from scrapy_mandelbot.politeness.pause_policy import PausePolicy
from scrapy_mandelbot.politeness.site_state import Site
from scrapy_mandelbot.throttle.in_flight import InFlight

pytestmark = pytest.mark.usefixtures("little_to_collect")

SITE = Site("https://example.com", PausePolicy())
SLOT = "example.com"


def handed_out(request: Request, slot: str = SLOT) -> Flight:
    """Return what the queue and the site note of a request that is handed out."""
    flight = Flight(request, SITE)
    flight.slot, flight.is_from_queue = slot, True
    return flight


class World:
    """A downloader with two places in each slot, and what is told of it."""

    def __init__(self) -> None:
        downloader = SimpleNamespace(active=set(), slots={}, domain_concurrency=2)
        crawler = SimpleNamespace(
            engine=SimpleNamespace(downloader=downloader),
            settings=SimpleNamespace(getdict=lambda _: {}, getint=lambda _: 16),
        )
        self.active: set[Request] = downloader.active
        self.changed: list[tuple[str, int]] = []
        self.lost: list[object] = []
        self.in_flight = InFlight(
            crawler,
            self.lost.append,
            print,
            float,
            print,
            is_paced=False,
            uptime=LoopUptime(Timers(TurnedClock(), print), float),
        )
        queue = SimpleNamespace(
            slot_changed=lambda *change: self.changed.append(change)
        )
        self.in_flight.queues.append(queue)

    def hand_out(self, number: int = 0, slot: str = SLOT):
        flight = handed_out(Request(f"https://example.com/{number}"), slot)
        self.active.add(flight.request)
        self.in_flight.add_from_queue(flight)
        return flight


@pytest.fixture
def world() -> World:
    return World()


@pytest.mark.parametrize(
    "meta", [{}, {"download_slot": "mine", "other": 1}, {"proxy": "http://mine:1"}]
)
@pytest.mark.parametrize("dont_filter", [True, False])
def test_it_comes_back_as_it_was(world, meta, dont_filter):
    """The downloader writes its slot, a middleware a proxy, the way back its mark: none
    stays.
    """
    in_flight = world.in_flight
    request = Request("https://example.com/", meta=dict(meta), dont_filter=dont_filter)
    flight = handed_out(request)
    in_flight.add_from_queue(flight)
    assert in_flight.get(request) is flight
    assert in_flight.in_slot(SLOT) == 1
    request.meta["download_slot"] = "example.com"
    request.meta["proxy"] = "http://another:1"

    back = in_flight.send_back(flight, not_before=7.0)
    assert back is request
    assert back.dont_filter, "it has to pass the dupe filter"
    assert request in in_flight.coming_back
    assert in_flight.in_slot("example.com") == 0
    assert in_flight.take_back(request).not_before == 7

    assert request.meta == meta
    assert request.dont_filter is dont_filter
    assert in_flight.get(request) is None
    assert request not in in_flight.coming_back
    assert in_flight.take_back(request) is None, "once"


def test_a_new_request_is_taken_as_it_is(world):
    """A request that a spider yields is none that comes back."""
    request = Request(
        "https://example.com/", meta={"download_slot": "mine"}, dont_filter=True
    )
    assert world.in_flight.take_back(request) is None
    assert request.dont_filter
    assert request.meta == {"download_slot": "mine"}


def test_a_request_sent_back_that_never_arrives_is_forgotten(world):
    """Some middleware dropped it: it is kept no longer than by whoever holds it."""
    back = world.in_flight.send_back(world.hand_out())
    world.active.clear()
    world.hand_out(1)
    assert back in world.in_flight.coming_back
    del back
    gc.collect()
    assert not len(world.in_flight.coming_back)


def test_a_slot_is_told_of_each_change(world):
    """The queue goes by the number of those that were handed out."""
    first, second = world.hand_out(1), world.hand_out(2)
    assert world.changed == [(SLOT, 1), (SLOT, 2)]
    assert world.in_flight.check_full(SLOT)
    world.in_flight.release(first)
    assert world.changed[2:] == [(SLOT, 1)]
    assert not world.in_flight.check_full(SLOT)
    world.in_flight.release(second)
    world.in_flight.release(second)
    assert world.changed[3:] == [(SLOT, 0)]
    assert world.in_flight.in_slot(SLOT) == 0
    assert not world.in_flight.check_full(SLOT)
    assert len(world.in_flight) == 0


def test_who_did_not_come_from_the_queue_holds_no_place_of_a_slot(world):
    """The files that a media pipeline asks for, a robots.txt."""
    flight = world.in_flight.add(Request("https://example.com/"), SITE)
    assert world.in_flight.in_slot(SLOT) == 0
    world.in_flight.release(flight)
    assert world.changed == []


def test_a_request_that_a_middleware_swallowed_leaves_its_slot(world):
    """It is no longer the downloader's, so its end is reported."""
    first = world.hand_out(1)
    second = world.hand_out(2)
    world.active.discard(first.request)
    assert world.in_flight.check_full(SLOT), "a question changes nothing"
    world.in_flight.drop_lost_in(SLOT)
    assert not world.in_flight.check_full(SLOT)
    assert world.lost == [first]
    assert world.in_flight.get(first.request) is None
    assert world.in_flight.get(second.request) is second


def test_who_waits_is_not_lost(world):
    """It gave up its place of the downloader meanwhile."""
    flight = world.hand_out()
    world.active.clear()
    flight.is_waiting = True
    assert not world.in_flight.drop_if_lost(flight)
    flight.is_waiting = False
    assert world.in_flight.drop_if_lost(flight)
    assert world.lost == [flight]


def test_the_map_does_not_outgrow_what_is_under_way(world):
    """Of ten thousand requests that a middleware swallowed it knows a thousand."""
    kept = [world.hand_out(number, slot=f"slot{number}") for number in range(50)]
    most = 0
    for number in range(10_000):
        request = Request("https://example.com/")
        if number % 2:
            world.in_flight.add(request, SITE)
        else:
            world.in_flight.add_from_queue(handed_out(request, f"slot{number}"))
        most = max(most, len(world.in_flight))
    assert most <= 1_001
    assert all(world.in_flight.get(flight.request) is flight for flight in kept)
    assert len(world.in_flight.slots()) <= 1_001


def test_as_many_may_be_under_way_as_there_are(world):
    """A crawl of 5,000 at once loses none, and is not searched for each."""
    flights = [world.hand_out(number) for number in range(5_000)]
    assert len(world.in_flight) == 5_000
    assert world.lost == []
    assert world.in_flight.in_slot(SLOT) == 5_000
    for flight in flights:
        world.in_flight.release(flight)
    assert len(world.in_flight) == 0


@pytest.mark.parametrize(
    ("headers", "has_headers"),
    [
        ({}, False),
        ({"Referer": "https://example.com"}, False),
        ({"Referer": "https://example.com", "Accept": "application/json"}, True),
        ({"User-Agent": "Another/1.0"}, True),
    ],
)
def test_a_request_has_headers_if_the_spider_gave_it_any(world, headers, has_headers):
    """What Scrapy gives any request, it gives one that is sent again."""
    flight = handed_out(Request("https://example.com/page", headers=headers))
    world.in_flight.add_from_queue(flight)
    assert flight.has_headers is has_headers
