"""Of all crawls that share a store on a server, one at a time probes a site, or has its
turn.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from itertools import pairwise
from math import inf
from types import SimpleNamespace

import pytest
from flights import flight_to
from mandelbot import RobotsTxt
from queueing import open_scheduler, refuse
from scrapy import Request

from scrapy_mandelbot.clock import Timers
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.politeness.flight import GO, Flight, Wait
from scrapy_mandelbot.politeness.pause_policy import PausePolicy, Refusal
from scrapy_mandelbot.politeness.site_state import Site
from scrapy_mandelbot.store.contract import Lease, LiveStore
from scrapy_mandelbot.store.memory import MemoryStore
from scrapy_mandelbot.store.sqlite import SqliteStore
from scrapy_mandelbot.throttle.leases import Leases
from scrapy_mandelbot.throttle.peers import Peers

SITE = "https://example.com"
OBEY = {"MANDELBOT_PACE": "obey", "ROBOTSTXT_OBEY": True}
WAY = 0.001  # seconds that a question and its answer take


class Server:
    """As much of a server as stores on it look at: what is told, and leases, by a
    turned clock.
    """

    def __init__(self, clock) -> None:
        self.clock = clock
        self.stores: list[FakeStore] = []
        self.leases: dict[tuple[Lease, str], tuple[object, float]] = {}
        self.pauses: dict = {}
        self.turns: dict[str, float] = {}
        self.claims = 0
        self.is_there = True


class FakeStore(MemoryStore, LiveStore):
    """A store of one worker."""

    def __init__(self, server: Server) -> None:
        super().__init__()
        self.server = server
        self.listener = None
        server.stores.append(self)

    def listen(self, listener) -> None:
        self.listener = listener

    def put_pause(self, site, pause) -> None:
        self.server.pauses[site] = pause
        self._tell(lambda other: other.pause_stored(site, pause))

    def get_pauses(self, after=-inf):
        return {site: one for site, one in self.server.pauses.items() if one}

    def put_turn(self, site, due) -> None:
        self.server.turns[site] = max(due, self.server.turns.get(site, 0.0))
        self._tell(lambda other: other.turn_stored(site, due))

    def announce_waiting(self, site) -> None:
        self._tell(lambda other: other.waiting_stored(site))

    def _tell(self, tell) -> None:
        for other in self.server.stores if self.server.is_there else ():
            if other is not self and other.listener is not None:
                self.server.clock.call_later(WAY, tell, other.listener)

    def find_copy(self, site, fresh_since, lease_for, then) -> None:
        then(None, 0.0)

    def claim(self, lease, key, lease_for, then, longest_wait=inf) -> None:
        server, now = self.server, self.server.clock.now()
        server.claims += 1
        pause = server.pauses.get(key)
        due = (
            server.turns.get(key, 0.0)
            if lease is Lease.TURN
            else (pause.until if pause else 0.0)
        )
        owner, until = server.leases.get((lease, key), (None, 0.0))
        left = 0.0
        if server.is_there:
            left = max(0.0, due - now)
            if not left and owner not in {None, self} and until > now:
                left = until - now
            if not left:
                server.leases[lease, key] = self, now + lease_for
        server.clock.call_later(WAY, then, left)

    def release(self, lease, key) -> None:
        if self.server.leases.get((lease, key), (None, 0))[0] is self:
            del self.server.leases[lease, key]


class Worker:
    """One of the crawls."""

    def __init__(self, crawler) -> None:
        self.crawler = crawler
        self.clock = Crawl.of(crawler).clock
        self.throttle = Crawl.of(crawler).throttle
        self.manual_control = Crawl.of(crawler).manual_control
        self.site = self.throttle.sites.of(SITE)

    def may_go(self) -> bool:
        return self.throttle.decide(self.site) is GO

    def hand_out(self) -> Flight:
        flight = Flight(Request(f"{SITE}/page"), self.site)
        flight.slot = "example.com"
        self.crawler.engine.downloader.active.add(flight.request)
        self.throttle.hand_out(flight, self.clock.now(), as_scout=False)
        return flight

    def send(self) -> Flight:
        flight = self.hand_out()
        assert self.throttle.admit(flight) is GO
        return flight

    def end(self, flight: Flight, *, refused: float = 0.0) -> None:
        if refused:
            self.throttle.pauses.refused(flight, "503", refused)
        else:
            self.throttle.answered(flight)
        self.throttle.release(flight)
        self.crawler.engine.downloader.active.discard(flight.request)


@pytest.fixture
def server(clock):
    return Server(clock)


@pytest.fixture
def workers(server, make_crawler, clock, monkeypatch):
    """Make crawls that share nothing but the server."""
    monkeypatch.setattr(Peers, "_others", lambda _: iter(()))
    monkeypatch.setattr(
        "scrapy_mandelbot.crawl.open_store", lambda *_: FakeStore(server)
    )

    made = []

    def make(count=2, **settings):
        crawlers = [make_crawler(**settings) for _ in range(count)]
        for crawler in crawlers:
            open_scheduler(crawler)
            made.append(Worker(crawler))
        return made

    yield make
    for worker in made:
        worker.throttle.close()
    clock.turn(WAY)  # what was under way comes too late


def test_one_probes_and_the_others_wait_for_what_comes_of_it(workers, clock):
    """Whoever asks first; while its probe is on its way no other has one, however long
    it takes.
    """
    one, other = workers()
    refuse(one.crawler, SITE + "/page", 30)
    clock.turn(WAY)
    assert not other.may_go()
    clock.turn(32)
    assert not other.may_go()
    clock.turn(2 * WAY)
    assert other.may_go()
    probe = other.send()
    for _ in range(300):
        assert not one.may_go()
        clock.turn(0.2)
    other.end(probe)
    clock.turn(5 * WAY)
    assert not one.may_go()  # it asks for its own turn to see the site first
    clock.turn(5 * WAY)
    assert one.may_go()


def test_a_probe_that_failed_has_the_others_wait_longer(workers, clock):
    """They hear of it, and do not ask before the longer pause is over."""
    one, other = workers()
    refuse(one.crawler, SITE + "/page", 30)
    clock.turn(30)
    one.may_go()
    clock.turn(2 * WAY)
    one.end(one.send(), refused=60)
    clock.turn(2 * WAY)
    for _ in range(59):
        assert not other.may_go()
        assert not one.may_go()
        clock.turn(1)
    clock.turn(5)
    one.may_go()
    clock.turn(2 * WAY)
    assert one.may_go()
    assert not other.may_go()


def test_a_lease_that_nobody_uses_is_given_back(workers, server, clock):
    """Its crawl may have no request left; another one's turn is not held up by that."""
    one, other = workers()
    refuse(one.crawler, SITE + "/page", 30)
    clock.turn(32)
    one.may_go()
    clock.turn(2 * WAY)
    assert one.may_go()
    assert not other.may_go()
    clock.turn(5)
    other.may_go()
    clock.turn(2 * WAY)
    assert other.may_go()


