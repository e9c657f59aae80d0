"""The scheduler of a job, without a crawl: what it does with requests that have to wait."""

from __future__ import annotations

import pytest
from engine_slot import EngineSlot
from scrapy import Request
from scrapy.utils.request import RequestFingerprinter

from scrapy_mandelbot import JobScheduler
from scrapy_mandelbot.crawl import Crawl

PAGE = "https://example.com/page"


@pytest.fixture
def crawler(make_crawler, tmp_path):
    crawler = make_crawler(JOBDIR=str(tmp_path / "job"))
    crawler.request_fingerprinter = RequestFingerprinter(crawler)
    crawler.engine._slot = EngineSlot()
    return crawler


@pytest.fixture
def scheduler(crawler):
    scheduler = JobScheduler.from_crawler(crawler)
    scheduler.open(crawler.spider)
    yield scheduler
    scheduler.close("shutdown")


def refuse_next(crawler, scheduler) -> None:
    """Have the next request refused, and given up for good."""
    throttle = Crawl.of(crawler).throttle
    request = scheduler.next_request()
    flight = throttle.flight_of(request)
    throttle.let_leave(flight)
    throttle.refused(flight, "503", None)
    throttle.let_go(flight)
    scheduler.finish_request(request)


def test_a_new_request_like_one_that_was_refused_has_its_turn(crawler, scheduler, clock):
    """It waits as long as that one would have; the job keeps it, and the crawl goes on."""
    scheduler.enqueue_request(Request(PAGE))
    refuse_next(crawler, scheduler)
    scheduler.enqueue_request(Request("https://example.com/other"))
    assert scheduler.enqueue_request(Request(PAGE, dont_filter=True))
    urls, throttle = [], Crawl.of(crawler).throttle
    for _ in range(100):
        clock.turn(30)
        while (request := scheduler.next_request()) is not None:
            urls.append(request.url)
            flight = throttle.flight_of(request)
            throttle.answered(flight)
            throttle.let_go(flight)
            scheduler.finish_request(request)
    assert sorted(urls) == ["https://example.com/other", PAGE]
    assert not scheduler.has_pending_requests()
