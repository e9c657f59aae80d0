"""The scheduler of a job on Redis, without a crawl: what it does by the clock."""

from __future__ import annotations

import pytest
from redis_server import NEEDS_REDIS
from scrapy import Request
from scrapy.utils.request import RequestFingerprinter
from test_job_scheduler import EngineSlot

from scrapy_mandelbot import SharedJobScheduler
from scrapy_mandelbot.jobs.shared import JobWorker, worker

pytestmark = NEEDS_REDIS

PAGE = "https://example.com/page"


@pytest.fixture
def crawler(make_crawler, redis_server, monkeypatch):
    crawler = make_crawler(MANDELBOT_JOB=redis_server.url, MANDELBOT_JOB_LEASE=30)
    crawler.request_fingerprinter = RequestFingerprinter(crawler)
    crawler.engine._slot = EngineSlot()
    crawler.crawling = True
    calls = []
    monkeypatch.setattr(worker.engine, "in_loop", lambda: lambda *call: calls.append(call))
    crawler.calls = calls
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
    link = JobWorker.of(crawler)._link
    link.call_and_wait(lambda: None, 10)
    while crawler.calls:
        call, *arguments = crawler.calls.pop(0)
        call(*arguments)


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
    job._set_timer(1000)
    clock._now += 28  # as in a process that was stopped: no timer has rung
    assert scheduler.next_request() is None
    assert scheduler.has_pending_requests()
    until(crawler, clock, lambda: job.may_send)
    assert scheduler.next_request() is not None


def test_too_much_that_cannot_be_said_ends_the_crawl(crawler, scheduler, clock, monkeypatch):
    """As with a full disk: the spider closes as job_not_saved, once."""
    closed = []
    monkeypatch.setattr(worker.engine, "close_spider", lambda _, reason: closed.append(reason))
    monkeypatch.setattr(worker, "MOST_OPERATIONS", 10)
    job = JobWorker.of(crawler)
    server = job._server

    def fails(*_):
        raise worker.CannotKeepError("gone")

    monkeypatch.setattr(server, "exchange", fails)
    for number in range(20):
        scheduler.enqueue_request(Request(f"{PAGE}/{number}"))
        answer(crawler, clock, 0.2)
    assert closed == ["job_not_saved"]
    assert crawler.stats.get_value("mandelbot/job/not_saved") == 1
    monkeypatch.undo()
