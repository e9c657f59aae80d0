"""Which of the sitemaps that a site cites are asked for, and which pages of others in them count.

A robots.txt may cite any URL, and so may an index: thousands of them, on the hosts of others, on
this machine. What is no sitemap costs who is asked a request all the same.

Pages of another site count if its own robots.txt cites the sitemap, or the index that it is in.
Where that file is not known, it is asked for, as it would be for a page: by pause and pace of its
site, once for all who want to know. Meanwhile the pages wait on disk, and no other waits for them.

Source: sitemaps.org, "Sitemaps & Cross Submits".
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy import Request
from scrapy.downloadermiddlewares.offsite import OffsiteMiddleware
from scrapy.utils.asyncio import call_later

from scrapy_mandelbot import engine, events, signals
from scrapy_mandelbot.robots.origins import host_of, site_of
from scrapy_mandelbot.robots.sitemaps.urls import LONGEST_URL
from scrapy_mandelbot.sitemap_crawl.entry_files import Cited, robots_request
from scrapy_mandelbot.sitemap_crawl.progress import digest
from scrapy_mandelbot.store.memory import Recent
from scrapy_mandelbot.throttle.site_map import site_of_request

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_mandelbot.crawl import Crawl
    from scrapy_mandelbot.events import Event
    from scrapy_mandelbot.events.emitter import Events
    from scrapy_mandelbot.settings.config import Config
    from scrapy_mandelbot.sitemap_crawl.entry_files import EntryFile
    from scrapy_mandelbot.sitemap_crawl.progress import Abroad, Progress, SiteProgress
    from scrapy_mandelbot.sitemap_crawl.selection import SitemapReading, SitemapSelection

_MOST_ONCE = 1_000  # lines that are said once each
_MOST_OF_A_SITE = 20  # lines about what is wrong with the sitemaps of one site
_SITES_LIMIT = 10_000  # of which it is known how many lines there were


class SitemapWarnings:
    """Tells of sitemaps, and holds the warnings to a number; stats count all."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._told: set[tuple[Any, ...]] = set()
        self._times: Recent[int] = Recent(_SITES_LIMIT)

    def tell(self, event: Event, site: str, **values: Any) -> None:
        """Tell what is wrong with a site's sitemap. Of a site that has thousands such, of a few."""
        times = (self._times.get(site) or 0) + 1
        self._times.put(site, times, 1)
        if times <= _MOST_OF_A_SITE:
            self._events.emit(event, site=site, **values)
            return
        self._events.count(event, site=site, **values)
        if times == _MOST_OF_A_SITE + 1:
            self._events.emit(events.SITEMAP_PROBLEMS_MUTED, site=site)

    def tell_once(self, event: Event, **values: Any) -> None:
        told = (event.text, *values.values())
        if told not in self._told and len(self._told) < _MOST_ONCE:
            self._told.add(told)
            self._events.emit(event, **values)

    def tell_read(self, cited: Cited, reading: SitemapReading, wanted: int) -> None:
        reader = reading.reader
        self._events.emit(
            events.SITEMAP_READ,
            site=cited.site,
            url=reading.url,
            kind=reader.kind,
            entries=reader.entries_read,
            older=reading.older,
            wanted=wanted,
        )
        for problem in reader.problems:
            self.tell(events.SITEMAP_PROBLEM, cited.site, url=reading.url, problem=problem)

    def tell_failed(self, cited: Cited, reason: object) -> None:
        self.tell(events.SITEMAP_FAILED, cited.site, url=cited.url, reason=reason)


_DEEPEST = 3  # indexes within indexes; sitemaps.org knows none
_MOST_SITEMAPS = 50_000  # of a site; as many as sitemaps.org lets one index have
_MOST_ABROAD = 100  # sitemaps on other hosts in a robots.txt; hosts in its indexes
_MOST_MISSES = 5  # of those running that are no sitemaps


