"""What a spider wants of sitemaps, in SitemapSpider's names."""

from __future__ import annotations

import json
import pickle
import re

import pytest
import scrapy
from mandelbot import SitemapReader

from scrapy_mandelbot.sitemap_crawl.selection import SitemapSelection, entry_data

PAGE = "https://example.com/page"
ENTRY = {"loc": PAGE, "alternate": ["https://example.com/de/page"]}


class Spider(scrapy.Spider):
    name = "selecting"

    def other(self, response): ...


def spider(**attributes) -> Spider:
    made = Spider()
    vars(made).update(attributes)
    return made


def test_a_spider_that_says_nothing_has_all_in_parse():
    """Every sitemap is followed, every page goes to parse(), alternates are not
    crawled.
    """
    plain = spider()
    selection = SitemapSelection(plain)
    (request,) = selection.requests(ENTRY)
    assert (request.url, request.callback) == (PAGE, plain.parse)
    assert request.meta == {"sitemap_entry": ENTRY}
    assert selection.follows("https://example.com/any.xml")
    assert list(selection.chosen([ENTRY])) == [ENTRY]


def test_the_first_rule_that_matches_decides():
    """By name or as a function, by text or as a pattern; the rest is left out."""
    made = spider()
    made.sitemap_rules = [(re.compile("/de/"), made.other), ("/page", "parse")]
    made.sitemap_alternate_links = True
    made.sitemap_follow = ["wanted"]
    selection = SitemapSelection(made)
    callbacks = [request.callback for request in selection.requests(ENTRY)]
    assert callbacks == [made.parse, made.other]
    assert list(selection.requests({"loc": "https://example.com/"})) == []
    assert not selection.follows("https://example.com/any.xml")
    assert selection.follows("https://example.com/wanted.xml")


@pytest.mark.parametrize("result", [iter(()), [], None])
def test_a_filter_may_let_nothing_through(result):
    """An empty iterable, or None from a filter that forgot to return one."""
    assert (
        list(SitemapSelection(spider(sitemap_filter=lambda _: result)).chosen([ENTRY]))
        == []
    )


def test_a_callback_that_is_not_there_is_an_error_at_start():
    """As it is for SitemapSpider."""
    with pytest.raises(AttributeError, match="missing"):
        SitemapSelection(spider(sitemap_rules=[("", "missing")]))


SITEMAP = b"""<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
 xmlns:xhtml="http://www.w3.org/1999/xhtml"
 xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
<url><loc>https://example.com/page</loc><lastmod>2026-11-20</lastmod>
<changefreq>daily</changefreq><priority>0.8</priority>
<xhtml:link rel="alternate" hreflang="de" href="https://example.com/de/page"/>
<image:image><image:loc>https://example.com/1.png</image:loc></image:image></url>
<url><loc>https://example.com/bare</loc></url></urlset>"""


def test_what_an_entry_says_and_no_more():
    """Plain data that JOBDIR can store, with the fields of SitemapSpider's entries."""
    reader = SitemapReader("https://example.com/sitemap.xml")
    entries = [*reader.feed(SITEMAP), *reader.close()]
    full, bare = (entry_data(entry, reader.url) for entry in entries)
    assert full == {
        "loc": PAGE,
        "lastmod": "2026-11-20",
        "modified": "2026-11-20T00:00:00+00:00",
        "changefreq": "daily",
        "priority": 0.8,
        "alternate": ["https://example.com/de/page"],
        "hreflang": {"de": "https://example.com/de/page"},
        "extensions": {"image": [{"loc": "https://example.com/1.png"}]},
        "sitemap": "https://example.com/sitemap.xml",
    }
    assert bare == {"loc": "https://example.com/bare", "sitemap": reader.url}
    assert json.loads(json.dumps(full)) == pickle.loads(pickle.dumps(full)) == full
