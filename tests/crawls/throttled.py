"""Stand-ins for the throttler that Scrapy means to have, in the shape that is proposed.

See https://github.com/scrapy/scrapy/pull/6931: scopes with a concurrency and a delay in place of
download slots, for which every request waits before it comes to the downloader.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import scrapy
from loops import TIME
from scrapy import signals
from scrapy.core.downloader.handlers import DownloadHandlers
from scrapy.core.downloader.middleware import DownloaderMiddlewareManager
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from scrapy.utils.httpobj import urlparse_cached
from twisted.internet.defer import Deferred

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

BACKOFF = frozenset({429, 502, 503, 504, 520, 521, 522, 523, 524})


class Throttler:
    """Holds requests by the name of their host."""

    def __init__(self, crawler: Crawler) -> None:
        self.most = crawler.settings.getint("CONCURRENT_REQUESTS_PER_DOMAIN")
        self.backed_off: list[tuple[object, float | None, bool]] = []
        self._active: Counter[str] = Counter()
        self._held_until: dict[str, float] = defaultdict(float)

    def get_resolved_scopes(self, request: scrapy.Request) -> str:
        scope: str = request.meta.get("throttling_scopes", urlparse_cached(request).hostname or "")
        return scope

    get_scopes_key = get_resolved_scopes

    async def acquire(self, request: scrapy.Request) -> None:
        scope = self.get_resolved_scopes(request)
        delay = request.meta.pop("delay", 0)  # a request's own, once
        while delay or (not request.meta.get("dont_throttle") and not self._is_ready(scope)):
            turn: Deferred[None] = Deferred()
            call_later(delay or 0.01, turn.callback, None)
            await maybe_deferred_to_future(turn)
            delay = 0
        self._active[scope] += 1

    def release(self, request: scrapy.Request) -> None:
        self._active[self.get_resolved_scopes(request)] -= 1

    def back_off(self, scopes: str, *, delay: float | None = None, cap: bool = True) -> None:
        self.backed_off.append((scopes, delay, cap))
        self._held_until[scopes] = TIME.now() + (delay or 0)

    def _is_ready(self, scope: str) -> bool:
        has_room = self._active[scope] < self.most
        return has_room and TIME.now() >= self._held_until[scope]


class ThrottledDownloader:
    """Scrapy's, without slots: what asks for them is remembered."""

    asked_for: list[str] = []

    def __init__(self, crawler: Crawler) -> None:
        self.active: set[scrapy.Request] = set()
        self._crawler = crawler
        self._handlers = DownloadHandlers(crawler)
        self._most = crawler.settings.getint("CONCURRENT_REQUESTS")
        self.middleware = DownloaderMiddlewareManager.from_crawler(crawler)

    def fetch(self, request: scrapy.Request) -> Deferred:
        self.active.add(request)
        return deferred_from_coro(self._fetch(request))

    def needs_backout(self) -> bool:
        return len(self.active) >= self._most

    def close(self) -> None: ...

    @property
    def slots(self) -> dict[str, object]:
        self.asked_for.append("slots")
        return {request.meta["download_slot"]: object() for request in self.active}

    @property
    def domain_concurrency(self) -> int:
        self.asked_for.append("domain_concurrency")
        return self._crawler.throttler.most

    def get_slot_key(self, request: scrapy.Request) -> str:
        self.asked_for.append("get_slot_key")
        return request.meta["download_slot"]

    async def _fetch(self, request: scrapy.Request) -> scrapy.Request | scrapy.http.Response:
        try:
            await self._crawler.throttler.acquire(request)
            return await self._send(request)
        finally:
            self.active.remove(request)

    async def _send(self, request: scrapy.Request) -> scrapy.Request | scrapy.http.Response:
        try:
            return await self.middleware.download_async(self._download, request)
        finally:
            self._crawler.throttler.release(request)

    async def _download(self, request: scrapy.Request) -> scrapy.http.Response:
        told = {"request": request, "spider": self._crawler.spider}
        request.meta["download_slot"] = self._crawler.throttler.get_scopes_key(request)
        self._crawler.signals.send_catch_log(signals.request_reached_downloader, **told)
        try:
            response = await maybe_deferred_to_future(self._handle(request))
            self._crawler.signals.send_catch_log(
                signals.response_downloaded, response=response, **told
            )
            return response
        finally:
            self._crawler.signals.send_catch_log(signals.request_left_downloader, **told)

    def _handle(self, request: scrapy.Request) -> Deferred:
        if hasattr(self._handlers, "download_request_async"):
            return deferred_from_coro(self._handlers.download_request_async(request))
        return self._handlers.download_request(request, self._crawler.spider)


class BackoffMiddleware:
    """Has the throttler back off from what looks like trouble."""

    def __init__(self, throttler: Throttler) -> None:
        self._throttler = throttler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> BackoffMiddleware:
        return cls(crawler.throttler)

    def process_response(self, request, response):
        if response.status in BACKOFF and not request.meta.get("dont_throttle"):
            self._throttler.back_off(self._throttler.get_resolved_scopes(request))
        return response
