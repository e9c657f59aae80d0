"""A request in flight, as far as its site has to know it.

Each request that is taken in ends in exactly one way: the sum of the ends, of what waits and of
what is in flight is the number that was taken in. An end is counted once, where it is settled.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scrapy_mandelbot.sites.site import SiteState


class Flight:
    """A request on its way to its site.

    Args:
        request: which one.
        site: where it goes.
        route: the way it goes: a proxy, where those are told apart, else ``""``.
    """

    __slots__ = (
        "is_from_queue",
        "is_sent",
        "keeps_pauses",
        "passed",
        "request",
        "route",
        "sent_at",
        "site",
        "tick",
    )

    def __init__(self, request: Any, site: SiteState, route: str = "") -> None:
        self.request = request
        self.site = site
        self.route = route
        self.passed: str | None = None
        """The route by which it was handed out, or has had its turn; None: it has not."""
        self.tick = site.ticks
        """When it was handed out, in ticks of its site."""
        self.sent_at = 0.0
        """When it was handed out, or left for its site, in seconds."""
        self.is_from_queue = False
        self.keeps_pauses = True
        """Whether pauses hold it back; a pace does in any case."""
        self.is_sent = False
        """Whether it has left for its site."""

    def __repr__(self) -> str:
        origin = "from the queue" if self.is_from_queue else "from elsewhere"
        return f"<Flight of {self.request} {origin}>"


class End(Enum):
    """A way in which a request ends; the value is its name in stats, metrics and reports."""

    PAGE = "page"
    OTHER = "other_answer"
    CACHED = "cached"
    FORBIDDEN = "forbidden"
    USE = "use_disallowed"
    SEEN = "seen"
    DROPPED = "dropped"
    TRIED_AGAIN = "tried_again"
    REPLACED = "replaced"
    NO_HOST = "no_such_host"
    NETWORK = "no_answer"
    SITE = "site_given_up"
    SECTION = "section_given_up"
    URL = "page_given_up"
    WAITED = "waited_too_long"
    ERROR = "error"
    LEFT = "left"

    def __str__(self) -> str:
        return str(self.value)


IN_ACCOUNT = ("taken_in", "from_former_run", "lost", *map(str, End))
"""The names of all numbers of an account."""
LOST = frozenset({End.NETWORK, End.SITE, End.SECTION, End.URL, End.WAITED, End.ERROR})
"""Ends of requests that failed though a patient visitor could have had their pages."""


class Tally:
    """How many requests to a site were taken in, and how they ended."""

    __slots__ = ("cached", "ends", "others", "pages", "taken")

    def __init__(self) -> None:
        self.taken = 0
        """Requests that entered the queue, or passed the middlewares without it."""
        self.pages = 0
        """Answers of 2xx. They are counted for each page: a number is faster than a table."""
        self.others = 0
        """Other answers that ask for no pause: redirects, 4xx, 5xx that do not pause."""
        self.cached = 0
        """Answers of the HTTP cache, and copies of robots.txt."""
        self.ends: dict[End, int] = {}
        """All other ends."""

    @property
    def lost(self) -> int:
        """How many requests failed whose pages a patient visitor could have had."""
        return sum(self.ends.get(end, 0) for end in LOST)

    @property
    def ended(self) -> int:
        """How many requests have ended."""
        return sum(self.by_end().values())

    def by_end(self) -> dict[End, int]:
        """Return how many requests ended in each way, in the order of the ways."""
        counts = {End.PAGE: self.pages, End.OTHER: self.others, End.CACHED: self.cached}
        counts |= self.ends
        return {end: counts[end] for end in End if counts.get(end)}

    def count(self, end: End, requests: int = 1) -> None:
        """Count requests that end so; less than 0: that do not, after all."""
        self.ends[end] = self.ends.get(end, 0) + requests

    def add(self, other: Tally) -> None:
        """Take in what another one has counted."""
        self.taken += other.taken
        self.pages += other.pages
        self.others += other.others
        self.cached += other.cached
        for end, requests in other.ends.items():
            self.count(end, requests)

    def left(self, now: float) -> None:
        """Note that a request leaves for the site, at its pace."""