def test_who_died_holds_nobody_up_for_long(workers, server, clock):
    """Its lease is not renewed, and ends."""
    one, other = workers()
    refuse(one.crawler, SITE + "/page", 30)
    clock.turn(32)
    server.leases[Lease.PROBE, SITE] = "the dead one", clock.now() + 15
    for _ in range(14):
        assert not other.may_go()
        clock.turn(1)
    clock.turn(2)
    other.may_go()
    clock.turn(2 * WAY)
    assert other.may_go()


def test_asking_costs_little_while_it_is_in_vain(workers, server, clock):
    """Once a second for a site at most, and nothing for sites that are well."""
    one, other = workers()
    assert one.may_go()
    assert server.claims == 0
    refuse(one.crawler, SITE + "/page", 30)
    clock.turn(32)
    server.leases[Lease.PROBE, SITE] = "another", clock.now() + 100
    before = server.claims
    for _ in range(1_000):
        other.may_go()
        clock.turn(0.02)
    assert server.claims - before <= 45  # of two crawls in 20 seconds


def test_a_pause_that_is_ended_by_hand_is_ended_for_all(workers, clock):
    """The operator knows that the site is well: one goes at once, then all."""
    one, other = workers()
    refuse(one.crawler, SITE + "/page", 300)
    clock.turn(10)
    assert one.manual_control.end_hold(SITE)
    one.may_go()
    clock.turn(2 * WAY)
    assert one.may_go()
    one.end(one.send())
    clock.turn(2 * WAY)
    other.may_go()
    clock.turn(2 * WAY)
    assert other.may_go()


@pytest.mark.parametrize("delay", [0.5, 2.0])
@pytest.mark.parametrize("seconds", [0.0, 3.0])
def test_one_pace_is_kept_by_all_to_the_letter(workers, clock, delay, seconds):
    """However long answers take: no two requests are nearer, and no crawl starves."""
    crawls = workers(3, **OBEY)
    robots = RobotsTxt.parse(f"User-agent: *\nCrawl-delay: {delay}\n".encode())
    for worker in crawls:
        worker.throttle.paces.learn(worker.site, robots, "Mandelbot", clock.now() + 1e6)
        worker.throttle.in_flight.waiting = lambda _site: 1
    asked = []
    under_way = []
    for _ in range(3_000):
        for number, worker in enumerate(crawls):
            if worker.may_go():
                under_way.append((clock.now() + seconds, worker, worker.send()))
                asked.append((clock.now(), number))
        for entry in [one for one in under_way if one[0] <= clock.now()]:
            under_way.remove(entry)
            entry[1].end(entry[2])
        clock.turn(delay / 40)
    times = [at for at, _ in asked]
    assert min(later - earlier for earlier, later in pairwise(times)) >= delay - 1e-6
    assert len(times) >= 0.6 * 3_000 / 40 / (1 + seconds / delay)
    assert {number for _, number in asked} == {0, 1, 2}


