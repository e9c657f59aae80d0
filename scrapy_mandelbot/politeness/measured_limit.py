"""How many requests a site can bear at once: fewer where they are answered in line.

Theory of operation. A site that is overloaded need not refuse: its answers take longer,
the crawl's and its visitors', and no more of them come in a second. But fewer requests
at a site that bears them all only make a crawl slower. So a site gets as many as
without this law (``concurrency_limit.py``), and fewer only by this proof and as long as
it costs nothing:

- *The proof.* Requests that were sent together are answered in line: in the order in
  which they were sent, each later than the one before. That is what a queue does.
  Pages that merely differ are answered in the order of their lengths. Nothing is tried
  for it, so that it costs a site that bears all nothing: many requests go together at
  the start, and whenever the number rises to the project's. The site gets as many as
  were answered before the answers took twice as long.
- *The account.* From then on it is counted how many seconds later the answers came
  than at the best rate known. If it is more than half of a round trip at the project's
  number (or eight answers), twice as many are looked at; if three times as much, the
  number is the project's at once, and these requests go together, which is a new proof
  or none.
- *The look.* Each second, and later each twentieth of the crawl's time, twice as many
  are sent for a round trip or two. If they bring a fifth more pages, the number stays;
  it is the project's as soon as it gets there.

So what this costs a site that bears all is what lies in the account before a look, and
a second or a twentieth of the time before the next one.

A number is judged only while it, and nothing else, holds requests back; the caller says
so with :meth:`MeasuredLimit.full`. Refusals, pauses and the rate after them are the
business of ``pause.py`` and ``rate_control.py``.

Sources: Little, "A proof for the queuing formula L = λW" (1961); Page, "Continuous
inspection schemes" (1954: the account is a CUSUM); RFC 9406 (delays of a round trip's
packets); draft-illyes-webbotauth-cbcp-00, which asks crawlers to heed response times.
"""

from __future__ import annotations

from enum import Enum
from math import inf
from statistics import median
from sys import maxsize
from typing import NamedTuple

from scrapy_mandelbot.politeness.concurrency_limit import (
    FEWEST,
    FIRST,
    Comparison,
    ConcurrencyLimit,
)

_FEWEST_TOGETHER = 6  # answers to requests that were sent together, to say anything
_LOOKED_AT = 32  # of them, at most
_IN_LINE = 0.85  # of them, and of their pairs, that came in the order of their sending
_EARLIER = 0.95  # of the time of one before it: then an answer came out of line
_RISE = 1.5  # times as long as the first, the last of them take
_ENOUGH = 2.0  # times as long as the first, those take that are within the number
_BATCH = 12  # answers, and whole round trips, by which a number is judged
_MORE = 1.2  # times the pages that twice as many requests have to bring
_MUCH_MORE = 1.5  # times, with which twice as many again are looked at soon
_TOLERANCE = 0.06  # of the best rate known, that may be lost for good
_MOST_LOST = 0.5  # of a round trip at the project's number: more are looked at then
_FEWEST_LOST = 8  # answers that this is, at least
_SECONDS_LOST = 0.5  # and at most; or two answers
_LOST = 3.0  # times as much: the project's number at once
_LOOK = 1.0  # seconds from one look to the next
_LOOK_SHARE = 0.05  # and at least this share of the crawl's
_LOOK_REST = 2.0  # and times as long as the last look took
_SHORTEST = 1e-6  # seconds; a clock may stand still


class Phase(Enum):
    """What a limit is doing."""

    TOGETHER = "looking at requests that were sent together"
    ALL = "as many as the project states"
    FEWER = "fewer"
    MORE = "looking at twice as many"


class _Moment(NamedTuple):
    """How many answers had come by a time, in seconds."""

    answers: int
    now: float

    def rate_until(self, later: _Moment) -> float:
        """Return the answers a second from this moment to a later one."""
        seconds = max(later.now - self.now, _SHORTEST)
        return (later.answers - self.answers) / seconds


