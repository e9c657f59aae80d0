"""Decides which cited sitemaps are requested, and which foreign pages count.

A robots.txt may cite any URL, and so may an index: thousands of them, on other hosts or
on this machine. Each one that is not a sitemap still costs its host a request.

Pages of another site count if its own robots.txt cites the sitemap, or the index that
lists it. If that file is unknown, it is requested once, under the pauses and the crawl
delay of its site. Meanwhile these pages wait on disk, and no other pages wait for them.

Source: sitemaps.org, "Sitemaps & Cross Submits".
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mandelbot.sitemaps import LONGEST_URL
from scrapy import Request
from scrapy.downloadermiddlewares.offsite import OffsiteMiddleware
from scrapy.utils.asyncio import call_later

from scrapy_mandelbot import engine, events, signals
from scrapy_mandelbot.sitemap_crawl.entry_files import CitedSitemap, robots_request
from scrapy_mandelbot.store.memory import Recent

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_mandelbot.crawl import Crawl
    from scrapy_mandelbot.events.emitter import Events
    from scrapy_mandelbot.settings.config import Config
    from scrapy_mandelbot.sitemap_crawl.entry_files import EntryFile
    from scrapy_mandelbot.sitemap_crawl.progress import Progress, SiteProgress
    from scrapy_mandelbot.sitemap_crawl.selection import SitemapReading, SitePages

_MOST_ONCE = 1_000  # lines that are logged once each
_MOST_OF_A_SITE = 20  # lines about what is wrong with the sitemaps of one site
_SITES_LIMIT = 10_000  # whose lines are counted


class SitemapWarnings:
    """Reports on sitemaps, and limits the number of warnings; stats count all."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._warned: set[tuple[Any, ...]] = set()
        self._times: Recent[int] = Recent(_SITES_LIMIT)

    def warn(self, event: events.Event, site: str, **values: Any) -> None:
        """Report a problem with a sitemap; of thousands on one site, the first few."""
        times = (self._times.get(site) or 0) + 1
        self._times.put(site, times, 1)
        emit = self._events.emit if times <= _MOST_OF_A_SITE else self._events.count
        emit(event, site=site, **values)
        if times == _MOST_OF_A_SITE + 1:
            self._events.emit(events.SITEMAP_PROBLEMS_MUTED, site=site)

    def warn_once(self, event: events.Event, **values: Any) -> None:
        line = (event.text, *values.values())
        if line not in self._warned and len(self._warned) < _MOST_ONCE:
            self._warned.add(line)
            self._events.emit(event, **values)

    def report_read(
        self, cited: CitedSitemap, reading: SitemapReading, wanted: int
    ) -> None:
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
        if cited.is_named and reader.kind == "unknown":
            return  # the site never said that there is one
        for problem in reader.problems:
            self.warn(
                events.SITEMAP_PROBLEM, cited.site, url=reading.url, problem=problem
            )

    def report_failed(self, cited: CitedSitemap, reason: object) -> None:
        self.warn(events.SITEMAP_FAILED, cited.site, url=cited.url, reason=reason)


_DEEPEST = 3  # indexes within indexes; sitemaps.org knows none
_MOST_SITEMAPS = 50_000  # of a site; the limit of sitemaps.org for one index
_MOST_CROSS_HOST = 100  # sitemaps on other hosts in a robots.txt; hosts in its indexes
_MOST_MISSES = 5  # consecutive ones that are not sitemaps


