"""Times as access logs have them, in seconds since the epoch.

Sources: nginx, ngx_http_log_module and ngx_http_core_module (``$time_local``, ``$time_iso8601``,
``$msec``); Apache, mod_log_config (``%t``, ``%{format}t``).
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, NamedTuple

from scrapy_mandelbot.dates import extended, read_date

if TYPE_CHECKING:
    from collections.abc import Callable

_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()  # noqa: SIM905 - words
_MONTH_OF = {name: number for number, name in enumerate(_MONTHS, start=1)}
_LOCAL_LENGTH = len("22/Nov/2026:08:46:13 +0000")
_MINUTES_KEPT = 4096
_LONGEST = 60  # characters


class Clock(NamedTuple):
    """How a log tells the time."""

    read: Callable[[str], float]
    """Raises ValueError of what is no time."""
    resolution: float
    """Seconds between two times that it can tell apart."""


def local_clock() -> Clock:
    """Return what reads ``22/Nov/2026:08:46:13 +0000``; a log repeats its minutes."""
    minutes: dict[str, float] = {}

    def read(text: str) -> float:
        minute = text[:17] + text[20:]
        began = minutes.get(minute)
        if began is None or len(text) != _LOCAL_LENGTH:
            if len(minutes) >= _MINUTES_KEPT:
                minutes.clear()
            began = minutes[minute] = _minute(text)
        second = text[18:20]
        if text[17] != ":" or not second.isdigit():
            raise ValueError(text)
        return began + int(second)

    return Clock(read, 1.0)


def _minute(text: str) -> float:
    """Return when the minute of a local time began.

    Raises:
        ValueError: it is no such time.
    """
    if len(text) != _LOCAL_LENGTH or text[20] != " " or text[21] not in "+-":
        raise ValueError(text)
    east = int(text[22:24]) * 60 + int(text[24:26])
    zone = timezone(timedelta(minutes=-east if text[21] == "-" else east))
    month = _MONTH_OF.get(text[3:6], 0)
    day = datetime(
        int(text[7:11]), month, int(text[:2]), int(text[12:14]), int(text[15:17]), 0, 0, zone
    )
    return day.timestamp()


def _number_of(unit: float) -> Callable[[str], float]:
    def read(text: str) -> float:
        if len(text) > _LONGEST or not text.replace(".", "", 1).isdigit():
            raise ValueError(text)
        return float(text) * unit

    return read


def _iso(text: str) -> float:
    date = read_date(text, (extended,))
    if date is None or ":" not in text:
        raise ValueError(text)
    return date.timestamp()


CLOCKS: dict[str, Callable[[], Clock]] = {
    "local": local_clock,
    "iso": lambda: Clock(_iso, 1.0),
    "seconds": lambda: Clock(_number_of(1.0), 1.0),
    "seconds.milliseconds": lambda: Clock(_number_of(1.0), 1e-3),
    "milliseconds": lambda: Clock(_number_of(1e-3), 1e-3),
    "microseconds": lambda: Clock(_number_of(1e-6), 1e-6),
}
"""How each kind of time is read."""
