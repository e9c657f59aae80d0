"""How fast requests are sent to a site that has recovered: slow start, then CUBIC.

A site that answered 503 is not hit again with all we have. It is sent requests one
every ``1 / rate`` seconds, and the rate follows the answers:

- *ramp*: nothing is known of a limit. The rate grows with each good answer, up to some
  times what the site answered lately. If that stops growing, it is not the rate that
  holds the crawl back: the site is as open as before.
- *chance*: refusals come whatever the rate (one bad server of many). As a ramp, from
  nearer to what was borne: the pause after each refusal is all that it costs.
- *limit*: refusals come when a bucket is full (``limit_estimator.py``). The rate stays
  a little below the limit, and rises ever faster as the time of *trust* is over, by the
  cube of the time, as TCP's CUBIC does (RFC 9438).
- *slow limit*: pages come a minute rather than a second. It is asked as often as it
  lets through, and its pauses are as long as two requests take.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from enum import Enum
from functools import cached_property
from itertools import takewhile
from math import inf
from typing import TYPE_CHECKING

from mandelbot.formatting import duration, rate_text

from scrapy_mandelbot.politeness.limit_estimator import RATES, LimitEstimator

if TYPE_CHECKING:
    from scrapy_mandelbot.politeness.limit_estimator import Reading

# What each of these does to which simulated crawl is in
# tests/politeness/test_policies.py.
_RAMP_FROM = 4.0  # requests a second with which a ramp begins, at least
_GROWTH = 1.4  # times the rate, for each good answer of a ramp
# seconds of good answers that say how many come; what came in less says little
_LATELY = 0.3
# times what came lately is asked for, at most: else a ramp runs past a limit
_AHEAD = 2.5
# seconds of a ramp in which the rate stays the same: it holds nothing back
_PLATEAU = 1.0

_IS_LIMIT = 3.0  # of G: what is above is a limit, what is below is chance
_TIGHT = 2.0  # requests that a bucket has held: with fewer, nothing is caught up
_TRUST = 14.0  # seconds for which a limit is taken to be where it was found
BELOW = 0.97  # of its limit, at which a site is requested: the bucket drains
CONCLUSIVE = 2  # runs, at least, whose ends are conclusive: one may be chance
# pages a second, at most: a first pause is most of the time that a page takes
_SLOW = 0.8
_SPANS = 4  # from pause to pause; twice as many once they were wrong
# requests, at most, till it is asked at the rate itself, then faster and faster
_TRUSTED = 20.0

BY_CHANCE = 0.05
"""What is less likely is no chance: that so many probes failed, that a section is
refused.
"""
MOST_BY_CHANCE = 3
"""Failed probes that chance explains, at most: then the site is down, or they were dead
pages.
"""
_OTHERS_FIRST = 5  # requests that a page lets go first which a slow limit refused

_MOST = 2_000  # good answers of a run that are written down
_LATE = 100  # refusals, as many


class Mode(Enum):
    """What is known of a site's refusals."""

    RAMP = "ramp"
    CHANCE = "chance"
    LIMIT = "limit"
    SLOW = "slow limit"


