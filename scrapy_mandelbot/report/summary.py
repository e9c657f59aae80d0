"""The table at the end of a crawl, and the log line about waiting sites."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import scrapy.signals
from mandelbot.formatting import counted, shown
from scrapy.exceptions import NotConfigured

from scrapy_mandelbot.clock import CooperativeIterator
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.events.emitter import has_handler
from scrapy_mandelbot.fields import table
from scrapy_mandelbot.report.recorder import Recorder
from scrapy_mandelbot.report.site_record import SiteRecord
from scrapy_mandelbot.settings.values import fail_cleanly
from scrapy_mandelbot.time_text import moment

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler
    from typing_extensions import Self

    from scrapy_mandelbot.fields import Column, Field
    from scrapy_mandelbot.report.crawl_record import CrawlRecord
    from scrapy_mandelbot.report.snapshots import SiteSnapshot
    from scrapy_mandelbot.report.waiting_line import WaitingLine

logger = logging.getLogger(__name__)

_SITE_SHOWN = 60  # characters
_LEAST_SITE = 8
_WIDEST = 200  # characters of a line


class CrawlExtension:
    """An extension that works in steps while the spider is open."""

    at_a_time: int | None = None
    """Steps in one slice; None: the default."""
    spider_opened: Callable[..., None]
    spider_closed: Callable[..., Any]

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._crawl = Crawl.of(crawler)
        if not self._crawl.config.enabled:
            raise NotConfigured
        self._steps = CooperativeIterator(self._crawl.clock, self.at_a_time)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build the extension; an invalid setting ends the crawl."""
        with fail_cleanly(crawler):
            extension = cls(crawler)
        crawler.signals.connect(
            extension.spider_opened, signal=scrapy.signals.spider_opened
        )
        crawler.signals.connect(
            extension.spider_closed, signal=scrapy.signals.spider_closed
        )
        return extension


