"""The site queue with JOBDIR: nothing is lost, and the folder is shared with Scrapy's
own queue.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from crawling import ensureDeferred
from queueing import URLS, drain, fill, open_scheduler, refuse
from scrapy import Request
from scrapy.pqueues import DownloaderAwarePriorityQueue
from scrapy.signals import spider_closed
from scrapy.squeues import PickleLifoDiskQueue

from scrapy_mandelbot import SiteQueue
from scrapy_mandelbot.crawl import Crawl

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


@pytest.mark.parametrize(
    "callback", [None, lambda _: None], ids=["writable", "not writable"]
)
@ensureDeferred
async def test_what_is_set_aside_at_the_end_is_kept_or_named(
    make_crawler, clock, tmp_path, caplog, callback
):
    """It is in memory; at the end of a run with JOBDIR it goes to disk, or into a
    warning.
    """
    crawler = make_crawler(JOBDIR=str(tmp_path))
    scheduler = open_scheduler(crawler)
    throttle = Crawl.of(crawler).throttle
    fill(scheduler, "https://a.example/1")
    request = scheduler.next_request()
    request.callback = callback
    flight = throttle.flight_of(request)
    flight.not_before = clock.now() + 99
    scheduler.enqueue_request(throttle.send_back(flight))
    assert len(scheduler) == 1
    assert scheduler.next_request() is None
    scheduler.close("shutdown")

    again = open_scheduler(make_crawler(JOBDIR=str(tmp_path)))
    assert drain(again) == (["https://a.example/1"] if callback is None else [])
    again.close("finished")
    named = [
        one.getMessage()
        for one in caplog.records
        if "not kept in JOBDIR" in one.getMessage()
    ]
    assert len(named) == (callback is not None)
    assert all("<GET https://a.example/1>" in message for message in named)


@ensureDeferred
async def test_what_was_never_written_to_disk_is_named_at_the_end(
    make_crawler, tmp_path, caplog
):
    """Scrapy does not close the queue in memory that it is in."""
    crawler = make_crawler(JOBDIR=str(tmp_path))
    scheduler = open_scheduler(crawler)
    fill(scheduler, "https://a.example/1", callback=lambda _: None)
    scheduler.close("shutdown")
    crawler.signals.send_catch_log(
        spider_closed, spider=crawler.spider, reason="shutdown"
    )
    (named,) = [line for line in caplog.messages if "not kept in JOBDIR" in line]
    assert "<GET https://a.example/1>" in named


@ensureDeferred
async def test_a_poor_probe_is_not_written_to_disk(make_crawler, clock, tmp_path):
    """It may be one that cannot be: it is at hand, and the next."""
    crawler = make_crawler(
        JOBDIR=str(tmp_path), MANDELBOT_PAUSE_OPTIONS={"first": 0, "recovery": False}
    )
    scheduler = open_scheduler(crawler)
    throttle = Crawl.of(crawler).throttle
    fill(scheduler, "https://a.example/good")
    fill(scheduler, "https://a.example/bad", priority=1)
    bad = scheduler.next_request()
    flight = throttle.flight_of(bad)
    throttle.pauses.refused(flight, "503")
    flight.not_before = clock.now() + 99
    scheduler.enqueue_request(throttle.send_back(flight))
    clock.turn(99)
    bad.callback = lambda _: None

    assert scheduler.next_request().url == "https://a.example/good"
    assert len(scheduler) == 1
    scheduler.close("shutdown")


def left_by(crawler: Crawler, queue_class: type, urls=URLS) -> None:
    scheduler = open_scheduler(crawler, queue_class)
    fill(scheduler, *urls)
    fill(scheduler, "https://a.example/urgent", priority=3)
    scheduler.enqueue_request(
        Request("https://a.example/start", meta={"is_start_request": True})
    )
    scheduler.close("finished")


PAIRS = [
    (SiteQueue, SiteQueue),
    (SiteQueue, DownloaderAwarePriorityQueue),
    (DownloaderAwarePriorityQueue, SiteQueue),
]


@pytest.mark.parametrize(("writer", "reader"), PAIRS)
@ensureDeferred
async def test_jobdir_is_shared_with_scrapys_queue(
    make_crawler, tmp_path, writer, reader
):
    """What one left the other resumes: all of it, once, the urgent first, the start
    last.
    """
    left_by(make_crawler(JOBDIR=str(tmp_path)), writer)
    crawler = make_crawler(JOBDIR=str(tmp_path))
    scheduler = open_scheduler(crawler, reader)
    assert len(scheduler) == len(URLS) + 2
    urls = drain(scheduler)
    assert sorted(urls) == sorted(
        [*URLS, "https://a.example/urgent", "https://a.example/start"]
    )
    of_a = [url for url in urls if url.startswith("https://a.")]
    assert (of_a[0], of_a[-1]) == (
        "https://a.example/urgent",
        "https://a.example/start",
    )
    scheduler.close("finished")
    assert json.loads((tmp_path / "requests.queue" / "active.json").read_text()) == {}


@ensureDeferred
async def test_what_scrapys_queue_mixed_is_sorted_out(make_crawler, tmp_path):
    """Its queues hold requests of several sites; those of a paused one are kept, and
    passed by.
    """
    mixed = [
        f"{scheme}://a.example/{n}" for n in range(3) for scheme in ("http", "https")
    ]
    left_by(make_crawler(JOBDIR=str(tmp_path)), DownloaderAwarePriorityQueue, mixed)
    crawler = make_crawler(JOBDIR=str(tmp_path))
    scheduler = open_scheduler(crawler)
    refuse(crawler, "https://a.example/")
    urls = drain(scheduler)
    assert sorted(urls) == [f"http://a.example/{n}" for n in range(3)]
    assert len(scheduler) == 5
    scheduler.close("finished")


SLOTS = [
    "mine",
    "my own",
    "my /own",
    "100%",
    "%20",
    "",
    "https://b.example",
    "https://c.example x",
]


@pytest.mark.parametrize(("writer", "reader"), PAIRS)
@ensureDeferred
async def test_any_string_is_a_download_slot(make_crawler, tmp_path, writer, reader):
    """Its requests come back in the next run; a paused site is passed by."""
    scheduler = open_scheduler(make_crawler(JOBDIR=str(tmp_path)), writer)
    for slot in SLOTS:
        for site in ("a", "b"):
            url = f"https://{site}.example/{SLOTS.index(slot)}"
            scheduler.enqueue_request(Request(url, meta={"download_slot": slot}))
    scheduler.close("finished")

    crawler = make_crawler(JOBDIR=str(tmp_path))
    scheduler = open_scheduler(crawler, reader)
    assert len(scheduler) == 2 * len(SLOTS)
    refused = 0
    if reader is SiteQueue:
        refuse(crawler, "https://a.example/")
        refused = len(SLOTS)
    of_b = [f"https://b.example/{number}" for number in range(len(SLOTS))]
    urls = drain(scheduler)
    assert sorted(url for url in urls if url.startswith("https://b.")) == of_b
    assert len(urls) == 2 * len(SLOTS) - refused
    scheduler.close("finished")


@ensureDeferred
async def test_the_state_of_another_queue_is_refused(make_crawler, tmp_path):
    """With a message that says what was found."""
    crawler = make_crawler()
    with pytest.raises(ValueError, match=r"state of another queue: \[0, -1\]"):
        SiteQueue.from_crawler(crawler, PickleLifoDiskQueue, str(tmp_path), [0, -1])


@pytest.fixture
def few_files():
    """Let the process open 350 files at most, a third of what is usual."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (350, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("reader", [SiteQueue, DownloaderAwarePriorityQueue])
@ensureDeferred
async def test_more_sites_than_files(make_crawler, tmp_path, few_files, reader):
    """A job of more sites than the process may open files is kept, and resumed by
    either queue.

    Scrapy's own queue cannot hold so many: it resumes what few sites are left.
    """
    crawler = make_crawler(JOBDIR=str(tmp_path))
    scheduler = open_scheduler(crawler)
    fill(scheduler, *[f"https://site{n}.example/" for n in range(500)])
    left = 500
    if reader is not SiteQueue:
        left = 100
        for _ in range(400):
            scheduler.next_request()
    scheduler.close("finished")

    again = open_scheduler(make_crawler(JOBDIR=str(tmp_path)), reader)

    assert len(again) == left
    assert len(set(drain(again))) == left
    again.close("finished")
