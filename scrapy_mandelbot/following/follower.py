"""The extension that follows sitemaps."""

from __future__ import annotations

import tempfile
from itertools import islice
from typing import TYPE_CHECKING, Any

import scrapy.signals
from scrapy.exceptions import DontCloseSpider, NotConfigured
from scrapy.spiders import SitemapSpider
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.job import job_dir
from twisted.internet.defer import Deferred

from scrapy_mandelbot import engine, signals
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.fetching import Limits
from scrapy_mandelbot.following.announcements import Announcements, Fate
from scrapy_mandelbot.following.books import MOST_WAITING, Books, books_folder
from scrapy_mandelbot.following.citations import Citations
from scrapy_mandelbot.following.cross_submits import CrossSubmits, shares_of
from scrapy_mandelbot.following.leftovers import Leftovers
from scrapy_mandelbot.following.own_requests import (
    cited_of,
    doubted_site,
    install,
    sitemap_request,
)
from scrapy_mandelbot.following.reading import Reading
from scrapy_mandelbot.following.spool import Cited
from scrapy_mandelbot.following.wishes import Wishes
from scrapy_mandelbot.throttle import site_of_request

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from scrapy_mandelbot.following.books import SiteBook
    from scrapy_mandelbot.following.spool import Spool

_FEW, _ENOUGH = 50, 100
"""Requests of a site in the queue: at fewer it is fed, up to as many."""
_MOST = 10_000  # requests in the scheduler, beyond which it is not fed
_SLICE = 200  # entries that are fed or filtered without letting anyone else have a turn


