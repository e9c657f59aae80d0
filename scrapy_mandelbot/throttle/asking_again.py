"""Asking a paused site for a page that it answered well in this run.

A probe comes from elsewhere than what was refused. Where the queue has nothing left of a site but
what was refused, such a page tells whether it is the site or those.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy.http import Request
from scrapy.http.request import NO_CALLBACK

from scrapy_mandelbot import engine

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler

    from scrapy_mandelbot.politeness import SiteState

logger = logging.getLogger(__name__)

_MARK = "_mandelbot_asks_again"


def asks_again(request: Request) -> bool:
    """Return whether the request asks for a page that is known, to see how its site is."""
    return _MARK in request.meta


class AskingAgain:
    """The pages that are asked for again: one at a time of a site.

    Args:
        crawler: that asks.
        done: called with a site that was asked.
    """

    def __init__(self, crawler: Crawler, done: Callable[[SiteState], None]) -> None:
        self._crawler = crawler
        self._done = done
        self._sites: set[SiteState] = set()

    def __contains__(self, site: SiteState) -> bool:
        return site in self._sites

    def ask(self, site: SiteState) -> bool:
        """Ask the site for the page that it answered well; what comes of it, its state learns.

        Returns:
            Whether it is asked. Not if there is no such page, or the crawl is closing.
        """
        if not site.well_url or site in self._sites or engine.is_closing(self._crawler):
            return False
        self._sites.add(site)
        engine.schedule(self._ask(site))
        return True

    async def _ask(self, site: SiteState) -> None:
        meta = {
            _MARK: True,
            "dont_obey_robotstxt": True,  # it was allowed
            "dont_redirect": True,
            "dont_retry": True,
            "dont_cache": True,
            "allow_offsite": True,
            "handle_httpstatus_all": True,
        }
        request = Request(site.well_url, callback=NO_CALLBACK, dont_filter=True, meta=meta)
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
