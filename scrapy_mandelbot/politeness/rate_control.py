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
  cube of the time, as TCP's CUBIC does (RFC 9438). Before that it climbs to the fastest
  rate that explains the refusals as well, where another refusal costs little. A run
  lets through no more than the limit and a burst, be its end chance or not: the limit
  is no faster. A limit without a burst refuses what comes a little early: there each
  refusal that nothing explains lowers the rate, and each good answer raises it a
  little. Where a number of requests in flight explains the refusals as well
  (``connection_limit.py``), the limit is *in doubt*: after a short trust the rate
  doubles each second. Either a refusal confirms the limit, or it is refuted by more
  answers than it would have let through.
- *slow limit*: pages come a minute rather than a second. It is asked as often as it
  lets through, and its pauses are as long as two requests take.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from functools import cached_property
from math import inf, sqrt
from typing import TYPE_CHECKING

from scrapy_mandelbot.politeness.limit_estimator import RATES, LimitEstimator
from scrapy_mandelbot.politeness.pause_policy import BY_CHANCE, MOST_BY_CHANCE, Mode
from scrapy_mandelbot.politeness.slow_limit_estimator import (
    BELOW,
    CONCLUSIVE,
    SlowLimitEstimator,
)
from scrapy_mandelbot.time_text import duration, rate_text

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
_NO_BURST = 1.5  # the same: with fewer, requests come later after each refusal,
_LATER = 0.97  # by this factor,
_LATEST = 0.85  # down to this part of the limit
_CLIMB = 1.005  # times the limit, for each good answer, up to the fastest that may be
# The same beyond that, where there is no burst: by half as much after each refusal,
_SLOW_CLIMB = 0.0003
_SLOWEST_CLIMB = 0.0001  # down to this
_DRAINED = 2.0  # requests that a bucket takes in a pause, at least
_TRUST = 14.0  # seconds for which a limit is taken to be where it was found
_TRUST_IN_DOUBT = 5.0  # the same, of a limit in doubt
_FAR_BELOW = 0.6  # of the limit: a reading that is slower is believed,
_CLEAR = 6.0  # with so much of G
_STEEP = 12  # the power of the time by which the rate rises then
_REFUTED = 12.0  # answers more than it lets through, its burst apart

_OTHERS_FIRST = 5  # requests that a page lets go first which a slow limit refused

_MOST = 2_000  # good answers of a run that are written down
_LATE = 100  # refusals, as many


