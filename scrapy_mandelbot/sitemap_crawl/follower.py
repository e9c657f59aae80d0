"""The extension that follows sitemaps."""

from __future__ import annotations

import tempfile
from itertools import islice
from typing import TYPE_CHECKING, Any

import scrapy.signals
from scrapy.exceptions import DontCloseSpider, NotConfigured
from scrapy.spiders import SitemapSpider
from scrapy.utils.asyncio import call_later
from scrapy.utils.job import job_dir

from scrapy_mandelbot import engine, signals
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.events import PAGE_FED, PAGE_FORBIDDEN, SITEMAPS_LEFT_TO_SPIDER
from scrapy_mandelbot.rules.download_limits import DownloadLimits
from scrapy_mandelbot.sitemap_crawl.citations import (
    Citations,
    CrossSubmits,
    SitemapWarnings,
    pages_by_site,
)
from scrapy_mandelbot.sitemap_crawl.entry_files import (
    Cited,
    SitemapReading,
    SitemapSelection,
    cited_of,
    doubted_site,
    install,
    others_turn,
    sitemap_request,
)
from scrapy_mandelbot.sitemap_crawl.progress import (
    MOST_WAITING,
    Progress,
    UnfollowedRequests,
    progress_folder,
)
from scrapy_mandelbot.sitemap_crawl.shared_follower import SharedFollower
from scrapy_mandelbot.throttle.site_map import site_of_request

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from scrapy_mandelbot.sitemap_crawl.entry_files import EntryFile
    from scrapy_mandelbot.sitemap_crawl.kept_progress import SiteProgress

_FEW, _ENOUGH = 50, 100
"""Requests of a site in the queue: at fewer it is fed, up to as many."""
_MOST = 10_000  # requests in the scheduler, beyond which it is not fed
_SLICE = 200  # entries that are fed or filtered without letting anyone else have a turn


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
        self._hungry: set[str] = set()
        """Sites that were not fed, as the scheduler held enough of others."""
        self._asleep: set[str] = set()
        """Sites that were asked for their robots.txt, and that the spider has not gone to."""
        self._temporary: tempfile.TemporaryDirectory[str] | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> SitemapFollower:
        """Build the extension; it begins when the spider is there."""
        follower = cls(crawler)
        crawler.signals.connect(follower.spider_opened, signal=scrapy.signals.spider_opened)
        return follower

    def spider_opened(self, spider: Spider) -> None:
        """Begin, with what a former run has left."""
        if not self._crawl.asks_for_more:
            return
        is_left_to_spider = isinstance(spider, SitemapSpider)
        if self._is_asked_to and is_left_to_spider:
            self._events.tell(SITEMAPS_LEFT_TO_SPIDER)
        folder = job_dir(self._crawler.settings)
        if not self._is_asked_to or is_left_to_spider:
            if folder is not None:
                UnfollowedRequests(self._crawl, spider, folder)
            return
        self._selection = SitemapSelection(spider)
        since = self._crawl.config.sitemap_since
        if isinstance(since, str):
            since = self._crawl.store.get_run(spider.name)
        self._since = since
        if self._crawl.config.shares_job:
            self._shared = SharedFollower(self._crawler, self._selection, since)
            return
        if folder is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="scrapy-mandelbot-")
            folder = self._temporary.name
        job = self._crawl.job if self._temporary is None else None
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

    # What is heard.

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
        if cited_of(request) is not None:
            most = self._crawl.config.sitemap_max_bytes
            self._limits.begin(request, most, float("inf"), 2 * most)
        site = site_of_request(request)
        self._wake_up(site)
        if self._progress.get(site) is not None:
            self._go_on(site)
        elif self._hungry:
            self._feed_hungry()

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

    # What is done: ask for one, read it, feed the crawl.

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
        """Return so many entries, or as many as there are; a file that is used up goes."""
        entries = file.next_entries(most)
        if not entries and file.is_complete:
            progress.files.remove(file)
            self._cross_submits.used_up(file)
        return entries

    def _ask_next(self, site: str, progress: SiteProgress) -> bool:
        """Ask for the next sitemap, if there is one and none is asked for; return if there was."""
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
        """Return how many requests of the site the crawl has room for."""
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
                    self._events.count(PAGE_FORBIDDEN)
                    continue
                self._events.count(PAGE_FED)
                self._crawler.engine.crawl(request)
                count += 1
            file.offset = end
        return count

    # What comes of it.

    async def _read(self, response: Response) -> None:
        """Put the entries of a sitemap on disk, letting others have their turns meanwhile."""
        request: Request = response.request  # type: ignore[assignment]  # it has one here
        self._limits.end(request)
        cited: Cited = cited_of(request)  # type: ignore[assignment]  # it is one for a sitemap
        progress = self._progress[cited.site]
        reading = SitemapReading(response, self._crawl.config, self._since)
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
            self._progress.cannot_wait()
            progress.has_come(cited)
            is_sitemap = reading.reader.kind != "unknown"
            self._citations.has_come(progress, cited, is_sitemap=is_sitemap)
            self._complaints.tell_read(cited, reading, count)
            self._go_on(cited.site)

    def _wanted(self, reading: SitemapReading, cited: Cited) -> Iterator[list[dict[str, Any]]]:
        """Yield, turn by turn, the entries that the spider wants; all exceptions are the spider's.

        Its filter may ask for one entry after the other before it lets one through: what it asks
        for has been read by then.
        """
        if not self._selection.has_filter:
            yield from reading.turns()
            return
        everything = self._progress.new_file(cited, is_index=False)
        try:
            for some in reading.turns():
                everything.write(some)
                yield []
            chosen = self._selection.chosen(everything.entries())
            while some := list(islice(chosen, _SLICE)):
                yield some
        finally:
            everything.remove()

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
        """Go on without a sitemap that could not be had."""
        request: Request = failure.request  # type: ignore[attr-defined]  # Scrapy's
        self._limits.end(request)
        cited: Cited = cited_of(request)  # type: ignore[assignment]  # it is one for a sitemap
        progress = self._progress[cited.site]
        self._progress.cannot_wait()
        self._citations.has_come(progress, cited, is_sitemap=False)
        self._complaints.tell_failed(cited, failure.value)
        progress.has_come(cited)
        self._go_on(cited.site)

    def _heard(self, answer: Response | Failure) -> None:
        """Go on with a site whose robots.txt is known, or cannot be had."""
        self._progress.cannot_wait()
        site = doubted_site(answer.request)  # type: ignore[arg-type,union-attr]  # both have one
        if self._cross_submits.decide(site):
            self._wake_up(site)
        self._go_on(site)
