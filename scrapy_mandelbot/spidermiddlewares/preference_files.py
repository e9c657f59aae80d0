"""The files of sites that state preferences for pages: robots.txt, and tdmrep.json."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from mandelbot.answers.outcome import Failure, OutcomeKind
from mandelbot.preferences.statements import NOTHING_SAID, Usage
from mandelbot.preferences.tdmrep import BYTES_LIMIT, TDMREP_PATH, TdmFile
from scrapy.http.request import NO_CALLBACK

from scrapy_mandelbot import events
from scrapy_mandelbot.fetching.requesting import SiteFiles
from scrapy_mandelbot.sitemap_crawl.entry_files import OWN
from scrapy_mandelbot.store.memory import Recent

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_mandelbot.crawl import Crawl
    from scrapy_mandelbot.fetching.fetcher import SiteRules
    from scrapy_mandelbot.fetching.requesting import FetchedFile

_OF_TDM = frozenset({"tdm", "train-ai"})
"""The categories that ``tdmrep.json`` covers."""
_UNKNOWN_RULES = frozenset({OutcomeKind.UNAVAILABLE, OutcomeKind.UNASKED})
SILENT_LIMIT = 8 * 1024 * 1024
"""Bytes of memory for sites whose robots.txt is unavailable."""
_RETRY_AFTER = 300.0  # seconds
_ENTRY_SIZE = 300  # bytes, beside the site's name


class PageContext(NamedTuple):
    """The files that applied to a page when it was requested."""

    site: str
    agent: str | tuple[str, ...]
    rules: SiteRules | None
    """None: its robots.txt was not requested, or is unavailable."""
    file: Usage
    """The preferences of its robots.txt."""
    tdm: SiteTdm | None
    of_tdm: Usage
    """The preferences of its site's tdmrep.json."""


class PreferenceFiles:
    """Finds out what the files of a page's site say about its use."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self._flight = crawl.throttle.in_flight.get
        self._tdm = TdmFiles(crawl) if _OF_TDM & {*crawl.config.purposes} else None
        self.contexts: WeakKeyDictionary[Request, PageContext] = WeakKeyDictionary()
        """The files of each page that is requested."""
        self._silent: Recent[float] = Recent(SILENT_LIMIT)
        """Until when a site's robots.txt is not requested again, if robots.txt is not
        obeyed.
        """

    async def find_out(self, request: Request) -> Usage:
        """Return and store the preferences that are known before a page is requested.

        The package's own requests have none: robots.txt, tdmrep.json, sitemaps.
        """
        is_ours = not OWN.isdisjoint(request.meta) or (
            request.callback is NO_CALLBACK
            and request.meta.get("dont_obey_robotstxt")
            and request.meta.get("dont_pause")
        )
        if is_ours or not request.url.startswith(("http://", "https://")):
            return NOTHING_SAID
        flight = self._flight(request)
        site = (
            flight.site if flight else self._crawl.throttle.sites.of_request(request)
        ).name
        rules = None
        if not request.meta.get("dont_obey_robotstxt"):
            rules = None if flight is None else flight.site.rules()
            if rules is None or rules.outcome.kind in _UNKNOWN_RULES:
                rules = await self._rules(site, request)
        agent = self._crawl.agents.of(request)
        file = NOTHING_SAID if rules is None else rules.robots.usage(request.url, agent)
        tdm = None if self._tdm is None else await self._tdm.of(site, request)
        of_tdm = tdm.file.usage(request.url) if tdm and tdm.file.rules else NOTHING_SAID
        self.contexts[request] = PageContext(site, agent, rules, file, tdm, of_tdm)
        return file if of_tdm is NOTHING_SAID else file.combined_with(of_tdm)

    async def _rules(self, site: str, request: Request) -> SiteRules | None:
        """Return the rules of a site.

        None: unavailable, and not requested again for a while. If robots.txt is obeyed,
        RobotsTxtMiddleware has already fetched them.
        """
        rules = self._crawl.fetcher.known(site)
        if rules is None:
            now = self._crawl.now()
            if (self._silent.get(site) or 0.0) > now:
                return None
            rules = await self._crawl.fetcher.rules(site, request)
            if rules is None or rules.outcome.kind is OutcomeKind.UNAVAILABLE:
                self._silent.put(site, now + _RETRY_AFTER, _ENTRY_SIZE + len(site))
        return None if rules is None or rules.outcome.kind in _UNKNOWN_RULES else rules


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

    __slots__ = ("__weakref__", "body", "file", "until")

    def __init__(self, body: bytes, until: float) -> None:
        self.body = body
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
            site, lambda: self._fetch_or_wait(site, request), lambda _: True
        )

    async def _fetch_or_wait(self, site: str, request: Request) -> SiteTdm:
        shared = self._crawl.shared_fetches
        if shared is None:
            return await self._fetch(site, request)
        key = site + TDMREP_PATH
        ttl = self._crawl.config.fresh_for
        found = await shared.begin(key, ttl, lambda _: False)
        try:
            # from the store, if another crawl fetched it
            return await self._fetch(site, request)
        finally:
            if found.is_ours:
                shared.end(key, 0.0)

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
            copy = fetched.copy(now, body if status in _SUCCESS else b"", status or 404)
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


def _reason(fetched: FetchedFile) -> str:
    answer = fetched.answer
    if answer.status is not None:
        return f"{answer.status}" + (", truncated" if answer.broken_off else "")
    return (
        "redirects to no valid URL: there is none"
        if answer.failure in _NONE
        else answer.detail
    )
