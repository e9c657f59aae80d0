"""Spiders written for stock Scrapy run unchanged."""

from __future__ import annotations

import gzip

import pytest
import scrapy
from crawling import crawl, ensureDeferred
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule, SitemapSpider
from webs import Answer, Closed

pytestmark = pytest.mark.usefixtures("loop_is_turned")


def site(webs):
    web = webs()
    web.chain(12)
    urls = "".join(f"<url><loc>{web.url}/page/{n}</loc></url>" for n in range(12))
    sitemap = (
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'
    )
    web.pages["/map.xml.gz"] = Answer(
        gzip.compress(sitemap.encode()), headers={"Content-Type": "application/gzip"}
    )
    web.pages["/robots.txt"] = Answer(
        b"User-agent: *\nDisallow: /page/5\nSitemap: /map.xml.gz\n",
        headers={"Content-Type": "text/plain"},
    )
    web.refuse = Closed(seconds=1, after=5, retry_after="1", robots_too=False)
    return web


def numbers(result) -> list[int]:
    return sorted(int(url.rpartition("/")[2]) for url in result.urls())


ALLOWED = [n for n in range(12) if n != 5]


@ensureDeferred
async def test_crawl_spider(webs):
    """A CrawlSpider with rules, through a pause."""
    web = site(webs)

    class Spider(CrawlSpider):
        name = "rules"
        start_urls = [web.url + "/"]
        rules = [
            Rule(LinkExtractor(allow="/page/"), callback="parse_page", follow=True)
        ]

        def parse_page(self, response):
            return {"url": response.url}

    assert numbers(await crawl(Spider)) == ALLOWED


@ensureDeferred
async def test_sitemap_spider(webs):
    """A SitemapSpider that starts at robots.txt, through a pause."""
    web = site(webs)

    class Spider(SitemapSpider):
        name = "sitemaps"
        sitemap_urls = [web.url + "/robots.txt"]

        def parse(self, response):
            yield {"url": response.url}

    assert numbers(await crawl(Spider)) == ALLOWED


@ensureDeferred
async def test_spider_with_start(webs):
    """A spider whose start() yields requests and items, through a pause."""
    web = site(webs)

    class Spider(scrapy.Spider):
        name = "start"

        async def start(self):
            for number in range(12):
                yield scrapy.Request(f"{web.url}/page/{number}")
            yield {"url": "/99"}

        async def parse(self, response):
            yield {"url": response.url}

    assert numbers(await crawl(Spider)) == [*ALLOWED, 99]
