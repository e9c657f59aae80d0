"""The scheduler of a job on Redis, without a crawl: what it does by the clock."""

from __future__ import annotations

import threading
import time
from collections import Counter
from contextlib import contextmanager, suppress
from types import SimpleNamespace

import pytest
from engine_slot import EngineSlot
from redis import Redis
from redis_server import NEEDS_REDIS
from scrapy import Request, signals
from scrapy.utils.request import RequestFingerprinter
from shared_jobs import Past, Worker

from scrapy_mandelbot import SharedJobScheduler, engine
from scrapy_mandelbot import clock as clock_module
from scrapy_mandelbot.clock import Clock
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.fleet import worker
from scrapy_mandelbot.fleet.job_server import ServerAwayError, ServerRefusedError
from scrapy_mandelbot.fleet.worker import JobWorker
from scrapy_mandelbot.job import saves
from scrapy_mandelbot.job.job_store import Place, StorageError
from scrapy_mandelbot.store import CachedRobots
from scrapy_mandelbot.throttle.in_flight import SitePausedError

pytestmark = NEEDS_REDIS

PAGE = "https://example.com/page"


@pytest.fixture
def crawler(make_crawler, redis_server):
    crawler = make_crawler(
        MANDELBOT_JOB=redis_server.url, MANDELBOT_JOB_OPTIONS={"lease": 30}
    )
    crawler.request_fingerprinter = RequestFingerprinter(crawler)
    crawler.engine._slot = EngineSlot()
    crawler.crawling = True
    return crawler


@pytest.fixture
def scheduler(crawler):
    scheduler = SharedJobScheduler.from_crawler(crawler)
    scheduler.open(crawler.spider)
    yield scheduler
    scheduler.close("shutdown")


def answer(crawler, clock, seconds: float = 0.0) -> None:
    """Let time pass, and what was asked of Redis be answered."""
    clock.turn(seconds)
    is_answered = threading.Event()
    JobWorker.of(crawler).link.thread.put(is_answered.set)
    assert is_answered.wait(10)
    clock.call_from_threads()


def until(crawler, clock, condition) -> None:
    for _ in range(20):
        if condition():
            return
        answer(crawler, clock, 0.1)
    raise AssertionError("it never came")


def test_nothing_is_sent_when_a_lease_may_be_over(crawler, scheduler, clock):
    """Others may have the site by then; when the lease is renewed, all goes on."""
    for number in range(2):
        scheduler.enqueue_request(Request(f"{PAGE}/{number}"))
    until(crawler, clock, lambda: len(scheduler))
    assert scheduler.next_request() is not None
    job = JobWorker.of(crawler)
    clock.turn(0.01)
    job.saves.within(1000)
    clock.shift(28)  # as in a process that was stopped: no timer has rung
    assert scheduler.next_request() is None
    assert scheduler.has_pending_requests()
    until(crawler, clock, lambda: job.may_send)
    assert scheduler.next_request() is not None


def test_a_request_with_a_delay_waits_on_redis_too(crawler, scheduler, clock):
    """It is counted from when it was scheduled, whichever worker gets the request."""
    scheduler.enqueue_request(Request(f"{PAGE}/later", meta={"delay": 20}))
    scheduler.enqueue_request(Request(f"{PAGE}/now"))
    until(crawler, clock, lambda: len(scheduler) == 2)
    assert scheduler.next_request().url == f"{PAGE}/now"
    for _ in range(18):
        assert scheduler.next_request() is None
        answer(crawler, clock, 1.0)
    assert scheduler.has_pending_requests()
    answer(crawler, clock, 3.0)
    assert scheduler.next_request().url == f"{PAGE}/later"


def test_evicting_looks_only_at_requests_in_flight(
    crawler, scheduler, clock, monkeypatch
):
    """Not among all sites, each time that the engine asks for work."""
    looked_at = []
    monkeypatch.setattr(
        engine, "evict_waiting", lambda _, slots, *__: looked_at.append(slots) or 0
    )
    for number in range(50):
        scheduler.enqueue_request(Request(f"https://site-{number}.example.com/"))
    job = JobWorker.of(crawler)
    until(crawler, clock, lambda: scheduler.next_request() and len(job.job.sites) >= 16)
    sent = len(Crawl.of(crawler).throttle.in_flight)
    clock.shift(28)
    assert scheduler.next_request() is None
    assert 0 < len(looked_at) <= sent < len(job.job.sites)


