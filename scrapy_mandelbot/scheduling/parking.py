"""A scheduler around the project's own that parks requests of waiting sites."""

from __future__ import annotations

import logging
from math import inf
from typing import TYPE_CHECKING, Any

from scrapy.core.scheduler import BaseScheduler
from scrapy.utils.misc import build_from_crawler

from scrapy_mandelbot import engine
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.scheduling.delays import end_delay, start_delay
from scrapy_mandelbot.scheduling.site_queue import SiteQueue
from scrapy_mandelbot.scheduling.storage import ParkedRequests, warn_of_lost
from scrapy_mandelbot.settings.values import SettingsError

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from twisted.internet.defer import Deferred


logger = logging.getLogger(__name__)

PARKED = 100
"""Parked requests, in memory: a process that dies loses them. Later ones are given
back.
"""
MOST_PARKED = 1_000
"""As many are held where none can go back behind others. Then other sites have to wait
as well.
"""

TAKEN_AT_ONCE = 50
"""Requests that are taken and have to wait in a turn of the loop: each may be a round
trip.
"""
_FAILURES = 3
"""In a row, when requests are given back: a server that is gone may take half a minute
for each.
"""

# requests in a row that went back before; then there are no others, it seems
AROUND = 10
_LOOK_AGAIN = 1.0  # seconds
# of priority; more each time, so that the others of their kind get by
_BEHIND = 1_000_000_000

_MARK = "mandelbot_unfiltered"
"""Meta key of a request given back: its ``dont_filter`` is ours, to be taken off again.
"""
_WENT_BACK = "mandelbot_went_back"
"""Meta key of a request given back behind all others: its own priority, and how often
it went.
"""


class ParkingScheduler(BaseScheduler):
    """Hands out the project's scheduler's requests in order, and skips waiting sites.

    To reach the requests behind those of a waiting site, it takes these out and parks
    them until the site may be requested. If more than a few are parked, later ones
    return to the project's scheduler, at a priority behind all others. It takes any
    other request only when the engine can send it, so that requests shared with other
    processes stay in place. Parked requests return to the project's scheduler when the
    spider closes.
    """

    def __init__(self, crawler: Crawler, inner: Any) -> None:
        self.inner = inner
        """The project's own scheduler."""
        self._crawler = crawler
        self._in_flight = Crawl.of(crawler).throttle.in_flight
        self._now = Crawl.of(crawler).now
        self.parked = SiteQueue.over(crawler, ParkedRequests())
        Crawl.of(crawler).load.has_more = self._may_take
        self.lets_pass = True
        """Whether what goes back to the project's scheduler lets others pass."""
        self._went_last = ""
        self._around = 0
        self._rests_until = -inf

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
        if hasattr(self.inner, "__len__"):
            return len(self.parked) + len(self.inner)
        # One that cannot count them says whether there are any.
        return len(self.parked) + bool(self.inner.has_pending_requests())

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the project's scheduler: some components use it."""
        return getattr(self.inner, name)

    def open(self, spider: Spider) -> Deferred[None] | None:
        """Open the project's scheduler, if it wants to be opened."""
        return self._call("open", spider)

    def close(self, reason: str) -> Deferred[None] | None:
        """Give back parked requests, and close the project's scheduler anyway."""
        why = f"that had been parked, as {type(self.inner).__name__} takes none back"
        warn_of_lost(self._crawler, self._give_all_back(), why)
        return self._call("close", reason)

    def has_pending_requests(self) -> bool:
        """Return whether anything is left to do."""
        if len(self.parked):
            return True
        return bool(self.inner.has_pending_requests())

    def enqueue_request(self, request: Request) -> bool:
        """Park a request that comes back, or hand it to the project's scheduler."""
        if request in self._in_flight.coming_back:
            self.parked.push(request)
            return True
        start_delay(request, self._now())
        self._rests_until = -inf
        return bool(self.inner.enqueue_request(request))

    @property
    def only_waits(self) -> bool:
        """Whether all that the project's scheduler has waits, and was given back."""
        return self._around >= AROUND

    def next_request(self) -> Request | None:
        """Return the next request that may go to its site now, or None.

        Raises:
            Exception: what the project's scheduler raises, as without this one; nothing
                is lost.
        """
        request = self.parked.pop()
        left = TAKEN_AT_ONCE
        while request is None and self._may_take():
            if not left:
                engine.wake(self._crawler)
                return None
            left -= 1
            taken = self.inner.next_request()
            if taken is None:
                return None
            times = _as_it_was(taken)
            start_delay(taken, self._now())
            end_delay(taken, self._now())
            if self._goes_back(taken, times):
                if not times:
                    continue
                self._around += 1
                if self._around % AROUND == 0:
                    self._rests_until = self._now() + _LOOK_AGAIN
                    return None
            else:
                self._around = 0
                self.parked.push(taken)
                request = self.parked.pop()
        return request

    def _may_take(self) -> bool:
        """Return whether the engine has room for one more than those that wait.

        Those would be in the downloader without this scheduler, and no more with them.
        """
        held = len(self.parked)
        if held >= MOST_PARKED or self._now() < self._rests_until:
            return False
        room = engine.room(self._crawler)
        return held < room or self.parked.count_ready() < room

    def _goes_back(self, request: Request, times: int) -> bool:
        """Give a request back behind all others, if enough are held that wait, too."""
        if not (self.lets_pass and len(self.parked) >= PARKED):
            return False
        if not self.parked.holds_back(request):
            return False
        if times and request.url == self._went_last:  # it came straight out again
            # the last in is the first out, it seems
            if self.inner.has_pending_requests():
                self.lets_pass = False
            return False
        own = request.priority
        request.meta[_WENT_BACK] = [own, times + 1]
        request.priority = own - _BEHIND * (times + 1)
        if self._give_back(request):
            self._went_last = request.url
            return True
        self.lets_pass = False
        _as_it_was(request)
        return False

    def _give_back(self, request: Request) -> bool:
        """Give a request back past the dupe filter. Returns whether it went."""
        if not request.dont_filter:
            request.meta[_MARK] = True
            request.dont_filter = True
        try:
            return bool(self.inner.enqueue_request(request))
        except Exception:
            logger.exception("Error while a parked request was given back: %s", request)
            return False

    def _give_all_back(self) -> list[Request]:
        """Give parked requests to the project's scheduler. Returns those it refuses."""
        lost = []
        failures = 0
        for request in self.parked.drain():
            if failures == _FAILURES:
                lost.append(request)
                continue
            if self._give_back(request):
                failures = 0
            else:
                failures += 1
                lost.append(request)
        return lost

    def _call(self, name: str, argument: object) -> Deferred[None] | None:
        """Call a method that a scheduler need not have."""
        method = getattr(self.inner, name, None)
        result: Deferred[None] | None = None if method is None else method(argument)
        return result


def _as_it_was(request: Request) -> int:
    """Undo the changes of a request that was given back; return how often it was."""
    if request.meta.pop(_MARK, False):
        request.dont_filter = False
    priority, times = request.meta.pop(_WENT_BACK, (request.priority, 0))
    request.priority = priority
    return int(times)