class _Run:
    """What came from the end of one pause to the begin of the next."""

    __slots__ = (
        "answers",
        "came",
        "good",
        "is_over",
        "peak",
        "peak_at",
        "refused",
        "resumed_at",
    )

    def __init__(self, resumed_at: float, rate: float) -> None:
        self.resumed_at = resumed_at
        self.good: deque[float] = deque(maxlen=_MOST)
        """When those requests were sent that were answered well."""
        self.refused: deque[float] = deque(maxlen=_LATE)
        """When those were sent that were refused."""
        self.came: deque[float] = deque(maxlen=_MOST)
        """When good answers came, the probe's first."""
        self.answers = 0
        """How many were good, also those that are written down no more."""
        self.is_over = False
        """Whether a request was refused."""
        self.peak = rate
        """The highest rate of a ramp, in requests a second."""
        self.peak_at = resumed_at
        """When the rate grew last."""


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
        self.ended_at = -inf
        """When the last run ended: with the first refusal of a pause."""
        run = _Run(-inf, 0.0)
        run.good.extend(good)
        run.answers = len(run.good)
        self._run = run
        self._round_trip = 0.0  # seconds, of the last good answer
        # All runs.
        self._all_good = float(run.answers)
        self._pauses = 0.0
        self._told = 0  # runs that the estimator has read since it is new
        self._best = 0.0  # requests a second that were borne
        if run.good:
            run.resumed_at = run.good[0]
            self._best = self._borne()
        self._slow = SlowLimitEstimator()
        # Of a limit: requests a second, and requests.
        self._limit = 0.0
        self._burst = 0.0
        self._fastest = 0.0  # requests a second up to which the limit climbs
        self._highest = 0.0  # limit that was refused, in requests a second
        self._climb = _SLOW_CLIMB  # of the limit, for each good answer, without a burst
        self._creeps_from = -inf
        self._is_in_doubt = False
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
        run = self._run
        run.good.append(sent)
        run.came.append(now)
        run.answers += 1
        self._slow.good()
        self._round_trip = max(0.0, now - sent)

    def refused(self, sent: float, now: float) -> None:
        """Note a refusal of a request that was sent at that time."""
        self._run.refused.append(sent)
        if not self._run.is_over:
            self._end_run(now)
            self._slow.refused(now)

    def interrupted(self, now: float) -> None:
        """Note that a run ends, and no rate is why."""
        if not self._run.is_over:
            self._end_run(now)

    def _end_run(self, now: float) -> None:
        run = self._run
        run.is_over = True
        self.ended_at = now
        self._all_good += run.answers
        self._best *= 0.98
        if run.came:
            self._best = max(self._best, self._lately(now))
        self._is_in_doubt = False

    def disregard(self, sent: Iterable[float]) -> None:
        """Take refusals, by the time they were sent, for no matter of the rate."""
        refused = self._run.refused
        for one in sent:
            if one in refused:
                refused.remove(one)

    def doubt_limit(self) -> None:
        """Try soon whether it is the rate that is refused; until the next refusal."""
        self._is_in_doubt = True

    def is_limit_refuted(self, now: float) -> bool:
        """Return whether more was answered since the pause than the limit allows."""
        if self.mode is not Mode.LIMIT or self._run.is_over:
            return False
        let_through = self._limit * (now - self._run.resumed_at) + self._burst
        return self._run.answers > let_through + _REFUTED

    def forget_limit(self) -> None:
        """Conclude that no rate was refused, but pages that are refused at any rate.

        Several dead pages that were requested at once look like a full bucket.
        """
        if self.mode is Mode.LIMIT:
            self.forget_runs()
            self._told = 0
            self._go_by_chance()

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
        if self.mode is Mode.SLOW:
            return True
        return self.mode is Mode.LIMIT and self.rate < 0.5 * self._best

    @property
    def counts(self) -> bool:
        """Whether the site counts requests: none is repeated to learn something."""
        return self.mode in {Mode.LIMIT, Mode.SLOW}

    def may_be_full_after(self, seconds: float) -> bool:
        """Return whether a limit explains a refusal after such a silence.

        Its bucket is empty again after a while: then it was the page.
        """
        if self.mode is Mode.LIMIT:
            return self._limit * seconds <= self._burst + 1.0
        return self.mode is Mode.SLOW

    @property
    def least_pause(self) -> float:
        """The seconds of its pauses, at least."""
        return self._slow.pause

    @property
    def others_go(self) -> float:
        """The seconds in which a refused request lets others go: five requests."""
        if self.mode is Mode.SLOW:
            return _OTHERS_FIRST / self.rate
        return 0.0

    def as_text(self, waiting: int) -> tuple[str, str]:
        """Return the rate, and how long waiting requests take at it, for people."""
        return rate_text(self.rate), duration(waiting / self.rate)

    def drained_in(self) -> float | None:
        """Return the seconds in which the bucket of its limit is empty again.

        Those of two requests, at least. None: this run, which is over, and those before
        it show no limit.
        """
        if self.mode is Mode.LIMIT:
            return max(self._burst, _DRAINED) / self._limit
        if self.mode is not Mode.RAMP or self._told + 1 < CONCLUSIVE:
            return None
        run = self._run
        estimator = self._estimator.copy()
        estimator.read(run.good, run.refused, run.answers - len(run.good))
        reading = estimator.reading()
        if reading.evidence <= _IS_LIMIT:
            return None
        return max(reading.burst, _DRAINED) / reading.rate

    def forget_runs(self) -> None:
        """Forget the runs so far; what was concluded from them stays."""
        self._estimator = LimitEstimator()

    # The way back.

    def resume(
        self,
        now: float,
        *,
        is_conclusive: bool,
        is_short: bool = True,
        is_first: bool = True,
    ) -> None:
        """Begin again: the site has answered the probe.

        Args:
            now: seconds.
            is_conclusive: Whether no probe failed but by chance.
            is_short: Whether the pause was none that began where the last one ended.
            is_first: Whether it was as long as a first pause at most, and no probe
                failed.
        """
        run = self._run
        refused = run.refused if is_conclusive else ()
        self._estimator.read(run.good, refused, run.answers - len(run.good))
        if refused and is_short:
            self._pauses += 1.0
        self._slow.judge(self.rate)
        self._slow.good()  # the probe
        if self._slow.rate:
            self.mode = Mode.SLOW
            self.rate = self._slow.pace(0)
        elif self.mode is Mode.SLOW:
            self._go_by_chance()
        elif refused:
            self._judge(now, run, is_short=is_short, is_first=is_first)
        elif self.mode is Mode.LIMIT:
            self._fastest = 0.0
            self._creeps_from += now - self.ended_at
        else:
            self.rate = max(_RAMP_FROM, self._lately(self.ended_at))
        self._run = _Run(now, self.rate)
        self._run.came.append(now)
        self.next_at = now + 1.0 / self.rate

    def resume_at_once(self, now: float) -> None:
        """Begin at the rate that was borne before: the outage was no matter of it."""
        if self.counts:
            return
        self.rate = max(self.rate, self._best)
        self._run.peak = self.rate
        self.next_at = now + 1.0 / self.rate

    def _judge(self, now: float, run: _Run, *, is_short: bool, is_first: bool) -> None:
        """Decide what the refusals are a matter of, now that the run is read."""
        reading = self._estimator.reading()
        if self.mode is Mode.LIMIT:
            self._revise(reading, now, run, is_first=is_first)
            return
        self._told += 1
        if self._told >= CONCLUSIVE and reading.evidence > _IS_LIMIT:
            self.mode = Mode.LIMIT
            self._limit = min(reading.rate, self.rate)  # at which it has refused
            self._burst = reading.burst
            if is_first:
                self._fastest = reading.fastest
            self._cruise(now)
        elif self.mode is Mode.CHANCE or self._is_chance(reading, is_short=is_short):
            self._go_by_chance()
        else:
            self.rate = max(_RAMP_FROM, self._lately(self.ended_at))

    def _is_chance(self, reading: Reading, *, is_short: bool) -> bool:
        """Return whether the pauses so far, and this short one, were chance."""
        if not is_short or reading.evidence >= _IS_LIMIT:
            return False
        return self._pauses > CONCLUSIVE

    def _go_by_chance(self) -> None:
        self.mode = Mode.CHANCE
        self.rate = max(_RAMP_FROM, self._best)
        self._let_through.clear()

    def _revise(
        self, reading: Reading, now: float, run: _Run, *, is_first: bool
    ) -> None:
        """Update the limit after another refusal: it holds, or it is elsewhere."""
        if reading.evidence < _IS_LIMIT:
            self._go_by_chance()
            return
        self._fastest = 0.0
        trusted = self.ended_at - self._creeps_from
        limit = reading.rate
        if trusted < _TRUST and not self._estimator.explains_last(reading.rate):
            is_far = reading.rate < _FAR_BELOW * self._limit
            if not is_far or reading.evidence < _CLEAR:
                self._come_later(reading, now, run)
                return
            # It is slower, and the buckets do not say yet how much.
            limit = sqrt(reading.rate * self._limit)
        if is_first:
            self._fastest = min(reading.fastest, _LATER * self._limit)
        self._limit = limit
        self._highest = 0.0
        self._burst = reading.burst
        self._bound(run)
        self._cruise(now)

    def _come_later(self, reading: Reading, now: float, run: _Run) -> None:
        """Go on after a refusal that the limit does not explain.

        It is chance, beside the limit, or the limit is slower than any of the ladder's
        rates that explain the runs before. Or it has no burst: then it refuses what
        comes a little early, and the time of the way there is never the same.
        """
        if self._burst >= _NO_BURST:
            before = self._limit
            self._bound(run)
            if self._limit < before:
                self._cruise(now)
            else:
                self._creeps_from += now - self.ended_at
            return
        self._climb = max(_SLOWEST_CLIMB, self._climb / 2.0)
        self._highest = max(self._highest, self._limit)
        between = sqrt(reading.rate * self._limit)
        later = min(_LATER * self._limit, between)
        least = _LATEST * min(reading.rate, self._highest)
        self._limit = min(self._limit, max(later, least))
        self._cruise(now)

    def _bound(self, run: _Run) -> None:
        """Stay below what the site let through in long runs, its burst apart.

        A run that begins below the limit says so of its end: what fills the bucket is
        sent since it was empty last.
        """
        enough = 4.0 * self._burst
        best = 0.0
        for goods, sent in enumerate(reversed(run.good), 1):
            took = self.ended_at - sent
            if goods >= enough and took > 0.0:
                best = max(best, (goods - self._burst) / took)
        if best:
            self._let_through.append(best)
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
        run = self._run
        if self.mode is Mode.LIMIT:
            if self._limit < self._fastest:
                self._limit = min(_CLIMB * self._limit, self._fastest)
                self._creeps_from = now
            elif self._burst < _NO_BURST:
                self._limit *= 1.0 + self._climb
            trust, power = _TRUST, 3
            if self._is_in_doubt:
                trust, power = _TRUST_IN_DOUBT, _STEEP
            passed = max(0.0, now - self._creeps_from) / trust
            growth = (1.0 - BELOW) * passed**power
            self.rate = max(self.rate, self._limit * (BELOW + growth))
            return False
        if self.mode is Mode.SLOW:
            self.rate = self._slow.pace(run.answers)
            return False
        self.rate = max(self.rate, min(self.rate * _GROWTH, _AHEAD * self._lately(now)))
        if self.rate > run.peak:
            run.peak = self.rate
            run.peak_at = now
        return now - run.peak_at > _PLATEAU

    def _borne(self) -> float:
        """Return the rate of answers before the first refusal, of a while at least."""
        good = self._run.good
        took = good[-1] - good[0]
        return len(good) / max(took, _LATELY)

    def _lately(self, now: float) -> float:
        """Return good answers a second, as they came lately."""
        window = max(_LATELY, 1.5 * self._round_trip)
        since = now - window
        answers = 0
        for came in reversed(self._run.came):
            if came <= since:
                break
            answers += 1
        return answers / window
