"""How fast a site is asked that has said no and is well again.

A site that answered 503 is not hit again with all we have. It is sent requests one every
``1 / rate`` seconds, and the rate follows the answers:

- *ramp*: nothing is known of a limit. The rate grows with each good answer, up to some times what
  the site answered lately. If that stops growing, it is not the rate that holds the crawl back: the
  site is as open as before.
- *chance*: refusals come whatever the rate (one bad server of many). As a ramp, from nearer to what
  was borne: the pause after each refusal is all that it costs.
- *limit*: refusals come when a bucket is full (``ladder.py``). The rate stays a little below the
  limit, and rises ever faster as the time of *trust* is over, by the cube of the time, as TCP's
  CUBIC does (RFC 9438). A limit that shows itself only then is where it was thought to be, and is
  trusted for longer.
- *slow limit*: pages come a minute rather than a second. It is asked as often as it lets through,
  and its pauses are as long as two requests take.
"""

from __future__ import annotations

from collections import deque
from enum import Enum
from itertools import takewhile
from math import exp, inf
from typing import TYPE_CHECKING

from scrapy_mandelbot.sites.ladder import Ladder, SlowLimit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy_mandelbot.sites.ladder import Reading

_SLOWEST = 0.1  # requests a second
_RAMP_FROM = 4.0  # requests a second, at least
_GROWTH = 1.4  # of the rate, for each good answer of a ramp
_CHANCE_GROWTH = 1.4
_CHANCE_FROM = 1.0  # of the best rate that was borne
_LATELY = 0.3  # seconds; what came in less says little of a rate
_AHEAD = 2.5  # times what came lately
_PLATEAU = 1.0  # seconds of a ramp in which the rate stays the same: it holds nothing back
_NOTICEABLY = 1.1  # times

_IS_LIMIT = 3.0  # of G, where the rates that may be it are near each other
_IS_LIMIT_SURELY = 5.0  # of G, where they are not
_IS_LIMIT_AFTER_ALL = 4.0  # of G, once it was thought to be chance
_IS_LIMIT_STILL = 3.5  # of G, after that many runs
_TOLD_LONG = 5
_IS_CHANCE = 1.5  # of G, at most
_ENOUGH = 2.5  # refusals
_TOLD, _TOLD_IF_WIDE = 2, 3  # runs, at least, that ended in refusals: one tells little of a limit

_BELOW = 0.97  # of the limit
_TRUST = 14.0  # seconds
_TRUST_IF_WIDE = 3.0
_LONGEST_TRUST = 120.0
_KEPT_LONG = 0.7  # of the time of trust: the limit is where it was thought to be
_LET_THROUGH = 1.0  # of what a site let through before it refused: it may have a higher limit
_CATCH_UP = 0.4  # of the burst; but
_MOST_CAUGHT_UP = 4.0  # requests, after a turn of the loop that took long

_EXPLAINED = 0.1  # by chance: a probe fails so often, at least
_AT_MOST = 3  # failed probes that chance explains
_SELDOM = 0.02
_UNSEEN = 8.0  # good answers that are taken for granted: a share is not known from one refusal
_MOST = 2_000  # good answers of a run that are written down
_LATE = 100  # refusals, as many
_OTHERS_FIRST = 5  # requests


class Mode(Enum):
    """What is known of a site's refusals."""

    RAMP = "ramp"
    CHANCE = "chance"
    LIMIT = "limit"
    SLOW = "slow limit"


