"""Where requests wait that never were in the queue, by a clock that the tests turn."""

from __future__ import annotations

from math import inf
from types import SimpleNamespace

import pytest
from scrapy import Request
from twisted.internet.defer import ensureDeferred

from scrapy_mandelbot.clock import Timers
from scrapy_mandelbot.politeness.flight import Flight
from scrapy_mandelbot.politeness.pause_policy import PausePolicy
from scrapy_mandelbot.politeness.site_state import Site
from scrapy_mandelbot.throttle.waiters import Waiters

LAW = PausePolicy()


LONGEST = 1000.0  # seconds


class World:
    """An engine, a downloader, and those who wait with what became of them."""

    def __init__(self, clock) -> None:
        self.active: set[Request] = set()
        self.woken = 0
        self.looked_at: list[str] = []
        self.ended: list[tuple[str, bool]] = []
        self.sites = {name: Site(f"https://{name}.example", LAW) for name in "ab"}
        self.slot = SimpleNamespace(
            closing=None, nextcall=SimpleNamespace(schedule=self._wake)
        )
        engine = SimpleNamespace(
            downloader=SimpleNamespace(active=self.active),
            _slot=self.slot,
            running=True,
        )
        self.waiters = Waiters(
            SimpleNamespace(engine=engine),
            Timers(clock, lambda _: None),
            clock.now,
            lambda site: self.looked_at.append(site.name),
            LONGEST,
        )
        self.now = clock.now

    def _wake(self) -> None:
        self.woken += 1

    def wait(self, name: str, longest: float = inf) -> Flight:
        """Let a request wait, of the site that the name begins with."""
        request = Request(f"https://{name[0]}.example/{name}")
        self.active.add(request)
        flight = Flight(request, self.sites[name[0]])
        if longest < inf:  # of all its waits together
            flight.waits_since = self.now() + longest - LONGEST

        async def wait() -> None:
            may_go = await self.waiters.wait(flight, has_limit=longest < inf)
            self.ended.append((name, may_go))

        ensureDeferred(wait())
        return flight

    def release_first(self, name: str) -> None:
        self.waiters.release(self.waiters.of(self.sites[name])[0], may_go=True)


@pytest.fixture
def world(clock, monkeypatch) -> World:
    # Of Scrapy; on the asyncio reactor it makes a future, whose callbacks take a turn
    # of the loop.
    monkeypatch.setattr(
        "scrapy_mandelbot.throttle.waiters.maybe_deferred_to_future", lambda d: d
    )
    return World(clock)


def test_first_come_first_served_by_site(world):
    """Whoever has waited longest goes first; another site's order is its own."""
    for name in ("a1", "b1", "a2", "b2"):
        world.wait(name)
    assert len(world.waiters) == 4
    world.release_first("b")
    world.release_first("a")
    world.release_first("a")
    assert world.ended == [("b1", True), ("a1", True), ("a2", True)]
    assert len(world.waiters) == 1
    world.waiters.close()


def test_who_waits_holds_no_place_of_the_downloader(world):
    """The engine is woken, as a request of another site may have it; in the end it is
    back.
    """
    flight = world.wait("a1")
    assert flight.is_waiting
    assert flight.request not in world.active
    assert world.woken == 1
    world.release_first("a")
    assert not flight.is_waiting
    assert flight.request in world.active
    world.waiters.close()


def test_who_waits_too_long_may_not_go(world, clock):
    """Each after its own time; who was released before is not told twice."""
    world.wait("a1", longest=10)
    world.wait("a2", longest=5)
    world.wait("a3", longest=7)
    clock.turn(4.9)
    assert world.ended == []
    clock.turn(0.2)
    assert world.ended == [("a2", False)]
    world.release_first("a")
    clock.turn(20)
    assert world.ended == [("a2", False), ("a1", True), ("a3", False)]
    assert len(world.waiters) == 0
    clock.assert_nothing_left()


@pytest.mark.parametrize("longest", [0, -1.0])
def test_who_may_not_wait_does_not(world, clock, longest):
    """With MANDELBOT_PAUSE_OPTIONS["wait"] of zero, or when all of it is used up."""
    flight = world.wait("a1", longest)
    assert world.ended == [("a1", False)]
    assert not flight.is_waiting
    assert flight.request in world.active
    clock.assert_nothing_left()


def test_a_closing_crawl_lets_nothing_wait(world, clock):
    """Scrapy closes when all under way have ended, those that wait included: it is
    looked for.
    """
    world.wait("a1", longest=1000)
    world.wait("b1")
    world.slot.closing = object()
    clock.turn(0.3)
    assert sorted(world.ended) == [("a1", False), ("b1", False)]
    world.wait("a2")
    assert world.ended[2:] == [("a2", False)]
    clock.assert_nothing_left()


def test_what_they_wait_for_is_looked_at_now_and_then(world, clock):
    """It may have ended without a word: four times a second, as long as any request
    waits.
    """
    world.wait("a1")
    world.wait("b1")
    clock.turn(1)
    assert world.looked_at == ["https://a.example", "https://b.example"] * 4
    world.release_first("a")
    world.release_first("b")
    clock.turn(10)
    assert len(world.looked_at) == 8
    clock.assert_nothing_left()


def test_closed_all_waits_end(world, clock):
    """And no timer is left."""
    for name in ("a1", "b1", "a2"):
        world.wait(name, longest=100)
    world.waiters.close()
    assert sorted(world.ended) == [("a1", False), ("a2", False), ("b1", False)]
    assert len(world.waiters) == 0
    clock.assert_nothing_left()


def test_those_who_wait_may_be_released_while_they_are_looked_through(world):
    """One that goes may end in its own callback and let the next ones go."""
    for name in ("a1", "a2", "a3"):
        world.wait(name)
    for waiter in world.waiters.of(world.sites["a"]):
        world.waiters.release(waiter, may_go=False)
        world.waiters.release(waiter, may_go=True)
    assert world.ended == [("a1", False), ("a2", False), ("a3", False)]
    world.waiters.close()
