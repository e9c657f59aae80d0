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
from scrapy_mandelbot.sitemap_crawl import bodies

LINE = b"http://127.0.0.1/no-such-page-of-mine/a-longer-path/to-fill/a-line\n"
LARGE = LINE * (5_500_000 // len(LINE))
PLAIN = {"Content-Type": "text/plain"}
PACKED = {**PLAIN, "Content-Encoding": "gzip"}


def turns_between_pages(host: str, gaps: list[int]):
    """Count turns of the event loop between two responses of a host."""

    def before(crawler) -> None:
        from twisted.internet import reactor

        turns, at = [0], [0]

        def turn() -> None:
            turns[0] += 1
            before.call = reactor.callLater(0, turn)

        def received(response) -> None:
            if f"//{host}:" in response.url:
                gaps.append(turns[0] - at[0])
                at[0] = turns[0]

        def closed() -> None:
            before.call.cancel()

        before.keep = received, closed
        turn()
        crawler.signals.connect(received, signal=scrapy_signals.response_received)
        crawler.signals.connect(closed, signal=scrapy_signals.spider_closed)

    return before


async def longest_gap(webs, sitemap: Answer | None) -> tuple[int, object]:
    large = shop(webs, 0, *([] if sitemap is None else ["/large.txt"]))
    if sitemap is not None:
        large.pages["/large.txt"] = sitemap
    well = site(webs, 150, host="127.0.0.2")
    gaps: list[int] = []
    result = await crawl(
        LinksSpider,
        {**FOLLOW, "CONCURRENT_REQUESTS_PER_DOMAIN": 2},
        before=turns_between_pages("127.0.0.2", gaps),
        start_urls=[large.url + "/", well.url + "/"],
    )
    assert sum("127.0.0.2" in url for url in result.urls()) == 151
    return max(gaps), result


@pytest.mark.parametrize(
    "sitemap",
    [Answer(LARGE, headers=PLAIN), Answer(gzip.compress(LARGE), headers=PACKED)],
    ids=["plain", "gzip"],
)
@ensureDeferred
async def test_a_large_sitemap_stops_no_other_site(webs, monkeypatch, sitemap):
    """Scrapy's scraper hands out nothing while callbacks hold 5,000,000 bytes of responses."""
    monkeypatch.setattr("scrapy_mandelbot.sitemap_crawl.citations.MOST_STRANGERS", 0)
    without, _ = await longest_gap(webs, None)
    gap, result = await longest_gap(webs, sitemap)
    assert result.stats["mandelbot/sitemaps/read"] == 1
    assert gap <= max(1.2 * without, without + 10)


@ensureDeferred
async def test_bodies_beyond_the_bound_stay_with_the_scraper(webs, monkeypatch):
    """Bytes held are bounded over all sites; the scraper holds the engine up for the others."""
    monkeypatch.setattr(bodies, "MOST_BYTES", 100)
    held, whole = [], []
    take = bodies.SitemapBodies.process_response

    def process_response(self, request, response):
        answer = take(self, request, response)
        if request.url.endswith("map.txt"):
            whole.append(len(answer.body))
            held.append(sum(map(len, self._bodies.values())))
        return answer

    monkeypatch.setattr(bodies.SitemapBodies, "process_response", process_response)
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
