"""The pause of a site: may it be asked now, and by how many at once.

Source: Mandelbot, "Temporarily Stop Crawling": a 503 to any request stops the crawl of the site,
which resumes at some later time. How it resumes is ours: one request, the probe, goes first.

What happens is the table ``TRANSITIONS`` below: of the rows for a state and a fact the first whose
condition holds is taken, and a fact without a row changes nothing. So a late refusal, one of the
burst that caused the pause, escalates nothing, but a longer ``Retry-After`` extends the pause; and
only failed probes lengthen the next one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from enum import Enum
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_mandelbot.politeness.recovery import Recovery

if TYPE_CHECKING:
    from collections.abc import Callable

_NEWS = 1.0  # seconds by which a pause has to grow for anyone to hear of it
_LONGEST_FOR_ONE = 5  # first pauses; one broken page must not keep a crawl open for minutes


class PauseState(Enum):
    """Where a pause stands."""

    OPEN = "open"
    PAUSED = "paused"
    PROBING = "probing"
    RECOVERING = "recovering"
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
    SET_ASIDE = "set aside"
    """The URL alone is refused, its site being well."""


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
    """From -0.1 to 0.1: by which a pause of our own choice is longer."""


@dataclass(frozen=True)
class PauseLaw:
    """How long pauses last, in seconds, and how many failed probes end in giving up."""

    first: float = 1.0
    """The first pause, of a site that names no time."""
    base: float = 60.0
    """The pause after the first failed probe; each further one doubles it."""
    longest: float = 3600.0
    """No pause of our own choice is longer."""
    retry_after_longest: float = 86400.0
    """No pause that a server asks for is longer."""
    tries: int = 8
    """Failed probes after which the site is given up."""
    recovers: bool = True
    """Whether a site is asked at a growing rate after a pause; if not, it is open at once."""

    def pause(self, failed_probes: int, refusal: Refusal) -> float:
        """Return the seconds to leave the site alone.

        Args:
            failed_probes: failed in a row since the site was open.
            refusal: the last one.
        """
        if refusal.retry_after is not None:
            return min(refusal.retry_after, self.retry_after_longest)
        if not failed_probes:
            return self.first
        return self._grown(self.base, failed_probes) * (1 + refusal.jitter)

    def pause_of_one(self, times: int, retry_after: float | None) -> float:
        """Return the seconds to set a request aside that alone is refused, its site being well.

        Args:
            times: how often the site has refused it.
            retry_after: seconds that the server asks for, if it does.
        """
        if retry_after is not None:
            return min(retry_after, self.retry_after_longest)
        return min(self._grown(self.first, times), _LONGEST_FOR_ONE * self.first)

    def _grown(self, first: float, times: int) -> float:
        # The exponent is bounded: the pause has long been the longest, and 2**2000 is no float.
        return min(first * 2.0 ** min(times - 1, 64), self.longest)


class Pause:
    """The pause of a site. ``now`` is in seconds, on any clock that only goes forward.

    Args:
        law: how long pauses last.
    """

    __slots__ = ("failed_probes", "law", "reason", "recovery", "since", "state", "until")

    def __init__(self, law: PauseLaw) -> None:
        self.law = law
        self.since = inf
        """When it was last open."""
        self.state = PauseState.OPEN
        self.failed_probes = 0
        self.until = 0.0
        """When the site may be asked again, where it is paused."""
        self.reason = ""
        self.recovery: Recovery | None = None
        """How fast the site is asked, from its first pause until it is as open as before."""

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
        return inf

    def lasted(self, now: float) -> float:
        """Return the seconds since the site was last open; 0, if it was never paused."""
        return max(0.0, now - self.since)

    def take(
        self, fact: Fact, now: float, refusal: Refusal | None = None, good_rate: float = 0.0
    ) -> News | None:
        """Go by a fact, as the table says.

        Args:
            fact: what has happened. Of the request whose state is asked in between: the glue says
                which one is the probe.
            now: seconds.
            refusal: what is known of it, where the fact is one.
            good_rate: good answers a second that the site gave lately, for the first recovery.

        Returns:
            What is to be told of it.
        """
        said = _Said(now, refusal, good_rate)
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
        if self.law.recovers:
            self.recovery = Recovery(0.0)
        self.since = now
        self.state = PauseState.PAUSED
        self.until = until
        self.reason = reason
        self.failed_probes = failed_probes


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
    good_rate: float


def _always(_pause: Pause, _said: _Said) -> bool:
    return True


def _nothing(_pause: Pause, _said: _Said) -> None:
    pass


# Conditions of the table.


def _asks_for_longer(_pause: Pause, said: _Said) -> bool:
    return said.refusal is not None and said.refusal.retry_after is not None


def _tries_are_used_up(pause: Pause, _said: _Said) -> bool:
    return pause.failed_probes + 1 >= pause.law.tries


def _recovers(pause: Pause, _said: _Said) -> bool:
    return pause.recovery is not None


# What the rows of the table do. False: it is no news.


def _begin(pause: Pause, said: _Said) -> None:
    if pause.recovery is not None:
        pause.recovery.refused(said.now)
    elif pause.law.recovers:
        pause.recovery = Recovery(said.good_rate)
    pause.failed_probes = 0
    pause.since = said.now
    _stay_away(pause, said)


def _stay_away(pause: Pause, said: _Said) -> None:
    refusal = said.refusal
    assert refusal is not None  # noqa: S101 -- the rows that come here are of refusals
    pause.reason = refusal.reason
    pause.until = refusal.now + pause.law.pause(pause.failed_probes, refusal)


def _extend(pause: Pause, said: _Said) -> bool:
    refusal = said.refusal
    assert refusal is not None  # noqa: S101 -- as above
    before, until = pause.until, refusal.now + pause.law.pause(0, refusal)
    pause.until = max(before, until)
    # The answers of a burst are some milliseconds apart: that is no news.
    return until - before >= _NEWS


def _lengthen(pause: Pause, said: _Said) -> None:
    pause.failed_probes += 1
    _stay_away(pause, said)


def _give_up(pause: Pause, said: _Said) -> None:
    if said.refusal is not None:
        pause.reason = said.refusal.reason


def _give_up_for_good(pause: Pause, said: _Said) -> None:
    pause.failed_probes += 1
    _give_up(pause, said)


def _recover(pause: Pause, said: _Said) -> None:
    pause.failed_probes = 0
    if pause.recovery is not None:
        pause.recovery.resume(said.now)


def _open(pause: Pause, _said: _Said) -> None:
    pause.failed_probes = 0
    pause.recovery = None


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
        does=_open,
        news=News.RECOVERED,
    ),
    *(
        Transition(state, _F.GIVE_UP, _S.GIVEN_UP, does=_give_up, news=News.GAVE_UP)
        for state in (_S.OPEN, _S.PAUSED, _S.PROBING, _S.RECOVERING)
    ),
)

_ROWS: dict[tuple[PauseState, Fact], list[Transition]] = {}
for _row in TRANSITIONS:
    _ROWS.setdefault((_row.state, _row.fact), []).append(_row)
