"""The extension that follows sitemaps."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import scrapy.signals
from scrapy.exceptions import DontCloseSpider, NotConfigured
from scrapy.spiders import SitemapSpider
from scrapy.utils.asyncio import call_later
from scrapy.utils.job import job_dir

from scrapy_mandelbot import engine, events, signals
from scrapy_mandelbot.crawl import LISTED_IN, Crawl
from scrapy_mandelbot.fetching.download_limits import DownloadLimits
from scrapy_mandelbot.sitemap_crawl.citations import (
    Citations,
    CrossSubmits,
    SitemapWarnings,
    pages_by_site,
)
from scrapy_mandelbot.sitemap_crawl.entry_files import (
    Cited,
    UnfollowedRequests,
    cited_of,
    doubted_site,
    install,
    sitemap_request,
)
from scrapy_mandelbot.sitemap_crawl.progress import (
    MOST_WAITING,
    Progress,
    forget_progress,
    progress_folder,
)
from scrapy_mandelbot.sitemap_crawl.selection import SitemapReading, SitemapSelection, others_turn
from scrapy_mandelbot.throttle.site_map import site_of_request

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from scrapy_mandelbot.sitemap_crawl.entry_files import EntryFile
    from scrapy_mandelbot.sitemap_crawl.progress import SiteProgress

_FEW, _ENOUGH = 50, 100  # requests of a site in the queue: at fewer it is fed, up to as many
_MOST = 10_000  # requests in the scheduler, beyond which it is not fed
_SLICE = 200  # entries that are fed without letting anyone else have a turn


class SitemapFollower:
    """Asks for the sitemaps that robots.txt files cite, and crawls what they list.

    A sitemap's request goes through the scheduler as any other: by the rules, pause and pace of its
    site. What it lists is kept on disk, and becomes requests when few of the site are left.
    """

    def __init__(self, crawler: Crawler) -> None:
        crawl = Crawl.of(crawler)
        self._is_asked_to = crawl.config.sitemaps == "follow"
        is_resuming = job_dir(crawler.settings) is not None  # what a run has left that was
        if not crawl.config.enabled or not (self._is_asked_to or is_resuming):
            raise NotConfigured
        self._crawler = crawler
        self._crawl = crawl
        self._events = crawl.events
        self._complaints = SitemapWarnings(self._events)
        self._citations = Citations(crawl.config, self._complaints)
        self._limits = DownloadLimits(crawler, crawl.now)
        self._hungry: set[str] = set()  # not fed, as the scheduler held enough
        self._asleep: set[str] = set()  # robots.txt fetched, but not crawled yet
        self._temporary: tempfile.TemporaryDirectory[str] | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> SitemapFollower:
        """Build the extension; it begins when the spider is there."""
        follower = (SharedFollower if Crawl.of(crawler).config.shares_job else cls)(crawler)
        crawler.signals.connect(follower.spider_opened, signal=scrapy.signals.spider_opened)
        return follower

    def spider_opened(self, spider: Spider) -> None:
        """Begin, with what a former run has left."""
        if not self._crawl.asks_for_more:
            return
        is_left_to_spider = isinstance(spider, SitemapSpider)
        if self._is_asked_to and is_left_to_spider:
            self._events.emit(events.SITEMAPS_LEFT_TO_SPIDER)
        folder = job_dir(self._crawler.settings)
        if not self._is_asked_to or is_left_to_spider:
            if folder is not None:
                UnfollowedRequests(self._crawl, spider, partial(forget_progress, folder))
            return
        self._selection = SitemapSelection(spider)
        since = self._crawl.config.sitemap_since
        if isinstance(since, str):
            since = self._crawl.store.get_run(spider.name)
        self._since = since
        self._begin(spider, folder)

    def _begin(self, spider: Spider, folder: str | None) -> None:
        job = None
        if folder is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="scrapy-mandelbot-")
            folder = self._temporary.name
        else:
            job = self._crawl.job
        self._progress = Progress(progress_folder(folder), job, self._crawl.now)
        if job is not None:
            job.before_commits(self._before_commit)
        self._cross_submits = CrossSubmits(
            self._crawler, self._crawl, self._progress, self._complaints, self._go_on
        )
        install(spider, read=self._read, missed=self._missed, heard=self._heard)
        for handler, signal in (
            (self._discovered, signals.sitemaps_discovered),
            (self._reached_downloader, scrapy.signals.request_reached_downloader),
            (self._scheduler_empty, scrapy.signals.scheduler_empty),
            (self._idle, scrapy.signals.spider_idle),
            (self._closed, scrapy.signals.spider_closed),
        ):
            self._crawler.signals.connect(handler, signal=signal)
        self._hungry.update(self._progress.unfinished())

    def _discovered(self, site: str, urls: tuple[str, ...]) -> None:
        if self._cross_submits.is_in_doubt(site):  # it is only asked what it says of others
            self._asleep.add(site)
            return
        progress = self._progress[site]
        room = max(0, MOST_WAITING - len(progress.to_ask))
        cited = [Cited(url, site, root=url) for url in urls[:room]]
        progress.to_ask.extend(one for one in cited if self._citations.is_wanted(progress, one))
        if urls[room:]:
            self._progress.put_behind(site, list(urls[room:]))
        self._go_on(site)

    def _reached_downloader(self, request: Request) -> None:
        self._limit(request)
        site = site_of_request(request)
        self._wake_up(site)
        if self._progress.get(site) is not None:
            self._go_on(site)
        elif self._hungry:
            self._feed_hungry()

    def _limit(self, request: Request) -> None:
        if cited_of(request) is not None:
            most = self._crawl.config.sitemap_max_bytes
            self._limits.begin(request, most, float("inf"), 2 * most)

    def _wake_up(self, site: str) -> None:
        """Read the sitemaps of a site that was only asked for its robots.txt: it is crawled now."""
        if site in self._asleep:
            self._asleep.discard(site)
            self._discovered(site, self._crawl.fetcher.sitemaps(site))

    def _scheduler_empty(self) -> None:
        if not engine.scheduler_length(self._crawler):
            self._hungry.update(self._progress.unfinished())
        self._feed_hungry()

    def _idle(self) -> None:
        unfinished = self._progress.unfinished()
        self._cross_submits.ask_more()
        if not engine.scheduler_length(self._crawler):
            for site in unfinished:
                self._miss_lost(site, self._progress[site])
        self._hungry.update(unfinished)
        self._feed_hungry()
        if self._progress.unfinished():
            raise DontCloseSpider

    def _miss_lost(self, site: str, progress: SiteProgress) -> None:
        """Wait no longer for a request that a middleware has dropped without a word."""
        self._cross_submits.decide_lost(site)
        if progress.asked is not None:
            self._complaints.tell_failed(progress.asked, "its request was dropped")
            progress.asked = None

    def _before_commit(self) -> None:
        self._progress.before_commit(is_last=engine.is_closing(self._crawler))

    def _closed(self) -> None:
        if self._temporary is None:
            self._progress.close()
        else:
            self._temporary.cleanup()

    def _go_on(self, site: str) -> None:
        """Feed the crawl with a site's entries while it has room, or ask for its next sitemap."""
        progress, budget = self._progress[site], _SLICE
        room = 0 if engine.is_closing(self._crawler) else self._room(site)
        while room > 0:
            if budget <= 0:
                call_later(0, self._go_on, site)
                return
            file = progress.next_file
            if file is None or file.is_index:
                if not self._ask_next(site, progress):
                    self._progress.forget_done(site)
                    return
                budget -= 1
            elif entries := self._next_entries(progress, file, min(room, budget)):
                room -= self._feed(site, file, entries)
                budget -= len(entries)
            elif not file.is_complete:  # it is being read, and feeds us as it is
                return

    def _next_entries(
        self, progress: SiteProgress, file: EntryFile, most: int
    ) -> list[tuple[dict[str, Any], int]]:
        entries = file.next_entries(most)
        if not entries and file.is_complete:
            progress.files.remove(file)
            self._cross_submits.used_up(file)
        return entries

    def _ask_next(self, site: str, progress: SiteProgress) -> bool:
        if progress.asked is not None or self._cross_submits.is_full(site):
            return False
        index = progress.next_file
        if index is None:
            if not progress.to_ask:
                return False
            cited = progress.to_ask.popleft()
            is_wanted = self._citations.is_still_wanted(progress, cited)
            is_wanted = is_wanted and self._progress.begin(cited)
        else:
            entries = self._next_entries(progress, index, 1)
            if not entries:
                return index.is_complete
            entry, index.offset = entries[0]
            url = entry["loc"]
            cited = Cited(url, site, index.cited.root or url, index.cited.depth + 1)
            is_wanted = (
                (not cited.depth or self._selection.follows(url))
                and self._citations.is_wanted(progress, cited)
                and self._progress.begin(cited)
            )
        if is_wanted:
            progress.asked = cited
            self._crawler.engine.crawl(sitemap_request(self._crawler.spider, cited))  # type: ignore[arg-type]  # it is there
        return True

    def _room(self, site: str) -> int:
        held = engine.scheduler_length(self._crawler)
        if held >= _MOST:
            self._hungry.add(site)
            return 0
        waiting = self._crawl.waiting(site) if self._crawl.has_queue else held
        return _ENOUGH - waiting if waiting < _FEW else 0

    def _feed_hungry(self) -> None:
        for site in list(self._hungry):
            if engine.scheduler_length(self._crawler) >= _MOST:
                return
            self._hungry.discard(site)
            self._go_on(site)

    def _feed(self, site: str, file: EntryFile, entries: list[tuple[dict[str, Any], int]]) -> int:
        """Schedule the requests for pages of the site; return how many there were.

        An entry is taken when its requests are in the scheduler, which may commit a job meanwhile.
        """
        count = 0
        for entry, end in entries:
            for request in self._selection.requests(entry):
                if site_of_request(request) != site:  # it is with that site's, if it counts
                    continue
                if self._crawl.forbids(request):
                    self._events.count(events.PAGE_FORBIDDEN)
                    continue
                self._events.count(events.PAGE_FED)
                self._crawler.engine.crawl(request)
                count += 1
            file.offset = end
        return count

    async def _read(self, response: Response) -> None:
        """Put the entries of a sitemap on disk, letting others have their turns meanwhile."""
        cited, reading = self._reading(response)
        progress = self._progress[cited.site]
        file, count = None, 0
        try:
            for some in self._wanted(reading, cited):
                if some and file is None:
                    file = self._progress.new_file(cited, is_index=reading.is_index)
                    progress.files.append(file)
                    progress.has_come(cited)
                if file is not None:
                    count += len(some)
                    self._put_away(file, some)
                    self._go_on(cited.site)
                await others_turn()
        finally:
            if file is not None:
                file.is_complete = True
            self._has_read(cited, reading, count)
            self._go_on(cited.site)

    def _reading(self, response: Response) -> tuple[Cited, SitemapReading]:
        request: Request = response.request  # type: ignore[assignment]  # it has one here
        self._limits.end(request)
        cited: Cited = cited_of(request)  # type: ignore[assignment]  # it is one for a sitemap
        return cited, SitemapReading(response, self._crawl.config, self._selection, self._since)

    def _wanted(self, reading: SitemapReading, cited: Cited) -> Iterator[list[dict[str, Any]]]:
        return reading.wanted(lambda: self._progress.new_file(cited, is_index=False))

    def _has_read(self, cited: Cited, reading: SitemapReading, wanted: int) -> None:
        self._has_come(cited, is_sitemap=reading.reader.kind != "unknown")
        self._complaints.tell_read(cited, reading, wanted)

    def _has_come(self, cited: Cited, *, is_sitemap: bool) -> None:
        progress = self._progress[cited.site]
        self._progress.cannot_wait()
        progress.has_come(cited)
        self._citations.has_come(progress, cited, is_sitemap=is_sitemap)

    def _put_away(self, file: EntryFile, entries: list[dict[str, Any]]) -> None:
        if file.is_index:
            file.write(entries)
            return
        cited = file.cited
        by_site = pages_by_site(entries, self._selection, cited.site)
        file.write(by_site.pop(cited.site).entries)
        for site, listed in by_site.items():
            self._cross_submits.pass_on(cited, site, listed)

    def _missed(self, failure: Failure) -> None:
        request: Request = failure.request  # type: ignore[attr-defined]  # Scrapy's
        self._limits.end(request)
        cited: Cited = cited_of(request)  # type: ignore[assignment]  # it is one for a sitemap
        self._has_come(cited, is_sitemap=False)
        self._complaints.tell_failed(cited, failure.value)
        self._go_on(cited.site)

    def _heard(self, answer: Response | Failure) -> None:
        """Go on with a site whose robots.txt is known, or cannot be had."""
        self._progress.cannot_wait()
        site = doubted_site(answer.request)  # type: ignore[arg-type,union-attr]  # both have one
        if self._cross_submits.decide(site):
            self._wake_up(site)
        self._go_on(site)


