"""Sitemaps that are as slow to read as anyone could make them, in pieces."""

from __future__ import annotations

import gzip
from itertools import chain

from mandelbot import sitemaps

from growth import Row, numbered, repeated

_OPEN = b"<urlset>"
_ENTRY = _OPEN + b"<url><loc>https://example.com/page</loc>"


_URLS = {
    "a path": repeated(b"a/", b"/"),
    "dot segments": repeated(b"../"),
    "users": repeated(b"u@", b"https://", b"example/"),
    "a long host": repeated(b"a", b"https://", b".example/"),
    "labels": repeated(b"a.", b"https://", b"example/"),
    "spaces": repeated(b" ", b"/a", b"b"),
    "other letters": repeated("ü".encode(), b"/"),
}


def _packed(make):
    """Return the shape of what unpacks to about so many bytes."""
    return lambda size: gzip.compress(make(size))


_BODIES = {
    "entries": numbered(b"<url><loc>https://example.com/%d</loc></url>", _OPEN),
    "entries with all fields": repeated(
        b"<url><loc>https://example.com/</loc><lastmod>2026-11-22</lastmod>"
        b"<changefreq>daily</changefreq><priority>0.5</priority></url>",
        _OPEN,
    ),
    "relative entries": numbered(b"<url><loc>%d</loc></url>", _OPEN),
    "empty entries": repeated(b"<url/>", _OPEN),
    "open entries": repeated(b"<url>", _OPEN),
    "entries of 60 KB": repeated(
        b"<url><loc>/" + b"<a>" * 20_000 + b"</loc></url>", _OPEN
    ),
    "entries of many tags": repeated(
        b"<url><loc>/</loc>" + b"<a>" * 7_900 + b"</url>", _OPEN
    ),
    "entries of 1 MB": repeated(
        b"<url><loc>/" + b"<a>" * 350_000 + b"</loc></url>", _OPEN
    ),
    "an entry without end": repeated(b"<a>", _ENTRY),
    "an entry without end or tags": repeated(b"a", _ENTRY),
    "open tags": repeated(b"<a ", _ENTRY),
    "attributes": repeated(b"a='' ", _ENTRY + b"<a "),
    "quotes": repeated(b"'", _ENTRY + b"<a b="),
    "images": repeated(b"<image:image><image:loc>/i</image:loc></image:image>", _ENTRY),
    "alternates": repeated(
        b"<url><loc>/</loc>" + b"<link rel='alternate' href='a'/>" * 1_500 + b"</url>",
        _OPEN,
    ),
    "references": repeated(b"&amp;", _ENTRY + b"<url><loc>/"),
    "ampersands": repeated(b"&", _ENTRY + b"<url><loc>/"),
    "references that mean nothing": repeated(b"&abcdefgh", _ENTRY + b"<url><loc>/"),
    "long priorities": repeated(
        b"<url><loc>/</loc><priority>" + b"1" * 30_000 + b"</priority></url>", _OPEN
    ),
    "dates": numbered(b"<url><loc>/</loc><lastmod>%d-01-01 x</lastmod></url>", _OPEN),
    "long hosts": repeated(
        b"<url><loc>http://a" + "\u0316\u0300".encode() * 15_000 + b"/</loc></url>",
        _OPEN,
    ),
    "hosts that grow": repeated(
        b"<url><loc>http://a" + "\ufdfa".encode() * 300 + b"/</loc></url>", _OPEN
    ),
    "dots in paths": repeated(b"<url><loc>" + b"../" * 700 + b"</loc></url>", _OPEN),
    "only <": repeated(b"<", _OPEN),
    "only >": repeated(b">", _OPEN),
    "spaces": repeated(b" ", _OPEN),
    "comments": repeated(b"<!---->", _OPEN),
    "an open comment": repeated(b"-", _OPEN + b"<!--"),
    "CDATA": repeated(b"<![CDATA[]]>", _OPEN),
    "an open CDATA": repeated(b"]", _OPEN + b"<![CDATA["),
    "instructions": repeated(b"<?>", _OPEN),
    "a document type": repeated(b"] ", b"<!DOCTYPE a ["),
    "before any root": repeated(b"<a>"),
    "lines": numbered(b"https://example.com/%d\n"),
    "lines that are no URLs": repeated(b"a\n", b"https://example.com/\n"),
    "comment lines": repeated(b"#\n", b"https://example.com/\n"),
    "a line without end": repeated(b"a", b"https://example.com/\n"),
    "carriage returns": repeated(b"\r", b"https://example.com/\n"),
    "an RSS feed": repeated(
        b"<item><guid isPermaLink='false'>a</guid></item>", b"<rss>"
    ),
    "guids": repeated(b"<guid isPermaLink='false'>a</guid>", b"<rss><item>"),
    "an Atom feed": repeated(b"<entry><link rel='x' href='/'/></entry>", b"<feed>"),
    "octets": repeated(b"\x80", _OPEN),
    "octets and letters": repeated(b"\x80a", _OPEN),
    "UTF-16 that is none": repeated(b"\x00\xd8", b"\xff\xfe"),
    "Shift JIS that is none": repeated(
        b"\xff", b"<?xml version='1.0' encoding='shift_jis'?>" + _OPEN
    ),
    "gzip of spaces": _packed(repeated(b" ", _OPEN)),
    "gzip of comment lines": _packed(repeated(b"#\n", b"https://example.com/\n")),
    "gzip of gzip of nothing": _packed(repeated(gzip.compress(b"", mtime=0))),
    "gzip of gzip of letters": _packed(repeated(gzip.compress(b"a", mtime=0))),
    "damaged gzip": lambda size: gzip.compress(b"<" * size)[:-20] + b"\xff" * size,
}
# What a pattern could go back and forth over, in places where it might.
_PIECES = {
    "tags": ("<", "</", "<a", "<a>", "<url", "<url ", "<url>", "</url>", "<image>"),
    "names": ("a:", "<a:", "a=", 'a="', "\"'", "'> <", "<link a='\" ", " "),
    "markup": ("<!--", "<!---->", "-->", "<?", "<![CDATA[", "<![CDATA[]]>", "]]>"),
    "types": ("<!DOCTYPE", "<!DOCTYPE[", "&", "&a;", "%", "\n", "\r", "<url><loc>"),
}
_PLACES = {
    "in a list": (_OPEN, b""),
    "in a tag": (b"<urlset><url><a ", b"</url>"),
    "alone": (b"", b""),
}
for piece in chain.from_iterable(_PIECES.values()):
    for place, (before, after) in _PLACES.items():
        _BODIES[f"{piece!r} {place}"] = repeated(piece.encode(), before, after)

