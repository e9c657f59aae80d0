"""Sitemaps that the robots.txt files of several sites cite, over real HTTP: each is
read once.
"""

from __future__ import annotations

import pytest
from crawling import ensureDeferred
from families import cite, crawl, pages, site
from scrapy.exceptions import IgnoreRequest
from shops import index, urlset
from webs import Answer, Closed, html

pytestmark = pytest.mark.usefixtures("loop_is_turned")


def two_sites(webs, count: int):
    """Return two sites that cite the same sitemap, which lists pages of both."""
    one, two = site(webs, 1, count, "/map.xml"), site(webs, 2, count)
    cite(two, f"{one.url}/map.xml")
    one.pages["/map.xml"] = urlset(*pages(one, count), *pages(two, count))
    return one, two


@ensureDeferred
async def test_a_sitemap_that_two_sites_cite_is_read_once(webs):
    """And what it lists counts for each of them."""
    one, two = two_sites(webs, 30)
    starts = [one.url + "/", two.url + "/"]
    result = await crawl(start_urls=starts)
    assert result.urls() == sorted([*starts, *pages(one, 30), *pages(two, 30)])
    assert one.asked("/map.xml") == 1
    assert result.stats["mandelbot/sitemaps/read"] == 1
    assert result.stats["mandelbot/sitemaps/discovered"] == 2
    assert (
        result.stats["mandelbot/sitemaps/entries"]
        == result.stats["mandelbot/sitemaps/fed"]
        == 60
    )
    assert "mandelbot/sitemaps/foreign" not in result.stats


@ensureDeferred
async def test_a_site_that_comes_late_has_its_pages_crawled_all_the_same(webs):
    """The sitemap was read long before: it was asked then what it says of it."""
    one, two = two_sites(webs, 2)
    one.pages["/1"] = html(two.url + "/")
    one.pages["/1"].delay = 0.5
    result = await crawl(start_urls=[one.url + "/"])
    expected = [one.url + "/", two.url + "/", *pages(one, 2), *pages(two, 2)]
    assert result.urls() == sorted(expected)
    assert one.asked("/map.xml") == two.asked("/robots.txt") == 1


@ensureDeferred
async def test_an_index_that_two_sites_cite_is_read_once_with_all_that_it_lists(webs):
    """Whoever has it read, the pages of both are crawled."""
    one, two = site(webs, 1, 4, "/index.xml"), site(webs, 2, 4)
    cite(two, f"{one.url}/index.xml")
    one.pages["/index.xml"] = index(f"{one.url}/a.xml", f"{one.url}/b.xml")
    one.pages["/a.xml"] = urlset(*pages(one, 4)[:2], *pages(two, 4)[2:])
    one.pages["/b.xml"] = urlset(*pages(one, 4)[2:], *pages(two, 4)[:2])
    starts = [two.url + "/", one.url + "/"]
    result = await crawl(start_urls=starts)
    assert result.urls() == sorted([*starts, *pages(one, 4), *pages(two, 4)])
    assert result.stats["mandelbot/sitemaps/read"] == 3


@ensureDeferred
async def test_what_was_left_out_unasked_is_read_for_its_own_site(webs, monkeypatch):
    """Too many were to be asked; then the spider goes there, and the sitemap is read
    once more.
    """
    monkeypatch.setattr("scrapy_mandelbot.sitemap_crawl.citations.MOST_STRANGERS", 0)
    one, two = two_sites(webs, 2)
    one.pages["/1"] = html(two.url + "/")
    one.pages["/1"].delay = 0.5
    result = await crawl(start_urls=[one.url + "/"])
    expected = [one.url + "/", two.url + "/", *pages(one, 2), *pages(two, 2)]
    assert result.urls() == sorted(expected)
    assert one.asked("/map.xml") == 2
    assert result.stats["mandelbot/sitemaps/foreign"] == 2


class DropsOnce:
    """A downloader middleware that drops the first request for a robots.txt of one
    site.
    """

    is_done = False

    def process_request(self, request):
        if "127.0.0.2" in request.url and not self.is_done:
            self.is_done = True
            raise IgnoreRequest


@ensureDeferred
async def test_what_nobody_could_tell_is_read_for_its_own_site(webs):
    """Its robots.txt was not to be had; later the spider goes there, and it is."""
    one, two = two_sites(webs, 2)
    one.pages["/1"] = html(two.url + "/")
    one.pages["/1"].delay = 0.5
    settings = {"DOWNLOADER_MIDDLEWARES": {DropsOnce: 50}}
    result = await crawl(settings, start_urls=[one.url + "/"])
    expected = [one.url + "/", two.url + "/", *pages(one, 2), *pages(two, 2)]
    assert result.urls() == sorted(expected)
    assert one.asked("/map.xml") == 2
    (line,) = result.logged(f"{one.url}/map.xml lists pages of {two.url}")
    assert "is not available" in line


@ensureDeferred
async def test_a_paused_site_keeps_no_other_from_the_sitemap_that_both_cite(webs):
    """Whoever can be asked goes on: the pages of the one come while the other is
    paused.
    """
    one, two = two_sites(webs, 2)
    three = site(webs, 3)
    three.pages["/map.xml"] = one.pages["/map.xml"]
    cite(one, f"{three.url}/map.xml")
    cite(two, f"{three.url}/map.xml")
    for path in map(str, range(60)):  # so many wait that it has no room for more
        one.pages[f"/wait/{path}"] = html()
    one.pages["/"] = html(*(f"/wait/{number}" for number in range(60)))
    one.refuse = Closed(seconds=1.4, after=2, retry_after="2", robots_too=False)
    two.pages["/"].delay = 0.4
    result = await crawl(start_urls=[one.url + "/", two.url + "/"])
    assert len(result.items) == len(set(result.urls())) == 66
    assert three.asked("/map.xml") == 1
    assert two.hits[-1].at < one.refuse.began + 1.5


@ensureDeferred
async def test_a_sitemap_that_cannot_be_had_is_asked_for_once(webs):
    """Whoever cites it: it is missing for all of them."""
    one, two = two_sites(webs, 1)
    one.pages["/map.xml"] = Answer(b"gone", 410)
    result = await crawl(start_urls=[one.url + "/", two.url + "/"])
    assert one.asked("/map.xml") == 1
    assert result.stats["mandelbot/sitemaps/failed"] == 1
