"""The facts of a pause by name, with requests of no site: a test drives the pause
through them.
"""

from __future__ import annotations

from enum import Enum
from math import inf

from scrapy_mandelbot.politeness.pause import Pause, PauseEffect


class Fact(Enum):
    SENT = "sent"
    ANSWERED = "answered well"
    REFUSED = "refused"
    PROBE_ANSWERED = "probe answered well"
    PROBE_REFUSED = "probe refused"
    PROBE_LOST = "probe lost"
    ENDED_MANUALLY = "ended manually"
    GIVE_UP = "give up"


class Sent:
    """A request that was sent."""

    def __init__(self, sent_at: float) -> None:
        self.sent_at = sent_at

    def reserve(self, *_: object) -> None:
        """What it holds is released by the test."""


def _sent(pause: Pause, now: float, _refusal, _has_served):
    return pause.let_pass(Sent(now), now)


def _answered(pause: Pause, now: float, _refusal, _has_served):
    if pause.rate_control is not None:
        pause.rate_control.good = lambda *_: None  # a fact says nothing of rates
    return pause.answered(Sent(inf), now)


def _refused(pause: Pause, _now: float, refusal, _has_served):
    return pause.trip(refusal)


def _probe_answered(pause: Pause, now: float, _refusal, _has_served):
    return pause.answered(pause.probe, now) if pause.probe else None


def _probe_refused(pause: Pause, _now: float, refusal, has_served):
    return (
        pause.refused(pause.probe, refusal, has_served=has_served)
        if pause.probe
        else None
    )


def _probe_lost(pause: Pause, now: float, _refusal, _has_served):
    pause.released(pause.probe or Sent(inf), now)


def _ended_manually(pause: Pause, now: float, _refusal, _has_served):
    pause.be_due(now)


def _given_up(pause: Pause, _now: float, refusal, _has_served):
    reason = pause.reason if refusal is None else refusal.reason
    return PauseEffect.GAVE_UP if pause.give_up(reason) else None


_CALLS = {
    Fact.SENT: _sent,
    Fact.ANSWERED: _answered,
    Fact.REFUSED: _refused,
    Fact.PROBE_ANSWERED: _probe_answered,
    Fact.PROBE_REFUSED: _probe_refused,
    Fact.PROBE_LOST: _probe_lost,
    Fact.ENDED_MANUALLY: _ended_manually,
    Fact.GIVE_UP: _given_up,
}


def take(pause: Pause, fact: Fact, now: float, refusal=None, *, has_served=False):
    return _CALLS[fact](pause, now, refusal, has_served)


Pause.take = take