@contextmanager
def exchanges(crawler):
    """Yield the list of exchanges that a worker makes inside the block.

    Its thread makes them: what is to be counted has to begin inside.
    """
    server = JobWorker.of(crawler).server
    exchange = server.exchange
    made = []

    def note(one):
        made.append(one)
        return exchange(one)

    server.exchange = note
    yield made
    server.exchange = exchange


def asked(crawler, clock, seconds: float) -> int:
    """Return how many exchanges a worker makes in so many seconds, each answered."""
    with exchanges(crawler) as made:
        for _ in range(int(seconds / 0.05)):
            answer(crawler, clock, 0.05)
    return len(made)


def test_a_worker_that_gets_no_site_polls_less_and_less(crawler, scheduler, clock):
    """After 0.05 s at first, twice that each time, and each second in the end."""
    scheduler.next_request()
    assert 8 <= asked(crawler, clock, 6) <= 12
    scheduler.next_request()
    assert 3 <= asked(crawler, clock, 4) <= 5


def test_a_worker_knows_how_many_there_are(crawler, scheduler, clock, start_worker):
    """For its metrics: a fleet of five that is four."""
    worker = JobWorker.of(crawler)
    scheduler.next_request()
    until(crawler, clock, lambda: worker.workers == 1)
    other, its = start_worker()
    until(crawler, clock, lambda: worker.workers == 2)
    its.close("shutdown")
    until(crawler, clock, lambda: worker.workers == 1)
    Crawl.of(other).throttle.close()


def test_a_busy_worker_only_renews_its_lease(crawler, scheduler, clock):
    """Four times in the lease of thirty seconds."""
    for number in range(10):
        scheduler.enqueue_request(Request(f"{PAGE}/{number}"))
    until(crawler, clock, lambda: len(scheduler))
    assert scheduler.next_request() is not None
    answer(crawler, clock, 0.2)
    assert asked(crawler, clock, 7) <= 2


def test_a_sent_request_is_recorded_before_its_callback_runs(
    crawler, scheduler, clock, redis_server
):
    """Once for each request; what is not in the job is not told."""
    scheduler.enqueue_request(Request(PAGE))
    until(crawler, clock, lambda: len(scheduler))
    request, job = scheduler.next_request(), JobWorker.of(crawler)
    reply = []
    sends = job.server.sends

    def record(worker, token, numbers):
        reply.append({*numbers})
        return sends(worker, token, numbers)

    job.server.sends = record
    job.begins(Request(PAGE))
    job.begins(None)
    assert reply == []
    job.begins(request)
    job.begins(request)
    (number,) = reply.pop()
    assert reply == []
    other = Worker(redis_server.url, "queue")
    out = other.redis.smembers(f"{job.server.key}:out:{job.job.worker}")
    other.leave()
    assert out == {str(number).encode()}


@pytest.fixture
def start_worker(make_crawler, redis_server):
    """Start workers."""

    def start():
        crawler = make_crawler(
            MANDELBOT_JOB=redis_server.url, MANDELBOT_JOB_OPTIONS={"lease": 30}
        )
        crawler.request_fingerprinter = RequestFingerprinter(crawler)
        crawler.engine._slot = EngineSlot()
        crawler.crawling = True
        scheduler = SharedJobScheduler.from_crawler(crawler)
        scheduler.open(crawler.spider)
        return crawler, scheduler

    return start


def is_killed(crawler, redis_url: str) -> None:
    """Let a worker do nothing more, and its lease end."""
    job = JobWorker.of(crawler)
    job._stop()
    job.link.thread.end(job.server.close)
    Crawl.of(crawler).throttle.close()
    with Redis.from_url(redis_url) as redis:
        redis.zadd(f"{job.server.key}:workers", {job.job.worker: 1})


