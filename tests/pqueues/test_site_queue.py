"""The site queue: Scrapy's order, closed sites passed by, JOBDIR shared with Scrapy's own queue."""

from __future__ import annotations

import json
from collections import Counter

import pytest
import scrapy
from crawling import SETTINGS, ensureDeferred
from scrapy import Request
from scrapy.core.scheduler import Scheduler
from scrapy.crawler import Crawler
from scrapy.pqueues import DownloaderAwarePriorityQueue
from scrapy.settings import Settings
from scrapy.squeues import PickleLifoDiskQueue

from scrapy_mandelbot import SiteQueue
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.pqueues.names import queue_name


class FakeSlot:
    concurrency = 8

    def __init__(self) -> None:
        self.active = set()
        self.queue = []


class FakeDownloader:
    """As much of the downloader as queues look at."""

    def __init__(self, concurrency: int) -> None:
        self.domain_concurrency = concurrency
        self.slots: dict[str, FakeSlot] = {}
        self.active: set[Request] = set()

    @staticmethod
    def get_slot_key(request: Request) -> str:
        return request.meta.get("download_slot") or request.url.split("/")[2].partition(":")[0]

    def send(self, request: Request) -> Request:
        key = self.get_slot_key(request)
        request.meta["download_slot"] = key
        self.active.add(request)
        self.slots.setdefault(key, FakeSlot()).active.add(request)
        return request


class FakeEngine:
    def __init__(self, settings: Settings) -> None:
        self.downloader = FakeDownloader(settings.getint("CONCURRENT_REQUESTS_PER_DOMAIN"))
        self.running = True
        self._slot = None


def make_crawler(**settings: object) -> Crawler:
    crawler = Crawler(
        scrapy.Spider,
        Settings(
            {
                **SETTINGS,
                "ROBOTSTXT_OBEY": False,
                "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
                **settings,
            }
        ),
    )
    crawler.spider = scrapy.Spider("queue")
    crawler._apply_settings()
    crawler.engine = FakeEngine(crawler.settings)
    return crawler


def open_scheduler(crawler: Crawler, queue_class: type | None = None) -> Scheduler:
    if queue_class is not None:
        crawler.settings.frozen = False
        crawler.settings.set("SCHEDULER_PRIORITY_QUEUE", queue_class, "cmdline")
    scheduler = Scheduler.from_crawler(crawler)
    scheduler.open(crawler.spider)
    return scheduler


def drain(scheduler: Scheduler) -> list[str]:
    urls = []
    while (request := scheduler.next_request()) is not None:
        urls.append(request.url)
    return urls


def fill(scheduler: Scheduler, *urls: str, **arguments: object) -> None:
    for url in urls:
        scheduler.enqueue_request(Request(url, **arguments))


URLS = [f"https://{host}.example/{n}" for n in range(4) for host in "cab"]


@ensureDeferred
async def test_slots_with_the_fewest_active_downloads_first():
    """As Scrapy's own queue: the least active slot, round robin among equals."""
    crawler = make_crawler()
    scheduler = open_scheduler(crawler)
    fill(scheduler, *URLS)
    hosts = []
    active = Counter()
    while (request := scheduler.next_request()) is not None:
        crawler.engine.downloader.send(request)
        host = request.url[8]
        assert active[host] == min(active[one] for one in "abc")
        active[host] += 1
        hosts.append(host)
    assert hosts == list("cab") * 4


@ensureDeferred
async def test_priority_first_then_lifo_within_a_site():
    """As Scrapy's own queue."""
    crawler = make_crawler()
    scheduler = open_scheduler(crawler)
    fill(scheduler, "https://a.example/1", "https://a.example/2")
    fill(scheduler, "https://a.example/urgent", priority=5)
    assert [url.rpartition("/")[2] for url in drain(scheduler)] == ["urgent", "2", "1"]


