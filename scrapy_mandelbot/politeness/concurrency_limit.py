"""How many requests a site can bear at once: more only while more bring more pages.

Theory of operation. A site that is overloaded need not refuse: its answers take longer,
the crawl's and its visitors', and no more of them come in a second. So the limit on
requests in flight is found by trials. The number is halved or doubled for a while, and
the pages a second with one number are compared with those with the other, by turns
(A-B-A), so that what drifts by itself cancels out. How long one answer takes is never
looked at: some pages are slow. By Little's law (in flight = pages a second times
seconds), equal pages a second at half the number *is* half the waiting time, for the
crawl and for the visitors behind it in the queue.

- *Starting.* A site begins with :data:`FIRST` requests at once, and the number doubles
  each round trip while twice as many bring noticeably more pages a second: slow start,
  left as soon as the delivery rate says so. It becomes four times as many if all of the
  first answers came together, as none of them waited for another. If the project's
  number is reached without that growth, or is the first one, fewer are tried once.
- *Trying more* is worth it if the double brings at least half of its share: 1.41 times
  the pages. *Trying fewer* succeeds if the greater number brings less than a fifth of
  its share: 1.15 times the pages, twice. In doubt the greater number wins, as the
  project's settings allow it. What was accepted goes on in its direction.
- *Resting.* Between trials the number stays, longer after each trial in vain. The rate
  is watched meanwhile: if it halves, fewer are tried soon; if it grows, more are.
- Answers are timed in batches. The more neighbouring batches differ, the more of them
  are compared. Where no affordable number of them would do, nothing is tried downward,
  and upward the project's number is used.
- What is answered soon comes first. Of pages that take 10 ms or 5 s, the first batches
  see those of 10 ms alone, and seem to prove that few requests at once are enough. So a
  measurement says nothing for fewer while a request is in flight that was sent before
  it began; and a trial of fewer would wait with nothing to do for such requests.
- *A trial of fewer* that is in vain takes twice as long as its answers need. Together
  such trials may cost two seconds and a twentieth of the crawl's time: a slow site
  whose pages differ is crawled for a while before the first one. The one that begins
  where twice as many have just brought no more pages is free.

A number is judged only while it, and nothing else, holds requests back; the caller says
so with :meth:`ConcurrencyLimit.full`. A refusal ends a trial where it began: refusals,
pauses and the rate after them are the business of ``pause.py`` and ``rate_control.py``.

Sources: Little, "A proof for the queuing formula L = λW" (1961); RFC 5681, section 3.1
(slow start); RFC 9406 (leaving it early); PCC (Dong 2015: trials of rates by their
utility); draft-illyes-webbotauth-cbcp-00, which asks crawlers to heed response times.
"""

from __future__ import annotations

from enum import Enum
from math import ceil, inf, log, sqrt
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from scrapy_mandelbot.politeness.connection_limit import ConnectionLimit

if TYPE_CHECKING:
    from collections.abc import Callable

FIRST = 8
"""Requests at once before anything is known of a site; fewer if the project says so."""

_BATCH = 8  # answers; more if more are in flight
_FEWEST_BATCHES = 2  # that are compared
_MOST_BATCHES = 6  # with fewer requests at once, more cost a healthy site too much
_MOST_BATCHES_UP = 4  # nor a trial of more
_LONG = 4  # batches that are looked at together while the limit rests
# Batches to compare, times what they vary: a comparison errs by a quarter then.
_NOISE = 32.0
_FADING = 0.97  # of what batches vary, with each one
_ASLEEP = 3_600.0  # seconds that no batch takes: the machine slept meanwhile
_STARTING_SHARE = 0.25  # of its share that a doubled number brings while it starts
_STARTED_WELL = 0.6  # of it, with which half as many are not tried
_MORE_SHARE = (
    0.5  # of its share that the greater number has to bring when more is tried
)
_FEWER_SHARE = 0.2  # the same when fewer are tried
_IN_FAVOUR = 1.5  # evidence for the greater number: two clear comparisons
_IN_FAVOUR_OF_MORE = 0.5  # the same where more are tried: one comparison
_AGAINST = -1.5  # evidence for the smaller number: two clear comparisons
_BENEFIT_OF_DOUBT = 0.1  # of each comparison, for the greater number
_TIMES_IF_TOGETHER = 4  # as many are next where the first answers came together
_TOGETHER = 1.75  # times as long as half of the first answers, all of them take
_FIRST_REST = 4  # long batches
_WELL_REST = 8  # the same where the first answers came together
_LONGEST_REST = 32
# Seconds that trials of fewer may cost in all: so many, and a share of the crawl's.
_ALLOWED = 2.0
_ALLOWED_SHARE = 0.05
_HALVED = log(2.0)  # a rate that fell so far is looked into at once
_CHANGED = log(1.3)  # one that changed so far when the rest is over, or grew so far


