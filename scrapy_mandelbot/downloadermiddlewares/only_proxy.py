"""Whether a crawl has one proxy: then this is a part of the way to each site.

A request that fails by one proxy of several says nothing about its site, and a
component of the project may retry it by another one. Where each response so far came by
one and the same proxy, there is no other: while it is out, all sites are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_mandelbot import engine

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler


class OnlyProxy:
    """The proxies by which the responses of a crawl came."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._proxies: set[str] = set()
        self.is_bypassed = False
        """Whether a response came by none."""

    def note(self, proxy: str | None) -> None:
        """Note by which proxy a response came."""
        if proxy:
            self._proxies.add(proxy)
        else:
            self.is_bypassed = True

    def is_way_of(self, request: Request) -> bool:
        """Return whether a request used the only proxy, and none used another."""
        if self.is_bypassed or self._proxies != {request.meta.get("proxy")}:
            return False
        return not engine.handles_failures(self._crawler)
