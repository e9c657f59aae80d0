"""What is told of sites' sitemaps: warnings each once, and of one site not too many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.events import (
    SITEMAP_FAILED,
    SITEMAP_PROBLEM,
    SITEMAP_PROBLEMS_UNTOLD,
    SITEMAP_READ,
)
from scrapy_mandelbot.stores import Recent

if TYPE_CHECKING:
    from scrapy_mandelbot.events import Event, Events
    from scrapy_mandelbot.following.entry_files import Cited
    from scrapy_mandelbot.following.sitemap_reading import SitemapReading

_MOST_ONCE = 1_000  # lines that are said once each
_MOST_OF_A_SITE = 20  # lines about what is wrong with the sitemaps of one site
_SITES_LIMIT = 10_000  # of which it is known how many lines there were


class Complaints:
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
