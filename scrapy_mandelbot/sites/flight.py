"""A request in flight, as far as its site has to know it, how it ends, and the turns of a site.

At a pace one request at a time is sent, and it is known when the next one may be.

Each request that is taken in ends in exactly one way: the sum of the ends, of what waits and of
what is in flight is the number that was taken in. An end is counted once, where it is settled.
"""

from __future__ import annotations

from enum import Enum
from math import inf
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.robots.pace import Metronome, Pace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from scrapy_mandelbot.sites.site import Site

_NO_META: Mapping[str, object] = {}


class Flight:
    """A request on its way to its site, by a proxy where those are told apart."""

    __slots__ = (
        "dont_filter",
        "fingerprint",
        "is_from_queue",
        "is_noticed",
        "is_refused",
        "is_refused_alone",
        "is_sent",
        "is_waiting",
        "keeps_pauses",
        "meta",
        "not_before",
        "passed",
        "request",
        "route",
        "sent_at",
        "site",
        "slot",
        "tick",
        "waits_since",
    )

    def __init__(self, request: Any, site: Site, route: str = "") -> None:
        self.request = request
        self.site = site
        self.route = route
        self.fingerprint: bytes | None = None
        """What tells its request from others, where that was asked for."""
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
        self.is_refused_alone = False
        """Whether its URL was tried often enough: it is refused, and no other is."""
        self.not_before = 0.0
        """When it may be sent, as far as its URL alone is refused."""
        self.is_noticed = False
        """Whether its answer has been taken into account."""
        self.is_refused = False
        """Whether that asks for a pause."""
        self.is_waiting = False
        """Whether it waits, and holds no place of the downloader."""
        self.waits_since: float | None = None
        """Since when it waits for the end of a pause, where it is not from the queue."""
        self.slot = ""
        """The download slot through which it goes, where it is from the queue."""
        self.dont_filter = False
        self.meta = _NO_META
        """Of the meta keys that the way out changes, those that it had in the queue."""

    def __repr__(self) -> str:
        origin = "from the queue" if self.is_from_queue else "from elsewhere"
        return f"<Flight of {self.request} {origin}>"


class Admission(Enum):
    """Whether a request on its way may leave for its site."""

    GO = "go"
    PAUSED = "paused"
    """The site is paused, or asked by another request just now."""
    NO_TURN = "no turn"
    """It is not the request's turn at the pace of the site."""


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


_FREE = Pace()
NO_METRONOME = Metronome(_FREE)
"""Of all sites that have no pace: it lets everything go at once, and is told nothing."""


class Quota:
    """How many requests a site still takes, as its good answers say: ``RateLimit``."""

    __slots__ = ("flights", "left", "most", "until")

    def __init__(self) -> None:
        self.left = self.most = 0
        """Of this window as of its least answer, and of any window."""
        self.until = -inf
        """When there are more."""
        self.flights: set[Flight] = set()
        """Those whose answers have not said whether they count."""

    def due(self, now: float) -> float:
        """Return when one more may be sent; no sooner than an answer brings news."""
        if now >= self.until:  # all is there again, and how much that is has been seen
            return now if len(self.flights) < self.most else inf
        return now if len(self.flights) < self.left else self.until

    def answered(self, flight: Flight, left: int, wait: float, now: float) -> None:
        """Note what an answer says is left, and the seconds until there is more."""
        self.flights.discard(flight)
        until = now + wait
        if now < self.until:
            left = min(self.left, left)
            if abs(until - self.until) < 1:  # both in whole seconds, rounded up
                until = min(until, self.until)
        self.most = max(self.most, left + 1)
        self.left, self.until = left, until


