"""What the world hears of sitemaps that are followed: log lines and stats."""

from __future__ import annotations

import logging
from enum import Enum
from typing import TYPE_CHECKING

from scrapy_mandelbot.shown import shown
from scrapy_mandelbot.stores import Recent

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_mandelbot.following.reading import Reading
    from scrapy_mandelbot.following.spool import Cited

logger = logging.getLogger(__name__)

_LOOKED_AT = 1_000  # characters of an error
_MOST_TOLD = 1_000  # lines that are said once each
_MOST_OF_A_SITE = 20  # lines about what is wrong with the sitemaps of one site
_COMPLAINTS_LIMIT = 10_000  # sites of which it is known how many lines there were


class Fate(Enum):
    """What becomes of a page that a sitemap lists, and the stat that counts it."""

    FED = "mandelbot/sitemaps/fed"
    FORBIDDEN = "mandelbot/sitemaps/forbidden"
    FOREIGN = "mandelbot/sitemaps/foreign"


class Announcements:
    """Tells log and stats of a crawl what sitemaps hold, and what becomes of it."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._told: set[str] = set()
        self._complaints: Recent[int] = Recent(_COMPLAINTS_LIMIT)
        self._has_dropped = False

    def read(self, site: str, reading: Reading, wanted: int) -> None:
        """Tell that a sitemap was read, and what was wrong with it."""
        reader = reading.reader
        self._count("mandelbot/sitemaps/read")
        self._count("mandelbot/sitemaps/entries", reader.entries_read)
        self._count("mandelbot/sitemaps/older", reading.older)
        self._log(
            logging.DEBUG,
            f"The sitemap {shown(reading.url)} ({reader.kind}) has {reader.entries_read} entries,"
            f" {wanted} of them wanted",
        )
        for problem in reader.problems:
            self._count("mandelbot/sitemaps/problems")
            told = shown(str(problem))
            self._complain(site, f"The sitemap {shown(reading.url)}: {told}")

    def missed(self, cited: Cited, reason: object) -> None:
        """Tell that a sitemap could not be had."""
        self._count("mandelbot/sitemaps/failed")
        told = shown(str(reason)[:_LOOKED_AT])
        self._complain(cited.site, f"The sitemap {shown(cited.url)} could not be had: {told}")

    def _complain(self, site: str, message: str) -> None:
        """Tell what is wrong with a site's sitemap. Who has thousands such is not told of each."""
        times = (self._complaints.get(site) or 0) + 1
        self._complaints.put(site, times, 1)
        if times <= _MOST_OF_A_SITE:
            self._log(logging.WARNING, message)
        elif times == _MOST_OF_A_SITE + 1:
            self._log(
                logging.WARNING,
                f"More is wrong with the sitemaps of {shown(site)}; only stats tell of it",
            )

    def pages(self, fate: Fate, count: int = 1) -> None:
        """Count what became of pages."""
        self._count(fate.value, count)

    def once(self, message: str) -> None:
        """Tell operators something that they need hear once."""
        if message not in self._told and len(self._told) < _MOST_TOLD:
            self._told.add(message)
            self._log(logging.WARNING, message)

    def dropped(self, url: str) -> None:
        """Tell, of the first, that requests are dropped as sitemaps are not followed any more."""
        if not self._has_dropped:
            self._has_dropped = True
            self._log(
                logging.WARNING,
                "Sitemaps are not followed in this run: requests for them that a former run has"
                f" left are dropped, such as {shown(url)}",
            )
        self._count("mandelbot/sitemaps/dropped")

    def left_to_spider(self) -> None:
        """Tell that the spider reads sitemaps itself."""
        self._log(logging.INFO, "Sitemaps are left to the spider: it is a SitemapSpider")

    def _count(self, stat: str, by: int = 1) -> None:
        if by:
            self._crawler.stats.inc_value(stat, by)

    def _log(self, level: int, message: str) -> None:
        logger.log(level, "%s", message, extra={"spider": self._crawler.spider})
