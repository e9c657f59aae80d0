"""Finds the meta tags in the head of an HTML page without building a tree.

Source: HTML (WHATWG), sections 13.2.5 "Tokenization" and 13.2.6.4 "The rules for
parsing tokens in HTML content", as far as they concern the head.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from functools import lru_cache
from html import unescape
from typing import NamedTuple

from mandelbot.robotstxt.agents import header_text

HEAD_LIMIT = 262_144
"""Bytes of a page that are searched: 256 KiB, unless its head ends earlier."""
CONTENT_LIMIT = 4_096
"""Characters of a tag's content that are read."""
METAS_LIMIT = 100
"""Meta tags for the robot that are read of a page."""


class Meta(NamedTuple):
    """A ``<meta name=… content=…>``."""

    name: str
    """In lower case, stripped."""
    content: str
    line: int
    """From 1."""


def meta_tags(body: bytes, names: frozenset[str]) -> tuple[Meta, ...]:
    """Return the meta tags in a page's head with these lower-case names, in order.

    As in browsers, the head extends to the first tag that is invalid in a head;
    misplaced text does not end it. Comments, scripts, styles, titles, ``<noscript>``
    and ``<template>`` contain no markup. At most :data:`METAS_LIMIT` tags in the first
    :data:`HEAD_LIMIT` bytes are returned.
    """
    page = _as_ascii_shows_it(body)
    patterns = patterns_for(names)
    last = _last_mention(page, patterns)
    if last < 0:
        return ()
    found: list[Meta] = []
    line = 1
    counted = 0
    for position, attributes in metas_of(page[:HEAD_LIMIT], worth_reading(names), last):
        name = _text(attributes.get(b"name", b"")).strip().lower()
        if name in names and b"content" in attributes:
            line += page.count(b"\n", counted, position)
            counted = position
            found.append(
                Meta(name, _text(attributes[b"content"])[:CONTENT_LIMIT], line)
            )
            if len(found) == METAS_LIMIT:
                break
    return tuple(found)


class LicenseLink(NamedTuple):
    """A ``<link rel=license href=…>``."""

    href: str
    """As written."""
    line: int


def license_links(body: bytes) -> tuple[LicenseLink, ...]:
    """Return the licence links in a page's first :data:`HEAD_LIMIT` bytes, in order.

    Source: HTML (WHATWG), section 4.6.7.7 'Link type "license"'; RSL 1.0, "Adding RSL
    to web pages". People judge them, so links in comments and scripts are included. At
    most :data:`METAS_LIMIT` are returned.
    """
    # as in UTF-16
    if b"icense" not in body and b"ICENSE" not in body and b"\0" not in body:
        return ()
    page = _as_ascii_shows_it(body)[:HEAD_LIMIT]
    found: list[LicenseLink] = []
    position = 0
    while len(found) < METAS_LIMIT and (tag := _LINK.search(page, position)):
        attributes, position = _attributes(page, tag.end())
        if position < 0:
            break
        href = _text(attributes.get(b"href", b"")).strip()[:CONTENT_LIMIT]
        if href and "license" in _text(attributes.get(b"rel", b"")).lower().split():
            found.append(LicenseLink(href, page.count(b"\n", 0, tag.start()) + 1))
    return tuple(found)


# Nearly all encodings write markup as ASCII does. UTF-16 shows by a byte-order mark, or
# by zeros in the upper halves of its first markup; the Content-Type header adds
# nothing.
_UTF_16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_BYTE_ORDER_MARKS = tuple(_UTF_16)
_FIRST_MARKUP = 64  # bytes
_FEW_ZEROS = 16  # of these
_ESCAPE = b"\x1b"
_TO_JIS = re.compile(rb"\x1b\$[@B]")
"""ISO-2022-JP: up to the next escape, ASCII bytes such as "<" are parts of characters.
"""
_FIRST_TEXT = 16_384  # bytes within which a page in ISO-2022-JP shows Japanese text


def _as_ascii_shows_it(body: bytes) -> bytes:
    """Encode the page anew, so that its markup is ASCII."""
    if body.startswith(_BYTE_ORDER_MARKS):
        return _recoded(body, _UTF_16[body[:2]])
    if body.count(b"\0", 0, _FIRST_MARKUP) > _FEW_ZEROS:
        return _recoded(body, "utf-16-le" if body.find(b"\0") % 2 else "utf-16-be")
    if body.find(_ESCAPE, 0, _FIRST_TEXT) >= 0 and _TO_JIS.search(body, 0, _FIRST_TEXT):
        return _recoded(body, "iso2022_jp")
    return body


def _recoded(body: bytes, encoding: str) -> bytes:
    return body[:HEAD_LIMIT].decode(encoding, "replace").encode("utf-8", "replace")


