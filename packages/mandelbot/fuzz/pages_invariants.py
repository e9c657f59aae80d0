"""What must hold for any page, sitemap and header."""

from __future__ import annotations

import gzip
import json
import zlib
from datetime import timezone
from unittest.mock import patch

from mandelbot.answers.content_codings import UnreadableBodyError, unpack
from mandelbot.answers.retry_after import wait_asked_for
from mandelbot.dates import IN_SITEMAPS, IN_TAGS, read_date
from mandelbot.robotstxt.times import RequestRate, TimeWindow, rate_at, read_delay
from mandelbot.sitemaps import SitemapReader, unpacking
from mandelbot.tags import robot_tags

NOW = 1_700_000_000.0
DAY = 1440  # minutes


def tags(data: bytes) -> None:
    """Reads a header and a page, a NUL between them; more said is never less strict."""
    header, _, body = data.partition(b"\0")
    headers = [(b"X-Robots-Tag", header)]
    both = robot_tags(headers, body, "Examplebot/1.0 (+https://example.com)")
    one = robot_tags(headers, b"", "Examplebot")
    other = robot_tags([], body, "Examplebot")
    assert both == robot_tags(headers, body, "Examplebot/1.0 (+https://example.com)")
    for field in ("noindex", "nofollow", "noarchive", "nosnippet", "noimageindex"):
        said = getattr(one, field) or getattr(other, field)
        assert getattr(both, field) == said or (
            field == "nosnippet" and both.nosnippet
        ), field
    assert both.none == (both.noindex and both.nofollow)
    times = [
        tag.unavailable_after
        for tag in (one, other)
        if tag.unavailable_after is not None
    ]
    assert both.unavailable_after == min(times, default=None)
    assert set(both.sources) >= set(one.sources)


