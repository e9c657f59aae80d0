"""Requests at a crawl delay, one after the other, as its pacer sees them."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from flights import flight_to

from scrapy_mandelbot.politeness.pause_policy import PausePolicy
from scrapy_mandelbot.politeness.site_state import Site

if TYPE_CHECKING:
    from scrapy_mandelbot.politeness.pace import Pace


class CrawlDelayTimer:
    """A pacer that has followed a pace since a moment.

    `since`: when its last answer ended.
    """

    def __init__(
        self,
        pace: Pace,
        since: float = -inf,
        not_before: float = -inf,
        now: float = 0.0,
    ) -> None:
        self._site = Site("https://example.com", PausePolicy())
        self.pacer = self._site.pacer
        self._flight = flight_to(self._site)
        self.pacer.ended(self._flight, since)
        self.pacer.resumes_at = not_before
        self.follow(pace, now)
        self.due, self.due_after = self.pacer.due, self.pacer.due_after

    def follow(self, pace: Pace, now: float) -> None:
        self.pacer.follow(pace, inf, now)

    def is_free_at(self, now: float) -> bool:
        return not self.pacer.is_needed(now)

    def sent(self, now: float) -> None:
        self._flight = flight_to(self._site)
        self.pacer.let_pass(self._flight)
        self._flight.is_sent = True
        self.pacer.sent(now)

    def answered(self, now: float) -> None:
        self._flight.settle(now)
