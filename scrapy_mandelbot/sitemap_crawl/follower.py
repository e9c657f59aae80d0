"""The extension that follows sitemaps."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import scrapy.signals
from scrapy.exceptions import DontCloseSpider, IgnoreRequest, NotConfigured
from scrapy.spidermiddlewares.httperror import HttpError
from scrapy.spiders import SitemapSpider
from scrapy.utils.job import job_dir

from scrapy_mandelbot import engine, events, signals
from scrapy_mandelbot.clock import Timers
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.fetching.download_limits import CITED
from scrapy_mandelbot.sitemap_crawl.citations import Citations, CrossSubmits
from scrapy_mandelbot.sitemap_crawl.entry_files import (
    UNCONFIRMED,
    CitedSitemap,
    install,
)
from scrapy_mandelbot.sitemap_crawl.progress import Progress, UnfollowedRequests
from scrapy_mandelbot.sitemap_crawl.selection import SitemapSelection
from scrapy_mandelbot.throttle.site_map import site_of_request

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from scrapy_mandelbot.sitemap_crawl.progress import SiteProgress

# requests of a site in the queue: fed below the first, up to the second
_FEW = 50
_ENOUGH = 100
_MOST = 10_000  # requests in the scheduler, above which it is not fed
UNDER_WAY = 64
"""Sitemaps that are requested or being read at once; twice as many each time that the
reading has none left.

