"""Sitemaps that a robots.txt cites: too many, and on other people's hosts."""

from __future__ import annotations

import gzip
import zlib

import pytest
from crawling import LinksSpider, crawl, ensureDeferred
from shops import FOLLOW, shop, urls, urlset
from webs import Answer, html

pytestmark = pytest.mark.usefixtures("loop_is_turned")

ABROAD = "scrapy_mandelbot.sitemap_crawl.citations._MOST_CROSS_HOST"


def cite(web, *sitemaps: str) -> None:
    web.pages["/robots.txt"] = Answer(
        "\n".join(f"Sitemap: {url}" for url in sitemaps).encode()
    )


@ensureDeferred
async def test_as_many_sitemaps_of_other_hosts_are_asked_for_as_anyone_has(
    webs, monkeypatch
):
    """Beyond that the others are left out, with one line in the log; the site's own are
    not.
    """
    monkeypatch.setattr(ABROAD, 3)
    web, other = shop(webs, 1), webs("127.0.0.2")
    for number in range(9):
        other.pages[f"/{number}.xml"] = urlset(f"{web.url}/0")
    web.pages["/own.xml"] = urlset(f"{web.url}/0")
    cite(web, *(f"{other.url}/{number}.xml" for number in range(9)), "/own.xml")
    result = await crawl(LinksSpider, FOLLOW, start_urls=[web.url + "/"])
    assert sum(hit.path.endswith(".xml") for hit in other.hits) == 3
    assert web.asked("/own.xml") == 1
    assert result.urls() == sorted([web.url + "/", *urls(web, 0)])
    assert len(result.logged(f"{web.url} cites sitemaps on other hosts")) == 1


@ensureDeferred
async def test_who_has_none_is_left_alone(webs):
    """After five running that are no sitemaps, no other is asked for elsewhere."""
    web, other = shop(webs, 1), webs("127.0.0.2")
    other.pages["/robots.txt"] = Answer(b"")
    cite(web, *(f"{other.url}/{number}.xml" for number in range(40)), "/own.xml")
    web.pages["/own.xml"] = urlset(f"{web.url}/0")
    for number in range(0, 40, 2):
        other.pages[f"/{number}.xml"] = html()  # the others are missing
    result = await crawl(LinksSpider, FOLLOW, start_urls=[web.url + "/"])
    assert sum(hit.path.endswith(".xml") for hit in other.hits) == 5
    assert result.urls() == sorted([web.url + "/", *urls(web, 0)])


@ensureDeferred
async def test_one_that_is_a_sitemap_counts_anew(webs):
    """Four that are none, again and again, end nothing."""
    web, other = shop(webs, 1), webs("127.0.0.2")
    cite(web, *(f"{other.url}/{number}.xml" for number in range(20)))
    for number in range(4, 20, 5):
        other.pages[f"/{number}.xml"] = urlset(f"{web.url}/0")
    await crawl(LinksSpider, FOLLOW, start_urls=[web.url + "/"])
    assert sum(hit.path.endswith(".xml") for hit in other.hits) == 20


@ensureDeferred
async def test_sitemaps_that_wait_wait_on_disk(webs, monkeypatch):
    """Of a thousand few are in memory at a time; all are asked for in the end, each
    once.
    """
    monkeypatch.setattr("scrapy_mandelbot.sitemap_crawl.progress.MOST_WAITING", 5)
    web = shop(webs, 30)
    cite(
        web,
        *(f"/{number}.xml" for number in range(30)),
        *(f"/{n}.xml" for n in range(30)),
    )
    for number in range(30):
        web.pages[f"/{number}.xml"] = urlset(f"{web.url}/{number}")

    class Spider(LinksSpider):
        # what robots.txt cites is read all the same
        sitemap_follow = ["no index lists these"]

    result = await crawl(Spider, FOLLOW, start_urls=[web.url + "/"])
    assert result.urls() == sorted([web.url + "/", *urls(web, *range(30))])
    assert [web.asked(f"/{number}.xml") for number in range(30)] == [1] * 30


@ensureDeferred
async def test_a_site_with_many_that_are_none_fills_no_log(webs):
    """Twenty lines say what is wrong with its sitemaps, one that there is more; stats
    count all.
    """
    web = shop(webs, 0)
    cite(web, *(f"/{number}.xml" for number in range(60)))
    result = await crawl(LinksSpider, FOLLOW, start_urls=[web.url + "/"])
    assert len(result.logged("The sitemap ")) == 20
    assert len(result.logged("Further problems with the sitemaps of")) == 1
    assert result.stats["mandelbot/sitemaps/failed"] == 60


@pytest.mark.parametrize("prefix", ["HTTP://", "Http://", "hTTP://"])
@ensureDeferred
async def test_a_scheme_in_capitals_is_a_scheme(webs, prefix):
    """RFC 3986, section 3.1: of a redirect of robots.txt, and of a Sitemap line."""
    web, other = shop(webs, 0), webs("127.0.0.2")
    web.pages["/secret"] = html()
    web.pages["/"] = html("/secret")
    target = other.url.replace("http://", prefix)
    web.pages["/robots.txt"] = Answer(b"", 301, {"Location": f"{target}/rules.txt"})
    rules = f"User-agent: *\nDisallow: /secret\nSitemap: {target}/map.xml\n"
    other.pages["/rules.txt"] = Answer(rules.encode())
    result = await crawl(LinksSpider, start_urls=[web.url + "/"])
    assert result.urls() == [web.url + "/"]
    (heard,) = result.signals("sitemaps_discovered")
    assert heard["urls"] == (f"{other.url}/map.xml",)


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
@ensureDeferred
async def test_a_compressed_robots_txt_that_is_too_long_is_cut(webs, encoding):
    """What is in it counts up to the limit, as of a plain one."""
    web = shop(webs, 2)
    web.pages["/"] = html("/0", "/1")
    body = (
        b"User-agent: *\nDisallow: /0\n"
        + b"# filling\n" * 1_500_000
        + b"Disallow: /1\n"
    )
    packed = gzip.compress(body) if encoding == "gzip" else zlib.compress(body)
    web.pages["/robots.txt"] = Answer(packed, headers={"Content-Encoding": encoding})
    result = await crawl(LinksSpider, start_urls=[web.url + "/"])
    assert (web.asked("/0"), web.asked("/1")) == (0, 1)
    assert result.stats["mandelbot/robots/cut"] == 1
    assert result.stats["mandelbot/robots/rules"] == 1
