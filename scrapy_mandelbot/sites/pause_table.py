"""What happens to a pause: a table, which is executed.

Of the rows for a state and a fact the first whose condition holds is taken, and a fact without a
row changes nothing. So a late refusal, one of the burst that caused the pause, escalates nothing,
but a longer ``Retry-After`` extends the pause; and only failed probes lengthen the next one.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_mandelbot.sites.recovery import Recovery

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_mandelbot.sites.pause import Pause, Refusal

_NEWS = 1.0  # seconds by which a pause has to grow for anyone to hear of it
_APART = 1.0  # seconds from one request to the next where each is sent once more
_LAST_TRIES = 50  # requests that are sent once after the site is given up, none answered well


class PauseState(Enum):
    """Where a pause stands."""

    OPEN = "open"
    PAUSED = "paused"
    PROBING = "probing"
    RECOVERING = "recovering"
    ONCE_EACH = "once each"
    """Given up, but what was not refused twice is sent once more, slowly, before it fails."""
    LAST_PROBING = "probing, once each"
    GIVEN_UP = "given up"


LAST_ROUND = frozenset({PauseState.ONCE_EACH, PauseState.LAST_PROBING})
"""Where requests are sent once each, as their site would be given up."""


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
    """It would be given up; what was not refused twice is sent once more before that."""
    SET_ASIDE = "set aside"
    """The page alone is refused, its site being well."""
    REFUSES_ROBOTS = "refuses robots"
    """Robots get challenges, prices, bare refusals: there, or from the whole site."""
    SECTION_PAUSED = "section paused"
    """The pages of a section alone are refused, their site being well."""
    SECTION_PROLONGED = "section prolonged"
    SECTION_RESUMED = "section resumed"
    SECTION_GIVEN_UP = "section given up"


class FactDetails(NamedTuple):
    """What a pause is told with a fact."""

    now: float
    refusal: Refusal | None
    has_served: bool


# Conditions of the table.


def _asks_for_longer(_pause: Pause, said: FactDetails) -> bool:
    return said.refusal is not None and said.refusal.retry_after is not None


def _tries_are_used_up(pause: Pause, _said: FactDetails) -> bool:
    return pause.failed_probes + 1 >= pause.law.tries


def _what_was_never_sent_goes_once(pause: Pause, said: FactDetails) -> bool:
    return _tries_are_used_up(pause, said) and pause.law.asks_once and said.has_served


def _enough_were_sent(pause: Pause, _said: FactDetails) -> bool:
    return pause.failed_probes + 1 >= pause.law.tries + _LAST_TRIES


def _recovers(pause: Pause, _said: FactDetails) -> bool:
    return pause.recovery is not None


# What the rows of the table do. False: it is no news.


def _begin(pause: Pause, said: FactDetails) -> None:
    if pause.recovery is None and pause.law.recovers:
        pause.recovery = Recovery()
    pause.since = said.now
    _stay_away(pause, said, pause.lengths.begin(said.now, pause.recovery))


def _stay_away(pause: Pause, said: FactDetails, seconds: float | None = None) -> None:
    refusal = said.refusal
    assert refusal is not None  # noqa: S101 -- the rows that come here are of refusals
    pause.reason = refusal.reason
    if seconds is None or refusal.retry_after is not None:
        seconds = pause.law.pause(pause.lengths.step, refusal)
    if refusal.retry_after is None and pause.recovery is not None:
        seconds = max(seconds, pause.recovery.least_pause)
    pause.until = refusal.now + seconds


def _extend(pause: Pause, said: FactDetails) -> bool:
    refusal = said.refusal
    assert refusal is not None  # noqa: S101 -- as above
    before, until = pause.until, refusal.now + pause.law.pause(0, refusal)
    pause.until = max(before, until)
    # The answers of a burst are some milliseconds apart: that is no news.
    return until - before >= _NEWS


def _lengthen(pause: Pause, said: FactDetails) -> None:
    pause.lengths.lengthen(pause.recovery)
    _stay_away(pause, said)


def _give_up(pause: Pause, said: FactDetails) -> None:
    if said.refusal is not None:
        pause.reason = said.refusal.reason


def _give_up_for_good(pause: Pause, said: FactDetails) -> None:
    pause.lengths.failed += 1
    pause.lengths.place += 1
    _give_up(pause, said)


def _send_once(pause: Pause, said: FactDetails) -> None:
    _give_up_for_good(pause, said)
    named = None if said.refusal is None else said.refusal.retry_after
    seconds = max(_APART, min(named or 0.0, pause.law.retry_after_longest))
    pause.until = max(pause.until, said.now + seconds)


def _recover(pause: Pause, said: FactDetails) -> None:
    lengths, recovery = pause.lengths, pause.recovery
    if recovery is not None:
        is_telling = lengths.is_telling(recovery)
        recovery.resume(said.now, is_telling=is_telling, is_short=not lengths.is_recalled)
    lengths.end(said.now, recovery)


def _open(pause: Pause, said: FactDetails) -> None:
    pause.lengths.end(said.now, pause.recovery)


def _count(pause: Pause, said: FactDetails) -> None:
    if pause.recovery is not None:
        pause.recovery.sent(said.now)


def _has_recovered(pause: Pause, said: FactDetails) -> bool:
    return pause.recovery is None or pause.recovery.answered(said.now)


def _be_due(pause: Pause, said: FactDetails) -> None:
    pause.until = said.now


class Transition(NamedTuple):
    """One row: in this state this fact, if the condition holds, leads to that state."""

    state: PauseState
    fact: Fact
    to: PauseState
    when: Callable[[Pause, Any], bool] | None = None
    does: Callable[[Pause, Any], bool | None] | None = None
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
    Transition(_S.PAUSED, _F.SENT, _S.PROBING, does=_be_due),
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
    *(
        Transition(
            state, _F.REFUSED, state, when=_asks_for_longer, does=_extend, news=News.PROLONGED
        )
        for state in (_S.ONCE_EACH, _S.LAST_PROBING)
    ),
    Transition(_S.ONCE_EACH, _F.SENT, _S.LAST_PROBING, does=_be_due),
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

ROWS: dict[tuple[PauseState, Fact], list[Transition]] = {}
"""The rows by state and fact, in their order."""
for _row in TRANSITIONS:
    ROWS.setdefault((_row.state, _row.fact), []).append(_row)
