"""Requests that wait outside the queue, and the health check of a paused site.

Requests of media pipelines, of callbacks that await a download, and of the shell never were in the
queue: returned from a middleware, they would be sent again at once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any

from scrapy.http import Request
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_mandelbot import engine, events
from scrapy_mandelbot.politeness.flight import End
from scrapy_mandelbot.politeness.probe import may_ask_again

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_mandelbot.clock import Timers
    from scrapy_mandelbot.politeness.flight import Flight
    from scrapy_mandelbot.politeness.site_state import Site

logger = logging.getLogger(__name__)

ASKS_AGAIN = "_mandelbot_asks_again"
"""Meta key of a health check: a request for a page that the site answered well before."""


_WAY = frozenset({"bindaddress", "cookiejar", "dont_obey_robotstxt", "download_slot", "proxy"})
_WAY |= {"_auth_proxy", "download_timeout", "verify_ssl"}
_OF_OTHER_HANDLERS = ("playwright", "zyte_api", "splash", "selenium", "impersonate")
_NOT_AGAIN = frozenset({b"Cookie", b"If-None-Match", b"If-Modified-Since", b"Range"})


def is_of_the_package(request: Request) -> bool:
    """Return whether the package sends the request for itself, as for a robots.txt."""
    has_no_callback = request.callback is NO_CALLBACK
    return has_no_callback and bool(request.meta.get("dont_pause") or ASKS_AGAIN in request.meta)


class HealthCheck:
    """Requests a known page of a site again, one at a time, to see whether the site is well.

    `done` is called with the site when the request has ended.
    """

    def __init__(
        self, crawler: Crawler, emit: Callable[..., None], done: Callable[[Site], None]
    ) -> None:
        self._crawler = crawler
        self._emit = emit
        self._done = done
        self._sites: set[Site] = set()
        self.forbids: Callable[[Request], bool] = lambda _: False
        """Returns whether the rules in force forbid a request."""

    def __contains__(self, site: Site) -> bool:
        return site in self._sites

    def request(self, site: Site) -> bool:
        """Request the page that the site answered well again; return whether that is possible."""
        if not may_ask_again(site) or site in self._sites or engine.is_closing(self._crawler):
            return False
        request = self._request_to(site)
        if request is None:
            site.well_url = ""
            return False
        self._sites.add(site)
        self._emit(events.RETRIED_ON_ITS_OWN)
        engine.schedule(self._request(site, request))
        return True

    def _request_to(self, site: Site) -> Request | None:
        """Make a request for a page like the one that was answered well.

        None: another download handler took that one, or the rules forbid the page now.
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

    async def _request(self, site: Site, request: Request) -> None:
        before = repr(site)
        try:
            await self._crawler.engine.download_async(request)
        except Exception as error:  # noqa: BLE001 -- whatever the project's middlewares raise
            logger.debug("Health check %s failed: %s", request, error)
        finally:
            self._sites.discard(site)
            if repr(site) == before:  # it never got there: some component keeps it
                site.well_url = ""
            self._done(site)


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
        self._waiters: dict[Site, dict[Flight, Deferred[bool]]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._waiters.values()))

    async def wait(self, flight: Flight, *, has_limit: bool = True) -> bool:
        """Wait to be released, holding no place of the downloader.

        Returns:
            Whether the request may try again. False after the longest wait, or as the crawl closes.
        """
        now, ends_at = self._now(), inf
        if has_limit:
            flight.waits_since = now if flight.waits_since is None else flight.waits_since
            ends_at = flight.waits_since + self._longest
        if ends_at <= now or engine.is_closing(self._crawler):
            return False
        released = self._waiters.setdefault(flight.site, {})[flight] = Deferred()
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

    def of(self, site: Site) -> Iterator[Flight]:
        """Yield the requests that wait for a site, the oldest first."""
        yield from tuple(self._waiters.get(site, ()))

    def release(self, flight: Flight, *, may_go: bool) -> None:
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
