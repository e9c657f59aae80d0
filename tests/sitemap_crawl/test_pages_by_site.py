"""What a sitemap lists of which site, as far as the spider wants it."""

from __future__ import annotations

import pytest
import scrapy

from scrapy_mandelbot.sitemap_crawl.selection import SitemapSelection
from scrapy_mandelbot.throttle.site_map import site_of_request

SITE = "https://example.com"


def by_site(*entries, **attributes) -> dict[str, tuple[int, int]]:
    """Return how many entries and how many pages each site has."""
    spider = type("Spider", (scrapy.Spider,), {"name": "x", **attributes})()
    found = SitemapSelection(spider).pages_by_site(entries, SITE)
    return {site: (len(listed.entries), listed.pages) for site, listed in found.items()}


def test_each_site_has_its_own():
    """The site that cites the sitemap is there in any case, and comes first."""
    assert by_site() == {SITE: (0, 0)}
    listed = (
        {"loc": f"{SITE}/a"},
        {"loc": "https://a.example/b"},
        {"loc": "https://a.example/c"},
    )
    assert by_site(*listed) == {SITE: (1, 1), "https://a.example": (2, 2)}


def test_an_entry_counts_for_every_site_that_it_has_a_page_of():
    """Alternates, where the spider takes them; a site's pages are counted, however
    many.
    """
    entry = {
        "loc": f"{SITE}/a",
        "alternate": ["http://example.com/b", "http://example.com/c"],
    }
    assert by_site(entry) == {SITE: (1, 1)}
    both = {SITE: (1, 1), "http://example.com": (1, 2)}
    assert by_site(entry, sitemap_alternate_links=True) == both


def test_what_the_spider_does_not_want_is_nobodys():
    """It has no rule for it."""
    assert by_site({"loc": "https://a.example/b"}, sitemap_rules=[("/c", "parse")]) == {
        SITE: (0, 0)
    }


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com",
        "https://example.com/",
        "https://example.com?x=/y/z",
        "https://example.com#/",
        "HTTPS://EXAMPLE.COM/a",
        "https://example.com:443/a",
        "https://example.com:8443/a",
        "https://user:pass@example.com/a",
        "https://example.com./a",
        "https://bücher.example/a",
        "http://[::1]:80/a",
        "https://example.com.evil.example/a",
    ],
)
def test_the_site_is_that_of_the_request(url):
    """By whatever URL."""
    site = site_of_request(scrapy.Request(url))
    assert by_site({"loc": url})[site] == (1, 1)