class SitemapFollower:
    """Asks for the sitemaps that robots.txt files cite, and crawls what they list.

    A sitemap's request goes through the scheduler as any other: by the rules, gate and pace of its
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
        self._announce = Announcements(crawler)
        self._citations = Citations(crawl.config, self._announce)
        self._limits = Limits(crawler, crawl.now)
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
            self._announce.left_to_spider()
        folder = job_dir(self._crawler.settings)
        if not self._is_asked_to or is_left_to_spider:
            if folder is not None:
                Leftovers(self._crawl, self._announce, spider, folder)
            return
        self._wishes = Wishes(spider)
        if folder is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="scrapy-mandelbot-")
            folder = self._temporary.name
        self._books = Books(books_folder(folder))
        since = self._crawl.config.sitemap_since
        if isinstance(since, str):
            since = self._crawl.store.get_run(spider.name)
        self._since = since
        self._cross_submits = CrossSubmits(
            self._crawler, self._crawl, self._books, self._announce, self._go_on
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
        self._hungry.update(self._books.unfinished())

    # What is heard.

    def _discovered(self, site: str, urls: tuple[str, ...]) -> None:
        if self._cross_submits.is_in_doubt(site):  # it is only asked what it says of others
            self._asleep.add(site)
            return
        book = self._books[site]
        room = max(0, MOST_WAITING - len(book.to_ask))
        cited = [Cited(url, site, root=url) for url in urls[:room]]
        book.to_ask.extend(one for one in cited if self._citations.is_wanted(book, one))
        if urls[room:]:
            self._books.put_behind(site, list(urls[room:]))
        self._go_on(site)

    def _reached_downloader(self, request: Request) -> None:
        if cited_of(request) is not None:
            most = self._crawl.config.sitemap_max_bytes
            self._limits.begin(request, most, float("inf"), 2 * most)
        site = site_of_request(request)
        self._wake_up(site)
        if self._books.get(site) is not None:
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
            self._hungry.update(self._books.unfinished())
        self._feed_hungry()

    def _idle(self) -> None:
        unfinished = self._books.unfinished()
        self._cross_submits.ask_more()
        if not engine.scheduler_length(self._crawler):
            for site in unfinished:
                self._miss_lost(site, self._books[site])
        self._hungry.update(unfinished)
        self._feed_hungry()
        if self._books.unfinished():
            raise DontCloseSpider

    def _miss_lost(self, site: str, book: SiteBook) -> None:
        """Wait no longer for what somebody has dropped the request for, and told nobody."""
        self._cross_submits.decide_lost(site)
        if book.asked is not None:
            self._announce.missed(book.asked, "its request was dropped")
            book.asked = None

    def _closed(self) -> None:
        if self._temporary is None:
            self._books.save()
        else:
            self._temporary.cleanup()

    # What is done: ask for one, read it, feed the crawl.

    def _go_on(self, site: str) -> None:
        """Feed the crawl with a site's entries while it has room, or ask for its next sitemap."""
        book, budget = self._books[site], _SLICE
        room = 0 if engine.is_closing(self._crawler) else self._room(site)
        while room > 0:
            if budget <= 0:
                call_later(0, self._go_on, site)
                return
            spool = book.next_spool
            if spool is None or spool.is_index:
                if not self._ask_next(site, book):
                    self._books.forget_done(site)
                    return
                budget -= 1
            elif entries := self._take(book, spool, min(room, budget)):
                room -= self._feed(site, entries)
                budget -= len(entries)
            elif not spool.is_complete:  # it is being read, and feeds us as it is
                return

    def _take(self, book: SiteBook, spool: Spool, most: int) -> list[dict[str, Any]]:
        """Take so many entries, or as many as there are; a spool that is used up goes."""
        entries = spool.take(most)
        if not entries and spool.is_complete:
            book.spools.remove(spool)
            self._cross_submits.used_up(spool)
        return entries

    def _ask_next(self, site: str, book: SiteBook) -> bool:
        """Ask for the next sitemap, if there is one and none is asked for; return if there was."""
        if book.asked is not None or self._cross_submits.is_full(site):
            return False
        index = book.next_spool
        if index is None:
            if not book.to_ask:
                return False
            cited = book.to_ask.popleft()
            is_wanted = self._citations.is_still_wanted(book, cited) and self._books.begin(cited)
        else:
            entries = self._take(book, index, 1)
            if not entries:
                return index.is_complete
            url = entries[0]["loc"]
            cited = Cited(url, site, index.cited.root or url, index.cited.depth + 1)
            is_wanted = (
                (not cited.depth or self._wishes.follows(url))
                and self._citations.is_wanted(book, cited)
                and self._books.begin(cited)
            )
        if is_wanted:
            book.asked = cited
            self._crawler.engine.crawl(sitemap_request(self._crawler.spider, cited))  # type: ignore[arg-type]  # it is there
        return True

    def _room(self, site: str) -> int:
        """Return how many requests of the site the crawl has room for."""
        held = engine.scheduler_length(self._crawler)
        if held >= _MOST:
            self._hungry.add(site)
            return 0
        waiting = self._crawl.throttle.waiting(site) if self._crawl.throttle.has_queue else held
        return _ENOUGH - waiting if waiting < _FEW else 0

    def _feed_hungry(self) -> None:
        for site in list(self._hungry):
            if engine.scheduler_length(self._crawler) >= _MOST:
                return
            self._hungry.discard(site)
            self._go_on(site)

    def _feed(self, site: str, entries: list[dict[str, Any]]) -> int:
        """Schedule the requests for pages of the site; return how many there were."""
        count = 0
        for entry in entries:
            for request in self._wishes.requests(entry):
                if site_of_request(request) != site:  # it is in that site's book, if it counts
                    continue
                if self._crawl.forbids(request):
                    self._announce.pages(Fate.FORBIDDEN)
                    continue
                self._announce.pages(Fate.FED)
                self._crawler.engine.crawl(request)
                count += 1
        return count

    # What comes of it.

    async def _read(self, response: Response) -> None:
        """Put the entries of a sitemap on disk, letting others have their turns meanwhile."""
        request: Request = response.request  # type: ignore[assignment]  # it has one here
        self._limits.end(request)
        cited: Cited = cited_of(request)  # type: ignore[assignment]  # it is one for a sitemap
        book = self._books[cited.site]
        reading = Reading(response, self._crawl.config, self._since)
        spool, count = None, 0
        try:
            for some in self._wanted(reading, cited):
                if some and spool is None:
                    spool = self._books.new_spool(cited, is_index=reading.is_index)
                    book.spools.append(spool)
                    book.has_come(cited)
                if spool is not None:
                    count += len(some)
                    self._put_away(spool, some)
                    self._go_on(cited.site)
                await _others_turn()
        finally:
            if spool is not None:
                spool.is_complete = True
            book.has_come(cited)
            is_sitemap = reading.reader.kind != "unknown"
            self._citations.has_come(book, cited, is_sitemap=is_sitemap)
            self._announce.read(cited.site, reading, count)
            self._go_on(cited.site)

    def _wanted(self, reading: Reading, cited: Cited) -> Iterator[list[dict[str, Any]]]:
        """Yield, turn by turn, the entries that the spider wants; all exceptions are the spider's.

        Its filter may ask for one entry after the other before it lets one through: what it asks
        for has been read by then.
        """
        if not self._wishes.has_filter:
            yield from reading.turns()
            return
        everything = self._books.new_spool(cited, is_index=False)
        try:
            for some in reading.turns():
                everything.write(some)
                yield []
            chosen = self._wishes.chosen(everything.entries())
            while some := list(islice(chosen, _SLICE)):
                yield some
        finally:
            everything.remove()

    def _put_away(self, spool: Spool, entries: list[dict[str, Any]]) -> None:
        if spool.is_index:
            spool.write(entries)
            return
        cited = spool.cited
        shares = shares_of(entries, self._wishes, cited.site)
        spool.write(shares.pop(cited.site).entries)
        for site, share in shares.items():
            self._cross_submits.pass_on(cited, site, share)

    def _missed(self, failure: Failure) -> None:
        """Go on without a sitemap that could not be had."""
        request: Request = failure.request  # type: ignore[attr-defined]  # Scrapy's
        self._limits.end(request)
        cited: Cited = cited_of(request)  # type: ignore[assignment]  # it is one for a sitemap
        book = self._books[cited.site]
        self._citations.has_come(book, cited, is_sitemap=False)
        self._announce.missed(cited, failure.value)
        book.has_come(cited)
        self._go_on(cited.site)

    def _heard(self, answer: Response | Failure) -> None:
        """Go on with a site whose robots.txt is known, or cannot be had."""
        site = doubted_site(answer.request)  # type: ignore[arg-type,union-attr]  # both have one
        if self._cross_submits.decide(site):
            self._wake_up(site)
        self._go_on(site)


async def _others_turn() -> None:
    turn: Deferred[None] = Deferred()
    call_later(0, turn.callback, None)
    await maybe_deferred_to_future(turn)
