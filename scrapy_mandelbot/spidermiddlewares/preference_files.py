"""The files of sites that state preferences for pages: robots.txt, and tdmrep.json."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from mandelbot import OutcomeKind, Usage, usage
from mandelbot.preferences.statements import NOTHING_SAID
from scrapy.http.request import NO_CALLBACK

from scrapy_mandelbot.sitemap_crawl.entry_files import OWN
from scrapy_mandelbot.spidermiddlewares.tdm_files import TdmFiles
from scrapy_mandelbot.store.memory import Recent

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_mandelbot.crawl import Crawl
    from scrapy_mandelbot.fetching.fetcher import SiteRules

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
    file: Usage
    """The preferences of its robots.txt."""
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
        if _is_ours(request) or not request.url.startswith(("http://", "https://")):
            return NOTHING_SAID
        flight = self._flight(request)
        if flight is None:
            site = self._crawl.throttle.sites.of_request(request).name
        else:
            site = flight.site.name
        rules = None
        if not request.meta.get("dont_obey_robotstxt"):
            rules = None if flight is None else flight.site.rules()
            if rules is None or rules.outcome.kind in _UNKNOWN_RULES:
                rules = await self._rules(site, request)
        agent = self._crawl.agents.of(request)
        file = (
            NOTHING_SAID if rules is None else usage(rules.robots, request.url, agent)
        )
        tdm = None if self._tdm is None else await self._tdm.of(site, request)
        of_tdm = NOTHING_SAID
        if tdm and tdm.file.rules:
            of_tdm = tdm.file.usage(request.url)
        self.contexts[request] = PageContext(site, agent, file, of_tdm)
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
            if rules.outcome.kind is OutcomeKind.UNAVAILABLE:
                self._silent.put(site, now + _RETRY_AFTER, _ENTRY_SIZE + len(site))
        return None if rules.outcome.kind in _UNKNOWN_RULES else rules


def _is_ours(request: Request) -> bool:
    """Return whether the package made a request: for robots.txt, a sitemap or so."""
    meta = request.meta
    if not OWN.isdisjoint(meta):
        return True
    if request.callback is not NO_CALLBACK:
        return False
    return bool(meta.get("dont_obey_robotstxt") and meta.get("dont_pause"))
