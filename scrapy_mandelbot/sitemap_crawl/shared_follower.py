"""Sitemaps in a crawl whose job is many workers': nothing of them stays with one worker.

A sitemap's request goes to whoever has its site, which may be another worker by then, and comes
again where that one dies. So its callback gives all that it lists at once, as a spider's would: the
job keeps it, and the sitemap's own request with it until then. Whether a page of another site
counts is seen where that site's robots.txt is known: by the worker that has it.

Source: sitemaps.org, "Sitemaps & Cross Submits".
"""

from __future__ import annotations

import tempfile
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scrapy.signals

from scrapy_mandelbot import signals
from scrapy_mandelbot.crawl import LISTED_IN, Crawl
from scrapy_mandelbot.events import PAGE_FED, PAGE_FORBIDDEN, PAGES_FOREIGN, SITES_TOO_MANY
from scrapy_mandelbot.rules.download_limits import DownloadLimits
from scrapy_mandelbot.sitemap_crawl.citations import MOST_STRANGERS, Citations, SitemapWarnings
from scrapy_mandelbot.sitemap_crawl.entry_files import (
    Cited,
    EntryFile,
    SitemapReading,
    cited_of,
    install,
    others_turn,
    sitemap_request,
)
from scrapy_mandelbot.sitemap_crawl.kept_progress import SiteProgress
from scrapy_mandelbot.store.memory import Recent
from scrapy_mandelbot.throttle.site_map import site_of_request

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from scrapy_mandelbot.sitemap_crawl.entry_files import SitemapSelection

_SITES = 10_000
"""Sites of which it is known what they cite, so that it can be held to limits."""
_SLICE = 200  # entries without letting anyone else have a turn


class SharedFollower:
    """Asks for the sitemaps that robots.txt files cite, and crawls what they list.

    Entries that were last modified before `since` are left out.
    """

    def __init__(self, crawler: Crawler, selection: SitemapSelection, since: float | None) -> None:
        self._crawler = crawler
        self._crawl = Crawl.of(crawler)
        self._config = self._crawl.config
        self._events = self._crawl.events
        self._complaints = SitemapWarnings(self._events)
        self._citations = Citations(self._config, self._complaints)
        self._limits = DownloadLimits(crawler, self._crawl.now)
        self._selection = selection
        self._since = since
        self._sites: Recent[SiteProgress] = Recent(_SITES)
        spider: Spider = crawler.spider  # type: ignore[assignment]  # it is there
        self._spider = spider
        install(spider, read=self._read, missed=self._missed, heard=lambda _: None)
        for handler, signal in (
            (self._discovered, signals.sitemaps_discovered),
            (self._reached_downloader, scrapy.signals.request_reached_downloader),
        ):
            crawler.signals.connect(handler, signal=signal)

    def _discovered(self, site: str, urls: tuple[str, ...]) -> None:
        """Ask for what a site cites: once in the job, however many workers have had the site."""
        progress = self._progress(site)
        for url in urls:
            cited = Cited(url, site, root=url)
            if self._citations.is_wanted(progress, cited):
                self._crawler.engine.crawl(sitemap_request(self._spider, cited, once=True))

    def _reached_downloader(self, request: Request) -> None:
        if cited_of(request) is not None:
            most = self._config.sitemap_max_bytes
            self._limits.begin(request, most, float("inf"), 2 * most)

    async def _read(self, response: Response) -> AsyncIterator[Request]:
        """Give what a sitemap lists, letting others have their turns meanwhile."""
        request: Request = response.request  # type: ignore[assignment]  # it has one here
        self._limits.end(request)
        cited: Cited = cited_of(request)  # type: ignore[assignment]  # it is one for a sitemap
        progress = self._progress(cited.site)
        reading = SitemapReading(response, self._config, self._since)
        wanted = 0
        try:
            async for some in self._wanted(reading, cited):
                wanted += len(some)
                for entry in some:
                    listed = self._sitemap if reading.is_index else self._pages
                    for one in listed(progress, cited, entry):
                        yield one
        finally:
            is_sitemap = reading.reader.kind != "unknown"
            self._citations.has_come(progress, cited, is_sitemap=is_sitemap)
            self._complaints.tell_read(cited, reading, wanted)

    async def _wanted(
        self, reading: SitemapReading, cited: Cited
    ) -> AsyncIterator[list[dict[str, Any]]]:
        """Yield, turn by turn, the entries that the spider wants."""
        if not self._selection.has_filter:
            for some in reading.turns():
                yield some
                await others_turn()
            return
        # It may ask for one after the other before it lets one through: all are there by then.
        with tempfile.TemporaryDirectory(prefix="scrapy-mandelbot-") as folder:
            everything = EntryFile(cited, is_index=False, path=Path(folder, "entries.jsonl"))
            everything.write(())
            for some in reading.turns():
                everything.write(some)
                await others_turn()
            chosen = self._selection.chosen(everything.entries())
            while some := list(islice(chosen, _SLICE)):
                yield some
                await others_turn()

    def _sitemap(
        self, progress: SiteProgress, cited: Cited, entry: dict[str, Any]
    ) -> Iterator[Request]:
        url = entry["loc"]
        listed = Cited(url, cited.site, cited.root or url, cited.depth + 1)
        if self._selection.follows(url) and self._citations.is_wanted(progress, listed):
            yield sitemap_request(self._spider, listed, once=True)

    def _pages(
        self, progress: SiteProgress, cited: Cited, entry: dict[str, Any]
    ) -> Iterator[Request]:
        for request in self._selection.requests(entry):
            site = site_of_request(request)
            if site != cited.site:
                if not self._may_count(progress, cited, site):
                    self._events.count(PAGES_FOREIGN, pages=1)
                    continue
                request.meta[LISTED_IN] = cited.root
            elif self._crawl.forbids(request):
                self._events.count(PAGE_FORBIDDEN)
                continue
            self._events.count(PAGE_FED)
            yield request

    def _may_count(self, progress: SiteProgress, cited: Cited, site: str) -> bool:
        """Return whether pages of another site are given, to be judged where that site is."""
        if not (self._config.obey and self._config.may_send(cited.site, site)):
            return False
        if site not in progress.strangers and len(progress.strangers) >= MOST_STRANGERS:
            self._complaints.tell_once(SITES_TOO_MANY, site=cited.site, most=MOST_STRANGERS)
            return False
        progress.strangers.add(site)
        return True

    def _missed(self, failure: Failure) -> None:
        """Go on without a sitemap that could not be had."""
        request: Request = failure.request  # type: ignore[attr-defined]  # Scrapy's
        self._limits.end(request)
        cited: Cited = cited_of(request)  # type: ignore[assignment]  # it is one for a sitemap
        self._citations.has_come(self._progress(cited.site), cited, is_sitemap=False)
        self._complaints.tell_failed(cited, failure.value)

    def _progress(self, site: str) -> SiteProgress:
        progress = self._sites.get(site)
        if progress is None:
            progress = SiteProgress()
            self._sites.put(site, progress, 1)
        return progress
