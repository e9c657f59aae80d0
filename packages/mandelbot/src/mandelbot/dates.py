"""The date formats of sitemaps, feeds and robot tags.

Each form cites its document; callers choose the forms that they accept.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import NamedTuple

__all__ = ["IN_SITEMAPS", "IN_TAGS", "read_date"]

_LONGEST = 100  # characters; no form comes near
_LEAP_SECOND = 60
_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            *(
                "jan january",
                "feb february",
                "mar march",
                "apr april",
                "may",
                "jun june",
            ),
            *("jul july", "aug august", "sep sept september", "oct october"),
            *("nov november", "dec december"),
        ),
        start=1,
    )
    for name in names.split()
}
_WEEKDAYS = frozenset(
    """
    mon monday tue tues tuesday wed wednesday thu thur thurs thursday fri friday
    sat saturday sun sunday
    """.split()  # noqa: SIM905 -- words to be read
)
# RFC 822, section 5.1, and other zones whose abbreviations have one meaning on the web.
_ZONE_TABLE = """
    ut 0   utc 0   gmt 0   z 0
    est -5   edt -4   cst -6   cdt -5   mst -7   mdt -6   pst -8   pdt -7
    wet 0   west 1   bst 1   cet 1   mez 1   cest 2   mesz 2   eet 2   eest 3   msk 3
    ist 5.5   jst 9   kst 9   aest 10   aedt 11   nzst 12   nzdt 13
    akst -9   akdt -8   hst -10
    """.split()  # noqa: SIM905 -- words to be read
_ZONES = {
    name: timezone(timedelta(hours=float(hours))) if float(hours) else timezone.utc
    for name, hours in zip(_ZONE_TABLE[::2], _ZONE_TABLE[1::2], strict=True)
}
_OFFSET = re.compile(r"(?:gmt|utc|ut)?([+-])([0-9]{1,2})(?::?([0-9]{2}))?")
_UNKNOWN_ZONE = re.compile(r"[a-z]{3,5}")


class DateParts(NamedTuple):
    """The parts of a date as written; an empty part is missing."""

    year: str
    month: str = ""
    day: str = ""
    hour: str = ""
    minute: str = ""
    second: str = ""
    fraction: str = ""
    """Digits after the point, of the second."""
    zone: str = ""
    """In lower case."""


Form = Callable[[str], DateParts | None]
"""Takes a text in lower case; returns its parts if it has this form."""

# ISO 8601, section 5.4: a T, hours, optional minutes and seconds, a zone. Also
# accepted, being common and unambiguous: a space for the T (RFC 3339, section 5.6,
# note), a space before the zone.
_TIME_AND_ZONE = r"""
    (?: (?:t|\s+) (?P<hour>[0-9]{2}) (?: :?(?P<minute>[0-9]{2})
        (?: :?(?P<second>[0-9]{2}) (?: [.,](?P<fraction>[0-9]+) )? )? )? )?
    \s* (?P<zone>\S*)
    """
_REDUCED = re.compile(r"(?P<year>[0-9]{4})(?:-(?P<month>[0-9]{1,2}))?")
_EXTENDED = re.compile(
    rf"(?P<year>[0-9]{{4}})-(?P<month>[0-9]{{1,2}})-(?P<day>[0-9]{{1,2}}){_TIME_AND_ZONE}",
    re.VERBOSE,
)
_BASIC = re.compile(
    rf"(?P<year>[0-9]{{4}})(?P<month>[0-9]{{2}})(?P<day>[0-9]{{2}}){_TIME_AND_ZONE}",
    re.VERBOSE,
)


def reduced(text: str) -> DateParts | None:
    """A year, or a year and a month.

    Source: W3C note "Date and Time Formats", ``YYYY`` and ``YYYY-MM``.
    """
    return _parts(_REDUCED.fullmatch(text))


def extended(text: str) -> DateParts | None:
    """A day with hyphens, and an optional time and zone.

    Sources: W3C note "Date and Time Formats", ``YYYY-MM-DDThh:mm:ss.sTZD``, and RFC
    3339, which is a form of it; ISO 8601, extended format; XML Schema, part 2, 3.2.9,
    whose dates may have a zone.
    """
    return _parts(_EXTENDED.fullmatch(text))


def basic(text: str) -> DateParts | None:
    """A day without hyphens, and an optional time and zone.

    Source: ISO 8601, basic format.
    """
    return _parts(_BASIC.fullmatch(text))


def _parts(found: re.Match[str] | None) -> DateParts | None:
    if found is None:
        return None
    return DateParts(**found.groupdict(default=""))


_DAY_MONTH_YEAR = re.compile(r"([0-9]{1,2})-([a-z]{3,9})-([0-9]{2,4})")  # RFC 850
_TIME = re.compile(r"([0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?)(\S*)")
_DAY = re.compile(r"([0-9]{1,2})(?:st|nd|rd|th)?")
_YEAR = re.compile(r"[0-9]{2}|[0-9]{4}")
_COMMENT = re.compile(r"\([^()]*\)")  # RFC 822, section 3.4.3

_PARTS: tuple[tuple[str, Callable[[str], object]], ...] = (
    ("month", _MONTHS.__contains__),
    ("weekday", _WEEKDAYS.__contains__),
    ("half", {"am", "pm"}.__contains__),
    ("time", _TIME.fullmatch),
    ("day", _DAY.fullmatch),
    ("year", _YEAR.fullmatch),
    ("zone", _ZONES.__contains__),
    ("zone", _OFFSET.fullmatch),
    ("zone", _UNKNOWN_ZONE.fullmatch),
)
"""The tests for a word of a date: it is the first part that fits and is not found yet.
"""


def words(text: str) -> DateParts | None:
    """A day with the name of its month, in any order, and an optional time and zone.

    Sources: RFC 822, section 5, as amended by RFC 2822; RFC 850; asctime. Works like
    the cookie-date of RFC 6265, section 5.1.1, except that every word must be part of
    the date, because a list of directives may continue after it.
    """
    found: dict[str, str] = {}
    rest = _COMMENT.sub(" ", text).replace(",", " ").split()
    while rest:
        word = rest.pop(0)
        if in_one := _DAY_MONTH_YEAR.fullmatch(word):
            rest[:0] = in_one.groups()
            continue
        if (clock := _TIME.fullmatch(word)) and clock[2]:  # "15:00:00Z", "3:00pm"
            rest[:0] = clock.groups()
            continue
        fitting = (
            part for part, is_one in _PARTS if part not in found and is_one(word)
        )
        part = next(fitting, None)
        if part is None or (part == "zone" and "time" not in found):
            return None
        found[part] = word
    if not {"day", "month", "year"} <= found.keys():
        return None
    time, _, fraction = found.get("time", "").partition(".")
    hour, minute, second = (*time.split(":"), "", "")[:3]
    return DateParts(
        _with_century(found["year"]),
        str(_MONTHS[found["month"]]),
        found["day"].rstrip("dhnrst"),
        _of_24(hour, found.get("half", "")),
        minute,
        second,
        fraction,
        found.get("zone", ""),
    )


def _with_century(year: str) -> str:
    """Two digits mean 1950 to 2049 (RFC 2822, section 4.3)."""
    if len(year) == 4:  # noqa: PLR2004 -- digits
        return year
    return f"20{year}" if year < "50" else f"19{year}"


def _of_24(hour: str, half: str) -> str:
    if not half:
        return hour
    of_half = int(hour or 0) % 12
    return str(of_half + 12 * (half == "pm"))


IN_SITEMAPS = (reduced, extended, words)
"""Source: sitemaps.org asks for the W3C note's forms, RSS 2.0 for those of RFC 822."""
IN_TAGS = (extended, basic, words)
"""Source: Google, "Robots meta tag, data-nosnippet, and X-Robots-Tag specifications":
"a widely adopted format including, but not limited to RFC 822, RFC 850, and ISO 8601".
A year alone names no day and is rejected.
"""


