"""When a page was last changed, in every form that sitemaps and feeds write it.

Sources: W3C note "Date and Time Formats" (sitemaps.org asks for it, RFC 3339 is a form of it);
RFC 822, section 5, as amended by RFC 2822 (RSS 2.0).
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from functools import lru_cache

# YYYY[-MM[-DD[Thh:mm[:ss[.s]][TZD]]]]; the note asks for a zone where there is a time. Seen as
# well, and unambiguous: a space for the T, a comma for the dot, a zone without its colon.
_W3C = re.compile(
    r"""
    (?P<year>[0-9]{4})
    (?: -(?P<month>[0-9]{1,2})
    (?: -(?P<day>[0-9]{1,2})
    (?: (?:[Tt]|[ ]+) (?P<hour>[0-9]{2}) : (?P<minute>[0-9]{2})
        (?: : (?P<second>[0-9]{2}) (?: [.,] (?P<fraction>[0-9]+) )? )?
        [ ]* (?: [Zz] | (?P<sign>[+-]) (?P<hours>[0-9]{2}) :? (?P<minutes>[0-9]{2})? )?
    )? )? )?
    """,
    re.VERBOSE,
)
_LAST_SECOND = 59
_LONGEST = 64  # characters


def read_date(text: str) -> datetime | None:
    """Return the time that `text` names, with its zone; None where it cannot be read.

    What is left out is the first: of the year, of the month, of the day. No zone means UTC.
    """
    return _read(text.strip()) if len(text) <= _LONGEST else None


@lru_cache(maxsize=1024)  # a file repeats its dates
def _read(text: str) -> datetime | None:
    match = _W3C.fullmatch(text)
    try:
        date = parsedate_to_datetime(text) if match is None else _w3c(match)
        if date.tzinfo is None:
            date = date.replace(tzinfo=timezone.utc)
        date.astimezone(timezone.utc)  # fails where it is beyond the year 1 or 9999
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return date


def _w3c(match: re.Match[str]) -> datetime:
    part = match.groupdict()
    zone = timezone.utc
    if part["sign"]:
        offset = timedelta(hours=int(part["hours"]), minutes=int(part["minutes"] or 0))
        zone = timezone(-offset if part["sign"] == "-" else offset)
    return datetime(
        int(part["year"]),
        int(part["month"] or 1),
        int(part["day"] or 1),
        int(part["hour"] or 0),
        int(part["minute"] or 0),
        min(int(part["second"] or 0), _LAST_SECOND),  # 60 is a leap second
        int((part["fraction"] or "")[:6].ljust(6, "0")),
        zone,
    )