class Citations:
    """Limits the sitemaps that sites cite, by number, depth and host."""

    def __init__(self, config: Config, events: Events) -> None:
        self._config = config
        self.warnings = SitemapWarnings(events)
        self._warnings = self.warnings

    def is_wanted(self, progress: SiteProgress, cited: CitedSitemap) -> bool:
        if progress.knows(cited) or len(cited.url) >= LONGEST_URL:
            return False
        site = cited.site
        if not self._config.may_send(site, cited.url):
            self._warnings.warn_once(events.SITEMAPS_INSIDE, site=site)
        elif len(progress.known) >= _MOST_SITEMAPS:
            self._warnings.warn_once(
                events.SITEMAPS_TOO_MANY, site=site, most=_MOST_SITEMAPS
            )
        elif cited.depth > _DEEPEST:
            self._warnings.warn_once(events.SITEMAPS_TOO_DEEP, site=site, most=_DEEPEST)
        elif (limit := _cross_host_limit(progress, cited)) is not None:
            self._warnings.warn_once(events.SITEMAPS_CROSS_HOST, site=site, limit=limit)
        else:
            progress.accept(cited)
            return True
        return False

    def is_still_wanted(self, progress: SiteProgress, cited: CitedSitemap) -> bool:
        return not cited.is_cross_host or progress.cross_host.misses < _MOST_MISSES

    def arrived(
        self, progress: SiteProgress, cited: CitedSitemap, *, is_sitemap: bool
    ) -> None:
        if cited.is_cross_host:
            misses = 0 if is_sitemap else progress.cross_host.misses + 1
            progress.cross_host.misses = misses

    def admit_stranger(
        self, progress: SiteProgress, cited: CitedSitemap, site: str
    ) -> bool:
        """Decide whether pages of another site may be crawled if it agrees."""
        if not (self._config.obey and self._config.may_send(cited.site, site)):
            return False
        if site not in progress.strangers and len(progress.strangers) >= MOST_STRANGERS:
            self._warnings.warn_once(
                events.SITES_TOO_MANY, site=cited.site, most=MOST_STRANGERS
            )
            return False
        progress.strangers.add(site)
        return True


def _cross_host_limit(progress: SiteProgress, cited: CitedSitemap) -> str | None:
    """Return why a sitemap on another host is not requested, as text.

    None: it is requested.
    """
    if not cited.is_cross_host:
        return None
    cross_host = progress.cross_host
    if cross_host.misses >= _MOST_MISSES:
        return f"{_MOST_MISSES} consecutive ones were not sitemaps"
    is_new = cited.host not in cross_host.hosts
    if is_new and len(cross_host.hosts) >= _MOST_CROSS_HOST:
        return f"there are more than {_MOST_CROSS_HOST} such hosts"
    if not cited.depth and cross_host.cited >= _MOST_CROSS_HOST:
        return f"there are more than {_MOST_CROSS_HOST}"
    return None


MOST_STRANGERS = 100
"""Other sites whose robots.txt is requested for one site's sitemaps, until it cites
them.

More than a family of sites has languages or countries; few enough that no sitemap can
make the crawl contact a million unrelated sites.
"""
# Sites whose robots.txt is requested at a time, paused ones not counted. Each takes two
# places, for the page and for the robots.txt: together half of the default of
# CONCURRENT_REQUESTS. A name that does not resolve holds them for long.
_AT_ONCE = 4
_MOST_BYTES = 64 * 1024 * 1024  # about 300,000 entries; a sitemap has 50,000 at most
"""Entries on disk that a site's sitemaps list for other sites; above it the next
sitemap waits.
"""


