"""When the next request to a site may be sent, by its crawl delay and its quota.

At a crawl delay one request is in flight, and the time of the next one is known.
"""

from __future__ import annotations

from math import inf, isfinite
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.politeness.flight import Purpose
from scrapy_mandelbot.politeness.pace import Pace

if TYPE_CHECKING:
    from scrapy_mandelbot.politeness.flight import Flight

_NEVER = -inf  # one number for all sites
_FREE = Pace()
# seconds; by then a request without an answer has reached its server
_LONGEST_WAY = 10.0


class Quota:
    """How many requests a site still takes, as its good answers say: ``RateLimit``."""

    __slots__ = ("flights", "left", "most", "until")

    def __init__(self) -> None:
        self.left = 0
        self.most = 0
        """Of this window as of its least answer, and of any window."""
        self.until = -inf
        """When there are more."""
        self.flights: set[Flight[Any]] = set()
        """Those whose answers have not said whether they count."""

    def due(self, now: float) -> float:
        """Return when one more may be sent; no sooner than an answer brings news."""
        if now >= self.until:  # all is there again, and how much that is has been seen
            if len(self.flights) < self.most:
                return now
            return inf
        if len(self.flights) < self.left:
            return now
        return self.until

    def answered(self, flight: Flight[Any], left: int, wait: float, now: float) -> None:
        """Note what an answer says is left, and the seconds until there is more."""
        self.flights.discard(flight)
        until = now + wait
        if now < self.until:
            left = min(self.left, left)
            if abs(until - self.until) < 1:  # both in whole seconds, rounded up
                until = min(until, self.until)
        self.most = max(self.most, left + 1)
        self.left = left
        self.until = until


