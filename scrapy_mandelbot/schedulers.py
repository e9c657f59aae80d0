"""A scheduler around one that is not Scrapy's, so that paused sites can be passed by there too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.core.scheduler import BaseScheduler
from scrapy.squeues import LifoMemoryQueue
from scrapy.utils.misc import build_from_crawler

from scrapy_mandelbot.config import SettingsError
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.queue import SiteQueue

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from twisted.internet.defer import Deferred

MOST_PARKED = 1_000
"""Requests that are taken out of the project's scheduler at a time, those of paused sites mostly.

They are in memory. When so many are of sites that are paused, other sites have to wait as well.
"""

_MARK = "mandelbot_unfiltered"
"""Meta key of a request given back: its ``dont_filter`` is ours, to be taken off again."""


class ParkingScheduler(BaseScheduler):
    """Hands out what the project's scheduler does, but parks requests of paused sites.

    What is parked when the spider closes is given back to the project's scheduler.
    """

    def __init__(self, crawler: Crawler, inner: Any) -> None:
        self.inner = inner
        """The project's own scheduler."""
        self._in_flight = Crawl.of(crawler).throttle.in_flight
        self._parked = SiteQueue(crawler, LifoMemoryQueue, "")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> ParkingScheduler:
        """Build it around the scheduler of MANDELBOT_INNER_SCHEDULER.

        Raises:
            SettingsError: there is none, or it is no scheduler.
        """
        inner = Crawl.of(crawler).config.inner_scheduler
        if inner is None or not issubclass(inner, BaseScheduler):
            raise SettingsError("MANDELBOT_INNER_SCHEDULER", inner, "a scheduler class")
        return cls(crawler, build_from_crawler(inner, crawler))

    def __len__(self) -> int:
        # One that cannot count them says whether there are any.
        has_length = hasattr(self.inner, "__len__")
        left = len(self.inner) if has_length else bool(self.inner.has_pending_requests())
        return len(self._parked) + left

    def __getattr__(self, name: str) -> Any:
        """Be as the project's scheduler in all else: its own components may ask for it."""
        return getattr(self.inner, name)

    def open(self, spider: Spider) -> Deferred[None] | None:
        """Open the project's scheduler, if it wants to be opened."""
        return self._call("open", spider)

    def close(self, reason: str) -> Deferred[None] | None:
        """Give back what is parked, and close the project's scheduler."""
        for request in self._parked.drain():
            if not request.dont_filter:  # it has passed the dupe filter once
                request.meta[_MARK] = True
                request.dont_filter = True
            self.inner.enqueue_request(request)
        return self._call("close", reason)

    def has_pending_requests(self) -> bool:
        """Return whether anything is left to do."""
        return bool(len(self._parked)) or bool(self.inner.has_pending_requests())

    def enqueue_request(self, request: Request) -> bool:
        """Park a request that comes back; hand the others to the project's scheduler."""
        if self._in_flight.is_coming_back(request):
            self._parked.push(request)
            return True
        return bool(self.inner.enqueue_request(request))

    def next_request(self) -> Request | None:
        """Return the next request of a site that may be asked now, or None."""
        request = self._parked.pop()
        while request is None and len(self._parked) < MOST_PARKED:
            taken = self.inner.next_request()
            if taken is None:
                return None
            if taken.meta.pop(_MARK, False):
                taken.dont_filter = False
            self._parked.push(taken)
            request = self._parked.pop()
        return request

    def _call(self, name: str, argument: object) -> Deferred[None] | None:
        """Call a method that a scheduler need not have."""
        method = getattr(self.inner, name, None)
        result: Deferred[None] | None = None if method is None else method(argument)
        return result
