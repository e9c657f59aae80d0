"""Pages of one site that the sitemaps of another list.

They count if the robots.txt of their own site cites the sitemap, or the index that it is in. Where
that file is not known, it is asked for, as it would be for a page: by the gate and the pace of its
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
from scrapy_mandelbot.following.announcements import Fate
from scrapy_mandelbot.following.own_requests import robots_request
from scrapy_mandelbot.following.spool import Cited
from scrapy_mandelbot.shown import shown
from scrapy_mandelbot.throttle import site_of_request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from scrapy.crawler import Crawler

    from scrapy_mandelbot.crawl import Crawl
    from scrapy_mandelbot.following.announcements import Announcements
    from scrapy_mandelbot.following.books import Books
    from scrapy_mandelbot.following.spool import Spool
    from scrapy_mandelbot.following.wishes import Wishes

_MOST_STRANGERS = 100
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
class Share:
    """What a sitemap lists of one site."""

    entries: list[dict[str, Any]] = field(default_factory=list)
    """Those with pages of the site; they may have pages of others too."""
    pages: int = 0


def shares_of(entries: Iterable[dict[str, Any]], wishes: Wishes, own: str) -> dict[str, Share]:
    """Return what entries list of each site, as far as the spider wants it.

    Args:
        entries: of one sitemap.
        wishes: the spider's.
        own: the site whose robots.txt cites the sitemap; it is there in any case.
    """
    shares, sites = {own: Share()}, {own: own}
    for entry in entries:
        pages: Counter[str] = Counter()
        for url, _ in wishes.pages(entry):
            origin = "/".join(url.split("/", 3)[:3])  # a request takes ten times as long to make
            if origin not in sites:
                sites[origin] = site_of_request(Request(url))
            pages[sites[origin]] += 1
        for site, count in pages.items():
            share = shares.setdefault(site, Share())
            share.entries.append(entry)
            share.pages += count
    return shares


class CrossSubmits:
    """Passes pages on to the books of their own sites, when those have said that they count.

    Args:
        crawler: whose crawl it is.
        crawl: what its components share.
        books: of all sites.
        announce: tells the world.
        go_on: called with a site of which there may be something to do now.
    """

    def __init__(
        self,
        crawler: Crawler,
        crawl: Crawl,
        books: Books,
        announce: Announcements,
        go_on: Callable[[str], None],
    ) -> None:
        self._crawler = crawler
        self._config = crawl.config
        self._fetcher = crawl.fetcher
        self._throttle = crawl.throttle
        self._books = books
        self._announce = announce
        self._go_on = go_on
        self._offsite = crawler.get_downloader_middleware(OffsiteMiddleware)
        in_doubt = list(filter(self.is_in_doubt, books.unfinished()))
        self._asked = {site for site in in_doubt if books[site].robots_asked}
        self._to_ask = deque(site for site in in_doubt if site not in self._asked)
        crawler.signals.connect(self.ask_more, signal=signals.site_paused)

    def pass_on(self, cited: Cited, site: str, share: Share) -> None:
        """Take what a sitemap lists of a site that is not the one which cites it."""
        if not self._config.may_send(cited.site, site):
            self._announce.pages(Fate.FOREIGN, share.pages)
            return
        if self._fetcher.known(site) is not None:
            if cited.root not in self._fetcher.sitemaps(site):
                self._leave_out(cited, site, share.pages)
                return
            spools = self._books[site].spools
            call_later(0, self._go_on, site)
        elif self.is_in_doubt(site) or self._may_be_asked(cited, site):
            spools = self._books[site].in_doubt
        else:
            self._announce.pages(Fate.FOREIGN, share.pages)
            return
        passed = Cited(cited.root, cited.site, cited.root)  # all that it lists, in one file
        spool = next((spool for spool in spools if spool.cited == passed), None)
        if spool is None:
            spool = self._books.new_spool(passed, is_index=False)
            spool.is_complete = True  # as far as it goes; there may be another one
            spools.append(spool)
        spool.write(share.entries)
        spool.pages += share.pages
        self._books[cited.site].elsewhere.add(site)
        self.ask_more()

    def ask_more(self) -> None:
        """Ask the next sites in doubt for their robots.txt, if there is room for that."""
        if not self._to_ask or engine.is_closing(self._crawler):
            return
        shut = self._throttle.shut()  # their requests wait in the queue, and hold no place
        while self._to_ask and len(self._asked - shut) < _AT_ONCE:
            site = self._to_ask.popleft()
            self._asked.add(site)
            self._books[site].robots_asked = True
            self._crawler.engine.crawl(robots_request(self._crawler.spider, site))  # type: ignore[arg-type]  # it is there

    def is_in_doubt(self, site: str) -> bool:
        """Return whether a site is being asked for its robots.txt, for pages that others list."""
        book = self._books.get(site)
        return book is not None and bool(book.in_doubt)

    def decide(self, site: str) -> bool:
        """Have the pages of a site crawled or left out, as its robots.txt is known, or never will.

        Returns:
            Whether any are crawled.
        """
        book = self._books[site]
        spools, book.in_doubt, book.robots_asked = book.in_doubt, [], False
        self._asked.discard(site)
        cited, is_known = self._fetcher.sitemaps(site), self._fetcher.known(site) is not None
        for spool in spools:
            if spool.cited.root in cited:
                book.spools.append(spool)
                self._books[spool.cited.site].strangers.discard(site)
            else:
                if not is_known:
                    self._books.reopen(spool.cited.root)
                self._leave_out(spool.cited, site, spool.pages, is_known=is_known)
                self.used_up(spool)
        self.ask_more()
        return bool(book.spools)

    def decide_lost(self, site: str) -> None:
        """Decide on a site whose request is nowhere: somebody has dropped it, and told nobody."""
        if site in self._asked:
            self.decide(site)

    def used_up(self, spool: Spool) -> None:
        """Note that nothing of a spool is wanted any more."""
        spool.remove()
        call_later(0, self._go_on, spool.cited.site)  # it may have waited for that

    def is_full(self, site: str) -> bool:
        """Return whether other sites have so much left of a site's sitemaps that it has to wait."""
        book, waiting = self._books[site], 0
        for other in list(book.elsewhere):
            of_other = self._books[other]
            spools = [
                spool
                for spool in (*of_other.spools, *of_other.in_doubt)
                if spool.cited.site == site
            ]
            waiting += sum(spool.bytes_left for spool in spools)
            if not spools:
                book.elsewhere.discard(other)
        return waiting > _MOST_BYTES

    def _may_be_asked(self, cited: Cited, site: str) -> bool:
        """Return whether a site is asked for its robots.txt, as a sitemap lists it."""
        strangers = self._books[cited.site].strangers
        if site in strangers or not self._may_go_to(site):
            return False
        if len(strangers) >= _MOST_STRANGERS:
            self._books.reopen(cited.root)
            self._announce.once(
                f"The sitemaps of {shown(cited.site)} list pages of more than {_MOST_STRANGERS}"
                " sites whose robots.txt does not cite them, or is not known yet: those of further"
                " ones are left out"
            )
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
        self._announce.once(
            f"{shown(cited.root)} lists pages of {shown(site)}, whose robots.txt {why}: they are"
            " left out"
        )
        self._announce.pages(Fate.FOREIGN, pages)
