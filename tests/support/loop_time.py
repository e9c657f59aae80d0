"""A clock for tests of crawls that skips waits: ``with autojump():``.

Two things follow the clock: the event loop, whose timers ring when the clock says so,
and the modules of Scrapy that compare times themselves (``DOWNLOAD_DELAY``, the
latency that AutoThrottle uses, periodic calls). Each is taken over when a crawl
begins inside ``autojump``, and for good: timers of a loop whose clock went back would
be late.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from weakref import WeakSet

from scrapy.utils.asyncio import is_asyncio_available

from scrapy_mandelbot.clock import Call, Clock

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

_COMPARE_TIMES = (
    "scrapy.core.downloader",
    "scrapy.core.downloader.handlers._base_streaming",
    "scrapy.core.downloader.handlers.http11",
    "scrapy.core.downloader.handlers.http2",
    "scrapy.extensions.corestats",
    "scrapy.throttler",
    "scrapy.utils.asyncio",
)
"""Modules of Scrapy that read the machine's clock, in some version of Scrapy."""


class LoopTime(Clock):
    """The clock of this process; while it is turned, only waits advance it."""

    def __init__(self) -> None:
        self._loops: WeakSet[Any] = WeakSet()
        self._crawlers: WeakSet[Crawler] = WeakSet()
        self._settled: set[str] = set()
        """Those of `_COMPARE_TIMES` that read this clock, or are not in this Scrapy."""
        self._may_jump: Callable[[], bool] = self._only_time_is_waited_for
        self._stands_at: float | None = None
        """While it is turned: the monotonic time, in seconds."""
        self._ahead = 0.0
        """Seconds that jumps have added to the machine's monotonic time."""
        self._epoch = 0.0
        """Seconds since the epoch at monotonic time 0; 0: as the machine says."""
        self._settles = 0.0
        """Real seconds without an event before a jump."""

    def elapsed(self) -> float:
        """Return monotonic seconds, as timers use them."""
        if self._stands_at is None:
            return time.monotonic() + self._ahead
        return self._stands_at

    def now(self) -> float:
        """Return seconds since the epoch, as the package uses them."""
        return self._epoch + self.elapsed() if self._epoch else time.time()

    def skip(self, seconds: float) -> None:
        """Move the time of day forward, as between two runs; no timer fires."""
        self._epoch += seconds

    def call_later(
        self, seconds: float, call: Callable[..., object], *arguments: Any
    ) -> Call:
        """Schedule a call on a loop, which follows this clock from now on."""
        self._take_loop()
        return super().call_later(seconds, call, *arguments)

    @contextmanager
    def turned(
        self, may_jump: Callable[[], bool] | None = None, settles: float = 0.0
    ) -> Iterator[None]:
        """Jump over waits inside the block; afterwards time continues from where it is.

        Args:
            may_jump: says whether a jump is allowed; None: when crawls wait for time
                only.
            settles: real seconds without an event before a jump, during which the clock
                stands; 0: jump at once, and run in real time while a jump is not
                allowed.
        """
        self._may_jump = may_jump or self._only_time_is_waited_for
        self._settles = settles
        self._stands_at = self.elapsed()
        self._epoch = time.time() - self._stands_at
        before = Clock.of
        Clock.of = self._clock_of  # type: ignore[assignment,method-assign]
        try:
            with self._following_engines():
                yield
        finally:
            Clock.of = before  # type: ignore[method-assign]
            self._ahead = self._stands_at - time.monotonic()
            self._stands_at = None
            self._epoch = 0.0

    def _clock_of(self, crawler: Crawler) -> Clock:
        self._crawlers.add(crawler)
        with suppress(RuntimeError):  # no loop yet
            self._take_loop()
        return self

    @contextmanager
    def _following_engines(self) -> Iterator[None]:
        """Follow each crawl that begins inside the block, stock Scrapy's too."""
        from scrapy.core.engine import ExecutionEngine

        before = ExecutionEngine.__init__

        def make(engine: ExecutionEngine, crawler: Crawler, *args: Any) -> None:
            self._clock_of(crawler)
            self._take_scrapys_clocks()  # there is a reactor by now
            before(engine, crawler, *args)

        ExecutionEngine.__init__ = make  # type: ignore[assignment,method-assign]
        try:
            yield
        finally:
            ExecutionEngine.__init__ = before  # type: ignore[method-assign]

    def _take_scrapys_clocks(self) -> None:
        """Let the modules of Scrapy that compare times read this clock, from now on."""
        for path in _COMPARE_TIMES:
            if path in self._settled:
                continue
            with suppress(ImportError):  # no HTTP/2 is installed
                if find_spec(path) is not None:
                    self._take_module(import_module(path))
                self._settled.add(path)

    def _take_module(self, module: ModuleType) -> None:
        names = vars(module)
        ours = {"monotonic": self.elapsed, "time": self.now}
        for name, clock in ours.items():
            if names.get(name) is getattr(time, name):
                names[name] = clock
        if names.get("time") is time:
            names["time"] = SimpleNamespace(**{**vars(time), **ours})

    def _take_loop(self) -> None:
        reactor: Any = sys.modules.get("twisted.internet.reactor")  # typed as a module
        by_asyncio = is_asyncio_available()
        if reactor is not None and reactor not in self._loops:
            self._take(reactor, "seconds")
            if not by_asyncio:
                reactor.doIteration = self._instead_of(reactor.doIteration)
        if by_asyncio and (loop := asyncio.get_event_loop()) not in self._loops:
            self._take(loop, "time")
            selector = loop._selector  # type: ignore[attr-defined]
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
            may_jump = self._may_jump()
            began = time.monotonic()
            if not may_jump and not self._settles:
                happened = wait(timeout)
                self._stands_at += time.monotonic() - began
            elif not (happened := wait(0) or wait(self._settles)) and may_jump:
                # timers ring late; a sum of floats may be early
                self._stands_at += timeout + 1e-6
            return happened

        return jump_or_wait


