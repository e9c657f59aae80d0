"""Looks at the sites of a running crawl one by one, and says how each stands.

Whoever wants to know may go on with the crawl in between: what is found is how each site stood as
it was looked at. ``None`` is yielded beside what is found, wherever some work was done.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import scrapy.signals

from scrapy_mandelbot import engine
from scrapy_mandelbot.checks import refusing
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.report.status import (
    SHUT,
    WAITS,
    CrawlStatus,
    Reason,
    SiteStatus,
    Why,
    details_of,
    held,
    limit_in_words,
    time_of,
    why_idle_in_words,
)
from scrapy_mandelbot.robots.formatting import moment, shown
from scrapy_mandelbot.robots.origins import site_named
from scrapy_mandelbot.throttle.site_map import in_words, shut_routes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy.crawler import Crawler
    from typing_extensions import Self

    from scrapy_mandelbot.clock import Call, Clock
    from scrapy_mandelbot.robots.robotstxt import RobotsTxt
    from scrapy_mandelbot.sites.site import Site
    from scrapy_mandelbot.throttle.throttle import Throttle

AT_A_TIME = 500
"""Sites that are looked at without a break: some milliseconds."""
_BREAK = 0.02  # seconds, in which the crawl's own work is done


class CrawlExtension:
    """What begins as the spider opens, and ends as it closes."""

    spider_opened: Callable[..., None]
    spider_closed: Callable[..., None]

    def __init__(self, _crawler: Crawler) -> None: ...

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build the extension; what a setting asks for and cannot have ends the crawl."""
        with refusing(crawler):
            extension = cls(crawler)
        crawler.signals.connect(extension.spider_opened, signal=scrapy.signals.spider_opened)
        crawler.signals.connect(extension.spider_closed, signal=scrapy.signals.spider_closed)
        return extension


class Steps:
    """Goes through an iterator with breaks, so much of the work without one; one at a time."""

    def __init__(self, clock: Clock, at_a_time: int | None = None) -> None:
        self._clock = clock
        self._at_a_time = at_a_time or AT_A_TIME
        self._next: Call | None = None
        self.spent = 0.0
        """Seconds that the work took, without the breaks."""

    def take(self, work: Iterator[object], done: Callable[[], None]) -> None:
        """Go through what is to be done; where that is little, at once.

        The work is done by asking for the next of it; what it yields is not looked at. `done` is
        called at the end, unless it is broken off before.
        """
        self.spent = 0.0
        self._take_some(work, done)

    def later(self, seconds: float, begin: Callable[[], None]) -> None:
        """Have something begin again after so many seconds, when all is done."""
        self._next = self._clock.call_later(seconds, begin)

    def cancel(self) -> None:
        """Break it off, and have nothing begin."""
        if self._next is not None:
            self._next.cancel()
            self._next = None

    def _take_some(self, work: Iterator[object], done: Callable[[], None]) -> None:
        self._next = None
        began = self._clock.now()
        taken = sum(1 for _ in islice(work, self._at_a_time))
        self.spent += self._clock.now() - began
        if taken < self._at_a_time:
            done()
        else:
            self._next = self._clock.call_later(_BREAK, self._take_some, work, done)


class Standing(NamedTuple):
    """How one site stands, by one route."""

    state: Site
    route: str
    why: Why
    waiting: int
    under_way: int

    @property
    def site(self) -> str:
        """Its name; with ``via`` and the proxy where those are told apart."""
        return in_words(self.state.name, self.route)

    @property
    def reason(self) -> Reason:
        """Why its requests wait."""
        return self.why.reason

    @property
    def until(self) -> float | None:
        """When that ends, in seconds since the epoch; see :attr:`Why.until`."""
        return self.why.until

    @property
    def details(self) -> str:
        """More of the reason, in words."""
        if self.why.details is not None:
            return self.why.details
        details = details_of(self.state, self.reason, self.route)
        if self.reason not in {Reason.PAUSED, Reason.PROBED, Reason.RECOVERING}:
            return details
        limit = limit_in_words(self.state, self.waiting, self.route)
        if limit and self.reason is Reason.RECOVERING:
            return limit
        return "; ".join(filter(None, (limit, details)))


_SLOT_FULL = Why(Reason.SLOT_FULL, None, "as many as its slot transfers are under way")
_ASKED = Why(Reason.ASKED, None, "")
_NEXT = Why(Reason.NEXT, None, "")