class Turns:
    """The turns of one site; one without a pace has none to wait for."""

    __slots__ = (
        "_answered_at",
        "is_on",
        "known_until",
        "metronome",
        "quota",
        "resumes_at",
        "shut_since",
        "turn",
        "wanted_since",
    )

    def __init__(self) -> None:
        self.is_on = False
        """Whether the site has a pace."""
        self.metronome = NO_METRONOME
        self.quota: Quota | None = None
        """What it says is left, if it does."""
        self.known_until = -inf
        """Until when the pace need not be learnt."""
        self.resumes_at = -inf
        """When the site may be asked, as the pace of a former run has left it."""
        self.turn: Flight | None = None
        """The request whose turn it is, or that was sent last."""
        self.wanted_since: float | None = None
        """Since when a request waits for the next turn."""
        self.shut_since: float | None = None
        """Since when a request waits for the site's visit time; None: none does."""
        self._answered_at = -inf

    # Asked.

    @property
    def pace(self) -> Pace:
        """What the site's owner asks for, as far as it is known."""
        return self.metronome.pace

    @property
    def is_free(self) -> bool:
        """Whether nothing holds requests back, now or later."""
        return not self.is_on and self.quota is None

    def due(self, now: float) -> float:
        """Return when the next turn is; ``inf``: when the last one is used."""
        due = now if self.quota is None else self.quota.due(now)
        return due if due > now else self._due_at_pace(now)

    def _due_at_pace(self, now: float) -> float:
        if not self.is_on or self.metronome.is_free_at(now):
            return now
        if self.has_unused:
            return inf
        return self.metronome.due(now)

    def due_after(self, now: float) -> float:
        """Return when the next turn is if an answer ends now; now: there is no pace."""
        return self.metronome.due_after(now) if self.is_on else now

    def has_turn(self, flight: Flight, now: float) -> bool:
        """Return whether a request may be sent now."""
        if self.quota is not None and flight in self.quota.flights:
            return self.turn is flight or self._due_at_pace(now) <= now
        return self.turn is flight or self.due(now) <= now

    def is_needed(self, now: float) -> bool:
        """Return whether the request that goes next takes a turn."""
        return self.is_on and not self.metronome.is_free_at(now)

    @property
    def has_unused(self) -> bool:
        """Whether a request has its turn and has not left yet."""
        return self.turn is not None and not self.turn.is_sent

    def is_idle(self, now: float) -> bool:
        """Return whether the site may be asked at once, and no request is under way."""
        return self.turn is None and self.due(now) <= now

    # Told of requests.

    def give(self, flight: Flight) -> None:
        """Give the turn that is due to a request, if it has not got it."""
        if self.quota is not None:
            self.quota.flights.add(flight)
        if self.is_on and self.turn is not flight:
            self.turn = flight
            flight.is_sent = False

    def awaited(self) -> Iterator[Flight]:
        """Yield the requests whose end others wait for."""
        if self.turn is not None:
            yield self.turn
        if self.quota is not None:
            yield from tuple(self.quota.flights)

    def hear_quota(self, flight: Flight, left: int, wait: float, now: float) -> None:
        """Hear how many requests are left, and the seconds until there are more."""
        self.quota = self.quota or Quota()
        self.quota.answered(flight, left, wait, now)

    def sent(self, now: float) -> None:
        """Note that a request leaves, or that the one sent last still waits to leave."""
        if self.is_on:
            self.metronome.sent(now)

    def ended(self, flight: Flight, now: float) -> bool:
        """Note that a request has its answer, or will get none; return whether it had the turn."""
        is_counted = self.quota is not None and flight in self.quota.flights
        if self.quota is not None and is_counted:
            self.quota.flights.discard(flight)
        if self.is_on:
            return self._ended_at_pace(flight, now) or is_counted
        if self.known_until < now:  # it counts, should there be a pace
            self._answered_at = now
        return is_counted

    def _ended_at_pace(self, flight: Flight, now: float) -> bool:
        if self.turn is flight:
            self.turn = None
            if flight.is_sent:
                self.metronome.answered(now)
            return True
        if flight.is_sent and self.metronome.is_free_at(now):  # one of several under way
            self.metronome.sent(now)
            self.metronome.answered(now)
        return False

    def hold(self, until: float) -> None:
        """Have the next turn no sooner than then; one that was given and not used is taken back.

        Another crawl asks the site at the same pace.
        """
        if not self.is_on:
            self.resumes_at = max(self.resumes_at, until)
            return
        if self.has_unused:
            self.turn = None
        self.metronome.hold(until)

    # Told of those that wait for one.

    def note_wait(self, now: float) -> float | None:
        """Note that a request waits for its turn; return when the visit time begins if it is news.

        News is what has just been found out: that the site is not to be asked at this time.
        """
        if not self.is_on:
            return None
        if self.wanted_since is None:
            self.wanted_since = now
        opens = self.pace.opens(now)
        if opens <= now or self.shut_since is not None:
            return None
        self.shut_since = now
        return opens

    def end_wait(self, now: float) -> float | None:
        """Return for how long a turn was waited for that is taken now; None: it was not."""
        if self.wanted_since is None or self.turn is None:
            return None
        waited, self.wanted_since = now - self.wanted_since, None
        return waited

    def end_shut(self, now: float) -> float | None:
        """Return for how long the site was shut whose visit time has begun; None: it was not."""
        if self.shut_since is None or self.pace.opens(now) > now:
            return None
        shut_for, self.shut_since = now - self.shut_since, None
        return shut_for

    # Told of the pace.

    def keep_to(self, pace: Pace, until: float, now: float) -> bool:
        """Go by this pace; return whether it is another one than just now.

        `until`: when it is to be learnt again.
        """
        self.known_until = until
        if not self.is_on:
            if pace.is_free:
                return False
            self._begin(pace, now)
            return True
        if self.pace == pace:
            return False
        self.metronome.keep_to(pace, now)
        if pace.is_free and self.is_idle(now):
            self.is_on, self.metronome = False, NO_METRONOME
            self.wanted_since = None
        return True

    def keep_to_what_is_left(self, longest: float, now: float) -> bool:
        """Leave a site alone whose pace is not known yet, and was when a former run asked it.

        `longest`: seconds between requests that any site is given.
        """
        if self.is_on or self.resumes_at <= now:
            return False
        self._begin(Pace(longest), now)
        self.metronome.pace = _FREE  # its robots.txt is asked for next, and says what it asks for
        return True

    def _begin(self, pace: Pace, now: float) -> None:
        self.metronome = Metronome(pace, self._answered_at, self.resumes_at)
        self.metronome.keep_to(pace, now)
        self._answered_at = self.resumes_at = -inf
        self.is_on = True
