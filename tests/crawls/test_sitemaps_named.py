"""Sitemaps that robots.txt does not cite: told, or read where the project says."""

from __future__ import annotations

import pytest
from crawling import LinksSpider, crawl, ensureDeferred
from shops import FOLLOW, index, shop, urls, urlset
from webs import Answer, html

pytestmark = pytest.mark.usefixtures("loop_is_turned")

NAMED = {"MANDELBOT_SITEMAPS": ["/sitemap.xml"]}
TOLD = "cites no sitemap: only links lead to its pages"


def told(result, words=TOLD):
    return [message for message in result.messages if words in message]


@ensureDeferred
@pytest.mark.parametrize("has_robots", [True, False])
async def test_a_site_without_a_citation_is_told_once(webs, has_robots):
    """ "follow" finds nothing there, and a crawl of one page says why."""
    web = shop(webs, 1)
    if not has_robots:
        del web.pages["/robots.txt"]
    web.pages["/sitemap.xml"] = urlset(f"{web.url}/0")
    result = await crawl(LinksSpider, FOLLOW, start_urls=[web.url + "/"])
    assert result.urls() == [web.url + "/"]
    assert len(told(result)) == 1
    assert result.stats["mandelbot/sitemaps/uncited"] == 1
    assert web.asked("/sitemap.xml") == 0


@ensureDeferred
@pytest.mark.parametrize("mode", ["off", "signal"])
async def test_nothing_is_told_where_nothing_is_followed(webs, mode):
    web = shop(webs, 1)
    result = await crawl(
        LinksSpider, {"MANDELBOT_SITEMAPS": mode}, start_urls=[web.url + "/"]
    )
    assert not told(result)


@ensureDeferred
@pytest.mark.parametrize("has_robots", [True, False])
async def test_a_named_path_is_read_where_none_is_cited(webs, has_robots):
    """Also of a site without a robots.txt; its index leads on."""
    web = shop(webs, 3)
    if not has_robots:
        del web.pages["/robots.txt"]
    web.pages["/sitemap.xml"] = index(f"{web.url}/pages.xml")
    web.pages["/pages.xml"] = urlset(*(f"{web.url}/{number}" for number in range(3)))
    result = await crawl(LinksSpider, NAMED, start_urls=[web.url + "/"])
    assert result.urls() == sorted([web.url + "/", *urls(web, 0, 1, 2)])
    assert result.signals("sitemaps_discovered")[0]["urls"] == (
        f"{web.url}/sitemap.xml",
    )
    assert not told(result)
    assert web.asked("/sitemap.xml") == 1


@ensureDeferred
async def test_a_site_that_cites_a_sitemap_is_taken_at_its_word(webs):
    """The named paths are not asked for."""
    web = shop(webs, 2, "/own.xml")
    web.pages["/own.xml"] = urlset(f"{web.url}/0")
    web.pages["/sitemap.xml"] = urlset(f"{web.url}/1")
    result = await crawl(LinksSpider, NAMED, start_urls=[web.url + "/"])
    assert result.urls() == sorted([web.url + "/", *urls(web, 0)])
    assert web.asked("/sitemap.xml") == 0


@ensureDeferred
async def test_a_named_path_that_the_rules_forbid_is_not_requested(webs):
    web = shop(webs, 1, rules="Disallow: /sitemap.xml")
    web.pages["/sitemap.xml"] = urlset(f"{web.url}/0")
    result = await crawl(LinksSpider, NAMED, start_urls=[web.url + "/"])
    assert result.urls() == [web.url + "/"]
    assert web.asked("/sitemap.xml") == 0
    assert "mandelbot/sitemaps/failed" not in result.stats


ABSENT = {
    "a 404": None,
    "a 410": Answer(b"gone", 410),
    "a web page": html(),
    "an empty file": Answer(b""),
}


@ensureDeferred
@pytest.mark.parametrize("form", ABSENT)
async def test_that_there_is_none_is_no_problem(webs, form):
    """The site never said that there is one."""
    web = shop(webs, 1)
    if ABSENT[form]:
        web.pages["/sitemap.xml"] = ABSENT[form]
    result = await crawl(LinksSpider, NAMED, start_urls=[web.url + "/"])
    assert result.urls() == [web.url + "/"]
    assert web.asked("/sitemap.xml") == 1
    assert "mandelbot/sitemaps/failed" not in result.stats
    assert "mandelbot/sitemaps/problems" not in result.stats
    assert not told(result, "was not read")


@ensureDeferred
async def test_a_refusal_is_one_there_too(webs):
    """A 503 pauses the site; then the sitemap is read."""
    web = shop(webs, 1)
    web.pages["/sitemap.xml"] = urlset(f"{web.url}/0")
    refused = []

    def refuse(path):
        if path == "/sitemap.xml" and not refused:
            refused.append(path)
            return Answer(b"", 503, {"Retry-After": "1"})
        return None

    web.refuse = refuse
    result = await crawl(LinksSpider, NAMED, start_urls=[web.url + "/"])
    assert result.urls() == sorted([web.url + "/", *urls(web, 0)])
    assert result.signals("site_paused")


@ensureDeferred
async def test_another_failure_is_told(webs):
    """A 403 for a sitemap that may be there."""
    web = shop(webs, 1)
    web.pages["/sitemap.xml"] = Answer(b"", 403)
    result = await crawl(LinksSpider, NAMED, start_urls=[web.url + "/"])
    assert result.stats["mandelbot/sitemaps/failed"] == 1


@ensureDeferred
async def test_the_log_names_the_first_few_of_many_sites(webs):
    """A crawl of many sites is not told of each."""
    sites = [shop(webs, 0, host=f"127.0.0.{number}") for number in range(2, 10)]
    result = await crawl(
        LinksSpider, FOLLOW, start_urls=[web.url + "/" for web in sites]
    )
    assert len(told(result)) == 5
    assert result.stats["mandelbot/sitemaps/uncited"] == 8
