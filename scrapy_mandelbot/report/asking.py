"""Asks a running crawl how it stands. It costs nothing while nobody asks."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from scrapy_mandelbot import engine
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.events import moment
from scrapy_mandelbot.politeness import site_of
from scrapy_mandelbot.report.reasons import Reason, Why, why
from scrapy_mandelbot.report.status import (
    CrawlStatus,
    SiteStatus,
    is_shut,
    time_of,
    why_idle_in_words,
)
from scrapy_mandelbot.shown import shown
from scrapy_mandelbot.throttle import in_words

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_mandelbot.politeness import SiteState
    from scrapy_mandelbot.robotstxt import RobotsTxt
    from scrapy_mandelbot.throttle import Throttle


def status(crawler: Crawler) -> CrawlStatus:
    """Return how a crawl stands: for each site the requests that wait, and the one reason.

    ``print()`` writes it as a table. It is worked out from what is known of each site as it is
    asked for, in a time that grows with the number of sites that have requests.
    """
    crawl = Crawl.of(crawler)
    now, throttle = crawl.now(), crawl.throttle
    looked_at = _Waiting(throttle, now)
    sites = [looked_at.status_of(site, route) for site, route in looked_at.keys]
    shut_or_busy = [one for one in sites if one.waiting or one.under_way or is_shut(one)]
    held = engine.scheduler_length(crawler)
    elsewhere = max(0, held - looked_at.in_queues)
    return CrawlStatus(moment(now), _in_order(shut_or_busy), elsewhere)


def shut_sites(crawler: Crawler) -> CrawlStatus:
    """Return how those sites stand that are asked nothing now, and nothing of the others.

    This is for who asks often: it looks at no other site than those in trouble.
    """
    crawl = Crawl.of(crawler)
    now, throttle = crawl.now(), crawl.throttle
    found: list[SiteStatus] = []
    for site in throttle.sites.in_trouble():
        waiting = None
        for route in site.shut_routes(now):
            reason = why(site, now, route) or Why(Reason.PAUSED, None, "")
            if waiting is None:  # of a site with several proxies they are counted once
                waiting = throttle.waiting(site.name)
            name, details = in_words(site.name, route), shown(reason.details)
            until = time_of(reason.until)
            found.append(SiteStatus(name, reason.reason, until, details, waiting, 0))
            waiting = 0
    return CrawlStatus(moment(now), _in_order(found))


def why_idle(crawler: Crawler) -> str:
    """Return why a crawl sends nothing now, in words: what it waits for, and for how long."""
    return why_idle_in_words(status(crawler))


def site_rules(crawler: Crawler, url: str) -> RobotsTxt | None:
    """Return the robots.txt of a site as it is known in a running crawl; nothing is fetched.

    Args:
        crawler: whose crawl it is.
        url: the site, or any URL of it.

    Returns:
        Its rules, which allow all where the site has no such file. None: they are not known, as no
        request to the site had to find them out yet, or as the site could not say.

    Raises:
        ValueError: the URL has no site.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError(f"{url!r} names no site: a site is as https://example.com")
    rules = Crawl.of(crawler).fetcher.known(site_of(parts))
    return None if rules is None or rules.parser is None else rules.robots


class _Waiting:
    """What waits in a crawl, by site and route."""

    def __init__(self, throttle: Throttle, now: float) -> None:
        self._now = now
        self._throttle = throttle
        self._waiting: Counter[tuple[SiteState, str]] = Counter()
        self._sections: defaultdict[tuple[SiteState, str], Counter[str]] = defaultdict(Counter)
        self._under_way: Counter[SiteState] = Counter()
        self._delayed: defaultdict[SiteState, list[float]] = defaultdict(list)
        for site, route, section, count in throttle.lines():
            self._waiting[site, route] += count
            if section:
                self._sections[site, route][section] += count
        self.in_queues = sum(self._waiting.values())
        for site, at in throttle.delayed():
            self._delayed[site].append(at)
        for flight in throttle.in_flight.flights():
            if flight.is_waiting:
                self._waiting[flight.site, flight.route] += 1
            else:
                self._under_way[flight.site] += 1
        known = {*self._waiting, *((site, "") for site in self._under_way)}
        sites_known = {site for site, _ in known}
        known |= {
            (site, route)
            for site in throttle.sites.in_trouble()
            for route in site.shut_routes(now)
            if not route or site not in sites_known
        }
        self.keys = known

    def status_of(self, site: SiteState, route: str) -> SiteStatus:
        waiting = self._waiting[site, route]
        under_way = 0 if route else self._under_way[site]
        found = why(site, self._now, route) or self._of_parts(site, route, waiting)
        if found is None:
            if waiting and self._is_full(site):
                found = Why(Reason.SLOT_FULL, None, "as many as its slot transfers are under way")
            elif under_way:
                found = Why(Reason.ASKED, None, "")
            else:
                found = Why(Reason.NEXT, None, "")
        name = in_words(site.name, route)
        until = time_of(found.until)
        return SiteStatus(name, found.reason, until, shown(found.details), waiting, under_way)

    def _of_parts(self, site: SiteState, route: str, waiting: int) -> Why | None:
        """Return why all of a site's requests wait, where the site itself is well."""
        if not waiting or not (site.has_refused or site in self._delayed):
            return None
        held = {
            section.path: section.pause
            for section in site.sections()
            if section.pause is not None and site.section_due(section.path, self._now) > self._now
        }
        lines = self._sections.get((site, route), Counter())
        in_sections = sum(count for path, count in lines.items() if path in held)
        delayed = self._delayed.get(site, [])
        if in_sections + len(delayed) < waiting:
            return None
        if in_sections:
            path = max((one for one in lines if one in held), key=lines.__getitem__)
            pause = held[path]
            return Why(Reason.SECTION, pause.until, f"{path}, {pause.reason}")
        refused = f"{len(delayed)} pages that were refused alone, or with their site"
        return Why(Reason.PAGE, min(delayed), refused)

    def _is_full(self, site: SiteState) -> bool:
        in_flight = self._throttle.in_flight
        slots = [slot for slot in site.slots or () if in_flight.in_slot(slot)]
        return bool(slots) and all(
            in_flight.in_slot(slot) >= in_flight.limits[slot] for slot in slots
        )


_ORDER = {reason: number for number, reason in enumerate(Reason)}


def _in_order(sites: list[SiteStatus]) -> tuple[SiteStatus, ...]:
    return tuple(sorted(sites, key=lambda one: (_ORDER[one.reason], -one.waiting, one.site)))
