"""A request in flight, as its site sees it, and the ways in which it ends.

Each accepted request ends in exactly one way: requests that ended, wait or are in
flight add up to the requests accepted. An end is counted once, where the request is
settled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from mandelbot.answers.meaning import ResponseMeaning

    from scrapy_mandelbot.politeness.site_state import Site


class Purpose(Enum):
    """What a request in flight holds, while others wait for its end."""

    RULES = "rules"
    """It fetches the site's robots.txt for all that need it."""
    PROBE = "probe"
    """It shows whether a pause of the site, or of a section, is over."""
    TURN = "turn"
    """It is the one request of the site at its crawl delay."""
    QUOTA = "quota"
    """It is one of those that the site's quota still allows."""


class Reservation(NamedTuple):
    """One request is out, and others wait for its end."""

    purpose: Purpose
    release: Callable[[Flight, float], bool]
    """Called once when the request has ended, with the time; returns whether others may
    go now.
    """


class End(Enum):
    """A way in which a request ends; its value names it in stats and reports."""

    PAGE = "page"
    OTHER = "other_answer"
    CACHED = "cached"
    FORBIDDEN = "forbidden"
    USE = "use_disallowed"
    SEEN = "seen"
    DROPPED = "dropped"
    TRIED_AGAIN = "tried_again"
    REPLACED = "replaced"
    CANCELLED = "cancelled"
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


class Flight:
    """A request on its way to its site.

    Class attributes hold what few requests change.
    """

    fingerprint: bytes | None = None
    """The fingerprint of its request, once it was needed."""
    had_turn = False
    """Whether it was handed out, or had its turn at the rate of a recovery."""
    sent_at = 0.0
    """When it was handed out, or left for its site, in seconds."""
    is_from_queue = False
    keeps_pauses = True
    """Whether pauses hold it back; a pace does in any case."""
    is_sent = False
    """Whether it has left for its site."""
    is_refused_alone = False
    """Whether its URL was tried often enough: it is refused, and no other is."""
    not_before = 0.0
    """When it may be sent, as far as its URL alone is refused."""
    meaning: ResponseMeaning | None = None
    """What its response means, once that is reported to its site; None: there is no
    news of it.
    """
    is_waiting = False
    """Whether it waits, and holds no place of the downloader."""
    waits_since: float | None = None
    """Since when it waits for the end of a pause, where it is not from the queue."""
    reservations: tuple[Reservation, ...] = ()
    """What it holds: all of it is released when it ends, in :meth:`settle`."""
    end = End.REPLACED
    """How it ends, if no middleware sees its end."""
    slot = ""
    """The download slot through which it goes, where it is from the queue."""
    dont_filter = False
    meta: Mapping[str, object] | None = None
    """Of the meta keys that the way out changes, those that it had in the queue."""

    def __init__(self, request: Any, site: Site, tick: int = 0) -> None:
        self.request = request
        self.site = site
        self.tick = tick
        """When it was handed out, in ticks of its site."""

    def reserve(
        self, purpose: Purpose, release: Callable[[Flight, float], bool]
    ) -> None:
        """Hold something until this request ends, however it ends."""
        self.reservations += (Reservation(purpose, release),)
        self.site.reserving |= {self}

    def settle(self, now: float, *purposes: Purpose) -> bool:
        """Release what it holds, for these purposes or all.

        Returns whether others may go now.
        """
        if not self.reservations:
            return False
        if len(self.reservations) == 1:
            (only,) = self.reservations
            if purposes and only.purpose not in purposes:
                return False
            self.reservations = ()
            self.site.reserving -= {self}
            return only.release(self, now)
        released = [
            one for one in self.reservations if not purposes or one.purpose in purposes
        ]
        self.reservations = tuple(
            one for one in self.reservations if one not in released
        )
        if not self.reservations:
            self.site.reserving -= {self}
        # All of them, also after one that lets others go.
        return sum(one.release(self, now) for one in released) > 0

    def scouted(self, now: float) -> bool:
        """Note that it has its site's rules, or goes without.

        Returns whether others may go now.
        """
        others_may_go = self.settle(now, Purpose.RULES)
        self.site.look_anew()
        return others_may_go

    def __repr__(self) -> str:
        origin = "from the queue" if self.is_from_queue else "from elsewhere"
        return f"<Flight of {self.request} {origin}>"


class Wait(Enum):
    """What a request waits for that may not go now."""

    PAUSE = "pause"
    """The end of a pause: of its site, its section, its URL, or of a manual one."""
    TURN = "turn"
    """A turn at the crawl delay, or the quota."""
    RULES = "rules"
    """The scout, which finds out its site's rules."""
    NOTHING = "given up"
    """It is never sent in this run: its site, section or page is given up."""


class Decision(NamedTuple):
    """What becomes of a request now.

    The queue, the middlewares and the waiters all act on one.
    """

    wait: Wait | None = None
    """None: it goes."""
    until: float = -inf
    """When it is decided on again, in seconds since the epoch; ``inf``: when another
    has ended.
    """


GO = Decision()
NEVER = Decision(Wait.NOTHING, inf)


class Tally:
    """How many requests to a site were accepted, and how they ended."""

    __slots__ = ("cached", "ends", "others", "pages", "taken")

    LOST = frozenset(
        {End.NETWORK, End.SITE, End.SECTION, End.URL, End.WAITED, End.ERROR}
    )
    """Ends of requests that failed though a patient visitor could have had their pages.
    """

    def __init__(self) -> None:
        self.taken = 0
        """Requests that entered the queue, or passed the middlewares without it."""
        self.pages = 0
        """Answers of 2xx. They are counted for each page: a number is faster than a
        table.
        """
        self.others = 0
        """Other answers that cause no pause: redirects, 4xx, 5xx that do not pause."""
        self.cached = 0
        """Answers of the HTTP cache, and copies of robots.txt."""
        self.ends: dict[End, int] = {}
        """All other ends."""

    @property
    def lost(self) -> int:
        """How many requests failed whose pages a patient visitor could have had."""
        return sum(count for end, count in self.ends.items() if end in self.LOST)

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

    def count_answer(self, status: int, *, is_cached: bool) -> None:
        """Count an answer that is handed on."""
        if is_cached:
            self.cached += 1
        elif 200 <= status < 300:  # noqa: PLR2004 -- any success
            self.pages += 1
        else:
            self.others += 1

    def add(self, other: Tally) -> None:
        """Add the counts of another tally."""
        self.taken += other.taken
        self.pages += other.pages
        self.others += other.others
        self.cached += other.cached
        for end, requests in other.ends.items():
            self.count(end, requests)

    def left(self, now: float) -> None:
        """Note that a request leaves for a site with a pace, or ends without one."""

    def ignored_delay(self) -> str:
        """Return the crawl delay that is not obeyed, and the rate; empty: none."""
        return ""
