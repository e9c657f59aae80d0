"""Checks of the file as bytes: what it is, how long, how encoded, how its lines end."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scrapy_mandelbot.robotstxt.dialects import FIELDS
from scrapy_mandelbot.robotstxt.lint.source import Found, quoted
from scrapy_mandelbot.robotstxt.records import RecordProblem

if TYPE_CHECKING:
    from scrapy_mandelbot.robotstxt.lint.source import Check, Source
    from scrapy_mandelbot.robotstxt.records import Record

GOOGLES_LINE = 16_663
"""Bytes of a line that Google's parser reads."""

_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_SEPARATOR = re.compile("[\v\f\x85\u2028\u2029]")


#: What files begin with that are no text, by what they are; UTF-32 before UTF-16, which begins
#: like it.
_KINDS = {
    b"\xff\xfe\0\0": "UTF-32",
    b"\0\0\xfe\xff": "UTF-32",
    b"\x1f\x8b": "a gzip file",
    b"\x28\xb5\x2f\xfd": "a zstd file",
    b"PK\x03\x04": "a zip file",
    b"\x89PNG": "a PNG image",
    b"GIF8": "a GIF image",
    b"\xff\xd8\xff": "a JPEG image",
    b"RIFF": "a WebP image, or another RIFF file",
    b"\0\0\1\0": "an icon",
    b"%PDF": "a PDF file",
}
_SAMPLE = 4096  # bytes at the beginning by which a file is judged
_NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_TOO_MANY = 10  # one in so many of these signs, and it is no text


def kind_of_binary(octets: bytes) -> str | None:
    """Return what a file is that is no text; None: it is text, or UTF-16 with its mark."""
    for begins, kind in _KINDS.items():
        if octets.startswith(begins):
            return kind
    if octets.startswith((b"\xff\xfe", b"\xfe\xff")):
        return None
    sample = octets[:_SAMPLE]
    zeros = sample.count(b"\0")
    if zeros * 3 > len(sample):
        return "UTF-32" if zeros * 2 > len(sample) + 4 else "UTF-16 without its mark"
    return "no text" if len(_NO_TEXT.findall(sample)) * _TOO_MANY > len(sample) else None


def _check_end(source: Source) -> Check:
    """Whether the file breaks off within the name of a field."""
    last = source.outline.records[-1] if source.outline.records else None
    if (
        last is None
        or source.body[-1:] in {b"\n", b"\r"}
        or len(source.body) < len(source.octets) - 3
    ):
        return
    word = last.raw.strip().lower()
    if word and last.number > 1 and any(field.startswith(word) for field in FIELDS):
        message = f"The file breaks off after {quoted(last.raw.strip())}."
        yield Found("broken-off", last.number, message)


def check_octets(source: Source) -> Check:
    """What is wrong with the file as a whole."""
    octets, body = source.octets, source.body
    yield from _check_end(source)
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
