"""What a log holds of a web that would like to write into it."""

from __future__ import annotations

import pytest
from crawling import LinksSpider, crawl, ensureDeferred
from shops import FOLLOW, index, shop, urlset
from webs import Answer, html

EVIL = "\x1b[2J\u202e\x9b31m\x07"


def ours(result) -> list[str]:
    """Return the lines, but for Scrapy's own."""
    scrapys = ("Enabled ", "Overridden ", "Dumping ", "Crawled ", "Spider ")
    return [line for line in result.messages if not line.startswith(scrapys)]


def assert_harmless(lines: list[str], longest: int = 700) -> None:
    assert lines
    for line in lines:
        assert line.isprintable(), ascii(line)
        assert len(line) <= longest, line[:300]
        assert "sesame" not in line


@ensureDeferred
async def test_comments_and_sitemaps_of_a_robots_txt(webs):
    """Control characters, overrides, rules without end and passwords: none is in any
    line.
    """
    web = shop(webs, 1)
    lines = [
        *("User-agent: *", f"Comment: {EVIL} hello", f"Comment: {'long ' * 9_000}"),
        *(f"Sitemap: /{EVIL}.xml", f"Sitemap: /{'a' * 1_900}.xml", "Sitemap: /bad.xml"),
        f"Sitemap: {web.url.replace('//', '//open:sesame@')}/pass.xml",
    ]
    web.pages["/robots.txt"] = Answer("\n".join(lines).encode())
    bad = f"<lastmod>{EVIL}{'x' * 5_000}</lastmod><priority>{EVIL}</priority>"
    web.pages["/bad.xml"] = urlset(f"<loc>{web.url}/0</loc>{bad}")
    result = await crawl(LinksSpider, FOLLOW, start_urls=[web.url + "/"])
    assert_harmless(
        [line for line in ours(result) if "comment for us" in line or "itemap" in line]
    )
    assert web.asked("/pass.xml") == 1
    assert len(result.logged("The sitemap ")) == 6


@ensureDeferred
async def test_sites_that_others_list(webs):
    """Nor does what an index and a sitemap list reach a log as it is."""
    web, other = shop(webs, 1, "/index.xml"), webs("127.0.0.2")
    web.pages["/index.xml"] = index(f"/{EVIL}.xml", "/map.xml", "/" + "a" * 3_000)
    web.pages["/map.xml"] = urlset(f"{other.url}/{EVIL}", f"{web.url}/0")
    result = await crawl(LinksSpider, FOLLOW, start_urls=[web.url + "/"])
    assert_harmless([line for line in ours(result) if "itemap" in line])
    assert not any(len(hit.path) > 2_048 for hit in web.hits)


@pytest.mark.parametrize("where", ["header", "meta"])
@ensureDeferred
async def test_robot_tags(webs, where):
    """What a page says in its tags is in the line that tells of what was dropped."""
    web = shop(webs, 1)
    said = f"nofollow, {EVIL}{'x' * 9_000}, noindex"
    web.pages["/"] = html("/0")
    if where == "header":
        said = said.replace("\u202e", "").encode("latin-1").decode("latin-1")
        web.pages["/"].headers["X-Robots-Tag"] = said
    else:
        meta = f'<meta name="robots" content="{said}">'.encode()
        web.pages["/"].body = web.pages["/"].body.replace(b"<head>", b"<head>" + meta)
    result = await crawl(
        LinksSpider, {"MANDELBOT_ROBOT_TAGS": "obey"}, start_urls=[web.url + "/"]
    )
    assert result.stats["mandelbot/tags/requests_dropped"] == 1
    assert_harmless(result.logged("Dropped by robot tags"))
