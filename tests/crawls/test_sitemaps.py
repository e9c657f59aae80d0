"""Sitemaps that robots.txt files cite, followed over real HTTP."""

from __future__ import annotations

import gzip
from itertools import pairwise

import pytest
import scrapy
from crawling import LinksSpider, crawl, ensureDeferred
from scrapy.spiders import SitemapSpider
from shops import FOLLOW, index, shop, urls, urlset
from webs import Answer, Closed, html

pytestmark = pytest.mark.usefixtures("loop_is_turned")


@ensureDeferred
async def test_what_a_sitemap_lists_is_crawled(webs):
    """With an unchanged spider: each page goes to parse(), with what the sitemap says
    of it.
    """
    web = shop(webs, 3, "/sitemap.xml")
    web.pages["/sitemap.xml"] = urlset(
        f"<loc>{web.url}/0</loc><lastmod>2026-11-01</lastmod><priority>0.5</priority>",
        f"{web.url}/1",
        f"{web.url}/2",
    )
    seen = {}

    class Spider(LinksSpider):
        def parse(self, response):
            seen[response.url] = response.meta.get("sitemap_entry")
            yield from super().parse(response)

    result = await crawl(Spider, FOLLOW, start_urls=[web.url + "/"])

    assert result.urls() == sorted([web.url + "/", *urls(web, 0, 1, 2)])
    assert seen[f"{web.url}/0"] == {
        "loc": f"{web.url}/0",
        "lastmod": "2026-11-01",
        "modified": "2026-11-01T00:00:00+00:00",
        "priority": 0.5,
        "sitemap": f"{web.url}/sitemap.xml",
    }
    assert seen[f"{web.url}/"] is None
    assert web.asked("/robots.txt") == web.asked("/sitemap.xml") == 1
    assert result.stats["mandelbot/sitemaps/read"] == 1
    assert (
        result.stats["mandelbot/sitemaps/entries"]
        == result.stats["mandelbot/sitemaps/fed"]
        == 3
    )
    assert result.stats["finish_reason"] == "finished"


@ensureDeferred
async def test_by_default_sitemaps_are_only_told_of(webs):
    """``signal``: the hook hears of them, and nothing is asked for."""
    web = shop(webs, 1, "/sitemap.xml")
    result = await crawl(LinksSpider, start_urls=[web.url + "/"])
    assert result.signals("sitemaps_discovered")[0]["urls"] == (
        f"{web.url}/sitemap.xml",
    )
    assert web.asked("/sitemap.xml") == 0


@ensureDeferred
async def test_indexes_and_every_format(webs):
    """An index of a packed sitemap, a list of URLs, RSS, Atom, and an index within the
    index.
    """
    web = shop(webs, 6, "/index.xml")
    packed = gzip.compress(urlset(f"{web.url}/0").body)
    rss = (
        "<rss"
        f" version='2.0'><channel><item><link>{web.url}/2</link></item></channel></rss>"
    )
    link = f"<link href='{web.url}/3'/>"
    atom = f"<feed xmlns='http://www.w3.org/2005/Atom'><entry>{link}</entry></feed>"
    web.pages |= {
        "/index.xml": index(
            *(f"{web.url}/{name}" for name in ("a.gz", "b.txt", "c", "d", "e"))
        ),
        "/a.gz": Answer(packed, headers={"Content-Type": "application/x-gzip"}),
        "/b.txt": Answer(
            f"{web.url}/1\n".encode(), headers={"Content-Type": "text/plain"}
        ),
        "/c": Answer(rss.encode()),
        "/d": Answer(atom.encode()),
        "/e": index(f"{web.url}/f", f"{web.url}/index.xml"),
        "/f": urlset(f"{web.url}/4", f"{web.url}/5"),
    }

    result = await crawl(LinksSpider, FOLLOW, start_urls=[web.url + "/"])

    assert result.urls() == sorted([web.url + "/", *urls(web, *range(6))])
    assert result.stats["mandelbot/sitemaps/read"] == 7
    assert web.asked("/index.xml") == 1, "it lists itself, and is read once"