@ensureDeferred
async def test_a_slot_that_becomes_free_is_next():
    """A slot whose downloads have ended is less active than the others again."""
    crawler = make_crawler()
    scheduler = open_scheduler(crawler)
    gates = Crawl.of(crawler).gates
    fill(scheduler, *URLS)
    first = [crawler.engine.downloader.send(scheduler.next_request()) for _ in range(6)]
    ended = [request for request in first if request.url[8] == "b"]
    for request in ended:
        gates.let_go(request)
    assert scheduler.next_request().url[8] == scheduler.next_request().url[8] == "b"


@ensureDeferred
async def test_a_closed_site_is_passed_by_and_counted():
    """Its requests stay, are counted, and come when it opens."""
    crawler = make_crawler()
    scheduler = open_scheduler(crawler)
    gates = Crawl.of(crawler).gates
    fill(scheduler, *URLS)
    gates.refused(Request("https://a.example/"), "503", 1000.0)

    urls = drain(scheduler)

    assert not [url for url in urls if "//a." in url]
    assert len(urls) == 8
    assert len(scheduler) == 4
    assert scheduler.has_pending_requests()
    assert Crawl.of(crawler).gates.waiting("https://a.example") == 4
    gates.close()


@ensureDeferred
async def test_http_and_https_of_a_host_are_two_sites_in_one_slot():
    """Scrapy has one download slot for both; only one of them is paused."""
    crawler = make_crawler()
    scheduler = open_scheduler(crawler)
    fill(scheduler, "http://a.example/1", "https://a.example/1", "http://a.example/2")
    Crawl.of(crawler).gates.refused(Request("http://a.example/"), "503", 1000.0)
    assert drain(scheduler) == ["https://a.example/1"]
    assert len(scheduler) == 2
    Crawl.of(crawler).gates.close()


@ensureDeferred
async def test_a_download_slot_keeps_requests_of_several_sites_apart():
    """``download_slot`` groups sites for the downloader; each keeps its own gate."""
    crawler = make_crawler()
    scheduler = open_scheduler(crawler)
    fill(scheduler, *URLS[:6], meta={"download_slot": "mine"})
    Crawl.of(crawler).gates.refused(Request("https://b.example/"), "503", 1000.0)
    assert len(drain(scheduler)) == 4
    assert "https://b.example mine" in scheduler.mqs
    Crawl.of(crawler).gates.close()


@ensureDeferred
async def test_no_more_are_handed_out_than_a_slot_transfers():
    """The downloader counts late; the queue does not."""
    crawler = make_crawler(
        CONCURRENT_REQUESTS_PER_DOMAIN=2, DOWNLOAD_SLOTS={"b.example": {"concurrency": 3}}
    )
    scheduler = open_scheduler(crawler)
    fill(scheduler, *URLS)
    handed_out = []
    while (request := scheduler.next_request()) is not None:
        crawler.engine.downloader.active.add(request)
        handed_out.append(request)
    hosts = [request.url[8] for request in handed_out]
    assert sorted(hosts) == ["a", "a", "b", "b", "b", "c", "c"]
    Crawl.of(crawler).gates.let_go(next(one for one in handed_out if "//a." in one.url))
    assert scheduler.next_request().url.startswith("https://a.example/")


@ensureDeferred
async def test_what_a_middleware_swallowed_holds_no_place():
    """A request that ended without a word is no longer the downloader's, and no longer counted."""
    crawler = make_crawler(CONCURRENT_REQUESTS_PER_DOMAIN=1)
    scheduler = open_scheduler(crawler)
    fill(scheduler, "https://a.example/1", "https://a.example/2")
    request = scheduler.next_request()
    crawler.engine.downloader.active.add(request)
    assert scheduler.next_request() is None
    crawler.engine.downloader.active.discard(request)
    assert scheduler.next_request() is None, "the queue looks again after a second"
    scheduler.mqs._looked_again_at -= 1
    assert scheduler.next_request() is not None


