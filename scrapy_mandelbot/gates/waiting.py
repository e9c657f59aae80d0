"""Where requests wait that never were in the queue: those of media pipelines, of callbacks that
await a download, of the shell. Returned from a middleware they would be sent again at once.
"""  # noqa: D205 -- one sentence, longer than a line

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_mandelbot import engine

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.utils.asyncio import CallLaterResult

_CLOSING_CHECK = 0.25  # seconds; see engine.is_closing


@dataclass
class _Waiter:
    request: Request
    released: Deferred[bool]
    timeout: CallLaterResult | None


class WaitingRoom:
    """The waiting requests of a crawl, by site, first come first served.

    Args:
        crawler: whose requests wait.
        longest: seconds for which each waits at most; ``inf``: as long as it takes.
        now: returns seconds since the epoch.
    """

    def __init__(self, crawler: Crawler, longest: float, now: Callable[[], float]) -> None:
        self._crawler = crawler
        self._longest = longest
        self._now = now
        self._waiters: dict[str, list[_Waiter]] = {}
        self._since: WeakKeyDictionary[Request, float] = WeakKeyDictionary()
        self._closing_check: CallLaterResult | None = None

    async def wait(self, request: Request, site: str) -> bool:
        """Wait to be released, holding no place of the downloader.

        Returns:
            Whether the request may go. False after the longest wait, all its waits counted
            together, or when the crawl closes.
        """
        now = self._now()
        left = self._since.setdefault(request, now) + self._longest - now
        if left <= 0 or engine.is_closing(self._crawler):
            return False
        released: Deferred[bool] = Deferred()
        timeout = call_later(left, self._time_out, site, request) if isfinite(left) else None
        waiter = _Waiter(request, released, timeout)
        self._waiters.setdefault(site, []).append(waiter)
        if self._closing_check is None:
            self._closing_check = call_later(_CLOSING_CHECK, self._check_closing)
        engine.give_up_place(self._crawler, request)
        engine.wake(self._crawler)  # the place is free for a request of another site
        return await maybe_deferred_to_future(released)

    def first(self, site: str) -> Request | None:
        """Return the request that has waited longest for the site."""
        waiters = self._waiters.get(site)
        return waiters[0].request if waiters else None

    def release(self, site: str, request: Request, *, may_go: bool) -> None:
        """End the wait of one request."""
        for waiter in self._waiters.get(site, ()):
            if waiter.request is request:
                self._end(site, waiter, may_go=may_go)
                return

    def release_all(self, site: str, *, may_go: bool) -> None:
        """End the wait of all who wait for the site."""
        for waiter in list(self._waiters.get(site, ())):
            self._end(site, waiter, may_go=may_go)

    def forget(self, request: Request) -> None:
        """Forget how long the request has waited: it has its answer."""
        self._since.pop(request, None)

    def close(self) -> None:
        """Cancel the timers."""
        if self._closing_check is not None:
            self._closing_check.cancel()
        for site in list(self._waiters):
            self.release_all(site, may_go=False)

    def _end(self, site: str, waiter: _Waiter, *, may_go: bool) -> None:
        waiters = self._waiters[site]
        waiters.remove(waiter)
        if not waiters:
            del self._waiters[site]
        if waiter.timeout is not None:
            waiter.timeout.cancel()
        engine.take_place(self._crawler, waiter.request)
        waiter.released.callback(may_go)

    def _time_out(self, site: str, request: Request) -> None:
        self.release(site, request, may_go=False)

    def _check_closing(self) -> None:
        self._closing_check = None
        if engine.is_closing(self._crawler):
            for site in list(self._waiters):
                self.release_all(site, may_go=False)
        elif self._waiters:
            self._closing_check = call_later(_CLOSING_CHECK, self._check_closing)
