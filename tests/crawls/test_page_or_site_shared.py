"""Failures of a page, and an outage, where several crawls or workers ask one site."""

from __future__ import annotations

from collections import Counter

import pytest
import scrapy
from crawling import FailuresSpider, crawl, ensureDeferred
from loop_time import TIME
from redis_server import NEEDS_REDIS
from twisted.internet.defer import Deferred, gatherResults
from webs import Answer, html, site

from scrapy_mandelbot.throttle.peers import Peers

PAGES = 60


class SharingSpider(FailuresSpider):
    """Asks for those pages of a site whose number leaves this `rest`."""

    async def start(self):
        for number in range(PAGES):
            if number % 2 == self.rest:
                url = f"{self.url}/page/{number}"
                yield scrapy.Request(url, errback=self.failed)

    def parse(self, response):
        yield {"url": response.url, "status": response.status}


def number_of(path: str) -> int:
    return int(path.rpartition("/")[2])


async def crawl_beside(web, store):
    """Crawl the even pages and the odd ones at a time, by two crawls of one store."""
    settings = {
        "MANDELBOT_STORE": store,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 4,
        "RETRY_TIMES": 2,
    }
    runs = [
        Deferred.fromCoroutine(crawl(SharingSpider, settings, url=web.url, rest=rest))
        for rest in (0, 1)
    ]
    return await gatherResults(runs)


@pytest.fixture
def store(tmp_path, monkeypatch):
    """The path of a store, the crawls of which are strangers, as those of processes."""
    monkeypatch.setattr(Peers, "_others", lambda _: iter(()))
    return str(tmp_path / "store.db")


@pytest.mark.usefixtures("loop_is_turned")
@ensureDeferred
async def test_pages_that_fail_in_one_crawl_hold_no_other_crawl_of_the_store(
    webs, store
):
    """They fail as in stock Scrapy: each is sent three times."""
    web = site(webs, PAGES, delay=0.05)

    def refuse(path):
        fails = path.startswith("/page/") and number_of(path) % 6 == 3
        return Answer(status=502) if fails else None

    web.refuse = refuse
    even, odd = await crawl_beside(web, store)
    assert len(even.items) == 30
    assert (len(odd.items), len(odd.failures)) == (20, 10)
    for one in (even, odd):
        assert "mandelbot/pause/count" not in one.stats
    failed = Counter(hit.path for hit in web.hits if hit.status == 502)
    assert set(failed.values()) == {3}


@pytest.mark.usefixtures("loop_is_turned")
@ensureDeferred
async def test_an_outage_is_waited_for_by_all_crawls_of_a_store(webs, store):
    web = site(webs, PAGES, delay=0.05)
    began = []

    def refuse(path):
        is_late = sum(hit.path.startswith("/page/") for hit in web.hits) >= 20
        if is_late and not began:
            began.append(TIME.elapsed())
        if began and TIME.elapsed() < began[0] + 4:
            return Answer(status=502)
        return None

    web.refuse = refuse
    results = await crawl_beside(web, store)
    assert sum(len(one.items) for one in results) == PAGES
    assert not any(one.failures for one in results)
    assert sum(hit.status == 502 for hit in web.hits) <= 30


class LinksAndFailures(FailuresSpider):
    """Follows all links, and counts what fails."""

    async def start(self):
        for url in self.start_urls:
            yield scrapy.Request(url, errback=self.failed)

    def parse(self, response):
        yield {"url": response.url, "status": response.status}
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link, errback=self.failed)


async def crawl_as_workers(webs, redis_server, refuse):
    """Crawl four sites by two workers of a job; return the sites and the results."""
    several = [webs(f"127.0.0.{number}") for number in range(1, 5)]
    for web in several:
        web.pages["/"] = html(*(f"/page/{number}" for number in range(20)))
        web.pages |= {f"/page/{number}": html("/") for number in range(20)}
        web.refuse = refuse(web)
    settings = {
        "MANDELBOT_JOB": redis_server.url,
        "ROBOTSTXT_OBEY": False,
        "CONCURRENT_REQUESTS": 4,
        "RETRY_TIMES": 2,
    }
    urls = [web.url + "/" for web in several]
    runs = [
        Deferred.fromCoroutine(crawl(LinksAndFailures, settings, start_urls=urls))
        for _ in range(2)
    ]
    return several, await gatherResults(runs)


@NEEDS_REDIS
@ensureDeferred
async def test_workers_give_pages_that_fail_three_tries_between_them(
    webs, redis_server
):
    """Good answers come to either worker; no site is paused."""

    def refuse(_web):
        def fails(path):
            is_dead = path.startswith("/page/") and number_of(path) % 5 == 2
            return Answer(status=502) if is_dead else None

        return fails

    several, results = await crawl_as_workers(webs, redis_server, refuse)
    for web in several:
        failed = Counter(hit.path for hit in web.hits if hit.status == 502)
        assert failed == {f"/page/{number}": 3 for number in (2, 7, 12, 17)}
    crawled = {item["url"] for one in results for item in one.items}
    assert len(crawled) == 4 * 17
    assert sum(len(one.failures) for one in results) == 16
    assert not any("mandelbot/pause/count" in one.stats for one in results)


@NEEDS_REDIS
@ensureDeferred
async def test_workers_lose_no_page_in_an_outage(webs, redis_server):
    """A site is out for twelve requests; the others are not."""
    left = [12]

    def refuse(web):
        def fails(_path):
            is_out = web.url.startswith("http://127.0.0.1:") and len(web.hits) >= 8
            if is_out and left[0]:
                left[0] -= 1
                return Answer(status=502)
            return None

        return fails

    _, results = await crawl_as_workers(webs, redis_server, refuse)
    crawled = {item["url"] for one in results for item in one.items}
    assert len(crawled) == 4 * 21
    assert not any(one.failures for one in results)
    assert [one.stats["finish_reason"] for one in results] == ["finished"] * 2