class _Burst:
    """Requests that are sent together, beside so many that are in flight already."""

    __slots__ = ("before", "began", "look_at", "since", "times", "until")

    def __init__(self, before: int, began: _Moment, since: float) -> None:
        self.before = before
        self.began = began
        self.since = since  # when the first of them was sent, or before that
        self.until = inf  # when the last of them was sent
        self.look_at = FEWEST  # answers since they were sent
        self.times: list[tuple[int, float]] = []
        """Place in the line, and seconds of the answer."""

    def note(self, at_once: int, sent_at: float, now: float) -> None:
        if at_once > self.before and self.since <= sent_at <= self.until:
            self.times.append((at_once - self.before, now - sent_at))

    def are_in_line(self) -> bool:
        """Return whether each is answered later than the one that was sent before."""
        number = len(self.times)
        if number < _FEWEST_TOGETHER:
            return False
        # of pages that differ, those come first that are short
        among_the_first = sum(place <= number for place, _ in self.times)
        if among_the_first < _IN_LINE * number:
            return False
        times = [seconds for _, seconds in sorted(self.times)]
        quarter = max(2, number // 4)
        if median(times[-quarter:]) <= _RISE * median(times[:quarter]):
            return False
        some = times[:: max(1, number // _LOOKED_AT)]
        pairs = len(some) * (len(some) - 1) / 2
        return _out_of_line(some) <= (1.0 - _IN_LINE) * pairs

    def first_time(self) -> float:
        """Return how long an answer takes at the head of the line, in seconds."""
        return median(seconds for _, seconds in sorted(self.times)[:3])

    def number_within(self, seconds: float) -> int:
        """Return the last place in the line that was answered so soon; at least 1."""
        places = [place for place, took in self.times if took <= seconds]
        return max(1, self.before + max(places, default=0))


def _out_of_line(times: list[float]) -> int:
    """Return how many pairs of times are not in their order."""
    pairs = 0
    for at, one in enumerate(times):
        pairs += sum(later < _EARLIER * one for later in times[at:])
    return pairs


class MeasuredLimit(ConcurrencyLimit):
    """The limit of a site whose answers are looked at.

    Pure: counts, and times in seconds, come in.
    """

    __slots__ = (
        "_base",
        "_began",
        "_enough",
        "_judged_from",
        "_last",
        "_look_due",
        "_lost",
        "_rate",
        "_rate_of_enough",
        "_since",
        "_together",
        "_well",
        "comparison",
        "phase",
        "takes_times",
    )
    is_measured = True

    def __init__(self, most: int, first: int = FIRST) -> None:
        if most <= FIRST:
            first = maxsize
        super().__init__(first)
        self.bound = min(first, most)
        self.phase = Phase.TOGETHER
        self.comparison: Comparison | None = None
        """Why the bound is no greater; None: nothing has been found."""
        self.takes_times = False
        """Whether it takes note of how long answers take."""
        self._began = -1.0  # seconds; below 0: it has not
        self._together: _Burst | None = None
        self._base = inf  # seconds of an answer where there is no line
        self._rate = 0.0  # answers a second, the best known
        self._enough = maxsize  # the number that is judged, or looked beyond
        self._rate_of_enough = 0.0  # answers a second with it; 0: not known
        self._lost = 0.0  # seconds, in the account
        self._last: _Moment | None = None  # of the last entry of the account
        self._well = _Moment(0, 0.0)  # the last one at which nothing was lost
        self._since: _Moment | None = None  # when what is judged began
        self._judged_from = 0  # answers before which nothing is judged
        self._look_due = 0.0  # when to look, or when the look began

    def __repr__(self) -> str:
        return f"<{self.bound} at once, {self.phase.value}>"

    def note(self, at_once: int, sent_at: float, now: float) -> None:
        """Note an answer to a request that was sent with so many in flight."""
        if self._together is not None:
            self._together.note(at_once, sent_at, now)

    def full(self, answers: int, now: float, most: int) -> bool:
        """Note that as many requests are in flight as may be."""
        moment = _Moment(answers, now)
        allowed = most
        if self._began < 0.0:
            self._began = now
            self._look_at_those_together(0, moment, -inf)
        was_beginning = self.is_beginning
        self._note_answers(answers)
        most = min(most, self._serves())
        has_begun = was_beginning and not self.is_beginning
        if has_begun and self._together is not None:
            self._end_start(self._together, moment, most)
        elif self.bound > most or (self.phase is Phase.ALL and self.bound < most):
            self.bound = most
            self._disturb()
        is_held_back = answers > self.full_at + 2 * self.bound
        if is_held_back and self._last is not None and answers > self._judged_from:
            self._forget_moments()  # by something else
        self.full_at = answers
        if self._together is not None:
            self._look_for_line(self._together, moment, most)
        elif self.phase in {Phase.FEWER, Phase.MORE}:
            self._keep_account(moment, most)
        self.look_at = 0
        if self.phase is Phase.ALL and not self.is_beginning:
            self.look_at = maxsize
        return self.note_found(allowed)

    # The proof.

    def _look_at_those_together(
        self, before: int, moment: _Moment, since: float
    ) -> None:
        self._together = _Burst(before, moment, since)
        self.takes_times = True
        self.phase = Phase.TOGETHER

    def _end_start(self, first: _Burst, moment: _Moment, most: int) -> None:
        """Give as many as the project states, but where the first are in line."""
        if not self._found_line(first, moment, most):
            self._give_all(moment, most)

    def _look_for_line(self, together: _Burst, moment: _Moment, most: int) -> None:
        together.until = min(together.until, moment.now)
        came = moment.answers - together.began.answers
        if came < min(together.look_at, most):
            return
        together.look_at *= 2
        if self._found_line(together, moment, most):
            return
        if came >= most:
            self._end_proof()
            self.phase = Phase.ALL

    def _found_line(self, together: _Burst, moment: _Moment, most: int) -> bool:
        """Give fewer where those that were sent together are in line.

        Returns whether they are, and fewer are enough.
        """
        if not together.are_in_line():
            return False
        first_time = together.first_time()
        if not together.before:
            self._base = first_time
        enough = together.number_within(_ENOUGH * min(self._base, first_time))
        if enough >= most:
            return False
        self._rate = together.began.rate_until(moment)
        self._give(enough, moment)
        return True

    def _end_proof(self) -> None:
        self._together = None
        self.takes_times = False

    def _give_all(self, moment: _Moment, most: int) -> None:
        """Give as many as the project states: they go together."""
        self._look_at_those_together(self.bound, moment, moment.now)
        self.bound = most
        self.comparison = None
        self._last = None

    def _give(self, number: int, moment: _Moment) -> None:
        """Give a number that is enough, as far as is known."""
        self._judged_from = moment.answers
        if number < self.bound:  # what was sent with the greater number comes first
            self._judged_from += self.bound
        self.phase = Phase.FEWER
        self.bound = number
        self._enough = number
        self._end_proof()
        self._rate_of_enough = 0.0
        self._rest(moment.now)

    def _rest(self, now: float, look: float = 0.0) -> None:
        """Judge a number from now on. `look`: the seconds of the last look."""
        self._lost = 0.0
        self._forget_moments()
        rest = max(_LOOK, _LOOK_SHARE * (now - self._began), _LOOK_REST * look)
        self._look_due = now + rest

    def _forget_moments(self) -> None:
        self._last = None
        self._since = None

    # The account.

    def _keep_account(self, moment: _Moment, most: int) -> None:
        """Count the seconds that are lost, and what comes with this number."""
        is_judged = moment.answers >= self._judged_from
        if is_judged or self.phase is Phase.MORE:
            self._enter(moment)
        bearable = self._bearable(most)
        if self._lost > _LOST * bearable:
            self._give_all(moment, most)
        elif self._lost > bearable and self.phase is Phase.FEWER:
            self._rate_of_enough = self._well.rate_until(moment)
            self._look(moment, most)
        elif is_judged:
            self._judge(moment, most)

    def _enter(self, moment: _Moment) -> None:
        """Enter into the account what came, and how long it took."""
        last = self._last or moment
        self._last = moment
        if not self._lost:
            self._well = last
        gained = (moment.answers - last.answers) / self._rate
        passed = (1.0 - _TOLERANCE) * (moment.now - last.now)
        self._lost = max(0.0, self._lost + passed - gained)

    def _bearable(self, most: int) -> float:
        """Return the seconds that may be lost before more are looked at."""
        round_trip = max(_MOST_LOST * most, _FEWEST_LOST) / self._rate
        return min(round_trip, max(_SECONDS_LOST, 2.0 / self._rate))

    def _judge(self, moment: _Moment, most: int) -> None:
        """Take the rate with this number, after whole round trips."""
        since = self._since
        if since is None:
            self._since = moment
            return
        round_trips = -(-_BATCH // self.bound)
        if moment.answers - since.answers < round_trips * self.bound:
            return
        rate = since.rate_until(moment)
        if self.phase is Phase.MORE:
            self._compare(rate, moment, most)
            return
        self._since = moment
        known = self._rate_of_enough or rate
        self._rate_of_enough = (known + rate) / 2
        if moment.now > self._look_due:
            self._look(moment, most)

    def _look(self, moment: _Moment, most: int) -> None:
        """Look whether twice as many bring more."""
        self.phase = Phase.MORE
        self.bound = min(2 * self._enough, most)
        self._judged_from = moment.answers + self._enough
        self._since = None
        self._look_due = moment.now

    def _compare(self, rate: float, moment: _Moment, most: int) -> None:
        """End a look: is the greater number worth it?"""
        of_enough = self._rate_of_enough or self._rate / 2
        if rate > _MORE * of_enough:
            self._grow(rate, of_enough, moment, most)
            return
        enough = self._enough
        self.comparison = Comparison(enough, of_enough, self.bound, rate)
        self._rate = max(rate, of_enough)
        self._judged_from = moment.answers + self.bound
        # By Little's law, so many have no line; half of them more are given.
        without_line = of_enough * self._base
        if enough > 1.5 * _ENOUGH * without_line:
            enough = max(1, enough // 2, round(_ENOUGH * without_line))
            self.comparison = None
        self.phase = Phase.FEWER
        self.bound = enough
        self._enough = enough
        self._rest(moment.now, moment.now - self._look_due)

    def _grow(self, rate: float, before: float, moment: _Moment, most: int) -> None:
        """Keep a greater number, which brings so many pages a second."""
        if self.bound >= most:
            self._give_all(moment, most)
            return
        self._rate = max(self._rate, rate)
        self._base = max(self._base, self.bound / rate / _ENOUGH)
        self._give(self.bound, moment)
        self._rate_of_enough = rate
        if rate > _MUCH_MORE * before:
            self._look_due = moment.now

    # What is known.

    def note_found(self, most: int) -> bool:
        """Note that this limit is reported; return whether it is news."""
        if self.phase in {Phase.TOGETHER, Phase.MORE}:
            return False
        if self.phase is Phase.FEWER and self.found(most) is None:
            return False
        return super().note_found(most)

    # Refusals.

    def refused(
        self, at_once: int, *, begins_pause: bool, may_guess: bool = True
    ) -> bool:
        """Note a refusal: what comes in a second is no longer this number's doing."""
        self._disturb()
        may_be_why = super().refused(
            at_once, begins_pause=begins_pause, may_guess=may_guess
        )
        if self.phase is Phase.FEWER:
            self.bound = min(self.bound, self._enough)
        return may_be_why

    def _disturb(self) -> None:
        """End what is looked at: something else changes the pages a second."""
        if self.phase is Phase.MORE:
            self.bound = min(self.bound, self._enough)
            self.phase = Phase.FEWER
        elif self.phase is Phase.TOGETHER:
            self.phase = Phase.ALL
        self._end_proof()
        self._forget_moments()