class Phase(Enum):
    """What a limit is doing."""

    STARTING = "starting"
    MORE = "trying more"
    FEWER = "trying fewer"
    RESTING = "resting"


class Comparison(NamedTuple):
    """Two numbers of requests at once, of which the smaller was found to be enough."""

    bound: int
    rate: float
    """Pages a second with it."""
    other: int
    """The greater number."""
    other_rate: float

    @property
    def times_as_long(self) -> float:
        """How many times as long an answer took with the greater number."""
        return (self.other / self.other_rate) / (self.bound / self.rate)


class _Batches:
    """The pages a second at one number of requests in flight, in batches."""

    __slots__ = (
        "answers",
        "began",
        "bound",
        "first",
        "half",
        "last",
        "seconds",
        "size",
        "until",
        "whole",
    )

    def __init__(self, bound: int, skipped_until: int) -> None:
        self.bound = bound
        self.size = max(_BATCH, bound)  # answers of a batch
        self.began = -1.0  # of the batch under way, in seconds; below 0: none is
        self.first = -1.0  # when the first batch began
        # Seconds until half of the first answers came that were in flight, and all.
        self.half = -1.0
        self.whole = -1.0
        self.until = skipped_until
        self.answers = 0  # of the batches so far
        self.seconds = 0.0  # of these
        self.last = 0.0  # seconds of the last batch

    @property
    def rate(self) -> float:
        """Answers a second."""
        return self.answers / self.seconds

    @property
    def came_together(self) -> bool:
        """Whether the first answers came as one: none waited for the other half."""
        return self.whole <= _TOGETHER * self.half

    def note_round_trip(self, answers: int, now: float) -> None:
        """Note when half of the requests in flight at first have come, and when all."""
        if self.began < 0.0:
            return
        came = answers - self.until + self.size
        if self.half < 0.0 and 2 * came >= self.bound:
            self.half = now - self.began
        if self.whole < 0.0 and came >= self.bound:
            self.whole = now - self.began

    def begin(self, answers: int, now: float) -> None:
        self.began = now
        self.first = now
        self.until = answers + self.size

    def next_batch(self, answers: int, now: float) -> float:
        """Count a batch, and begin the next one.

        Returns how it differs from the one before, squared.
        """
        seconds = max(now - self.began, 1e-9)  # a clock may stand still
        difference = 0.0
        if self.last:
            difference = (seconds - self.last) / (seconds + self.last)
        self.answers += answers - self.until + self.size
        self.seconds += seconds
        self.last = seconds
        self.began = now
        self.until = answers + self.size
        return difference * difference


class _Trial:
    """A number of requests in flight that is compared with another one, by turns."""

    __slots__ = ("rate", "score", "share")

    def __init__(self, share: float, rate: float) -> None:
        self.share = share  # of its share that the greater number has to bring
        self.rate = rate  # pages a second with the number that is not in force now
        self.score = 0.0  # evidence for the greater number, or against it

    def compare(self, bound: int, rate: float, other: int) -> None:
        """Weigh what the greater number brought of its share, from 0 to 1."""
        gain = log(rate / self.rate) / log(bound / other)
        evidence = (gain - self.share) / self.share
        self.score += _BENEFIT_OF_DOUBT + min(max(evidence, -1.0), 1.0)


