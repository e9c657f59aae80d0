"""Requests that wait outside the queue.

Requests of media pipelines, of callbacks that await a download, and of the shell never
were in the queue: returned from a middleware, they would be sent again at once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any

from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_mandelbot import engine
from scrapy_mandelbot.politeness.tally import End

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_mandelbot.clock import Timers
    from scrapy_mandelbot.politeness.flight import Flight
    from scrapy_mandelbot.politeness.site_state import Site

_LOOK_AGAIN = 0.25  # seconds; see engine.is_closing


class Waiters:
    """The waiting requests of a crawl, by site, first come first served."""

    def __init__(
        self,
        crawler: Crawler,
        timers: Timers[Any],
        now: Callable[[], float],
        look_again: Callable[[Site], None],
        longest: float,
    ) -> None:
        self._crawler = crawler
        self._timers = timers
        self._now = now
        self._look_again = look_again
        self._longest = longest
        self._waiters: dict[Site, dict[Flight[Site], Deferred[bool]]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._waiters.values()))

    async def wait(self, flight: Flight[Site], *, has_limit: bool = True) -> bool:
        """Wait to be released, holding no place of the downloader.

        Returns:
            Whether the request may try again. False after the longest wait, or as the
            crawl closes.
        """
        now = self._now()
        ends_at = inf
        if has_limit:
            if flight.waits_since is None:
                flight.waits_since = now
            ends_at = flight.waits_since + self._longest
        if ends_at <= now or engine.is_closing(self._crawler):
            return False
        released: Deferred[bool] = Deferred()
        self._waiters.setdefault(flight.site, {})[flight] = released
        self._timers.set(flight, ends_at, partial(self.release, may_go=False))
        self._timers.set(self, now + _LOOK_AGAIN, self._check_now)
        flight.is_waiting = True
        engine.give_up_place(self._crawler, flight.request)
        engine.wake(self._crawler)  # the place is free for a request of another site
        try:
            return await maybe_deferred_to_future(released)
        except BaseException:
            flight.end = End.CANCELLED
            self.release(flight, may_go=False)
            raise

    def of(self, site: Site) -> tuple[Flight[Site], ...]:
        """Return the requests that wait for a site, the oldest first."""
        return tuple(self._waiters.get(site, ()))

    def release(self, flight: Flight[Site], *, may_go: bool) -> None:
        """End a wait."""
        waiting = self._waiters.get(flight.site, {})
        released = waiting.pop(flight, None)
        if released is None:
            return
        if not waiting:
            del self._waiters[flight.site]
        self._timers.drop(flight)
        flight.is_waiting = False
        engine.take_place(self._crawler, flight.request)
        if not released.called:
            released.callback(may_go)

    def close(self) -> None:
        """End all waits, and cancel the timers."""
        self._timers.drop(self)
        for site in list(self._waiters):
            for flight in self.of(site):
                self.release(flight, may_go=False)

    def _check_now(self, _: Waiters) -> None:
        if engine.is_closing(self._crawler):
            self.close()
            return
        for site in list(self._waiters):
            self._look_again(site)
        if self._waiters:
            self._timers.set(self, self._now() + _LOOK_AGAIN, self._check_now)
