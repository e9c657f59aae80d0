"""What holds for any bytes, in any pieces."""

from __future__ import annotations

import gzip
import json
from unittest.mock import patch

import lxml.etree
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from w3lib.url import safe_url_string

from mandelbot import SitemapReader
from mandelbot.sitemaps import formats, reader, unpacking
from mandelbot.sitemaps.problems import MESSAGES, Problems

URL = "https://example.com/sitemap.xml"

# Everything that has a meaning, so that it meets in every order.
PIECES = [
    *(
        b"<urlset>",
        b"</urlset>",
        b"<sitemapindex>",
        b"<rss>",
        b"<feed>",
        b"<html>",
        b"<urlset/>",
    ),
    *(
        b"<url>",
        b"<url>",
        b"</url>",
        b"</url>",
        b"<sitemap>",
        b"<item>",
        b"<entry>",
        b"<a:url>",
    ),
    *(
        b"<loc>",
        b"<loc>",
        b"</loc>",
        b"</loc>",
        b"<link>",
        b"<link href='/b' rel=alternate/>",
    ),
    *(
        b"http://a/b",
        b"/c",
        b"http://[",
        b"file:///",
        b"<lastmod>2020-01-01</lastmod>",
        b"<lastmod>",
    ),
    *(
        b"9999-12-31T23:59:59-10:00",
        b"<priority>",
        b"nan",
        b"<changefreq>daily</changefreq>",
    ),
    *(
        b"<image:image>",
        b"<image:loc>",
        b"</image:image>",
        b"<video>",
        b"<a b='c>",
        b"<x/>",
    ),
    *(
        b"<!--",
        b"-->",
        b"<![CDATA[",
        b"]]>",
        b"<!DOCTYPE x [",
        b"<!ENTITY e 'f'>",
        b"]>",
        b"&e;",
    ),
    *(
        b"<?xml version='1.0' encoding='",
        b"utf-16",
        b"big5",
        b"'?>",
        b"&amp;",
        b"&",
        b"&#55555;",
    ),
    *(
        b"\xff",
        b"\xe9",
        b"\0",
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b"\x1f\x8b",
        b"\r\n",
        b"\n",
        b"\r",
    ),
    *(b" ", b"<", b">", b"/", b"'", b'"', b"http://a/d\n", b"# e\n", b"a", b":"),
]
soups = st.lists(st.sampled_from(PIECES), max_size=40).map(b"".join)


@st.composite
def packed(draw):
    """Gzip data: several members, damaged, cut off, followed by anything."""
    body = b"".join(map(gzip.compress, draw(st.lists(soups, min_size=1, max_size=3))))
    body += draw(st.sampled_from([b"", b"", b"\0\0", b"\x1f", b"\x1f\x8b", b"junk"]))
    at = draw(st.integers(0, len(body) - 1))
    change = draw(st.sampled_from(["none", "none", "cut", "damage", "again"]))
    changed = {"cut": body[:at], "damage": body[:at] + b"\x55" + body[at + 1 :]}
    return gzip.compress(body) if change == "again" else changed.get(change, body)


bodies = st.one_of(soups, soups, packed(), st.binary(max_size=100))
sizes = st.lists(st.integers(0, 70), max_size=30)


def read(body: bytes, sizes: list[int] = (), **limits: int | None):
    """Return all that a reader says of a body that is fed in pieces of these sizes."""
    one = SitemapReader(URL, **limits)
    entries = []
    for size in sizes:
        entries += one.feed(body[:size])
        body = body[size:]
    entries += [*one.feed(body), *one.close()]
    return entries, one.kind, one.problems, one.stopped


@settings(max_examples=examples(1500))
@given(body=bodies, sizes=sizes, block=st.sampled_from([16, 100, 65_536]))
def test_any_pieces_give_the_same(body, sizes, block):
    """Entries, kind and problems depend on the bytes alone, and whatever they are, none
    raise.
    """
    limits = {"max_bytes": 1500, "max_entries": 8, "max_entry_length": 200}
    with patch.object(unpacking, "BLOCK", block):
        whole = read(body, **limits)
        assert read(body, sizes, **limits)[:3] == whole[:3]
    entries, kind, problems, _ = whole
    assert len(entries) <= 8
    assert kind in {form.kind for form in formats.FORMATS} | {"text", "unknown"}
    assert all(problem.code in MESSAGES and str(problem) for problem in problems)
    for entry in entries:
        assert entry.loc.startswith(("http://", "https://"))
        assert json.loads(json.dumps(entry.extensions)) == entry.extensions


