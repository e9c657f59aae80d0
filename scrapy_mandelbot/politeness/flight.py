"""A request in flight, as its site sees it, and what is decided on it.

What it holds while others wait for its end is released in one place,
:meth:`Flight.settle`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from math import inf
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

from scrapy_mandelbot.politeness.tally import End

if TYPE_CHECKING:
    from mandelbot.answers.meaning import ResponseMeaning

NOBODY: frozenset[Any] = frozenset()
"""No requests: shared, as each set takes 216 bytes, and a crawl holds many sites."""
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
"""Those that change nothing, however often they are sent (RFC 9110, section 9.2.1)."""
EXEMPT = "/ dont_obey_budget"
"""In place of a section's path: these requests neither count nor wait for a budget."""


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
    BUDGET = "budget"
    """It is one of the pages that the project's budget for the site still allows."""


class Reservation(NamedTuple):
    """One request is out, and others wait for its end."""

    purpose: Purpose
    release: Callable[[Flight[Any], float], bool]
    """Called once when the request has ended, with the time; returns whether others may
    go now.
    """


class Reserved(Protocol):
    """What others wait for, as a request in flight sees it: its site."""

    reserving: frozenset[Flight[Any]]
    """The requests for whose end others wait, as they hold a reservation."""

    def recheck(self) -> None:
        """Decide anew whether anything holds its requests back."""


_SiteT = TypeVar("_SiteT", bound=Reserved)


class Flight(Generic[_SiteT]):
    """A request on its way to its site.

    The pause, the pacer and the faults of a site take any flight: they do not look at
    its site, which consists of them. Class attributes hold what few requests change.
    """

    fingerprint: bytes | None = None
    """The fingerprint of its request, once it was needed."""
    had_turn = False
    """Whether it had its turn at the rate of a recovery, where it is not from the
    queue.
    """
    sent_at = 0.0
    """When it was handed out, or left for its site, in seconds."""
    is_from_queue = False
    has_headers = False
    """Whether it has headers of its own: others the middlewares give any request."""
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
    held_up = 0.0
    """Seconds that it got back as the probe, as for a time no answer could be read."""
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
    at_once = 0
    """The requests of its site in flight when it was handed out, itself included, or
    when it was refused, if those were more; 0: they were not counted.
    """
    rules: Any = None
    """The rules of its site that were valid as the queue handed it out; None: there
    were none, or it is not from there.
    """
    meta: Mapping[str, object] | None = None
    """Of the meta keys that the way out changes, those that it had in the queue."""

    tick = 0
    """When it was handed out, in ticks of its site."""

    def __init__(self, request: Any, site: _SiteT) -> None:
        self.request = request
        self.site = site

    def reserve(
        self, purpose: Purpose, release: Callable[[Flight[Any], float], bool]
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
            (reservation,) = self.reservations
            if purposes and reservation.purpose not in purposes:
                return False
            self.reservations = ()
            self.site.reserving = (self.site.reserving - {self}) or NOBODY
            return reservation.release(self, now)
        released = [
            one for one in self.reservations if not purposes or one.purpose in purposes
        ]
        self.reservations = tuple(
            one for one in self.reservations if one not in released
        )
        if not self.reservations:
            self.site.reserving = (self.site.reserving - {self}) or NOBODY
        others_may_go = False
        for one in released:  # all of them, also after one that lets others go
            if one.release(self, now):
                others_may_go = True
        return others_may_go

    def scouted(self, now: float) -> bool:
        """Note that it has its site's rules, or goes without.

        Returns whether others may go now.
        """
        others_may_go = self.settle(now, Purpose.RULES)
        self.site.recheck()
        return others_may_go

    def __repr__(self) -> str:
        origin = "from the queue" if self.is_from_queue else "from elsewhere"
        return f"<Flight of {self.request} {origin}>"


class Wait(Enum):
    """What a request waits for that may not go now."""

    PAUSE = "pause"
    """The end of a pause: of its site, its section, its URL, or of a manual one."""
    RECOVERY = "recovery"
    """A turn at the rate of a recovery."""
    TURN = "turn"
    """A turn at the crawl delay, or the quota."""
    RULES = "rules"
    """The scout, which finds out its site's rules."""
    BUDGET = "budget"
    """The end of requests that may use up the budget of the site."""
    ROBOTS = "refuses robots"
    """The end of a pause of a section that refuses robots: no run is kept open for it.
    """
    NOTHING = "given up"
    """It is never sent in this run: its site, section or page is given up, or the
    budget of its site is reached.
    """


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
OUTLASTS_RUN = frozenset({Wait.ROBOTS, Wait.NOTHING})
"""For the end of these waits no run is kept open."""