@ensureDeferred
async def test_the_spider_says_what_it_wants(webs):
    """sitemap_rules, _follow, _filter and _alternate_links, as for SitemapSpider."""
    web = shop(webs, 0, "/index.xml")
    for path in ("/shop/1", "/shop/2", "/blog/1", "/de/blog/1", "/other/1"):
        web.pages[path] = html()
    link = f'<xhtml:link rel="alternate" hreflang="de" href="{web.url}/de/blog/1"/>'
    web.pages |= {
        "/index.xml": index(f"{web.url}/wanted.xml", f"{web.url}/ignored.xml"),
        "/wanted.xml": urlset(
            f"{web.url}/shop/1",
            f"<loc>{web.url}/shop/2</loc><priority>0.1</priority>",
            f"<loc>{web.url}/blog/1</loc>{link}",
            f"{web.url}/other/1",
        ),
    }

    class Spider(scrapy.Spider):
        name = "selecting"
        sitemap_rules = [("/shop/", "parse_shop"), ("/blog/", "parse_blog")]
        sitemap_follow = ["/wanted"]
        sitemap_alternate_links = True

        def sitemap_filter(self, entries):
            for entry in entries:
                if float(entry.get("priority", 1)) > 0.2:
                    yield entry

        def parse(self, response):
            yield {"url": response.url, "by": "parse"}

        def parse_shop(self, response):
            yield {"url": response.url, "by": "shop"}

        def parse_blog(self, response):
            yield {"url": response.url, "by": "blog"}

    result = await crawl(Spider, FOLLOW, start_urls=[web.url + "/"])

    by = {item["url"].removeprefix(web.url): item["by"] for item in result.items}
    assert by == {
        "/": "parse",
        "/shop/1": "shop",
        "/blog/1": "blog",
        "/de/blog/1": "blog",
    }
    assert web.asked("/ignored.xml") == 0


@ensureDeferred
async def test_a_sitemap_that_cannot_be_had_stops_no_other(webs):
    """A 404, an HTML page, and one on a host that does not answer: then the next is
    read.
    """
    web = shop(webs, 1, "/missing.xml", "/page.html", "/sitemap.xml")
    web.pages["/page.html"] = html("/0")
    web.pages["/sitemap.xml"] = urlset(f"{web.url}/0")
    result = await crawl(LinksSpider, FOLLOW, start_urls=[web.url + "/"])
    assert result.urls() == sorted([web.url + "/", *urls(web, 0)])
    assert result.stats["mandelbot/sitemaps/failed"] == 1
    assert result.stats["mandelbot/sitemaps/problems"] == 1


@ensureDeferred
async def test_a_sitemap_waits_for_its_paused_site(webs):
    """It is asked for politely: a 503 pauses, and it comes later."""
    web = shop(webs, 30, "/sitemap.xml")
    web.pages["/sitemap.xml"] = urlset(*(f"{web.url}/{number}" for number in range(30)))
    web.refuse = closed = Closed(seconds=1, after=1, retry_after="1", robots_too=False)
    result = await crawl(LinksSpider, FOLLOW, start_urls=[web.url + "/"])
    assert len(result.items) == len(set(result.urls())) == 31
    assert not [
        hit for hit in web.hits if closed.began + 0.3 < hit.at < closed.began + 1
    ]
    assert result.stats["mandelbot/pause/count"] >= 1


@ensureDeferred
async def test_scrapys_sitemap_spider_is_left_to_itself(webs):
    """It reads its sitemaps as ever, and robots.txt is fetched once in all."""
    web = shop(webs, 3, "/sitemap.xml")
    web.pages["/sitemap.xml"] = urlset(*(f"{web.url}/{number}" for number in range(3)))

    class Spider(SitemapSpider):
        name = "stock"

        def parse(self, response):
            yield {"url": response.url}

    result = await crawl(Spider, FOLLOW, sitemap_urls=[web.url + "/robots.txt"])

    assert result.urls() == urls(web, 0, 1, 2)
    assert web.asked("/robots.txt") == web.asked("/sitemap.xml") == 1
    assert result.logged("Sitemaps are left to the spider")


@ensureDeferred
async def test_sitemaps_are_asked_for_at_the_pace_of_their_site(webs):
    """robots.txt, pages, index and sitemap: none comes closer than the owner asks."""
    web = shop(webs, 2, "/index.xml", rules="Disallow:\nCrawl-delay: 0.3")
    web.pages["/index.xml"] = index(f"{web.url}/sitemap.xml")
    web.pages["/sitemap.xml"] = urlset(f"{web.url}/0", f"{web.url}/1")
    settings = {**FOLLOW, "MANDELBOT_PACE": "obey"}
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert result.urls() == sorted([web.url + "/", *urls(web, 0, 1)])
    assert len(web.hits) == 6
    assert min(b.at - a.at for a, b in pairwise(web.hits)) >= 0.3
