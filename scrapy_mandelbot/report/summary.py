"""The table at the end of a crawl, and the log line about waiting sites."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import inf
from typing import TYPE_CHECKING

import scrapy.signals
from scrapy.exceptions import NotConfigured

from scrapy_mandelbot.clock import CooperativeIterator
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.events import WAITING
from scrapy_mandelbot.report.recorder import Recorder
from scrapy_mandelbot.robots.formatting import columns, counted, moment, rate_text, shown
from scrapy_mandelbot.settings.values import fail_cleanly

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler
    from typing_extensions import Self

    from scrapy_mandelbot.report import status
    from scrapy_mandelbot.report.recorder import CrawlRecord
    from scrapy_mandelbot.report.site_record import SiteRecord

    _Waits = set[tuple[str, status.Reason, float | None]]

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
        crawler.signals.connect(extension.spider_opened, signal=scrapy.signals.spider_opened)
        crawler.signals.connect(extension.spider_closed, signal=scrapy.signals.spider_closed)
        return extension


class CrawlSummary(CrawlExtension):
    """Logs what a crawl waits for and, when it ends, a table of its sites.

    The line is logged every ``LOGSTATS_INTERVAL`` seconds at most, and only after a change. The
    table lists ``MANDELBOT_SUMMARY`` sites.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._most_sites = self._crawl.config.summary
        self._interval = crawler.settings.getfloat("LOGSTATS_INTERVAL")
        self._recorder = Recorder.of(crawler) if self._most_sites else None
        self._logged: _Waits = set()

    def spider_opened(self) -> None:
        """Start the periodic line, unless a person waits for a single page."""
        if not self._crawl.asks_for_more:
            self._recorder = None
        elif self._interval > 0:
            self._steps.later(self._interval, self._look)

    def spider_closed(self, spider: Spider) -> None:
        """Log the table."""
        self._steps.cancel()
        if self._recorder is None or not self._recorder.record:
            return
        table = summary(self._recorder.record, self._crawl.now(), self._most_sites)
        logger.info("What happened at the sites:\n%s", table, extra={"spider": spider})

    def _look(self) -> None:
        waits: _Waits = set()
        totals, now = Totals(), self._crawl.now()
        self._steps.take(
            self._count(totals, waits, now), lambda: self._log(totals, waits, moment(now))
        )

    def _count(self, totals: Totals, waits: _Waits, now: float) -> Iterator[None]:
        throttle = self._crawl.throttle
        if not throttle.sites.in_trouble():  # no site has to wait
            return
        from scrapy_mandelbot.report import status, survey  # noqa: PLC0415 -- only if sites wait

        for one in survey.Survey(throttle, now).snapshots():
            if one is not None and one.reason in status.WAITS:
                totals.add(one.reason, one.waiting, one.until, one.site)
                is_pace = one.reason is status.Reason.PACE  # each request has a new time
                waits.add((one.site, one.reason, None if is_pace else one.until))
            yield

    def _log(self, totals: Totals, waits: _Waits, at: datetime) -> None:
        if waits != self._logged:
            self._logged = waits
            if waits:
                self._crawl.events.emit(WAITING, status=totals.as_text(at))
        self._steps.later(self._interval, self._look)


@dataclass(slots=True)
class Totals:
    """The contents of the line about waiting sites."""

    waiting: int = 0
    found: Counter[status.Reason] = field(default_factory=Counter)
    """The number of sites by reason."""
    next_at: float = inf
    """When the next request may be sent, in seconds since the epoch."""
    next_site: str = ""
    """The site of that request; ``""``: none waits for a time."""

    def add(self, reason: status.Reason, waiting: int, until: float | None, site: str) -> None:
        """Count a site."""
        self.found[reason] += 1
        self.waiting += waiting
        is_first = not self.next_site or (until or 0.0, site) < (self.next_at, self.next_site)
        if until is not None and waiting and is_first:
            self.next_at, self.next_site = until, site

    def as_text(self, at: datetime) -> str:
        """Return one line for a log."""
        from scrapy_mandelbot.report import status  # noqa: PLC0415 -- only where some site waits

        until = moment(self.next_at) if self.next_site else None
        found = status.in_order(self.found)
        return status.in_one_line(found, self.waiting, until, self.next_site, at)


def summary(record: CrawlRecord, now: float, most_sites: int) -> str:
    """Return the table: given up, most troubled, largest sites first; the others in one line."""
    sites = record.in_order()
    listed, folded = sites[:most_sites], sites[most_sites:]
    rows = [_row(shown(one.site, _SITE_SHOWN), one, now) for one in listed]
    rest = record.folded(folded, now)
    if rest.sites:
        rows.append(_row(f"{counted(rest.sites, 'more site')} together", rest, now))
    return "\n".join("  ".join(cells).rstrip() for cells in columns([HEADER, *rows]))


def _row(name: str, one: SiteRecord, now: float) -> Sequence[object]:
    pauses = one.pauses_seen
    return (
        name,
        one.pages,
        one.lost or None,
        one.forbidden,
        one.refused,
        pauses,
        one.paused_for(now) if pauses else None,
        None if one.pace is None else one.pace.asked,
        None if one.limit is None else rate_text(one.limit),
        _kept(one),
        0 if one.sitemaps is None else one.sitemaps.cited,
        0 if one.tags is None else one.tags.pages,
        None if not one.site or one.state() == "well" else one.state(),
    )


def _kept(one: SiteRecord) -> float | str | None:
    if one.pace is None:
        return None
    if one.gaps is None:
        return None if one.pace.is_obeyed else "not obeyed"
    return one.gaps.least
