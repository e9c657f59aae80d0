"""Whose turn it is at sites with a pace, by a clock that the tests turn."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from clocks import MIDNIGHT
from mandelbot import RobotsTxt
from scrapy import Request

from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.politeness.flight import GO, Flight, Wait

SITE = "https://example.com"
OBEY = {"ROBOTSTXT_OBEY": True, "MANDELBOT_PACE": "obey"}


class World:
    """A crawl as far as paces see it: a queue that is told when it may ask, and a
    downloader.
    """

    def __init__(self, crawler, clock) -> None:
        self.clock = clock
        self.downloader = crawler.engine.downloader
        self.throttle = Crawl.of(crawler).throttle
        self.manual_control = Crawl.of(crawler).manual_control
        self._stats = crawler.stats
        self.due: list[float] = []
        """When the queue was told that the site may be asked at once, in seconds from
        midnight.
        """
        self.has_asked = False
        """Whether it has asked in vain, and asks again whenever the site has changed.
        """
        self.throttle.peers.begin()
        self.throttle.in_flight.queues.append(self)
        self.site = self.throttle.sites.of(SITE)

    # As a queue.

    def waiting(self, _site) -> int:
        return 1

    def lines(self):
        return iter(())

    def slot_changed(self, _slot, _activity) -> None:
        pass

    def end_delays(self, _site) -> None:
        pass

    def site_changed(self, _site) -> None:
        if self.has_asked and self.may_go():
            self.due.append(self.clock.now() - MIDNIGHT)
            self.has_asked = False

    # What the tests do.

    def learn(self, lines: str, until: float = 48 * 3600) -> bool:
        robots = RobotsTxt.parse(f"User-agent: *\n{lines}".encode())
        return self.throttle.paces.learn(
            self.site, robots, "Mandelbot", self.clock.now() + until
        )

    def may_go(self) -> bool:
        may_go = self.throttle.decide(self.site) is GO
        self.has_asked = not may_go
        return may_go

    def hand_out(self) -> Flight:
        """Hand out a request, which takes its turn."""
        assert self.may_go()
        flight = Flight(Request(f"{SITE}/page"), self.site)
        flight.slot = "example.com"
        self.downloader.active.add(flight.request)
        self.throttle.hand_out(flight, self.clock.now(), as_scout=False)
        return flight

    def come(self) -> Flight:
        """Admit a request that never was in the queue: a robots.txt, a file."""
        request = Request(f"{SITE}/robots.txt")
        self.downloader.active.add(request)
        return self.throttle.flight_of(request)

    def send(self, flight: Flight) -> Flight:
        assert self.throttle.admit(flight) is GO
        return flight

    def end(self, flight: Flight) -> None:
        self.downloader.active.discard(flight.request)
        self.throttle.release(flight)

    def ask(self, seconds: float = 0.0) -> None:
        """Send a request whose turn it is; it is answered after so long."""
        flight = self.send(self.hand_out())
        self.clock.turn(seconds)
        self.end(flight)

    def stat(self, name: str) -> float:
        return self._stats.get_value(f"mandelbot/{name}", 0)


@pytest.fixture
def world(make_crawler, clock) -> World:
    return World(make_crawler(**OBEY), clock)


def test_there_is_a_turn_at_a_time(world, clock):
    """The next comes when the answer has ended and the delay is over, and the queue is
    told.
    """
    assert world.learn("Crawl-delay: 5\n")
    first, second = world.hand_out(), world.come()
    world.send(first)
    assert not world.may_go()
    assert world.throttle.admit(second).wait is Wait.TURN
    clock.turn(2)
    world.end(first)
    clock.turn(4.9)
    assert world.due == []
    clock.turn(0.2)
    assert world.due == [7]
    world.send(second)
    assert world.stat("pace/sites") == 1
    assert world.stat("pace/waited") == 1
    assert world.stat("pace/seconds") == pytest.approx(7.1)


def test_a_turn_that_is_not_used_is_the_next_ones(world):
    """Forbidden, cached, sent back: it never reached the site."""
    world.learn("Crawl-delay: 5\n")
    first = world.hand_out()
    assert not world.may_go()
    world.end(first)
    assert world.due == [0]
    assert world.may_go()


def test_a_swallowed_request_does_not_keep_the_turn(world, clock):
    """A middleware ended it without a word: looking at the site finds it."""
    world.learn("Crawl-delay: 5\n")
    swallowed = world.hand_out()
    assert not world.may_go()
    world.downloader.active.discard(swallowed.request)
    clock.turn(1)
    assert world.may_go()
    assert world.throttle.in_flight.get(swallowed.request) is None


def test_a_page_that_hangs_does_not_hold_its_site(world, clock):
    """By ten seconds it has reached the server; its late answer moves nothing."""
    world.learn("Crawl-delay: 5\n")
    hangs = world.send(world.hand_out())
    assert not world.may_go()
    clock.turn(15)
    assert world.due == [15]
    world.ask(1)
    world.end(hangs)
    clock.turn(4.9)
    assert not world.may_go()
    clock.turn(0.1)
    assert world.may_go()


def test_a_request_that_waits_in_its_download_slot_is_not_sent(world, clock):
    """With a DOWNLOAD_DELAY of a minute: the next is handed out when that one is
    answered.
    """
    world.learn("Crawl-delay: 5\n")
    first = world.hand_out()
    first.request.meta["download_slot"] = "example.com"
    slot = SimpleNamespace(queue=[(first.request, None)], concurrency=8)
    world.downloader.slots["example.com"] = slot
    world.send(first)
    assert not world.may_go()
    clock.turn(58.5)
    assert not world.may_go()
    assert world.due == []
    slot.queue.clear()
    clock.turn(10)
    assert not world.may_go(), "it has just been sent"
    world.end(first)
    clock.turn(5)
    assert world.due == [73.5]
    assert world.may_go()


def test_the_turn_after_a_page_that_hangs_is_a_turn_as_any_other(world, clock):
    """One at a time, and at no cost if it is not used."""
    world.learn("Crawl-delay: 5\n")
    world.send(world.hand_out())
    clock.turn(15)
    second = world.hand_out()
    clock.turn(60)
    assert not world.may_go()
    world.end(second)
    assert world.may_go()


def test_what_was_sent_before_the_pace_was_known_counts(world, clock):
    """The robots.txt, asked for two seconds ago."""
    world.end(world.send(world.come()))
    clock.turn(2)
    assert world.learn("Crawl-delay: 5\n")
    assert not world.may_go()
    clock.turn(3)
    assert world.may_go()


def test_a_robots_txt_that_is_asked_for_again_counts_too(world, clock):
    """After two days: the pace holds until the new file says another."""
    world.learn("Crawl-delay: 5\n", until=100)
    clock.turn(101)
    world.end(world.send(world.come()))
    assert not world.learn("Crawl-delay: 5\n"), "the same again is no news"
    assert not world.may_go()
    clock.turn(5)
    assert world.may_go()


def test_a_site_with_a_pace_is_remembered_and_told_of_once(world, clock):
    """By the rule of all sites; no timer is kept for one that no request waits for."""
    world.learn("Crawl-delay: 5\n")
    world.ask()
    clock.turn(60)
    assert world.throttle.sites.in_trouble() == [world.site]
    clock.assert_nothing_left()
    world.learn("Crawl-delay: 7\n")
    assert world.stat("pace/sites") == 1


def test_the_queue_is_told_when_the_site_is_due(world, clock):
    """If it has asked for it in vain; once."""
    world.learn("Crawl-delay: 5\n")
    world.ask()
    assert not world.may_go()
    clock.turn(60)
    assert world.due == [5]


def test_a_site_that_asks_for_nothing_costs_nothing(world, clock):
    """It is known to ask for nothing, until its rules are looked up again."""
    assert not world.learn("Disallow: /x\n", until=100)
    assert world.site.is_plain
    assert not world.site.pacer.is_on
    assert world.site.pacer.known_until == clock.now() + 100
    for _ in range(3):
        world.ask()
    assert world.throttle.sites.in_trouble() == []
    assert world.stat("pace/sites") == 0
    clock.assert_nothing_left()


def test_a_new_robots_txt_has_a_new_pace(world, clock):
    """Who waits under the old one need not wait any longer."""
    world.learn("Crawl-delay: 50\n")
    world.ask()
    assert not world.may_go()
    clock.turn(10)
    assert world.due == []
    assert world.learn("Crawl-delay: 5\n")
    clock.turn(0)
    assert world.due == [10]
    assert not world.learn("Crawl-delay: 5\n"), "the same again is no news"
    assert world.learn("")
    assert world.may_go()


def test_outside_of_its_visit_time_a_site_is_shut(world, clock):
    """Who would ask it finds out; it is told once, and once that it has opened."""
    world.learn("Visit-time: 0100-0500\n")
    assert world.manual_control.closed_sites() == {}, "nothing waits for it"
    assert not world.may_go()
    assert not world.may_go()
    assert set(world.manual_control.closed_sites()) == {SITE}
    assert world.manual_control.closed_sites() == {
        SITE: "outside of Visit-time 0100-0500"
    }
    clock.turn(3599)
    assert not world.may_go()
    clock.turn(1)
    assert world.manual_control.closed_sites() == {}
    assert world.due == [3600]
    assert world.stat("pace/sites") == 1
    assert world.stat("pace/shut") == 1


def test_at_times_without_a_delay_no_request_needs_a_turn(world, clock):
    """A rate for the night slows nothing by day; the first of the evening counts from
    the last.
    """
    world.learn("Request-rate: 1/10 1700-0459\n")
    clock.turn(16 * 3600 + 59 * 60 + 55)
    together = [world.send(world.hand_out()) for _ in range(3)]
    for flight in reversed(together):
        clock.turn(1)
        world.end(flight)
    clock.turn(2)
    assert not world.may_go(), "it is 17:00"
    clock.turn(7.9)
    assert not world.may_go()
    clock.turn(0.1)
    assert world.may_go()
    world.ask()
    assert not world.may_go()


def test_by_hand_until_the_file_is_known_and_beside_it(make_crawler, clock):
    """A delay by hand counts at once; of the file only its visit times are added."""
    world = World(
        make_crawler(**OBEY, MANDELBOT_CRAWL_DELAYS={"example.com": 3}), clock
    )
    assert world.throttle.paces.learn_by_hand(world.site)
    assert not world.throttle.paces.learn_by_hand(world.site)
    assert world.site.pacer.known_until < clock.now(), (
        "the file is still to be looked up"
    )
    world.ask()
    file = "Crawl-delay: 50\nVisit-time: 0000-0030\n"
    assert world.learn(file), "its visit times are news"
    assert not world.learn(file)
    clock.turn(2.9)
    assert not world.may_go()
    clock.turn(0.1)
    assert world.may_go()
    clock.turn(1900)
    assert not world.may_go()
    other = world.throttle.sites.of("https://www.example.com")
    assert not world.throttle.paces.learn_by_hand(other), "another host"


def test_a_crawl_without_paces_looks_at_nothing(make_crawler, clock):
    """Neither a delay by hand, nor files obeyed."""
    world = World(make_crawler(**OBEY | {"MANDELBOT_PACE": "manual"}), clock)
    assert not world.throttle.is_paced
    world.ask()
    assert world.site.is_plain
    assert world.may_go()
    assert world.throttle.sites.in_trouble() == []
    clock.assert_nothing_left()


@pytest.mark.parametrize(("pace", "told"), [("manual", 1), ("obey", 0)])
def test_a_pace_that_is_not_obeyed_is_told_once(make_crawler, pace, told):
    """Of a site that asks for one, by a project that does not keep to it."""
    crawler = make_crawler(**OBEY | {"MANDELBOT_PACE": pace})
    throttle = Crawl.of(crawler).throttle
    asks = RobotsTxt.parse(b"User-agent: *\nCrawl-delay: 7\n")
    asks_nothing = RobotsTxt.parse(b"User-agent: *\nDisallow: /x\n")
    names = iter(["Mandelbot"])
    for name, robots in (
        (SITE, asks),
        (SITE, asks),
        ("https://other.example", asks_nothing),
    ):
        throttle.paces.report_not_obeyed(
            throttle.sites.of(name), robots, names.__next__
        )
    assert len(list(names)) == 1 - told, (
        "the robot's name is found only where it decides"
    )
    assert crawler.stats.get_value("mandelbot/pace/not_obeyed", 0) == told
