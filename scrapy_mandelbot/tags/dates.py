"""The date of ``unavailable_after``, in the forms that owners of sites write.

Source: Google, "Robots meta tag, data-nosnippet, and X-Robots-Tag specifications": "a widely
adopted format including, but not limited to RFC 822, RFC 850, and ISO 8601".
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_LONGEST = 100  # characters; no form comes near
_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            *("jan january", "feb february", "mar march", "apr april", "may", "jun june"),
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
# Those of RFC 822, section 5.1, and those of other places whose names mean one thing on the web.
_ZONE_TABLE = """
    ut 0   utc 0   gmt 0   z 0
    est -5   edt -4   cst -6   cdt -5   mst -7   mdt -6   pst -8   pdt -7
    wet 0   west 1   bst 1   cet 1   mez 1   cest 2   mesz 2   eet 2   eest 3   msk 3
    ist 5.5   jst 9   kst 9   aest 10   aedt 11   nzst 12   nzdt 13   akst -9   akdt -8   hst -10
    """.split()  # noqa: SIM905 -- words to be read
_ZONES = dict(zip(_ZONE_TABLE[::2], map(float, _ZONE_TABLE[1::2]), strict=True))
"""Hours east of Greenwich."""

_ISO = re.compile(
    r"(?P<year>[0-9]{4})-?(?P<month>[0-9]{2})-?(?P<day>[0-9]{2})"
    r"(?:(?:T|\s+)(?P<time>[0-9]{2}(?::?[0-9]{2}(?::?[0-9]{2}(?:[.,][0-9]+)?)?)?))?"
    r"\s*(?P<zone>\S*)",
    re.IGNORECASE,
)
_DAY_MONTH_YEAR = re.compile(r"([0-9]{1,2})-([a-z]{3,9})-([0-9]{2,4})")  # RFC 850
_TIME = re.compile(r"([0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?)(\S*)")
_OFFSET = re.compile(r"(?:gmt|utc|ut)?([+-])([0-9]{1,2})(?::?([0-9]{2}))?")
_DAY = re.compile(r"([0-9]{1,2})(?:st|nd|rd|th)?")
_YEAR = re.compile(r"[0-9]{2}|[0-9]{4}")
_UNKNOWN_ZONE = re.compile(r"[a-z]{3,5}")

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
"""What a word of a date may be, and how that is seen: the first that is not there yet."""


def parse_date(text: str) -> datetime | None:
    """Return the moment that the text names, in UTC; None: it names none.

    A date without a time is the beginning of its day, one without a zone is in UTC, and so is one
    with the name of a zone that is not known (RFC 2822, section 4.3). A year of two digits is
    within 1950 to 2049 (ibid.).
    """
    text = text.strip()
    if len(text) > _LONGEST:
        return None
    try:
        parts = _iso(text) or _words(text.lower())
        if parts is None:
            return None
        (year, month, day), time, zone = parts
        hour, minute, second = _clock(time)
        local = datetime(year, month, day, hour, minute, second, tzinfo=_zone(zone))
        return local.astimezone(timezone.utc)
    except (ValueError, OverflowError):
        return None


_Parts = tuple[tuple[int, int, int], str, str]
"""Year, month and day; the time and the zone, as written or empty."""


def _iso(text: str) -> _Parts | None:
    """ISO 8601, in its extended and basic form."""
    found = _ISO.fullmatch(text)
    if found is None:
        return None
    date = (int(found["year"]), int(found["month"]), int(found["day"]))
    return date, found["time"] or "", found["zone"].lower()


def _words(text: str) -> _Parts | None:
    """RFC 822, RFC 850, asctime, and what people make of them: the parts in any order.

    Like the cookie-date of RFC 6265, section 5.1.1, but every word has to be a part of the date,
    as a list of directives may go on after it.
    """
    found: dict[str, str] = {}
    words = text.replace(",", " ").split()
    while words:
        word = words.pop(0)
        if in_one := _DAY_MONTH_YEAR.fullmatch(word):
            words[:0] = in_one.groups()
            continue
        if (clock := _TIME.fullmatch(word)) and clock[2]:  # "15:00:00Z", "3:00pm"
            words[:0] = clock.groups()
            continue
        fitting = (part for part, is_one in _PARTS if part not in found and is_one(word))
        part = next(fitting, None)
        if part is None or (part == "zone" and "time" not in found):
            return None
        found[part] = word
    if not {"day", "month", "year"} <= found.keys():
        return None
    year = int(found["year"])
    if len(found["year"]) == 2:  # noqa: PLR2004 -- digits
        year += 2000 if year < 50 else 1900  # noqa: PLR2004 -- RFC 2822, section 4.3
    date = (year, _MONTHS[found["month"]], int(found["day"].rstrip("dhnrst")))
    return date, found.get("time", "") + found.get("half", ""), found.get("zone", "")


def _clock(text: str) -> tuple[int, int, int]:
    """Return hour, minute and second; fractions of a second are cut.

    Raises:
        ValueError: it is none.
    """
    half = text[-2:] if text.endswith("m") else ""
    digits = re.sub(r"[.,].*|[:apm]", "", text).zfill(2)
    if len(digits) % 2:  # "3:00"
        digits = "0" + digits
    hour, minute, second = (int(digits[n : n + 2] or 0) for n in (0, 2, 4))
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    return hour, minute, second


def _zone(text: str) -> timezone:
    """Return the zone of that name or offset.

    Raises:
        ValueError: it is none.
    """
    if text in _ZONES or not text:
        return timezone(timedelta(hours=_ZONES.get(text, 0)))
    if offset := _OFFSET.fullmatch(text):
        sign, hours, minutes = offset.groups()
        distance = timedelta(hours=int(hours), minutes=int(minutes or 0))
        return timezone(-distance if sign == "-" else distance)
    if _UNKNOWN_ZONE.fullmatch(text):
        return timezone.utc
    raise ValueError(text)
