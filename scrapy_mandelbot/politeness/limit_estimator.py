"""Separates a rate limit from chance: do refusals depend on the requests before?

A server that limits its clients keeps a bucket, or something that works like one: each
request adds to it, it drains at a rate, and what does not fit is refused. The server
reveals neither. So there is a ladder of rates here, and for each a bucket that nothing
overflows, filled by what the site answered well, at the times at which it was sent. If
one of these rates is the site's, all that was refused was refused at that bucket's
highest level, and hardly anything was answered well there. If refusals come by chance,
they come at any level of any bucket. The statistic is a G-test (a likelihood ratio) of
refusals above and below the threshold of each bucket.

Nothing is computed while answers are good. A run, which is what happens from one pause
to the next, is written down, and read when it is over; of the runs read so far little
is kept, and all of it is judged anew.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterable, Sequence
from math import log
from struct import Struct, unpack_from
from typing import NamedTuple

RATES = tuple(0.1 * 1.1**step for step in range(100))
"""Requests a second, to 1,250."""
# What each of these does to which simulated crawl is in
# tests/politeness/test_policies.py.
_RUNS = 8  # that are judged: a limit may move
# refusals of a run that are judged: one that is over limits refuses all that follow
_REFUSED = 4
_LIKELY = 1.5  # of G: a rate that explains that much less is not the site's
_LONG = 2.0  # seconds for which a bucket holds its own rate; larger ones are seldom,
_SELDOM = 3.0  # by this power,
_FILLED = 1.05  # a level, at least, of a bucket that holds anything
_LONGEST = 12.0  # a larger bucket is no usable limit: a pause is


class Reading(NamedTuple):
    """What the ladder says of a site.

    The evidence for a limit is the G of the rate that explains most; the rate, in
    requests a second, the best guess at the limit; the burst what the bucket of about
    this rate has held; the fastest the highest rate that explains about as much.
    """

    evidence: float
    rate: float
    burst: float
    fastest: float


# the kinds of a bucket's numbers; a level for each refusal
_PEAK, _NEAR, _LEVELS = range(3)
# a number in two bytes, of which it needs no more than three digits
_HALF = Struct("e")
_TOP = 65_504.0  # the largest


class _BucketRun(NamedTuple):
    """What is kept of a run.

    `numbers`, for each rate from `first` on that may be the limit: the highest level of
    the bucket; how many good answers came at about that level; for each refusal, the
    level at which it came. The buckets of slower rates are no usable limit, those of
    faster rates never filled.
    """

    goods: int
    refused: int
    first: int
    numbers: bytes

    @property
    def end(self) -> int:
        """The number of the first rate that is too fast to be the limit."""
        return self.first + len(self.numbers) // ((_LEVELS + self.refused) * _HALF.size)

    def bucket(self, number: int) -> tuple[float, ...]:
        """Return the numbers of a rate's bucket, by kind."""
        kinds = _LEVELS + self.refused
        start = (number - self.first) * kinds * _HALF.size
        if 0 <= start < len(self.numbers):
            return unpack_from(f"{kinds}e", self.numbers, start)
        peak = 2.0 * _LONGEST * RATES[number] if start < 0 else 1.0
        return (peak, *[0.0] * (kinds - 1))


