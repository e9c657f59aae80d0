"""Reads the sites of a running crawl in steps, between which the crawl continues.

The generators also yield ``None``, after each piece of work without a result.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from mandelbot.formatting import counted

from scrapy_mandelbot import engine
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.report.snapshots import SiteSnapshot, Why, held
from scrapy_mandelbot.report.status import SHUT, CrawlStatus, Reason, SiteStatus
from scrapy_mandelbot.scheduling.round_robin import DELAYED
from scrapy_mandelbot.time_text import moment

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_mandelbot.politeness.pause import Pause
    from scrapy_mandelbot.politeness.site_state import Site
    from scrapy_mandelbot.throttle.throttle import Throttle


_PLACES = {reason: place for place, reason in enumerate(Reason)}
_AT_ONCE = Why(Reason.AT_ONCE, None)
_SLOT_FULL = Why(Reason.SLOT_FULL, None)
_ASKED = Why(Reason.ASKED, None)
_NEXT = Why(Reason.NEXT, None)


class Survey:
    """One look at each site that has requests or that nothing is sent to."""

    def __init__(self, throttle: Throttle, now: float) -> None:
        self._now = now
        self._throttle = throttle
        self._waiting: Counter[Site] = Counter()
        self._sections: defaultdict[Site, Counter[str]] = defaultdict(Counter)
        self._under_way: Counter[Site] = Counter()
        self._delayed: defaultdict[Site, list[tuple[float, int]]] = defaultdict(list)
        """By site, times and how many requests wait for each."""
        self._left: Counter[Site] = Counter()  # to the next run

    def snapshots(self) -> Iterator[SiteSnapshot | None]:
        """Yield a snapshot of each site."""
        yield from self._count()
        for site in list(self._waiting):
            yield self._snapshot(site)
        for site in self._under_way:
            yield None if site in self._waiting else self._snapshot(site)
        for site in self._throttle.sites.in_trouble():
            yield None
            is_counted = site in self._waiting or site in self._under_way
            if not is_counted and site.is_shut(self._now):
                yield self._snapshot(site)

    def _count(self) -> Iterator[None]:
        waiting = self._waiting
        throttle = self._throttle
        for queue in throttle.in_flight.queues:
            while queue.load_some(1):
                yield None
            for site, section, count in queue.sub_queues():
                yield None
                waiting[site] += count
                if section:
                    self._sections[site][section] += count
            for site, at, count in queue.delayed():
                yield None
                self._delayed[site].append((at, count))
            for site, count in queue.left_to_next_run().items():
                yield None
                waiting[site] += count
                self._left[site] += count
        for flight in tuple(throttle.in_flight.flights.values()):
            yield None
            if flight.is_waiting:
                waiting[flight.site] += 1
            else:
                self._under_way[flight.site] += 1

    def _snapshot(self, site: Site) -> SiteSnapshot | None:
        waiting = self._waiting.get(site, 0)
        under_way = self._under_way.get(site, 0)
        why = self._reason(site, waiting - self._left[site], under_way)
        if not (waiting or under_way or why.reason in SHUT):
            return None
        return SiteSnapshot(site, why, waiting, under_way)

    def _reason(self, site: Site, waiting: int, under_way: int) -> Why:
        """Return why so many requests of a site wait that this run may send."""
        left = self._left[site]
        if left and not (waiting or under_way):
            pages = counted(left, "page")
            return Why(Reason.PAGE, None, f"{pages} given up, kept for the next run")
        why = self._part_reason(site, waiting)
        # else nothing probes the site
        if why is None or why.reason is not Reason.GIVEN_UP:
            why = held(site, self._now) or why
        return why or self._slot_reason(site, waiting, under_way)

    def _slot_reason(self, site: Site, waiting: int, under_way: int) -> Why:
        if waiting and self._has_enough(site, under_way):
            return _AT_ONCE
        if waiting and self._is_full(site):
            return _SLOT_FULL
        return _ASKED if under_way else _NEXT

    def _part_reason(self, site: Site, waiting: int) -> Why | None:
        # The site answers, but all its requests may be for pages or sections that do
        # not.
        if not waiting or not (site.has_refused or site in self._delayed):
            return None
        aside = {
            section.path: section.pause
            for section in site.faults.aside.values()
            if self._is_shut(section.pause)
        }
        lines = self._sections.get(site, Counter())
        in_sections = sum(count for path, count in lines.items() if path in aside)
        delayed = self._delayed.get(site, [])
        number = sum(count for _, count in delayed)
        if in_sections + number < waiting:
            return None
        if in_sections:
            here = (one for one in lines if one in aside)
            path = max(here, key=lambda one: (not aside[one].is_given_up, lines[one]))
            pause = aside[path]
            if pause.is_given_up:
                return Why(Reason.GIVEN_UP, None, f"{path}, {pause.reason}")
            return Why(Reason.SECTION, pause.until, f"{path}, {pause.reason}")
        first, _ = min(delayed)
        if lines[DELAYED] >= number:
            return Why(Reason.PAGE, first, f"{number} pages with a delay of their own")
        return Why(Reason.PAGE, first, f"{number} pages that were refused")

    def _is_shut(self, pause: Pause) -> bool:
        if pause.is_given_up:
            return self._throttle.keeps_given_up
        return pause.due(self._now) > self._now

    def _has_enough(self, site: Site, under_way: int) -> bool:
        """Return whether a site has as many requests in flight as it bears."""
        bound = site.concurrency.bound
        return bound <= under_way and not self._is_full(site)

    def _is_full(self, site: Site) -> bool:
        in_flight = self._throttle.in_flight
        used = {slot: in_flight.in_slot(slot) for slot in site.slots or ()}
        has_room = (used[one] < in_flight.limits[one] for one in used if used[one])
        return any(used.values()) and not any(has_room)


def status(crawler: Crawler) -> CrawlStatus:
    """Return the status of a crawl: the waiting requests of each site, and the reason.

    ``print()`` writes it as a table. The cost grows with the number of sites that have
    requests.
    """
    crawl = Crawl.of(crawler)
    now = crawl.now()
    sites = list[SiteStatus]()
    for _ in collect_sites(crawl, sites):
        pass
    elsewhere = waiting_elsewhere(crawler)
    network = crawl.throttle.network
    since = moment(network.down_since) if network.is_down(now) else None
    return CrawlStatus(moment(now), tuple(sites), elsewhere, since)


def collect_sites(crawl: Crawl, found: list[SiteStatus]) -> Iterator[None]:
    """Fill a list with the status of each site, in steps; then sort it."""
    for one in Survey(crawl.throttle, crawl.now()).snapshots():
        if one is not None:
            found.append(one.as_status())
        yield
    found.sort(key=lambda one: (_PLACES[one.reason], -one.waiting, one.site))


def collect_waiting(crawl: Crawl, found: list[dict[str, Any]]) -> Iterator[None]:
    """Fill a list with the data of each site that has waiting requests, likewise."""
    sites: list[SiteStatus] = []
    yield from collect_sites(crawl, sites)
    found += [one.as_data() for one in sites if one.waiting]


def waiting_elsewhere(crawler: Crawler) -> int:
    """Return how many requests, of unknown sites, a third-party scheduler holds."""
    held = engine.scheduler_length(crawler)
    return max(0, held - sum(map(len, Crawl.of(crawler).throttle.in_flight.queues)))
