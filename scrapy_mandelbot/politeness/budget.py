"""How much of a site a crawl takes: pages, bytes and seconds, as the project sets them.

A budget is the project's; a quota (``pacer.py``) is the site's. Requests that are out
count as pages until they have ended, so that pages never exceed the budget. Bytes are
known when an answer is here: those in flight may exceed it. Seconds run from the first
request of the site, and stand still while the site is paused and between two runs.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_mandelbot.politeness.flight import GO, NEVER, Decision, Purpose, Wait

if TYPE_CHECKING:
    from scrapy_mandelbot.politeness.flight import Flight

_FULL = Decision(Wait.BUDGET, inf)


class BudgetLimits(NamedTuple):
    """The most that a crawl takes of a site; None: as much as there is."""

    pages: int | None = None
    """Answers of 2xx to requests from the queue, sitemaps excepted."""
    bytes: int | None = None
    """Of bodies, as transferred."""
    seconds: float | None = None


class Spent(NamedTuple):
    """How much of its budget a site has used up."""

    pages: int = 0
    bytes: int = 0
    seconds: float = 0.0

    def as_text(self) -> str:
        """Return it for a log line."""
        return f"{self.pages:,} pages, {self.bytes:,} bytes, {self.seconds:,.0f} s"


class Budget:
    """The budget of one site, and what is used up. `now` is in seconds, of any epoch.

    `takes_account`: whether what is not settled is kept apart, as `settled` needs it.
    """

    __slots__ = (
        "_seconds",
        "_since",
        "_takes_account",
        "_unsettled",
        "bytes",
        "flights",
        "is_over_time",
        "limits",
        "pages",
        "was_reached",
    )

    def __init__(
        self,
        limits: BudgetLimits,
        spent: Spent = Spent(),  # noqa: B008 -- it is immutable
        *,
        takes_account: bool = False,
    ) -> None:
        self.limits = limits
        self.pages = spent.pages
        self.bytes = spent.bytes
        self._seconds = spent.seconds
        self._since: float | None = None
        """Since when its seconds run; None: they stand still."""
        self.is_over_time = limits.seconds is not None and (
            spent.seconds >= limits.seconds
        )
        """Whether its seconds are used up: a flag, as questions bring no time."""
        self.was_reached = False
        """Whether this run has reported that the budget is reached."""
        self.flights: set[Flight[Any]] = set()
        """Requests that were handed out and may become pages."""
        self._takes_account = takes_account
        self._unsettled: dict[Any, tuple[int, int]] = {}
        """Answered requests whose callbacks may be called anew by the next run."""

    def __repr__(self) -> str:
        return f"<Budget: {self.pages} pages, {self.bytes} bytes of {self.limits}>"

    def as_text(self) -> str:
        """Return the pages and bytes of those that are limited."""
        parts = []
        for name, used, most in (
            ("pages", self.pages, self.limits.pages),
            ("bytes", self.bytes, self.limits.bytes),
        ):
            if most is not None:
                parts.append(f"{used:,} of {most:,} {name}")
        if self.is_over_time:
            parts.append(f"{self.limits.seconds:g} s are over")
        return ", ".join(parts)

    @property
    def is_reached(self) -> bool:
        """Whether it is used up, so that this run requests no more of its site."""
        pages, size, _ = self.limits
        if self.is_over_time:
            return True
        if pages is not None and self.pages >= pages:
            return True
        return size is not None and self.bytes >= size

    @property
    def is_full(self) -> bool:
        """Whether no more requests may be handed out now: those that are out may do."""
        if self.is_reached:
            return True
        pages = self.limits.pages
        return pages is not None and self.pages + len(self.flights) >= pages

    def decide(self) -> Decision:
        """Decide on the next request of the queue, as far as the budget matters."""
        if self.is_reached:
            return NEVER
        return _FULL if self.is_full else GO

    def hand_out(self, flight: Flight[Any]) -> None:
        """Count a request until it has ended; once it is reached, none counts."""
        if not self.is_reached:
            self.flights.add(flight)
            flight.reserve(Purpose.BUDGET, self._released)

    def answered(self, flight: Flight[Any], *, is_page: bool, size: int) -> None:
        """Count an answer; a page only if its request was handed out within the budget.

        `size`: bytes of the body.
        """
        pages = int(is_page and flight in self.flights)
        self.pages += pages
        self.bytes += size
        if self._takes_account:
            self._unsettled[flight.request] = pages, size

    def run(self, now: float) -> float:
        """Let its seconds run. Returns when they are used up; ``inf``: never."""
        if self.limits.seconds is None:
            return inf
        if self._since is None:
            self._since = now
        return self._since + self.limits.seconds - self._seconds

    def stop(self, now: float) -> None:
        """Let its seconds stand still, as the site is paused."""
        if self._since is not None:
            self._seconds += max(0.0, now - self._since)
            self._since = None

    def spent(self, now: float) -> Spent:
        """Return what is used up."""
        seconds = self._seconds
        if self._since is not None:
            seconds += max(0.0, now - self._since)
        return Spent(self.pages, self.bytes, seconds)

    @property
    def has_unsettled(self) -> bool:
        """Whether `settled` will return more, as callbacks end."""
        return bool(self._unsettled)

    def settled(self, now: float, unsettled: Any) -> Spent:
        """Return what is used up without the answers to requests of a job not settled.

        `unsettled`: a container of the requests that the job has not settled. If the
        process dies, the next run sends these anew, and counts their answers.
        """
        for request in [one for one in self._unsettled if one not in unsettled]:
            del self._unsettled[request]
        spent = self.spent(now)
        pages = sum(pages for pages, _ in self._unsettled.values())
        size = sum(size for _, size in self._unsettled.values())
        return spent._replace(pages=spent.pages - pages, bytes=spent.bytes - size)

    def _released(self, flight: Flight[Any], _now: float) -> bool:
        was_full = self.is_full
        self.flights.discard(flight)
        return was_full