class Survey:
    """How the sites stand that have requests, or are asked nothing; each is looked at once."""

    def __init__(self, throttle: Throttle, now: float) -> None:
        self._now = now
        self._throttle = throttle
        self._waiting: Counter[tuple[Site, str]] = Counter()
        self._by_route: set[Site] = set()
        """Sites for which requests wait that have a proxy."""
        self._sections: defaultdict[tuple[Site, str], Counter[str]] = defaultdict(Counter)
        self._under_way: Counter[Site] = Counter()
        self._delayed: defaultdict[Site, list[float]] = defaultdict(list)

    def standings(self) -> Iterator[Standing | None]:
        """Yield how each site stands."""
        yield from self._count()
        for site, route in list(self._waiting):
            yield self._stands(site, route)
        for site in self._under_way:
            yield None if (site, "") in self._waiting else self._stands(site, "")
        for site in self._throttle.sites.in_trouble():
            yield None
            if (site, "") in self._waiting or site in self._under_way:
                continue
            for route in shut_routes(site, self._now):
                if not route or site not in self._by_route:
                    yield self._stands(site, route)

    def _count(self) -> Iterator[None]:
        """Count what waits, and what is under way."""
        waiting, throttle = self._waiting, self._throttle
        while throttle.queues.rouse_some(1):
            yield None
        for site, route, section, count in throttle.queues.lines():
            yield None
            if not count:  # it is no more since the first was asked for
                continue
            waiting[site, route] += count
            if route:
                self._by_route.add(site)
            if section:
                self._sections[site, route][section] += count
        for site, at in throttle.queues.delayed():
            yield None
            self._delayed[site].append(at)
        for flight in tuple(throttle.in_flight.flights()):
            yield None
            if not flight.is_waiting:
                self._under_way[flight.site] += 1
                continue
            waiting[flight.site, flight.route] += 1
            if flight.route:
                self._by_route.add(flight.site)

    def _stands(self, site: Site, route: str) -> Standing | None:
        waiting = self._waiting.get((site, route), 0)
        under_way = 0 if route else self._under_way.get(site, 0)
        why = (
            held(site, self._now, route)
            or self._of_parts(site, route, waiting)
            or self._of_room(site, waiting, under_way)
        )
        if not (waiting or under_way or why.reason in SHUT):
            return None
        return Standing(site, route, why, waiting, under_way)

    def _of_parts(self, site: Site, route: str, waiting: int) -> Why | None:
        """Return why all of a site's requests wait, where the site itself is well."""
        if not waiting or not (site.has_refused or site in self._delayed):
            return None
        aside = {
            section.path: section.pause
            for section in site.sections.set_aside()
            if section.pause is not None and site.sections.due(section.path, self._now) > self._now
        }
        lines = self._sections.get((site, route), Counter())
        in_sections = sum(count for path, count in lines.items() if path in aside)
        delayed = self._delayed.get(site, [])
        if in_sections + len(delayed) < waiting:
            return None
        if in_sections:
            path = max((one for one in lines if one in aside), key=lines.__getitem__)
            pause = aside[path]
            return Why(Reason.SECTION, pause.until, f"{path}, {pause.reason}")
        refused = f"{len(delayed)} pages that were refused alone, or with their site"
        return Why(Reason.PAGE, min(delayed), refused)

    def _of_room(self, site: Site, waiting: int, under_way: int) -> Why:
        if waiting and self._is_full(site):
            return _SLOT_FULL
        return _ASKED if under_way else _NEXT

    def _is_full(self, site: Site) -> bool:
        in_flight = self._throttle.in_flight
        slots = [slot for slot in site.slots or () if in_flight.in_slot(slot)]
        return bool(slots) and all(
            in_flight.in_slot(slot) >= in_flight.limits[slot] for slot in slots
        )


def waiting_standings(throttle: Throttle, now: float) -> Iterator[Standing | None]:
    """Yield how those sites stand that have to wait, or of which a part has to; None: no such.

    Where no site is in trouble, nothing is looked at.
    """
    if throttle.sites.in_trouble():
        for one in Survey(throttle, now).standings():
            yield None if one is None or one.reason not in WAITS else one


def status(crawler: Crawler) -> CrawlStatus:
    """Return how a crawl stands: for each site the requests that wait, and the one reason.

    ``print()`` writes it as a table. It is worked out from what is known of each site as it is
    asked for, in a time that grows with the number of sites that have requests.
    """
    crawl = Crawl.of(crawler)
    now = crawl.now()
    standings = Survey(crawl.throttle, now).standings()
    sites = [told(one) for one in standings if one is not None]
    sites.sort(key=lambda one: (one.reason.place, -one.waiting, one.site))
    return CrawlStatus(moment(now), tuple(sites), waiting_elsewhere(crawler))


def waiting_elsewhere(crawler: Crawler) -> int:
    """Return how many requests a scheduler of the project's own holds, their sites unknown."""
    held = engine.scheduler_length(crawler)
    return max(0, held - len(Crawl.of(crawler).throttle.queues))


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
    rules = Crawl.of(crawler).fetcher.known(site_named(url))
    return None if rules is None or rules.parser is None else rules.robots


def told(one: Standing) -> SiteStatus:
    """Return it as users are told of it."""
    details = shown(one.details)
    until = time_of(one.until)
    return SiteStatus(one.site, one.reason, until, details, one.waiting, one.under_way)
