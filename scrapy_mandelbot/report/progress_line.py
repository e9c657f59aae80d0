"""One line on the terminal that shows how far a crawl is.

It is rewritten each second, and stands below the log: a handler that writes to the same
terminal removes it before a log line, and it is drawn again afterwards. There is none
where standard error is no terminal.
"""

from __future__ import annotations

import logging
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from math import isfinite
from threading import RLock
from typing import TYPE_CHECKING, Any

from mandelbot.cli.output import RewrittenLine
from mandelbot.formatting import counted
from scrapy.exceptions import NotConfigured

from scrapy_mandelbot.clock import elapsed
from scrapy_mandelbot.report.account import account_of
from scrapy_mandelbot.report.snapshots import held
from scrapy_mandelbot.report.summary import CrawlExtension
from scrapy_mandelbot.time_text import duration, moment

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

EVERY = 1.0
"""Seconds between two lines; more where looking at the sites takes long."""
_SHARE = 0.02  # of the crawl's time
_REDRAWN = 0.25  # least seconds between two lines in a burst of log lines
_WINDOW = 30  # the last lines, between which pages a second are counted


class CrawlProgress(CrawlExtension):
    """Shows how many answers came and how many requests are known to come."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        if not self._crawl.config.progress:
            raise NotConfigured
        self.parts: list[str] = []
        """What the line says, the most important first."""
        self._counts: deque[tuple[float, int]] = deque(maxlen=_WINDOW)
        """Times, and the answers that had come by then."""
        self._paused = 0
        self._next_at = 0.0
        self._last_at = 0.0

    @property
    def name(self) -> str:
        """The name of the spider."""
        spider = self._crawler.spider
        return "" if spider is None else spider.name

    def spider_opened(self) -> None:
        """Show the line, unless a person waits for a single page."""
        if self._crawl.asks_for_more:
            self._counts.append((self._crawl.now(), 0))
            SCREEN.add(self)
            self._steps.later(EVERY, self._look)

    def spider_closed(self) -> None:
        """Remove the line."""
        self._steps.cancel()
        SCREEN.remove(self)

    def _look(self) -> None:
        self._steps.take(self._find_paused(self._crawl.now()), self._show)

    def _find_paused(self, now: float) -> Iterator[None]:
        """Count the sites that nothing is sent to, and find the first and last end."""
        paused = 0
        ends = []
        for site in self._crawl.sites.in_trouble():
            yield
            why = held(site, now) if site.is_shut(now) else None
            if why is not None and not site.pause.is_given_up:
                paused += 1
                if why.until is not None and isfinite(why.until):
                    ends.append(why.until)
        self._paused = paused
        self._next_at = min(ends, default=0.0)
        self._last_at = max(ends, default=0.0)

    def _show(self) -> None:
        now = self._crawl.now()
        done = self._crawler.stats.get_value("response_received_count", 0)
        account = account_of(self._crawler)
        left = 0 if account is None else account.known_to_come
        then, done_then = self._counts[0]
        rate = (done - done_then) / (now - then) if now > then else 0.0
        self._counts.append((now, done))
        least = left / rate if rate else 0.0
        if self._paused and left:
            least = max(least, self._last_at - now)
        pauses = ""
        if self._paused:
            pauses = f"{counted(self._paused, 'site')} paused"
            if self._next_at > now:
                pauses += f", next at {moment(self._next_at):%H:%M:%S} UTC"
        self.parts = list(filter(None, _parts(done, left, rate, least, pauses)))
        SCREEN.draw()
        self._steps.later(max(EVERY, self._steps.spent / _SHARE), self._look)


def _parts(
    done: int, left: int, rate: float, least: float, pauses: str
) -> Iterator[str]:
    """Yield what the line says, the most important first."""
    known = done + left
    yield f"{done / known:.0%}: {done:,} done" if known else "0 done"
    yield f"{left:,} known to come"
    yield f"at least {duration(round(least))} left" if left and least >= 1 else ""
    yield f"{rate:.1f}/s" if rate < 10 else f"{rate:,.0f}/s"  # noqa: PLR2004
    yield pauses


def fitted(parts: Sequence[str], width: int) -> str:
    """Return the first parts, as many as a line has room for."""
    line = ""
    for part in parts:
        longer = f"{line}, {part}" if line else part
        if line and len(longer) > width:
            break
        line = longer
    return line


class Screen:
    """The line of all crawls of this process, and the log above it."""

    def __init__(self) -> None:
        self._crawls: list[CrawlProgress] = []
        self._line: RewrittenLine | None = None
        self._handlers: list[logging.Handler] = []
        self._drawn_at = 0.0
        # A log line may come from any thread.
        self._lock = RLock()

    def add(self, crawl: CrawlProgress) -> None:
        """Show a crawl, too."""
        with self._lock:
            self._crawls.append(crawl)
            if self._line is None:
                self._line = RewrittenLine(sys.stderr, os.environ)
            self._surround_handlers()

    def remove(self, crawl: CrawlProgress) -> None:
        """No longer show a crawl; without any the line is gone."""
        with self._lock:
            if crawl not in self._crawls:
                return
            self._crawls.remove(crawl)
            if self._line is not None:
                self._line.clear()
            if not self._crawls:
                self._line = None
                self._release_handlers()

    def draw(self) -> None:
        """Write the line."""
        with self._lock:
            if self._line is None:
                return
            self._surround_handlers()
            self._drawn_at = elapsed()
            self._line.show(self._text(self._line.width))

    def _text(self, width: int) -> str:
        shown = [one for one in self._crawls if one.parts]
        if len(shown) == 1:
            return fitted(shown[0].parts, width)
        return fitted([f"{one.name} {one.parts[0]}" for one in shown], width)

    def _surround_handlers(self) -> None:
        """Let each handler that may write to the terminal remove the line before."""
        for handler in logging.getLogger().handlers:
            is_elsewhere = isinstance(
                handler, (logging.FileHandler, logging.NullHandler)
            )
            if not is_elsewhere and handler not in self._handlers:
                self._handlers.append(handler)
                # as tqdm's and rich's own handlers do; Scrapy's root handler is shared
                setattr(handler, "emit", self._around(handler.emit))  # noqa: B010

    def _release_handlers(self) -> None:
        for handler in self._handlers:
            vars(handler).pop("emit", None)
        self._handlers.clear()

    def _around(self, emit: Callable[[Any], None]) -> Callable[[Any], None]:
        def emit_above_the_line(record: logging.LogRecord) -> None:
            with self._lock:
                if self._line is not None:
                    self._line.clear()
                emit(record)
                if elapsed() > self._drawn_at + _REDRAWN:
                    self.draw()

        return emit_above_the_line


SCREEN = Screen()
"""The terminal of this process."""
