"""How fast a site is asked that has said no and is well again.

A site that answered 503 is not hit again with all we have. It is sent requests at a pace, no faster
than one every ``1 / rate`` seconds, and what was not sent in time is not caught up. The rate
follows the answers:

- *ramp*: no limit is known. The rate grows with each good answer, up to twice what the site
  answered lately. If that stops growing, it is not the pace that holds the crawl back: the site is
  as open as before.
- *cruise*: the site has said no again, so it has a limit, and what it let through is a lower bound
  of that. The rate starts a little below the bound, is back at it when the time of *trust* is over,
  and then rises ever faster, by the cube of the time, as TCP's CUBIC does (RFC 9438). A limit that
  shows itself only then is where it was thought to be, and is trusted for twice as long. A refusal
  before is a surprise and ends most of the trust, so that a limit that has moved is found soon.

The bound. Over any stretch of time a server lets through its limit and, at most, a burst beyond:
the limit is at least ``(answers - burst) / seconds``. The burst is not told; the first guess is
what the site let through in the second before it first said no. But whenever it says no, the burst
is used up. So from one refusal to the next it lets through no more than its limit, which is at
least ``answers / seconds``, the pause counted in, whatever the burst. This bound is *proven*. It is
the limit itself where the burst has used all the room that the pause has made for it.

A refusal at a rate that is proven is no matter of the rate: the server was down, or its limit has
changed. All that was known is void, and a ramp begins.
"""

from __future__ import annotations

from collections import deque
from itertools import takewhile
from math import exp, inf

_SLOWEST = 0.1  # requests a second
_RAMP_FROM = 4.0  # requests a second, at least
_GROWTH = 1.4  # of the rate, for each good answer of a ramp
_LATELY = 0.3  # seconds; what came in less says little of a rate
_PLATEAU = 1.0  # seconds of a ramp in which the rate stays the same: it holds nothing back
_NOTICEABLY = 1.1  # times
_ABOUT = 1.25  # times; so much larger is about as large

_BELOW = 0.95  # of the bound, where a cruise starts
_AT_LEAST = 0.55  # of the rate, after a refusal: the bound may rest on little evidence
_FIRST_TRUST = 50  # answers, at the rate of the cruise; but
_FIRST_TRUST_BETWEEN = (0.5, 10.0)  # seconds
_TRUST_BETWEEN = (1.0, 60.0)  # seconds, later
_LEAST_TRUST = 6  # answers
_SURPRISE = 0.7  # of the time of trust: a refusal before is one
_AFTER_SURPRISE = 0.25  # of the time of trust is left
_PROVEN = 0.9  # of what is proven; answers come at odd times

_FIRST_PAUSE = 1.0  # seconds; the first is not told to us, and seldom shorter
_LARGEST_BURST = 40.0  # answers, as a first guess
_MEMORY = 2_000  # good answers


class Goodput:
    """How many good answers a second a site gave lately: an average that forgets in a second."""

    __slots__ = ("_at", "_weight")

    def __init__(self) -> None:
        self._at = -inf
        self._weight = 0.0

    def answered(self, now: float) -> None:
        """Count a good answer."""
        self._weight = self._weight * exp(min(0.0, self._at - now)) + 1.0 if self._weight else 1.0
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
        self._good: deque[float] = deque(maxlen=_MEMORY)  # when answers came, since the pause
        self._answers = 0  # as many, the probe's too
        self._refused_at = -inf
        self._pause = _FIRST_PAUSE
        self._burst = min(max(rate, 1.0), _LARGEST_BURST)
        self._proven = 0.0  # requests a second
        self._start = self.rate
        self._started_at = -inf
        self._trust = 0.0  # seconds
        self._peak, self._peak_at = 0.0, -inf  # of the rate, in a ramp

    def __repr__(self) -> str:
        phase = "cruise" if self._knows_limit else "ramp"
        return f"<Recovery {phase} at {self.rate:.1f}/s>"

    def resume(self, now: float) -> None:
        """Begin again: the site has answered the probe."""
        if self._refused_at == -inf:
            self._refused_at = now - _FIRST_PAUSE
        self._pause = max(_FIRST_PAUSE, now - self._refused_at)
        self._good.clear()
        self._good.append(now)
        self._answers = 1
        self._start, self._started_at = self.rate, now
        self._peak, self._peak_at = self.rate, now
        self.next_at = now + 1.0 / self.rate

    def sent(self, now: float) -> None:
        """Note that a request was sent; what was not sent in time is not caught up."""
        # While the crawl has nothing to send, nothing is learnt of the limit.
        self._started_at += max(0.0, now - self.next_at)
        self.next_at = max(self.next_at, now) + 1.0 / self.rate

    def answered(self, now: float) -> bool:
        """Note a good answer; return whether the site is as open as it was before."""
        self._good.append(now)
        self._answers += 1
        if self._knows_limit:
            trust = max(self._trust, _LEAST_TRUST / self._start)
            passed = max(0.0, now - self._started_at) / trust
            self.rate = max(self.rate, self._start * (1.0 + (1.0 / _BELOW - 1.0) * passed**3))
            return False
        since = now - _LATELY
        lately = sum(1 for _ in takewhile(since.__lt__, reversed(self._good))) / _LATELY
        self.rate = max(self.rate, min(self.rate * _GROWTH, 2.0 * lately))
        if self.rate > _NOTICEABLY * self._peak:
            self._peak, self._peak_at = self.rate, now
        return now - self._peak_at > _PLATEAU

    def refused(self, now: float) -> None:
        """Note that the site has said no again."""
        proven = self._answers / max(now - self._refused_at, _LATELY)
        self._refused_at = now
        if not self._knows_limit:
            self._find_limit(now, proven)
        elif self.rate <= _PROVEN * self._proven:
            self._knows_limit = False
            self._proven, self._burst = 0.0, 1.0
            self.rate = max(self.rate, _RAMP_FROM)
        else:
            self._find_limit_again(now, proven)

    def _find_limit(self, now: float, proven: float) -> None:
        """End a ramp. The first pause was not told to us, so what seems proven is not quite so."""
        self._knows_limit = True
        is_whole = proven * self._pause <= _ABOUT * self._burst
        self._cruise_at(self._bound(now, proven), at_least=0.0 if is_whole else _AT_LEAST)
        shortest, longest = _FIRST_TRUST_BETWEEN
        self._trust = min(max(shortest, _FIRST_TRUST / self.rate), longest)

    def _find_limit_again(self, now: float, proven: float) -> None:
        """End a cruise: the limit is where it was thought to be, or lower."""
        shortest, longest = _TRUST_BETWEEN
        self._proven = max(self._proven, proven)
        if now - self._started_at >= _SURPRISE * self._trust:
            self._trust = min(2.0 * self._trust, longest)
            self._cruise_at(self._bound(now, proven), at_least=_AT_LEAST)
        else:
            # The bound was too high, so the burst is larger: perhaps all the room of the pause.
            self._burst = max(self._burst, proven * self._pause)
            self._trust = max(shortest, _AFTER_SURPRISE * self._trust)
            self._cruise_at(proven, at_least=_AT_LEAST)

    def _cruise_at(self, bound: float, at_least: float) -> None:
        self.rate = max(_BELOW * bound, at_least * self.rate, _SLOWEST)

    def _bound(self, now: float, proven: float) -> float:
        """Return the best lower bound of the limit."""
        bound = proven
        for count, at in enumerate(reversed(self._good), start=1):
            if now - at >= _LATELY:
                bound = max(bound, (count - self._burst) / (now - at))
        return bound