_PIECE = 65_536
_IN_STEPS = 0.1
"""Seconds for 100 KB: the sum of turns, of which none is longer than a block or fifty
entries.
"""


def _read(body, **limits):
    reader = sitemaps.SitemapReader("https://example.com/sitemap.xml", **limits)
    count = 0
    for start in range(0, len(body), _PIECE):
        count += sum(1 for _ in reader.feed(body[start : start + _PIECE]))
    return reader, count + sum(1 for _ in reader.close())


def _step(body):
    """Read in steps, all entries, as one who has others waiting."""
    reader = sitemaps.SitemapReader("https://example.com/sitemap.xml", max_entries=None)
    for start in range(0, len(body), _PIECE):
        reader.feed(body[start : start + _PIECE])
        while reader.step() is not None:
            pass
    reader.close()
    while reader.step() is not None:
        pass


ROWS = (
    Row("sitemaps.SitemapReader.feed", _read, _BODIES, bound=_IN_STEPS),
    Row("sitemaps.SitemapReader.step", _step, _BODIES, bound=_IN_STEPS),
    Row(
        "sitemaps.SitemapReader.problems",
        lambda reader: [str(problem) for problem in reader[0].problems],
        _BODIES,
        prepare=_read,
    ),
    Row(
        "sitemaps.http_url",
        lambda url: sitemaps.http_url("https://example.com/sitemap.xml", url),
        _URLS,
        prepare=bytes.decode,
    ),
)

NOT_FROM_OUTSIDE = {
    "sitemaps.SitemapReader.close": "measured with what it ends",
}