@settings(max_examples=examples(300))
@given(
    parts=st.lists(st.tuples(st.binary(max_size=9), st.integers(1, 90)), max_size=4),
    block=st.sampled_from([2, 7, 16]),
)
def test_what_was_packed_is_unpacked(parts, block):
    """Sound gzip data come out as they went in, whole, wherever the blocks end."""
    members = [octets * times for octets, times in parts]
    problems = Problems()
    with patch.object(unpacking, "BLOCK", block):
        inbox = unpacking.Inbox()
        inbox.put(b"".join(map(gzip.compress, [b"<", *members])))
        inbox.close()
        unpacker = unpacking.Unpacker(inbox, 10**6, problems)
        found = b""
        while not unpacker.ended:
            found += unpacker.read()
    assert found == b"".join([b"<", *members])
    assert not problems.found()


@settings(max_examples=examples(300))
@given(body=soups, max_bytes=st.integers(1, 300))
def test_what_is_cut_off_lists_nothing_else(body, max_bytes):
    """A file cut off at any byte lists what the whole one lists, from the first, and no
    more.
    """
    body = b"<urlset>" + body.replace(b"<!--", b"").replace(b"<![CDATA[", b"")
    whole = [entry.loc for entry in read(body)[0]]
    cut = [entry.loc for entry in read(body, max_bytes=max_bytes)[0]]
    assert cut == whole[: len(cut)]


# Well-formed sitemaps, against what an XML parser makes of them.

words = st.text("aé&<>\"' ]é/-日", max_size=6)
paths = st.text("ab/é&?=日", min_size=1, max_size=8)
comments = st.sampled_from(
    ["", "", "<!-- <url><loc>/no</loc></url> -->", "<?php no ?>", "\n  "]
)
prefixes = st.sampled_from(["", "", "s:", "sm-1:"])


@st.composite
def escaped(draw, text):
    """The text, escaped in one of the ways that XML has."""
    way = draw(st.sampled_from(["entity", "decimal", "hexadecimal", "section"]))
    if way == "section" and "]]>" not in text:
        return f"<![CDATA[{text}]]>"
    if way == "decimal":
        return "".join(f"&#{ord(char)};" if char in "&<>é" else char for char in text)
    if way == "hexadecimal":
        return "".join(
            f"&#x{ord(char):x};" if char in "&<>日" else char for char in text
        )
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


@st.composite
def sitemaps(draw):
    """A sitemap as it may be written by who knows how."""
    prefix = draw(prefixes)
    pad = draw(st.sampled_from(["", "\n", "  \r\n\t"]))
    parts = []
    for _ in range(draw(st.integers(0, 6))):
        fields = [
            (
                f"<{prefix}loc>{pad}"
                f"{draw(escaped('http://a.b/' + draw(paths)))}</{prefix}loc>"
            )
        ]
        for name in draw(
            st.lists(st.sampled_from(["lastmod", "news", "own"]), unique=True)
        ):
            text = draw(escaped(draw(words)))
            fields += [f"<{prefix}{name}>{text}</{prefix}{name}>"]
        fields = [text + draw(comments) for text in draw(st.permutations(fields))]
        parts.append(
            f"{draw(comments)}<{prefix}url>{pad}{pad.join(fields)}</{prefix}url>{pad}"
        )
    name = f' xmlns{":" if prefix else ""}{prefix.rstrip(":")}="http://www.sitemaps.org/schemas/0.9"'
    return f"<{prefix}urlset{name}>{''.join(parts)}{draw(comments)}</{prefix}urlset>"


def parsed(body: bytes) -> list[dict[str, str]]:
    """Return what lxml reads: for each entry its fields by name."""
    parser = lxml.etree.XMLParser(
        remove_comments=True, remove_pis=True, strip_cdata=True
    )
    return [
        {
            lxml.etree.QName(field).localname: (field.text or "").strip()
            for field in entry
        }
        for entry in lxml.etree.fromstring(body, parser)
    ]


@settings(max_examples=examples(400))
@given(
    text=sitemaps(),
    encoding=st.sampled_from(["utf-8", "utf-16", "utf-8-sig"]),
    block=st.sampled_from([80, 128, 200, 65_536]),
)
def test_a_sound_sitemap_means_what_an_xml_parser_reads(text, encoding, block):
    """However it is written, wherever blocks end, fields are those that lxml finds."""
    body = text.encode(encoding)
    with (
        patch.object(unpacking, "BLOCK", block),
        patch.object(reader, "SNIFFED", 65_536),
    ):
        entries, kind, problems, _ = read(body)
    assert kind == "urlset"
    assert {problem.code for problem in problems} <= {"bad-lastmod"}
    assert [
        (entry.loc, entry.lastmod_text, entry.extensions.get("own", ""))
        for entry in entries
    ] == [
        (
            safe_url_string(fields["loc"]),
            fields.get("lastmod", ""),
            fields.get("own", ""),
        )
        for fields in parsed(body)
    ]
