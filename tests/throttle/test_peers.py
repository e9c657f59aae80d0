"""Two crawls of one site hear of each other's pauses and turns, within a second."""

from __future__ import annotations

from itertools import pairwise
from math import inf
from types import SimpleNamespace

import pytest
from mandelbot import RobotsTxt
from queueing import open_scheduler, refuse
from scrapy import Request

from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.politeness.flight import GO, Flight, Wait
from scrapy_mandelbot.politeness.pause_policy import LeftPause
from scrapy_mandelbot.store.sqlite import SqliteStore
from scrapy_mandelbot.throttle.peers import Peers

SITE = "https://example.com"
OBEY = {"MANDELBOT_PACE": "obey", "ROBOTSTXT_OBEY": True}
HEARD_WITHIN = {"one process": 0.0, "one store": 1.0}


@pytest.fixture(params=HEARD_WITHIN)
def pair(request, make_crawler, monkeypatch, tmp_path):
    """Make two crawls that share a process or, as two processes do, nothing but a
    store.
    """

    def make(**settings):
        if request.param == "one store":
            monkeypatch.setattr(Peers, "_others", lambda _: iter(()))
            settings["MANDELBOT_STORE"] = str(tmp_path / "store.db")
        else:
            settings["MANDELBOT_STORE"] = "memory"
        crawlers = [make_crawler(**settings) for _ in range(2)]
        for crawler in crawlers:
            open_scheduler(crawler)
        return [World(crawler, HEARD_WITHIN[request.param]) for crawler in crawlers]

    return make


class World:
    """One of the crawls."""

    def __init__(self, crawler, within: float) -> None:
        self.crawler = crawler
        self.clock = Crawl.of(crawler).clock
        self.throttle = Crawl.of(crawler).throttle
        self.manual_control = Crawl.of(crawler).manual_control
        self.site = self.throttle.sites.of(SITE)
        self.within = within

    def may_go(self, site: str = SITE) -> bool:
        """Return whether the crawl may ask a site, when its store has been asked for
        that.
        """
        state = self.throttle.sites.of(site)
        self.throttle.decide(state)
        self.clock.turn(0)
        return self.throttle.decide(state) is GO

    def refused(self, seconds: float) -> None:
        refuse(self.crawler, SITE + "/page", seconds)

    def learn(self, delay: float) -> None:
        robots = RobotsTxt.parse(f"User-agent: *\nCrawl-delay: {delay}\n".encode())
        self.throttle.paces.learn(
            self.site, robots, "Mandelbot", self.clock.now() + 1e6
        )

    def hand_out(self) -> Flight:
        flight = Flight(Request(f"{SITE}/page"), self.site)
        flight.slot = "example.com"
        self.crawler.engine.downloader.active.add(flight.request)
        self.throttle.hand_out(flight, self.clock.now(), as_scout=False)
        return flight

    def end(self, flight: Flight) -> None:
        self.throttle.answered(flight)
        self.throttle.release(flight)
        self.crawler.engine.downloader.active.discard(flight.request)

    def ask(self) -> bool:
        flight = self.hand_out()
        goes = self.throttle.admit(flight) is GO
        self.end(flight)
        return goes

    def stat(self, name: str) -> int:
        return self.crawler.stats.get_value(f"mandelbot/pause/{name}", 0)


def test_what_one_is_refused_the_other_does_not_ask(pair, clock):
    """The site is left alone by both for as long, and the one that was refused asks
    first.
    """
    one, other = pair()
    assert other.may_go()
    one.refused(30)
    clock.turn(other.within)
    assert not other.may_go()
    clock.turn(30 - other.within)
    assert one.may_go()
    assert not other.may_go()
    clock.turn(4)  # it does not, and its lease is given back
    assert other.may_go()


def test_a_turn_of_another_crawl_is_asked_for_within_the_delay(pair, monkeypatch):
    """It may end sooner. Not at once either, and several crawls not at one moment."""
    one, _ = pair()
    one.learn(0.25)
    taken = SimpleNamespace(claim_turn=lambda *_, **__: inf)
    monkeypatch.setattr(one.throttle.peers, "store", taken)
    waits = []
    for _ in range(50):
        until = one.throttle.peers.claim_turn(one.site)
        waits.append(until - one.clock.now())
    assert 0.1 < min(waits) < max(waits) < 0.25


def test_it_is_told_once_and_not_told_on(pair, clock):
    """Each counts its own: who has heard of a pause has none, and tells nobody."""
    one, other = pair()
    one.refused(30)
    clock.turn(5)
    assert (one.stat("count"), one.stat("overheard")) == (1, 0)
    assert (other.stat("count"), other.stat("overheard")) == (0, 1)