def sent_by(crawler, redis_url: str) -> int:
    """Return how many requests Redis knows to be sent by a worker."""
    job = JobWorker.of(crawler)
    with Redis.from_url(redis_url) as redis:
        return redis.scard(f"{job.server.key}:out:{job.job.worker}")


def waits_in_its_slot(crawler, request):
    """Let a request wait in its download slot; return what ends that."""
    downloader = crawler.engine.downloader
    downloader.send(request)
    queue = downloader.slots[downloader.get_slot_key(request)].queue
    queue.append((request, None))
    return queue.clear


@pytest.mark.parametrize("is_sent", [False, True])
def test_only_a_request_that_is_sent_has_a_part_in_a_death(
    start_worker, clock, redis_server, is_sent
):
    """Three workers die with it. If it only waited for its turn, the fourth sends it;
    if it had left, it is set aside.
    """
    for number in range(4):
        crawler, scheduler = start_worker()
        if not number:
            scheduler.enqueue_request(Request(PAGE))
        scheduler.next_request()
        for _ in range(20):
            answer(crawler, clock, 0.1)
        assert len(scheduler) == (number < 3 or not is_sent), number
        if number == 3:
            break
        leaves = waits_in_its_slot(crawler, scheduler.next_request())
        for _ in range(15):
            answer(crawler, clock, 0.1)
        assert sent_by(crawler, redis_server.url) == 0
        if is_sent:
            leaves()
            for _ in range(15):
                answer(crawler, clock, 0.1)
            assert sent_by(crawler, redis_server.url) == 1
        is_killed(crawler, redis_server.url)
    aside = crawler.stats.get_value("mandelbot/job/set_aside", 0)
    assert aside == is_sent
    scheduler.close("shutdown")


def test_a_slow_redis_is_not_waited_for_before_each_callback(
    crawler, scheduler, clock, monkeypatch
):
    """The callback runs all the same; after ten seconds it is asked again."""
    for number in range(3):
        scheduler.enqueue_request(Request(f"{PAGE}/{number}"))
    until(crawler, clock, lambda: len(scheduler))
    job, reply = JobWorker.of(crawler), []

    def fails(*_):
        reply.append(clock.now())
        raise StorageError("slow")

    monkeypatch.setattr(job.server, "sends", fails)
    requests = [scheduler.next_request() for _ in range(3)]
    job.begins(requests[0])
    job.begins(requests[1])
    assert len(reply) == 1
    clock.shift(10)
    job.begins(requests[1])
    assert len(reply) == 2


def test_the_lease_clock_runs_while_the_machine_is_suspended(monkeypatch):
    """So that a worker that slept for longer than its lease asks before it sends."""
    assert clock_module.elapsed() == pytest.approx(
        time.clock_gettime(time.CLOCK_BOOTTIME), abs=1
    )
    awake = Clock()
    before = awake.now()
    assert before == pytest.approx(time.time(), abs=60)
    slept = time.clock_gettime(time.CLOCK_BOOTTIME) + 3_600
    monkeypatch.setattr(clock_module, "elapsed", lambda: slept)
    assert awake.now() >= before + 3_599


def test_too_many_unsent_changes_close_the_spider(
    crawler, scheduler, clock, monkeypatch
):
    """As with a full disk: the spider closes as job_not_saved, once."""
    closed = []
    monkeypatch.setattr(
        worker.engine, "close_spider", lambda _, reason: closed.append(reason)
    )
    monkeypatch.setattr("scrapy_mandelbot.job.saves.MOST_OPERATIONS", 10)
    job = JobWorker.of(crawler)
    server = job.server

    def fails(*_):
        raise worker.StorageError("gone")

    monkeypatch.setattr(server, "exchange", fails)
    for number in range(20):
        scheduler.enqueue_request(Request(f"{PAGE}/{number}"))
        answer(crawler, clock, 0.2)
    assert closed == ["job_not_saved"]
    assert crawler.stats.get_value("mandelbot/job/not_saved") == 1
    monkeypatch.undo()


