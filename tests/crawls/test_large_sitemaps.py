"""A sitemap of any size stops no other site while it is read."""

from __future__ import annotations

import gzip

import pytest
import scrapy
from crawling import LinksSpider, crawl, ensureDeferred
from scrapy import signals as scrapy_signals
from scrapy.spiders import SitemapSpider
from shops import FOLLOW, shop
from webs import Answer, site

from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.sitemap_crawl import selection

LINE = b"http://127.0.0.1/no-such-page-of-mine/a-longer-path/to-fill/a-line\n"
LARGE = LINE * (5_500_000 // len(LINE))
PLAIN = {"Content-Type": "text/plain"}
PACKED = {**PLAIN, "Content-Encoding": "gzip"}


def count_meanwhile(host: str, urls: list[str]):
    """Note the responses of a host from the response with a sitemap until the sitemap is read."""

    def before(crawler) -> None:
        is_reading = False

        def received(response) -> None:
            nonlocal is_reading
            is_reading |= response.url.endswith("/large.txt")
            if is_reading and f"//{host}:" in response.url and not is_read():
                urls.append(response.url)

        def is_read() -> bool:
            return bool(crawler.stats.get_value("mandelbot/sitemaps/read"))

        before.keep = received
        crawler.signals.connect(received, signal=scrapy_signals.response_received)

    return before


@pytest.mark.parametrize(
    "sitemap",
    [
        pytest.param(Answer(LARGE, headers=PLAIN), id="plain"),
        pytest.param(
            Answer(gzip.compress(LARGE), headers=PACKED), id="gzip", marks=pytest.mark.thorough
        ),
    ],
)
@ensureDeferred
async def test_a_large_sitemap_stops_no_other_site(webs, monkeypatch, sitemap):
    """Scrapy's scraper hands out nothing while callbacks hold 5,000,000 bytes of responses."""
    monkeypatch.setattr("scrapy_mandelbot.sitemap_crawl.citations.MOST_STRANGERS", 0)
    large = shop(webs, 0, "/large.txt")
    large.pages["/large.txt"] = sitemap
    well = site(webs, 600, host="127.0.0.2")
    meanwhile: list[str] = []
    result = await crawl(
        LinksSpider,
        {**FOLLOW, "CONCURRENT_REQUESTS_PER_DOMAIN": 2},
        before=count_meanwhile("127.0.0.2", meanwhile),
        start_urls=[large.url + "/", well.url + "/"],
    )
    assert result.stats["mandelbot/sitemaps/read"] == 1
    assert sum("127.0.0.2" in url for url in result.urls()) == 601
    assert len(meanwhile) > 10  # those in flight and their successors are not so many


@ensureDeferred
async def test_bodies_beyond_the_bound_stay_with_the_scraper(webs, monkeypatch):
    """Bytes held are bounded over all sites; the scraper holds the engine up for the others."""
    monkeypatch.setattr(selection, "MOST_BYTES", 100)
    held, whole = [], []
    take = selection.SitemapBodies.process_response

    def process_response(self, request, response):
        answer = take(self, request, response)
        if request.url.endswith("map.txt"):
            whole.append(len(answer.body))
            held.append(sum(map(len, self._bodies.values())))
        return answer

    monkeypatch.setattr(selection.SitemapBodies, "process_response", process_response)
    webs_of = [shop(webs, 2, "/map.txt", host=f"127.0.0.{number}") for number in (1, 2)]
    for web in webs_of:
        body = f"{web.url}/0\n{web.url}/1\n".encode() + b"\n" * 20
        web.pages["/map.txt"] = Answer(body, headers=PLAIN)
    result = await crawl(LinksSpider, FOLLOW, start_urls=[web.url + "/" for web in webs_of])
    assert len(result.items) == 6
    assert len(held) == 2
    assert max(held) <= 100
    assert 0 in whole


@ensureDeferred
async def test_nothing_is_held_after_a_crawl(webs):
    web = shop(webs, 1, "/map.txt", "/missing.txt")
    web.pages["/map.txt"] = Answer(f"{web.url}/0\n".encode(), headers=PLAIN)
    web.pages["/missing.txt"] = Answer(b"not here", 404)
    result = await crawl(LinksSpider, FOLLOW, start_urls=[web.url + "/"])
    assert len(result.items) == 2
    assert not Crawl.of(result.crawler).sitemap_bodies


class OwnSitemaps(SitemapSpider):
    name = "own"

    def _parse_sitemap(self, response):
        self.body = response.body
        yield from super()._parse_sitemap(response)

    def parse(self, response):
        yield {"url": response.url}


@ensureDeferred
async def test_a_spiders_own_sitemaps_are_untouched(webs):
    web = shop(webs, 1, "/map.xml")
    web.pages["/map.xml"] = Answer(
        f"<urlset><url><loc>{web.url}/0</loc></url></urlset>".encode(),
        headers={"Content-Type": "application/xml"},
    )
    result = await crawl(OwnSitemaps, FOLLOW, sitemap_urls=[web.url + "/map.xml"])
    assert result.urls() == [web.url + "/0"]
    assert result.spider.body == web.pages["/map.xml"].body


class Looking(LinksSpider):
    """Looks at what the scraper has while a sitemap is read."""

    def sitemap_filter(self, entries):
        slot = self.crawler.engine.scraper.slot
        self.active = [request.url for request in slot.active]
        self.sizes = slot.active_size
        yield from entries


@ensureDeferred
async def test_a_sitemap_counts_as_pending_until_it_is_read(webs):
    """Its callback reads it: the scraper has its request, and the job does not acknowledge it."""
    web = shop(webs, 1, "/map.txt")
    web.pages["/map.txt"] = Answer(f"{web.url}/0\n".encode() + b"\n" * 50_000, headers=PLAIN)
    result = await crawl(Looking, FOLLOW, start_urls=[web.url + "/"])
    assert result.spider.active == [web.url + "/map.txt"]
    assert result.spider.sizes == scrapy.core.scraper.Slot.MIN_RESPONSE_SIZE