class Citations:
    """Holds what sites cite to limits, and to where a file may send us."""

    def __init__(self, config: Config, complaints: SitemapWarnings) -> None:
        self._config = config
        self._complaints = complaints

    def is_wanted(self, progress: SiteProgress, cited: Cited) -> bool:
        if digest(cited.url) in progress.known or len(cited.url) >= LONGEST_URL:
            return False
        site = cited.site
        if not self._config.may_send(site, cited.url):
            self._complaints.tell_once(events.SITEMAPS_INSIDE, site=site)
        elif len(progress.known) >= _MOST_SITEMAPS:
            self._complaints.tell_once(events.SITEMAPS_TOO_MANY, site=site, most=_MOST_SITEMAPS)
        elif cited.depth > _DEEPEST:
            self._complaints.tell_once(events.SITEMAPS_TOO_DEEP, site=site, most=_DEEPEST)
        elif (limit := _limit_abroad(progress.abroad, cited)) is not None:
            self._complaints.tell_once(events.SITEMAPS_CROSS_HOST, site=site, limit=limit)
        else:
            progress.known.add(digest(cited.url))
            if _is_abroad(cited):
                progress.abroad.hosts.add(_host(cited.url))
                progress.abroad.cited += not cited.depth
            return True
        return False

    def is_still_wanted(self, progress: SiteProgress, cited: Cited) -> bool:
        return not _is_abroad(cited) or progress.abroad.misses < _MOST_MISSES

    def has_come(self, progress: SiteProgress, cited: Cited, *, is_sitemap: bool) -> None:
        if _is_abroad(cited):
            progress.abroad.misses = 0 if is_sitemap else progress.abroad.misses + 1

    def may_lead_to(self, progress: SiteProgress, cited: Cited, site: str) -> bool:
        """Return whether pages of another site are crawled, if its robots.txt cites the sitemap."""
        if not (self._config.obey and self._config.may_send(cited.site, site)):
            return False
        if site not in progress.strangers and len(progress.strangers) >= MOST_STRANGERS:
            self._complaints.tell_once(events.SITES_TOO_MANY, site=cited.site, most=MOST_STRANGERS)
            return False
        progress.strangers.add(site)
        return True


def _limit_abroad(abroad: Abroad, cited: Cited) -> str | None:
    """Return, in words, why a sitemap on another host is not asked for; None: it is."""
    if not _is_abroad(cited):
        return None
    if abroad.misses >= _MOST_MISSES:
        return f"{_MOST_MISSES} of them running were no sitemaps"
    is_new = _host(cited.url) not in abroad.hosts
    if is_new and len(abroad.hosts) >= _MOST_ABROAD:
        return f"there are more than {_MOST_ABROAD} such hosts"
    if not cited.depth and abroad.cited >= _MOST_ABROAD:
        return f"there are more than {_MOST_ABROAD}"
    return None


def _is_abroad(cited: Cited) -> bool:
    return _host(cited.url) != host_of(cited.site)


def _host(url: str) -> str:
    return host_of(site_of(urlsplit(url)))


MOST_STRANGERS = 100
"""Sites that are asked for the pages that one site's sitemaps list of them, and have not said yes.

More than a family of sites has languages or countries; few enough that no sitemap can have us knock
at the doors of a million strangers.
"""
_AT_ONCE = 4
"""Sites that are asked at a time, of those that are not paused.

Each takes two places, its own and that of the robots.txt: in all half of CONCURRENT_REQUESTS, as it
is by default. A name that does not resolve holds them for long.
"""
_MOST_BYTES = 64 * 1024 * 1024
"""Of a site's sitemaps on disk, as pages of others, beyond which its next one is not asked for.

Some 300,000 entries; a sitemap has 50,000 at most.
"""


@dataclass
class SitePages:
    """What a sitemap lists of one site."""

    entries: list[dict[str, Any]] = field(default_factory=list)
    """Those with pages of the site; they may have pages of others too."""
    pages: int = 0


def pages_by_site(
    entries: Iterable[dict[str, Any]], selection: SitemapSelection, own: str
) -> dict[str, SitePages]:
    """Return what a sitemap's entries list of each site, as far as the spider wants it.

    The site whose robots.txt cites the sitemap is there in any case.
    """
    by_site, sites = {own: SitePages()}, {own: own}
    for entry in entries:
        pages: Counter[str] = Counter()
        for url, _ in selection.pages(entry):
            origin = "/".join(url.split("/", 3)[:3])  # a request takes ten times as long to make
            if origin not in sites:
                sites[origin] = site_of_request(Request(url))
            pages[sites[origin]] += 1
        for site, count in pages.items():
            listed = by_site.setdefault(site, SitePages())
            listed.entries.append(entry)
            listed.pages += count
    return by_site