class Pacer:
    """The turns of one site; without a pace, no request waits for one."""

    # Class attributes hold what only a site with a pace or a quota changes.
    is_on = False
    """Whether the site has a pace."""
    pace = _FREE
    """What the site's owner asks for, as far as it is known."""
    quota: Quota | None = None
    """What it says is left, if it does."""
    known_until = _NEVER
    """Until when the pace need not be learnt."""
    resumes_at = _NEVER
    """No turn is before, as the previous run or another crawl has it."""
    turn: Flight[Any] | None = None
    """The request whose turn it is, or that was sent last."""
    wanted_since: float | None = None
    """Since when a request waits for the next turn."""
    shut_since: float | None = None
    """Since when a request waits for the site's visit time; None: none does."""
    _since = _NEVER
    _sent_at = _NEVER
    _fetch_seconds = 0.0

    def __repr__(self) -> str:
        return f"<Pacer {self.pace}>"

    # State.

    @property
    def is_free(self) -> bool:
        """Whether nothing holds requests back, now or later."""
        return not self.is_on and self.quota is None

    def due(self, now: float) -> float:
        """Return when the next turn is; ``inf``: when the last one is used."""
        due = now if self.quota is None else self.quota.due(now)
        if due > now:
            return due
        return self._due_at_pace(now)

    def _due_at_pace(self, now: float) -> float:
        if not self.is_on or not self.is_needed(now):
            return now
        if self.has_unused:
            return inf
        return self.pace.due(
            max(now, self.resumes_at), self._since, self._fetch_seconds
        )

    def due_after(self, now: float) -> float:
        """Return when the next turn is if an answer ends now; now: there is no pace."""
        if self.is_on:
            return self.pace.due(now, now, self._fetch_seconds)
        return now

    def has_turn(self, flight: Flight[Any], now: float) -> bool:
        """Return whether a request may be sent now."""
        if self.quota is not None and flight in self.quota.flights:
            return self.turn is flight or self._due_at_pace(now) <= now
        return self.turn is flight or self.due(now) <= now

    def is_needed(self, now: float) -> bool:
        """Return whether the request that goes next takes a turn."""
        return self.is_on and (now < self.resumes_at or not self.pace.is_free_at(now))

    @property
    def has_unused(self) -> bool:
        """Whether a request has its turn and has not left yet."""
        return self.turn is not None and not self.turn.is_sent

    def is_idle(self, now: float) -> bool:
        """Return whether a request may go at once, and none is in flight."""
        return self.turn is None and self.due(now) <= now

    # Requests.

    def let_pass(self, flight: Flight[Any]) -> None:
        """Give the turn that is due to a request, if it has not got it."""
        quota = self.quota
        if quota is not None and flight not in quota.flights:
            quota.flights.add(flight)
            flight.reserve(Purpose.QUOTA, self._quota_released)
        if self.is_on and self.turn is not flight:
            self.turn = flight
            flight.is_sent = False
            flight.reserve(Purpose.TURN, self._turn_released)

    def note_quota(
        self, flight: Flight[Any], left: int, wait: float, now: float
    ) -> None:
        """Note how many requests are left, and the seconds until there are more."""
        self.quota = self.quota or Quota()
        self.quota.answered(flight, left, wait, now)

    def sent(self, now: float) -> None:
        """Note that a request leaves, or that the last one still waits to leave."""
        if self.is_on:
            self._sent_at = now
            self._since = max(self._since, now + _LONGEST_WAY)

    def ended(self, flight: Flight[Any], now: float) -> None:
        """Note that a request has its answer or gets none; it may have had no turn."""
        if not self.is_on:
            self._since = now  # it counts, should there be a pace
        elif self.turn is not flight and flight.is_sent and not self.is_needed(now):
            self.sent(now)  # one of several under way
            self._answered(now)

    def _answered(self, now: float) -> None:
        """Note that the request sent last has its answer, or will not get one."""
        if isfinite(self._sent_at):
            self._fetch_seconds = max(0.0, now - self._sent_at)
            self._since = max(self._sent_at, now)
            self._sent_at = _NEVER

    def _turn_released(self, flight: Flight[Any], now: float) -> bool:
        if self.turn is not flight:  # it was taken back, or given to another since
            return False
        self.turn = None
        if flight.is_sent:
            self._answered(now)
        return True

    def _quota_released(self, flight: Flight[Any], now: float) -> bool:
        quota = self.quota
        if quota is None:
            return False
        is_news = flight in quota.flights
        quota.flights.discard(flight)
        if now >= quota.until:  # its window is over, and no answer has named another
            self.quota = None
        return is_news or self.quota is None

    def postpone(self, until: float) -> None:
        """Postpone the next turn, as another crawl takes turns at the same site.

        A turn that was given and not used is taken back.
        """
        if self.is_on and self.has_unused:
            self.turn = None
        self.resumes_at = max(self.resumes_at, until)

    # Waiting requests.

    def note_wait(self, now: float) -> float | None:
        """Note that a request waits for its turn.

        Returns when the visit time begins, if that is news.

        News is what has just been found out: that the site is not to be asked at this
        time.
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
        """Return for how long a turn was waited for that is taken now.

        None: it was not.
        """
        if self.wanted_since is None or self.turn is None:
            return None
        waited = now - self.wanted_since
        self.wanted_since = None
        return waited

    def end_shut(self, now: float) -> float | None:
        """Return for how long the site was shut whose visit time has begun.

        None: it was not.
        """
        if self.shut_since is None or self.pace.opens(now) > now:
            return None
        shut_for = now - self.shut_since
        self.shut_since = None
        return shut_for

    # The pace.

    def follow(self, pace: Pace, until: float, now: float) -> bool:
        """Follow this pace; return whether it differs from the one before.

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
        self._begin(pace, now)
        if pace.is_free and self.is_idle(now):
            self.is_on = False
            self.wanted_since = None
            self._since = _NEVER
            self._sent_at = _NEVER
            self.resumes_at = _NEVER
            self._fetch_seconds = 0.0
        return True

    def restore(self, longest: float, now: float) -> bool:
        """Wait for the turn that the previous run left while the pace is unknown.

        `longest`: seconds between requests that any site is given.
        """
        if self.is_on or self.resumes_at <= now:
            return False
        self._begin(Pace(longest), now)
        self.pace = _FREE  # its robots.txt is asked for next, and says what it asks for
        return True

    def _begin(self, pace: Pace, now: float) -> None:
        """Follow a pace. It bounds the wait that the previous run left.

        The delay may have been another one then, and the clock may have been set since.
        """
        self.pace = pace
        self.is_on = True
        self.resumes_at = min(self.resumes_at, pace.due(now, now, inf))
