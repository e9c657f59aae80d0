"""Sitemaps that are not followed: forbidden ones, too many, older ones."""

from __future__ import annotations

import gzip
from itertools import pairwise

import pytest
from crawling import LinksSpider, crawl, ensureDeferred
from shops import FOLLOW, index, shop, urls, urlset
from webs import Answer

pytestmark = pytest.mark.usefixtures("loop_is_turned")


@ensureDeferred
async def test_pages_of_another_site_need_its_word(webs):
    """Its own robots.txt has to cite the sitemap.

    (sitemaps.org, "Sitemaps & Cross Submits")
    """
    willing, silent = shop(webs, 1, host="127.0.0.2"), shop(webs, 1, host="127.0.0.3")
    web = shop(webs, 1, "/sitemap.xml")
    web.pages["/sitemap.xml"] = urlset(
        f"{web.url}/0", f"{silent.url}/0", f"{willing.url}/0"
    )
    web.pages["/sitemap.xml"].delay = 0.5  # both robots.txt files are read by then
    willing.pages["/robots.txt"] = Answer(f"Sitemap: {web.url}/sitemap.xml".encode())

    starts = [one.url + "/" for one in (willing, silent, web)]
    result = await crawl(LinksSpider, FOLLOW, start_urls=starts)

    assert result.urls() == sorted([*starts, *urls(web, 0), *urls(willing, 0)])
    assert result.stats["mandelbot/sitemaps/foreign"] == 1
    (line,) = result.logged(f"{web.url}/sitemap.xml lists pages of {silent.url}")
    assert "does not cite it" in line


@ensureDeferred
async def test_what_leads_nowhere_is_not_made(webs):
    """A page that the rules forbid becomes no request; a sitemap that they forbid is
    not read.
    """
    web = shop(
        webs, 4, "/sitemap.xml", "/secret.xml", rules="Disallow: /2\nDisallow: /secret"
    )
    web.pages["/sitemap.xml"] = urlset(*(f"{web.url}/{number}" for number in range(4)))
    result = await crawl(LinksSpider, FOLLOW, start_urls=[web.url + "/"])
    assert result.urls() == sorted([web.url + "/", *urls(web, 0, 1, 3)])
    assert result.stats["mandelbot/sitemaps/forbidden"] == 1
    assert result.stats["robotstxt/forbidden"] == 1, "the sitemap's own request"
    assert web.asked("/secret.xml") == 0
    (line,) = result.logged(f"The sitemap {web.url}/secret.xml was not read")
    assert "Forbidden by robots.txt" in line


@ensureDeferred
async def test_indexes_within_indexes_have_an_end(webs):
    """Three deep they are read, deeper not, and the log says so."""
    web = shop(webs, 6, "/i0.xml")
    for depth in range(6):
        web.pages[f"/i{depth}.xml"] = index(
            f"{web.url}/i{depth + 1}.xml", f"{web.url}/{depth}.txt"
        )
        web.pages[f"/{depth}.txt"] = Answer(f"{web.url}/{depth}".encode())
    result = await crawl(LinksSpider, FOLLOW, start_urls=[web.url + "/"])
    assert result.urls() == sorted([web.url + "/", *urls(web, 0, 1, 2)])
    assert result.logged(f"{web.url} nests sitemap indexes more than 3 deep")


@ensureDeferred
async def test_limits_are_named_when_they_are_hit(webs):
    """Entries and bytes beyond them are not read; the log says so."""
    web = shop(webs, 5, "/many.xml", "/long.xml")
    web.pages["/many.xml"] = urlset(*(f"{web.url}/{number}" for number in range(3)))
    padding = f"<!--{'x' * 5000}-->"
    long = urlset(f"{web.url}/3", f"<loc>{web.url}/4</loc>").body
    web.pages["/long.xml"] = Answer(long.replace(b"<url>", padding.encode() + b"<url>"))
    result = await crawl(
        LinksSpider,
        {**FOLLOW, "MANDELBOT_LIMITS": {"sitemap_entries": 2, "sitemap_bytes": 6000}},
        start_urls=[web.url + "/"],
    )
    assert result.urls() == sorted([web.url + "/", *urls(web, 0, 1, 3)])
    warnings = result.logged(f"The sitemap {web.url}/many.xml:")
    assert len(warnings) == 1
    assert "2 entries" in warnings[0]
    assert result.logged(f"The sitemap {web.url}/long.xml:")


