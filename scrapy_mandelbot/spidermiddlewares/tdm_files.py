"""The tdmrep.json of sites, each fetched once and stored like robots.txt."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mandelbot import Failure
from mandelbot.preferences.tdmrep import BYTES_LIMIT, TDMREP_PATH, TdmFile

from scrapy_mandelbot import events
from scrapy_mandelbot.fetching.requesting import SiteFiles
from scrapy_mandelbot.store.memory import Recent

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_mandelbot.crawl import Crawl
    from scrapy_mandelbot.fetching.requesting import FetchedFile

_SUCCESS = range(200, 300)
_NOT_MODIFIED = 304
_SERVER_ERRORS = range(500, 600)
_NONE = frozenset({Failure.NOWHERE, Failure.LOOP, Failure.BAD_REDIRECT})
_REQUEST_AGAIN_AFTER = 300.0  # seconds, if the file is unavailable

# Parsed files stay in memory as long as they fit, and are parsed again from the copy
# otherwise.
FILES_LIMIT = 8 * 1024 * 1024
"""Bytes of parsed files in memory."""
# bytes of a small file, and for each byte of one
_OVERHEAD = 1_024
_FACTOR = 8


class SiteTdm:
    """A site's parsed file, and until when it is valid."""

    __slots__ = ("file", "until")

    def __init__(self, body: bytes, until: float) -> None:
        self.file = TdmFile.parse(body) if body else TdmFile(())
        self.until = until


class TdmFiles:
    """Provides the file of every site, each fetched once for all requests that need it.

    Source: TDM Reservation Protocol, "TDM File on the Origin Server": a site without
    the file does not implement the protocol. After a temporary failure the file is
    requested again soon; a good copy stays in use meanwhile.
    """

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self._files = SiteFiles(
            crawl.fetcher.limits, crawl.config, crawl.now, BYTES_LIMIT
        )
        self._read: Recent[SiteTdm] = Recent(FILES_LIMIT)

    async def of(self, site: str, request: Request) -> SiteTdm:
        """Return the file of a site. Never raises.

        The fetch takes the route of the request.
        """
        known = self._read.get(site)
        if known is not None and self._crawl.now() < known.until:
            return known
        return await self._files.once(
            site, partial(self._fetch, site, request), _is_for_all
        )

    async def _fetch(self, site: str, request: Request) -> SiteTdm:
        key = site + TDMREP_PATH
        config = self._crawl.config
        copy = self._crawl.store.get_copy(key)
        if copy is not None and copy.is_fresh(self._crawl.now(), config.fresh_for):
            return self._remember(site, copy.body, copy.fetched_at + config.fresh_for)
        fetched = await self._files.get(site, key, request, copy)
        self._crawl.events.emit(events.TDM_FETCHED, url=key, reason=_reason(fetched))
        now = self._crawl.now()
        status = fetched.answer.status
        body = b"" if fetched.response is None else fetched.response.body[:BYTES_LIMIT]
        is_half = bool(fetched.answer.broken_off) and status in _SUCCESS
        if is_half or self._is_unavailable(fetched):
            if copy is not None and now - copy.fetched_at < config.cache_stale:
                body = copy.body
            elif not is_half:  # of a truncated file, the rules before its end count
                body = b""
            return self._remember(site, body, now + _REQUEST_AGAIN_AFTER)
        if status == _NOT_MODIFIED and copy is not None:
            copy = fetched.copy(now, copy.body, copy.status, copy)
        else:
            if status not in _SUCCESS:
                body = b""
            copy = fetched.copy(now, body, status or 404)
        self._crawl.store.put_copy(key, copy)
        return self._remember(site, copy.body, now + config.fresh_for)

    def _is_unavailable(self, fetched: FetchedFile) -> bool:
        status = fetched.answer.status
        statuses = self._crawl.config.pause_statuses
        if status is None:
            return fetched.answer.failure not in _NONE
        return status in _SERVER_ERRORS or status in statuses

    def _remember(self, site: str, body: bytes, until: float) -> SiteTdm:
        known = SiteTdm(body, until)
        self._read.put(site, known, _OVERHEAD + len(site) + _FACTOR * len(body))
        return known


def _is_for_all(_found: SiteTdm) -> bool:
    """Return True: one fetch answers all that wait."""
    return True


def _reason(fetched: FetchedFile) -> str:
    answer = fetched.answer
    if answer.status is not None:
        if answer.broken_off:
            return f"{answer.status}, truncated"
        return str(answer.status)
    if answer.failure in _NONE:
        return "redirects to no valid URL: there is none"
    return answer.detail