@pytest.mark.parametrize("is_away_once", [False, True])
def test_a_worker_that_redis_refuses_for_good_ends(
    crawler, scheduler, clock, monkeypatch, is_away_once
):
    """After 20 leases: a service manager starts it with the new password.

    Where the server was away in between, they count from then on.
    """
    closed = []
    monkeypatch.setattr(
        worker.engine, "close_spider", lambda _, reason: closed.append(reason)
    )
    job = JobWorker.of(crawler)
    error = ServerRefusedError("NOAUTH Authentication required.")

    def fails(*_):
        raise error

    monkeypatch.setattr(job.server, "exchange", fails)
    scheduler.enqueue_request(Request(PAGE))
    answer(crawler, clock, 1.0)
    for _ in range(19):
        answer(crawler, clock, 30.0)
    assert not closed
    if is_away_once:
        error = ServerAwayError("Connection refused")
        answer(crawler, clock, 1.0)
        error = ServerRefusedError("WRONGPASS")
        for _ in range(19):
            answer(crawler, clock, 30.0)
        assert not closed
    for _ in range(3):
        answer(crawler, clock, 30.0)
    assert closed == ["job_not_saved"]
    assert crawler.stats.get_value("mandelbot/job/not_saved") == 1
    monkeypatch.undo()


@pytest.mark.parametrize("kind", [ServerAwayError, StorageError])
def test_a_redis_that_is_away_is_waited_for(
    crawler, scheduler, clock, monkeypatch, kind
):
    """It is down, hangs, loads or fails over: for an hour, or for a night."""
    closed = []
    monkeypatch.setattr(
        worker.engine, "close_spider", lambda _, reason: closed.append(reason)
    )

    def fails(*_):
        raise kind("away")

    with monkeypatch.context() as patched:
        patched.setattr(JobWorker.of(crawler).server, "exchange", fails)
        scheduler.enqueue_request(Request(PAGE))
        for _ in range(120):
            answer(crawler, clock, 30.0)
    assert not closed
    until(crawler, clock, lambda: len(scheduler))


def test_delayed_requests_outlive_the_worker_that_holds_them(
    start_worker, clock, redis_server
):
    """It claims them before they are due. Three workers die with them: none is lost, or
    taken for the reason.
    """
    paths = [f"{PAGE}/{number}" for number in range(3)]
    for number in range(4):
        crawler, scheduler = start_worker()
        if not number:
            for path in paths:
                scheduler.enqueue_request(Request(path, meta={"delay": 600}))
        until(crawler, clock, lambda: len(scheduler) == len(paths))  # noqa: B023 -- called at once
        for _ in range(15):
            assert scheduler.next_request() is None
            answer(crawler, clock, 0.1)
        assert sent_by(crawler, redis_server.url) == 0
        if number < 3:
            is_killed(crawler, redis_server.url)
    answered = answered_in(900, crawler, scheduler, clock)
    assert sorted(one.url for one in answered) == paths
    assert not crawler.stats.get_value("mandelbot/job/set_aside", 0)
    scheduler.close("shutdown")


def sent_back(crawler, request, retry_after: float | None) -> Request:
    """Return a request whose site has refused it, on its way back to the queue."""
    throttle = Crawl.of(crawler).throttle
    flight = throttle.flight_of(request)
    throttle.let_leave(flight)
    throttle.pauses.refused(flight, "503", retry_after)
    return throttle.send_back(flight)


def in_memory(path: str) -> Request:
    """Return a request that cannot be written down."""
    return Request(f"{PAGE}/{path}", callback=lambda response: None)


def next_of(crawler, scheduler, clock) -> Request:
    """Return the next request, however long it takes."""
    requests = []

    def has_come():
        request = scheduler.next_request()
        if request is not None:
            requests.append(request)
        return requests

    until(crawler, clock, has_come)
    return requests[0]