@ensureDeferred
async def test_a_bomb_is_cut(webs):
    """100 MB in 100 KB: what is within the limit is read, and memory is not filled."""
    web = shop(webs, 1, "/bomb.xml.gz")
    good = urlset(f"{web.url}/0").body.removesuffix(b"</urlset>")
    web.pages["/bomb.xml.gz"] = Answer(gzip.compress(good + b" " * 100_000_000))
    result = await crawl(
        LinksSpider,
        {**FOLLOW, "MANDELBOT_LIMITS": {"sitemap_bytes": 1_000_000}},
        start_urls=[web.url + "/"],
    )
    assert result.urls() == sorted([web.url + "/", *urls(web, 0)])


@pytest.mark.parametrize(
    ("since", "expected"),
    [("2026-11-10", [1, 2]), ("2026-11-10T12:00:00+00:00", [2]), ("2027", [2])],
)
@ensureDeferred
async def test_only_what_was_modified_since(webs, since, expected):
    """MANDELBOT_SITEMAP_SINCE; what says no date may be new."""
    web = shop(webs, 3, "/sitemap.xml")
    web.pages["/sitemap.xml"] = urlset(
        f"<loc>{web.url}/0</loc><lastmod>2026-11-01</lastmod>",
        f"<loc>{web.url}/1</loc><lastmod>2026-11-10T10:00:00Z</lastmod>",
        f"{web.url}/2",
    )
    settings = {**FOLLOW, "MANDELBOT_SITEMAP_SINCE": since}
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert result.urls() == sorted([web.url + "/", *urls(web, *expected)])
    assert result.stats["mandelbot/sitemaps/older"] == 3 - len(expected)


@pytest.mark.parametrize(
    "date",
    [
        "0001-01-01T00:00:00Z",
        "0001-01-01T00:00:00+08:00",
        "0000-00-00",
        "1970-01-01T00:00:00+00:00",
        "1899-12-31",
    ],
)
@ensureDeferred
async def test_a_date_before_the_web_is_no_date(webs, date):
    """Programs write it that know none; the page may be new."""
    web = shop(webs, 1, "/sitemap.xml")
    web.pages["/sitemap.xml"] = urlset(
        f"<loc>{web.url}/0</loc><lastmod>{date}</lastmod>"
    )
    settings = {**FOLLOW, "MANDELBOT_SITEMAP_SINCE": "2026-01-01"}
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert result.urls() == sorted([web.url + "/", *urls(web, 0)])


@ensureDeferred
async def test_only_what_was_modified_since_the_last_run(webs, tmp_path):
    """The first run crawls all; the second what was modified since the first began."""
    web = shop(webs, 2, "/sitemap.xml")
    old, new = (
        f"<loc>{web.url}/{number}</loc><lastmod>{year}-01-01</lastmod>"
        for number, year in enumerate((2020, 2099))
    )
    web.pages["/sitemap.xml"] = urlset(old, new)
    settings = {
        **FOLLOW,
        "MANDELBOT_SITEMAP_SINCE": "last_run",
        "MANDELBOT_STORE": str(tmp_path / "store.db"),
    }
    first = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    second = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert first.urls() == sorted([web.url + "/", *urls(web, 0, 1)])
    assert second.urls() == sorted([web.url + "/", *urls(web, 1)])


@ensureDeferred
async def test_a_redirect_of_a_sitemap_to_a_long_url_is_not_followed(webs):
    """Each hop doubles its URL: beyond 8 KiB no sitemap is worth that."""
    web = shop(webs, 1, "/map.xml")
    paths = ["/map.xml", *("/" + "a" * 2**power for power in range(10, 16))]
    for path, target in pairwise(paths):
        web.pages[path] = Answer(b"", 301, {"Location": target})
    result = await crawl(LinksSpider, FOLLOW, start_urls=[web.url + "/"])
    lengths = [len(hit.path) for hit in web.hits if hit.path.startswith(("/a", "/map"))]
    assert lengths == [8, 1_025, 2_049, 4_097]
    (line,) = result.logged("The sitemap ")
    assert "its redirect's URL has more than 8,192 characters" in line
    assert len(line) < 1_000
