"""The account of a crawl: how each accepted request ended, and how many are lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import scrapy.signals
from scrapy.exceptions import IgnoreRequest, NotConfigured

from scrapy_mandelbot import engine
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.events import JOB_REQUEST_UNREADABLE, REQUESTS_ENDED, REQUESTS_LOST
from scrapy_mandelbot.fetching.failures import failure_of
from scrapy_mandelbot.politeness.flight import LOST, End
from scrapy_mandelbot.politeness.outcome import Failure
from scrapy_mandelbot.robots.formatting import counted
from scrapy_mandelbot.throttle.in_flight import SitePausedError
from scrapy_mandelbot.throttle.waiters import is_of_the_package

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_mandelbot.politeness.flight import Tally

_ATTRIBUTE = "_scrapy_mandelbot_account"
_ONE_AND_MORE = {
    End.PAGE: ("page", "pages"),
    End.OTHER: ("other answer", "other answers"),
    End.CACHED: ("answered from a cache",),
    End.FORBIDDEN: ("forbidden by robots.txt",),
    End.USE: ("not sent, as the use is disallowed",),
    End.SEEN: ("filtered as a duplicate", "filtered as duplicates"),
    End.DROPPED: ("dropped by other components",),
    End.TRIED_AGAIN: ("tried again",),
    End.REPLACED: ("replaced by a middleware",),
    End.CANCELLED: ("cancelled",),
    End.NO_HOST: ("without such a host",),
    End.NETWORK: ("without an answer",),
    End.SITE: ("of a site that was given up", "of sites that were given up"),
    End.SECTION: ("of a section that was given up", "of sections that were given up"),
    End.URL: ("given up, as its page alone is refused", "given up, as each page alone is refused"),
    End.WAITED: ("that waited too long",),
    End.ERROR: ("ended by an error in the project",),
    End.LEFT: ("left in the queue",),
}


class Account:
    """Counts requests that end without an answer, and logs the ends of all when the crawl ends.

    It is the downloader middleware nearest the engine, so no other middleware retries an exception
    that reaches it. Other components count answers and refusals (`Tally`).
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._crawl = Crawl.of(crawler)
        if not self._crawl.config.enabled:
            raise NotConfigured
        self.from_former_run = 0
        """Requests that the previous run left."""
        self._left: int | None = None
        connect = crawler.signals.connect
        connect(self._spider_opened, signal=scrapy.signals.spider_opened)
        connect(self._request_dropped, signal=scrapy.signals.request_dropped)
        connect(self._spider_closed, signal=scrapy.signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Account:
        """Build the middleware."""
        account = cls(crawler)
        setattr(crawler, _ATTRIBUTE, account)
        return account

    def process_exception(self, request: Request, exception: Exception) -> None:
        """Count a request that fails for good."""
        if not is_of_the_package(request):
            tally = self._crawl.throttle.site_of(request).tally
            tally.count(End.TRIED_AGAIN, -1)
            fates = self._crawl.fates
            tally.count(fates.pop(request) if request in fates else _end_of(exception))

    @property
    def left(self) -> int:
        """Requests that wait or are in flight; after the crawl: those left in the queue."""
        if self._left is not None:
            return self._left
        so_far = self._crawl.throttle.sites.counted()
        left = self.from_former_run + so_far.taken - so_far.ended
        if self._crawl.config.shares_job:  # other workers have taken some
            return max(0, left)
        return left

    def counted(self) -> Tally:
        """Return how all requests so far ended."""
        total = self._crawl.throttle.sites.counted()
        total.count(End.LEFT, self.left)
        return total

    def _spider_opened(self) -> None:
        self.from_former_run = self._waiting() - self._crawl.throttle.sites.counted().taken
        engine.before_requests_are_left(self._crawler, self._count_leftovers)

    def _count_leftovers(self) -> None:
        """Count what stays queued or set aside; a request still in flight has been replaced."""
        throttle = self._crawl.throttle
        if self._crawl.config.shares_job:  # other workers take from it and add to it
            return
        unreadable = self._crawler.stats.get_value(JOB_REQUEST_UNREADABLE.stats[0], 0)
        self._left = self._waiting() + unreadable
        for flight in throttle.in_flight.flights():
            if not is_of_the_package(flight.request):
                flight.site.tally.count(flight.end)

    def _waiting(self) -> int:
        """Requests in a third-party scheduler do not count: they are not accepted yet."""
        if self._crawl.job is None:
            return len(self._crawl.throttle.queues)
        return engine.scheduler_length(self._crawler)

    def _request_dropped(self, request: Request) -> None:
        tally = self._crawl.throttle.site_of(request).tally
        tally.taken += 1
        tally.count(End.SEEN)

    def _spider_closed(self) -> None:
        total = self.counted()
        if not (total.taken or self.from_former_run):
            return
        ends = total.by_end()
        values: dict[str, Any] = {str(end): ends.get(end, 0) for end in End}
        lost = {end: count for end, count in ends.items() if end in LOST}
        emit = self._crawl.events.emit
        emit(
            REQUESTS_ENDED,
            account=f"{total.taken + self.from_former_run:,} accepted: {_ends_text(ends)}",
            taken_in=total.taken,
            from_former_run=self.from_former_run,
            lost=total.lost,
            **values,
        )
        if lost:
            how, advice = _ends_text(lost), " ".join(self._advice(lost))
            emit(REQUESTS_LOST, lost=counted(total.lost, "request"), how=how, advice=advice)

    def _advice(self, lost: dict[End, int]) -> Iterator[str]:
        if {End.SITE, End.SECTION, End.URL} & lost.keys():
            if not self._crawl.throttle.keeps_given_up:
                yield "Set JOBDIR to store the requests of given-up sites for the next run."
            config = self._crawl.config
            names = ["tries"] if config.pause_total is None else ["tries", "total"]
            options = " and ".join(f"MANDELBOT_PAUSE_OPTIONS[{name!r}]" for name in names)
            yield f"Raise {options} to wait longer for such sites."
        if End.NETWORK in lost:
            yield "Raise RETRY_TIMES to retry more often."
        if End.WAITED in lost:
            yield "Raise MANDELBOT_PAUSE_OPTIONS['wait'] to wait longer outside the queue."
        if End.ERROR in lost:
            yield "See the errors in the log."


def account_of(crawler: Crawler) -> Account | None:
    """Return the crawler's account; None: there is none."""
    found = vars(crawler).get(_ATTRIBUTE)
    return found if isinstance(found, Account) else None


def _end_of(exception: Exception) -> End:
    if isinstance(exception, SitePausedError):
        return End.SITE
    if isinstance(exception, IgnoreRequest):
        return End.DROPPED
    failure = failure_of(exception)
    if failure is Failure.NO_SUCH_HOST:
        return End.NO_HOST
    return End.ERROR if failure is Failure.OTHER else End.NETWORK


def _ends_text(ends: dict[End, int]) -> str:
    names = _ONE_AND_MORE
    return ", ".join(counted(n, names[end][0], names[end][-1]) for end, n in ends.items())
