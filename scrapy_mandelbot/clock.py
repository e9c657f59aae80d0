"""The one clock of a crawl: given to those who need it, never imported, so that tests turn it."""

from __future__ import annotations

import asyncio
import time
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Protocol

from scrapy.utils.asyncio import call_later, is_asyncio_available

if TYPE_CHECKING:
    from collections.abc import Callable


class Call(Protocol):
    """Something that will be called."""

    def cancel(self) -> object:
        """Have it not called."""


class Clock:
    """Seconds since the epoch that only go forward, and calls at a later time."""

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()

    def now(self) -> float:
        """Return seconds since the epoch, by a clock that is not set during the crawl."""
        return self._offset + time.monotonic()

    def call_later(self, seconds: float, call: Callable[..., object], *arguments: Any) -> Call:
        """Have something called after so many seconds, on whichever loop or reactor Scrapy runs."""
        return call_later(seconds, call, *arguments)

    def loop(self) -> Callable[..., object]:
        """Return what has something called in the loop that runs now, from any thread."""
        if is_asyncio_available():
            return asyncio.get_event_loop().call_soon_threadsafe
        from twisted.internet import reactor  # noqa: PLC0415 -- its import installs one

        return reactor.callFromThread  # type: ignore[no-any-return]


def moment(seconds: float) -> datetime:
    """Return a time, given in seconds since the epoch; the last there is for an endless one."""
    try:
        return datetime.fromtimestamp(seconds, tz=timezone.utc)
    except (OverflowError, OSError, ValueError):  # an operator's "for ever"
        return datetime.max.replace(tzinfo=timezone.utc)


def clock_time(seconds: float) -> str:
    """Return a time for a log line."""
    return moment(seconds).strftime("%Y-%m-%d %H:%M:%S UTC")
