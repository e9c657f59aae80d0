"""Sitemaps as they are found: broken files, what they list all the same, and what is
told of it.
"""

from __future__ import annotations

import codecs
import gzip
from dataclasses import dataclass

URL = "https://example.com/maps/sitemap.xml"
HEAD = b'<?xml version="1.0" encoding="UTF-8"?>\n'
OPEN = b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
END = b"</urlset>\n"


def url(number: int) -> bytes:
    return b"<url><loc>https://example.com/%d</loc></url>\n" % number


def around(broken: bytes) -> bytes:
    """Return a sitemap of two sound entries, 1 and 2, with something between them."""
    return HEAD + OPEN + url(1) + broken + url(2) + END


ONE_TWO = ("https://example.com/1", "https://example.com/2")


def with_one_between(*locs: str) -> tuple[str, ...]:
    return (ONE_TWO[0], *locs, ONE_TWO[1])


@dataclass(frozen=True)
class Broken:
    """A file, what it lists all the same, and what is said of it."""

    name: str
    body: bytes
    locs: tuple[str, ...]
    codes: tuple[str, ...] = ()
    kind: str = "urlset"


BROKEN = (
    # One entry.
    Broken(
        "a tag closed by another",
        around(b"<url><loc>/3</lo></url>"),
        with_one_between("https://example.com/3"),
        ("relative-loc",),
    ),
    Broken(
        "a tag not closed",
        around(b"<url><loc>https://example.com/3</url>"),
        with_one_between("https://example.com/3"),
    ),
    Broken(
        "no tag closed",
        around(b"<url><loc>https://example.com/3<lastmod>2020"),
        with_one_between("https://example.com/3"),
        ("not-closed",),
    ),
    Broken(
        "a tag not ended",
        around(b"<url><loc>https://example.com/3</loc<priority>1</priority></url>"),
        with_one_between("https://example.com/3"),
    ),
    Broken(
        "a tag not begun",
        around(b"<url>loc>https://example.com/3</loc></url>"),
        ONE_TWO,
        ("no-loc",),
    ),
    Broken(
        "an entry not begun", around(b"<loc>https://example.com/3</loc></url>"), ONE_TWO
    ),
    Broken(
        "no URL",
        around(b"<url><lastmod>2020-01-01</lastmod></url><url/><url><loc/></url>"),
        ONE_TWO,
        ("no-loc",),
    ),
    Broken(
        "several URLs",
        around(
            b"<url><loc>https://example.com/3</loc><loc>https://example.com/4</loc><image:loc>/i.png</image:loc><loc></loc><loc>"
            b" https://example.com/3 </loc></url>"
        ),
        with_one_between("https://example.com/3", "https://example.com/4"),
        ("several-locs",),
    ),
    Broken(
        "several URLs in an index",
        b"<sitemapindex><sitemap><loc>https://example.com/1</loc>"
        b"<loc>https://example.com/2</loc></sitemap></sitemapindex>",
        ONE_TWO,
        ("several-locs",),
        kind="index",
    ),
    Broken(
        "several URLs, one unreadable",
        around(b"<url><loc>http://[/</loc><loc>https://example.com/3</loc></url>"),
        with_one_between("https://example.com/3"),
        ("several-locs", "bad-loc"),
    ),
    Broken(
        "a URL without its tag",
        around(
            b"<url>"
            b" HTTPS://example.com/3\n</url><url>https://example.com/4<a/></url><url>x</url>"
        ),
        with_one_between("https://example.com/3", "https://example.com/4"),
        ("bare-loc", "no-loc"),
    ),
    Broken(
        "a URL without its tag in an index",
        b"<sitemapindex><sitemap>https://example.com/1</sitemap>"
        b"<sitemap>https://example.com/2<sitemap/></sitemapindex>",
        ONE_TWO,
        ("bare-loc", "not-closed", "no-loc"),
        kind="index",
    ),
    Broken(
        "an entry in a URL",
        around(b"<url><loc><url><![CDATA[https://example.com/3]]></url></loc></url>"),
        with_one_between("https://example.com/3"),
        ("not-closed", "no-loc", "bare-loc"),
    ),
    Broken("an empty URL", around(b"<url><loc> </loc></url>"), ONE_TWO, ("no-loc",)),
    Broken(
        "no readable URL",
        around(b"<url><loc>http://[/</loc></url><url><loc>http://a:b/</loc></url>"),
        ONE_TWO,
        ("bad-loc",),
    ),
    Broken(
        "schemes that are not the web's",
        around(
            b"".join(
                b"<url><loc>%s</loc></url>" % loc
                for loc in (
                    b"file:///etc/passwd",
                    b"javascript:alert(1)",
                    b"mailto:a@b",
                    b"ftp://a/b",
                )
            )
        ),
        ONE_TWO,
        ("bad-loc",),
    ),
    Broken(
        "a markup sign in the URL",
        around(b"<url><loc>https://example.com/3<4</loc></url>"),
        with_one_between("https://example.com/3"),
    ),
    Broken(
        "an image's URL astray",
        around(
            b"<url><image:loc>https://example.com/i.png</image:loc><loc>https://example.com/3</loc></url>"
        ),
        with_one_between("https://example.com/3"),
    ),
    Broken(
        "stray quotes",
        around(b'<url><loc id="a>https://example.com/3</loc></url>'),
        with_one_between("https://example.com/3"),
    ),
    Broken(
        "tags across one another",
        around(b"<url><a><b><loc>https://example.com/3</loc></a></b></url>"),
        ONE_TWO,
        ("no-loc",),
    ),
    Broken(
        "an image not closed",
        around(
            b"<url><loc>https://example.com/3</loc><image:image><image:loc>/i.png</url>"
        ),
        with_one_between("https://example.com/3"),
    ),
    # Characters.
    Broken(
        "bare ampersands",
        around(b"<url><loc>https://example.com/?a=1&b=2&copy=3&amp;d&</loc></url>"),
        with_one_between("https://example.com/?a=1&b=2&copy=3&d&"),
        ("ampersand",),
    ),
    Broken(
        "HTML's entities",
        around(b"<url><loc>https://example.com/caf&eacute;?a&nbsp;b</loc></url>"),
        with_one_between("https://example.com/caf%C3%A9?a%C2%A0b"),
    ),
    Broken(
        "entities that nobody defines",
        around(b"<url><loc>https://example.com/?a=1&lol;b</loc></url>"),
        with_one_between("https://example.com/?a=1&lol;b"),
    ),
    Broken(
        "references to no character",
        around(
            b"<url><loc>https://example.com/&#xD800;&#0;&#x110000;&#99999999;</loc></url>"
        ),
        with_one_between("https://example.com/%EF%BF%BD%EF%BF%BD%EF%BF%BD%EF%BF%BD"),
        (),
    ),
    Broken(
        "white space in a URL",
        around(b"<url><loc>\n\t https://example.com/a b\n </loc></url>"),
        with_one_between("https://example.com/a%20b"),
    ),
    Broken(
        "control characters",
        around(b"<url><loc>\x01https://example.com/\x02\x003\x00</loc>\x05</url>\x06"),
        with_one_between("https://example.com/%023"),
    ),
    Broken(
        "octets that are no UTF-8",
        around(b"<url><loc>https://example.com/\xe9\x81</loc></url>"),
        with_one_between("https://example.com/%C3%A9%EF%BF%BD"),
        ("not-utf8",),
    ),
    Broken(
        "a CDATA section",
        around(b"<url><loc><![CDATA[https://example.com/?a&b<c>&amp;]]></loc></url>"),
        with_one_between("https://example.com/?a&b%3Cc%3E&amp;"),
    ),
    Broken(
        "a CDATA section not closed",
        around(b"<url><loc><![CDATA[https://example.com/3</loc></url>"),
        with_one_between("https://example.com/3"),
    ),
    Broken(
        "a CDATA section that holds tags",
        around(
            b"<url><loc>https://example.com/3</loc><a><![CDATA[</url><url><loc>/no</loc></url>]]></a></url>"
        ),
        with_one_between("https://example.com/3"),
    ),
    Broken(
        "entries in comments",
        around(
            b"<!-- "
            + url(8)
            + b" --> <!----><!-- > -->"
            + b"<url><loc>https://<!-- x -->example.com/3</loc></url>"
        ),
        with_one_between("https://example.com/3"),
    ),
    Broken(
        "instructions", around(b"<?php echo '<url><loc>/no</loc></url>' ?>"), ONE_TWO
    ),
    Broken("blank lines first", b"\r\n \n" + around(b""), ONE_TWO, ("late-start",)),
    Broken(
        "complaints first",
        b"<br />\n<b>Warning</b>: x in <b>/a.php</b><br />\n" + around(b""),
        ONE_TWO,
        ("late-start",),
    ),
    Broken("no root", url(1) + url(2), ONE_TWO, ("no-root", "cut-off")),
    Broken(
        "another root",
        HEAD + b"<map>" + url(1) + url(2) + b"</map>",
        ONE_TWO,
        ("no-root", "cut-off"),
    ),
    Broken(
        "two files in one",
        around(b"").replace(url(2), b"") + HEAD + OPEN + url(2) + END,
        ONE_TWO,
    ),
    Broken("a declaration not closed", around(b"").replace(b"?>", b">"), ONE_TWO),
    Broken("no namespace", around(b"").replace(OPEN, b"<urlset>"), ONE_TWO),
    Broken(
        "a namespace of Google's",
        around(b"").replace(
            b"www.sitemaps.org/schemas/sitemap/0.9",
            b"www.google.com/schemas/sitemap/0.84",
        ),
        ONE_TWO,
    ),
    Broken(
        "a prefix",
        around(b"")
        .replace(b"<", b"<sm:")
        .replace(b"<sm:/", b"</sm:")
        .replace(b"<sm:?", b"<?"),
        ONE_TWO,
    ),
    Broken(
        "prefixes here and there",
        OPEN + url(1) + url(2).replace(b"url>", b"s:url>") + END,
        ONE_TWO,
    ),
    Broken(
        "upper case",
        around(b"").replace(b"url", b"URL").replace(b"loc>", b"LOC>"),
        ONE_TWO,
    ),
    Broken(
        "attributes",
        around(b"")
        .replace(b"<url>", b"<url id='1>2'\n>")
        .replace(b"<loc>", b'<loc a="b>c" >'),
        ONE_TWO,
    ),
    Broken(
        "an index of <url>",
        around(b"").replace(b"urlset", b"sitemapindex"),
        ONE_TWO,
        kind="index",
    ),
    Broken("no entries", HEAD + OPEN + END, ()),
    Broken("no entries, in short", HEAD + b"<urlset />", ()),
    # Cut off.
    Broken("cut between entries", OPEN + url(1) + url(2), ONE_TWO, ("cut-off",)),
    Broken(
        "cut in a URL", OPEN + url(1) + url(2) + url(3)[:-18], ONE_TWO, ("cut-off",)
    ),
    Broken("cut after a URL", OPEN + url(1) + url(2)[:-8], ONE_TWO, ("cut-off",)),
    Broken("cut in a tag", OPEN + url(1) + url(2)[:-3], ONE_TWO, ("cut-off",)),
    Broken(
        "cut in a comment",
        OPEN + url(1) + url(2) + b"<!-- " + url(3),
        ONE_TWO,
        ("open-section", "cut-off"),
    ),
    # Encodings.
    Broken("a byte-order mark", b"\xef\xbb\xbf" + around(b""), ONE_TWO),
    *(
        Broken(name, text.encode(name), ONE_TWO)
        for text in (around(b"").decode(),)
        for name in ("utf-16", "utf-16-le", "utf-16-be", "utf-32")
    ),
    Broken(
        "utf-32-be",
        codecs.BOM_UTF32_BE + around(b"").decode().encode("utf-32-be"),
        ONE_TWO,
    ),
    Broken(
        "an honest declaration",
        around("<url><loc>https://example.com/д</loc></url>".encode("cp1251")).replace(
            b"UTF-8", b"windows-1251"
        ),
        with_one_between("https://example.com/%D0%B4"),
    ),
    Broken(
        "Latin-1 that says UTF-8",
        around("<url><loc>https://example.com/é</loc></url>".encode("latin-1")),
        with_one_between("https://example.com/%C3%A9"),
        ("not-utf8",),
    ),
    Broken(
        "UTF-8 that says Latin-1",
        around("<url><loc>https://example.com/é</loc></url>".encode()).replace(
            b"UTF-8", b"ISO-8859-1"
        ),
        with_one_between("https://example.com/%C3%A9"),
    ),
    Broken(
        "UTF-8 that says UTF-16",
        around(b"").replace(b"UTF-8", b"UTF-16"),
        ONE_TWO,
        ("encoding",),
    ),
    Broken(
        "an encoding that is none",
        around(b"").replace(b"UTF-8", b"UTF8-bogus"),
        ONE_TWO,
        ("encoding",),
    ),
    Broken(
        "a codec that is no encoding",
        around(b"").replace(b"UTF-8", b"unicode_escape"),
        ONE_TWO,
        ("encoding",),
    ),
    # Text.
    Broken(
        "a list with a mark, a comment and junk",
        b"\xef\xbb\xbf# ours\r\nhttps://example.com/1\r\n\r\n "
        b" https://example.com/2\t\r\nexample.com/3\r\n",
        ONE_TWO,
        ("not-a-url",),
        kind="text",
    ),
    Broken(
        "a list with the line ends of old",
        b"https://example.com/1\rhttps://example.com/2\r",
        ONE_TWO,
        kind="text",
    ),
    Broken(
        "a list in UTF-16",
        "https://example.com/1\nhttps://example.com/2".encode("utf-16"),
        ONE_TWO,
        kind="text",
    ),
    Broken(
        "a list with ampersands",
        b"https://example.com/1?a=1&amp;b\nhttps://example.com/2?a=1&b",
        ("https://example.com/1?a=1&amp;b", "https://example.com/2?a=1&b"),
        kind="text",
    ),
    # Feeds.
    Broken(
        "a feed not closed",
        b"<rss><channel><item><link>/1</link><item><link>/2",
        ("https://example.com/1",),
        ("not-closed", "relative-loc", "cut-off"),
        kind="rss",
    ),
    Broken(
        "a feed of another's links",
        b"<rss><channel><item><atom:link"
        b' href="/1"/></item><item><x:link>/no</x:link><link>https://example.com/2</link></item></channel></rss>',
        ONE_TWO,
        ("relative-loc",),
        kind="rss",
    ),
    Broken(
        "an entry with no link",
        b"<feed><entry><id>x</id><link rel='edit' href='/e'/></entry><entry><link"
        b" href=/1 /></entry><entry><link"
        b" href='https://example.com/2'/></entry></feed>",
        ONE_TWO,
        ("no-loc", "relative-loc"),
        kind="atom",
    ),
    # Packed.
    Broken("packed twice", gzip.compress(gzip.compress(around(b""))), ONE_TWO),
    Broken(
        "in two members and padded",
        gzip.compress(around(b"")[:99]) + gzip.compress(around(b"")[99:]) + bytes(512),
        ONE_TWO,
    ),
    Broken(
        "followed by something",
        gzip.compress(around(b"")) + b"\0\0<html>",
        ONE_TWO,
        ("gzip-followed",),
    ),
    Broken(
        "cut in the packing", gzip.compress(around(b""))[:-8], ONE_TWO, ("gzip-cut",)
    ),
    Broken(
        "cut in the packing's head",
        gzip.compress(around(b""))[:5],
        (),
        ("gzip-cut", "empty"),
        kind="unknown",
    ),
    Broken(
        "a wrong checksum",
        gzip.compress(around(b""))[:-8] + b"\0" * 8,
        ONE_TWO,
        ("gzip-damaged",),
    ),
    Broken(
        "no packing behind its magic",
        b"\x1f\x8bnothing",
        (),
        ("gzip-damaged", "empty"),
        kind="unknown",
    ),
    Broken(
        "packed without end",
        gzip.compress(gzip.compress(gzip.compress(gzip.compress(around(b""))))),
        (),
        ("gzip-nested", "empty"),
        kind="unknown",
    ),
    # What is no sitemap.
    Broken("nothing", b"", (), ("empty",), kind="unknown"),
    Broken("white space", b" \r\n\n", (), ("empty",), kind="unknown"),
    Broken(
        "a page",
        b"<!DOCTYPE html>\n<html><body><p>Not found",
        (),
        ("html",),
        kind="unknown",
    ),
    Broken(
        "a page without a type",
        b"\n<!-- x --><HTML lang='en'><p>No".ljust(99, b" "),
        (),
        ("html",),
        kind="unknown",
    ),
    Broken("words", b"404 page not found\n", (), ("not-a-sitemap",), kind="unknown"),
    Broken(
        "other XML",
        HEAD + b"<Error><Code>AccessDenied</Code></Error>",
        (),
        ("not-a-sitemap",),
        kind="unknown",
    ),
    Broken(
        "JSON",
        b'{"url": "https://example.com/1"}',
        (),
        ("not-a-sitemap",),
        kind="unknown",
    ),
    Broken(
        "a picture",
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0",
        (),
        ("not-utf8", "not-a-sitemap"),
        kind="unknown",
    ),
)
