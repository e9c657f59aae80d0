"""What the sites of a job have used up of their budgets, for the next run.

It is part of the commit that settles a page: a run that dies counts no page twice.
"""

from __future__ import annotations

import json
from collections.abc import Container
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_mandelbot.politeness.budget import Spent

if TYPE_CHECKING:
    from scrapy_mandelbot.crawl import StoredJob
    from scrapy_mandelbot.throttle.budgets import Budgets

IN_JOB = "budget/"  # what the names begin with under which a job has them


class StoredBudget(NamedTuple):
    """What a site has used up, and whether that was all that the run allowed."""

    spent: Spent
    is_reached: bool


def written(stored: StoredBudget) -> bytes:
    """Return it as a job stores it."""
    return json.dumps([*stored.spent, stored.is_reached]).encode()


def read_budget(value: bytes) -> StoredBudget | None:
    """Read what a run has stored; None: it cannot be read."""
    try:
        pages, size, seconds, is_reached = json.loads(value)
        spent = Spent(int(pages), int(size), float(seconds))
    except (ValueError, TypeError, OverflowError):
        return None
    if not isfinite(spent.seconds) or min(spent) < 0:
        return None
    return StoredBudget(spent, bool(is_reached))


class StoredBudgets:
    """Stores the budgets of sites that changed, with each commit of a job.

    `unsettled`: the requests that the job has not settled, as of now.
    """

    def __init__(
        self, job: StoredJob, budgets: Budgets, unsettled: Container[Any]
    ) -> None:
        self._job = job
        self._budgets = budgets
        self._unsettled = unsettled
        budgets.takes_account = True
        job.before_commits(self._store)

    def restore(self) -> None:
        """Continue with what the previous runs have used up."""
        for name, value in self._job.kept(IN_JOB).items():
            stored = read_budget(value)
            if stored is not None:
                self._budgets.restore(name.removeprefix(IN_JOB), stored.spent)

    def _store(self) -> None:
        changed = self._budgets.take_changes(self._unsettled)
        for name, (spent, is_reached) in changed.items():
            self._job.put(IN_JOB + name, written(StoredBudget(spent, is_reached)))
