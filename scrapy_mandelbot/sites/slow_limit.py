"""A limit so slow that a pause is long beside it: so many pages a minute, or an hour.

The ladder goes by the level of a bucket, and pauses hide that of a slow one. But whatever limits
its clients has let through, from one refusal to the next, what came free in between, however fast
it was asked: it was full at both. So pages from pause to pause, by seconds from pause to pause,
pauses included, are its rate. Where that is many pages a second it says little: a bucket holds no
more than its size, however long the pause is.
"""

from __future__ import annotations

from collections import deque
from math import inf

_SLOW = 0.8  # pages a second, at most: a first pause is most of the time that a page takes
_SPANS = 4  # from pause to pause, that tell; twice as many once they were wrong
_BELOW = 0.97  # of the rate: the bucket drains
_TRUST = 20.0  # requests after which it is asked at the rate itself, and then faster and faster
_DISPROVED = 2  # runs, of
_RUNS = 4  # runs, that ended at no more than the rate: it is not the rate that is refused


class SlowLimit:
    """The slow limit of a site, if it has one. ``now`` is in seconds."""

    __slots__ = ("_enough", "_goods", "_refused_at", "_runs", "_spans", "rate")

    def __init__(self) -> None:
        self.rate = 0.0
        """Pages a second that the site lets through; 0: it has no slow limit."""
        self._spans: deque[tuple[float, int]] = deque(maxlen=2 * _SPANS)
        self._enough = _SPANS
        self._runs: deque[bool] = deque(maxlen=_RUNS)
        self._goods = 0
        self._refused_at = -inf

    def good(self) -> None:
        """Note a good answer, of a probe as well."""
        self._goods += 1

    def refused(self, now: float) -> None:
        """Note the refusal that begins a pause."""
        if self._refused_at > -inf:
            self._spans.append((max(now - self._refused_at, 1e-9), self._goods))
        self._refused_at, self._goods = now, 0

    def judge(self, asked: float) -> None:
        """Say anew whether there is a slow limit: a pause is over.

        Args:
            asked: requests a second, as the site was asked when it refused.
        """
        if self.rate:
            self._runs.append(asked <= self.rate)
            if sum(self._runs) >= _DISPROVED:
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
        """Return the best rate of spans next to each other, one page of them being chance."""
        spans = list(self._spans)[-self._enough :]
        best = sum(goods for _, goods in spans) / sum(seconds for seconds, _ in spans)
        for begin in range(len(spans)):
            seconds, goods = 0.0, 0
            for one, more in spans[begin:]:
                seconds, goods = seconds + one, goods + more
                best = max(best, (goods - 1) / seconds)
        return best

    @property
    def pause(self) -> float:
        """The seconds in which two requests come free, so that the probe is answered."""
        return 2.0 / self.rate if self.rate else 0.0

    def pace(self, goods: int) -> float:
        """Return requests a second, after so many good answers of a run."""
        return self.rate * (_BELOW + (1.0 - _BELOW) * (goods / _TRUST) ** 3)
