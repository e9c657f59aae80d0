"""Where requests wait that never were in the queue: those of media pipelines, of callbacks that
await a download, of the shell. Returned from a middleware they would be sent again at once.
"""  # noqa: D205 -- one sentence, longer than a line

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf, isfinite
from typing import TYPE_CHECKING

from scrapy.http import Request
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_mandelbot import engine, events
from scrapy_mandelbot.clock import Timers
from scrapy_mandelbot.politeness.flight import End
from scrapy_mandelbot.politeness.probe import may_ask_again

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_mandelbot.clock import Call, Clock
    from scrapy_mandelbot.politeness.flight import Flight
    from scrapy_mandelbot.politeness.site_state import Site

logger = logging.getLogger(__name__)

ASKS_AGAIN = "_mandelbot_asks_again"
"""Meta key of a request for a page that is known, to see how its site is."""


_WAY = frozenset({"bindaddress", "cookiejar", "dont_obey_robotstxt", "download_slot", "proxy"})
_WAY |= {"_auth_proxy", "download_timeout", "verify_ssl"}
_OF_OTHER_HANDLERS = ("playwright", "zyte_api", "splash", "selenium", "impersonate")
_NOT_AGAIN = frozenset({b"Cookie", b"If-None-Match", b"If-Modified-Since", b"Range"})


def is_of_the_package(request: Request) -> bool:
    """Return whether the package sends the request for itself, as for a robots.txt."""
    has_no_callback = request.callback is NO_CALLBACK
    return has_no_callback and bool(request.meta.get("dont_pause") or ASKS_AGAIN in request.meta)


class AskingAgain:
    """The pages that are asked for again: one at a time of a site.

    `done` is called with a site that was asked.
    """

    def __init__(
        self, crawler: Crawler, tell: Callable[..., None], done: Callable[[Site], None]
    ) -> None:
        self._crawler = crawler
        self._tell = tell
        self._done = done
        self._sites: set[Site] = set()
        self.forbids: Callable[[Request], bool] = lambda _: False
        """Returns whether the rules in force forbid a request."""

    def __contains__(self, site: Site) -> bool:
        return site in self._sites

    def ask(self, site: Site) -> bool:
        """Request the page that the site answered well again; return whether that is possible."""
        if not may_ask_again(site) or site in self._sites or engine.is_closing(self._crawler):
            return False
        request = self._request_to(site)
        if request is None:
            site.well_url = ""
            return False
        self._sites.add(site)
        self._tell(events.RETRIED_ON_ITS_OWN)
        engine.schedule(self._ask(site, request))
        return True

    def _request_to(self, site: Site) -> Request | None:
        """Return the request for the page that goes the way of the one that was answered well.

        None: it cannot, as another download handler took that one, or the rules forbid it now.
        """
        headers, was = site.well_way
        if any(str(key).startswith(_OF_OTHER_HANDLERS) for key in was):
            return None
        meta = {
            **{key: was[key] for key in _WAY if key in was},
            ASKS_AGAIN: True,
            "dont_redirect": True,
            "dont_retry": True,
            "dont_cache": True,
            "allow_offsite": True,
            "handle_httpstatus_all": True,
        }
        request = Request(site.well_url, callback=NO_CALLBACK, dont_filter=True, meta=meta)
        for name, values in headers.items():
            if name not in _NOT_AGAIN:
                request.headers.setlist(name, values)
        if self.forbids(request):
            return None
        request.meta["dont_obey_robotstxt"] = True  # the rules in force allow it
        return request

    async def _ask(self, site: Site, request: Request) -> None:
        before = repr(site)
        try:
            await self._crawler.engine.download_async(request)
        except Exception as error:  # noqa: BLE001 -- whatever the project's middlewares raise
            logger.debug("Asking %s again: %s", request, error)
        finally:
            self._sites.discard(site)
            if repr(site) == before:  # it never got there: some component keeps it
                site.well_url = ""
            self._done(site)


_FEW = 1_000  # times that were set and are of no use, before they are dropped


class Alarm:
    """A time for each site.

    `ring` is called with a site at its time. It may ring too soon, never too late: whoever is
    called looks at the site and sets the alarm again.
    """

    def __init__(self, clock: Clock, ring: Callable[[Site], None]) -> None:
        self._ring = ring
        self._set_to: dict[Site, float] = {}
        self._timers: Timers[tuple[Site, float]] = Timers(clock, self._rings)

    def __len__(self) -> int:
        return len(self._timers)

    def set(self, site: Site, at: float) -> None:
        """Have it ring for a site at a time, if it does not ring sooner; never, at no finite one.

        A site is kept as long as the alarm is to ring for it.
        """
        if at >= self._set_to.get(site, inf) or not isfinite(at):
            return
        self._set_to[site] = at
        self._timers.put(at, (site, at))
        if len(self._timers) > 2 * len(self._set_to) + _FEW:
            self._timers.take(lambda one: self._set_to.get(one[0]) != one[1])

    def close(self) -> None:
        """Cancel all."""
        self._set_to.clear()
        self._timers.take()

    def _rings(self, one: tuple[Site, float]) -> None:
        site, at = one
        if self._set_to.get(site) == at:  # else it has rung for it sooner
            del self._set_to[site]
            self._ring(site)


_LOOK_AGAIN = 0.25  # seconds; see engine.is_closing


@dataclass(eq=False)
class Waiter:
    """A request that waits."""

    flight: Flight
    released: Deferred[bool]
    timeout: Call | None = None


class WaitingRoom:
    """The waiting requests of a crawl, by site, first come first served."""

    def __init__(
        self,
        crawler: Crawler,
        clock: Clock,
        look_again: Callable[[Site], None],
        longest: float,
    ) -> None:
        self._crawler = crawler
        self._clock = clock
        self._look_again = look_again
        self._longest = longest
        self._waiters: dict[Site, list[Waiter]] = {}
        self._check: Call | None = None

    def __len__(self) -> int:
        return sum(map(len, self._waiters.values()))

    async def wait(self, flight: Flight, *, has_limit: bool = True) -> bool:
        """Wait to be released, holding no place of the downloader.

        Returns:
            Whether the request may try again. False after the longest wait, or as the crawl closes.
        """
        left = self._left(flight) if has_limit else inf
        if left <= 0 or engine.is_closing(self._crawler):
            return False
        waiter = Waiter(flight, Deferred())
        if isfinite(left):
            waiter.timeout = self._clock.call_later(left, self._time_out, waiter)
        self._waiters.setdefault(flight.site, []).append(waiter)
        self._check_later()
        flight.is_waiting = True
        engine.give_up_place(self._crawler, flight.request)
        engine.wake(self._crawler)  # the place is free for a request of another site
        try:
            return await maybe_deferred_to_future(waiter.released)
        except BaseException:
            flight.end = End.CANCELLED
            self.release(waiter, may_go=False)
            raise

    def of(self, site: Site) -> Iterator[Waiter]:
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
        if not waiter.released.called:
            waiter.released.callback(may_go)

    def close(self) -> None:
        """End all waits, and cancel the timers."""
        if self._check is not None:
            self._check.cancel()
            self._check = None
        for site in list(self._waiters):
            for waiter in self.of(site):
                self.release(waiter, may_go=False)

    def _left(self, flight: Flight) -> float:
        now = self._clock.now()
        if flight.waits_since is None:
            flight.waits_since = now
        return flight.waits_since + self._longest - now

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
