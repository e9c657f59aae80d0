"""The time of the event loop, which passes only while all that is to do is to wait for it.

Crawler and sites of a test share one loop. While it is turned, its time stands still as long as
anything happens, however busy the machine is, and jumps to the next timer when nothing does: a
pause of an hour costs no time, and two requests that were to be a second apart are just that.

What does not go by the loop does not jump: other processes, the download slots' delays (Scrapy asks
the machine for the time), the stats' elapsed time.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from scrapy.utils.reactor import is_asyncio_reactor_installed

from scrapy_mandelbot.clock import Clock

if TYPE_CHECKING:
    from collections.abc import Iterator

_ON_ITS_WAY = 0.002  # seconds of the machine; what this process sent to itself has come by then


class LoopTime:
    """The time of the loop that runs this process: the machine's, or one that jumps."""

    def __init__(self) -> None:
        self._ahead = 0.0
        self._epoch = 0.0
        self._stands_at: float | None = None
        self._loop = None

    @property
    def is_turned(self) -> bool:
        """Whether waits cost no time."""
        return self._stands_at is not None

    def now(self) -> float:
        """Return seconds since some moment; the machine's monotonic clock, and what was jumped."""
        return time.monotonic() + self._ahead if self._stands_at is None else self._stands_at

    def wall(self) -> float:
        """Return seconds since the epoch, where the test began when the test began."""
        return self._epoch + self.now() if self._epoch else time.time()

    def set_wall(self, seconds: float) -> None:
        """Have it be another time since the epoch now, for crawls that begin or go on."""
        self._epoch = seconds - self.now()

    @contextmanager
    def turned(self) -> Iterator[None]:
        """Have it jump over waits, and afterwards go on from where it is then."""
        if self._loop is None:
            self._take()
        self._stands_at = self.now()
        self._epoch = time.time() - self._stands_at
        try:
            yield
        finally:
            self._ahead = self._stands_at - time.monotonic()
            self._stands_at, self._epoch = None, 0.0

    def _take(self) -> None:
        from twisted.internet import reactor

        self._loop = reactor._asyncioEventloop
        self._loop.time = self.now
        since = time.time() - time.monotonic()
        reactor.seconds = lambda: since + self.now()
        selector = self._loop._selector
        selector.select = self._instead_of(selector.select)

    def _instead_of(self, select):
        from twisted.internet import reactor

        def wait(timeout=None):
            if self._stands_at is None or timeout is None or timeout <= 0:
                return select(timeout)
            events = select(0) or select(_ON_ITS_WAY)
            if not events and not (reactor.threadpool and reactor.threadpool.working):
                self._stands_at += timeout
            return events

        return wait


TIME = LoopTime()


class LoopClock(Clock):
    """The clock of a crawl whose loop is turned."""

    def now(self) -> float:
        return TIME.wall()


def can_be_turned() -> bool:
    """Return whether this process runs a loop whose time is known how to turn."""
    return is_asyncio_reactor_installed()
