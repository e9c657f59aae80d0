"""What every store does that crawls share as they run: in a file."""

from __future__ import annotations

import time

import pytest
from clocks import TurnedClock
from live_stores import SITE, Events, Listener, claim, find

from scrapy_mandelbot.store.contract import CachedRobots, Lease, StoredPause
from scrapy_mandelbot.store.sqlite import SqliteStore

OTHER = "https://other.example"
NOW = float(int(time.time()))
COPY = CachedRobots(b"User-agent: *\nDisallow: /x\n", 200, NOW)


class File:
    """Stores in one file, by a turned clock."""

    slack = 1e-6  # seconds

    def __init__(self, path) -> None:
        self._path = path
        self._clock = TurnedClock(NOW)
        self.now = self._clock.now
        self.opened = []

    def open(self) -> SqliteStore:
        self.opened.append(
            SqliteStore(self._path, self._clock.call_later, now=self._clock.now)
        )
        self.opened[-1].get_turns(0.0)
        return self.opened[-1]

    @staticmethod
    def told(store) -> None:
        store.save()

    def next(self, events: Events):
        """Return what is heard of next, having let time pass until it is."""
        if events.is_empty:
            self._clock.turn(0.5)
        return events.next()


@pytest.fixture
def place(tmp_path):
    place = File(tmp_path / "store.db")
    yield place
    for store in place.opened:
        store.close()


@pytest.fixture
def stores(place):
    return place.open(), place.open()


@pytest.fixture
def about(place):
    """Return what equals so many seconds, less those that may have passed."""
    return lambda seconds: pytest.approx(seconds, abs=place.slack)


def test_one_of_all_crawls_has_a_lease(place, stores, about):
    """The others hear for how long; who has it can have it for longer, and alone gives
    it back.
    """
    one, other = stores
    assert claim(one) == 0
    assert claim(other) == about(100)
    assert claim(other, key=OTHER) == 0
    assert claim(other, lease=Lease.TURN) == 0
    assert claim(one, lease_for=200.0) == 0
    assert claim(other) == about(200)
    other.release(Lease.PROBE, SITE)
    place.told(other)
    assert claim(other) == about(200)
    one.release(Lease.PROBE, SITE)
    place.told(one)
    assert claim(other) == 0


def test_a_pause_or_turn_delays_a_lease(place, stores, about):
    """Whoever has not heard of it yet learns so from the store, but of no turn at
    another pace.
    """
    one, other = stores
    one.put_pause(SITE, StoredPause(place.now() + 100, "503"))
    one.put_turn(SITE, place.now() + 50)
    one.put_pause(OTHER, StoredPause(place.now() + 1e9, "held for years"))
    place.told(one)
    assert claim(other) == about(100)
    assert claim(other, key=OTHER) == about(1e9)
    assert claim(other, lease=Lease.TURN) == about(50)
    assert claim(other, lease=Lease.TURN, longest_wait=50 + place.slack) == about(50)
    assert claim(other, lease=Lease.TURN, longest_wait=50 - 2 * place.slack) == 0


def test_an_ended_pause_or_turn_delays_no_lease(place, stores):
    """Nor does one that was ended."""
    one, other = stores
    one.put_pause(SITE, StoredPause(place.now() - 1, "503"))
    one.put_turn(SITE, place.now() - 1)
    one.put_pause(OTHER, StoredPause(place.now() + 100, "503"))
    one.put_pause(OTHER, None)
    place.told(one)
    assert (
        claim(other) == claim(other, key=OTHER) == claim(other, lease=Lease.TURN) == 0
    )


def test_releasing_a_turn_stores_the_next_one_first(place, stores, about):
    """So that no other has the lease before it knows."""
    one, other = stores
    assert claim(one, lease=Lease.TURN) == 0
    one.put_turn(SITE, place.now() + 50)
    one.release(Lease.TURN, SITE)
    place.told(one)
    assert claim(other, lease=Lease.TURN) == about(50)


def test_a_later_turn_is_not_taken_back(place, stores):
    """What one tells late another may have passed by then; what a wrong clock wrote
    does go.
    """
    one, other = stores
    for written, kept in (
        (20, 20),
        (10, 20),
        (3_619, 3_619),
        (20, 3_619),
        (90_000, 90_000),
        (9, 9),
    ):
        one.put_turn(SITE, NOW + written)
        place.told(one)
        assert other.get_turns(0.0) == {SITE: NOW + kept}


def test_one_crawl_fetches_when_there_is_no_fresh_copy(place, stores, about):
    """It has the old copy in hand; the others have the new one as soon as the lease is
    back.
    """
    one, other = stores
    assert find(one, NOW - 5) == (None, 0)
    assert find(other, NOW - 5) == (None, about(100))
    assert find(other, NOW - 5, lease_for=0.0) == (None, about(100))
    one.put_copy(SITE, COPY)
    one.release(Lease.FETCH, SITE)
    place.told(one)
    assert find(other, NOW - 5, lease_for=0.0) == find(other, NOW - 5) == (COPY, 0)
    assert other.get_copy(SITE) == COPY
    assert find(other, NOW + 5) == (COPY, 0)
    assert find(one, NOW + 5) == (COPY, about(100))
    other.release(Lease.FETCH, SITE, 30.0)
    place.told(other)
    assert find(one, NOW + 5, lease_for=0.0) == (COPY, about(30))


def test_fetching_again_extends_the_lease(place, stores, about):
    """Not for what was left of it when the last fetch was in vain."""
    one, other = stores
    assert find(one, NOW - 5) == (None, 0)
    one.release(Lease.FETCH, SITE, 30.0)
    assert find(one, NOW - 5) == (None, 0)
    assert find(other, NOW - 5, lease_for=0.0) == (None, about(100))


def test_changes_reach_the_other_crawls(place, stores):
    """Once, in order; who has told it does not.

    Who begins later hears of all there is.
    """
    one, other = stores
    own, listener = Listener(), Listener()
    one.put_turn(OTHER, NOW + 5_000)
    place.told(one)
    for store, hearer in (one, own), (other, listener):
        store.listen(hearer)
        assert place.next(hearer.heard) == ("all", {}, {OTHER: NOW + 5_000})
    pause = StoredPause(NOW + 9_000, "503", 2)
    one.put_pause(SITE, pause)
    assert place.next(listener.heard) == ("pause", SITE, pause)
    one.put_turn(OTHER, NOW + 6_000)
    one.announce_waiting(OTHER)
    assert place.next(listener.heard) == ("turn", OTHER, NOW + 6_000)
    assert place.next(listener.heard) == ("waits", OTHER)
    one.put_pause(SITE, None)
    assert place.next(listener.heard) == ("pause", SITE, None)
    other.put_turn(OTHER, NOW + 7_000)
    assert place.next(own.heard) == ("turn", OTHER, NOW + 7_000)
    assert own.heard.is_empty
    assert listener.heard.is_empty


def test_a_closed_store_answers_nobody(stores):
    """The crawl is over."""
    one, _ = stores
    one.close()
    answers = Events()
    one.claim(Lease.PROBE, SITE, 10.0, answers)
    one.find_copy(SITE, NOW, 10.0, answers)
    one.release(Lease.PROBE, SITE)
    one.release(Lease.FETCH, SITE)
    assert answers.is_empty
