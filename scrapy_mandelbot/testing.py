"""For the tests of projects: waits that are over at once; ``docs/testing.rst`` shows how."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from scrapy.utils.asyncio import is_asyncio_available

from scrapy_mandelbot.clock import Call, Clock

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler


class LoopTime(Clock):
    """The time of this process' event loops; while it is turned it passes only as they wait."""

    def __init__(self) -> None:
        self._loops: WeakSet[Any] = WeakSet()
        self._crawlers: WeakSet[Crawler] = WeakSet()
        self._may_jump: Callable[[], bool] = self._only_time_is_waited_for
        self._stands_at: float | None = None
        self._ahead = self._epoch = self._settles = 0.0

    def elapsed(self) -> float:
        """Return seconds since some moment, as timers have them."""
        return time.monotonic() + self._ahead if self._stands_at is None else self._stands_at

    def now(self) -> float:
        """Return seconds since the epoch, as the package has them."""
        return self._epoch + self.elapsed() if self._epoch else time.time()

    def skip(self, seconds: float) -> None:
        """Have it be so much later, as between two runs; no timer rings for it."""
        self._epoch += seconds

    def call_later(self, seconds: float, call: Callable[..., object], *arguments: Any) -> Call:
        """Have something called, on a loop that goes by this time from now on."""
        self._take_loop()
        return super().call_later(seconds, call, *arguments)

    @contextmanager
    def turned(
        self, may_jump: Callable[[], bool] | None = None, settles: float = 0.0
    ) -> Iterator[None]:
        """Have it jump over waits, and go on afterwards from where it is then.

        Args:
            may_jump: whether it may; None: no crawl waits for anything else.
            settles: seconds of the machine for which nothing happens before it does, and in which
                it stands; 0: it jumps at once, and goes on while it may not.
        """
        self._may_jump = may_jump or self._only_time_is_waited_for
        self._settles, self._stands_at = settles, self.elapsed()
        self._epoch = time.time() - self._stands_at
        before, Clock.of = Clock.of, self._clock_of  # type: ignore[assignment,method-assign]
        try:
            yield
        finally:
            Clock.of = before  # type: ignore[method-assign]
            self._ahead = self._stands_at - time.monotonic()
            self._stands_at, self._epoch = None, 0.0

    def _clock_of(self, crawler: Crawler) -> Clock:
        self._crawlers.add(crawler)
        with suppress(RuntimeError):  # there is none yet
            self._take_loop()
        return self

    def _take_loop(self) -> None:
        reactor: Any = sys.modules.get("twisted.internet.reactor")  # it is no module
        by_asyncio = is_asyncio_available()
        if reactor is not None and reactor not in self._loops:
            self._take(reactor, "seconds")
            if not by_asyncio:
                reactor.doIteration = self._instead_of(reactor.doIteration)
        if by_asyncio and (loop := asyncio.get_event_loop()) not in self._loops:
            self._take(loop, "time")
            selector = loop._selector  # type: ignore[attr-defined] # noqa: SLF001
            selector.select = self._instead_of(selector.select)

    def _only_time_is_waited_for(self) -> bool:
        crawling = [crawler for crawler in self._crawlers if crawler.crawling]
        return bool(crawling) and not any(map(_is_at_work, crawling))

    def _take(self, loop: Any, clock: str) -> None:
        self._loops.add(loop)
        since = getattr(loop, clock)() - self.elapsed()
        setattr(loop, clock, lambda: since + self.elapsed())

    def _instead_of(self, wait: Callable[[float | None], Any]) -> Callable[..., Any]:
        def jump_or_wait(timeout: float | None = None) -> Any:
            if self._stands_at is None or timeout is None or timeout <= 0:
                return wait(timeout)
            may_jump, began = self._may_jump(), time.monotonic()
            if not may_jump and not self._settles:
                happened = wait(timeout)
                self._stands_at += time.monotonic() - began
            elif not (happened := wait(0) or wait(self._settles)) and may_jump:
                self._stands_at += timeout + 1e-6  # timers ring late; a sum of floats may be early
            return happened

        return jump_or_wait


def _is_at_work(crawler: Crawler) -> bool:
    """Return whether anything but time is waited for: a site, or the spider.

    The spider waits itself where a request of its own does. Without the slots: not known.
    """
    engine: Any = crawler.engine
    if engine is None:  # it is being made
        return True
    with_spider: set[Request] = getattr(getattr(engine.scraper, "slot", None), "active", set())
    under_way: set[Request] = getattr(getattr(engine, "_slot", None), "inprogress", set())
    return bool(engine.downloader.active) or len(with_spider) > len(under_way - with_spider)


TIME = LoopTime()


@contextmanager
def autojump() -> Iterator[LoopTime]:
    """Have the crawls that begin meanwhile wait for nothing but sites and spiders.

    Whenever none of them waits for an answer, a callback or a pipeline, the time of their event
    loop jumps to its next timer. So a pause of an hour costs no time, and everything comes in the
    order in which it would. What asks the machine for the time goes by that: DOWNLOAD_DELAY.

    Yields:
        The time: ``now()`` are seconds since the epoch, ``skip(seconds)`` has it be later.
    """
    with TIME.turned():
        yield TIME
