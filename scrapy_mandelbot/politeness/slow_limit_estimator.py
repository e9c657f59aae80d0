"""Finds a slow limit: pages come a minute rather than a second."""

from __future__ import annotations

from collections import deque
from math import inf

# What each of these does to which simulated crawl is in
# tests/politeness/test_policies.py.
BELOW = 0.97  # of its limit, at which a site is requested: the bucket drains
CONCLUSIVE = 2  # runs, at least, whose ends are conclusive: one may be chance
# pages a second, at most: a first pause is most of the time that a page takes
_SLOW = 0.8
_SPANS = 4  # from pause to pause; twice as many once they were wrong
# requests, at most, till it is asked at the rate itself, then faster and faster
_TRUSTED = 20.0


class SlowLimitEstimator:
    """The slow limit of a site, if it has one. ``now`` is in seconds.

    It hides from the ladder: its bucket drains in the pauses. But whatever limits its
    clients has let through, from one refusal to the next, what came free in between,
    however fast it was asked: it was full at both. So pages from pause to pause, by
    seconds from pause to pause, pauses included, are its rate. Where that is many pages
    a second it says little: a bucket holds no more than its size, however long the
    pause is.
    """

    __slots__ = ("_enough", "_goods", "_refused_at", "_runs", "_spans", "rate")

    def __init__(self) -> None:
        self.rate = 0.0
        """Pages a second that the site lets through; 0: it has no slow limit."""
        self._spans: deque[tuple[float, int]] = deque(maxlen=2 * _SPANS)
        self._enough = _SPANS
        self._runs: deque[bool] = deque(maxlen=2 * CONCLUSIVE)
        self._goods = 0
        self._refused_at = -inf

    def good(self) -> None:
        """Note a good answer, of a probe as well."""
        self._goods += 1

    def refused(self, now: float) -> None:
        """Note the refusal that begins a pause."""
        if self._refused_at > -inf:
            self._spans.append((max(now - self._refused_at, 1e-9), self._goods))
        self._refused_at = now
        self._goods = 0

    def judge(self, rate: float) -> None:
        """Decide again whether there is a slow limit: a pause is over.

        `rate`: requests a second that were sent when the site refused.
        """
        if self.rate:
            self._runs.append(rate <= self.rate)
            if sum(self._runs) >= CONCLUSIVE:  # refused at no more than the rate
                self.rate = 0.0
                self._enough = 2 * _SPANS
                self._spans.clear()
                self._runs.clear()
                return
        if len(self._spans) >= self._enough:
            best = self._best()
            if self.rate or best < _SLOW:
                self.rate = best

    def _best(self) -> float:
        """Return the best rate of adjacent spans, one page of them being chance.

        Not of the last three or four: without a burst, what a long pause lets through
        is lost.
        """
        spans = list(self._spans)[-self._enough :]
        best = 0.0
        for begin in range(len(spans)):
            seconds = 0.0
            goods = 0
            for end, (one, more) in enumerate(spans[begin:], begin + 1):
                seconds = seconds + one
                goods = goods + more
                by_chance = end < len(spans) or end - begin <= CONCLUSIVE
                best = max(best, (goods - by_chance) / seconds)
        return best

    @property
    def pause(self) -> float:
        """The seconds in which two requests come free, so that the probe is well."""
        if self.rate:
            return 2.0 / self.rate
        return 0.0

    def pace(self, goods: int) -> float:
        """Return requests a second, after so many good answers of a run."""
        # as many as the last span had
        trust = min(_TRUSTED, max(1.0, self._spans[-1][1]))
        return self.rate * (BELOW + (1.0 - BELOW) * (goods / trust) ** 3)
