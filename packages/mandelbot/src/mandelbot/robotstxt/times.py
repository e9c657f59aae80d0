"""Parses Visit-time, Request-rate and Crawl-delay (the extended standard).

Times are minutes since midnight, UTC; callers supply the clock. An unreadable value is
None, and its line is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

_TIMES = re.compile(
    r"([01]\d|2[0-3])[:.]?([0-5]\d)\s*-\s*([01]\d|2[0-3])[:.]?([0-5]\d)", re.ASCII
)
_RATE = re.compile(
    r"(\d{1,9})\s*/\s*(\d{1,9})\s*([smhd]?)(?:\s+(\S.*))?", re.ASCII | re.IGNORECASE
)
_SECONDS_FOR_ONE = re.compile(r"\d{1,9}", re.ASCII)
_DELAY = re.compile(r"\d{1,9}(?:\.\d{0,9})?|\.\d{1,9}", re.ASCII)
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


class TimeWindow(NamedTuple):
    r"""A part of every day, both ends included. It may pass midnight: 17:00 to 04:59.

    >>> from mandelbot import RobotsTxt
    >>> robots = RobotsTxt.parse(b"User-agent: *\nVisit-time: 0600-0845\n")
    >>> robots.visit_times("Examplebot")
    (TimeWindow(start=360, end=525),)
    """

    start: int
    """Minutes since midnight, UTC."""
    end: int

    @classmethod
    def read(cls, value: str) -> TimeWindow | None:
        """Read ``0600-0845`` or ``06:00-08:45``, and ``06.00-08.45``, which occurs."""
        times = _TIMES.fullmatch(value)
        if times is None:
            return None
        from_hour, from_minute, to_hour, to_minute = map(int, times.groups())
        return cls(from_hour * 60 + from_minute, to_hour * 60 + to_minute)

    def covers(self, minute: int) -> bool:
        """Return whether it contains a minute of the day, 0 to 1439."""
        if self.start <= self.end:
            return self.start <= minute <= self.end
        return minute >= self.start or minute <= self.end

    def __str__(self) -> str:
        return "{:02}{:02}-{:02}{:02}".format(
            *divmod(self.start, 60), *divmod(self.end, 60)
        )


class RequestRate(NamedTuple):
    r"""A number of documents in some seconds, at all times or in a part of the day.

    >>> from mandelbot import RobotsTxt
    >>> robots = RobotsTxt.parse(b"User-agent: *\nRequest-rate: 1/10m\n")
    >>> robots.request_rates("Examplebot")
    (RequestRate(documents=1, seconds=600, window=None),)
    """

    documents: int
    seconds: int
    window: TimeWindow | None = None

    @classmethod
    def read(cls, value: str) -> RequestRate | None:
        """Read ``10/60``, ``100/24h``, ``1/10m 1300-1659``; without a unit: seconds.

        Neither number may be zero. Other forms occur, and count, as their owners want
        to be crawled slowly: a number alone, ``10``, is one document in so many
        seconds; a rate with an unreadable window is for all times.
        """
        rate = _RATE.fullmatch(
            f"1/{value}" if _SECONDS_FOR_ONE.fullmatch(value) else value
        )
        if rate is None:
            return None
        documents = int(rate[1])
        seconds = int(rate[2]) * _SECONDS[rate[3].lower()]
        window = TimeWindow.read(rate[4]) if rate[4] else None
        if documents and seconds:
            return cls(documents, seconds, window)
        return None

    @property
    def delay(self) -> float:
        """Seconds from one document to the next."""
        return self.seconds / self.documents

    def __str__(self) -> str:
        rate = f"{self.documents}/{self.seconds}"
        if self.window is None:
            return rate
        return f"{rate} {self.window}"


def is_documented_rate(value: str) -> bool:
    """Return whether the extended standard has a rate of this form."""
    rate = _RATE.fullmatch(value)
    return rate is not None and (not rate[4] or is_documented_window(rate[4]))


def is_documented_window(value: str) -> bool:
    """Return whether the extended standard has a window of this form."""
    return "." not in value and TimeWindow.read(value) is not None


def read_delay(value: str) -> float | None:
    """Read seconds, without sign and unit: ``10``, ``0.5``."""
    return float(value) if _DELAY.fullmatch(value) else None


TIME_READERS: dict[str, Callable[[str], Any]] = {
    "crawl-delay": read_delay,
    "request-rate": RequestRate.read,
    "visit-time": TimeWindow.read,
}
"""The parsers of the fields about times; None: the value cannot be read."""


def rate_at(rates: Iterable[RequestRate], minute: int) -> RequestRate | None:
    """Return the rate in force at a minute of the day, 0 to 1439, or None.

    A rate for that time of the day takes precedence over one for all times. Of several
    the slowest counts (Request-rate, "the fewest documents per normalized unit of
    time").
    """
    rates = tuple(rates)
    timed = [
        rate for rate in rates if rate.window is not None and rate.window.covers(minute)
    ]
    always = [rate for rate in rates if rate.window is None]
    return max(timed or always, key=lambda rate: rate.delay, default=None)