class LimitEstimator:
    """What the last runs of a site say of its limit, if it has one."""

    __slots__ = ("_at", "_levels", "_runs")

    def __init__(self) -> None:
        self._runs: deque[_BucketRun] = deque(maxlen=_RUNS)
        self._levels = array("d", bytes(8 * len(RATES)))
        self._at = 0.0

    def copy(self) -> LimitEstimator:
        """Return one that has read the same runs."""
        other = LimitEstimator()
        other._runs.extend(self._runs)
        other._levels[:] = self._levels
        other._at = self._at
        return other

    def read(
        self, good: Iterable[float], refused: Iterable[float], more: int = 0
    ) -> None:
        """Read a run: when requests were sent that were answered well, and refused.

        `more`: how many good answers there were before.
        """
        run = sorted(
            [*((sent, False) for sent in good), *((sent, True) for sent in refused)]
        )
        count = sum(was_refused for _, was_refused in run)
        levels = min(count, _REFUSED)
        steps: list[tuple[float, bool]] = []
        for sent, was_refused in run:
            steps.append((sent - self._at, was_refused))
            self._at = sent
        buckets: list[tuple[float, ...]] = []
        for number, rate in enumerate(RATES):
            level = self._levels[number]
            filled: list[float] = []
            refused_at: list[float] = []
            for seconds, was_refused in steps:
                drained = seconds * rate
                if drained < level:
                    level -= drained
                else:
                    level = 0.0
                if was_refused:
                    refused_at.append(level + 1.0)
                else:
                    level += 1.0
                    filled.append(level)
            if max((*filled, *refused_at), default=0.0) == 1.0:
                # each came to an empty bucket, as it does at all faster rates
                for faster in range(number, len(RATES)):
                    self._levels[faster] = level
                break
            self._levels[number] = level
            peak = max(filled, default=1.0)
            least = _threshold(peak)
            near = sum(least <= one for one in filled)
            buckets.append((peak, near, *refused_at[:levels]))
        sizes = zip(RATES, buckets, strict=False)
        first = sum(bucket[_PEAK] > _LONGEST * rate for rate, bucket in sizes)
        while (
            len(buckets) > first
            and max((buckets[-1][_PEAK], *buckets[-1][_LEVELS:])) < _FILLED
        ):
            buckets.pop()
        usable = buckets[first:]
        numbers = b"".join(
            _HALF.pack(min(one, _TOP)) for bucket in usable for one in bucket
        )
        self._runs.append(_BucketRun(len(run) - count + more, levels, first, numbers))

    def reading(self) -> Reading:
        """Return what the runs say together."""
        values = self.values()
        evidence = max(values)
        likely = [
            number for number, value in enumerate(values) if value > evidence - _LIKELY
        ]
        fastest = RATES[likely[-1]]
        rate = (RATES[likely[0]] * fastest) ** 0.5
        burst = _peak(self._buckets(_near(rate)))
        return Reading(evidence, rate, burst, fastest)

    def explains_last(self, rate: float) -> bool:
        """Return whether the last run ended where this rate's bucket was full."""
        buckets = self._buckets(_near(rate))
        last = self._runs[-1]
        return last.refused > 0 and buckets[-1][_LEVELS] >= _threshold(_peak(buckets))

    def share_below(self, rate: float) -> float:
        """Return the share that is refused where this rate's bucket is not full."""
        good_above, above, good, refused = self._counts(self._buckets(_near(rate)))
        below = refused - above
        good_below = good - good_above
        return (below + 0.5) / (good_below + below + 1.0)

    def _buckets(self, number: int) -> list[tuple[float, ...]]:
        """Return the numbers of a rate's bucket in each run."""
        return [run.bucket(number) for run in self._runs]

    def _counts(
        self, buckets: Sequence[tuple[float, ...]]
    ) -> tuple[float, float, int, int]:
        """Return good answers and refusals above the threshold, and all of them."""
        least = _threshold(_peak(buckets))
        good_above = 0.0
        above = 0.0
        good = 0
        refused = 0
        for run, bucket in zip(self._runs, buckets, strict=True):
            good += run.goods
            refused += run.refused
            if bucket[_PEAK] >= least:
                good_above += bucket[_NEAR]
            for level in bucket[_LEVELS:]:
                if level >= least:
                    above += 1.0
        return good_above, above, good, refused

    def values(self) -> list[float]:
        """Return the G of each rate."""
        values = [0.0] * len(RATES)
        # slower rates are too slow for one of the runs, faster ones too fast for all
        first = max((run.first for run in self._runs), default=0)
        end = max((run.end for run in self._runs), default=0)
        for number in range(first, end):
            values[number] = self.value(number)
        return values

    def value(self, number: int) -> float:
        """Return how much better than chance this rate's bucket explains refusals."""
        buckets = self._buckets(number)
        seconds = _peak(buckets) / RATES[number]
        if seconds > _LONGEST:
            return 0.0
        good_above, above, good, refused = self._counts(buckets)
        if not above:
            return 0.0
        g = (
            _likelihood(good_above, above)
            + _likelihood(good - good_above, refused - above)
            - _likelihood(good, refused)
        )
        if above * (good + refused) < refused * (good_above + above):
            g = -g  # refusals are not commoner where it is full
        if seconds > _LONG:
            return g - _SELDOM * log(seconds / _LONG)
        return g


def _peak(buckets: Sequence[tuple[float, ...]]) -> float:
    return max((bucket[_PEAK] for bucket in buckets), default=1.0)


def _threshold(peak: float) -> float:
    return max(0.97 * peak - 0.7, _FILLED)


def _near(rate: float) -> int:
    number = round(log(max(rate, RATES[0]) / RATES[0]) / log(1.1))
    return min(number, len(RATES) - 1)


def _likelihood(good: float, refused: float) -> float:
    total = good + refused + 1.0
    return refused * log((refused + 0.5) / total) + good * log((good + 0.5) / total)