@ensureDeferred
async def test_the_probe_is_another_request_than_the_one_that_failed_last():
    """If there is one."""
    crawler = make_crawler(MANDELBOT_PAUSE_FIRST=0, MANDELBOT_RECOVERY=False)
    scheduler = open_scheduler(crawler)
    gates = Crawl.of(crawler).gates
    fill(scheduler, "https://a.example/good")
    fill(scheduler, "https://a.example/bad", priority=1)
    bad = scheduler.next_request()
    crawler.engine.downloader.active.add(bad)
    gates.refused(bad, "503")
    scheduler.enqueue_request(gates.send_back(bad))
    crawler.engine.downloader.active.discard(bad)

    probe = scheduler.next_request()

    crawler.engine.downloader.active.add(probe)
    assert probe.url == "https://a.example/good"
    assert scheduler.next_request() is None
    gates.answered(probe)
    gates.let_go(probe)
    assert scheduler.next_request() is bad
    assert bad.dont_filter is False
    gates.close()


@pytest.mark.parametrize("callback", [None, lambda _: None], ids=["writable", "not writable"])
@ensureDeferred
async def test_what_is_set_aside_at_the_end_is_kept_or_named(tmp_path, caplog, callback):
    """It is in memory; at the end of a run with JOBDIR it goes to disk, or into a warning."""
    crawler = make_crawler(JOBDIR=str(tmp_path))
    scheduler = open_scheduler(crawler)
    handouts = Crawl.of(crawler).gates.handouts
    fill(scheduler, "https://a.example/1")
    request = scheduler.next_request()
    request.callback = callback
    scheduler.enqueue_request(handouts.send_back(request, not_before=Crawl.of(crawler).now() + 99))
    assert len(scheduler) == 1
    assert scheduler.next_request() is None
    scheduler.close("shutdown")

    again = open_scheduler(make_crawler(JOBDIR=str(tmp_path)))
    assert drain(again) == (["https://a.example/1"] if callback is None else [])
    again.close("finished")
    named = [one.getMessage() for one in caplog.records if "not in JOBDIR" in one.getMessage()]
    assert len(named) == (callback is not None)
    assert all("<GET https://a.example/1>" in message for message in named)


@ensureDeferred
async def test_a_poor_probe_is_not_written_to_disk(tmp_path):
    """It may be one that cannot be: it is at hand, and the next."""
    crawler = make_crawler(JOBDIR=str(tmp_path), MANDELBOT_PAUSE_FIRST=0, MANDELBOT_RECOVERY=False)
    scheduler = open_scheduler(crawler)
    gates = Crawl.of(crawler).gates
    fill(scheduler, "https://a.example/good")
    fill(scheduler, "https://a.example/bad", priority=1)
    bad = scheduler.next_request()
    gates.refused(bad, "503")
    scheduler.enqueue_request(gates.handouts.send_back(bad, Crawl.of(crawler).now() + 99))
    scheduler.dqs._end_aside()
    bad.callback = lambda _: None

    assert scheduler.next_request().url == "https://a.example/good"
    assert len(scheduler) == 1
    scheduler.close("shutdown")
    gates.close()


def left_by(queue_class: type, jobdir, urls=URLS) -> None:
    crawler = make_crawler(JOBDIR=str(jobdir))
    scheduler = open_scheduler(crawler, queue_class)
    fill(scheduler, *urls)
    fill(scheduler, "https://a.example/urgent", priority=3)
    scheduler.enqueue_request(Request("https://a.example/start", meta={"is_start_request": True}))
    scheduler.close("finished")


PAIRS = [
    (SiteQueue, SiteQueue),
    (SiteQueue, DownloaderAwarePriorityQueue),
    (DownloaderAwarePriorityQueue, SiteQueue),
]


