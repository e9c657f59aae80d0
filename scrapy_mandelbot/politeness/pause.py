"""The pause of a site: may it be asked now, and by how many at once.

Source: Mandelbot, "Temporarily Stop Crawling": a 503 to any request stops the crawl of the site,
which resumes at some later time. How it resumes is ours: one request, the probe, goes first.

What happens is the table ``TRANSITIONS`` below: of the rows for a state and a fact the first whose
condition holds is taken, and a fact without a row changes nothing. So a late refusal, one of the
burst that caused the pause, escalates nothing, but a longer ``Retry-After`` extends the pause; and
only failed probes lengthen the next one.

A pause that the server names no time for lasts a second, and three times as long after each failed
probe: 1, 3, 9, 27 ... 3,600 s. (Doubling never outruns a server that bans for twice as long who
knocks too early.) The next one of the site begins where the last one ended, fading with service.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timezone
from enum import Enum
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_mandelbot.politeness.lengths import Lengths
from scrapy_mandelbot.politeness.recovery import Recovery

if TYPE_CHECKING:
    from collections.abc import Callable

_NEWS = 1.0  # seconds by which a pause has to grow for anyone to hear of it
_GROWTH = 3.0  # of the pause, for each failed probe
_TRIES_OF_A_PART = 6  # failed probes: some six minutes, its site being well
_APART = 1.0  # seconds from one request to the next where each is sent once more
_LAST_TRIES = 50  # requests that are sent once after the site is given up, none answered well


class PauseState(Enum):
    """Where a pause stands."""

    OPEN = "open"
    PAUSED = "paused"
    PROBING = "probing"
    RECOVERING = "recovering"
    ONCE_EACH = "once each"
    """Given up, but what was never sent is sent once, slowly, before it fails."""
    LAST_PROBING = "probing, once each"
    GIVEN_UP = "given up"


class Fact(Enum):
    """What a pause is told."""

    SENT = "sent"
    ANSWERED = "answered well"
    REFUSED = "refused"
    PROBE_ANSWERED = "probe answered well"
    PROBE_REFUSED = "probe refused"
    PROBE_LOST = "probe lost"
    ENDED_BY_HAND = "ended by hand"
    GIVE_UP = "give up"


class News(Enum):
    """What a fact did that is to be told."""

    PAUSED = "paused"
    PROLONGED = "prolonged"
    RESUMED = "resumed"
    RECOVERED = "recovered"
    GAVE_UP = "gave up"
    ASKS_ONCE_EACH = "asks once each"
    """It would be given up, and each request that was never sent is sent once before that."""
    SET_ASIDE = "set aside"
    """The page alone is refused, its site being well."""
    SECTION_PAUSED = "section paused"
    """The pages of a section alone are refused, their site being well."""
    SECTION_PROLONGED = "section prolonged"
    SECTION_RESUMED = "section resumed"
    SECTION_GIVEN_UP = "section given up"


@dataclass(frozen=True)
class Refusal:
    """A site said no to a request."""

    now: float
    """When, in seconds."""
    reason: str
    """Why, in words for a log."""
    retry_after: float | None = None
    """Seconds that the server asks for, if it does."""
    jitter: float = 0.0
    """From 0 to 0.1: by which a pause of our own choice is longer."""


@dataclass(frozen=True)
class PauseLaw:
    """How long pauses last, in seconds, and how many failed probes end in giving up."""

    first: float = 1.0
    """The first pause, of a site that names no time; three times as long after a failed probe."""
    longest: float = 3600.0
    """No pause of our own choice is longer."""
    retry_after_longest: float = 86400.0
    """No pause that a server asks for is longer."""
    tries: int = 9
    """Failed probes after which the site is given up: 6,880 s in all."""
    recovers: bool = True
    """Whether a site is asked at a growing rate after a pause; if not, it is open at once."""
    asks_once: bool = True
    """Whether requests that were never sent are sent once before they fail with their site."""
    base: float | None = None
    """The pause after the first failed probe, which doubles then; None: they triple. Deprecated."""

    def pause(self, step: int, refusal: Refusal) -> float:
        """Return the seconds to leave the site alone.

        Args:
            step: failed probes, in a row, that made the pause longer.
            refusal: the last one.
        """
        if refusal.retry_after is not None:
            return min(refusal.retry_after, self.retry_after_longest)
        if not step:
            return self.first
        return self.own_pause(step) * (1 + refusal.jitter)

    def own_pause(self, step: int) -> float:
        """Return the seconds of a pause that no server names a time for, jitter left out."""
        # The exponents are bounded: the pause has long been the longest, and 3**2000 is no float.
        if self.base is not None and step:
            return min(self.base * 2.0 ** min(step - 1, 64), self.longest)
        return min(self.first * _GROWTH ** min(step, 64), self.longest)

    def in_all(self, step: int = 0, count: int | None = None) -> float:
        """Return the seconds of some pauses that no server names a time for, jitter left out.

        Args:
            step: of the first.
            count: how many; None: all of a site that is given up.
        """
        left, seconds = self.tries if count is None else count, 0.0
        while left > 0:
            pause = self.own_pause(step)
            if pause == self.own_pause(step + 1):  # it grows no more
                return seconds + left * pause
            seconds += pause
            step, left = step + 1, left - 1
        return seconds

    def of_a_part(self) -> PauseLaw:
        """Return the law for a part of a site that is well else."""
        return replace(self, tries=min(self.tries, _TRIES_OF_A_PART), recovers=False)


class Pause:
    """The pause of a site. ``now`` is in seconds, on any clock that only goes forward.

    Args:
        law: how long pauses last.
    """

    __slots__ = ("law", "lengths", "reason", "recovery", "since", "state", "until")

    def __init__(self, law: PauseLaw) -> None:
        self.law = law
        self.since = inf
        """When it was last open."""
        self.state = PauseState.OPEN
        self.until = 0.0
        """When the site may be asked again, where it is paused."""
        self.reason = ""
        self.recovery: Recovery | None = None
        """How fast the site is asked after its first pause, and what its refusals say."""
        self.lengths = Lengths(law)
        """How long it is, and the next one."""

    def __repr__(self) -> str:
        return f"<Pause: {self.in_words()}>"

    def in_words(self) -> str:
        """Return where it stands, for people."""
        tries = f"{self.failed_probes} failed probes"
        details = {
            PauseState.OPEN: "",
            PauseState.PAUSED: f" until {_clock_time(self.until)}, {tries}: {self.reason}",
            PauseState.PROBING: f", {tries}: {self.reason}",
            PauseState.RECOVERING: f", {self.recovery!r}",
            PauseState.ONCE_EACH: f" after {tries}: {self.reason}",
            PauseState.LAST_PROBING: f" after {tries}: {self.reason}",
            PauseState.GIVEN_UP: f" after {tries}: {self.reason}",
        }
        return f"{self.state.value}{details[self.state]}"

    def as_data(self) -> dict[str, object]:
        """Return what :meth:`restore` needs, as plain data."""
        return {
            "state": self.state.value,
            "until": self.until,
            "reason": self.reason,
            "failed_probes": self.failed_probes,
        }

    @property
    def failed_probes(self) -> int:
        """How many probes failed in a row."""
        return self.lengths.failed

    @property
    def is_open(self) -> bool:
        """Whether it holds nothing back."""
        return self.state is PauseState.OPEN

    @property
    def is_passable(self) -> bool:
        """Whether the site is asked, be it at the rate of a recovery."""
        return self.state in {PauseState.OPEN, PauseState.RECOVERING}

    def due(self, now: float) -> float:
        """Return when the next request may be sent; for ever away, if no time is known."""
        if self.state is PauseState.OPEN:
            return now
        if self.state is PauseState.PAUSED:
            return max(now, self.until)
        if self.state is PauseState.RECOVERING and self.recovery is not None:
            return max(now, self.recovery.next_at)
        if self.state is PauseState.ONCE_EACH:
            return max(now, self.until)
        return inf

    def lasted(self, now: float) -> float:
        """Return the seconds since the site was last open; 0, if it was never paused."""
        return max(0.0, now - self.since)

    @property
    def is_last_round(self) -> bool:
        """Whether requests are sent once each, as the site would be given up."""
        return self.state in {PauseState.ONCE_EACH, PauseState.LAST_PROBING}

    @property
    def gives_up_at(self) -> float:
        """When the site is given up at the latest unless it answers or names a time."""
        left = self.law.tries - self.failed_probes - 1
        return self.until + self.law.in_all(self.lengths.step + 1, left)

    def take(
        self, fact: Fact, now: float, refusal: Refusal | None = None, *, has_served: bool = False
    ) -> News | None:
        """Go by a fact, as the table says.

        Args:
            fact: what has happened. Of the request whose state is asked in between: the glue says
                which one is the probe.
            now: seconds.
            refusal: what is known of it, where the fact is one.
            has_served: whether the site answered anything well in this run.

        Returns:
            What is to be told of it.
        """
        said = _Said(now, refusal, has_served)
        for row in _ROWS.get((self.state, fact), ()):
            if row.when(self, said):
                self.state = row.to
                return row.news if row.does(self, said) is not False else None
        return None

    def restore(self, now: float, until: float, reason: str, failed_probes: int) -> None:
        """Go on with the pause of a former run, if it is not over."""
        until = min(until, now + max(self.law.longest, self.law.retry_after_longest))
        if self.state is not PauseState.OPEN or until <= now:
            return
        if self.law.recovers and self.recovery is None:
            self.recovery = Recovery()
        self.since = now
        self.state = PauseState.PAUSED
        self.until = until
        self.reason = reason
        self.lengths.restore(failed_probes)


def _clock_time(seconds: float) -> str:
    try:
        return f"{datetime.fromtimestamp(seconds, tz=timezone.utc):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, OSError, ValueError):  # further away than there are dates
        return f"{seconds:g}"


@dataclass(frozen=True)
class _Said:
    """What a pause is told with a fact."""

    now: float
    refusal: Refusal | None
    has_served: bool


def _always(_pause: Pause, _said: _Said) -> bool:
    return True


def _nothing(_pause: Pause, _said: _Said) -> None:
    pass


# Conditions of the table.


def _asks_for_longer(_pause: Pause, said: _Said) -> bool:
    return said.refusal is not None and said.refusal.retry_after is not None


def _tries_are_used_up(pause: Pause, _said: _Said) -> bool:
    return pause.failed_probes + 1 >= pause.law.tries


def _what_was_never_sent_goes_once(pause: Pause, said: _Said) -> bool:
    return _tries_are_used_up(pause, said) and pause.law.asks_once and said.has_served


def _enough_were_sent(pause: Pause, _said: _Said) -> bool:
    return pause.failed_probes + 1 >= pause.law.tries + _LAST_TRIES


def _recovers(pause: Pause, _said: _Said) -> bool:
    return pause.recovery is not None


# What the rows of the table do. False: it is no news.


def _begin(pause: Pause, said: _Said) -> None:
    if pause.recovery is None and pause.law.recovers:
        pause.recovery = Recovery()
    pause.since = said.now
    _stay_away(pause, said, pause.lengths.begin(said.now, pause.recovery))


def _stay_away(pause: Pause, said: _Said, seconds: float | None = None) -> None:
    refusal = said.refusal
    assert refusal is not None  # noqa: S101 -- the rows that come here are of refusals
    pause.reason = refusal.reason
    if seconds is None or refusal.retry_after is not None:
        seconds = pause.law.pause(pause.lengths.step, refusal)
    pause.until = refusal.now + seconds


def _extend(pause: Pause, said: _Said) -> bool:
    refusal = said.refusal
    assert refusal is not None  # noqa: S101 -- as above
    before, until = pause.until, refusal.now + pause.law.pause(0, refusal)
    pause.until = max(before, until)
    # The answers of a burst are some milliseconds apart: that is no news.
    return until - before >= _NEWS


def _lengthen(pause: Pause, said: _Said) -> None:
    pause.lengths.lengthen(pause.recovery)
    _stay_away(pause, said)


def _give_up(pause: Pause, said: _Said) -> None:
    if said.refusal is not None:
        pause.reason = said.refusal.reason


def _give_up_for_good(pause: Pause, said: _Said) -> None:
    pause.lengths.failed += 1
    _give_up(pause, said)


def _send_once(pause: Pause, said: _Said) -> None:
    _give_up_for_good(pause, said)
    named = None if said.refusal is None else said.refusal.retry_after
    pause.until = said.now + max(_APART, min(named or 0.0, pause.law.retry_after_longest))


def _recover(pause: Pause, said: _Said) -> None:
    lengths, recovery = pause.lengths, pause.recovery
    if recovery is not None:
        is_telling = lengths.is_telling(recovery)
        recovery.resume(said.now, is_telling=is_telling, is_short=not lengths.is_recalled)
    lengths.end(said.now, recovery)


def _open(pause: Pause, said: _Said) -> None:
    pause.lengths.end(said.now, pause.recovery)


def _count(pause: Pause, said: _Said) -> None:
    if pause.recovery is not None:
        pause.recovery.sent(said.now)


def _has_recovered(pause: Pause, said: _Said) -> bool:
    return pause.recovery is None or pause.recovery.answered(said.now)


def _be_due(pause: Pause, said: _Said) -> None:
    pause.until = said.now


class Transition(NamedTuple):
    """One row: in this state this fact, if the condition holds, leads to that state."""

    state: PauseState
    fact: Fact
    to: PauseState
    when: Callable[[Pause, Any], bool] = _always
    does: Callable[[Pause, Any], bool | None] = _nothing
    news: News | None = None


_S, _F = PauseState, Fact

TRANSITIONS: tuple[Transition, ...] = (
    Transition(_S.OPEN, _F.REFUSED, _S.PAUSED, does=_begin, news=News.PAUSED),
    Transition(
        _S.PAUSED,
        _F.REFUSED,
        _S.PAUSED,
        when=_asks_for_longer,
        does=_extend,
        news=News.PROLONGED,
    ),
    Transition(_S.PAUSED, _F.SENT, _S.PROBING),
    Transition(_S.PAUSED, _F.ENDED_BY_HAND, _S.PAUSED, does=_be_due),
    Transition(
        _S.PROBING,
        _F.PROBE_ANSWERED,
        _S.RECOVERING,
        when=_recovers,
        does=_recover,
        news=News.RESUMED,
    ),
    Transition(_S.PROBING, _F.PROBE_ANSWERED, _S.OPEN, does=_open, news=News.RESUMED),
    Transition(
        _S.PROBING,
        _F.PROBE_REFUSED,
        _S.ONCE_EACH,
        when=_what_was_never_sent_goes_once,
        does=_send_once,
        news=News.ASKS_ONCE_EACH,
    ),
    Transition(
        _S.PROBING,
        _F.PROBE_REFUSED,
        _S.GIVEN_UP,
        when=_tries_are_used_up,
        does=_give_up_for_good,
        news=News.GAVE_UP,
    ),
    Transition(_S.PROBING, _F.PROBE_REFUSED, _S.PAUSED, does=_lengthen, news=News.PROLONGED),
    Transition(_S.PROBING, _F.PROBE_LOST, _S.PAUSED, does=_be_due),
    Transition(_S.RECOVERING, _F.REFUSED, _S.PAUSED, does=_begin, news=News.PAUSED),
    Transition(_S.RECOVERING, _F.SENT, _S.RECOVERING, does=_count),
    Transition(
        _S.RECOVERING,
        _F.ANSWERED,
        _S.OPEN,
        when=_has_recovered,
        news=News.RECOVERED,
    ),
    Transition(_S.ONCE_EACH, _F.SENT, _S.LAST_PROBING),
    Transition(
        _S.LAST_PROBING,
        _F.PROBE_ANSWERED,
        _S.RECOVERING,
        when=_recovers,
        does=_recover,
        news=News.RESUMED,
    ),
    Transition(_S.LAST_PROBING, _F.PROBE_ANSWERED, _S.OPEN, does=_open, news=News.RESUMED),
    Transition(
        _S.LAST_PROBING,
        _F.PROBE_REFUSED,
        _S.GIVEN_UP,
        when=_enough_were_sent,
        does=_give_up_for_good,
        news=News.GAVE_UP,
    ),
    Transition(_S.LAST_PROBING, _F.PROBE_REFUSED, _S.ONCE_EACH, does=_send_once),
    Transition(_S.LAST_PROBING, _F.PROBE_LOST, _S.ONCE_EACH),
    *(
        Transition(state, _F.GIVE_UP, _S.GIVEN_UP, does=_give_up, news=News.GAVE_UP)
        for state in PauseState
        if state is not _S.GIVEN_UP
    ),
)

_ROWS: dict[tuple[PauseState, Fact], list[Transition]] = {}
for _row in TRANSITIONS:
    _ROWS.setdefault((_row.state, _row.fact), []).append(_row)
