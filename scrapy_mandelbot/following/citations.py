"""Which of the sitemaps that a site cites are asked for.

A robots.txt may cite any URL, and so may an index: thousands of them, on the hosts of others, on
this machine. What is no sitemap costs who is asked a request all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from scrapy_mandelbot.following.books import digest
from scrapy_mandelbot.politeness import host_of, site_of
from scrapy_mandelbot.shown import shown
from scrapy_mandelbot.sitemaps.urls import LONGEST_URL

if TYPE_CHECKING:
    from scrapy_mandelbot.config import Config
    from scrapy_mandelbot.following.announcements import Announcements
    from scrapy_mandelbot.following.books import Abroad, SiteBook
    from scrapy_mandelbot.following.spool import Cited

_DEEPEST = 3  # indexes within indexes; sitemaps.org knows none
_MOST_SITEMAPS = 50_000  # of a site; as many as sitemaps.org lets one index have
_MOST_ABROAD = 100
"""Sitemaps on other hosts that one robots.txt cites, and hosts that its indexes name."""
_MOST_MISSES = 5  # of those running that are no sitemaps


class Citations:
    """Holds what sites cite to limits.

    Args:
        config: says where a file may send us.
        announce: tells the world what is left out.
    """

    def __init__(self, config: Config, announce: Announcements) -> None:
        self._config = config
        self._announce = announce

    def is_wanted(self, book: SiteBook, cited: Cited) -> bool:
        """Note a sitemap that is cited; return whether it is to be asked for."""
        if digest(cited.url) in book.known or len(cited.url) >= LONGEST_URL:
            return False
        site = shown(cited.site)
        if not self._config.may_send(cited.site, cited.url):
            reason = (
                f"{site} cites sitemaps on this machine or in its network: they are not asked for"
                " (MANDELBOT_PRIVATE_HOSTS)"
            )
        elif len(book.known) >= _MOST_SITEMAPS:
            reason = f"{site} has more than {_MOST_SITEMAPS} sitemaps: no more are read"
        elif cited.depth > _DEEPEST:
            reason = (
                f"{site} has indexes of sitemaps within indexes, more than {_DEEPEST} deep:"
                " what is deeper is not read"
            )
        elif (limit := _limit_abroad(book.abroad, cited)) is not None:
            reason = f"{site} cites sitemaps on other hosts: no more are asked for, as {limit}"
        else:
            book.known.add(digest(cited.url))
            if _is_abroad(cited):
                book.abroad.hosts.add(_host(cited.url))
                book.abroad.cited += not cited.depth
            return True
        self._announce.once(reason)
        return False

    def is_still_wanted(self, book: SiteBook, cited: Cited) -> bool:
        """Return whether a sitemap that was wanted is, after what has come of others."""
        return not _is_abroad(cited) or book.abroad.misses < _MOST_MISSES

    def has_come(self, book: SiteBook, cited: Cited, *, is_sitemap: bool) -> None:
        """Note what has come of a sitemap that was asked for."""
        if _is_abroad(cited):
            book.abroad.misses = 0 if is_sitemap else book.abroad.misses + 1


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
    """Return the host of a URL that was made absolute."""
    return host_of(site_of(urlsplit(url)))
