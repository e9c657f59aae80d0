"""A request in flight: all that is known of it while it is outside of the queue.

What a request needs is looked up once, when it is handed out, and carried here.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy_mandelbot.robots.pace import Metronome
    from scrapy_mandelbot.sites.site import SiteState


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


_NO_META: Mapping[str, object] = {}


class Flight:
    """A request on its way to its site.

    Args:
        request: which one.
        site: where it goes.
        route: the way it goes: a proxy, where those are told apart, else ``""``.
    """

    __slots__ = (
        "dont_filter",
        "is_from_queue",
        "is_noticed",
        "is_sent",
        "is_waiting",
        "keeps_pauses",
        "meta",
        "not_before",
        "passed",
        "request",
        "route",
        "sent_at",
        "site",
        "slot",
        "tick",
        "waits_since",
    )

    def __init__(self, request: Any, site: SiteState, route: str = "") -> None:
        self.request = request
        self.site = site
        self.route = route
        self.passed: str | None = None
        """The route by which it was handed out, or has had its turn; None: it has not."""
        self.tick = site.ticks
        """When it was handed out, in ticks of its site."""
        self.sent_at = 0.0
        """When it was handed out, or left for its site, in seconds."""
        self.is_from_queue = False
        self.keeps_pauses = True
        """Whether pauses hold it back; a pace does in any case."""
        self.is_sent = False
        """Whether it has left for its site."""
        self.is_waiting = False
        """Whether it waits, and holds no place of the downloader."""
        self.is_noticed = False
        """Whether its answer has been taken into account."""
        self.not_before = 0.0
        """When it may be sent, as far as its URL alone is refused."""
        self.waits_since: float | None = None
        """Since when it waits for the end of a pause, where it is not from the queue."""
        self.slot = ""
        """The download slot through which it goes, where it is from the queue."""
        self.dont_filter = False
        self.meta: Mapping[str, object] = _NO_META
        """Of the meta keys that the way out changes, those that it had in the queue."""

    def __repr__(self) -> str:
        origin = "from the queue" if self.is_from_queue else "from elsewhere"
        return f"<Flight of {self.request} {origin}>"