def answered_in(seconds: int, crawler, scheduler, clock) -> list[Request]:
    """Let time pass; return what was handed out, each answered at once."""
    throttle, requests = Crawl.of(crawler).throttle, []
    for _ in range(0, seconds, 5):
        answer(crawler, clock, 5.0)
        while (request := scheduler.next_request()) is not None:
            requests.append(request)
            flight = throttle.flight_of(request)
            throttle.answered(flight)
            throttle.release(flight)
            scheduler.finish_request(request)
    return requests


def lose_lease(crawler) -> None:
    """Give the worker's sites to others, as if it had been stopped for long."""
    job = JobWorker.of(crawler)
    job.server.leave(job.job.worker, job.job.token)


@pytest.mark.parametrize("others", [0, 3])
def test_a_request_in_memory_waits_out_a_long_pause_of_its_site(
    crawler, scheduler, clock, others
):
    """No other worker could have it, so that the site stays with this one."""
    requests = [in_memory(str(number)) for number in range(1 + others)]
    for request in requests:
        scheduler.enqueue_request(request)
    first = next_of(crawler, scheduler, clock)
    scheduler.enqueue_request(sent_back(crawler, first, 60.0))
    scheduler.finish_request(first)
    for _ in range(5):
        assert scheduler.next_request() is None
        answer(crawler, clock, 1.0)
    answered = answered_in(900, crawler, scheduler, clock)
    assert Counter(answered) == Counter(requests)
    assert not scheduler.has_pending_requests()


def test_the_next_owner_of_a_site_gets_its_robots_txt(
    crawler, scheduler, clock, start_worker, redis_server
):
    """It may be on another machine; one that knows a newer copy keeps that."""
    site = "https://example.com"
    fetched_at = clock.now()
    copy = CachedRobots(b"User-agent: *\nDisallow: /x", 200, fetched_at, etag='"1"')
    Crawl.of(crawler).store.put_copy(site, copy)
    for number in range(2):
        scheduler.enqueue_request(Request(f"{PAGE}/{number}"))
    first = next_of(crawler, scheduler, clock)
    scheduler.enqueue_request(sent_back(crawler, first, 60.0))
    worker = JobWorker.of(crawler)
    until(crawler, clock, lambda: site not in worker.job.sites)
    answer(crawler, clock, 0.1)
    state = worker.server.view().known()[site]
    other, _ = start_worker()
    own = JobWorker.of(other)._own
    own.server_time = worker._own.server_time
    store = Crawl.of(other).store
    own.take({site: state}, [])
    assert store.get_copy(site)._replace(fetched_at=fetched_at) == copy
    assert store.get_copy(site).fetched_at == pytest.approx(fetched_at, abs=1)
    newer = copy._replace(body=b"", fetched_at=fetched_at + 10)
    store.put_copy(site, newer)
    own.take({site: state}, [])
    assert store.get_copy(site) == newer
    is_killed(other, redis_server.url)


@pytest.mark.parametrize("others", [0, 3])
def test_a_request_in_memory_outlasts_the_lease_of_its_site(
    crawler, scheduler, clock, others
):
    """It is sent when the site is this worker's again, whether it waited or was
    delayed.
    """
    requests = [in_memory(str(number)) for number in range(1 + others)]
    for request in requests:
        scheduler.enqueue_request(request)
    first = next_of(crawler, scheduler, clock)
    scheduler.enqueue_request(sent_back(crawler, first, 5.0))
    scheduler.finish_request(first)
    lose_lease(crawler)
    answered = answered_in(900, crawler, scheduler, clock)
    assert crawler.stats.get_value("mandelbot/job/leases_lost") == 1
    assert Counter(answered) == Counter(requests)
    assert not scheduler.has_pending_requests()


