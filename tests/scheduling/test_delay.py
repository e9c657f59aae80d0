"""A request that asks to be sent later: the meta key ``delay``."""

from __future__ import annotations

import gc

import pytest
from crawling import SCRAPYS_FORM, ensureDeferred
from queueing import drain, fill, open_scheduler, refuse
from scrapy import Request

from scrapy_mandelbot.scheduling.delays import sort_by_due
from scrapy_mandelbot.scheduling.round_robin import DUE
from scrapy_mandelbot.throttle import load

pytestmark = pytest.mark.usefixtures("little_to_collect")

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


def test_times_of_one_second_share_a_place():
    """Of those of other seconds the earlier is the first, whichever came first."""
    priorities = []
    for due in (100.2, 100.5, 101.5, 102.5):
        request = Request(URL, meta={DUE: [due, 50.0, 0]})
        sort_by_due(request, now=90.0)
        priorities.append(request.priority)
    assert priorities == [-101, -101, -102, -103]


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
async def test_a_clock_that_was_ahead_makes_no_delay_longer(queue, clock):
    """Such as that of another machine, which scheduled the request."""
    scheduler, _ = queue
    fill(scheduler, URL, meta={DUE: [clock.now() + 3_600, 60, 0]})
    assert drain(scheduler) == []
    clock.turn(60)
    assert drain(scheduler) == [URL]


def alive() -> int:
    """Return how many requests are in memory."""
    gc.collect()
    return sum(type(one) is Request for one in gc.get_objects())


@ensureDeferred
async def test_with_scrapys_own_job_they_wait_on_disk(make_crawler, clock, tmp_path):
    """As those of paused sites do: none of them is in memory. They are sorted by the
    sixteenth of their delays, as each priority has a file that is open.
    """
    crawler = make_crawler(JOBDIR=str(tmp_path), **SCRAPYS_FORM)
    scheduler = open_scheduler(crawler)
    before = alive()
    for number in range(200):
        url = f"https://{number}.example/"
        fill(scheduler, url, url + "now", meta={"delay": 600 + number})
        assert drain(scheduler) == []
    assert alive() - before < 5
    assert len(scheduler) == 400
    clock.turn(599)
    assert drain(scheduler) == []
    clock.turn(102)
    assert len(drain(scheduler)) >= 100
    scheduler.close("finished")


@pytest.mark.parametrize("settings", [{}, SCRAPYS_FORM], ids=["memory", "a job"])
@ensureDeferred
async def test_a_delay_without_an_end_harms_no_other_request(
    make_crawler, clock, tmp_path, settings
):
    if settings:
        settings = {**settings, "JOBDIR": str(tmp_path)}
    scheduler = open_scheduler(make_crawler(**settings))
    fill(scheduler, URL + "never", meta={"delay": 1e300})
    fill(scheduler, URL + "later", meta={"delay": 10})
    clock.turn(11)
    assert drain(scheduler) == [URL + "later"]
    scheduler.close("finished")


@ensureDeferred
async def test_in_memory_an_earlier_one_passes_all_that_came_before(queue, clock):
    scheduler, _ = queue
    for number in range(100):
        fill(scheduler, f"{URL}{number}", meta={"delay": 600}, priority=number)
    assert drain(scheduler) == []
    fill(scheduler, URL + "soon", meta={"delay": 5}, priority=-7)
    clock.turn(5)
    request = scheduler.next_request()
    assert (request.url, request.priority) == (URL + "soon", -7)
    assert drain(scheduler) == []


@ensureDeferred
async def test_a_delayed_request_counts_as_one_of_a_paused_site(
    make_crawler, monkeypatch
):
    """A list of any length is not read while they wait."""
    monkeypatch.setattr(load, "PAUSED", 10)
    crawler = make_crawler(CONCURRENT_REQUESTS=16)
    downloader = crawler.engine.downloader
    downloader.total_concurrency = 16
    downloader.needs_backout = lambda: False
    scheduler = open_scheduler(crawler)
    read = 0
    while not downloader.needs_backout() and read < 1_000:
        fill(scheduler, f"{URL}{read}", meta={"delay": 600})
        assert scheduler.next_request() is None
        read += 1
    assert read == 10 + 16
