"""Keeps the bodies of cited sitemaps out of Scrapy's scraper while they are read.

The engine hands out no request of any site while callbacks hold responses of more than
SCRAPER_SLOT_MAX_ACTIVE_SIZE bytes, and a sitemap takes seconds to read. The scraper therefore
counts an empty response, whose callback still runs until the whole sitemap is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_mandelbot.crawl import CITED, Crawl

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

MOST_BYTES = 128 * 2**20  # held, over all sites


class SitemapBodies:
    """The downloader middleware that replaces the responses of cited sitemaps.

    It is next to the engine, as the body is missing from here on.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._bodies = Crawl.of(crawler).sitemap_bodies

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> SitemapBodies:
        """Build the middleware."""
        return cls(crawler)

    def process_response(self, request: Request, response: Response) -> Response:
        """Return an empty response for the scraper; above the bound, the response itself."""
        if CITED not in request.meta:
            return response
        if sum(map(len, self._bodies.values())) + len(response.body) > MOST_BYTES:
            return response
        empty = response.replace(body=b"")
        self._bodies[empty] = response.body
        return empty
