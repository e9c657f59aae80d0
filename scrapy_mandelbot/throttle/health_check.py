"""Requests a good page of a site again, to see whether the site or a page is down."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from scrapy.http import Request
from scrapy.http.request import NO_CALLBACK

from scrapy_mandelbot import engine, events
from scrapy_mandelbot.engine import SLOT_KEY
from scrapy_mandelbot.politeness.probe import may_ask_again
from scrapy_mandelbot.throttle.in_flight import ASKS_AGAIN

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_mandelbot.politeness.site_state import Site

logger = logging.getLogger(__name__)

_WAY = frozenset({"bindaddress", "cookiejar", "dont_obey_robotstxt", "proxy", SLOT_KEY})
_WAY |= {"_auth_proxy", "download_timeout", "verify_ssl"}
_OF_OTHER_HANDLERS = ("playwright", "zyte_api", "splash", "selenium", "impersonate")
_NOT_AGAIN = frozenset({b"Cookie", b"If-None-Match", b"If-Modified-Since", b"Range"})


class HealthCheck:
    """Requests a good page of a site again, one at a time, to see if the site is well.

    Args:
        crawler: that sends the requests.
        emit: reports an event.
        sites: receives those that are asked again, until they have answered.
        forbids: returns whether the rules in force forbid a request.
        done: is called with the site when its request has ended.
    """

    def __init__(
        self,
        crawler: Crawler,
        emit: Callable[..., None],
        *,
        sites: set[Site],
        forbids: Callable[[Request], bool],
        done: Callable[[Site], None],
    ) -> None:
        self._crawler = crawler
        self._emit = emit
        self._sites = sites
        self._forbids = forbids
        self._done = done

    def request(self, site: Site) -> bool:
        """Request the page that the site answered well again.

        Returns whether that is possible, or under way already.
        """
        if site in self._sites:
            return True
        if not may_ask_again(site) or engine.is_closing(self._crawler):
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
        headers, good_meta = site.well_way
        if any(str(key).startswith(_OF_OTHER_HANDLERS) for key in good_meta):
            return None
        meta = {
            **{key: good_meta[key] for key in _WAY if key in good_meta},
            ASKS_AGAIN: True,
            "dont_redirect": True,
            "dont_retry": True,
            "dont_cache": True,
            "allow_offsite": True,
            "handle_httpstatus_all": True,
        }
        request = Request(
            site.well_url, callback=NO_CALLBACK, dont_filter=True, meta=meta
        )
        for name, values in headers.items():
            if name not in _NOT_AGAIN:
                request.headers.setlist(name, values)
        if self._forbids(request):
            return None
        request.meta["dont_obey_robotstxt"] = True  # the rules in force allow it
        return request

    async def _request(self, site: Site, request: Request) -> None:
        # a site that is open looks the same afterwards, but for its ticks
        before = (repr(site), site.ticks)
        try:
            await self._crawler.engine.download_async(request)
        except Exception as error:  # noqa: BLE001 -- whatever the project's middlewares raise
            logger.debug("Health check %s failed: %s", request, error)
        finally:
            self._sites.discard(site)
            if (repr(site), site.ticks) == before:
                site.well_url = ""  # it never got there: some component keeps it
            self._done(site)
