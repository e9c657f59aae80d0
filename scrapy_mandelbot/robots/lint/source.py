"""What every check reads: the bytes as they came, and the numbered records of the lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from scrapy_mandelbot.robots.formatting import shown
from scrapy_mandelbot.robots.robotstxt.dialects import DIALECTS, documented
from scrapy_mandelbot.robots.robotstxt.grammar import clean_bytes
from scrapy_mandelbot.robots.robotstxt.records import Outline, read_outline, read_records

if TYPE_CHECKING:
    from scrapy_mandelbot.robots.robotstxt.records import Record

STANDARD = DIALECTS["mandelbot"]
"""Findings are for all robots; lines are read as Mandelbot and RFC 9309 read them."""
ABSOLUTE_URL = re.compile(r"https?://[^/?#\s]+(?:[/?#]\S*)?", re.IGNORECASE)


class LintHit(NamedTuple):
    """What a check yields: a row of the table, where, and the specifics."""

    code: str
    line: int | None
    message: str


Check = Iterator[LintHit]


class LintInput(NamedTuple):
    """A robots.txt to be checked."""

    octets: bytes
    """As fetched."""
    body: bytes
    """What of it is read: UTF-8 without a byte-order mark, up to the limit."""
    outline: Outline
    max_bytes: int | None
    is_html: bool


def read_source(octets: bytes, max_bytes: int | None) -> LintInput:
    """Read a file for the checks."""
    body = clean_bytes(octets, STANDARD, max_bytes)
    outline = read_outline(read_records(body, STANDARD), STANDARD)
    return LintInput(octets, body, outline, max_bytes, _is_html(body))


_HTML_SEEN = 2048  # bytes at the beginning that are searched for tags


def _is_html(body: bytes) -> bool:
    start = body[:_HTML_SEEN].lstrip().lower()
    return start.startswith((b"<!doctype html", b"<html", b"<head", b"<body", b"<?xml")) or (
        b"<html" in start
    )


_SHOWN = 60  # characters of a value in a message


def quoted(text: str) -> str:
    """Return a value for a message: in quotes, not too long, nothing unprintable."""
    return f'"{shown(text, _SHOWN)}"'


def field_of(record: Record) -> str:
    """Return a line's field for a message, as documents write it."""
    return documented(quoted(record.name)[1:-1].lower())