def test_a_request_in_memory_does_not_go_to_a_lost_site(
    crawler, scheduler, clock, redis_server
):
    """The owner requests it; the request waits until that owner returns the site."""
    request = in_memory("0")
    scheduler.enqueue_request(request)
    assert next_of(crawler, scheduler, clock) is request
    lose_lease(crawler)
    other = Worker(redis_server.url, "queue")
    line = scheduler._line_of(request)
    other.push_new(line, Place(0, 1, is_last_first=True), b"", 7, None)
    other.exchange(take=1)
    assert list(other.sites) == ["https://example.com"]
    in_flight = Crawl.of(crawler).throttle.in_flight
    flight = Crawl.of(crawler).throttle.flight_of(request)
    answer(crawler, clock, 10.0)
    scheduler.enqueue_request(in_flight.send_back(flight, clock.now() + 5.0))
    scheduler.finish_request(request)
    assert not answered_in(30, crawler, scheduler, clock)
    other.claim(line)
    other.exchange()
    assert other.answer.give_back == ["https://example.com"]
    other.give_back("https://example.com")
    other.exchange()
    other.leave()
    assert request in answered_in(30, crawler, scheduler, clock)


def test_pauses_are_reported_again_to_a_redis_that_was_set_back(
    crawler, scheduler, clock, redis_server
):
    """The worker that found one gives its site up, as Redis may know of another owner
    by then.
    """
    scheduler.enqueue_request(Request(PAGE))
    request = next_of(crawler, scheduler, clock)
    other = Worker(redis_server.url, "queue")
    past = Past(other.redis)
    scheduler.enqueue_request(sent_back(crawler, request, 600.0))
    scheduler.finish_request(request)
    answer(crawler, clock, 1.0)
    answer(crawler, clock)
    past.come_back()
    scheduler.enqueue_request(Request(PAGE + "/other"))
    until(crawler, clock, lambda: crawler.stats.get_value("mandelbot/job/set_back"))
    until(crawler, clock, lambda: JobWorker.of(crawler).job.worker > other.worker)
    waits = other.exchange(take=5)
    assert not other.sites
    assert 550 < waits.next_due <= 600
    assert waits.waiting == 1
    other.leave()


def test_a_parent_of_a_lost_lease_belongs_to_its_new_owner(crawler, scheduler, clock):
    """It was taken back in memory; Redis has it, and hands it out once."""
    scheduler.enqueue_request(Request(PAGE))
    parent = next_of(crawler, scheduler, clock)
    job, child = JobWorker.of(crawler), in_memory("child")
    job.gives(job.called(parent), child)
    scheduler.enqueue_request(child)
    throttle = Crawl.of(crawler).throttle
    scheduler.enqueue_request(throttle.in_flight.send_back(throttle.flight_of(parent)))
    scheduler.finish_request(parent)
    lose_lease(crawler)
    answered = answered_in(900, crawler, scheduler, clock)
    assert crawler.stats.get_value("mandelbot/job/leases_lost") == 1
    assert crawler.stats.get_value("mandelbot/job/unreadable") is None
    assert sorted(request.url for request in answered) == [PAGE, child.url]
    assert not scheduler.has_pending_requests()


def test_nothing_waits_for_a_lost_request_that_was_in_memory(crawler, scheduler, clock):
    """The next request in memory with the same callbacks is sent all the same."""
    scheduler.enqueue_request(Request(PAGE))
    parent = next_of(crawler, scheduler, clock)
    job, child = JobWorker.of(crawler), in_memory("child")
    job.gives(job.called(parent), child)
    scheduler.enqueue_request(child)
    throttle = Crawl.of(crawler).throttle
    scheduler.enqueue_request(throttle.in_flight.send_back(throttle.flight_of(parent)))
    scheduler.finish_request(parent)
    while (request := next_of(crawler, scheduler, clock)) is not parent:
        scheduler.finish_request(request)
    lose_lease(crawler)
    answer(crawler, clock, 1.0)
    redirected = Request(f"{PAGE}/redirected", meta={"page": lambda: None})
    assert scheduler.enqueue_request(redirected)
    assert redirected in answered_in(300, crawler, scheduler, clock)


