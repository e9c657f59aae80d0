"""Reads the URLs of sitemaps, also where a line has more or less than one."""

from __future__ import annotations

import re

from mandelbot.robotstxt.dialects import FIELDS
from mandelbot.robotstxt.grammar import decode, numbered, searchable

_AROUND = "<>\"'`“”‘’«»\u200b\u2060\ufeff"  # noqa: RUF001 -- quotes of other scripts
_URL = re.compile(r"https?://[^\s,<>\"']+", re.IGNORECASE)
_SEPARATOR = re.compile(r"[\s,;]+")
_LINK = re.compile(r"\[[^\[\]]*\]\((https?://[^\s()]+)\)", re.IGNORECASE)  # of Markdown
#: A line end that was lost before the next line, whose field stands at the end of the
#: URL, or whose URL does.
_GLUED = re.compile(
    rf"(\.(?:gz|txt|xml))(?:(?:{'|'.join(FIELDS)})[ \t]*:|(?=https?://))", re.IGNORECASE
)
#: A line without the field or its colon, with another sign for that, or with Sitemaps.
_BARE = re.compile(
    r"[\r\n][ \t]*"
    r"(?P<field>(?:(?:sitemaps|site-maps?)[ \t]*:|site-?maps?(?:[ \t]*[=;]|[ \t]))"
    r"[ \t]*)?"
    r"(?P<url>https?://[^\s#]+)"
    r"[ \t]*(?=[\r\n#]|\Z)",
    re.ASCII | re.IGNORECASE,
)


def urls_of(value: str) -> tuple[str, ...]:
    """Return the URLs of a Sitemap line: the value as written if none is evident.

    Evident are whole URLs in quotes or angle brackets or as a link of Markdown, and
    several with commas or blanks between them, or a comma or semicolon at the end. Of
    lines without a line end between them, the URLs count.
    """
    lines = _GLUED.split(value)
    if len(lines) > 1:
        return _of_lines(lines, value)
    if value.isascii() and _URL.fullmatch(value) and value[-1] != ";":
        return (value,)
    link = _LINK.fullmatch(value)
    if link is not None:
        return (link[1],)
    parts = [part.strip().strip(_AROUND) for part in _SEPARATOR.split(value.strip())]
    parts = [part for part in parts if part]
    if parts and all(map(_URL.fullmatch, parts)):
        return tuple(parts)
    return (value,)


def _of_lines(pieces: list[str], value: str) -> tuple[str, ...]:
    """Return the URLs of what `_GLUED` split: beginnings, each before its ending."""
    urls = []
    for place in range(0, len(pieces), 2):
        url = "".join(pieces[place : place + 2]).strip()
        if _URL.fullmatch(url):
            urls.append(url)
    return tuple(urls) or (value,)


def bare_urls(body: bytes) -> list[tuple[int, str]]:
    """Return number and URL of the lines that name a sitemap without the field.

    crawler-commons reads such lines, too: real files have them.
    """
    text = searchable(body)
    return [
        (number, decode(line["url"]))
        for number, line in numbered(text, _BARE.finditer(text))
        if line["field"] or _is_named_so(line["url"])
    ]


def _is_named_so(url: str) -> bool:
    """Whether the last part of a URL says that it is a sitemap."""
    name = url.rpartition("/")[2].lower()
    return name.endswith((".xml", ".xml.gz")) or "sitemap" in name