class RateControl:
    """The rate of a site after a pause, and what its refusals say.

    ``now`` is in seconds.

    Args:
        good: when those requests were sent which it answered well lately.
    """

    def __init__(self, good: Iterable[float] = ()) -> None:
        self.mode = Mode.RAMP
        self.rate = _RAMP_FROM
        """Requests a second, now."""
        self.next_at = -inf
        """When the next request may be sent."""
        # The run.
        self._good: deque[float] = deque(good, maxlen=_MOST)
        self._refused: deque[float] = deque(maxlen=_LATE)
        self._came: deque[float] = deque(maxlen=_MOST)  # when good answers came
        self._answers = len(self._good)
        self._resumed_at = self._good[0] if self._good else -inf
        self.ended_at = -inf
        """When the last run ended: with the first refusal of a pause."""
        self._is_over = False
        self._round_trip = 0.0
        # of the rate, in a ramp
        self._peak = 0.0
        self._peak_at = -inf
        # All runs.
        self._all_good = float(self._answers)
        self._pauses = 0.0
        self._told = 0  # runs that the estimator has read since it is new
        self._best = self._borne()  # requests a second that were borne
        self._slow = SlowLimitEstimator()
        self._limit = 0.0
        self._burst = 0.0
        self._creeps_from = -inf
        self._let_through: deque[float] = deque(maxlen=3)

    @cached_property
    def _estimator(self) -> LimitEstimator:
        """Few sites refuse twice: it is made when it has something to read."""
        return LimitEstimator()

    def __repr__(self) -> str:
        return f"<Recovery {self.mode.value} at {self.rate:.1f}/s>"

    # What came.

    def good(self, sent: float, now: float) -> None:
        """Note a good answer, since the last pause, to a request sent at that time."""
        self._good.append(sent)
        self._came.append(now)
        self._answers += 1
        self._slow.good()
        self._round_trip = max(0.0, now - sent)

    def refused(self, sent: float, now: float) -> None:
        """Note a refusal of a request that was sent at that time."""
        self._refused.append(sent)
        if not self._is_over:
            self._is_over = True
            self.ended_at = now
            self._all_good += self._answers
            self._best = max(0.98 * self._best, self._lately(now))
            self._slow.refused(now)

    def disregard(self, sent: Iterable[float]) -> None:
        """Take refusals, by the time they were sent, for no matter of the rate."""
        for one in sent:
            if one in self._refused:
                self._refused.remove(one)

    def explains(self, failed_probes: int) -> bool:
        """Return whether so many failed probes in a row are chance."""
        return failed_probes <= MOST_BY_CHANCE and self.share**failed_probes > BY_CHANCE

    @property
    def share(self) -> float:
        """The share of requests that is refused by chance, as far as it is known."""
        if self.mode is Mode.LIMIT:
            return self._estimator.share_below(self._limit)
        return self._pauses / (self._all_good + self._pauses + 1.0)

    @property
    def is_far_below(self) -> bool:
        """Whether it has a limit that is slow, or far below what it bore."""
        return self.counts and (self.mode is Mode.SLOW or self.rate < 0.5 * self._best)

    @property
    def counts(self) -> bool:
        """Whether the site counts requests: none is repeated to learn something."""
        return self.mode in {Mode.LIMIT, Mode.SLOW}

    @property
    def least_pause(self) -> float:
        """The seconds of its pauses, at least."""
        return self._slow.pause

    @property
    def others_go(self) -> float:
        """The seconds in which a refused request lets others go: five of a slow site."""
        if self.mode is Mode.SLOW:
            return _OTHERS_FIRST / self.rate
        return 0.0

    def as_text(self, waiting: int) -> tuple[str, str]:
        """Return the rate, and how long waiting requests take at it, for people."""
        return rate_text(self.rate), duration(waiting / self.rate)

    def forget_runs(self) -> None:
        """Forget the runs so far; what was concluded from them stays."""
        self._estimator = LimitEstimator()

    # The way back.

    def resume(self, now: float, *, is_conclusive: bool, is_short: bool = True) -> None:
        """Begin again: the site has answered the probe."""
        goods = self._answers
        took = self.ended_at - self._resumed_at
        self._estimator.read(
            self._good,
            self._refused if is_conclusive else (),
            self._answers - len(self._good),
        )
        if is_conclusive and is_short and self._refused:
            self._pauses += 1.0
        self._slow.judge(self.rate)
        self._slow.good()  # the probe
        if self._slow.rate:
            self.mode, self.rate = Mode.SLOW, self._slow.pace(0)
        elif self.mode is Mode.SLOW:
            self._go_by_chance()
        elif is_conclusive and self._refused:
            self._judge(now, goods, took, is_short=is_short)
        elif self.mode is Mode.LIMIT:
            self._creeps_from += now - self.ended_at
        else:
            self.rate = max(_RAMP_FROM, self._lately(self.ended_at))
        self._good.clear()
        self._refused.clear()
        self._came.clear()
        self._came.append(now)
        self._answers = 0
        self._is_over = False
        self._resumed_at = now
        self._peak = self.rate
        self._peak_at = now
        self.next_at = now + 1.0 / self.rate

    def _judge(self, now: float, goods: int, took: float, *, is_short: bool) -> None:
        """Decide what the refusals are a matter of, now that the run is read."""
        reading = self._estimator.reading()
        if self.mode is Mode.LIMIT:
            self._revise(reading, now, goods, took)
            return
        self._told += 1
        if self._told >= CONCLUSIVE and reading.evidence > _IS_LIMIT:
            self.mode = Mode.LIMIT
            self._limit = reading.rate
            self._burst = reading.burst
            self._cruise(now)
        elif self.mode is Mode.CHANCE or (
            is_short and self._pauses > CONCLUSIVE and reading.evidence < _IS_LIMIT
        ):
            self._go_by_chance()
        else:
            self.rate = max(_RAMP_FROM, self._lately(self.ended_at))

    def _go_by_chance(self) -> None:
        self.mode = Mode.CHANCE
        self.rate = max(_RAMP_FROM, self._best)
        self._let_through.clear()

    def _revise(self, reading: Reading, now: float, goods: int, took: float) -> None:
        """Update the limit after another refusal: it holds, or it is elsewhere."""
        if reading.evidence < _IS_LIMIT:
            self._go_by_chance()
            return
        trusted = self.ended_at - self._creeps_from
        if trusted < _TRUST and not self._estimator.explains_last(reading.rate):
            self._creeps_from += now - self.ended_at  # chance, beside the limit
            return
        self._limit = reading.rate
        self._burst = reading.burst
        self._bound(goods, took)
        self._cruise(now)

    def _bound(self, goods: int, took: float) -> None:
        """Stay below what the site let through in long runs, its burst apart."""
        if goods >= 4.0 * self._burst and took > 0.0:
            self._let_through.append((goods - self._burst) / took)
        if self._let_through:
            self._limit = min(self._limit, max(self._let_through))
        self._limit = max(self._limit, RATES[0])

    def _cruise(self, now: float) -> None:
        self.rate = BELOW * self._limit
        self._creeps_from = now

    # The rate.

    def sent(self, now: float) -> None:
        """Note that a request is handed out.

        Little is made up for of what was not sent in time.
        """
        held_up = now - self.next_at
        if held_up > 1.0 / self.rate:
            # nothing is learnt of the limit while nothing is sent
            self._creeps_from += held_up
        self.next_at = max(self.next_at, now - self._caught_up) + 1.0 / self.rate

    def left(self, now: float) -> None:
        """Note that a request leaves; on a busy machine it was handed out earlier."""
        self.next_at = max(self.next_at, now + 1.0 / self.rate - self._caught_up)

    @property
    def _caught_up(self) -> float:
        """The seconds to make up for at most; none where two at once are too many."""
        if self.counts and self._burst < _TIGHT:
            return 0.0
        return 1.0 / self.rate

    def answered(self, now: float) -> bool:
        """Note a good answer; return whether the site is as open as it was before."""
        if self.mode is Mode.LIMIT:
            passed = max(0.0, now - self._creeps_from) / _TRUST
            self.rate = max(
                self.rate, self._limit * (BELOW + (1.0 - BELOW) * passed**3)
            )
            return False
        if self.mode is Mode.SLOW:
            self.rate = self._slow.pace(self._answers)
            return False
        self.rate = max(self.rate, min(self.rate * _GROWTH, _AHEAD * self._lately(now)))
        if self.rate > self._peak:
            self._peak = self.rate
            self._peak_at = now
        return now - self._peak_at > _PLATEAU

    def _borne(self) -> float:
        """Return the rate of answers before the first refusal, of a while at least."""
        took = self._good[-1] - self._good[0] if self._good else 0.0
        return len(self._good) / max(took, _LATELY)

    def _lately(self, now: float) -> float:
        """Return good answers a second, as they came lately."""
        window = max(_LATELY, 1.5 * self._round_trip)
        since = now - window
        return sum(1 for _ in takewhile(since.__lt__, reversed(self._came))) / window


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