_COMMENT_END = re.compile(rb"--!?>")
_CONTENT_END = {
    name: re.compile(rb"</" + name + rb"[\t\n\f\r />]", re.IGNORECASE)
    for name in (b"script", b"style", b"title", b"noscript", b"noframes", b"template")
} | {b"!--": _COMMENT_END}
"""Elements of a head whose content is no markup, and where each ends."""
_IN_HEAD = frozenset(
    {b"html", b"head", b"base", b"basefont", b"bgsound", b"link", b"meta"}
    | _CONTENT_END.keys()
)
"""Tags that do not end the head."""


# The cheap test: a page without the names in its meta tags costs one search for "<",
# which skips scripts and styles of any length at the speed of memchr.

_FOREIGN_META = rb"""
    (?:  # the beginning of an irrelevant tag, as nearly all are
        name=["']? [^"'&>%(initials)b\x00-\x20\x7f-\xff]
        | name="(?!(?i:%(names)b)) [a-z0-9] [^"&]* "
        | (?:property|charset|itemprop|http-equiv)="[^"]*"
            (?:\s+content="[^"]*")? \s*/?>
    )
"""
_LANDMARK = rb"""
    <(?=[mbsnt!/][echiot-])  # first of all: most tags are none of these
    (?:
        meta (?![\t\n\ ]%(foreign)b) [\s/]+
        (?P<meta> [^>"']* (?: (?:"[^"]*"|'[^']*') [^>"']* )* )
        | (?P<hiding>  # elements that end before another "<", as most do, hide nothing
            (?P<name>script|style|title|noscript|noframes|template)(?=[\s/>])
              (?![^<]{0,2000}</(?P=name)[\s/>])
            | !-- (?![^>]{0,200}>(?<=-->))
        )
        | (?P<end>
            body[\s/>]
            | /head\s*>\s*< (?! (?:%(in_head)b) \b ) [a-z]
        )
    )
"""
# the beginning of a name, and an escape
_ESCAPED_NAME = rb"name\s*=\s*[\"']?[^\"'\s>&]{0,%d}&"
_MOST_MENTIONS = 2 * METAS_LIMIT  # tags; some only look as if they had a name
_MOST_SPACE = 100  # before "<body"; more would only cost time


class _Patterns(NamedTuple):
    names: tuple[bytes, ...]
    escaped: re.Pattern[bytes]
    landmark: re.Pattern[bytes]


@lru_cache(maxsize=256)
def patterns_for(names: frozenset[str]) -> _Patterns:
    """Return the expressions by which a page is seen to have tags of these names."""
    octets = _octets(names)
    words = {
        b"foreign": _foreign_meta(octets),
        b"in_head": b"|".join(sorted(_IN_HEAD)),
    }
    return _Patterns(
        octets,
        re.compile(_ESCAPED_NAME % max(map(len, octets))),
        re.compile(_LANDMARK % words, re.IGNORECASE | re.VERBOSE),
    )


@lru_cache(maxsize=256)
def worth_reading(names: frozenset[str]) -> re.Pattern[bytes]:
    """Return the expression for the tags to read in a page that mentions a name."""
    words = {b"foreign": _foreign_meta(_octets(names))}
    return re.compile(_WORTH_READING % words, re.VERBOSE)


def _octets(names: frozenset[str]) -> tuple[bytes, ...]:
    return tuple(sorted(name.encode(errors="replace") for name in names))


def _foreign_meta(octets: tuple[bytes, ...]) -> bytes:
    words = {
        b"names": b"|".join(map(re.escape, octets)),
        b"initials": b"".join(
            re.escape(name[:1] + name[:1].upper()) for name in octets
        ),
    }
    return _FOREIGN_META % words


def _last_mention(page: bytes, patterns: _Patterns) -> int:
    """Return the end of the head's last meta tag that may have a name, or -1.

    The head ends at ``<body>``, or where other markup follows ``</head>``, outside of
    comments and scripts. (A page with these in the value of an attribute, after a tag,
    is misread.) Of more tags than are read, which one is the last decides nothing:
    :data:`HEAD_LIMIT` then.
    """
    last = -1
    mentions = 0
    shown_from = 0
    for found in patterns.landmark.finditer(page, 0, HEAD_LIMIT):
        kind = found.lastgroup
        start = found.start()
        if kind == "meta":
            if _may_name(found["meta"], patterns):
                last = found.end()
                mentions += 1
                if mentions > _MOST_MENTIONS:
                    return HEAD_LIMIT
        elif start < shown_from:
            continue
        elif kind == "hiding":
            end = _CONTENT_END[found["hiding"].lower()].search(page, start, HEAD_LIMIT)
            shown_from = end.start() if end else HEAD_LIMIT
        elif page[max(0, start - _MOST_SPACE) : start].rstrip().endswith(b">"):
            break
    return last


