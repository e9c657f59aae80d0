"""The project's HTTP cache, which may have the robots.txt of a site.

A robots.txt is requested past the cache: a policy may keep a file for ever that a robot
may use for 48 hours. But where no copy is known, the cached file is one, as old as its
Date says. So a crawl that is repeated offline, or while the site is down, finds the
rules of the pages that the cache has.
"""

from __future__ import annotations

import logging
from email.utils import formatdate, parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING

from scrapy.downloadermiddlewares.httpcache import HttpCacheMiddleware
from scrapy.http import Request
from scrapy.http.request import NO_CALLBACK

from scrapy_mandelbot.fetching.decoding import decoded
from scrapy_mandelbot.store import CachedRobots

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

logger = logging.getLogger(__name__)

_SAYS_RULES = frozenset({HTTPStatus.OK, HTTPStatus.NOT_FOUND, HTTPStatus.GONE})
"""Statuses of a file that is a copy. Stock Scrapy caches redirects, too: these say
where the rules are, not that there are none.
"""


class HttpCache:
    """Keeps files of sites in the cache of ``HTTPCACHE_ENABLED``, as stock Scrapy."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    def get(
        self, url: str, now: float, fresh_for: float, most_bytes: int
    ) -> CachedRobots | None:
        """Return the cached file, or None if there is none that can be read.

        Its age is by its Date, but at most `fresh_for` seconds: older ones are asked
        for again, and how long the cache serves is for the project to say.
        """
        middleware = self._middleware()
        if middleware is None:
            return None
        request = _request(url)
        try:
            response = middleware.storage.retrieve_response(
                self._crawler.spider, request
            )
            if response is None:
                return None
            response = decoded(self._crawler, request, response, 20 * most_bytes)
        except Exception:
            logger.warning("Could not read %s in the HTTP cache", url, exc_info=True)
            return None
        if response.status not in _SAYS_RULES:
            return None
        fetched_at = max(_date(response), now - fresh_for)
        body = response.body[:most_bytes]
        return CachedRobots(body, response.status, min(fetched_at, now), url)

    def put(self, url: str, response: Response) -> None:
        """Keep a response, if the cache's policy does."""
        middleware = self._middleware()
        if middleware is None:
            return
        request = _request(url)
        policy = middleware.policy
        if not policy.should_cache_request(request):
            return
        if not policy.should_cache_response(response, request):
            return
        kept = response.copy()
        kept.headers.setdefault("Date", formatdate(usegmt=True))
        try:
            middleware.storage.store_response(self._crawler.spider, request, kept)
        except Exception:
            logger.warning("Could not write %s to the HTTP cache", url, exc_info=True)

    def _middleware(self) -> HttpCacheMiddleware | None:
        return self._crawler.get_downloader_middleware(HttpCacheMiddleware)


def _request(url: str) -> Request:
    """Return the request by which stock Scrapy caches the file."""
    meta = {"dont_obey_robotstxt": True}
    return Request(url, callback=NO_CALLBACK, meta=meta)


def _date(response: Response) -> float:
    """Return when a response was sent, in seconds since the epoch; 0: unknown."""
    text = response.headers.get("Date") or b""
    try:
        return parsedate_to_datetime(text.decode("latin-1")).timestamp()
    except (TypeError, ValueError, OverflowError):
        return 0.0
