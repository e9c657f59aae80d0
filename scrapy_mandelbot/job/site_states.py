"""The state of a site for its next owner: another worker, or a later run.

What outlasts a change of owner continues: a pause, its failed probes, suspended
sections, the turn of a crawl delay, what is used up of a budget. A recovery starts over
with a probe. A state that cannot be read delays a site no longer than its owner has
said to Redis.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Mapping
from itertools import islice
from math import inf, isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_mandelbot import events
from scrapy_mandelbot.job import site_budgets
from scrapy_mandelbot.job.site_budgets import StoredBudget
from scrapy_mandelbot.politeness.budget import EXEMPT
from scrapy_mandelbot.politeness.pause_policy import LeftPause
from scrapy_mandelbot.scheduling.round_robin import PAST_PAUSES, QueueParts

if TYPE_CHECKING:
    from scrapy_mandelbot.crawl import Crawl, StoredJob
    from scrapy_mandelbot.politeness.site_state import Site

ENDLESS = "inf"  # of a site that is given up: no worker gets it before the next run
_BUDGET = b"\n"  # before a budget, behind the pauses; requeue.lua knows it
_MOST = 50  # pauses of a site, which chooses the paths of its sections


class SiteHandover(NamedTuple):
    """The state of a site for its next owner."""

    state: bytes
    milliseconds: str  # from now on, until it may be requested; or ``ENDLESS``


EMPTY_HANDOVER = SiteHandover(b"", "0")


def is_calm(site: Site) -> bool:
    """Return whether the next owner of a site can continue all that is in progress."""
    if site.is_plain:
        return True
    return site.scout is None and next(site.left(), None) is None


def handover_of(
    site: Site,
    now: float,
    server_time: float,
    least: float,
    unsettled: Container[Any] = (),
) -> SiteHandover:
    """Return a site's state for its next owner, which waits at least `least` seconds.

    `server_time`: seconds by which the server's clock is ahead. `unsettled`: the
    requests that the next owner would send anew.
    """
    budget = b""
    if site.budget is not None:
        spent = site.budget.settled(now, unsettled)
        stored = StoredBudget(spent, site.budget.is_reached)
        budget = _BUDGET + site_budgets.written(stored)
    if site.is_plain and not least:
        return SiteHandover(budget, "0")
    rest = max(least, site.pacer.due_after(now) - now, site.pause_due(now) - now, 0.0)
    if site.takes_no_more():
        rest = inf
    elif not isfinite(rest):  # probed just now
        rest = least
    return SiteHandover(
        written(pauses_of(site), server_time) + budget,
        ENDLESS if rest == inf else f"{rest * 1000:.0f}",
    )


def pauses_of(site: Site) -> list[LeftPause]:
    return list(islice(site.left(), _MOST))


def written(pauses: list[LeftPause], server_time: float = 0.0) -> bytes:
    moved = [pause._replace(until=pause.until + server_time) for pause in pauses]
    return json.dumps(moved).encode() if moved else b""


def read_handover(state: bytes, server_time: float = 0.0) -> list[LeftPause]:
    """Return the pauses of a site; none where they cannot be read."""
    pauses = state.partition(_BUDGET)[0]
    try:
        return [
            LeftPause(
                float(until) - server_time, str(reason), int(failed), "".join(section)
            )
            for until, reason, failed, *section in json.loads(pauses or b"[]")
        ]
    except (ValueError, TypeError, OverflowError):
        return []


def budget_in(state: bytes) -> StoredBudget | None:
    """Return what is used up of the budget of a site; None: it has none."""
    return site_budgets.read_budget(state.partition(_BUDGET)[2])


def site_of_line(name: str) -> str:
    return name.partition(" ")[0]


def section_of_line(name: str) -> str:
    """Return the section with which a line was set aside; empty: it was not."""
    section = QueueParts.of(name).section
    return "" if section in {PAST_PAUSES, EXEMPT} else section


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
}
"""Changes that are saved at once for the next owner: this one may die."""


class StoredSites:
    """Stores the state of sites that change.

    `save_soon` commits at the end of the turn.
    """

    def __init__(
        self, job: StoredJob, crawl: Crawl, save_soon: Callable[[], None]
    ) -> None:
        self._job = job
        self._crawl = crawl
        self._save_soon = save_soon
        self._changed: set[str] = set()
        crawl.events.subscribe(self._site_changed, *CHANGES)
        job.before_commits(self._store)

    def restore(self, lines: Iterable[str]) -> None:
        """Restore the states that the previous run stored.

        `lines`: names of the lines in which requests wait. Of other sites only pauses
        that are not over are restored: nothing would end the rest.
        """
        now = self._crawl.now()
        waiting = set(map(site_of_line, lines))
        written_at = float(self._job.kept(_WRITTEN_AT).get(_WRITTEN_AT, 0.0))
        # by so much the machine's clock: no pause is longer
        set_back = max(0.0, written_at - now)
        for name, state in self._job.kept(IN_JOB).items():
            site = name.removeprefix(IN_JOB)
            pauses = [
                one
                for one in read_handover(state, set_back)
                if site in waiting or one.until > now
            ]
            for pause in pauses:
                self._crawl.throttle.peers.take_over(site, pause)
            if not pauses:
                self._job.put(name, None)

    def _site_changed(self, values: Mapping[str, Any]) -> None:
        self._changed.add(values["site"])
        self._save_soon()

    def _store(self) -> None:
        if self._changed:
            self._job.put(_WRITTEN_AT, str(self._crawl.now()).encode())
        for name in self._changed:
            site = self._crawl.sites.get(name)
            self._job.put(
                IN_JOB + name,
                None if site is None else written(pauses_of(site)) or None,
            )
        self._changed.clear()