def test_a_turn_whose_lease_has_ended_is_no_turn(workers, server, clock):
    """A request that was on its way for too long goes back; another crawl may have
    asked.
    """
    one, other = workers(**OBEY)
    robots = RobotsTxt.parse(b"User-agent: *\nCrawl-delay: 10\n")
    for worker in (one, other):
        worker.throttle.paces.learn(worker.site, robots, "Mandelbot", clock.now() + 1e6)
    one.may_go()
    clock.turn(2 * WAY)
    waiting = one.hand_out()
    server.is_there = False
    # it was not renewed
    one.throttle._leases._leases[Lease.TURN, SITE].ends_at = clock.now()
    assert one.throttle.admit(waiting).wait is Wait.TURN


def test_without_the_server_each_goes_by_what_it_knows(workers, server, clock):
    """A pause that it has heard of holds; when it is over it asks by itself."""
    one, other = workers()
    refuse(one.crawler, SITE + "/page", 30)
    clock.turn(1)
    server.is_there = False
    assert not other.may_go()
    clock.turn(32)
    other.may_go()
    one.may_go()
    clock.turn(2 * WAY)
    assert one.may_go()
    assert other.may_go()


def test_what_a_server_has_lost_it_is_told_again(workers, server, clock):
    """One that began anew knows of no pause: who has found one tells it, and it is kept
    to.
    """
    one, other = workers()
    refuse(one.crawler, SITE + "/page", 30)
    clock.turn(1)
    server.pauses.clear()
    for store in server.stores:
        store.listener.all_stored({}, {})
    assert set(server.pauses) == {SITE}
    clock.turn(1)
    assert not one.may_go()
    assert not other.may_go()


def test_an_older_pause_of_a_server_is_not_taken_for_a_newer_one(
    workers, server, clock
):
    """It is a replica's that was behind: who has found the newer one tells it again."""
    one, other = workers()
    refuse(one.crawler, SITE + "/page", 30)
    older = dict(server.pauses)
    refuse(one.crawler, SITE + "/page", 90)
    newer = dict(server.pauses)
    assert newer[SITE].until > older[SITE].until + 50
    clock.turn(1)
    server.pauses.update(older)
    for store in server.stores:
        store.listener.all_stored(older, {})
    assert server.pauses == newer
    clock.turn(40)
    assert not one.may_go()
    assert not other.may_go()


@pytest.mark.parametrize("is_claimed_anew", [False, True])
def test_a_lease_renewed_after_it_was_given_back_is_given_back_again(
    clock, tmp_path, is_claimed_anew
):
    """Where the file was locked meanwhile: all would wait for it, unless it is had by
    then.
    """
    path = tmp_path / "store.db"
    one = SqliteStore(path, clock.call_later, now=clock.now)
    site = Site(SITE, PausePolicy())
    site.pause_as_peer(Refusal(clock.now(), "503", 1.0))
    clock.turn(1)
    claims = Leases(one, Timers(clock, print), clock.now, lambda _: None)
    assert claims.due(site, clock.now()) == clock.now()
    probe = Flight(Request(f"{SITE}/page"), site)
    site.handed_out(probe, clock.now(), as_scout=False)
    claims.note_use(site)
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        clock.turn(4)
        database.execute("BEGIN IMMEDIATE")
        clock.turn(1)  # it is to be renewed
        site.ended(probe, clock.now())
        claims.note_use(site)
        assert len(claims) == 0
        database.execute("ROLLBACK")
    if is_claimed_anew:
        claims.due(site, clock.now())
        clock.turn(0.1)  # the file is tried again then
        assert claims.due(site, clock.now()) == clock.now()
    clock.turn(0.5)
    answers = []
    other = SqliteStore(path, clock.call_later, now=clock.now)
    other.claim(Lease.PROBE, SITE, 10.0, answers.append)
    assert answers == [pytest.approx(14.5) if is_claimed_anew else 0]
    for each in claims, one, other:
        each.close()
    clock.assert_nothing_left()


@pytest.mark.parametrize("are_lent", [True, False])
def test_a_request_that_takes_no_lease_may_go_now(clock, are_lent):
    """As one may where the store lends none."""
    leases = Leases(None, Timers(clock, print), clock.now, lambda _: None)
    leases.are_lent = are_lent
    site = SimpleNamespace(
        pause=SimpleNamespace(awaits_probe=not are_lent),
        pacer=SimpleNamespace(is_needed=lambda _now: False),
    )
    assert leases.due(site, 12.5) == 12.5


def test_a_lease_that_ended_before_it_was_renewed_is_claimed_again(server, clock):
    """The crawl may have stood still meanwhile."""
    store = FakeStore(server)
    leases = Leases(store, Timers(clock, print), clock.now, lambda _: None)
    site = Site(SITE, PausePolicy(first=1))
    site.refused(flight_to(site), b"one", Refusal(clock.now(), "503", 30))
    clock.turn(32)
    assert site.pause.awaits_probe
    leases.due(site, clock.now())
    clock.turn(2 * WAY)
    assert leases.due(site, clock.now()) == clock.now()
    clock.shift(100)
    before = server.claims
    leases.due(site, clock.now())
    assert server.claims == before + 1
    clock.turn(2 * WAY)
    assert leases.due(site, clock.now()) == clock.now()
