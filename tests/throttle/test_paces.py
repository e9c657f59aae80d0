"""Whose turn it is at sites with a pace, by a clock that the tests turn."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import pytest
from scrapy import Request
from scrapy.settings import Settings

from scrapy_mandelbot import RobotsTxt
from scrapy_mandelbot.config import Config
from scrapy_mandelbot.gates.paces import Paces

SITE = "https://example.com"
OBEY = {"ROBOTSTXT_OBEY": True, "MANDELBOT_PACE": "obey"}
MIDNIGHT = 20_000 * 86_400.0


class World:
    """A crawl as far as paces see it: a clock, the requests under way, those in the queue."""

    def __init__(self, **settings: object) -> None:
        self.now = MIDNIGHT
        self.active: set[Request] = set()
        self.waiting = 0
        self.calls: dict[object, tuple[float, object, tuple]] = {}
        self.due: list[float] = []
        self.kept: dict[str, float] = {}
        self.told: Counter[str] = Counter()
        self.slot = SimpleNamespace(queue=[])
        downloader = SimpleNamespace(active=self.active, slots={"example.com": self.slot})
        crawler = SimpleNamespace(engine=SimpleNamespace(downloader=downloader))
        config = Config.from_settings(Settings({**OBEY, **settings}))
        self.paces = Paces(crawler, config, lambda: self.now, self, self.site_is_due)

    def site_is_due(self, site: str) -> bool:
        self.due.append(self.now)
        return self.waiting > 0

    def next_turn(self, site: str, due: float) -> None:
        self.kept[site] = due

    def __getattr__(self, name: str):  # what is announced
        return lambda *_: self.told.update([name])

    def call_later(self, delay, function, *arguments):
        call = SimpleNamespace(cancel=lambda: self.calls.pop(id(call), None))
        self.calls[id(call)] = (self.now + delay, function, arguments, call)
        return call

    def turn(self, seconds: float) -> None:
        """Let so many seconds pass; what is due is called on time."""
        end = self.now + seconds
        while due := [(call[0], key) for key, call in self.calls.items() if call[0] <= end]:
            self.now, key = max(min(due)[0], self.now), min(due)[1]
            _, function, arguments, _ = self.calls.pop(key)
            function(*arguments)
        self.now = end

    def learn(self, lines: str, until: float = 48 * 3600) -> bool:
        robots = RobotsTxt.parse(f"User-agent: *\n{lines}".encode())
        return self.paces.learn(SITE, robots, "Mandelbot", self.now + until)

    def request(self) -> Request:
        request = Request(f"{SITE}/page")
        self.active.add(request)
        return request

    def send(self, seconds: float = 0.0) -> Request:
        """Send a request whose turn it is; it is answered after so long."""
        request = self.request()
        assert self.paces.take(request)
        self.paces.sent(request)
        self.turn(seconds)
        self.end(request)
        return request

    def end(self, request: Request) -> None:
        self.active.discard(request)
        self.paces.ended(request)


@pytest.fixture
def world(monkeypatch) -> World:
    world = World()
    monkeypatch.setattr("scrapy_mandelbot.gates.alarms.call_later", world.call_later)
    return world


def test_there_is_a_turn_at_a_time(world):
    """The next comes when the answer has ended and the delay is over, and the queue is told."""
    assert world.learn("Crawl-delay: 5\n")
    world.waiting = 1
    first, second = world.request(), world.request()
    assert world.paces.take(first)
    assert world.paces.take(first), "it has its turn"
    assert not world.paces.take(second)
    world.paces.sent(first)
    world.turn(2)
    world.end(first)
    world.turn(4.9)
    assert not world.paces.may_go(SITE)
    assert world.due == []
    world.turn(0.2)
    assert world.due == [MIDNIGHT + 7]
    assert world.paces.take(second)
    assert world.told == {"pace": 1, "waited": 1}


def test_a_turn_that_is_not_used_is_the_next_ones(world):
    """Forbidden, cached, sent back: it never reached the site."""
    world.learn("Crawl-delay: 5\n")
    first, second = world.request(), world.request()
    assert world.paces.take(first)
    assert not world.paces.take(second)
    world.waiting = 1
    world.end(first)
    assert world.due == [MIDNIGHT]
    assert world.paces.take(second)


def test_a_swallowed_request_does_not_keep_the_turn(world):
    """Some middleware ended it, and told nobody: a second later somebody looks."""
    world.learn("Crawl-delay: 5\n")
    swallowed = world.request()
    assert world.paces.take(swallowed)
    world.waiting = 1
    assert not world.paces.may_go(SITE)
    world.active.discard(swallowed)
    world.turn(1)
    assert world.due == [MIDNIGHT + 1]
    assert world.paces.may_go(SITE)


def test_a_page_that_hangs_does_not_hold_its_site(world):
    """By ten seconds it has reached the server; its late answer moves nothing."""
    world.learn("Crawl-delay: 5\n")
    hangs = world.request()
    world.paces.take(hangs)
    world.paces.sent(hangs)
    world.waiting = 1
    assert not world.paces.may_go(SITE)
    world.turn(15)
    assert world.due == [MIDNIGHT + 15]
    world.send(1)
    world.end(hangs)
    world.turn(4.9)
    assert not world.paces.may_go(SITE)
    world.turn(0.1)
    assert world.paces.may_go(SITE)


def test_a_request_that_waits_in_its_download_slot_is_not_sent(world):
    """With a DOWNLOAD_DELAY of a minute: the next is handed out when that one is answered."""
    world.learn("Crawl-delay: 5\n")
    world.waiting = 1
    first = world.request()
    first.meta["download_slot"] = "example.com"
    world.slot.queue.append((first, None))
    assert world.paces.take(first)
    world.paces.sent(first)
    assert not world.paces.may_go(SITE)
    world.turn(58.5)
    assert not world.paces.may_go(SITE)
    assert world.due == []
    world.slot.queue.clear()
    world.turn(10)
    assert not world.paces.may_go(SITE), "it has just been sent"
    world.end(first)
    world.turn(5)
    assert world.due[0] == world.now
    assert world.paces.may_go(SITE)


def test_the_turn_after_a_page_that_hangs_is_a_turn_as_any_other(world):
    """One at a time, and at no cost if it is not used."""
    world.learn("Crawl-delay: 5\n")
    hangs, second, third = world.request(), world.request(), world.request()
    world.paces.take(hangs)
    world.paces.sent(hangs)
    world.turn(15)
    assert world.paces.take(second)
    world.turn(60)
    assert not world.paces.take(third)
    world.end(second)
    assert world.paces.take(third)


def test_what_was_sent_before_the_pace_was_known_counts(world):
    """The robots.txt, asked for two seconds ago."""
    robots_txt = world.request()
    assert world.paces.take(robots_txt)
    world.paces.sent(robots_txt)
    world.end(robots_txt)
    world.turn(2)
    assert world.learn("Crawl-delay: 5\n")
    assert not world.paces.may_go(SITE)
    world.turn(3)
    assert world.paces.may_go(SITE)


def test_a_robots_txt_that_is_asked_for_again_counts_too(world):
    """After two days, when the site was long forgotten, and its pace is not known any more."""
    world.learn("Crawl-delay: 5\n", until=100)
    world.turn(101)
    world.send()
    world.turn(99)
    assert len(world.paces) == 0
    assert world.paces.recall(SITE) is None
    robots_txt = world.request()
    world.paces.take(robots_txt)
    world.end(robots_txt)
    assert world.learn("Crawl-delay: 5\n")
    assert not world.paces.may_go(SITE)


def test_sites_with_nothing_waiting_and_nothing_due_are_forgotten(world):
    """Memory is given back; what is known of the pace is looked up again, and told no more."""
    world.learn("Crawl-delay: 5\n")
    world.send()
    world.turn(4)
    assert len(world.paces) == 1, "a request now has to wait"
    world.turn(1)
    assert len(world.paces) == 0
    assert not world.calls
    assert world.paces.recall(SITE)
    assert len(world.paces) == 1
    assert world.told["pace"] == 1


def test_a_site_with_requests_in_the_queue_is_kept(world):
    """They are told that it is due."""
    world.learn("Crawl-delay: 5\n")
    world.waiting = 3
    world.send()
    world.turn(60)
    assert world.due == [MIDNIGHT + 5]
    assert len(world.paces) == 1


def test_a_site_that_asks_for_nothing_costs_nothing(world):
    """It is known to ask for nothing, until its rules are looked up again."""
    assert not world.learn("Disallow: /x\n", until=100)
    assert world.paces.recall(SITE) is False
    assert len(world.paces) == 0
    for _ in range(3):
        world.send()
    world.turn(101)
    assert world.paces.recall(SITE) is None
    assert not world.told


def test_a_new_robots_txt_has_a_new_pace(world):
    """Who waits under the old one need not wait any longer."""
    world.learn("Crawl-delay: 50\n")
    world.waiting = 1
    world.send()
    assert not world.paces.may_go(SITE)
    world.turn(10)
    assert world.learn("Crawl-delay: 5\n")
    world.turn(0)
    assert world.due == [MIDNIGHT + 10]
    assert not world.learn("Crawl-delay: 5\n"), "the same again is no news"
    assert world.learn("")
    assert world.paces.may_go(SITE)


def test_outside_of_its_visit_time_a_site_is_shut(world):
    """Somebody who would ask it finds out; it is told once, and once that it has opened."""
    world.learn("Visit-time: 0100-0500\n")
    world.waiting = 1
    assert world.paces.shut() == set(), "nobody wants to know"
    assert not world.paces.may_go(SITE)
    assert not world.paces.may_go(SITE)
    assert world.paces.shut() == {SITE}
    assert world.paces.shut_in_words() == {SITE: "outside of Visit-time 0100-0500"}
    world.turn(3599)
    assert not world.paces.may_go(SITE)
    world.turn(1)
    assert world.paces.shut() == set()
    assert world.due == [MIDNIGHT + 3600]
    assert world.told == {"pace": 1, "shut": 1, "opened": 1}


def test_at_times_without_a_delay_nobody_needs_a_turn(world):
    """A rate for the night slows nobody by day; the first of the evening counts from the last."""
    world.learn("Request-rate: 1/10 1700-0459\n")
    world.waiting = 1
    world.turn(16 * 3600 + 59 * 60 + 55)
    together = [world.request() for _ in range(3)]
    for request in together:
        assert world.paces.take(request)
        world.paces.sent(request)
    for request in reversed(together):
        world.turn(1)
        world.end(request)
    world.turn(2)
    assert not world.paces.may_go(SITE), "it is 17:00"
    world.turn(7.9)
    assert not world.paces.may_go(SITE)
    world.turn(0.1)
    assert world.paces.may_go(SITE)
    world.send()
    assert not world.paces.may_go(SITE)


def test_by_hand_until_the_file_is_known_and_beside_it(monkeypatch):
    """A delay by hand counts at once; of the file only its visit times are added."""
    world = World(MANDELBOT_CRAWL_DELAYS={"example.com": 3})
    monkeypatch.setattr("scrapy_mandelbot.gates.alarms.call_later", world.call_later)
    assert world.paces.learn_by_hand(SITE)
    assert not world.paces.learn_by_hand(SITE)
    assert world.paces.recall(SITE) is None
    world.waiting = 1
    world.send()
    world.learn("Crawl-delay: 50\nVisit-time: 0000-0030\n")
    world.turn(2.9)
    assert not world.paces.may_go(SITE)
    world.turn(0.1)
    assert world.paces.may_go(SITE)
    world.turn(1900)
    assert not world.paces.may_go(SITE)
    assert not world.paces.learn_by_hand("https://www.example.com"), "another host"


def test_a_crawl_without_paces_looks_at_nothing():
    """Neither a delay by hand, nor files obeyed."""
    world = World(MANDELBOT_PACE="manual")
    assert not world.paces.is_active
    request = world.request()
    assert world.paces.take(request)
    world.paces.sent(request)
    world.paces.ended(request)
    assert not len(world.paces._answered)
