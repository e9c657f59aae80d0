"""The facts of a pause by name, with requests of no site: for tests that were written for a table."""

from __future__ import annotations

from enum import Enum
from math import inf

from scrapy_mandelbot.sites.pause import Pause


class Fact(Enum):
    SENT = "sent"
    ANSWERED = "answered well"
    REFUSED = "refused"
    PROBE_ANSWERED = "probe answered well"
    PROBE_REFUSED = "probe refused"
    PROBE_LOST = "probe lost"
    ENDED_BY_HAND = "ended by hand"
    GIVE_UP = "give up"


class Sent:
    """A request that was sent."""

    def __init__(self, sent_at: float) -> None:
        self.sent_at = sent_at


def take(pause: Pause, fact: Fact, now: float, refusal=None, *, has_served=False):
    probe = pause.probe or Sent(inf)
    if fact is Fact.SENT:
        return pause.let_pass(Sent(now), now)
    if fact is Fact.ANSWERED:
        recovery = pause.recovery
        if recovery is not None:
            recovery.good = lambda *_: None  # the table did not tell of it
        return pause.answered(Sent(inf), now)
    if fact is Fact.REFUSED:
        return pause.trip(refusal)
    if fact is Fact.PROBE_ANSWERED:
        return pause.answered(probe, now) if pause.probe else None
    if fact is Fact.PROBE_REFUSED:
        return pause.refused(probe, refusal, has_served=has_served) if pause.probe else None
    if fact is Fact.PROBE_LOST:
        pause.ended(probe, now)
        return None
    if fact is Fact.ENDED_BY_HAND:
        return pause.be_due(now)
    from scrapy_mandelbot.sites.pause import News

    return News.GAVE_UP if pause.give_up(pause.reason if refusal is None else refusal.reason) else None


Pause.take = take
