"""Whose turn it is at a site with a pace.

There is one turn at a time. The request that has it may be sent, and the next turn comes when its
answer has ended and the delay is over. A turn that was not used, as the rules forbid the request or
the cache has its answer, costs no delay. Within times without a delay every request has its turn.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy_mandelbot.politeness.flight import Flight
    from scrapy_mandelbot.politeness.pace import Metronome


class Turns:
    """The turns of one site.

    Args:
        metronome: tells when the next one is.
    """

    __slots__ = ("metronome", "shut_since", "turn", "wanted_since")

    def __init__(self, metronome: Metronome) -> None:
        self.metronome = metronome
        self.turn: Flight | None = None
        """The request whose turn it is, or that was sent last."""
        self.wanted_since: float | None = None
        """Since when a request waits for the next turn."""
        self.shut_since: float | None = None
        """Since when a request waits for the site's visit time."""

    def due(self, now: float) -> float:
        """Return when the next turn is; ``inf``: when the last one is used."""
        if self.metronome.is_free_at(now):
            return now
        if self.turn is not None and not self.turn.is_sent:
            return inf
        return self.metronome.due(now)

    def has_turn(self, flight: Flight, now: float) -> bool:
        """Return whether a request may be sent now."""
        return self.turn is flight or self.due(now) <= now

    def hold(self, until: float) -> None:
        """Have the next turn no sooner than then; one that was given and not used is taken back."""
        if self.turn is not None and not self.turn.is_sent:
            self.turn = None
        self.metronome.hold(until)

    def give(self, flight: Flight) -> None:
        """Give the turn that is due to a request, if it has not got it."""
        if self.turn is not flight:
            self.turn = flight
            flight.is_sent = False

    def ended(self, flight: Flight, now: float) -> bool:
        """Note that a request has its answer, or will get none; return whether it had the turn."""
        if self.turn is flight:
            self.turn = None
            if flight.is_sent:
                self.metronome.answered(now)
            return True
        if flight.is_sent and self.metronome.is_free_at(now):  # one of several under way
            self.metronome.sent(now)
            self.metronome.answered(now)
        return False

    def is_idle(self, now: float) -> bool:
        """Return whether the site may be asked at once, and no request is under way."""
        return self.turn is None and self.due(now) <= now
