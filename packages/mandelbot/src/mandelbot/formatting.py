"""Numbers, times, tables and untrusted text, formatted for people.

Untrusted text comes from robots.txt, headers and pages, and its author chooses what it
contains: control characters that move the cursor, overrides that reverse the direction
of a line, a rule of half a megabyte, a password in a URL. It is printed escaped and
shortened.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timezone
from math import isfinite

LONGEST = 200
"""Characters of one untrusted text in a log line."""

_LOOKED_AT = 4  # times the length that is shown
_MINUTE = 60
_HOUR = 3_600
_SEVERAL = 2  # the least number of a unit
_CREDENTIALS = re.compile(r"(//)[^/?#\s]*@")


def printable(text: str) -> str:
    """Return the text with tabs as spaces and other unprintable characters escaped."""
    if text.isprintable():
        return text
    return "".join(map(_printable_sign, text.replace("\t", " ")))


def _printable_sign(sign: str) -> str:
    if sign.isprintable():
        return sign
    return sign.encode("unicode_escape").decode()


def shown(text: str, longest: int = LONGEST) -> str:
    """Return text for a log: printable, no credentials in URLs, at most `longest`.

    The cost does not grow with the length of the text.
    """
    start = text[: _LOOKED_AT * longest]  # credentials may be cut in two
    if "@" in start:
        start = without_credentials(start)
    start = printable(start)
    if len(start) <= longest:
        return start
    return f"{start[: longest - 1]}…"


def without_credentials(text: str) -> str:
    """Return the text without the user and password of the URLs in it."""
    return _CREDENTIALS.sub(r"\1", text)


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun: ``1 site``, ``1,240 requests``."""
    noun = one
    if number != 1:
        noun = many or f"{one}s"
    return f"{number:,} {noun}"


def number(value: float | None) -> str:
    """Return ``1,240.052``: at most three decimals; empty for None."""
    if value is None:
        return ""
    return f"{value:,.3f}".rstrip("0").rstrip(".")


def columns(
    rows: Sequence[Sequence[object]], right: frozenset[int] = frozenset()
) -> list[list[str]]:
    """Return the cells of a table as text, padded so that columns are aligned.

    The first row is the header. None is an empty cell; a column of empty cells is left
    out. Columns of numbers and those in `right` are aligned right; otherwise the last
    column is not padded.
    """
    used = [
        place
        for place in range(len(rows[0]))
        if any(row[place] is not None for row in rows[1:] or rows)
    ]
    aligned = []
    for place in used:
        cells = [_cell(row[place]) for row in rows]
        width = max(map(len, cells))
        if place in right or any(
            isinstance(row[place], (int, float)) for row in rows[1:]
        ):
            cells = [one.rjust(width) for one in cells]
        elif place != used[-1]:
            cells = [one.ljust(width) for one in cells]
        aligned.append(cells)
    return [list(row) for row in zip(*aligned, strict=True)]


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.1f}"
    if isinstance(value, int):
        return f"{value:,}"
    return printable(str(value))


def duration(seconds: float | None) -> str:
    """Return ``0.25 s``, ``90 s``, ``2 min 30 s``, ``1 h 2 min``: at most two units."""
    if seconds is None or not isfinite(seconds):
        return "an unknown time"
    if seconds < _SEVERAL * _MINUTE:
        return f"{seconds:.3g} s"
    minutes, second = divmod(int(seconds), _MINUTE)
    hours, minute = divmod(minutes, _MINUTE)
    parts = ((hours, "h"), (minute, "min"), (0 if hours else second, "s"))
    return " ".join(f"{count:,} {unit}" for count, unit in parts if count)


def rate_text(rate: float) -> str:
    """Return a rate in requests per second as text: ``30 requests a minute``."""
    for seconds, unit in ((1, "second"), (_MINUTE, "minute")):
        if rate * seconds >= _SEVERAL:
            return f"{rate * seconds:.0f} requests a {unit}"
    return f"{rate * _HOUR:.0f} requests an hour"


def moment(seconds: float) -> datetime:
    """Return the UTC time of seconds since the epoch.

    `datetime.max` if they exceed it.
    """
    try:
        return datetime.fromtimestamp(seconds, tz=timezone.utc)
    except (OverflowError, OSError, ValueError):  # a pause without end
        return datetime.max.replace(tzinfo=timezone.utc)


def clock_time(time: float | datetime) -> str:
    """Return ``2026-11-24 13:30:00 UTC`` for seconds since the epoch or a UTC time."""
    time = time if isinstance(time, datetime) else moment(time)
    return f"{time:%Y-%m-%d %H:%M:%S} UTC"


def iso_time(seconds: float | None) -> str | None:
    """Return seconds since the epoch in ISO 8601, with milliseconds.

    None if not finite.
    """
    if seconds is None or not isfinite(seconds):
        return None
    return moment(seconds).isoformat(timespec="milliseconds")


def without_zone(iso: str | None, timespec: str = "seconds") -> str:
    """Return an ISO 8601 time without its zone.

    ``2026-11-24 13:30:00``, or up to the minute.
    """
    return (iso or "")[: 16 if timespec == "minutes" else 19].replace("T", " ")