@pytest.mark.parametrize(("writer", "reader"), PAIRS)
@ensureDeferred
async def test_jobdir_is_shared_with_scrapys_queue(tmp_path, writer, reader):
    """What one left the other resumes: all of it, once, the urgent first, the start last."""
    left_by(writer, tmp_path)
    crawler = make_crawler(JOBDIR=str(tmp_path))
    scheduler = open_scheduler(crawler, reader)
    assert len(scheduler) == len(URLS) + 2
    urls = drain(scheduler)
    assert sorted(urls) == sorted([*URLS, "https://a.example/urgent", "https://a.example/start"])
    of_a = [url for url in urls if url.startswith("https://a.")]
    assert (of_a[0], of_a[-1]) == ("https://a.example/urgent", "https://a.example/start")
    scheduler.close("finished")
    assert json.loads((tmp_path / "requests.queue" / "active.json").read_text()) == {}


@ensureDeferred
async def test_what_scrapys_queue_mixed_is_sorted_out(tmp_path):
    """Its queues hold requests of several sites; those of a closed one are kept, and passed by."""
    mixed = [f"{scheme}://a.example/{n}" for n in range(3) for scheme in ("http", "https")]
    left_by(DownloaderAwarePriorityQueue, tmp_path, mixed)
    crawler = make_crawler(JOBDIR=str(tmp_path))
    scheduler = open_scheduler(crawler)
    Crawl.of(crawler).gates.refused(Request("https://a.example/"), "503", 1000.0)
    urls = drain(scheduler)
    assert sorted(urls) == [f"http://a.example/{n}" for n in range(3)]
    assert len(scheduler) == 5
    scheduler.close("finished")
    Crawl.of(crawler).gates.close()


@ensureDeferred
async def test_the_state_of_another_queue_is_refused(tmp_path):
    """With a message that says what was found."""
    crawler = make_crawler()
    with pytest.raises(ValueError, match=r"state of another queue: \[0, -1\]"):
        SiteQueue.from_crawler(crawler, PickleLifoDiskQueue, str(tmp_path), [0, -1])


@ensureDeferred
async def test_peek_is_what_pop_would_return():
    """And leaves it in the queue."""
    crawler = make_crawler()
    scheduler = open_scheduler(crawler)
    assert scheduler.mqs.peek() is None
    fill(scheduler, *URLS)
    while scheduler.mqs:
        expected = scheduler.mqs.peek()
        assert scheduler.mqs.pop() is expected


@ensureDeferred
async def test_a_site_without_requests_costs_nothing():
    """Queues are dropped when they are empty."""
    crawler = make_crawler()
    scheduler = open_scheduler(crawler)
    fill(scheduler, *URLS)
    drain(scheduler)
    queue = scheduler.mqs
    assert not queue._shelf._open
    assert not queue._turns._slots
    assert not queue._turns._lines
    assert not queue._by_gate
    assert not queue._turns._by_slot
    assert len(scheduler) == 0


@pytest.mark.parametrize(
    ("site", "slot", "name"),
    [
        ("https://a.example", "a.example", "https://a.example"),
        ("https://a.example:8443", "a.example", "https://a.example:8443"),
        ("http://[::1]:80", "::1", "http://[::1]:80"),
        ("https://a.example", "mine", "https://a.example mine"),
        ("data://", "", "data://"),
    ],
)
def test_queue_names(site, slot, name):
    """A queue is named after its site, and its slot where that is another than the host."""
    assert queue_name(site, slot) == name


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
async def test_more_sites_than_files(tmp_path, few_files, reader):
    """A job of more sites than the process may open files is kept, and resumed by either queue.

    Scrapy's own queue cannot hold so many: it resumes what few sites are left.
    """
    crawler = make_crawler(JOBDIR=str(tmp_path))
    scheduler = open_scheduler(crawler)
    fill(scheduler, *[f"https://site{n}.example/" for n in range(1000)])
    left = 1000
    if reader is not SiteQueue:
        left = 100
        for _ in range(900):
            scheduler.next_request()
    scheduler.close("finished")

    again = open_scheduler(make_crawler(JOBDIR=str(tmp_path)), reader)

    assert len(again) == left
    assert len(set(drain(again))) == left
    again.close("finished")
