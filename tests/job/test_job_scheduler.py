"""The scheduler of a job, without a crawl: what it does with requests that have to wait."""

from __future__ import annotations

import pickle

import pytest
from engine_slot import EngineSlot
from scrapy import FormRequest, Request
from scrapy.utils.request import RequestFingerprinter

from scrapy_mandelbot import JobScheduler
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.job.requests import CannotWriteError, RequestForm

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


class Named:
    """What a project may have in meta."""


def test_plain_requests_need_no_class():
    """They are the same either way; others are refused when they are written, and when read."""
    plain, any_ = RequestForm(None, pickles=False), RequestForm(None)
    page = FormRequest(
        "https://example.com/é", formdata={"q": "1"}, headers={"A": ["1", "2"]},
        meta={"depth": 2, "seen": {1, 2}, "pair": (None, 1.5)}, cb_kwargs={"n": [b"\xff"]},
    )  # fmt: skip
    for write, read in ((plain, plain), (any_, plain), (plain, any_)):
        again = read.read(write.write(page))
        assert type(again) is FormRequest
        assert again.to_dict() == page.to_dict()
    for value in (Named(), Named, print):
        other = Request("https://example.com", meta={"value": value})
        with pytest.raises(CannotWriteError, match="pickle"):
            plain.write(other)
        with pytest.raises(pickle.UnpicklingError, match="is not plain"):
            plain.read(any_.write(other))
    with pytest.raises(ValueError, match=r"os\.path is not plain"):
        plain.read(pickle.dumps({"url": "https://example.com", "_class": "os.path"}))
