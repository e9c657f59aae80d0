"""The budgets of sites in one crawl: MANDELBOT_SITE_BUDGET."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot import events
from scrapy_mandelbot.clock import Timers
from scrapy_mandelbot.politeness.budget import Budget, BudgetLimits, Spent
from scrapy_mandelbot.politeness.site_with_budget import SiteWithBudget

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

    from scrapy_mandelbot.clock import Clock
    from scrapy_mandelbot.events.emitter import Events
    from scrapy_mandelbot.politeness.flight import Flight
    from scrapy_mandelbot.politeness.site_state import Site
    from scrapy_mandelbot.settings.config import Config
    from scrapy_mandelbot.throttle.site_map import Sites

_STOPS = (
    events.PAUSED,
    events.PAUSED_BY_PEER,
    events.RESTORED,
    events.HELD,
    events.SHUT,
)
_SUCCESSES = range(200, 300)


class Budgets:
    """Counts what the crawl takes of each site that has a budget.

    They are kept for the whole run, however many sites there are, a few hundred bytes
    each: a site that is forgotten meanwhile returns with what it has used up.
    """

    def __init__(  # noqa: PLR0913 -- what it needs of its crawl
        self,
        config: Config,
        clock: Clock,
        events_: Events,
        *,
        sites: Sites,
        keeps: bool,
        update: Callable[[Site], None],
        waiting: Callable[[Site], int],
    ) -> None:
        self._config = config
        self._now = clock.now
        self._emit = events_.emit
        self._keeps = keeps
        self._update = update
        self._waiting = waiting
        self._all: dict[str, Budget] = {}
        self._timers: Timers[str] = Timers(clock, self._ring)
        """By name: a site may be forgotten before its seconds are over."""
        self._changed: set[str] = set()
        """Sites whose budgets a job has not stored as they are now."""
        self._sites = sites
        self.takes_account = False
        """Whether a job stores what is used up, and settles each page."""
        self.sitemap_key = ""
        """The meta key of requests for sitemaps, which are no pages."""
        events_.subscribe(self._site_paused, *_STOPS)

    def site(self, *arguments: Any) -> SiteWithBudget:
        """Make a site, with the budget that it has by its name."""
        site = SiteWithBudget(*arguments)
        site.budget = self._of(site.name)
        site.recheck()
        return site

    def close(self) -> None:
        """Cancel the timers."""
        self._timers.take()

    def _of(self, name: str) -> Budget | None:
        budget = self._all.get(name)
        if budget is None:
            limits = limits_of(self._config, name)
            if limits == BudgetLimits():
                return None
            budget = Budget(limits, takes_account=self.takes_account)
            self._all[name] = budget
        return budget

    # Called by the throttle and the middlewares.

    def handed_out(self, flight: Flight[Site], now: float) -> None:
        """Count a request that the queue hands out."""
        site = flight.site
        budget = site.budget
        if budget is None or not self._counts(flight.request):
            return
        if not site.is_shut(now):
            self._timers.set(site.name, budget.run(now))
        budget.hand_out(flight)
        if budget.is_full:
            site.recheck()

    def is_above(self, flight: Flight[Site]) -> bool:
        """Return whether a request comes after the last that its budget allows."""
        budget = flight.site.budget
        if budget is None or not flight.is_from_queue or flight in budget.flights:
            return False
        return budget.is_reached and not flight.request.meta.get("dont_obey_budget")

    def answered(self, flight: Flight[Site], response: Response) -> None:
        """Count an answer that is handed on, before its request ends."""
        budget = flight.site.budget
        if budget is None or not self._counts(flight.request):
            return
        is_page = response.status in _SUCCESSES
        size = 0 if "cached" in response.flags else len(response.body)
        budget.answered(flight, is_page=is_page, size=size)
        self._changed.add(flight.site.name)
        if budget.is_reached:
            self._reach(flight.site, budget)

    def _counts(self, request: Request) -> bool:
        meta = request.meta
        return self.sitemap_key not in meta and not meta.get("dont_obey_budget")

    # Called by a job.

    def restore(self, name: str, spent: Spent) -> None:
        """Continue with what previous runs, or another worker, have used up."""
        limits = limits_of(self._config, name)
        if limits == BudgetLimits():
            return
        budget = Budget(limits, spent, takes_account=self.takes_account)
        self._all[name] = budget
        site = self._sites.get(name)
        if isinstance(site, SiteWithBudget):
            site.budget = budget
            site.recheck()
        if budget.is_reached:
            budget.was_reached = True
            self._emit(events.BUDGET_STILL_REACHED, site=name)
            self._sites.note_trouble(self._sites.of(name))

    def forget(self, name: str) -> None:
        """Forget what a site has used up: another worker has it now."""
        self._all.pop(name, None)

    def take_changes(self) -> set[str]:
        """Return the sites whose budgets a job has not stored as they are now."""
        changed = self._changed
        self._changed = set()
        return changed

    def take_settled(
        self, name: str, unsettled: Container[Any]
    ) -> tuple[Spent, bool] | None:
        """Return what a site has used up, and whether that is all; None: nothing.

        `unsettled`: the requests that the job has not settled. While there are some,
        the site is among the next changes.
        """
        budget = self._all.get(name)
        if budget is None:
            return None
        spent = budget.settled(self._now(), unsettled)
        if budget.has_unsettled:
            self._changed.add(name)
        return spent, budget.is_reached

    def _site_paused(self, values: Mapping[str, Any]) -> None:
        budget = self._all.get(values["site"])
        if budget is not None:
            budget.stop(self._now())

    def _ring(self, name: str) -> None:
        """Look whether the seconds of a site are used up, and when else they are."""
        budget = self._all.get(name)
        if budget is None or budget.is_reached:
            return
        site = self._sites.of(name)
        now = self._now()
        if site.is_shut(now):
            return  # after the pause, its next request lets them run again
        ends_at = budget.run(now)
        if ends_at > now:
            self._timers.set(name, ends_at)
            return
        budget.is_over_time = True
        self._changed.add(site.name)
        self._reach(site, budget)

    def _reach(self, site: Site, budget: Budget) -> None:
        if budget.was_reached:
            return
        budget.was_reached = True
        fate = "kept in the job" if self._keeps else "they are dropped"
        self._emit(
            events.BUDGET_REACHED,
            site=site.name,
            spent=budget.spent(self._now()).as_text(),
            waiting=self._waiting(site),
            fate=fate,
        )
        site.recheck()
        self._update(site)


def limits_of(config: Config, site: str) -> BudgetLimits:
    """Return the most that is taken of a site.

    What the site's own entry does not name is as for all sites.
    """
    limits = BudgetLimits(
        config.budget_pages, config.budget_bytes, config.budget_seconds
    )
    own = config.budget_sites.of(site)
    if own is None:
        return limits
    return limits._replace(**own)
