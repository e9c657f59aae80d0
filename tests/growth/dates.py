"""Dates of sitemaps and of robot tags, as long as anyone could make them."""

from __future__ import annotations

from mandelbot import dates

from growth import Row, repeated

_DATES = {
    "digits": repeated(b"1"),
    "spaces": repeated(b" ", b"2026-11-22", b"08:00"),
    "words": repeated(b"x ", b"Sun, 22 Nov 2026 "),
    "fractions": repeated(b"1", b"2026-11-22T08:00:00."),
    "hyphens": repeated(b"-", b"2026"),
}


ROWS = (
    Row("dates.read_date", dates.read_date, _DATES, "sitemaps", prepare=bytes.decode),
    Row(
        "dates.read_date",
        lambda text: dates.read_date(text, dates.IN_TAGS),
        _DATES,
        "tags",
        prepare=bytes.decode,
    ),
)