class CrawlSummary(CrawlExtension):
    """Logs what a crawl waits for and, when it ends, a table of its sites.

    The line is logged every ``LOGSTATS_INTERVAL`` seconds at most, and only after a
    change. The table lists ``MANDELBOT_SUMMARY`` sites.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._most_sites = self._crawl.config.summary
        self._interval = crawler.settings.getfloat("LOGSTATS_INTERVAL")
        self._recorder = Recorder.of(crawler) if self._most_sites else None
        self._line: WaitingLine | None = None
        """Logs what the crawl waits for; None: no site has been in trouble."""

    def spider_opened(self) -> None:
        """Start the periodic line, unless a person waits for a single page."""
        if not self._crawl.asks_for_more:
            self._recorder = None
        elif self._interval > 0:
            self._steps.later(self._interval, self._look)

    def spider_closed(self, spider: Spider) -> None:
        """Log the table."""
        self._steps.cancel()
        if self._recorder is None or not has_handler(logger, logging.INFO):
            return
        record = self._recorder.record
        if not record.in_order():
            return
        width = self._width()
        table = summary(record, self._crawl.now(), self._most_sites, width)
        logger.info("What happened at the sites:\n%s", table, extra={"spider": spider})

    def _width(self) -> int:
        """Return the width of the terminal that shows the log; of a file 80."""
        # Imported late: only the end of a crawl needs it.
        from mandelbot.cli.output import width_of  # noqa: PLC0415

        is_file = bool(self._crawler.settings["LOG_FILE"])
        stream = None if is_file else sys.stderr
        return width_of(stream, os.environ, _WIDEST)

    def _look(self) -> None:
        if self._line is None and not self._crawl.sites.in_trouble():
            self._steps.later(self._interval, self._look)  # no site has to wait
            return
        if self._line is None:
            from scrapy_mandelbot.report.waiting_line import (  # noqa: PLC0415 -- few crawls
                WaitingLine,
            )

            self._line = WaitingLine(self._crawl)
        waiting: list[SiteSnapshot] = []
        now = self._crawl.now()
        self._steps.take(
            self._line.find(waiting, now), lambda: self._log(waiting, moment(now))
        )

    def _log(self, waiting: list[SiteSnapshot], at: datetime) -> None:
        if self._line is not None:
            self._line.log(waiting, at)
        self._steps.later(self._interval, self._look)


def summary(
    record: CrawlRecord, now: float, most_sites: int, width: int | None = None
) -> str:
    """Return the table: given up, troubled, largest first; the others in one line.

    `width`: characters of a line; what does not fit follows below. None: any number.
    """
    sites = record.in_order()
    listed = sites[:most_sites]
    names = [shown(one.site, _SITE_SHOWN) for one in listed]
    rest = record.folded(sites[most_sites:], now)
    if rest.sites:
        names.append(f"{counted(rest.sites, 'more site')} together")
        listed.append(rest)
    cells = []
    for about, column in table(SiteRecord.FIELDS):
        values = [_cell(about, column, one, now) for one in listed]
        cells.append(_Cells(column.heading, values))
    used = [column for column in cells if column.has_value]
    return "\n\n".join(_tables(names, used, width))


def headings() -> list[str]:
    """Return the headings of the table, the most important first.

    A column without a value is left out.
    """
    return [column.heading for _, column in table(SiteRecord.FIELDS)]


class _Cells:
    """The cells of one column."""

    def __init__(self, heading: str, values: Sequence[int | str | None]) -> None:
        self.is_empty = [value is None for value in values]
        texts = [heading, *map(_text, values)]
        self.width = max(map(len, texts))
        """The characters of each cell."""
        is_text = any(isinstance(value, str) for value in values)
        align = str.ljust if is_text else str.rjust
        self.texts = [align(text, self.width) for text in texts]
        """The heading and the cells."""

    @property
    def has_value(self) -> bool:
        """Whether a cell is not empty."""
        return not all(self.is_empty)


def _text(value: int | str | None) -> str:
    return f"{value:,}" if isinstance(value, int) else value or ""


def _tables(
    names: Sequence[str], columns: Sequence[_Cells], width: int | None
) -> Iterator[str]:
    """Yield tables whose lines fit, each with columns that the last has no room for.

    The first has a line for each site, the others for those with a value there.
    """
    places: Sequence[int] = range(len(names))
    longest = max(map(len, ("SITE", *names)))
    left = list(columns)
    while left:
        here, site_width = _that_fit(left, longest, width)
        left = left[len(here) :]
        lines = [("SITE", *(column.texts[0] for column in here))]
        for place in places:
            cells = (column.texts[place + 1] for column in here)
            lines.append((shown(names[place], site_width), *cells))
        site_width = max(len(name) for name, *_ in lines)
        yield "\n".join(
            "  ".join((name.ljust(site_width), *cells)).rstrip()
            for name, *cells in lines
        )
        following, _ = _that_fit(left, longest, width)
        places = [
            place
            for place in range(len(names))
            if not all(column.is_empty[place] for column in following)
        ]


def _that_fit(
    columns: Sequence[_Cells], longest: int, width: int | None
) -> tuple[list[_Cells], int]:
    """Return the first columns that a line has room for, and the room for its site.

    Names of sites are cut at half of a line rather than that columns go below, and
    further only for a single column.
    """
    here = list(columns)
    if width is None or not here:
        return here, longest
    site_width = min(longest, max(width // 2, width - _widths(here)))
    while len(here) > 1 and site_width + _widths(here) > width:
        here.pop()
    return here, max(_LEAST_SITE, min(site_width, width - _widths(here)))


def _widths(columns: Sequence[_Cells]) -> int:
    return sum(2 + column.width for column in columns)


def _cell(
    about: Field, column: Column, one: SiteRecord, now: float
) -> int | str | None:
    """Return what a site has in a column; None: nothing."""
    value: Any = about.of(one, now)
    if column.path and value is not None:
        value = getattr(value, column.path)
    return value if value or column.shows_zero else None
