"""Crawls of three processes that share a store's file: turns and probes."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from mandelbot import RobotsTxt
from queueing import open_scheduler
from scrapy import Request

from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.politeness.flight import GO, Flight
from scrapy_mandelbot.throttle.peers import Peers

SITE = "https://example.com"
OBEY = {"MANDELBOT_PACE": "obey", "ROBOTSTXT_OBEY": True}


class Worker:
    """One of the crawls."""

    def __init__(self, crawler) -> None:
        self.crawler = crawler
        self.throttle = Crawl.of(crawler).throttle
        self.clock = Crawl.of(crawler).clock
        self.site = self.throttle.sites.of(SITE)
        self.throttle.in_flight.waiting = lambda _site: 1

    def learn(self, rules: str) -> None:
        robots = RobotsTxt.parse(f"User-agent: *\n{rules}\n".encode())
        self.throttle.paces.learn(
            self.site, robots, "Mandelbot", self.clock.now() + 1e6
        )

    def may_go(self) -> bool:
        return self.throttle.decide(self.site) is GO

    def send(self) -> Flight | None:
        """Send a request, or return None: it goes back to the queue."""
        flight = Flight(Request(f"{SITE}/page"), self.site)
        flight.slot = "example.com"
        self.crawler.engine.downloader.active.add(flight.request)
        self.throttle.hand_out(flight, self.clock.now(), as_scout=False)
        if self.throttle.admit(flight) is GO:
            return flight
        self.throttle.release(flight)
        self.crawler.engine.downloader.active.discard(flight.request)
        return None

    def end(self, flight: Flight, *, refused: float = 0.0) -> None:
        if refused:
            self.throttle.pauses.refused(flight, "503", refused)
        else:
            self.throttle.answered(flight)
        self.throttle.release(flight)
        self.crawler.engine.downloader.active.discard(flight.request)


@pytest.fixture
def workers(make_crawler, monkeypatch, tmp_path):
    """Make crawls that share nothing but the file."""
    monkeypatch.setattr(Peers, "_others", lambda _: iter(()))

    def make(count=3, **settings):
        made = []
        for seed in range(count):
            crawler = make_crawler(
                MANDELBOT_STORE=str(tmp_path / "store.db"), **settings
            )
            open_scheduler(crawler)
            made.append(Worker(crawler))
            made[-1].throttle.peers._random.seed(seed)
        return made

    return make


@pytest.mark.parametrize("seconds", [0.0, 0.3, 3.0])
@pytest.mark.parametrize("delay", [0.1, 0.5, 2.0])
def test_one_pace_is_kept_by_all_to_the_letter(workers, clock, delay, seconds):
    """However long answers take: no request is nearer to an answer, and each crawl gets
    a fifth of the turns or more.
    """
    crawls = workers(**OBEY)
    for worker in crawls:
        worker.learn(f"Crawl-delay: {delay}")
    sent = []
    ended = [clock.now()]
    under_way = []
    order = list(enumerate(crawls))
    chance = Random(1)
    while len(sent) < 90 and clock.now() - ended[0] < 90 * 2 * (delay + seconds):
        chance.shuffle(order)
        for number, worker in order:
            flight = worker.send() if worker.may_go() else None
            if flight is not None:
                under_way.append((clock.now() + seconds, worker, flight))
                sent.append((clock.now(), number))
        for entry in [one for one in under_way if one[0] <= clock.now()]:
            under_way.remove(entry)
            entry[1].end(entry[2])
        # where an answer takes long, ten times before it ends, and finer towards it
        ends = [at for at, _, _ in under_way]
        until = min(ends) - clock.now() if ends else 0
        clock.turn(max(delay / 40, until / 10))
    times = [at for at, _ in sent]
    gaps = [later - earlier - seconds for earlier, later in pairwise(times)]
    assert min(gaps) >= delay - delay / 20
    assert len(sent) == 90
    counts = [sum(number == which for _, number in sent) for which in range(3)]
    assert min(counts) >= 18, counts


def test_a_site_with_no_delay_at_this_hour_is_nobodys_turn(workers, clock):
    """It asks for a delay at another one: requests of all go at once."""
    hour = int(clock.now() % 86_400 // 3_600)
    crawls = workers(**OBEY)
    for worker in crawls:
        worker.learn(f"Request-rate: 1/60 {hour + 2:02}00-{hour + 3:02}00")
    assert crawls[0].site.pacer.is_on
    for _ in range(3):
        flights = [worker.send() for worker in crawls]
        assert None not in flights
        for worker, flight in zip(crawls, flights, strict=True):
            worker.end(flight)


def test_one_probes_and_the_others_wait_for_what_comes_of_it(workers, clock):
    """However long the probe takes."""
    one, *others = workers()
    one.end(one.send(), refused=30)
    clock.turn(0.3)
    assert not any(worker.may_go() for worker in (one, *others))
    clock.turn(29.7)
    probe = one.send()
    for _ in range(40):
        clock.turn(1)
        assert not any(worker.may_go() for worker in others)
    one.end(probe)
    clock.turn(0.3)
    assert all(worker.may_go() for worker in others)


def test_a_crawl_that_dies_with_the_probe_holds_nobody_up_for_long(workers, clock):
    """The others look again in some seconds."""
    one, *others = workers()
    one.end(one.send(), refused=30)
    clock.turn(30)
    one.send()
    one.throttle.close()  # it says nothing more
    clock.turn(1)
    assert not any(worker.may_go() for worker in others)
    clock.turn(6)
    assert all(worker.may_go() for worker in others)