def _is_at_work(crawler: Crawler) -> bool:
    """Return whether a crawl waits for a site or the spider, not only for time.

    A callback that awaits a request counts as that request; a request that waits for
    DOWNLOAD_DELAY only waits for time. This needs private slots of Scrapy; without them
    the answer is no.
    """
    engine: Any = crawler.engine
    if engine is None:  # under construction
        return True
    if _worked_on(engine.downloader):
        return True
    of_scraper = getattr(engine.scraper, "slot", None)
    with_spider: set[Request] = getattr(of_scraper, "active", set())
    of_engine = getattr(engine, "_slot", None)
    under_way: set[Request] = getattr(of_engine, "inprogress", set())
    return len(with_spider) > len(under_way - with_spider)


def _worked_on(downloader: Any) -> list[Request]:
    """Return the requests in the downloader that wait for more than its delays.

    Those that wait for a delayed robots.txt wait for time, too.
    """
    slots = getattr(downloader, "slots", {}).values()
    delayed = {request for slot in slots if slot.latercall for request, _ in slot.queue}
    sites = {
        urlsplit(request.url).netloc
        for request in delayed
        if request.url.endswith("/robots.txt")
    }
    return [
        request
        for request in downloader.active - delayed
        if not sites or urlsplit(request.url).netloc not in sites
    ]


TIME = LoopTime()


@contextmanager
def autojump() -> Iterator[LoopTime]:
    """Skip the waits of crawls that begin inside the block.

    When no crawl waits for an answer, a callback or a pipeline, the clock of the event
    loop jumps to the next timer. A pause of an hour takes no time, and the order of
    events stays the same. Scrapy's delays follow the clock, with the add-on and without
    it; code of yours that reads the machine's clock does not.

    Yields:
        The clock: ``now()`` returns seconds since the epoch, ``skip(seconds)`` moves it
        forward.
    """
    with TIME.turned():
        yield TIME
