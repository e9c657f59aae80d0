"""What a job in a file stores of its sites for the next run."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot import events
from scrapy_mandelbot.job.site_handover import (
    SiteHandover,
    StoredBudget,
    pauses_of,
    read_handover,
)
from scrapy_mandelbot.politeness.flight import EXEMPT
from scrapy_mandelbot.scheduling.round_robin import DELAYED, PAST_PAUSES, QueueParts

if TYPE_CHECKING:
    from scrapy_mandelbot.crawl import Crawl, StoredJob


def site_of_line(name: str) -> str:
    return name.partition(" ")[0]


def section_of_line(name: str) -> str:
    """Return the section with which a line was set aside; empty: it was not."""
    section = QueueParts.of(name).section
    return "" if section in {PAST_PAUSES, EXEMPT, DELAYED} else section


# state: when it was last written, in seconds since the epoch
_WRITTEN_AT = "sites written at"
IN_JOB = "site/"  # what the names begin with under which a job has them
CHANGES = {
    events.PAUSED,
    events.PAUSED_BY_PEER,
    events.PROLONGED,
    events.RESUMED,
    events.RECOVERED,
    events.GIVEN_UP,
    events.BUDGET_REACHED,
    events.REFUSES_ROBOTS,
    events.SECTION_PAUSED,
    events.SECTION_PROLONGED,
    events.SECTION_RESUMED,
    events.SECTION_GIVEN_UP,
    events.REFUSES_ROBOTS_STILL,
    events.ROBOTS_UNANSWERED,
}
"""Changes that are saved at once for the next owner: this one may die."""


class StoredSites:
    """Stores what is known of sites that change, with each commit of a job.

    What is used up of budgets is part of the commit that settles a page: a run that
    dies counts no page twice. `save_soon` commits at the end of the turn.
    """

    def __init__(
        self, job: StoredJob, crawl: Crawl, save_soon: Callable[[], None]
    ) -> None:
        self._job = job
        self._crawl = crawl
        self._save_soon = save_soon
        self._changed: set[str] = set()
        # of previous runs, where this one has no budgets: they stay as they are
        self._former_budgets: dict[str, StoredBudget] = {}
        self._unsettled: Container[Any] = ()
        crawl.events.subscribe(self._site_changed, *CHANGES)
        job.before_commits(self._store)

    def restore(self, lines: Iterable[str], unsettled: Container[Any] = ()) -> None:
        """Restore what the previous run stored.

        `lines`: names of the lines in which requests wait. Of other sites only pauses
        that are not over are restored: nothing would end the rest. `unsettled`: the
        requests that the job has not settled, as of now.
        """
        self._unsettled = unsettled
        if self._crawl.throttle.budgets is not None:
            self._crawl.throttle.budgets.takes_account = True
        now = self._crawl.now()
        waiting = set(map(site_of_line, lines))
        written_at = float(self._job.kept(_WRITTEN_AT).get(_WRITTEN_AT, 0.0))
        # by so much the machine's clock: no pause is longer
        set_back = max(0.0, written_at - now)
        for name, state in self._job.kept(IN_JOB).items():
            site = name.removeprefix(IN_JOB)
            known = read_handover(state, set_back)
            pauses = [one for one in known.pauses if site in waiting or one.until > now]
            for pause in pauses:
                self._crawl.throttle.peers.take_over(
                    site, pause, source="left by the previous run"
                )
            self._restore_budget(site, known.budget)
            if not pauses:
                left = SiteHandover(budget=known.budget).written()
                if left != state:
                    self._job.put(name, left or None)

    def _restore_budget(self, site: str, stored: StoredBudget | None) -> None:
        if stored is None:
            return
        if self._crawl.throttle.budgets is None:
            self._former_budgets[site] = stored
        else:
            self._crawl.throttle.budgets.restore(site, stored.spent)

    def _site_changed(self, values: Mapping[str, Any]) -> None:
        self._changed.add(values["site"])
        self._save_soon()

    def _store(self) -> None:
        if self._changed:
            self._job.put(_WRITTEN_AT, str(self._crawl.now()).encode())
        changed = self._changed
        self._changed = set()
        if self._crawl.throttle.budgets is not None:
            changed |= self._crawl.throttle.budgets.take_changes()
        for name in changed:
            site = self._crawl.sites.get(name)
            pauses = () if site is None else pauses_of(site)
            known = SiteHandover(pauses, self._budget_of(name))
            self._job.put(IN_JOB + name, known.written() or None)

    def _budget_of(self, name: str) -> StoredBudget | None:
        budgets = self._crawl.throttle.budgets
        if budgets is None:
            return self._former_budgets.get(name)
        settled = budgets.take_settled(name, self._unsettled)
        return None if settled is None else StoredBudget(*settled)