def test_a_longer_pause_is_heard_of_and_a_shorter_one_changes_nothing(pair, clock):
    """The longest that any of them knows is what holds."""
    one, other = pair()
    other.refused(100)
    clock.turn(other.within)
    one.refused(50)
    clock.turn(60)
    assert not one.may_go()
    assert not other.may_go()
    one.refused(300)
    clock.turn(100)
    assert not other.may_go()


def test_an_end_is_heard_of_too(pair, clock):
    """What one has found well the other asks at once, by a request of its own first."""
    one, other = pair()
    one.refused(30)
    clock.turn(20)
    assert not other.may_go()
    one.manual_control.end_hold(SITE)
    one.ask()
    assert one.stat("resumed") == 1
    clock.turn(other.within)
    assert other.may_go()


def test_a_pause_of_its_own_is_not_ended_by_another(pair, clock):
    """Its server has named a time to it, whatever another one was answered."""
    one, other = pair()
    one.refused(30)
    other.refused(90)
    clock.turn(31.5)
    one.manual_control.end_hold(SITE)
    one.ask()
    clock.turn(other.within)
    assert not other.may_go()


def test_a_site_that_is_new_to_the_other_is_known_to_be_paused(pair, clock):
    """It need not have come to it before."""
    one, other = pair()
    refuse(one.crawler, "https://other.example/page", 30)
    clock.turn(other.within)
    assert not other.may_go("https://other.example")


def test_who_begins_later_hears_of_it(pair, make_crawler, clock):
    """A crawl that opens while another one waits does not knock."""
    one, _ = pair()
    one.refused(30)
    clock.turn(1)
    store = one.crawler.settings["MANDELBOT_STORE"]
    late = make_crawler(MANDELBOT_STORE=store)
    open_scheduler(late)
    late = World(late, one.within)
    assert not late.may_go()


@pytest.mark.parametrize("delay", [3, 10])
def test_two_crawls_keep_one_pace(pair, clock, delay):
    """However often each of them wants to ask, the site is asked no faster than it has
    asked for.

    Both get their turns. The first two may fall together: neither can know of the other
    yet.
    """
    one, other = pair(**OBEY)
    one.learn(delay)
    other.learn(delay)
    for seed, world in enumerate((one, other)):
        Crawl.of(world.crawler).throttle.peers._random.seed(seed)
        world.throttle.in_flight.waiting = lambda _site: 1  # something waits in each
    asked = []
    for _ in range(4_000):
        for number, world in enumerate((one, other)):
            if world.may_go() and world.ask():
                asked.append((clock.now(), number))
            clock.turn(0.025)
    times = [at for at, _ in asked]
    together = sum(later - earlier < delay - 0.01 for earlier, later in pairwise(times))
    assert together <= 3
    assert len(times) >= 0.6 * 200 / delay
    counts = [sum(number == which for _, number in asked) for which in (0, 1)]
    assert min(counts) >= 0.3 * len(times)


def test_a_turn_that_was_given_and_not_used_is_taken_back(pair, clock):
    """Another crawl has asked meanwhile: the request goes back, and is not sent."""
    one, other = pair(**OBEY)
    one.learn(10)
    other.learn(10)
    waiting = other.hand_out()
    one.ask()
    clock.turn(other.within)
    assert other.throttle.admit(waiting).wait is Wait.TURN


def test_who_is_closed_hears_nothing(make_crawler):
    """And tells nothing: it is over."""
    crawlers = [make_crawler(MANDELBOT_STORE="memory") for _ in range(2)]
    for crawler in crawlers:
        open_scheduler(crawler)
    one, other = (World(crawler, 0) for crawler in crawlers)
    other.throttle.close()
    one.refused(30)
    assert other.may_go()


@pytest.mark.parametrize(
    "stores", [("one.db", "one.db"), ("one.db", "other.db")], ids=str
)
def test_what_a_store_does_not_have_yet_or_ever_is_not_over(
    make_crawler, clock, tmp_path, stores
):
    """A pause heard of within the process is not ended by news of another site from the
    file.
    """
    crawlers = [make_crawler(MANDELBOT_STORE=str(tmp_path / name)) for name in stores]
    for crawler in crawlers:
        open_scheduler(crawler)
    other, one = (World(crawler, 0) for crawler in crawlers)
    third = SqliteStore(tmp_path / "one.db", now=clock.now)
    third.put_pause("https://third.example", LeftPause(clock.now() + 100, "503"))
    clock.turn(0.4)
    one.refused(30)
    assert not other.may_go()
    third.close()
    clock.turn(0.1)
    assert not other.may_go("https://third.example")
    assert not other.may_go()
    clock.turn(10)
    assert not other.may_go()
    assert other.stat("overheard") == 2
