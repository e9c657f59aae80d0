"""Durations, rates and times as text, for log lines and reports."""

from __future__ import annotations

from datetime import datetime, timezone
from math import isfinite

_MINUTE = 60
_HOUR = 3_600
_SEVERAL = 2  # the least number of a unit


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
