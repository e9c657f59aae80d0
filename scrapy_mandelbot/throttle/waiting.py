"""Where requests wait that never were in the queue: those of media pipelines, of callbacks that
await a download, of the shell. Returned from a middleware they would be sent again at once.
"""  # noqa: D205 -- one sentence, longer than a line

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_mandelbot import engine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy.crawler import Crawler

    from scrapy_mandelbot.clock import Call, Clock
    from scrapy_mandelbot.politeness import Flight, SiteState

_LOOK_AGAIN = 0.25  # seconds; see engine.is_closing


@dataclass(eq=False)
class Waiter:
    """A request that waits."""

    flight: Flight
    released: Deferred[bool]
    timeout: Call | None = None


class WaitingRoom:
    """The waiting requests of a crawl, by site, first come first served.

    Args:
        crawler: whose requests wait.
        clock: of the crawl.
        look_again: called now and then with a site that requests wait for: what they wait for may
            have ended without a word.
    """

    def __init__(
        self, crawler: Crawler, clock: Clock, look_again: Callable[[SiteState], None]
    ) -> None:
        self._crawler = crawler
        self._clock = clock
        self._look_again = look_again
        self._waiters: dict[SiteState, list[Waiter]] = {}
        self._check: Call | None = None

    def __len__(self) -> int:
        return sum(map(len, self._waiters.values()))

    async def wait(self, flight: Flight, longest: float) -> bool:
        """Wait to be released, holding no place of the downloader.

        Args:
            flight: the request.
            longest: seconds; ``inf``: as long as it takes.

        Returns:
            Whether the request may try again. False after the longest wait, or as the crawl closes.
        """
        if longest <= 0 or engine.is_closing(self._crawler):
            return False
        waiter = Waiter(flight, Deferred())
        if isfinite(longest):
            waiter.timeout = self._clock.call_later(longest, self._time_out, waiter)
        self._waiters.setdefault(flight.site, []).append(waiter)
        self._check_later()
        flight.is_waiting = True
        engine.give_up_place(self._crawler, flight.request)
        engine.wake(self._crawler)  # the place is free for a request of another site
        return await maybe_deferred_to_future(waiter.released)

    def of(self, site: SiteState) -> Iterator[Waiter]:
        """Yield those who wait for a site, whoever has waited longest first."""
        yield from tuple(self._waiters.get(site, ()))

    def release(self, waiter: Waiter, *, may_go: bool) -> None:
        """End a wait."""
        flight = waiter.flight
        waiters = self._waiters.get(flight.site, [])
        if waiter not in waiters:
            return
        waiters.remove(waiter)
        if not waiters:
            del self._waiters[flight.site]
        if waiter.timeout is not None:
            waiter.timeout.cancel()
        flight.is_waiting = False
        engine.take_place(self._crawler, flight.request)
        waiter.released.callback(may_go)

    def close(self) -> None:
        """End all waits, and cancel the timers."""
        if self._check is not None:
            self._check.cancel()
            self._check = None
        for site in list(self._waiters):
            for waiter in self.of(site):
                self.release(waiter, may_go=False)

    def _time_out(self, waiter: Waiter) -> None:
        waiter.timeout = None
        self.release(waiter, may_go=False)

    def _check_later(self) -> None:
        if self._check is None:
            self._check = self._clock.call_later(_LOOK_AGAIN, self._check_now)

    def _check_now(self) -> None:
        self._check = None
        if engine.is_closing(self._crawler):
            self.close()
            return
        for site in list(self._waiters):
            self._look_again(site)
        if self._waiters:
            self._check_later()