class ConcurrencyLimit:
    """The limit on the requests in flight of a site.

    Pure: counts, and times in seconds, come in. It never exceeds the project's number.
    """

    __slots__ = (
        "_allowed",
        "_before_guess",
        "_began",
        "_enough",
        "_has_stragglers",
        "_is_low",
        "_measurement",
        "_more_was_last",
        "_other",
        "_reference",
        "_reported",
        "_rest",
        "_rest_left",
        "_spent",
        "_trial",
        "_variance",
        "bound",
        "comparison",
        "connections",
        "full_at",
        "look_at",
        "phase",
    )

    NONE: ClassVar[ConcurrencyLimit]
    """That of all sites of which too little is known to judge."""

    def __init__(self, most: int = FIRST) -> None:
        self.bound = min(FIRST, most)
        """Requests that may be in flight at once, now."""
        self.phase = Phase.STARTING
        self.comparison: Comparison | None = None
        """Why the bound is no greater; None: nothing has been found."""
        self.connections: ConnectionLimit | None = None
        """What its refusals say of the number it serves; None: it has refused none."""
        self._reported = 0  # the bound that was news last; 0: the project's number
        self._trial: _Trial | None = None
        self._other = 0  # the number that `bound` is compared with, in a trial
        self._measurement = _Batches(self.bound, 0)
        self._variance = 0.0  # of neighbouring batches; the greatest lately
        self._reference = 0.0  # pages a second since it rests, or one step before
        self._rest = _FIRST_REST  # long batches of the next rest
        self._rest_left = 0  # of these
        self._enough = 0  # a number of which half was not enough
        self._began = -1.0  # when the number was reached first
        self._allowed = 0.0  # seconds that trials of fewer may have cost by now
        self._spent = 0.0  # that they have cost, if each halved the pages a second
        self._before_guess = 0  # the bound when a limit of connections was guessed
        # Whether a request is in flight that was sent before the measurement began.
        self._has_stragglers = False
        self._is_low = False  # whether the rate had fallen when it was looked at last
        self._more_was_last = False  # whether the last trial was one of more
        self.full_at = 0
        """The answers at which the bound was reached last."""
        self.look_at = 0
        """The answers from which on it has something to do when the bound is reached.

        Before them, it is enough to note `full_at`, unless that is more than two bounds
        of answers ago.
        """

    def __repr__(self) -> str:
        return f"<{self.bound} at once, {self.phase.value}>"

    def full(
        self, answers: int, now: float, most: int, oldest: Callable[[], float]
    ) -> bool:
        """Note that as many requests are in flight as may be.

        Returns whether it is news what the limit rests at: `comparison` says why.

        Args:
            answers: of the site so far, those of refused requests not counted.
            now: seconds, of any clock that runs evenly.
            most: what the project allows, at least 1.
            oldest: returns when the oldest request in flight was sent, by that clock.
        """
        allowed = most
        if not 0.0 <= self._began <= now:
            self._began = now
        if self.connections is not None:
            most = int(min(most, self.connections.most))
        if self.bound > most:
            self._lower(most)
        measurement = self._measurement
        if measurement.began >= 0.0 and answers - self.full_at > 2 * self.bound:
            measurement = self._held_back_by_something_else(answers)
        self.full_at = answers
        is_news = False
        if self.phase is Phase.STARTING:
            measurement.note_round_trip(answers, now)
        if answers >= measurement.until:
            self._end_batch(measurement, answers, now, most, oldest)
            # once something was judged: no calls more for most of the pages
            if self._measurement is not measurement:
                is_news = self._note_found(allowed)
        is_starting = self.phase is Phase.STARTING
        self.look_at = 0 if is_starting else self._measurement.until
        return is_news

    def _end_batch(
        self,
        measurement: _Batches,
        answers: int,
        now: float,
        most: int,
        oldest: Callable[[], float],
    ) -> None:
        """Begin with a batch, or end it; judge, if it is the last one."""
        if measurement.began < 0.0 or now - measurement.began > _ASLEEP:
            measurement.begin(answers, now)
            return
        self._allowed = _ALLOWED + _ALLOWED_SHARE * (now - self._began)
        difference = measurement.next_batch(answers, now)
        self._variance = max(_FADING * self._variance, difference)
        if self.phase is Phase.FEWER and self._is_too_noisy():
            self._end_trial(max(self.bound, self._other), measurement.rate, most)
        elif measurement.answers < self._needed(most) * measurement.size:
            return
        else:
            self._has_stragglers = oldest() < measurement.first
            if self._may_wait_for_stragglers(measurement):
                return
            self._judge(measurement.rate, most)
        if self._measurement is measurement:
            self._measurement = _Batches(self.bound, 0)
            self._measurement.begin(answers, now)
        elif self.phase is Phase.STARTING:
            self._measurement.until = answers
        else:  # what was sent with the other number comes first
            self._measurement.until = answers + max(self.bound, self._other)

    def _may_wait_for_stragglers(self, measurement: _Batches) -> bool:
        if self.phase is not Phase.FEWER or not self._has_stragglers:
            return False
        return measurement.answers < _MOST_BATCHES * measurement.size

    def _note_found(self, most: int) -> bool:
        if self.phase is not Phase.RESTING or self.is_guess:
            return False
        found = self.bound if self.found(most) is not None else 0
        if found == self._reported:
            return False
        self._reported = found
        return True

    def found(self, most: int) -> Comparison | int | None:
        """Return why a site gets fewer requests at once than the project allows.

        A comparison, or the number that it serves and refuses more; None: it gets
        `most`, or nothing was found.
        """
        if self.bound >= most:
            return None
        connections = self.connections
        if connections is not None and connections.most <= self.bound:
            return None if connections.is_guess else self.bound
        return self.comparison

    def _lower(self, most: int) -> None:
        """Follow a project's number that was lowered during the crawl."""
        if self._trial is not None:
            self._go_to_rest()
        self.bound = most
        self._measure_anew()

    def served(self, at_once: int) -> None:
        """Note a good answer of a site that has refused a request lately.

        `at_once`: the requests in flight when it was sent, itself included.
        """
        if self.connections is not None and at_once:
            self.connections.served(at_once)

    def refused(
        self, at_once: int, *, begins_pause: bool, may_guess: bool = True
    ) -> bool:
        """Note a refusal: what comes in a second is no longer this number's doing.

        Returns whether that number may be why it was refused; where that is a guess,
        the rate may be as well.
        """
        self._disturb()
        if not at_once:
            return False
        connections = self.connections or ConnectionLimit()
        self.connections = connections
        was_guess = connections.is_guess
        connections.refused(at_once, begins_pause=begins_pause, may_guess=may_guess)
        if connections.is_guess and not was_guess:
            self._before_guess = self.bound
        elif was_guess and connections.most == inf:
            self.bound = max(self.bound, self._before_guess)
        if self.bound > connections.most:
            self._lower(int(connections.most))
        self.look_at = 0
        return at_once > connections.most

    @property
    def is_guess(self) -> bool:
        """Whether a limit of connections is in force that may be one of the rate."""
        return self.connections is not None and self.connections.is_guess

    def confirm_guess(self) -> None:
        """Note that it is the number which the site refuses by, and no rate."""
        if self.connections is not None:
            self.connections.is_guess = False

    def _disturb(self) -> None:
        if self._trial is not None:
            both = (self.bound, self._other)
            self.bound = min(both) if self.phase is Phase.MORE else max(both)
        if self.phase is not Phase.RESTING:
            self._go_to_rest()
        self._measure_anew()

    # Measuring.

    def _needed(self, most: int) -> int:
        """Return how many batches are measured with this number."""
        if self.phase is Phase.RESTING:
            return _LONG
        if self.phase is Phase.STARTING and self.bound < most:
            share = self._share_brought(self._measurement.rate)
            return 1 if share >= _STARTING_SHARE else 2  # to be sure
        if self._is_well_at_first(most):
            return 1
        fewest = _LONG if self.phase is Phase.STARTING else _FEWEST_BATCHES
        most = _MOST_BATCHES_UP if self.phase is Phase.MORE else _MOST_BATCHES
        return self._comparable(fewest, most)

    def _comparable(self, fewest: int, most: int) -> int:
        """Return how many batches can be compared, as far as they differ by chance."""
        return min(max(fewest, ceil(_NOISE * self._variance)), most)

    def _is_too_noisy(self) -> bool:
        return _NOISE * self._variance > _MOST_BATCHES

    def _is_in_doubt(self) -> bool:
        """Return whether a measurement shows nothing about a smaller number.

        What is answered soon comes first: as long as a request is in flight that was
        sent before it began, it has seen too few of those that take long.
        """
        return self._has_stragglers or self._is_too_noisy()

    def _measure_anew(self) -> None:
        self._measurement = _Batches(self.bound, 0)

    def _held_back_by_something_else(self, answers: int) -> _Batches:
        """End a trial: the bound was not reached for long, so nothing was learned.

        Returns the measurement that begins anew.
        """
        if self._trial is not None:
            self.bound = max(self.bound, self._other)
            self._go_to_rest()
        self._measurement = _Batches(self.bound, answers)
        return self._measurement

    # Deciding.

    def _judge(self, rate: float, most: int) -> None:
        """Continue the start, a trial or a rest."""
        if self.phase is Phase.STARTING:
            self._start(rate, most)
        elif self.phase is Phase.RESTING:
            self._watch(rate, most)
        else:
            self._compare(rate, most)

    def _start(self, rate: float, most: int) -> None:
        """Try more while that brings more pages; look for fewer where it does not."""
        share = self._share_brought(rate)
        if share < _STARTING_SHARE and not self._is_in_doubt():
            self.comparison = Comparison(self._other, self._reference, self.bound, rate)
            self.bound = self._other
            self._spent = -self._cost(self._reference, self.bound // 2)
            self._try_fewer(self._reference)
        elif self.bound < most:
            self._reference = rate
            self._other = self.bound
            times = _TIMES_IF_TOGETHER if self._measurement.came_together else 2
            self.bound = min(times * self.bound, most)
            self._measure_anew()
        elif self._is_well_at_first(most):
            self._rest = _FIRST_REST if most < FIRST else _WELL_REST
            self._go_to_rest()
        elif self._reference and share >= _STARTED_WELL:
            self._enough = self.bound
            self._go_to_rest()
        else:
            self._try_fewer(rate)

    def _is_well_at_first(self, most: int) -> bool:
        """Return whether the site's first answers show no queue, at most requests.

        Fewer than FIRST are measured from their second round trip on, which shows
        nothing; and they are a careful number.
        """
        if self._reference or self.phase is not Phase.STARTING or self.bound < most:
            return False
        return most < FIRST or self._measurement.came_together

    def _share_brought(self, rate: float) -> float:
        """Return what the last step brought of its share; 1 before the first."""
        if not self._reference:
            return 1.0
        return log(rate / self._reference) / log(self.bound / self._other)

    def _watch(self, rate: float, most: int) -> None:
        """Look for a change while nothing is tried."""
        self._rest_left -= 1
        fell = log(self._reference / rate) if self._reference else 0.0
        self._reference = self._reference or rate
        is_over = self._rest_left <= 0
        by_chance = 3.0 * sqrt(self._variance / 2.0)  # of two times four batches
        threshold = _CHANGED if is_over else _HALVED
        has_fallen = fell > max(threshold, by_chance)
        was_low = self._is_low
        self._is_low = has_fallen
        if has_fallen and not was_low:
            return  # it is looked at once more
        if has_fallen:
            self._rest = _FIRST_REST
            self._variance = 0.0  # it is the change that made batches differ
            self._try_fewer(rate)
        elif -fell > max(_CHANGED, by_chance):
            self._try_more(rate, most)
        elif is_over and self._is_fewer_next(most):
            self._try_fewer(rate)
        elif is_over:
            self._try_more(rate, most)

    def _is_fewer_next(self, most: int) -> bool:
        """Return whether half may be enough, and more are not: in vain, or at most."""
        are_no_more = self._more_was_last or self.bound >= most
        return are_no_more and self._enough != self.bound

    def _try_more(self, rate: float, most: int) -> None:
        self._more_was_last = True
        other = min(2 * self.bound, most)
        if other <= self.bound:
            self._go_to_rest()
        elif self._is_too_noisy():
            self.bound = other  # nothing can be said: as many as the project allows
            self._measure_anew()
        else:
            self._begin_trial(Phase.MORE, _Trial(_MORE_SHARE, rate), other)

    def _try_fewer(self, rate: float) -> None:
        self._more_was_last = False
        other = self.bound // 2
        if other == 0 or self._is_too_noisy():
            self._go_to_rest()
        elif self._has_stragglers or not self._is_affordable(rate, other):
            self._rest_briefly()
        else:
            self._spent += self._cost(rate, other)
            self._begin_trial(Phase.FEWER, _Trial(_FEWER_SHARE, rate), other)

    def _is_affordable(self, rate: float, fewer: int) -> bool:
        return self._spent + self._cost(rate, fewer) <= self._allowed

    def _cost(self, rate: float, fewer: int) -> float:
        """Return the seconds that a trial of fewer costs where it is in vain.

        That is as long as its answers take without it: at half the pages a second they
        take twice as long.
        """
        batches = self._comparable(_FEWEST_BATCHES, _MOST_BATCHES)
        return (self.bound + batches * max(_BATCH, fewer)) / rate

    def _begin_trial(self, phase: Phase, trial: _Trial, bound: int) -> None:
        self.phase = phase
        self._trial = trial
        self._other = self.bound
        self.bound = bound
        self._measure_anew()

    def _compare(self, rate: float, most: int) -> None:
        trial = self._trial
        assert trial is not None  # noqa: S101 -- both phases of trials have one
        if self.phase is Phase.FEWER and self._has_stragglers:
            self._end_trial(max(self.bound, self._other), rate, most)
            return
        trial.compare(self.bound, rate, self._other)
        is_up = self.phase is Phase.MORE
        if trial.score >= (_IN_FAVOUR_OF_MORE if is_up else _IN_FAVOUR):
            self._end_trial(max(self.bound, self._other), rate, most)
        elif trial.score <= _AGAINST:
            self._end_trial(min(self.bound, self._other), rate, most)
        else:
            trial.rate = rate
            self.bound, self._other = self._other, self.bound
            self._measure_anew()

    def _end_trial(self, chosen: int, rate: float, most: int) -> None:
        """Stay with one number, and go on the same way if it is the new one."""
        trial = self._trial
        assert trial is not None  # noqa: S101 -- as above
        is_up = self.phase is Phase.MORE
        is_new = is_up == (chosen > min(self.bound, self._other))
        self.comparison = self._compared(chosen, rate, trial.rate)
        if chosen != self.bound:
            rate = trial.rate
        self._measure_anew()
        self.bound = chosen
        if not is_new:
            if not is_up:
                self._enough = chosen
            self._go_to_rest()
            return
        self._rest = _FIRST_REST
        if is_up:
            self._try_more(rate, most)
        else:
            self._spent = 0.0  # what is enough has cost nothing
            self._try_fewer(rate)

    def _compared(
        self, chosen: int, rate: float, other_rate: float
    ) -> Comparison | None:
        """Return what a trial says for the number that it ends with."""
        if chosen < max(self.bound, self._other):
            if chosen == self.bound:
                return Comparison(chosen, rate, self._other, other_rate)
            return Comparison(chosen, other_rate, self.bound, rate)
        if self.comparison is None or self.comparison.bound != chosen:
            return None
        return self.comparison

    def _rest_briefly(self) -> None:
        """Rest for one long batch, until a trial of fewer may begin."""
        rest = self._rest
        self._go_to_rest()
        self._rest = rest
        self._rest_left = 1

    def _go_to_rest(self) -> None:
        self.phase = Phase.RESTING
        self._trial = None
        self._other = 0
        self._reference = 0.0
        self._is_low = False
        self._rest_left = self._rest
        self._rest = min(2 * self._rest, _LONGEST_REST)


ConcurrencyLimit.NONE = ConcurrencyLimit()
