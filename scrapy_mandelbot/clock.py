"""The one clock of a crawl: given to those who need it, never imported, so that tests turn it."""

from __future__ import annotations

import asyncio
import time
from datetime import datetime, timezone
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from scrapy.utils.asyncio import call_later, is_asyncio_available

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler


def _elapsed() -> Callable[[], float]:
    """Return what only goes forward: where it can be had, while the machine is suspended too."""
    try:
        time.clock_gettime(time.CLOCK_BOOTTIME)
    except (AttributeError, OSError):  # not Linux
        return time.monotonic
    return partial(time.clock_gettime, time.CLOCK_BOOTTIME)


elapsed = _elapsed()


class Call(Protocol):
    """Something that will be called."""

    def cancel(self) -> object:
        """Have it not called."""


class Clock:
    """Seconds since the epoch that only go forward, and calls at a later time."""

    def __init__(self) -> None:
        self._offset = time.time() - elapsed()

    @classmethod
    def of(cls, _crawler: Crawler) -> Clock:
        """Return a new one for a crawler; `testing` has another made."""
        return cls()

    def now(self) -> float:
        """Return seconds since the epoch, by a clock that is not set during the crawl."""
        return self._offset + elapsed()

    def call_later(self, seconds: float, call: Callable[..., object], *arguments: Any) -> Call:
        """Have something called after so many seconds, on whichever loop or reactor Scrapy runs."""
        return call_later(seconds, call, *arguments)

    def loop(self) -> Callable[..., object]:
        """Return what has something called in the loop that runs now, from any thread."""
        if is_asyncio_available():
            return asyncio.get_event_loop().call_soon_threadsafe
        from twisted.internet import reactor  # noqa: PLC0415 -- its import installs one

        return reactor.callFromThread  # type: ignore[no-any-return]


class Soonest:
    """One call at a later time, which comes at the soonest of the times that it is asked for.

    When it has come it can be asked for again.
    """

    def __init__(self, clock: Clock, call: Callable[[], object]) -> None:
        self._clock = clock
        self._call = call
        self._timer: Call | None = None
        self._at = 0.0
        self.is_set = False
        """Whether it comes."""

    def within(self, seconds: float) -> None:
        """Have it come after so many seconds, unless it comes sooner."""
        at = self._clock.now() + seconds
        if self._timer is not None:
            if self._at <= at:
                return
            self._timer.cancel()
        self._at = at
        self.is_set = True
        self._timer = self._clock.call_later(seconds, self._ring)

    def cancel(self) -> None:
        """Have it not come."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self.is_set = False

    def _ring(self) -> None:
        self._timer = None
        self.is_set = False
        self._call()


def moment(seconds: float) -> datetime:
    """Return a time, given in seconds since the epoch; the last there is for an endless one."""
    try:
        return datetime.fromtimestamp(seconds, tz=timezone.utc)
    except (OverflowError, OSError, ValueError):  # an operator's "for ever"
        return datetime.max.replace(tzinfo=timezone.utc)


def clock_time(seconds: float) -> str:
    """Return a time for a log line."""
    return moment(seconds).strftime("%Y-%m-%d %H:%M:%S UTC")