def sitemaps(data: bytes) -> None:
    """A sitemap in pieces has the entries, kind and problems of the whole.

    The first two octets pick the pieces and the block, the third whether the rest is
    packed.
    """
    step, block, packed = (*data[:3], 0, 0, 0)[:3]
    body = gzip.compress(data[3:], mtime=0) if packed & 1 else data[3:]
    if packed & 2:
        body = body[: len(body) * 3 // 4]
    with patch.object(unpacking, "BLOCK", (16, 100, 65_536)[block % 3]):
        whole = _read(body, max(1, len(body)))
        pieces = _read(body, step % 70 + 1)
    assert pieces == whole, f"{pieces} in pieces, {whole} as a whole"
    for loc, extensions in whole[0]:
        assert loc.startswith(("http://", "https://")), loc
        assert json.loads(json.dumps(extensions)) == extensions


def _read(body: bytes, step: int) -> tuple[list[tuple[str, object]], str, list[str]]:
    limits = {"max_bytes": 4_000, "max_entries": 20, "max_entry_length": 400}
    reader = SitemapReader("https://example.com/sitemap.xml", **limits)
    entries = []
    for start in range(0, len(body), step):
        entries += reader.feed(body[start : start + step])
    entries += reader.close()
    problems = [str(problem) for problem in reader.problems]
    return [(one.loc, one.extensions) for one in entries], reader.kind, problems


def times(data: bytes) -> None:
    """What is read of Retry-After, rates, windows, delays and dates is in its range."""
    seconds = wait_asked_for({"Retry-After": data}.get, NOW).seconds
    assert seconds is None or 0 < seconds < float("inf"), seconds
    text = data.decode("utf-8", "replace")
    delay = read_delay(text)
    assert delay is None or 0 <= delay < float("inf")
    window = TimeWindow.read(text)
    if window is not None:
        assert 0 <= window.start < DAY
        assert 0 <= window.end < DAY
        assert TimeWindow.read(str(window)) == window
    rate = RequestRate.read(text)
    if rate is not None:
        assert rate.documents > 0
        assert rate.delay >= 0
        if rate.seconds < 10**9:  # as many digits are read
            assert RequestRate.read(str(rate)) == rate
        assert rate_at([rate], 0) in {None, rate}
    for forms in (IN_SITEMAPS, IN_TAGS):
        date = read_date(text, forms)
        if date is not None:
            assert date.tzinfo is not None
            assert (
                read_date(date.astimezone(timezone.utc).isoformat(), forms) == date
            ), date


def nothing_opens(data: bytes) -> None:
    """A packed robots.txt, truncated or with another behind it, is not a whole one."""
    for coding, pack_as in (("gzip", gzip.compress), ("deflate", zlib.compress)):
        packed = pack_as(data)
        other = pack_as(_OPEN)
        for cut in range(1, len(packed), 1 + len(packed) // _CUTS):
            for sent in (packed[:cut], packed[:cut] + other[cut:]):
                try:
                    found = unpack(sent, [coding], _MOST)
                except UnreadableBodyError:
                    continue
                assert not found.is_whole or found.body in {
                    data,
                    _OPEN,
                }, f"{coding} cut at {cut}"


_OPEN = b"User-agent: *\nAllow: /\n"
_CUTS = 50  # of an input
_MOST = 2**20  # bytes; more than any mix comes to

TAGS_SEEDS = [
    b'noindex, nofollow\0<html><head><meta name="robots" content="noarchive"></head>',
    b"examplebot: max-snippet:5, unavailable_after: 25 Jun 2010 15:00:00 PST\0<body>",
    (
        b"\0<!-- <meta name=robots content=none> --><title><meta></title><meta"
        b" NAME=robots content=a>"
    ),
    (
        b"\0<meta content='max-image-preview:large,max-video-preview:-1'"
        b" NAME=examplebot />"
    ),
    (
        b"none\0<meta charset=utf-16><script>'<meta name=robots"
        b" content=nosnippet>'</script><template>"
    ),
    (
        b"unavailable_after: 2020-01-01T00:00:00Z\0<meta a='b name=robots'"
        b" content=no&#105;ndex>"
    ),
]
TAGS_WORDS = [
    *(
        b"<meta ",
        b"name=",
        b"content=",
        b"robots",
        b"examplebot",
        b"noindex",
        b"unavailable_after:",
    ),
    *(
        b"<!--",
        b"-->",
        b"<script>",
        b"</script>",
        b"<title>",
        b"</title>",
        b"<noscript>",
        b"<body>",
    ),
    *(
        b"&#x6e;",
        b"&amp;",
        b"max-snippet:",
        b"max-image-preview:",
        b"\xff\xfe",
        b"utf-16",
        b"charset=",
    ),
]
ENTRY = b"<url><loc>https://example.com/a</loc><lastmod>2020-01-01</lastmod></url>"
SITEMAP_SEEDS = [
    bytes([step, block, packed]) + body
    for step, block, packed in ((1, 0, 0), (7, 1, 1), (30, 2, 3))
    for body in (
        b"<?xml version='1.0'?><urlset>" + ENTRY + ENTRY + b"</urlset>",
        b"<sitemapindex><sitemap><loc>/s.xml</loc></sitemap></sitemapindex>",
        b"https://example.com/a\r\nhttps://example.com/b\n",
        (
            b"<rss><channel><item><link>http://a/b</link><pubDate>Mon, 01 Jan 2024"
            b" 00:00:00 GMT"
        ),
        (
            b"<feed><entry><link href='/b'"
            b" rel=alternate/><updated>2024-01-01T00:00:00Z</updated>"
        ),
        b"\xff\xfe<\0u\0r\0l\0s\0e\0t\0>\0",
        b"<urlset><url><loc>/a</loc><loc>/b</loc></url><url><loc><url><![CDATA[/c]]></url>",
        b"<sitemapindex><sitemap>https://example.com/s.xml</sitemap><sitemap><loc>/t</loc>",
        (
            b"<!DOCTYPE x [<!ENTITY e"
            b" 'f'>]><urlset><url><loc><![CDATA[http://a/&]]>&e;</loc></url>"
        ),
    )
]
SITEMAP_WORDS = [
    *(
        b"<url>",
        b"</url>",
        b"<loc>",
        b"</loc>",
        b"<urlset>",
        b"<sitemap>",
        b"<lastmod>",
        b"<item>",
    ),
    *(
        b"<!--",
        b"-->",
        b"<![CDATA[",
        b"]]>",
        b"<!ENTITY ",
        b"&amp;",
        b"&#55555;",
        b"<?xml",
        b"?>",
    ),
    *(
        b"http://a/b",
        b"\x1f\x8b\x08",
        b"\xff\xfe",
        b"encoding='utf-16'",
        b"<image:loc>",
        b"<a b='",
    ),
]
TIMES_SEEDS = [
    *(
        b"120",
        b"3.7",
        b"0",
        b"Wed, 21 Oct 2026 07:28:00 GMT",
        b"Sunday, 06-Nov-94 08:49:37 GMT",
    ),
    *(
        b"Sun Nov  6 08:49:37 1994",
        b"100/24h",
        b"1/10m 1300-1659",
        b"0600-0845",
        b"17:00-04:59",
    ),
    *(b"10", b"1200/3h 09.00-15.00", b"12.00-17.00", b"1/10 s", b"1/5m 9-5", b"24/7"),
    *(
        b"2024-02-29T23:59:60,5+01:30",
        b"2024",
        b"25 Jun 2010 15:00:00 PST",
        b"20240101T0102Z",
    ),
]
TIMES_WORDS = [
    b" GMT",
    b" -0000",
    b"Jan",
    b"Thu, ",
    b"T",
    b"Z",
    b"+14:00",
    b":",
    b"9999",
    b"0001",
]

TARGETS = {
    "tags": (tags, TAGS_SEEDS, TAGS_WORDS),
    "sitemaps": (sitemaps, SITEMAP_SEEDS, SITEMAP_WORDS),
    "times": (times, TIMES_SEEDS, TIMES_WORDS),
    "nothing-opens": (
        nothing_opens,
        [b"User-agent: *\nDisallow: /\n", b"a" * 500, b""],
        [],
    ),
}