_SITES = 10_000  # sites of which a worker knows what they cite, so that it can be held to limits


class SharedFollower(SitemapFollower):
    """Follows sitemaps in a crawl whose job is many workers': nothing of them stays with one.

    A sitemap's request goes to whoever has its site, which may be another worker by then, and comes
    again where that one dies. So its callback gives all that it lists at once, as a spider's would:
    the job keeps it, and the sitemap's own request with it until then. Whether a page of another
    site counts is seen where that site's robots.txt is known: by the worker that has it.
    """

    def _begin(self, spider: Spider, folder: str | None) -> None:  # noqa: ARG002 -- see above
        self._spider = spider
        self._temporary = tempfile.TemporaryDirectory(prefix="scrapy-mandelbot-")
        self._progress = Progress(progress_folder(self._temporary.name))
        install(spider, read=self._give, missed=self._missed, heard=lambda _: None)
        for handler, signal in (
            (self._discovered, signals.sitemaps_discovered),
            (self._limit, scrapy.signals.request_reached_downloader),
            (self._closed, scrapy.signals.spider_closed),
        ):
            self._crawler.signals.connect(handler, signal=signal)

    def _discovered(self, site: str, urls: tuple[str, ...]) -> None:
        """Request what a site cites: once in the job, however many workers have had the site."""
        progress = self._progress[site]
        for url in urls:
            cited = Cited(url, site, root=url)
            if self._citations.is_wanted(progress, cited):
                self._crawler.engine.crawl(sitemap_request(self._spider, cited, once=True))
        self._progress.forget_oldest(_SITES)

    def _go_on(self, site: str) -> None:
        """Nothing waits here."""

    async def _give(self, response: Response) -> AsyncIterator[Request]:
        """Give what a sitemap lists, letting others have their turns meanwhile."""
        cited, reading = self._reading(response)
        progress, wanted = self._progress[cited.site], 0
        try:
            for some in self._wanted(reading, cited):
                wanted += len(some)
                listed = self._sitemap if reading.is_index else self._pages
                for entry in some:
                    for request in listed(progress, cited, entry):
                        yield request
                await others_turn()
        finally:
            self._has_read(cited, reading, wanted)

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
                if not self._citations.may_lead_to(progress, cited, site):
                    self._events.count(events.PAGES_FOREIGN, pages=1)
                    continue
                request.meta[LISTED_IN] = cited.root
            elif self._crawl.forbids(request):
                self._events.count(events.PAGE_FORBIDDEN)
                continue
            self._events.count(events.PAGE_FED)
            yield request
