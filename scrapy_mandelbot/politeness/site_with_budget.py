"""A site of which the project takes only so much: its budget decides, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.politeness.flight import EXEMPT, GO, Decision
from scrapy_mandelbot.politeness.site_state import Site

if TYPE_CHECKING:
    from scrapy_mandelbot.politeness.budget import Budget
    from scrapy_mandelbot.politeness.flight import Flight


class SiteWithBudget(Site):
    """A site in a crawl with MANDELBOT_SITE_BUDGET; `budget` None: it has none."""

    __slots__ = ("budget",)

    budget: Budget | None

    def decide(
        self, now: float, flight: Flight[Any] | None = None, section: str = ""
    ) -> Decision:
        """Decide on a request, by the budget first: it outlasts each pause."""
        if self.budget is not None and flight is None and section != EXEMPT:
            decision = self.budget.decide()
            if decision is not GO:
                return decision
        return super().decide(now, flight, section)

    def recheck(self) -> None:
        """Decide anew whether anything holds its requests back."""
        super().recheck()
        if self.budget is not None and self.budget.is_full:
            self.is_plain = False