class Recovery:
    """The rate of a site after a pause, and what its refusals say. ``now`` is in seconds.

    Args:
        good: when those requests were sent which it answered well lately.
    """

    def __init__(self, good: Iterable[float] = ()) -> None:
        self.mode = Mode.RAMP
        self.rate = _RAMP_FROM
        """Requests a second, now."""
        self.next_at = -inf
        """When the next request may be sent."""
        self._ladder = Ladder()
        self._slow = SlowLimit()
        # The run.
        self._good: deque[float] = deque(good, maxlen=_MOST)
        self._refused: deque[float] = deque(maxlen=_LATE)
        self._came: deque[float] = deque(maxlen=_MOST)  # when good answers came
        self._answers = len(self._good)
        self._resumed_at = self._good[0] if self._good else -inf
        self._ended_at = -inf
        self._is_over = False
        self._round_trip = 0.0
        self._peak, self._peak_at = 0.0, -inf  # of the rate, in a ramp
        # All runs.
        self._all_good = float(self._answers)
        self._pauses = 0.0
        self._told = 0  # runs that the ladder has read since it is new
        self._best = self._borne()  # requests a second that were borne
        self._limit = self._burst = 0.0
        self._trust = _TRUST
        self._creeps_from = -inf
        self._let_through: deque[float] = deque(maxlen=3)
        self._surprises: list[int] = []  # good answers of runs that no limit explains

    def __repr__(self) -> str:
        return f"<Recovery {self.mode.value} at {self.rate:.1f}/s>"

    # What came.

    def good(self, sent: float, now: float) -> None:
        """Note a good answer to a request that was sent at that time, since the last pause."""
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
            self._ended_at = now
            self._slow.refused(now)
            self._all_good += self._answers
            self._best = max(0.98 * self._best, self._lately(now))

    def disregard(self, sent: Iterable[float]) -> None:
        """Take refusals, by the time they were sent, for no matter of the rate."""
        for one in sent:
            if one in self._refused:
                self._refused.remove(one)

    def explains(self, failed_probes: int) -> bool:
        """Return whether so many failed probes in a row are chance."""
        return failed_probes <= _AT_MOST and self.share**failed_probes >= _EXPLAINED

    @property
    def share(self) -> float:
        """The share of requests that is refused by chance, as far as it is known."""
        if self.mode is Mode.LIMIT:
            return self._ladder.share_below(self._limit)
        return (self._pauses + 0.5) / (self._all_good + self._pauses + _UNSEEN)

    @property
    def borne(self) -> float:
        """The best rate of its good answers, in answers a second; 0: it is not known."""
        return self._best

    @property
    def is_far_below(self) -> bool:
        """Whether it has a limit that is slow, or far below what it bore."""
        if self.mode is Mode.SLOW:
            return True
        return self.mode is Mode.LIMIT and self.rate < 0.5 * self._best

    @property
    def counts(self) -> bool:
        """Whether the site counts what it is asked: nothing is asked twice to learn something."""
        return self.mode in {Mode.LIMIT, Mode.SLOW}

    @property
    def least_pause(self) -> float:
        """The seconds of its pauses, at least."""
        return self._slow.pause

    @property
    def others_go(self) -> float:
        """The seconds for which a refused request lets others go first: five of a slow site."""
        return _OTHERS_FIRST / self.rate if self.mode is Mode.SLOW else 0.0

    # The way back.

    def resume(self, now: float, *, is_telling: bool, is_short: bool = True) -> None:
        """Begin again: the site has answered the probe.

        Args:
            now: seconds.
            is_short: whether the pause was no longer than a first one.
            is_telling: whether the refusals may say something of the rate; those of a site that
                was down do not.
        """
        goods, took = self._answers, self._ended_at - self._resumed_at
        self._ladder.read(
            self._good, self._refused if is_telling else (), self._answers - len(self._good)
        )
        if is_telling and is_short and self._refused:
            self._pauses += 1.0
        self._slow.judge(self.rate)
        self._slow.good()  # the probe
        if self._slow.rate:
            self.mode, self.rate = Mode.SLOW, self._slow.pace(0)
        elif self.mode is Mode.SLOW:
            self._go_by_chance()
        elif is_telling and self._refused:
            self._judge(now, goods, took, is_short=is_short)
        elif self.mode is Mode.LIMIT:
            self._creeps_from += now - self._ended_at
        else:
            self.rate = max(_RAMP_FROM, self._lately(self._ended_at))
        self._good.clear()
        self._refused.clear()
        self._came.clear()
        self._came.append(now)
        self._answers = 0
        self._is_over = False
        self._resumed_at = now
        self._peak, self._peak_at = self.rate, now
        self.next_at = now + 1.0 / self.rate

    def _judge(self, now: float, goods: int, took: float, *, is_short: bool) -> None:
        """Decide what the refusals are a matter of, now that the run is read."""
        reading = self._ladder.reading()
        if self.mode is Mode.LIMIT:
            self._revise(reading, now, goods, took)
            return
        wide = reading.is_wide
        least = _IS_LIMIT_AFTER_ALL if self.mode is Mode.CHANCE else _IS_LIMIT
        self._told += 1
        enough = self._told >= (_TOLD_IF_WIDE if wide else _TOLD)
        if enough and reading.evidence > (_IS_LIMIT_SURELY if wide else least):
            self.mode = Mode.LIMIT
            self._limit = reading.rate
            self._burst = self._ladder.peak(reading.rate)
            self._trust = _TRUST_IF_WIDE if wide else _TRUST
            self._cruise(now)
        elif self.mode is Mode.CHANCE or (
            is_short and self._pauses >= _ENOUGH and reading.evidence < _IS_CHANCE
        ):
            self._go_by_chance()
        else:
            self.rate = max(_RAMP_FROM, self._lately(self._ended_at))

    def _go_by_chance(self) -> None:
        self.mode = Mode.CHANCE
        self.rate = max(_RAMP_FROM, _CHANCE_FROM * self._best)
        self._surprises.clear()
        self._let_through.clear()

    def _revise(self, reading: Reading, now: float, goods: int, took: float) -> None:
        """Go by another refusal at a limit: it is where it was thought to be, or elsewhere."""
        self._told += 1
        if reading.evidence < (_IS_CHANCE if self._told < _TOLD_LONG else _IS_LIMIT_STILL):
            self._go_by_chance()
            return
        trusted = self._ended_at - self._creeps_from
        if trusted < self._trust and not self._ladder.explains_last(reading.rate):
            self._surprises.append(goods)
            if self._has_moved():
                self.mode = Mode.RAMP
                self.rate = max(_RAMP_FROM, 0.5 * self._limit)
                self._ladder, self._told = Ladder(), 0
                self._let_through.clear()
                self._surprises.clear()
                return
            self._trust = min(max(_TRUST, 5.0 * took), _LONGEST_TRUST)  # chance, beside the limit
            self._creeps_from += now - self._ended_at
            return
        self._surprises.clear()
        if trusted > _KEPT_LONG * self._trust:
            self._trust = min(2.0 * self._trust, _LONGEST_TRUST)
        else:
            self._trust = _TRUST_IF_WIDE if reading.is_wide else _TRUST
        self._limit = reading.rate
        self._burst = self._ladder.peak(reading.rate)
        self._bound(goods, took)
        self._cruise(now)

    def _bound(self, goods: int, took: float) -> None:
        """Stay below what the site let through, in runs long enough to tell, its burst apart."""
        if goods >= 4.0 * self._burst and took > 0.0:
            self._let_through.append((goods - self._burst) / took)
        if self._let_through:
            self._limit = min(self._limit, _LET_THROUGH * max(self._let_through))
        self._limit = max(self._limit, _SLOWEST)

    def _has_moved(self) -> bool:
        """Return whether runs are shorter than chance allows: the limit is another."""
        for runs in (2, 3):
            last = self._surprises[-runs:]
            if len(last) == runs:
                share = self._ladder.share_below(self._limit, but=len(self._surprises))
                expected = share * sum(last)
                if _poisson_tail(expected, runs) < _SELDOM:
                    return True
        return False

    def _cruise(self, now: float) -> None:
        self.rate = max(_BELOW * self._limit, _SLOWEST)
        self._creeps_from = now

    # The rate.

    def sent(self, now: float) -> None:
        """Note that a request was sent; little is caught up of what was not sent in time."""
        held_up = now - self.next_at
        if held_up > 1.0 / self.rate:
            self._creeps_from += held_up  # nothing is learnt of the limit while nothing is sent
        credit = 1.0
        if self.mode is Mode.LIMIT:
            credit = min(max(1.0, _CATCH_UP * self._burst), _MOST_CAUGHT_UP)
        self.next_at = max(self.next_at, now - credit / self.rate) + 1.0 / self.rate

    def answered(self, now: float) -> bool:
        """Note a good answer; return whether the site is as open as it was before."""
        if self.mode is Mode.LIMIT:
            passed = max(0.0, now - self._creeps_from) / self._trust
            self.rate = max(
                self.rate, _BELOW * self._limit * (1.0 + (1.0 / _BELOW - 1.0) * passed**3)
            )
            return False
        if self.mode is Mode.SLOW:
            self.rate = self._slow.pace(self._answers)
            return False
        growth = _GROWTH if self.mode is Mode.RAMP else _CHANCE_GROWTH
        self.rate = max(self.rate, min(self.rate * growth, _AHEAD * self._lately(now)))
        if self.rate > _NOTICEABLY * self._peak:
            self._peak, self._peak_at = self.rate, now
        return now - self._peak_at > _PLATEAU

    def _borne(self) -> float:
        """Return the rate of the answers before the first refusal, if they took long enough."""
        took = self._good[-1] - self._good[0] if self._good else 0.0
        return len(self._good) / took if took >= _LATELY else 0.0

    def _lately(self, now: float) -> float:
        """Return good answers a second, as they came lately."""
        window = max(_LATELY, 1.5 * self._round_trip)
        since = now - window
        return sum(1 for _ in takewhile(since.__lt__, reversed(self._came))) / window


def _poisson_tail(expected: float, least: int) -> float:
    """Return how likely at least so many are where so many are expected."""
    term = total = exp(-expected)
    for number in range(1, least):
        term *= expected / number
        total += term
    return max(0.0, 1.0 - total)