def test_an_internal_error_closes_the_spider_without_raising(
    crawler, scheduler, clock, monkeypatch
):
    """Scrapy would lose other requests of the same callback, or wait for ever."""
    closed = []

    def fails(*_):
        raise KeyError("bug")

    def fails_once(part, name, call):
        job = JobWorker.of(crawler)
        job._broken = None
        with monkeypatch.context() as patch:
            patch.setattr(part, name, fails)
            assert not call()

    scheduler.enqueue_request(Request(f"{PAGE}/0"))
    until(crawler, clock, lambda: len(scheduler))
    monkeypatch.setattr(engine, "close_spider", lambda _, reason: closed.append(reason))
    other = Request(f"{PAGE}/1")
    fails_once(scheduler._storage, "push_new", lambda: scheduler.enqueue_request(other))
    fails_once(scheduler._queue, "pop", scheduler.next_request)
    fails_once(scheduler, "_count", scheduler.next_request)
    assert closed == ["job_unreadable"] * 3


def test_a_request_is_checked_as_it_leaves_its_slot(
    crawler, scheduler, clock, monkeypatch
):
    """A page is not requested when the lease may be over; a robots.txt is."""
    scheduler.enqueue_request(Request(PAGE))
    request, other = (
        next_of(crawler, scheduler, clock),
        Request("https://example.com/robots.txt"),
    )
    sent, handlers = [], SimpleNamespace()

    async def download(one):
        sent.append(one)

    handlers.download_request_async = download
    monkeypatch.setattr(crawler.engine.downloader, "handlers", handlers, raising=False)
    crawler.signals.send_catch_log(signals.spider_opened, spider=crawler.spider)

    def leaves(one):
        with suppress(StopIteration):
            handlers.download_request_async(one).send(None)

    leaves(request)
    clock.shift(28)
    leaves(other)
    with pytest.raises(SitePausedError):
        leaves(request)
    assert sent == [request, other]


def test_states_of_sites_are_handed_over_at_the_end(
    crawler, scheduler, clock, redis_server
):
    """How long a site is to be left alone, where the crawl ends within its pause; none
    is taken.
    """
    scheduler.enqueue_request(Request(PAGE))
    request = next_of(crawler, scheduler, clock)
    scheduler.enqueue_request(sent_back(crawler, request, 8.0))
    scheduler.finish_request(request)
    answer(crawler, clock)
    for number in range(3):
        scheduler.enqueue_request(Request(f"https://site-{number}.example.com/"))
    taken, server = [], JobWorker.of(crawler).server
    exchange = server.exchange
    server.exchange = lambda one: (taken.append(one.take), exchange(one))[1]
    clock.shift(1.0)
    scheduler.close("shutdown")
    assert set(taken) == {0}
    other = Worker(redis_server.url, "queue")
    assert 4 < other.exchange(take=5).next_due <= 7
    assert "https://example.com" not in other.sites
    other.leave()


def test_a_recovered_save_is_reported_once(
    crawler, scheduler, clock, monkeypatch, caplog
):
    """And not with each exchange from then on."""
    caplog.set_level("INFO")
    job = JobWorker.of(crawler)

    def fails(*_):
        raise StorageError("gone")

    with monkeypatch.context() as patch:
        patch.setattr(job.server, "exchange", fails)
        scheduler.enqueue_request(Request(PAGE))
        answer(crawler, clock, 0.1)
    answer(crawler, clock, 1.0)
    answer(crawler, clock, 1.0)
    scheduler.enqueue_request(Request(f"{PAGE}/1"))
    answer(crawler, clock, 1.0)
    assert caplog.text.count("The job cannot be saved for now") == 1
    assert caplog.text.count("The job is saved again") == 1


def test_many_new_requests_are_sent_at_once(crawler, scheduler, clock, monkeypatch):
    """Few of them within a second, where the worker has enough to do."""
    monkeypatch.setattr(saves, "AT_ONCE", 20)
    for number in range(2):
        scheduler.enqueue_request(Request(f"{PAGE}/{number}"))
    next_of(crawler, scheduler, clock)
    assert asked(crawler, clock, 2.0) <= 2
    scheduler.enqueue_request(Request(f"{PAGE}/few"))
    assert asked(crawler, clock, 0.5) == 0
    with exchanges(crawler) as made:
        for number in range(19):
            scheduler.enqueue_request(Request(f"{PAGE}/many/{number}"))
        answer(crawler, clock)
    assert len(made) == 1
