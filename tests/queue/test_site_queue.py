"""The site queue: Scrapy's order, paused sites passed by."""

from __future__ import annotations

from collections import Counter

from crawling import ensureDeferred
from queueing import URLS, drain, fill, open_scheduler, refuse

from scrapy_mandelbot.crawl import Crawl


@ensureDeferred
async def test_slots_with_the_fewest_active_downloads_first(make_crawler):
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
async def test_priority_first_then_lifo_within_a_site(make_crawler):
    """As Scrapy's own queue."""
    crawler = make_crawler()
    scheduler = open_scheduler(crawler)
    fill(scheduler, "https://a.example/1", "https://a.example/2")
    fill(scheduler, "https://a.example/urgent", priority=5)
    assert [url.rpartition("/")[2] for url in drain(scheduler)] == ["urgent", "2", "1"]


@ensureDeferred
async def test_a_slot_that_becomes_free_is_next(make_crawler):
    """A slot whose downloads have ended is less active than the others again."""
    crawler = make_crawler()
    scheduler = open_scheduler(crawler)
    throttle = Crawl.of(crawler).throttle
    fill(scheduler, *URLS)
    first = [crawler.engine.downloader.send(scheduler.next_request()) for _ in range(6)]
    ended = [request for request in first if request.url[8] == "b"]
    for request in ended:
        throttle.let_go(throttle.flight_of(request))
    assert scheduler.next_request().url[8] == scheduler.next_request().url[8] == "b"


@ensureDeferred
async def test_a_paused_site_is_passed_by_and_counted(make_crawler):
    """Its requests stay, are counted, and come when it may be asked."""
    crawler = make_crawler()
    scheduler = open_scheduler(crawler)
    fill(scheduler, *URLS)
    refuse(crawler, "https://a.example/")

    urls = drain(scheduler)

    assert not [url for url in urls if "//a." in url]
    assert len(urls) == 8
    assert len(scheduler) == 4
    assert scheduler.has_pending_requests()
    assert Crawl.of(crawler).waiting("https://a.example") == 4


@ensureDeferred
async def test_http_and_https_of_a_host_are_two_sites_in_one_slot(make_crawler):
    """Scrapy has one download slot for both; only one of them is paused."""
    crawler = make_crawler()
    scheduler = open_scheduler(crawler)
    fill(scheduler, "http://a.example/1", "https://a.example/1", "http://a.example/2")
    refuse(crawler, "http://a.example/")
    assert drain(scheduler) == ["https://a.example/1"]
    assert len(scheduler) == 2


@ensureDeferred
async def test_a_download_slot_keeps_requests_of_several_sites_apart(make_crawler):
    """``download_slot`` groups sites for the downloader; each keeps its own pause."""
    crawler = make_crawler()
    scheduler = open_scheduler(crawler)
    fill(scheduler, *URLS[:6], meta={"download_slot": "mine"})
    refuse(crawler, "https://b.example/")
    assert len(drain(scheduler)) == 4
    assert "https://b.example mine" in scheduler.mqs


@ensureDeferred
async def test_no_more_are_handed_out_than_a_slot_transfers(make_crawler):
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
    throttle = Crawl.of(crawler).throttle
    throttle.let_go(throttle.flight_of(next(one for one in handed_out if "//a." in one.url)))
    assert scheduler.next_request().url.startswith("https://a.example/")


@ensureDeferred
async def test_what_a_middleware_swallowed_holds_no_place(make_crawler, clock):
    """A request that ended without a word is no longer the downloader's, and no longer counted."""
    crawler = make_crawler(CONCURRENT_REQUESTS_PER_DOMAIN=1)
    scheduler = open_scheduler(crawler)
    fill(scheduler, "https://a.example/1", "https://a.example/2")
    request = scheduler.next_request()
    crawler.engine.downloader.active.add(request)
    assert scheduler.next_request() is None
    crawler.engine.downloader.active.discard(request)
    assert scheduler.next_request() is None, "the queue looks again after a second"
    clock.turn(1)
    assert scheduler.next_request() is not None


@ensureDeferred
async def test_the_probe_is_another_request_than_the_one_that_failed_last(make_crawler):
    """If there is one."""
    crawler = make_crawler(MANDELBOT_PAUSE_FIRST=0, MANDELBOT_RECOVERY=False)
    scheduler = open_scheduler(crawler)
    throttle = Crawl.of(crawler).throttle
    fill(scheduler, "https://a.example/good")
    fill(scheduler, "https://a.example/bad", priority=1)
    bad = scheduler.next_request()
    crawler.engine.downloader.active.add(bad)
    flight = throttle.flight_of(bad)
    throttle.refused(flight, "503")
    scheduler.enqueue_request(throttle.send_back(flight))
    crawler.engine.downloader.active.discard(bad)

    probe = scheduler.next_request()

    crawler.engine.downloader.active.add(probe)
    assert probe.url == "https://a.example/good"
    assert scheduler.next_request() is None
    flight = throttle.flight_of(probe)
    throttle.answered(flight)
    throttle.let_go(flight)
    assert scheduler.next_request() is bad
    assert bad.dont_filter is False


@ensureDeferred
async def test_peek_is_what_pop_would_return(make_crawler):
    """And leaves it in the queue."""
    crawler = make_crawler()
    scheduler = open_scheduler(crawler)
    assert scheduler.mqs.peek() is None
    fill(scheduler, *URLS)
    while scheduler.mqs:
        expected = scheduler.mqs.peek()
        assert scheduler.mqs.pop() is expected


@ensureDeferred
async def test_a_site_without_requests_costs_nothing(make_crawler):
    """Queues are dropped when they are empty."""
    crawler = make_crawler()
    scheduler = open_scheduler(crawler)
    fill(scheduler, *URLS)
    drain(scheduler)
    queue = scheduler.mqs
    assert list(queue.lines()) == []
    assert len(queue) == 0
    assert len(scheduler) == 0
