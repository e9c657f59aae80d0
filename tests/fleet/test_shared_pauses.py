"""Pauses over several workers: what one has heard of a site, whoever has that site goes
by.

Workers of one process, one Redis and one clock, by which Redis goes too. They know of
each other by the job alone: no store is shared.
"""

from __future__ import annotations

import random
from collections import defaultdict
from math import inf
from types import SimpleNamespace

import pytest
from engine_slot import EngineSlot
from queueing import FakeSlot
from redis_server import NEEDS_REDIS
from scrapy import Request
from scrapy.utils.request import RequestFingerprinter
from twisted.internet.defer import Deferred

from scrapy_mandelbot import SharedJobScheduler
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.fleet import redis_connection
from scrapy_mandelbot.fleet.worker import JobWorker
from scrapy_mandelbot.job.job_store import StorageError
from scrapy_mandelbot.throttle import peers
from scrapy_mandelbot.throttle.in_flight import SitePausedError

pytestmark = NEEDS_REDIS

LEASE = 30
SITES = ["https://a.example", "https://b.example"]


NO_RENEWAL = SimpleNamespace(is_lost=True)
"""What a call returns that does not renew a lease."""


class Fleet:
    """Workers, and when their sites may be asked, as far as any of them was told."""

    def __init__(self, make_crawler, clock, redis) -> None:
        self._make_crawler = make_crawler
        self._redis = redis
        self.clock = clock
        self.schedulers = []
        self.cut: set[int] = set()
        self.under_way = defaultdict(list)
        """By worker, what it has sent and was not answered."""
        self.until = dict.fromkeys(SITES, 0.0)
        self.sent: list[tuple[int, str]] = []
        self.turn(0)

    def add(self) -> None:
        """Start a worker."""
        url = "redis://127.0.0.1:{port}/{db}".format(
            **self._redis.get_connection_kwargs()
        )
        crawler = self._make_crawler(
            MANDELBOT_JOB=url, MANDELBOT_JOB_OPTIONS={"lease": LEASE}
        )
        crawler.request_fingerprinter = RequestFingerprinter(crawler)
        crawler.engine._slot = EngineSlot()
        crawler.crawling = True
        scheduler = SharedJobScheduler.from_crawler(crawler)
        scheduler.open(crawler.spider)
        number, asked = len(self.schedulers), JobWorker.of(crawler).server
        for name in ("exchange", "sends", "join", "leave"):
            setattr(asked, name, self._unless_cut(number, getattr(asked, name)))
        self.schedulers.append((crawler, scheduler))

    def _unless_cut(self, number, call):
        def called(*arguments):
            if number in self.cut:
                raise StorageError("cut off")
            return call(*arguments)

        return called

    def turn(self, seconds: float) -> None:
        """Let time pass, in small steps, each with what Redis says meanwhile."""
        end = self.clock.now() + seconds
        while True:
            self.clock.turn_to(min(end, self.clock.now() + 0.5))
            seconds, rest = divmod(self.clock.now(), 1)
            with self._redis.pipeline() as pipe:  # at once, for a worker's thread
                pipe.delete("clock").rpush(
                    "clock", int(seconds), int(rest * 1e6)
                ).execute()
            for crawler, _ in self.schedulers:
                JobWorker.of(crawler).link.call_and_wait(lambda: NO_RENEWAL, 10)
            self.clock.call_from_threads()
            if self.clock.now() >= end:
                return

    def send(self, worker: int) -> bool:
        """Let a worker send the next request, if it may; none may reach a site in a
        pause.
        """
        crawler, scheduler = self.schedulers[worker]
        request = scheduler.next_request()
        if request is None:
            return False
        site = request.url[:17]
        assert self.clock.now() >= self.until[site], (
            f"{request.url} by {worker} in a pause"
        )
        crawler.engine.downloader.active.add(request)
        flight = Crawl.of(crawler).throttle.flight_of(request)
        Crawl.of(crawler).throttle.let_leave(flight)
        self.under_way[worker].append(flight)
        self.sent.append((worker, site))
        return True

    def answer(self, worker: int, *, pause: float | None = None, at: int = 0) -> None:
        """Answer something that a worker has sent: with a page, or with a
        pause.
        """
        crawler, scheduler = self.schedulers[worker]
        throttle, job = Crawl.of(crawler).throttle, JobWorker.of(crawler)
        flight = self.under_way[worker].pop(at)
        crawler.engine.downloader.active.discard(flight.request)
        if pause is None:
            throttle.answered(flight)
            throttle.release(flight)
        else:
            throttle.pauses.refused(flight, "503", pause)
            owner = self._redis.hget(f"{job.server.key}:owner", flight.site.name)
            if owner == b"%d" % job.job.worker and worker not in self.cut:
                due = flight.site.pause_due(self.clock.now())
                if due < inf:  # else it is probed, by a request that was sent later
                    self.until[flight.site.name] = due
            scheduler.enqueue_request(throttle.send_back(flight))
        scheduler.finish_request(flight.request)
        self.turn(0)

    def push(self, worker: int, url: str) -> None:
        """Let a worker find a link."""
        self.schedulers[worker][1].enqueue_request(Request(url))

    def lose(self, worker: int) -> None:
        """Give what a worker has to others, as if it had been stopped for long."""
        job = JobWorker.of(self.schedulers[worker][0])
        if worker not in self.cut:
            job.server.leave(job.job.worker, job.job.token)

    def close(self) -> None:
        """End all."""
        self.cut.clear()
        for _, scheduler in self.schedulers:
            scheduler.close("shutdown")


