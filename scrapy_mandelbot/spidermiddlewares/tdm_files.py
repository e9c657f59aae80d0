"""Every site's ``/.well-known/tdmrep.json``: asked for once, kept as a copy of robots.txt is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_mandelbot.events import TDM_ASKED
from scrapy_mandelbot.fetching.download_limits import DownloadLimits, breaks_off
from scrapy_mandelbot.fetching.own_requests import follow, in_words, request_on_the_way_of
from scrapy_mandelbot.fetching.shared_fetches import Whose
from scrapy_mandelbot.politeness.outcome import conditions, is_fresh
from scrapy_mandelbot.robots.preferences import TDMREP_PATH, TdmFile
from scrapy_mandelbot.robots.preferences.tdmrep import BYTES_LIMIT
from scrapy_mandelbot.store.contract import CachedRobots
from scrapy_mandelbot.store.memory import Recent

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_mandelbot.crawl import Crawl
    from scrapy_mandelbot.fetching.download_limits import Download
    from scrapy_mandelbot.fetching.own_requests import Trail

_PRIORITY = 1_000  # as of a robots.txt
_SUCCESS, _NOT_MODIFIED, _SERVER_ERRORS = range(200, 300), 304, range(500, 600)
_ASK_AGAIN_AFTER = 300.0  # seconds, where the file could not be had

# Files are kept read as long as they fit, and else read again from the copy.
FILES_LIMIT = 8 * 1024 * 1024
"""Bytes of files that are kept read."""
_OVERHEAD, _FACTOR = 1_024, 8  # bytes of a small file, and for each byte of one


class SiteTdm:
    """What is known of a site's file, and until when."""

    __slots__ = ("__weakref__", "body", "file", "until")

    def __init__(self, body: bytes, until: float) -> None:
        self.body = body
        self.file = TdmFile.parse(body) if body else TdmFile(())
        self.until = until


class TdmFiles:
    """Knows the file of every site of a crawl, or finds it out: once for all who ask.

    Source: TDM Reservation Protocol, "TDM File on the Origin Server": a site that does not give the
    file does not implement the protocol. One that could not give it just now is asked again soon; a
    good copy serves meanwhile.
    """

    def __init__(self, crawler: Crawler, crawl: Crawl) -> None:
        self._crawl = crawl
        self._limits = DownloadLimits(crawler, crawl.now)
        self._read: Recent[SiteTdm] = Recent(FILES_LIMIT)
        self._under_way: dict[str, list[Deferred[SiteTdm]]] = {}

    async def of(self, site: str, request: Request) -> SiteTdm:
        """Return the file of a site. Nothing that goes wrong is raised.

        It is asked for on the way that the request goes which wants to know.
        """
        known = self._read.get(site)
        if known is not None and self._crawl.now() < known.until:
            return known
        if site in self._under_way:
            waiter: Deferred[SiteTdm] = Deferred()
            self._under_way[site].append(waiter)
            return await maybe_deferred_to_future(waiter)
        self._under_way[site] = []
        try:
            found = await self._find_out(site, request)
        except BaseException as error:
            for waiter in self._under_way.pop(site):
                waiter.errback(error)
            raise
        for waiter in self._under_way.pop(site):
            waiter.callback(found)
        return found

    async def _find_out(self, site: str, request: Request) -> SiteTdm:
        shared = self._crawl.shared_fetches
        if shared is None:
            return await self._fetch(site, request)
        key, ttl = site + TDMREP_PATH, self._crawl.config.fresh_for
        found = await shared.begin(key, ttl, lambda _: False)
        try:
            return await self._fetch(site, request)  # its copy, where another crawl had it
        finally:
            if found.whose is Whose.OURS:
                shared.end(key)

    async def _fetch(self, site: str, request: Request) -> SiteTdm:
        key, now = site + TDMREP_PATH, self._crawl.now()
        ttl = self._crawl.config.fresh_for
        copy = self._crawl.store.get_copy(key)
        if copy is not None and is_fresh(now, copy.fetched_at, ttl):
            return self._remember(site, copy.body, copy.fetched_at + ttl)
        trail = await self._ask(site, request, copy)
        self._crawl.events.tell(TDM_ASKED, url=key, reason=_reason(trail))
        now = self._crawl.now()
        answer = trail.response
        is_half = _breaks_off(trail)
        if answer is None or is_half or self._says_not_now(answer.status):
            if copy is not None and now - copy.fetched_at < self._crawl.config.cache_stale:
                body = copy.body
            else:  # of a file that breaks off the rules before count
                body = answer.body[:BYTES_LIMIT] if answer is not None and is_half else b""
            return self._remember(site, body, now + _ASK_AGAIN_AFTER)
        etag, modified = _validator(answer, "ETag"), _validator(answer, "Last-Modified")
        if answer.status == _NOT_MODIFIED and copy is not None:
            body, status = copy.body, copy.status
            etag, modified = etag or copy.etag, modified or copy.last_modified
        else:
            body = answer.body[:BYTES_LIMIT] if answer.status in _SUCCESS else b""
            status = answer.status
        self._crawl.store.put_copy(key, CachedRobots(body, status, now, trail.url, etag, modified))
        return self._remember(site, body, now + ttl)

    def _says_not_now(self, status: int) -> bool:
        return status in _SERVER_ERRORS or status in self._crawl.config.pause_statuses

    def _remember(self, site: str, body: bytes, until: float) -> SiteTdm:
        known = SiteTdm(body, until)
        self._read.put(site, known, _OVERHEAD + len(site) + _FACTOR * len(body))
        return known

    async def _ask(self, site: str, request: Request, copy: CachedRobots | None) -> Trail:
        config = self._crawl.config
        timeout = config.robots_timeout

        async def send(url: str) -> tuple[Response, Download]:
            headers = conditions(copy.etag, copy.last_modified) if copy and copy.url == url else {}
            wanted = request_on_the_way_of(
                request, url, timeout, priority=_PRIORITY, headers=headers
            )
            return await self._limits.download(wanted, BYTES_LIMIT, timeout)

        return await follow(
            site + TDMREP_PATH,
            config.robots_max_redirects,
            send,
            lambda url: config.may_send(site, url),
        )


def _breaks_off(trail: Trail) -> bool:
    if trail.response is None or trail.download is None:
        return False
    return trail.response.status in _SUCCESS and breaks_off(trail.response, trail.download)


def _validator(answer: Response, name: str) -> str | None:
    value = answer.headers.get(name)
    return None if value is None else value.decode("latin-1")


def _reason(trail: Trail) -> str:
    if trail.error is not None:
        return in_words(trail.error)
    if trail.response is None or trail.leads_nowhere:
        return "leads nowhere: there is none"
    return f"{trail.response.status}" + (", breaks off" if _breaks_off(trail) else "")
