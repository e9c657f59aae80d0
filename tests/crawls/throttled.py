"""Stand-ins for the throttler that Scrapy means to have, in the shape that is proposed.

See https://github.com/scrapy/scrapy/pull/6931: scopes with a concurrency and a delay in place of
download slots, for which every request waits before it comes to the downloader. ``PUBLIC`` has
what the throttler there offered on 2026-08-05, the day after "Remove backoff support"; what stands
in for it offers that and no name besides.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import scrapy
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

PUBLIC = {
    "get_scopes": "(self, request)",
    "get_applied_scopes": "(self, request)",
    "get_scopes_key": "(self, request)",
    "get_scope_load": "(self, scope_id)",
    "get_scope_manager": "(self, scope_id)",
    "acquire": "(self, request, *, unscheduled=False)",
    "release": "(self, request)",
    "download_handler_blocked": "(self, request)",
}
"""The public methods of ``scrapy.throttler.ThrottlerProtocol``, and how each is called."""
PUBLIC_OF_A_SCOPE = {
    "set_base_delay": "(self, delay, *, only_increase=True)",
    "set_concurrency": "(self, concurrency)",
}
"""Those of a scope's manager that are for others."""


class Throttler:
    """Holds requests by the name of their host."""

    def __init__(self, crawler: Crawler) -> None:
        self._most = crawler.settings.getint("CONCURRENT_REQUESTS_PER_DOMAIN")
        self._active: Counter[str] = Counter()
        self._managers: dict[str, ScopeManager] = {}

    async def get_scopes(self, request):
        return self.get_applied_scopes(request)

    def get_applied_scopes(self, request):
        return request.meta.get("throttling_scopes", urlparse_cached(request).hostname or "")

    def get_scopes_key(self, request):
        return self.get_applied_scopes(request)

    def get_scope_load(self, scope_id):
        return self._active[scope_id] / self._most

    def get_scope_manager(self, scope_id):
        return self._managers.setdefault(scope_id, ScopeManager())

    async def acquire(self, request, *, unscheduled=False):
        scope = self.get_applied_scopes(request)
        delay = request.meta.pop("delay", 0)  # a request's own, once
        while delay or (not request.meta.get("dont_throttle") and not self._has_room(scope)):
            turn: Deferred[None] = Deferred()
            call_later(delay or 0.01, turn.callback, None)
            await maybe_deferred_to_future(turn)
            delay = 0
        self._active[scope] += 1

    def release(self, request):
        self._active[self.get_applied_scopes(request)] -= 1

    def download_handler_blocked(self, request):
        return False

    def _has_room(self, scope: str) -> bool:
        most = self.get_scope_manager(scope).most or self._most
        return self._active[scope] < most


class ScopeManager:
    """Of one scope; its delay is for others to read, as no test lets time pass for it."""

    def __init__(self) -> None:
        self.most = 0
        self.delay = 0.0

    def set_base_delay(self, delay, *, only_increase=True):
        self.delay = max(delay, self.delay) if only_increase else delay

    def set_concurrency(self, concurrency):
        self.most = concurrency


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
        return self._crawler.settings.getint("CONCURRENT_REQUESTS_PER_DOMAIN")

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
    """Somebody's that acts on what looks like trouble: it notes each status that it sees."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> BackoffMiddleware:
        crawler.backoff = cls()
        return crawler.backoff

    def process_response(self, request, response):
        if response.status in BACKOFF:
            self.seen.append(response.status)
        return response