def read_date(text: str, forms: tuple[Form, ...] = IN_SITEMAPS) -> datetime | None:
    """Return the time that a text states, in its zone, or None if it is no date.

    A missing month, day or time is the first one. A missing or unknown zone is UTC (RFC
    2822, section 4.3). A leap second becomes the second before it (RFC 3339, section
    5.7). The first matching form wins. Texts of more than 100 characters are no dates.
    """
    if len(text) <= _LONGEST:
        return _read(text.strip().lower(), forms)
    return None


@lru_cache(maxsize=1024)  # a file repeats its dates
def _read(text: str, forms: tuple[Form, ...]) -> datetime | None:
    parts = next(filter(None, (form(text) for form in forms)), None)
    if parts is None:
        return None
    try:
        second = int(parts.second or 0)
        date = datetime(
            int(parts.year),
            int(parts.month or 1),
            int(parts.day or 1),
            int(parts.hour or 0),
            int(parts.minute or 0),
            second - (second == _LEAP_SECOND),
            int(parts.fraction[:6].ljust(6, "0")),
            _zone(parts.zone, has_time=bool(parts.hour)),
        )
        date.astimezone(timezone.utc)  # fails outside of the years 1 to 9999
    except (ValueError, OverflowError):
        return None
    return date


def _zone(text: str, *, has_time: bool) -> timezone:
    """Raise ValueError if the text is neither a name nor an offset."""
    if not text:
        return timezone.utc
    if text in _ZONES:
        return _ZONES[text]
    if offset := _OFFSET.fullmatch(text):
        sign, hours, minutes = offset.groups()
        distance = timedelta(hours=int(hours), minutes=int(minutes or 0))
        if sign == "-":
            distance = -distance
        return timezone(distance)
    if has_time and _UNKNOWN_ZONE.fullmatch(text):
        return timezone.utc
    raise ValueError(text)