@pytest.fixture
def fleet(make_crawler, clock, redis_server, monkeypatch):
    from redis import Redis

    def read_script(which):
        clock = "redis.call('LRANGE', 'clock', 0, 1)"
        return read(which).replace("redis.call('TIME')", clock)

    read = redis_connection.read_script
    monkeypatch.setattr(redis_connection, "read_script", read_script)
    monkeypatch.setattr(peers, "_IN_THIS_PROCESS", NoOne())
    with Redis.from_url(redis_server.url) as redis:
        crowd = Fleet(make_crawler, clock, redis)
        yield crowd
        crowd.close()


class NoOne(set):
    """In place of the crawls of this process."""

    def add(self, _) -> None:
        """Forget it."""


@pytest.mark.parametrize("seed", range(12))
def test_nothing_is_sent_into_a_pause_reported_by_another_worker(fleet, seed):
    """Whoever has the site by then, through lost leases and an unreachable Redis."""
    chance = random.Random(seed)
    workers = 2 + seed % 2
    for _ in range(workers):
        fleet.add()
    for number in range(30):
        fleet.push(0, f"{chance.choice(SITES)}/{number}")
    for number in range(150):
        worker = chance.randrange(workers)
        what = chance.random()
        if what < 0.45:
            fleet.send(worker)
        elif what < 0.70:
            waiting = fleet.under_way[worker]
            if waiting:
                pause = chance.choice([None, None, None, 3.0, 20.0, 100.0])
                fleet.answer(worker, pause=pause, at=chance.randrange(len(waiting)))
        elif what < 0.74:
            fleet.push(worker, f"{chance.choice(SITES)}/more/{number}")
        elif what < 0.77:
            fleet.lose(worker)
        elif what < 0.80:
            fleet.cut ^= {worker}
        else:
            fleet.turn(chance.choice([0.1, 1.0, 3.0, 12.0, 40.0]))
    assert fleet.sent


def test_a_pause_is_known_to_redis_at_once(fleet):
    """The worker that heard of it may die in the next moment."""
    for _ in range(2):
        fleet.add()
    for number in range(4):
        fleet.push(0, f"{SITES[0]}/{number}")
    fleet.turn(1)
    worker = next(one for one in range(2) if fleet.send(one))
    fleet.answer(worker, pause=100.0)
    fleet.lose(worker)
    fleet.cut.add(worker)
    for _ in range(95):
        fleet.turn(1)
        fleet.send(1 - worker)
    assert len(fleet.sent) == 1
    fleet.turn(30)
    assert fleet.send(1 - worker)


@pytest.mark.parametrize("is_lost", [False, True])
def test_requests_in_download_slots_are_evicted_when_a_lease_ends(fleet, is_lost):
    """Others may have the site by then, and be in a pause of it."""
    fleet.add()
    fleet.push(0, f"{SITES[0]}/1")
    fleet.turn(1)
    assert fleet.send(0)
    crawler, _ = fleet.schedulers[0]
    (flight,), slot = fleet.under_way[0], FakeSlot()
    flight.site.slots += ("a.example",)
    crawler.engine.downloader.slots["a.example"] = slot
    called_back = []
    waiting = Deferred().addErrback(lambda failure: called_back.append(failure.type))
    slot.queue.append((flight.request, waiting))
    if is_lost:
        fleet.lose(0)
    else:
        fleet.cut.add(0)
        fleet.clock.shift(LEASE)
        assert not fleet.send(0)
    fleet.turn(9)
    assert called_back == [SitePausedError]
    assert not slot.queue


@pytest.mark.parametrize("dont_filter", [False, True])
def test_a_request_of_a_lost_lease_is_not_stored_again(fleet, dont_filter):
    """Whoever has its site now has it, once."""
    fleet.add()
    _, scheduler = fleet.schedulers[0]
    scheduler.enqueue_request(Request(f"{SITES[0]}/1", dont_filter=dont_filter))
    fleet.turn(1)
    assert fleet.send(0)
    fleet.lose(0)
    fleet.turn(9)
    fleet.answer(0, pause=1.0)
    for _ in range(20):
        fleet.turn(2)
        if fleet.send(0):
            fleet.answer(0)
    assert len(fleet.sent) == 2
