"""Sitemaps as they are found: what is broken costs what is broken, and nothing else."""

from __future__ import annotations

from contextlib import suppress

import lxml.etree
import pytest
from cases.sitemaps_broken import BROKEN, END, OPEN, URL, url
from scrapy.utils.gz import gunzip
from scrapy.utils.sitemap import Sitemap

from mandelbot import SitemapReader
from mandelbot.sitemaps.problems import MESSAGES

EACH = pytest.mark.parametrize("case", BROKEN, ids=[case.name for case in BROKEN])


def read(body: bytes) -> tuple[tuple[str, ...], SitemapReader]:
    reader = SitemapReader(URL)
    return tuple(entry.loc for entry in (*reader.feed(body), *reader.close())), reader


@EACH
def test_what_is_broken_costs_what_is_broken(case):
    """Every sound entry is found, and the rest is reported by its code; nothing is
    raised.
    """
    locs, reader = read(case.body)
    assert locs == case.locs
    assert tuple(problem.code for problem in reader.problems) == case.codes
    assert reader.kind == case.kind
    assert reader.stopped == (case.kind == "unknown")


@EACH
def test_scrapy_finds_no_more(case):
    """Scrapy's Sitemap, which reads what libxml2 recovers, finds no more URLs in the
    same bytes.
    """
    body = case.body
    while body[:2] == b"\x1f\x8b" and case.kind != "unknown":
        body = gunzip(body)
    theirs = []
    # Old releases raise AttributeError where libxml2 recovers no element.
    with suppress(
        lxml.etree.XMLSyntaxError, StopIteration, UnicodeDecodeError, AttributeError
    ):
        theirs = [entry["loc"].strip() for entry in Sitemap(body)]
    theirs = [loc for loc in theirs if loc.startswith("https://example.com/")]
    assert len(theirs) <= len(case.locs) + (case.name in HALF_A_URL)


HALF_A_URL = {"cut in a URL"}  # Scrapy hands out what there is of it


def test_every_problem_is_shown_somewhere():
    """Each code but those of limits, dates and values comes up in the table above."""
    elsewhere = {
        "too-many-bytes",
        "too-many-entries",
        "entry-too-long",
        "long-loc",
        "entity",
    }
    elsewhere |= {"gzip-members", "many-alternates", "many-tags"}
    elsewhere |= {"bad-lastmod", "bad-changefreq", "bad-priority", "bad-alternate"}
    assert {
        code for case in BROKEN for code in case.codes
    } == MESSAGES.keys() - elsewhere


def test_problems_are_counted_not_heaped_up():
    """A thousand broken entries are one problem, with the first place and how often it
    came up.
    """
    body = (
        OPEN
        + url(1)
        + b"<url><loc/></url>" * 1000
        + b"<url><loc>http://[</loc></url>"
        + END
    )
    _, reader = read(body)
    assert [str(problem) for problem in reader.problems] == [
        "entry 2: an entry has no URL: it is left out (1,000 times)",
        (
            "entry 1002: an entry's URL cannot be read, or is not of http or https: it"
            " is left out"
        ),
    ]
    assert [problem.count for problem in reader.problems] == [1000, 1]


def test_what_is_quoted_is_cut_short():
    """A value of a megabyte does not become a line of the log of a megabyte."""
    _, reader = read(
        OPEN + b"<url><loc>/</loc><priority>" + b"x" * 10**6 + b"</priority></url>"
    )
    assert all(len(str(problem)) < 200 for problem in reader.problems)
