"""Checks of the file as bytes: what it is, how long, how encoded, how its lines end."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scrapy_mandelbot.robotstxt.lint.source import Found, quoted
from scrapy_mandelbot.robotstxt.records import RecordProblem

if TYPE_CHECKING:
    from scrapy_mandelbot.robotstxt.lint.source import Check, Source
    from scrapy_mandelbot.robotstxt.records import Record

GOOGLES_LINE = 16_663
"""Bytes of a line that Google's parser reads."""

_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_SEPARATOR = re.compile("[\v\f\x85\u2028\u2029]")


def check_octets(source: Source) -> Check:
    """What is wrong with the file as a whole."""
    octets, body = source.octets, source.body
    if source.is_html:
        yield Found("html-page", 1, f"The file is a web page, it begins with {_beginning(body)}.")
    elif not any(record.field for record in source.outline.records):
        yield Found("empty-file", None, "There is no directive in the file.")
    if octets.startswith(b"\xef\xbb\xbf"):
        yield Found("byte-order-mark", 1, "The file begins with the byte-order mark of UTF-8.")
    elif octets.startswith((b"\xff\xfe", b"\xfe\xff")):
        yield Found("utf-16", 1, "The file begins with the byte-order mark of UTF-16.")
    if source.max_bytes is not None and len(octets) > source.max_bytes:
        read = len(source.outline.records)
        message = f"Of {len(octets)} bytes {source.max_bytes} are read: nothing after line {read}."
        yield Found("too-large", read or None, message)
    yield from _check_line_ends(body)


def _beginning(body: bytes) -> str:
    return quoted(body.lstrip()[:40].decode("utf-8", "replace").splitlines()[0])


def _check_line_ends(body: bytes) -> Check:
    both = body.count(b"\r\n")
    counts = {
        "CR LF": both,
        "LF": body.count(b"\n") - both,
        "CR": body.count(b"\r") - both,
    }
    used = [f"{count} with {end}" for end, count in counts.items() if count]
    if len(used) > 1:
        yield Found("mixed-line-ends", None, f"Lines end in several ways: {', '.join(used)}.")
    elif counts["CR"]:
        yield Found("carriage-returns", None, "All lines end with CR alone.")


def check_characters(record: Record, source: Source) -> Check:
    """What is wrong with the characters of a line."""
    number, raw = record.number, record.raw
    if len(raw) > GOOGLES_LINE // 4:  # a character has up to four octets, an escape has three
        size = len(raw.encode("utf-8", "surrogatepass"))
        if size > GOOGLES_LINE:
            yield Found("long-line", number, f"The line has {size} bytes.")
    if RecordProblem.NOT_UTF8 in record.problems:
        yield Found(
            "not-utf-8", number, f"The line holds octets that are not UTF-8: {quoted(raw)}."
        )
    if raw.isprintable() or source.is_html:
        return
    control = _CONTROL.search(raw)
    if control:
        yield Found("control-character", number, f"There is a character {quoted(control[0])}.")
    separator = _SEPARATOR.search(raw.strip("\v\f"))
    if separator:
        message = f"There is {quoted(separator[0])} in the line, which ends no line."
        yield Found("odd-line-end", number, message)
