"""How fast a site is asked that has said no and is well again.

A site that answered 503 is not hit again with all we have. It is sent requests at a pace, no faster
than one every ``1 / rate`` seconds, and the rate follows its answers:

- *ramp*: nothing is known but what the site bore before. The rate grows with each good answer, up
  to twice what the site answered lately. If that stops growing, it is not the pace that holds the
  crawl back: the site is as open as before.
- *cruise*: the site has said no again, so there is a limit, and what it let through before is a
  lower bound of it. The rate stays a little below; later it creeps upward, slowly first, as
  limits change.

A refusal in cruise lowers the rate to the larger of that bound and 0.7 of what it was. So a server
with a rate limit is crawled just under its limit instead of in bursts of refusals.
"""

from __future__ import annotations

from collections import deque
from math import exp, inf

_SLOWEST = 0.1  # requests a second
_RAMP_FROM = 4.0  # requests a second, at least
_CRUISE_AT = 0.95  # of the bound
_AFTER_REFUSAL = 0.7  # of the rate
_GROWTH = 1.5  # of the rate, for each good answer of a ramp
_LATELY = 0.3  # seconds over which the answers of a ramp are counted
_PLATEAU = 2.0  # seconds of a ramp in which the rate stays the same: it holds nothing back
_NOTICEABLY = 1.1  # times
_STEADY = 3.0  # seconds of a cruise before it creeps upward
_CREEP = 0.01  # of the rate, by the square of the seconds after that
_SHORTEST_EVIDENCE = 0.5  # seconds
_BURST = 5  # answers that a server may let through beyond its limit, at a time
_BURST_SHARE = 0.2  # but no more than this share of what it let through
_MEMORY = 2_000  # good answers


class Goodput:
    """How many good answers a second a site gave lately: an average that forgets in a second."""

    __slots__ = ("_at", "_weight")

    def __init__(self) -> None:
        self._at = -inf
        self._weight = 0.0

    def answered(self, now: float) -> None:
        """Count a good answer."""
        self._weight = self.rate(now) + 1.0
        self._at = now

    def rate(self, now: float) -> float:
        """Return good answers a second, as of ``now``."""
        return self._weight * exp(min(0.0, self._at - now)) if self._weight else 0.0


class Recovery:
    """The pace of a site after a pause. ``now`` is in seconds.

    Args:
        rate: requests a second that the site bore before it said no.
    """

    def __init__(self, rate: float) -> None:
        self.rate = max(rate, _RAMP_FROM)
        """Requests a second, now."""
        self.next_at = -inf
        """When the next request may be sent."""
        self._knows_limit = False
        self._began = 0.0
        self._cruise_rate = 0.0
        self._good: deque[float] = deque(maxlen=_MEMORY)
        self._peak = 0.0
        self._peak_at = -inf

    def __repr__(self) -> str:
        phase = "cruise" if self._knows_limit else "ramp"
        return f"<Recovery {phase} at {self.rate:.1f}/s>"

    def resume(self, now: float) -> None:
        """Begin again: the site has answered the probe."""
        self._began = self._peak_at = now
        self._peak = self.rate
        self._good.clear()
        self._cruise_rate = self.rate
        self.next_at = now + 1.0 / self.rate  # the probe counts

    def sent(self, now: float) -> None:
        """Note that a request was sent; what was not sent in time is not caught up."""
        self.next_at = max(self.next_at, now) + 1.0 / self.rate

    def answered(self, now: float) -> bool:
        """Note a good answer; return whether the site is as open as it was before."""
        self._good.append(now)
        if self._knows_limit:
            steady = now - self._began - _STEADY
            if steady > 0:
                self.rate = self._cruise_rate * (1.0 + _CREEP * steady * steady)
            return False
        lately = sum(1 for at in reversed(self._good) if at > now - _LATELY) / _LATELY
        self.rate = max(self.rate, min(self.rate * _GROWTH, 2.0 * lately))
        if self.rate > _NOTICEABLY * self._peak:
            self._peak, self._peak_at = self.rate, now
        return now - self._peak_at > _PLATEAU

    def refused(self, now: float) -> None:
        """Note that the site has said no again: it has a limit."""
        bound = self._bound(now)
        if self._knows_limit:
            self.rate = max(bound, _AFTER_REFUSAL * self.rate, _SLOWEST)
        else:
            # On little evidence no less than half of what seemed to do.
            self.rate = max(_CRUISE_AT * bound, self.rate / 2, _SLOWEST)
        self._knows_limit = True

    def _bound(self, now: float) -> float:
        """Return the best lower bound of the limit, from what the site has let through.

        Over any stretch of time a server lets through its limit and, at most, a burst beyond.
        """
        bound = 0.0
        for count, at in enumerate(reversed(self._good), start=1):
            seconds = now - at
            if seconds >= _SHORTEST_EVIDENCE:
                burst = min(_BURST, _BURST_SHARE * count)
                bound = max(bound, (count - burst) / seconds)
        return bound
