"""A request that asks to be sent later: the meta key ``delay``."""

from __future__ import annotations

import pytest
from crawling import ensureDeferred
from queueing import drain, fill, open_scheduler, refuse

from scrapy_mandelbot.scheduling.site_queue import DUE

URL = "https://a.example/"


@pytest.fixture
def queue(make_crawler):
    """Return a scheduler, and its crawler."""
    crawler = make_crawler()
    return open_scheduler(crawler), crawler


@ensureDeferred
async def test_a_delayed_request_lets_others_go_meanwhile(queue, clock):
    scheduler, _ = queue
    fill(scheduler, URL + "later", meta={"delay": 60}, priority=5)
    fill(scheduler, URL + "now")
    assert drain(scheduler) == [URL + "now"]
    assert scheduler.has_pending_requests()
    clock.turn(59)
    assert drain(scheduler) == []
    clock.turn(1)
    assert drain(scheduler) == [URL + "later"]
    assert not scheduler.has_pending_requests()


@ensureDeferred
async def test_each_delay_ends_at_its_own_time(queue, clock):
    scheduler, _ = queue
    for seconds in (30, 10, 20):
        fill(scheduler, f"{URL}{seconds}", meta={"delay": seconds})
    sent = []
    for _ in range(3):
        clock.turn(10)
        sent += drain(scheduler)
    assert sent == [URL + "10", URL + "20", URL + "30"]


@ensureDeferred
async def test_a_delay_is_counted_from_when_the_request_is_scheduled(queue, clock):
    """Not from when its turn comes."""
    scheduler, crawler = queue
    refuse(crawler, URL, retry_after=100)
    fill(scheduler, URL + "later", meta={"delay": 60})
    clock.turn(101)
    assert drain(scheduler) == [URL + "later"]


@ensureDeferred
async def test_a_delay_outlasts_a_shorter_pause_of_its_site(queue, clock):
    scheduler, crawler = queue
    refuse(crawler, URL, retry_after=10)
    fill(scheduler, URL + "later", meta={"delay": 60})
    clock.turn(11)
    assert drain(scheduler) == []
    clock.turn(50)
    assert drain(scheduler) == [URL + "later"]


@ensureDeferred
async def test_a_copy_of_a_delayed_request_is_not_delayed_again(queue, clock):
    """Such as a retry or a redirect. The key can be set again."""
    scheduler, _ = queue
    fill(scheduler, URL, meta={"delay": 60})
    clock.turn(0)
    assert drain(scheduler) == []
    clock.turn(60)
    request = scheduler.next_request()
    assert request.meta["delayed"] == [60]
    assert "delay" not in request.meta
    assert DUE not in request.meta
    again = request.replace(dont_filter=True)
    again.meta["delay"] = 5
    scheduler.enqueue_request(again)
    assert again.meta["delayed"] == [60, 5]
    assert drain(scheduler) == []
    clock.turn(5)
    assert drain(scheduler) == [URL]


@pytest.mark.parametrize("value", ["3 days", None, True, 0, -1, float("nan"), [5]])
@ensureDeferred
async def test_what_is_no_number_of_seconds_is_the_projects_own(queue, value):
    """Projects pass any data in ``meta``: it stays, and holds nothing up."""
    scheduler, _ = queue
    fill(scheduler, URL, meta={"delay": value})
    request = scheduler.next_request()
    assert request.meta["delay"] is value


@ensureDeferred
async def test_past_pauses_a_delay_counts_too(queue, clock):
    scheduler, crawler = queue
    refuse(crawler, URL, retry_after=1000)
    fill(scheduler, URL, meta={"delay": 60, "dont_pause": True})
    assert drain(scheduler) == []
    clock.turn(60)
    assert drain(scheduler) == [URL]


@ensureDeferred
async def test_a_clock_that_was_set_back_makes_no_delay_longer(queue, clock):
    """Or that of another machine, which was ahead when it scheduled the request."""
    scheduler, _ = queue
    fill(scheduler, URL, meta={"delay": 60})
    clock.shift(-3_600)
    assert drain(scheduler) == []
    clock.turn(60)
    assert drain(scheduler) == [URL]
