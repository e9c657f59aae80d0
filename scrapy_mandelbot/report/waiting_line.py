"""The log line about waiting sites."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from scrapy_mandelbot.events import WAITING
from scrapy_mandelbot.report import status
from scrapy_mandelbot.report.survey import Survey
from scrapy_mandelbot.time_text import moment

if TYPE_CHECKING:
    from datetime import datetime

    from scrapy_mandelbot.crawl import Crawl
    from scrapy_mandelbot.report.snapshots import SiteSnapshot


class WaitingLine:
    """Logs what a crawl waits for, where that has changed."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self._logged: set[tuple[str, status.Reason, float | None]] = set()

    def find(self, waiting: list[SiteSnapshot], now: float) -> Iterator[None]:
        """Add the sites that have to wait to a list, in steps."""
        if not self._crawl.sites.in_trouble():
            return
        for one in Survey(self._crawl.throttle, now).snapshots():
            if one is not None and one.reason in status.WAITS:
                waiting.append(one)
            yield

    def log(self, waiting: Sequence[SiteSnapshot], at: datetime) -> None:
        """Log the line, unless it says what the last one said."""
        waits = set(map(_what_waits, waiting))
        if waits != self._logged:
            self._logged = waits
            if waits:
                self._crawl.events.emit(WAITING, status=_in_one_line(waiting, at))


def _what_waits(one: SiteSnapshot) -> tuple[str, status.Reason, float | None]:
    """Return what is logged again if it changes.

    A site with a crawl delay has a new time for each request, which is no change.
    """
    until = None if one.reason is status.Reason.PACE else one.until
    return one.site, one.reason, until


def _in_one_line(waiting: Sequence[SiteSnapshot], at: datetime) -> str:
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