class CrossSubmits:
    """Passes pages on to their own sites once those cite the sitemap.

    `advance` is called with a site that may have work now.
    """

    def __init__(
        self,
        crawler: Crawler,
        crawl: Crawl,
        progress: Progress,
        warnings: SitemapWarnings,
        advance: Callable[[str], None],
    ) -> None:
        self._crawler = crawler
        self._config = crawl.config
        self._crawl = crawl
        self._manual_control = crawl.manual_control
        self._progress = progress
        self._warnings = warnings
        self._events = crawl.events
        self._advance = advance
        self._offsite = crawler.get_downloader_middleware(OffsiteMiddleware)
        unconfirmed = list(filter(self.is_unconfirmed, progress.unfinished()))
        self._requested = {
            site for site in unconfirmed if progress[site].robots_requested
        }
        self._to_request = deque(
            site for site in unconfirmed if site not in self._requested
        )
        crawler.signals.connect(self.request_more, signal=signals.site_paused)

    def pass_on(self, cited: CitedSitemap, site: str, listed: SitePages) -> None:
        if not self._config.may_send(cited.site, site):
            self._events.count(events.PAGES_FOREIGN, pages=listed.pages)
            return
        if self._crawl.known_rules(site) is not None:
            if cited.root not in self._crawl.cited_sitemaps(site):
                self._leave_out(cited, site, listed.pages)
                return
            files = self._progress[site].files
            call_later(0, self._advance, site)
        elif self.is_unconfirmed(site) or self._plan_request(cited, site):
            files = self._progress[site].unconfirmed
        else:
            self._events.count(events.PAGES_FOREIGN, pages=listed.pages)
            return
        passed = CitedSitemap(
            cited.root, cited.site, cited.root
        )  # one file for all entries of a sitemap
        file = next((file for file in files if file.cited == passed), None)
        if file is None:
            file = self._progress.new_file(passed, is_index=False)
            file.is_complete = True  # more entries go into another file
            files.append(file)
        file.write(listed.entries)
        file.pages += listed.pages
        self._progress[cited.site].elsewhere.add(site)
        self.request_more()

    def request_more(self) -> None:
        """Request the robots.txt of the next unconfirmed sites, while there is room."""
        if not self._to_request or engine.is_closing(self._crawler):
            return
        # Requests to closed sites wait in the queue, without a place.
        closed = self._manual_control.closed_sites()
        while self._to_request and len(self._requested.difference(closed)) < _AT_ONCE:
            site = self._to_request.popleft()
            self._requested.add(site)
            self._progress[site].robots_requested = True
            self._crawler.engine.crawl(robots_request(self._crawler.spider, site))  # type: ignore[arg-type]  # it is there

    def is_unconfirmed(self, site: str) -> bool:
        progress = self._progress.get(site)
        return progress is not None and bool(progress.unconfirmed)

    def decide(self, site: str) -> bool:
        """Crawl a site's unconfirmed pages or drop them; return whether any go."""
        progress = self._progress[site]
        files = progress.unconfirmed
        progress.unconfirmed = []
        progress.robots_requested = False
        self._requested.discard(site)
        cited = self._crawl.cited_sitemaps(site)
        is_known = self._crawl.known_rules(site) is not None
        for file in files:
            if file.cited.root in cited:
                progress.files.append(file)
                self._progress[file.cited.site].strangers.discard(site)
            else:
                if not is_known:
                    self._progress.reopen(file.cited.root)
                self._leave_out(file.cited, site, file.pages, is_known=is_known)
                self._used_up(file)
        self.request_more()
        return bool(progress.files)

    def decide_lost(self, site: str) -> None:
        """Decide on a site whose request is lost: a middleware dropped it silently."""
        if site in self._requested:
            self.decide(site)

    def next_entries(
        self, progress: SiteProgress, file: EntryFile, most: int
    ) -> list[tuple[dict[str, Any], int]]:
        """Return entries as the file does; a file that is used up makes room."""
        entries = file.next_entries(most)
        if not entries and file.is_complete:
            progress.files.remove(file)
            self._used_up(file)
        return entries

    def _used_up(self, file: EntryFile) -> None:
        self._progress.remove(file)
        # it may have waited for the space
        call_later(0, self._advance, file.cited.site)

    def is_full(self, site: str) -> bool:
        progress = self._progress[site]
        waiting = 0
        for other in list(progress.elsewhere):
            of_other = self._progress[other]
            files = [
                file
                for file in (*of_other.files, *of_other.unconfirmed)
                if file.cited.site == site
            ]
            waiting += sum(file.size - file.offset for file in files)
            if not files:
                progress.elsewhere.discard(other)
        return waiting > _MOST_BYTES

    def _plan_request(self, cited: CitedSitemap, site: str) -> bool:
        """Plan to fetch whether another site agrees; return whether that is needed."""
        strangers = self._progress[cited.site].strangers
        spider = self._crawler.spider
        if site in strangers:
            return False
        offsite = self._offsite
        if offsite is not None and not offsite.should_follow(Request(site), spider):  # type: ignore[arg-type]
            return False
        if len(strangers) >= MOST_STRANGERS:
            self._progress.reopen(cited.root)
            self._warnings.warn_once(
                events.SITES_TOO_MANY, site=cited.site, most=MOST_STRANGERS
            )
            return False
        strangers.add(site)
        self._to_request.append(site)
        return True

    def _leave_out(
        self, cited: CitedSitemap, site: str, pages: int, *, is_known: bool = True
    ) -> None:
        why = "does not cite it" if is_known else "is not available"
        self._warnings.warn_once(
            events.SITE_LEFT_OUT, sitemap=cited.root, site=site, why=why
        )
        self._events.count(events.PAGES_FOREIGN, pages=pages)
