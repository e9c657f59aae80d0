"""The sites that a worker owns: taken with their state, and given back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot import engine
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.job.site_handover import (
    SiteHandover,
    handover_of,
    is_calm,
    read_handover,
    rest_of,
)
from scrapy_mandelbot.job.site_states import CHANGES
from scrapy_mandelbot.politeness.budget import Spent
from scrapy_mandelbot.politeness.flight import OUTLASTS_RUN

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_mandelbot.fleet.holdings import HandedOverSite
    from scrapy_mandelbot.fleet.shared_job import SharedJob
    from scrapy_mandelbot.fleet.shared_storage import SharedStorage
    from scrapy_mandelbot.politeness.site_state import Site
    from scrapy_mandelbot.scheduling.site_queue import SiteQueue
    from scrapy_mandelbot.store import CachedRobots

# seconds; a site that is paused for longer is given back, with its pause
HELD_WHILE_PAUSED = 10.0
_MOST_GIVEN = 4  # sites at a time, to workers that have room for more
_LOOKED_AT = 100  # sites, for those


class OwnSites:
    """Takes sites and gives them back."""

    def __init__(
        self,
        crawler: Crawler,
        job: SharedJob,
        storage: SharedStorage,
        queue: SiteQueue,
        save_soon: Callable[[], None],
    ) -> None:
        self._crawler = crawler
        self._crawl = Crawl.of(crawler)
        self._job = job
        self._storage = storage
        self._queue = queue
        self._save_soon = save_soon
        self._crawl.events.subscribe(self._site_changed, *CHANGES)
        if self._crawl.throttle.budgets is not None:
            self._crawl.throttle.budgets.takes_account = True
        self.server_time = 0.0  # seconds by which the server's clock is ahead

    def take(self, sites: Mapping[str, bytes], lines: Iterable[str]) -> bool:
        roused = dict.fromkeys(lines)
        for name, state in sites.items():
            self._take_over(name, read_handover(state, self.server_time))
            roused.update(dict.fromkeys(self._storage.taken(name)))
        for line in roused:
            self._queue.load(line)
        return bool(roused)

    def look(self) -> None:
        """Give back sites that are done here or paused for long.

        Report the state of the others for their next owner, in case this worker dies.
        """
        now = self._crawl.now()
        for name in list(self._storage.touched):
            if name not in self._job.sites:
                continue
            site = self._crawl.sites.of(name)
            is_over = self._is_done(name) or _is_paused_for_long(site, now)
            if is_over and self._is_movable(site):
                self._give_back(site, now)
            else:
                self._say_what_is_left(site, now)
        self._storage.touched.clear()

    def share(self, wanted: Iterable[str], surplus: int) -> None:
        now = self._crawl.now()
        sites = self._crawl.sites
        for name in wanted:
            if name in self._job.sites:
                site = sites.of(name)
                if self._is_movable(site):
                    self._give_back(site, now)
        if not surplus:
            return
        looked_at = map(sites.of, [*islice(self._job.sites, _LOOKED_AT)])
        calm = (site for site in looked_at if self._is_movable(site) and is_calm(site))
        for site in islice(calm, min(surplus, _MOST_GIVEN)):
            self._give_back(site, now)

    def lose(self) -> list[HandedOverSite]:
        """Forget all sites: others own them.

        Return the states of those that must wait.
        """
        self.call_back()
        now = self._crawl.now()
        known = []
        for name in list(self._job.sites):
            site = self._crawl.sites.get(name)
            if site is not None:
                least = engine.slot_delay(self._crawler, site.slots)
                left = self._handover_of(site, now)
                rest = rest_of(site, now, least)
                # of a budget alone, what is settled is on the server
                if rest != "0" or left.pauses:
                    known.append((name, left.written(self.server_time), rest))
                self._storage.given_back(*self._queue.leave(site))
                self._forget(site)
        return known

    def call_back(self) -> None:
        """Evict requests from download slots: others may own their sites by now."""
        in_flight = self._crawl.throttle.in_flight
        for site in {flight.site for flight in in_flight.flights.values()}:
            if site.name in self._job.sites:
                in_flight.evict(site)

    def say_all(self) -> None:
        now = self._crawl.now()
        for name in self._job.sites:
            site = self._crawl.sites.of(name)
            self._say_what_is_left(
                site, now, engine.slot_delay(self._crawler, site.slots)
            )

    def _site_changed(self, values: Mapping[str, Any]) -> None:
        self._storage.touched[values["site"]] = None
        self._save_soon()

    def _is_done(self, name: str) -> bool:
        if name in self._storage.under_way:
            return False
        return self._job.sites[name].is_exhausted

    def _is_movable(self, site: Site) -> bool:
        delayed = self._queue.delayed_of(site)
        is_in_flight = self._storage.under_way.get(site.name, 0) > delayed
        return not (
            is_in_flight or site.awaited or self._storage.holds_in_memory(site.name)
        )

    def _give_back(self, site: Site, now: float) -> None:
        least = engine.slot_delay(self._crawler, site.slots)
        if self._is_done(site.name):
            self._say_what_is_left(site, now, least)
        else:  # its next owner may be on a machine without the copy
            copy = self._crawl.store.get_copy(site.name)
            self._say_what_is_left(site, now, least, copy)
        self._storage.given_back(*self._queue.leave(site))
        self._job.give_back(site.name)
        self._forget(site)

    def _forget(self, site: Site) -> None:
        """Forget a site, unless a response is on its way."""
        flights = self._crawl.throttle.in_flight.flights.values()
        if all(flight.site is not site for flight in flights):
            self._crawl.sites.forget(site)
        if self._crawl.throttle.budgets is not None:
            self._crawl.throttle.budgets.forget(site.name)

    def _say_what_is_left(
        self,
        site: Site,
        now: float,
        least: float = 0.0,
        copy: CachedRobots | None = None,
    ) -> None:
        known = self._handover_of(site, now)._replace(robots=copy)
        state = known.written(self.server_time)
        self._job.rest(site.name, state, rest_of(site, now, least))

    def _handover_of(self, site: Site, now: float) -> SiteHandover:
        return handover_of(site, now, self._storage.unacked)

    def _take_over(self, name: str, known: SiteHandover) -> None:
        """Continue with what previous owners of a site have found out."""
        if known.robots is not None:
            own = self._crawl.store.get_copy(name)
            if own is None or own.fetched_at < known.robots.fetched_at:
                self._crawl.store.put_copy(name, known.robots)
        for pause in known.pauses:
            self._crawl.throttle.peers.take_over(
                name, pause, source="left by another worker", is_newest=True
            )
        budgets = self._crawl.throttle.budgets
        if budgets is not None:
            spent = Spent() if known.budget is None else known.budget.spent
            budgets.restore(name, spent)


def _is_paused_for_long(site: Site, now: float) -> bool:
    if site.decide(now).wait in OUTLASTS_RUN:
        return True
    return inf > site.pause_due(now) > now + HELD_WHILE_PAUSED
