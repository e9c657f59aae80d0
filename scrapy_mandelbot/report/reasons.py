"""Why a site's requests wait: one reason for each site, the first of :class:`Reason`.

Pure: the state of the site and the time go in. ``docs/status.rst`` says what to do about each.
"""

from __future__ import annotations

from enum import Enum
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

from scrapy_mandelbot.politeness.pause_table import PauseState

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_mandelbot.politeness import Pause, SiteState


class Reason(Enum):
    """Why the requests of a site wait, or that they need not."""

    place: int
    """Of the reason in their order."""

    GIVEN_UP = "given up"
    BY_HAND = "paused by hand"
    PAUSED = "paused"
    PROBED = "probed"
    LAST_ROUND = "asked once more"
    VISIT_TIME = "closed"
    SECTION = "section set aside"
    PAGE = "page set aside"
    ROBOTS_TXT = "robots.txt pending"
    RECOVERING = "recovering"
    PACE = "pace"
    SLOT_FULL = "slot full"
    ASKED = "asked"
    NEXT = "next"

    def __init__(self, _words: str) -> None:
        self.place = len(type(self).__members__)

    def __str__(self) -> str:
        return str(self.value)


SHUT = frozenset(
    {
        Reason.GIVEN_UP,
        Reason.BY_HAND,
        Reason.PAUSED,
        Reason.PROBED,
        Reason.VISIT_TIME,
        Reason.SECTION,
        Reason.PAGE,
    }
)
"""Reasons for which a site is asked nothing now, however much room the crawl has."""


class Held(NamedTuple):
    """What holds the requests of a site back."""

    reason: Reason
    until: float | None
    """When that ends, in seconds since the epoch; ``inf``: when the operator ends it; None: when an
    answer has come, or not in this run."""


class Why(NamedTuple):
    """Why the requests of a site wait."""

    reason: Reason
    until: float | None
    """As :attr:`Held.until`."""
    details: str
    """In words; of the web, but printable and short."""


def held(site: SiteState, now: float, route: str = "") -> Held | None:
    """Return what holds a whole site back; None: nothing does. :func:`details_of` has the words.

    Args:
        site: which one.
        now: seconds since the epoch.
        route: the proxy that its requests take, where proxies are told apart.
    """
    if site.is_plain:
        return None
    if site.has_given_up(route):
        return Held(Reason.GIVEN_UP, None)
    if site.held_until > now:
        return Held(Reason.BY_HAND, site.held_until)
    if site.scout is not None:
        return Held(Reason.ROBOTS_TXT, None)
    pause = site.pause(route)
    found = None if pause is None else _of_pause(pause, now)
    return found or _of_proxies(site, now, route) or _of_pace(site, now)


def _of_pause(pause: Pause, now: float) -> Held | None:
    if pause.state is PauseState.PAUSED:
        # Its time is over: the next request that the queue hands out is the probe.
        return Held(Reason.PAUSED if pause.until > now else Reason.PROBED, pause.until)
    if pause.is_last_round:
        return Held(Reason.LAST_ROUND, _finite(pause.due(now)))
    if pause.state is PauseState.PROBING:
        return Held(Reason.PROBED, None)
    due = pause.due(now)
    if due <= now or pause.recovery is None:
        return None
    return Held(Reason.RECOVERING, due)


def _of_proxies(site: SiteState, now: float, route: str) -> Held | None:
    due = site.pause_due(now, route)
    return Held(Reason.PAUSED, _finite(due)) if due > now else None


def _of_pace(site: SiteState, now: float) -> Held | None:
    if not site.has_pace:
        return None
    if site.pace.visits:
        opens = site.pace.opens(now)
        if opens > now:
            return Held(Reason.VISIT_TIME, opens)
    due = site.due(now)
    return None if due <= now else Held(Reason.PACE, _finite(due))


def _finite(due: float) -> float | None:
    return due if isfinite(due) else None


def details_of(site: SiteState, reason: Reason, route: str = "") -> str:
    """Return more of a reason that holds a whole site back, in words."""
    in_words = _DETAILS.get(reason)
    return "" if in_words is None else in_words(site, site.pause(route))


def _details_of_pause(_site: SiteState, pause: Pause | None) -> str:
    if pause is None:
        return ""
    tries = f"{pause.failed_probes} failed tries" if pause.failed_probes else ""
    return ", ".join(filter(None, (pause.reason, tries)))


def _why_paused(site: SiteState, pause: Pause | None) -> str:
    if pause is None or pause.state is not PauseState.PAUSED:
        return "all its proxies are paused"
    return _details_of_pause(site, pause)


def _rate(_site: SiteState, pause: Pause | None) -> str:
    recovery = None if pause is None else pause.recovery
    return "" if recovery is None else f"{recovery.rate:.1f} requests a second"


_DETAILS: dict[Reason, Callable[[SiteState, Pause | None], str]] = {
    Reason.GIVEN_UP: lambda _, pause: "" if pause is None else pause.reason,
    Reason.PAUSED: _why_paused,
    Reason.PROBED: _details_of_pause,
    Reason.LAST_ROUND: _details_of_pause,
    Reason.VISIT_TIME: lambda site, _: site.pace.visits_in_words,
    Reason.ROBOTS_TXT: lambda _site, _pause: "one request finds out its rules",
    Reason.RECOVERING: _rate,
    Reason.PACE: lambda site, _: f"{site.pace} ({site.pace.source})",
}
