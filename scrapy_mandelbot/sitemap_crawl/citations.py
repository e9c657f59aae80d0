"""Which of the sitemaps that a site cites are asked for.

A robots.txt may cite any URL, and so may an index: thousands of them, on the hosts of others, on
this machine. What is no sitemap costs who is asked a request all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy_mandelbot.events import (
    SITEMAP_FAILED,
    SITEMAP_PROBLEM,
    SITEMAP_PROBLEMS_UNTOLD,
    SITEMAP_READ,
    SITEMAPS_ABROAD,
    SITEMAPS_INSIDE,
    SITEMAPS_TOO_DEEP,
    SITEMAPS_TOO_MANY,
)
from scrapy_mandelbot.robots.origins import host_of, site_of
from scrapy_mandelbot.robots.sitemaps.urls import LONGEST_URL
from scrapy_mandelbot.sitemap_crawl.kept_progress import digest
from scrapy_mandelbot.store.memory import Recent

if TYPE_CHECKING:
    from scrapy_mandelbot.config import Config
    from scrapy_mandelbot.sitemap_crawl.entry_files import Cited
    from scrapy_mandelbot.sitemap_crawl.kept_progress import Abroad, SiteProgress
    from scrapy_mandelbot.sitemap_crawl.sitemap_reading import SitemapReading
    from scrapy_mandelbot.telling import Event, Events

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
            self._events.tell(event, site=site, **values)
            return
        self._events.count(event, site=site, **values)
        if times == _MOST_OF_A_SITE + 1:
            self._events.tell(SITEMAP_PROBLEMS_UNTOLD, site=site)

    def tell_once(self, event: Event, **values: Any) -> None:
        """Tell operators something that they need read once."""
        told = (event.text, *values.values())
        if told not in self._told and len(self._told) < _MOST_ONCE:
            self._told.add(told)
            self._events.tell(event, **values)

    def tell_read(self, cited: Cited, reading: SitemapReading, wanted: int) -> None:
        """Tell what was read of a sitemap, how much of it is wanted, and what is wrong with it."""
        reader = reading.reader
        self._events.tell(
            SITEMAP_READ,
            site=cited.site,
            url=reading.url,
            kind=reader.kind,
            entries=reader.entries_read,
            older=reading.older,
            wanted=wanted,
        )
        for problem in reader.problems:
            self.tell(SITEMAP_PROBLEM, cited.site, url=reading.url, problem=problem)

    def tell_failed(self, cited: Cited, reason: object) -> None:
        """Tell that a sitemap could not be had."""
        self.tell(SITEMAP_FAILED, cited.site, url=cited.url, reason=reason)


_DEEPEST = 3  # indexes within indexes; sitemaps.org knows none
_MOST_SITEMAPS = 50_000  # of a site; as many as sitemaps.org lets one index have
_MOST_ABROAD = 100
"""Sitemaps on other hosts that one robots.txt cites, and hosts that its indexes name."""
_MOST_MISSES = 5  # of those running that are no sitemaps


class Citations:
    """Holds what sites cite to limits.

    Args:
        config: says where a file may send us.
        complaints: tells what is left out.
    """

    def __init__(self, config: Config, complaints: SitemapWarnings) -> None:
        self._config = config
        self._complaints = complaints

    def is_wanted(self, progress: SiteProgress, cited: Cited) -> bool:
        """Note a sitemap that is cited; return whether it is to be asked for."""
        if digest(cited.url) in progress.known or len(cited.url) >= LONGEST_URL:
            return False
        site = cited.site
        if not self._config.may_send(site, cited.url):
            self._complaints.tell_once(SITEMAPS_INSIDE, site=site)
        elif len(progress.known) >= _MOST_SITEMAPS:
            self._complaints.tell_once(SITEMAPS_TOO_MANY, site=site, most=_MOST_SITEMAPS)
        elif cited.depth > _DEEPEST:
            self._complaints.tell_once(SITEMAPS_TOO_DEEP, site=site, most=_DEEPEST)
        elif (limit := _limit_abroad(progress.abroad, cited)) is not None:
            self._complaints.tell_once(SITEMAPS_ABROAD, site=site, limit=limit)
        else:
            progress.known.add(digest(cited.url))
            if _is_abroad(cited):
                progress.abroad.hosts.add(_host(cited.url))
                progress.abroad.cited += not cited.depth
            return True
        return False

    def is_still_wanted(self, progress: SiteProgress, cited: Cited) -> bool:
        """Return whether a sitemap that was wanted is, after what has come of others."""
        return not _is_abroad(cited) or progress.abroad.misses < _MOST_MISSES

    def has_come(self, progress: SiteProgress, cited: Cited, *, is_sitemap: bool) -> None:
        """Note what has come of a sitemap that was asked for."""
        if _is_abroad(cited):
            progress.abroad.misses = 0 if is_sitemap else progress.abroad.misses + 1


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