class CrossSubmits:
    """Passes pages on to their own sites, when those have said that they count.

    `go_on` is called with a site of which there may be something to do now.
    """

    def __init__(
        self,
        crawler: Crawler,
        crawl: Crawl,
        progress: Progress,
        complaints: SitemapWarnings,
        go_on: Callable[[str], None],
    ) -> None:
        self._crawler = crawler
        self._config = crawl.config
        self._fetcher = crawl.fetcher
        self._operator = crawl.operator
        self._progress = progress
        self._complaints = complaints
        self._events = crawl.events
        self._go_on = go_on
        self._offsite = crawler.get_downloader_middleware(OffsiteMiddleware)
        in_doubt = list(filter(self.is_in_doubt, progress.unfinished()))
        self._asked = {site for site in in_doubt if progress[site].robots_asked}
        self._to_ask = deque(site for site in in_doubt if site not in self._asked)
        crawler.signals.connect(self.ask_more, signal=signals.site_paused)

    def pass_on(self, cited: Cited, site: str, listed: SitePages) -> None:
        if not self._config.may_send(cited.site, site):
            self._events.count(events.PAGES_FOREIGN, pages=listed.pages)
            return
        if self._fetcher.known(site) is not None:
            if cited.root not in self._fetcher.sitemaps(site):
                self._leave_out(cited, site, listed.pages)
                return
            files = self._progress[site].files
            call_later(0, self._go_on, site)
        elif self.is_in_doubt(site) or self._may_be_asked(cited, site):
            files = self._progress[site].in_doubt
        else:
            self._events.count(events.PAGES_FOREIGN, pages=listed.pages)
            return
        passed = Cited(cited.root, cited.site, cited.root)  # all that it lists, in one file
        file = next((file for file in files if file.cited == passed), None)
        if file is None:
            file = self._progress.new_file(passed, is_index=False)
            file.is_complete = True  # as far as it goes; there may be another one
            files.append(file)
        file.write(listed.entries)
        file.pages += listed.pages
        self._progress[cited.site].elsewhere.add(site)
        self.ask_more()

    def ask_more(self) -> None:
        """Ask the next sites in doubt for their robots.txt, if there is room for that."""
        if not self._to_ask or engine.is_closing(self._crawler):
            return
        shut = self._operator.shut()  # their requests wait in the queue, and hold no place
        while self._to_ask and len(self._asked - shut) < _AT_ONCE:
            site = self._to_ask.popleft()
            self._asked.add(site)
            self._progress[site].robots_asked = True
            self._crawler.engine.crawl(robots_request(self._crawler.spider, site))  # type: ignore[arg-type]  # it is there

    def is_in_doubt(self, site: str) -> bool:
        progress = self._progress.get(site)
        return progress is not None and bool(progress.in_doubt)

    def decide(self, site: str) -> bool:
        """Crawl a site's pages or leave them out, as its robots.txt says; return if any are."""
        progress = self._progress[site]
        files, progress.in_doubt, progress.robots_asked = progress.in_doubt, [], False
        self._asked.discard(site)
        cited, is_known = self._fetcher.sitemaps(site), self._fetcher.known(site) is not None
        for file in files:
            if file.cited.root in cited:
                progress.files.append(file)
                self._progress[file.cited.site].strangers.discard(site)
            else:
                if not is_known:
                    self._progress.reopen(file.cited.root)
                self._leave_out(file.cited, site, file.pages, is_known=is_known)
                self.used_up(file)
        self.ask_more()
        return bool(progress.files)

    def decide_lost(self, site: str) -> None:
        """Decide on a site whose request is nowhere: a middleware has dropped it without a word."""
        if site in self._asked:
            self.decide(site)

    def used_up(self, file: EntryFile) -> None:
        self._progress.remove(file)
        call_later(0, self._go_on, file.cited.site)  # it may have waited for that

    def is_full(self, site: str) -> bool:
        progress, waiting = self._progress[site], 0
        for other in list(progress.elsewhere):
            of_other = self._progress[other]
            files = [
                file for file in (*of_other.files, *of_other.in_doubt) if file.cited.site == site
            ]
            waiting += sum(file.bytes_left for file in files)
            if not files:
                progress.elsewhere.discard(other)
        return waiting > _MOST_BYTES

    def _may_be_asked(self, cited: Cited, site: str) -> bool:
        strangers = self._progress[cited.site].strangers
        if site in strangers or not self._may_go_to(site):
            return False
        if len(strangers) >= MOST_STRANGERS:
            self._progress.reopen(cited.root)
            self._complaints.tell_once(events.SITES_TOO_MANY, site=cited.site, most=MOST_STRANGERS)
            return False
        strangers.add(site)
        self._to_ask.append(site)
        return True

    def _may_go_to(self, site: str) -> bool:
        spider: Any = self._crawler.spider
        return self._offsite is None or self._offsite.should_follow(Request(site), spider)

    def _leave_out(self, cited: Cited, site: str, pages: int, *, is_known: bool = True) -> None:
        why = "does not cite it" if is_known else "cannot be had"
        self._complaints.tell_once(events.SITE_LEFT_OUT, sitemap=cited.root, site=site, why=why)
        self._events.count(events.PAGES_FOREIGN, pages=pages)
