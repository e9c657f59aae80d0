"""How values are written for people: numbers, durations, moments, columns, text of the web.

Text of the web comes out harmless and short: whoever writes a robots.txt, a header or a page
chooses what it contains, such as control characters that move a cursor, overrides that turn the
direction of a line, a rule of half a megabyte, or a password in a URL.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timezone
from math import isfinite

LONGEST = 200
"""Characters of one text of the web in a log line."""

_LOOKED_AT = 4  # times what is shown
_CREDENTIALS = re.compile(r"(//)[^/?#\s]*@")


def printable(text: str) -> str:
    """Return a text of which nothing moves a cursor or turns the direction of a line.

    Other signs than printable ones become escapes, a tab a space.
    """
    if text.isprintable():
        return text
    text = text.replace("\t", " ")
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text
    )


def shown(text: str, longest: int = LONGEST) -> str:
    """Return a text for a log line: printable, without credentials in URLs, cut where it is long.

    The cost does not grow with the length of the text.
    """
    start = text[: _LOOKED_AT * longest]  # more than is shown: credentials may be what is cut
    start = printable(without_credentials(start) if "@" in start else start)
    return start if len(start) <= longest else f"{start[: longest - 1]}…"


def without_credentials(text: str) -> str:
    """Return a text in whose URLs no user and no password stands."""
    return _CREDENTIALS.sub(r"\1", text)


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun: ``1 site``, ``1,240 requests``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


_MINUTE, _HOUR = 60, 3_600
_SEVERAL = 2  # of a unit, from which on it is used


def duration(seconds: float | None) -> str:
    """Return ``0.25 s``, ``90 s``, ``2 min``, ``2 min 30 s``, ``1 h 2 min``; the rest is cut."""
    if seconds is None or not isfinite(seconds):
        return "an unknown time"
    if seconds < _SEVERAL * _MINUTE:
        return f"{seconds:.3g} s"
    minutes, second = divmod(int(seconds), _MINUTE)
    hours, minute = divmod(minutes, _MINUTE)
    parts = ((hours, "h"), (minute, "min"), (0 if hours else second, "s"))
    return " ".join(f"{count:,} {unit}" for count, unit in parts if count)


def number(value: float | None) -> str:
    """Return ``1,240.052``, with no more than three decimals; None is empty."""
    return "" if value is None else f"{value:,.3f}".rstrip("0").rstrip(".")


def rate_text(rate: float) -> str:
    """Return requests per second as ``4 requests a second``, ``30 requests a minute``."""
    for seconds, unit in ((1, "second"), (_MINUTE, "minute")):
        if rate * seconds >= _SEVERAL:
            return f"{rate * seconds:.0f} requests a {unit}"
    return f"{rate * _HOUR:.0f} requests an hour"


def moment(seconds: float) -> datetime:
    """Return seconds since the epoch as a UTC time; the last one there is, where it is too late."""
    try:
        return datetime.fromtimestamp(seconds, tz=timezone.utc)
    except (OverflowError, OSError, ValueError):  # an operator's "for ever"
        return datetime.max.replace(tzinfo=timezone.utc)


def clock_time(time: float | datetime) -> str:
    """Return ``2026-11-24 13:30:00 UTC``, of seconds since the epoch or a UTC time."""
    time = time if isinstance(time, datetime) else moment(time)
    return f"{time:%Y-%m-%d %H:%M:%S} UTC"


def iso_time(seconds: float | None) -> str | None:
    """Return seconds since the epoch as ISO 8601 with milliseconds; None: unknown, or never."""
    if seconds is None or not isfinite(seconds):
        return None
    return moment(seconds).isoformat(timespec="milliseconds")


def without_zone(iso: str | None, timespec: str = "seconds") -> str:
    """Return an ISO 8601 time to the second or the minute: ``2026-11-24 13:30:00``."""
    return (iso or "")[: 16 if timespec == "minutes" else 19].replace("T", " ")


def columns(
    rows: Sequence[Sequence[object]], right: frozenset[int] = frozenset()
) -> list[list[str]]:
    """Return the cells of a table as text, padded so that columns are aligned.

    The first row is the header. None is an empty cell; a column of such is left out. Numbers are
    aligned right, and so are the columns in `right`; the last column is not padded otherwise.
    """
    kept = [
        place
        for place in range(len(rows[0]))
        if any(row[place] is not None for row in rows[1:] or rows)
    ]
    aligned = []
    for place in kept:
        cells = [_cell(row[place]) for row in rows]
        width = max(map(len, cells))
        if place in right or any(isinstance(row[place], (int, float)) for row in rows[1:]):
            cells = [one.rjust(width) for one in cells]
        elif place != kept[-1]:
            cells = [one.ljust(width) for one in cells]
        aligned.append(cells)
    return [list(row) for row in zip(*aligned, strict=True)]


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) else printable(str(value))