def _may_name(text: bytes, patterns: _Patterns) -> bool:
    """False is certain: the text of meta tags has none of the names."""
    text = text.lower()
    for name in patterns.names:  # any() would take three times as long
        if name in text:
            return True
    return patterns.escaped.search(text) is not None


# The scanner.

_SPACE = rb"[\t\n\f\r ]"
_TAG = re.compile(rb"<(/?)([a-z][^\t\n\f\r />]*)", re.IGNORECASE)
_ATTRIBUTE = re.compile(
    rb"[\t\n\f\r /]*([^\t\n\f\r />][^\t\n\f\r />=]*)"
    rb"(?:" + _SPACE + rb"*=" + _SPACE + rb"*"
    rb"(?:\"([^\"]*)\"?|'([^']*)'?|([^\t\n\f\r >\"'][^\t\n\f\r >]*)|(?=>)))?"
)
# Tags to parse attribute by attribute. Irrelevant tags in their usual form are skipped:
# their end is clear without that. A double quote opens a value only after "=", so after
# any other quote no value is open.
_WORTH_READING = rb"""
    <(?=[A-Za-z/!?])(?!
        (?: meta(?=[\t\n\ ]%(foreign)b)
            | link
            | (?P<name>script|style|title)(?=[^<]{0,2000}</(?P=name)[\s/>])
            | /(?:script|style|title|head)
            | head | html | base | !DOCTYPE | !doctype
        )
        (?=[\t\n\f\r\ />]) (?![^<]*')
        (?: [^<"]* > | [^<]* "(?<=[^=\s"]") [^<"]* > )
        | !-- [^<>]* (?<=--) >
    )
"""
_TAG_END = re.compile(rb"[\t\n\f\r /]*>")

_LINK = re.compile(rb"<link(?=[\t\n\f\r /])", re.IGNORECASE)
_TEMPLATE = re.compile(rb"<(/?)template[\t\n\f\r />]", re.IGNORECASE)


def metas_of(
    page: bytes, tags: re.Pattern[bytes], last: int = HEAD_LIMIT
) -> Iterator[tuple[int, dict[bytes, bytes]]]:
    """Yield position and attributes of the head's meta tags that begin before `last`.

    They include all tags with one of the names; `tags`: what `worth_reading` returns.
    """
    position = 0
    while found := tags.search(page, position, last):
        position = found.start()
        tag = _TAG.match(page, position)
        if tag is None:
            position = _after_other(page, position)
            continue
        is_end = bool(tag[1])
        name = tag[2].lower()
        if name not in _IN_HEAD and not (
            is_end and name not in {b"body", b"html", b"br"}
        ):
            return
        attributes, after = _attributes(page, tag.end())
        if after < 0:
            return
        if name == b"meta" and not is_end:
            yield position, attributes
        position = after if is_end else _after_content(page, name, after)
        if position < 0:
            return


def _after_other(page: bytes, position: int) -> int:
    """Skip a comment, a doctype, a processing instruction or a lone "<"."""
    if page.startswith(b"<!--", position):
        # "<!-->" and "<!--->" are whole comments.
        end = _COMMENT_END.search(page, position + 2)
        return end.end() if end else len(page)
    if page[position + 1 : position + 2] in {b"!", b"?", b"/"}:
        end_at = page.find(b">", position)
        return end_at + 1 if end_at >= 0 else len(page)
    return position + 1


def _attributes(page: bytes, position: int) -> tuple[dict[bytes, bytes], int]:
    """Return a tag's attributes and its end, which is negative if it is missing.

    The first of equal attributes counts (13.2.5.33).
    """
    attributes: dict[bytes, bytes] = {}
    while (end := _TAG_END.match(page, position)) is None:
        attribute = _ATTRIBUTE.match(page, position)
        if attribute is None:
            return attributes, -1
        name, double, single, bare = attribute.groups()
        attributes.setdefault(name.lower(), double or single or bare or b"")
        position = attribute.end()
    return attributes, end.end()


def _after_content(page: bytes, name: bytes, position: int) -> int:
    """Skip an element's content that is no markup; negative: its end is missing."""
    if name != b"template":
        if name not in _CONTENT_END:
            return position
        end = _CONTENT_END[name].search(page, position)
        return end.start() if end else -1
    depth = 1  # templates may be nested
    while depth:
        tag = _TEMPLATE.search(page, position)
        if tag is None:
            return -1
        depth += -1 if tag[1] else 1
        position = tag.end() - 1
    return position


_MOST_ESCAPED = 12  # characters of one reference, such as "&#x0010FFFF;"


def _text(value: bytes) -> str:
    text = header_text(value[: _MOST_ESCAPED * CONTENT_LIMIT])
    try:
        return unescape(text)
    except ValueError:  # a reference with too many digits for Python
        return text