One that waits to be read takes 20 KiB, most of it Scrapy's calls of its callback; one
that waits to be requested takes its URL.
"""
_LULL = 1.0  # seconds without a sitemap to read, while others are held back


class SitemapFollower:
    """Requests the sitemaps that robots.txt files cite, and crawls their pages.

    A sitemap's request goes through the scheduler like any other: the rules, pause and
    crawl delay of its site apply. Its entries wait on disk, and become requests when
    few of the site are left.

    All sites share the time for reading. While it does not keep up, the sitemaps of
    further sites wait as URLs, and each is requested when another one has been read.
    """

    def __init__(self, crawler: Crawler) -> None:
        crawl = Crawl.of(crawler)
        self._is_enabled = crawl.config.follows_sitemaps
        # a previous run may have left requests
        is_resuming = job_dir(crawler.settings) is not None
        if not crawl.config.enabled or not (self._is_enabled or is_resuming):
            raise NotConfigured
        self._crawler = crawler
        self._crawl = crawl
        self._events = crawl.events
        self._citations = Citations(crawl.config, self._events)
        self._warnings = self._citations.warnings
        self._share = crawl.clock.share
        self._to_feed: set[str] = set()  # not fed, as the scheduler was full
        self._advancing: set[str] = set()
        self._under_way: set[str] = set()  # sites with a sitemap requested or unread
        self._most_under_way = UNDER_WAY
        self._unread = 0  # sitemaps that have come and are not read yet
        # sites whose next sitemap is requested when another one is read, in their order
        self._held_back: dict[str, None] = {}
        self._lulls: Timers[SitemapFollower] = Timers(
            crawl.clock, SitemapFollower._end_lull
        )
        self._only_consulted: set[str] = set()  # only their robots.txt was needed
        self._temporary: tempfile.TemporaryDirectory[str] | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> SitemapFollower:
        """Build the extension; it starts with the spider."""
        is_shared = Crawl.of(crawler).config.shares_job
        follower = WorkerFollower(crawler) if is_shared else cls(crawler)
        crawler.signals.connect(
            follower.spider_opened, signal=scrapy.signals.spider_opened
        )
        return follower

    def spider_opened(self, spider: Spider) -> None:
        """Start, with the state of a previous run if there is one."""
        if not self._crawl.asks_for_more:
            return
        is_left_to_spider = isinstance(spider, SitemapSpider)
        if self._is_enabled and is_left_to_spider:
            self._events.emit(events.SITEMAPS_LEFT_TO_SPIDER)
        folder = job_dir(self._crawler.settings)
        if not self._is_enabled or is_left_to_spider:
            # a previous run may have followed them
            if folder is not None and engine.scheduler_length(self._crawler):
                UnfollowedRequests(self._crawl, spider, folder)
            return
        since = self._crawl.config.sitemap_since
        if isinstance(since, str):
            since = self._crawl.store.get_run(spider.name)
        self._selection = SitemapSelection(spider, since)
        self._begin(spider, folder)

    def _begin(self, spider: Spider, folder: str | None) -> None:
        self._spider = spider
        job = None
        if folder is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="scrapy-mandelbot-")
            folder = self._temporary.name
        else:
            job = self._crawl.job
        self._progress = Progress(folder, job, self._crawl.now)
        if job is not None:
            job.before_commits(self._before_commit)
        self._cross_submits = CrossSubmits(
            self._crawler, self._crawl, self._progress, self._warnings, self._advance
        )
        install(spider, read=self._read, missed=self._missed, robots=self._robots_known)
        for handler, signal in (
            (self._discovered, signals.sitemaps_discovered),
            (self._leaves_place, signals.site_paused),
            (self._reached_downloader, scrapy.signals.request_reached_downloader),
            (self._scheduler_empty, scrapy.signals.scheduler_empty),
            (self._idle, scrapy.signals.spider_idle),
            (self._closed, scrapy.signals.spider_closed),
        ):
            self._crawler.signals.connect(handler, signal=signal)
        self._events.subscribe(self._paced, events.PACE)
        self._to_feed.update(self._progress.unfinished())

    def _discovered(self, site: str, urls: tuple[str, ...]) -> None:
        # only its robots.txt is needed so far
        if self._cross_submits.is_unconfirmed(site):
            self._only_consulted.add(site)
            return
        progress = self._progress[site]
        room = progress.room
        progress.to_request.extend(
            one
            for one in self._cited(site, urls[:room])
            if self._citations.is_wanted(progress, one)
        )
        if urls[room:]:
            self._progress.defer(site, list(urls[room:]))
        self._advance(site)

    def _cited(self, site: str, urls: tuple[str, ...]) -> Iterator[CitedSitemap]:
        """Yield the sitemaps at these URLs.

        Those that only the project names are left out if the rules forbid them.
        """
        is_named = not self._crawl.cites_sitemaps(site)
        for url in urls:
            cited = CitedSitemap(url, site, root=url, is_named=is_named)
            request = cited.request(self._spider)
            if not is_named or not self._crawl.forbids(request):
                yield cited

    def _reached_downloader(self, request: Request) -> None:
        self._limit(request)
        site = site_of_request(request)
        self._begin_crawling(site)
        if self._progress.get(site) is not None:
            self._advance(site)
        elif self._to_feed:
            self._feed_sites()

    def _limit(self, request: Request) -> None:
        if CITED in request.meta:
            self._crawl.fetcher.limits.begin_sitemap(
                request, self._crawl.config.sitemap_max_bytes
            )

    def _begin_crawling(self, site: str) -> None:
        """Read the sitemaps of a site of which only the robots.txt was needed."""
        if site in self._only_consulted:
            self._only_consulted.discard(site)
            self._discovered(site, self._crawl.cited_sitemaps(site))

    def _scheduler_empty(self) -> None:
        if not engine.scheduler_length(self._crawler):
            # Thousands may be held back: these have nothing to feed.
            unfinished = set(self._progress.unfinished())
            self._to_feed.update(unfinished.difference(self._held_back))
        self._feed_sites()

    def _idle(self) -> None:
        unfinished = self._progress.unfinished()
        self._cross_submits.request_more()
        if not engine.scheduler_length(self._crawler):
            for site in unfinished:
                self._drop_lost(site, self._progress[site])
        self._to_feed.update(unfinished)
        self._feed_sites()
        if self._progress.unfinished():
            raise DontCloseSpider

    def _drop_lost(self, site: str, progress: SiteProgress) -> None:
        """Stop waiting for a request that a middleware has dropped silently."""
        self._cross_submits.decide_lost(site)
        if progress.requested is not None:
            self._warnings.report_failed(progress.requested, "its request was dropped")
            progress.requested = None
            self._under_way.discard(site)

    def _before_commit(self) -> None:
        self._progress.before_commit(is_last=engine.is_closing(self._crawler))

    def _closed(self) -> None:
        self._lulls.drop(self)
        if self._temporary is None:
            self._progress.close()
        else:
            self._temporary.cleanup()

    def _advance(self, site: str) -> None:
        """Feed the crawl with a site's entries, or request its next sitemap.

        Of a site that has something to do the first step is taken now, the others in
        turns.
        """
        if site not in self._advancing:
            steps = self._feeding(site)
            if next(steps, False):
                self._advancing.add(site)
                engine.schedule(self._advance_in_turns(steps))

    async def _advance_in_turns(self, steps: Iterator[bool]) -> None:
        await self._share.run(steps)
        engine.wake(self._crawler)  # which may be idle now

    def _feeding(self, site: str) -> Iterator[bool]:
        """Yield after each entry that is fed, and each sitemap that is dealt with."""
        progress = self._progress[site]
        room = self._room(site)
        while room > 0 and not engine.is_closing(self._crawler):
            file = progress.next_file
            if file is None or file.is_index:
                if not self._request_next(site, progress):
                    self._progress.forget_done(site)
                    break
                yield True
            elif entries := self._cross_submits.next_entries(progress, file, room):
                for entry, end in entries:
                    # a turn of the loop may be between two entries
                    if engine.is_closing(self._crawler):
                        break
                    room -= self._feed(site, entry)
                    file.offset = end
                    yield True
            elif not file.is_complete:  # it is being read, and more entries follow
                break
        self._advancing.discard(site)

    def _request_next(self, site: str, progress: SiteProgress) -> bool:
        if progress.requested is not None or self._cross_submits.is_full(site):
            return False
        index = progress.next_file
        if index is None and not progress.to_request:
            return False
        if self._hold_back(site):
            return False
        if index is None:
            cited = progress.to_request.popleft()
            is_wanted = self._citations.is_still_wanted(progress, cited)
            is_wanted = is_wanted and self._progress.begin(cited)
        else:
            entries = self._cross_submits.next_entries(progress, index, 1)
            if not entries:
                return index.is_complete
            entry, index.offset = entries[0]
            url = entry["loc"]
            cited = index.cited.listed(url)
            is_wanted = not cited.depth or self._selection.follows(url)
            is_wanted = is_wanted and self._citations.is_wanted(progress, cited)
            is_wanted = is_wanted and self._progress.begin(cited)
        if is_wanted:
            progress.requested = cited
            if not self._is_slow(site):
                self._under_way.add(site)
            self._crawler.engine.crawl(cited.request(self._crawler.spider))  # type: ignore[arg-type]  # it is there
        return True

    def _hold_back(self, site: str) -> bool:
        """Let the next sitemap of a site wait, if enough are under way.

        Returns whether it waits.
        """
        is_full = len(self._under_way) >= self._most_under_way
        waits = is_full and not self._is_slow(site)
        if waits != (site in self._held_back):
            self._progress.cannot_wait()  # the site may have no other request
        if waits:
            self._held_back[site] = None
            self._watch_for_lull()
        else:
            self._held_back.pop(site, None)
        return waits

    def _is_slow(self, site: str) -> bool:
        """Return whether the requests of a site wait for a delay or a pause.

        Its sitemap is requested at once, as it comes late anyway, and takes no place.
        """
        state = self._crawl.sites.get(site)
        return state is not None and not (state.pacer.is_free and state.pause.is_open)

    def _paced(self, values: Mapping[str, Any]) -> None:
        self._leaves_place(values["where"])

    def _leaves_place(self, site: str) -> None:
        """Request the next sitemap that was held back in place of this site's."""
        self._under_way.discard(site)
        next(self._requesting_held_back(), None)

    def _ended(self, site: str) -> None:
        """Note that a sitemap is read, or has failed."""
        self._leaves_place(site)
        self._request_more_in_lull()

    def _request_more_in_lull(self) -> None:
        """Request twice as many if sitemaps are held back, and none is left to read."""
        if self._held_back and not self._unread:
            self._most_under_way *= 2
            engine.schedule(self._share.run(self._requesting_held_back()))

    def _watch_for_lull(self) -> None:
        self._lulls.set(self, self._crawl.now() + _LULL)

    def _end_lull(self) -> None:
        """Let sitemaps that hang, or wait behind pages that do, hold no others back."""
        self._request_more_in_lull()
        if self._held_back:
            self._watch_for_lull()

    def _requesting_held_back(self) -> Iterator[None]:
        """Request the sitemaps of the sites that wait for it longest, in steps."""
        while self._held_back and len(self._under_way) < self._most_under_way:
            site = next(iter(self._held_back))
            del self._held_back[site]
            self._progress.cannot_wait()
            self._advance(site)
            yield

    def _room(self, site: str) -> int:
        held = engine.scheduler_length(self._crawler)
        if held >= _MOST:
            self._to_feed.add(site)
            return 0
        waiting = self._crawl.waiting(site)
        if waiting is None:
            waiting = held
        return _ENOUGH - waiting if waiting < _FEW else 0

    def _feed_sites(self) -> None:
        for site in list(self._to_feed):
            if engine.scheduler_length(self._crawler) >= _MOST:
                return
            self._to_feed.discard(site)
            self._advance(site)

    def _feed(self, site: str, entry: dict[str, Any]) -> int:
        """Schedule the requests for pages of the site; return their number.

        An entry counts as taken only once its requests are in the scheduler: a job may
        commit in between.
        """
        count = 0
        for request in self._selection.requests(entry):
            # among that site's entries, if it counts
            if site_of_request(request) != site:
                continue
            if self._crawl.forbids(request):
                self._events.count(events.PAGE_FORBIDDEN)
                continue
            self._events.count(events.PAGE_FED)
            self._crawler.engine.crawl(request)
            count += 1
        return count

    async def _read(self, response: Response) -> None:
        self._unread += 1
        try:
            await self._share.run(self._storing(response))
        finally:
            self._unread -= 1
            self._ended(self._arrived(response).site)

    def _storing(self, response: Response) -> Iterator[None]:
        """Store the entries of a sitemap, in steps."""
        cited = self._arrived(response)
        reading = self._selection.reading(self._crawl, response)
        progress = self._progress[cited.site]
        file = None
        count = 0
        try:
            for some in reading.wanted(
                partial(self._progress.new_file, cited, is_index=False)
            ):
                if some and file is None:
                    file = self._progress.new_file(
                        cited, is_index=reading.reader.kind == "index"
                    )
                    progress.files.append(file)
                    progress.arrived(cited)
                if some and file is not None:
                    count += len(some)
                    own = some if file.is_index else self._own(cited, some)
                    file.write(own)
                    self._advance(cited.site)
                yield
        finally:
            if file is not None:
                file.is_complete = True
            self._note_arrived(cited, is_sitemap=reading.reader.kind != "unknown")
            self._warnings.report_read(cited, reading, count)
            self._advance(cited.site)

    def _arrived(self, answer: Response | Failure) -> CitedSitemap:
        request: Request = answer.request  # type: ignore[assignment,union-attr]  # both have one
        return CitedSitemap.of(request)  # type: ignore[return-value]  # it is one for a sitemap

    def _note_arrived(self, cited: CitedSitemap, *, is_sitemap: bool) -> None:
        progress = self._progress[cited.site]
        self._progress.cannot_wait()
        progress.arrived(cited)
        self._citations.arrived(progress, cited, is_sitemap=is_sitemap)

    def _own(
        self, cited: CitedSitemap, entries: list[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        """Pass the pages of other sites on; return the entries of its own."""
        by_site = self._selection.pages_by_site(entries, cited.site)
        own = by_site.pop(cited.site).entries
        for site, listed in by_site.items():
            self._cross_submits.pass_on(cited, site, listed)
        return own

    def _missed(self, failure: Failure) -> None:
        cited = self._arrived(failure)
        self._note_arrived(cited, is_sitemap=False)
        if not cited.is_named or not _is_absent(failure.value):
            self._warnings.report_failed(cited, failure.value)
        self._ended(cited.site)
        self._advance(cited.site)

    def _robots_known(self, answer: Response | Failure) -> None:
        """Continue a site whose robots.txt is known, or unavailable."""
        self._progress.cannot_wait()
        site = str(answer.request.meta[UNCONFIRMED])  # type: ignore[union-attr]  # both have one
        if self._cross_submits.decide(site):
            self._begin_crawling(site)
        self._advance(site)


_ABSENT = frozenset({404, 410})


def _is_absent(error: BaseException | None) -> bool:
    """Return whether there is no such sitemap, or it may not be requested."""
    if isinstance(error, HttpError):
        return error.response.status in _ABSENT
    return isinstance(error, IgnoreRequest)


_SITES = 10_000  # sites for which a worker counts cited sitemaps


class WorkerFollower(SitemapFollower):
    """Follows sitemaps in a job that workers share; a worker keeps no state.

    A sitemap's request goes to the worker that holds its site, and to another one if
    that dies. So its callback yields everything that it lists at once, as a spider's
    would, and the job stores the requests together with the acknowledgement of the
    sitemap's own. The worker that holds a page's site decides whether the page counts:
    it knows that site's robots.txt.
    """

    def _begin(self, spider: Spider, folder: str | None) -> None:  # noqa: ARG002 -- see above
        self._spider = spider
        self._temporary = tempfile.TemporaryDirectory(prefix="scrapy-mandelbot-")
        self._progress = Progress(self._temporary.name)
        install(
            spider,
            read=self._yield_requests,
            missed=self._missed,
            robots=lambda _: None,
        )
        for handler, signal in (
            (self._discovered, signals.sitemaps_discovered),
            (self._limit, scrapy.signals.request_reached_downloader),
            (self._closed, scrapy.signals.spider_closed),
        ):
            self._crawler.signals.connect(handler, signal=signal)

    def _discovered(self, site: str, urls: tuple[str, ...]) -> None:
        """Request the sitemaps that a site cites, each once in the job."""
        progress = self._progress[site]
        for cited in self._cited(site, urls):
            if self._citations.is_wanted(progress, cited):
                self._crawler.engine.crawl(cited.request(self._spider, once=True))
        self._progress.forget_oldest(_SITES)

    def _advance(self, site: str) -> None:
        """Do nothing: no entries wait here."""

    async def _yield_requests(self, response: Response) -> AsyncIterator[Request]:
        """Yield what a sitemap lists, in turns."""
        listed: list[Request] = []
        steps = self._listing(response, listed)
        has_more = True
        while has_more:
            has_more = await self._share.turn(steps)
            for request in listed:
                yield request
            listed.clear()

    def _listing(self, response: Response, listed: list[Request]) -> Iterator[None]:
        cited = self._arrived(response)
        reading = self._selection.reading(self._crawl, response)
        progress = self._progress[cited.site]
        wanted = 0
        try:
            for some in reading.wanted(
                partial(self._progress.new_file, cited, is_index=False)
            ):
                wanted += len(some)
                requests = (
                    self._sitemap if reading.reader.kind == "index" else self._pages
                )
                for entry in some:
                    listed += requests(progress, cited, entry)
                yield
        finally:
            self._note_arrived(cited, is_sitemap=reading.reader.kind != "unknown")
            self._warnings.report_read(cited, reading, wanted)

    def _sitemap(
        self, progress: SiteProgress, cited: CitedSitemap, entry: dict[str, Any]
    ) -> Iterator[Request]:
        url = entry["loc"]
        listed = cited.listed(url)
        if self._selection.follows(url) and self._citations.is_wanted(progress, listed):
            yield listed.request(self._spider, once=True)

    def _pages(
        self, progress: SiteProgress, cited: CitedSitemap, entry: dict[str, Any]
    ) -> Iterator[Request]:
        for request in self._selection.requests(entry):
            site = site_of_request(request)
            if site != cited.site:
                if not self._citations.admit_stranger(progress, cited, site):
                    self._events.count(events.PAGES_FOREIGN, pages=1)
                    continue
                cited.cite_for(request)
            elif self._crawl.forbids(request):
                self._events.count(events.PAGE_FORBIDDEN)
                continue
            self._events.count(events.PAGE_FED)
            yield request
