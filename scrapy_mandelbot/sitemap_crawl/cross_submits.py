"""Pages of one site that the sitemaps of another list.

They count if the robots.txt of their own site cites the sitemap, or the index that it is in. Where
that file is not known, it is asked for, as it would be for a page: by pause and pace of its
site, once for all who want to know. Meanwhile the pages wait on disk, and no other waits for them.

Source: sitemaps.org, "Sitemaps & Cross Submits".
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.downloadermiddlewares.offsite import OffsiteMiddleware
from scrapy.utils.asyncio import call_later

from scrapy_mandelbot import engine, signals
from scrapy_mandelbot.events import PAGES_FOREIGN, SITE_LEFT_OUT, SITES_TOO_MANY
from scrapy_mandelbot.sitemap_crawl.entry_files import Cited, robots_request
from scrapy_mandelbot.throttle.site_map import site_of_request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from scrapy.crawler import Crawler

    from scrapy_mandelbot.crawl import Crawl
    from scrapy_mandelbot.sitemap_crawl.citations import SitemapWarnings
    from scrapy_mandelbot.sitemap_crawl.entry_files import EntryFile
    from scrapy_mandelbot.sitemap_crawl.progress import Progress
    from scrapy_mandelbot.sitemap_crawl.sitemap_reading import SitemapSelection

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
    """Return what entries list of each site, as far as the spider wants it.

    Args:
        entries: of one sitemap.
        selection: the spider's.
        own: the site whose robots.txt cites the sitemap; it is there in any case.
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

    Args:
        crawler: whose crawl it is.
        crawl: what its components share.
        progress: with the sitemaps of all sites.
        complaints: tells what is left out.
        go_on: called with a site of which there may be something to do now.
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
        """Take what a sitemap lists of a site that is not the one which cites it."""
        if not self._config.may_send(cited.site, site):
            self._events.count(PAGES_FOREIGN, pages=listed.pages)
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
            self._events.count(PAGES_FOREIGN, pages=listed.pages)
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
        """Return whether a site is being asked for its robots.txt, for pages that others list."""
        progress = self._progress.get(site)
        return progress is not None and bool(progress.in_doubt)

    def decide(self, site: str) -> bool:
        """Have the pages of a site crawled or left out, as its robots.txt is known, or never will.

        Returns:
            Whether any are crawled.
        """
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
        """Note that nothing of a sitemap's file is wanted any more."""
        self._progress.remove(file)
        call_later(0, self._go_on, file.cited.site)  # it may have waited for that

    def is_full(self, site: str) -> bool:
        """Return whether other sites have so much left of a site's sitemaps that it has to wait."""
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
        """Return whether a site is asked for its robots.txt, as a sitemap lists it."""
        strangers = self._progress[cited.site].strangers
        if site in strangers or not self._may_go_to(site):
            return False
        if len(strangers) >= MOST_STRANGERS:
            self._progress.reopen(cited.root)
            self._complaints.tell_once(SITES_TOO_MANY, site=cited.site, most=MOST_STRANGERS)
            return False
        strangers.add(site)
        self._to_ask.append(site)
        return True

    def _may_go_to(self, site: str) -> bool:
        """Return whether the spider's domains have the site."""
        spider: Any = self._crawler.spider
        return self._offsite is None or self._offsite.should_follow(Request(site), spider)

    def _leave_out(self, cited: Cited, site: str, pages: int, *, is_known: bool = True) -> None:
        why = "does not cite it" if is_known else "cannot be had"
        self._complaints.tell_once(SITE_LEFT_OUT, sitemap=cited.root, site=site, why=why)
        self._events.count(PAGES_FOREIGN, pages=pages)
