"""The table at the end of a crawl, and the log line about waiting sites."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import scrapy.signals
from mandelbot.formatting import columns, counted, shown
from scrapy.exceptions import NotConfigured

from scrapy_mandelbot.clock import CooperativeIterator
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.events import WAITING
from scrapy_mandelbot.events.emitter import has_handler
from scrapy_mandelbot.report import status
from scrapy_mandelbot.report.recorder import Recorder
from scrapy_mandelbot.report.survey import Survey
from scrapy_mandelbot.settings.values import fail_cleanly
from scrapy_mandelbot.time_text import moment, rate_text

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler
    from typing_extensions import Self

    from scrapy_mandelbot.report.crawl_record import CrawlRecord
    from scrapy_mandelbot.report.site_record import SiteRecord
    from scrapy_mandelbot.report.snapshots import SiteSnapshot

logger = logging.getLogger(__name__)

_SITE_SHOWN = 60  # characters
HEADER = (
    *("SITE", "PAGES", "LOST", "FORBIDDEN", "REFUSED", "PAUSES", "SECONDS"),
    *("PACE", "LIMIT", "KEPT", "SITEMAPS", "TAGGED", "END"),
)


class CrawlExtension:
    """An extension that works in steps while the spider is open."""

    at_a_time: int | None = None
    """Steps in one slice; None: the default."""
    spider_opened: Callable[..., None]
    spider_closed: Callable[..., None]

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
        self._logged: set[tuple[str, status.Reason, float | None]] = set()

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
        table = summary(record, self._crawl.now(), self._most_sites)
        logger.info("What happened at the sites:\n%s", table, extra={"spider": spider})

    def _look(self) -> None:
        waiting: list[SiteSnapshot] = []
        now = self._crawl.now()
        self._steps.take(
            self._find(waiting, now), lambda: self._log(waiting, moment(now))
        )

    def _find(self, waiting: list[SiteSnapshot], now: float) -> Iterator[None]:
        if not self._crawl.sites.in_trouble():  # no site has to wait
            return
        for one in Survey(self._crawl.throttle, now).snapshots():
            if one is not None and one.reason in status.WAITS:
                waiting.append(one)
            yield

    def _log(self, waiting: list[SiteSnapshot], at: datetime) -> None:
        waits = set(map(_what_waits, waiting))
        if waits != self._logged:
            self._logged = waits
            if waits:
                self._crawl.events.emit(WAITING, status=_in_one_line(waiting, at))
        self._steps.later(self._interval, self._look)


def _what_waits(one: SiteSnapshot) -> tuple[str, status.Reason, float | None]:
    """Return what is logged again if it changes.

    A site with a crawl delay has a new time for each request, which is no change.
    """
    until = None if one.reason is status.Reason.PACE else one.until
    return one.site, one.reason, until


def _in_one_line(waiting: list[SiteSnapshot], at: datetime) -> str:
    timed = (
        (one.until, one.site)
        for one in waiting
        if one.waiting and one.until is not None
    )
    until, site = min(timed, default=(None, ""))
    by_reason = Counter(one.reason for one in waiting)
    requests = sum(one.waiting for one in waiting)
    next_at = None if until is None else moment(until)
    return status.in_one_line(by_reason, requests, next_at, site, at)


def summary(record: CrawlRecord, now: float, most_sites: int) -> str:
    """Return the table: given up, troubled, largest first; the others in one line."""
    sites = record.in_order()
    listed = sites[:most_sites]
    folded = sites[most_sites:]
    rows = [_row(shown(one.site, _SITE_SHOWN), one, now) for one in listed]
    rest = record.folded(folded, now)
    if rest.sites:
        rows.append(_row(f"{counted(rest.sites, 'more site')} together", rest, now))
    return "\n".join("  ".join(cells).rstrip() for cells in columns([HEADER, *rows]))


def _row(name: str, one: SiteRecord, now: float) -> Sequence[object]:
    pauses = one.pauses_seen
    state = one.state()
    return (
        name,
        one.pages,
        one.lost or None,
        one.forbidden,
        one.refused,
        pauses,
        one.paused_for(now) if pauses else None,
        None if one.pace is None else one.pace.asked,
        _limit(one),
        _obeyed(one),
        0 if one.sitemaps is None else one.sitemaps.cited,
        0 if one.tags is None else one.tags.pages,
        state if one.site and state != "well" else None,
    )


def _limit(one: SiteRecord) -> str | None:
    """Return the limits of a site that were found; None: there are none."""
    limits = []
    if one.limit is not None:
        limits.append(rate_text(one.limit))
    if one.concurrency is not None:
        limits.append(f"{one.concurrency.bound} of {one.concurrency.most} at once")
    return ", ".join(limits) or None


def _obeyed(one: SiteRecord) -> str | None:
    """Return whether the crawl delay of a site is obeyed; None: it has none."""
    if one.pace is None:
        return None
    if one.pace.is_obeyed:
        return "obeyed"
    came = one.came_every()
    return "not obeyed" if came is None else f"not obeyed: {came:g} s"
