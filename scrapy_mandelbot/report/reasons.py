"""Why a site's requests wait: one reason for each site, the first of :class:`Reason`.

Pure: the state of the site and the time go in. ``docs/status.rst`` says what to do about each.
"""

from __future__ import annotations

from enum import Enum
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

from scrapy_mandelbot.politeness.pause_table import PauseState

if TYPE_CHECKING:
    from scrapy_mandelbot.politeness import Pause, SiteState


class Reason(Enum):
    """Why the requests of a site wait, or that they need not."""

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

    def __str__(self) -> str:
        return self.value


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


class Why(NamedTuple):
    """Why the requests of a site wait."""

    reason: Reason
    until: float | None
    """When that ends, in seconds since the epoch; ``inf``: when the operator ends it; None: when an
    answer has come, or not in this run."""
    details: str
    """In words; of the web, but printable and short."""


def why(site: SiteState, now: float, route: str = "") -> Why | None:
    """Return what holds a whole site back; None: nothing does.

    Args:
        site: which one.
        now: seconds since the epoch.
        route: the proxy that its requests take, where proxies are told apart.
    """
    pause = site.pause(route)
    if site.has_given_up(route):
        return Why(Reason.GIVEN_UP, None, "" if pause is None else pause.reason)
    if site.held_until > now:
        return Why(Reason.BY_HAND, site.held_until, "")
    if site.scout is not None:
        return Why(Reason.ROBOTS_TXT, None, "one request finds out its rules")
    if pause is not None and not pause.is_open:
        found = _of_pause(pause, now)
        if found is not None:
            return found
    if not site.is_plain and site.pause_due(now, route) > now:  # all its proxies are paused
        return Why(Reason.PAUSED, _finite(site.pause_due(now, route)), "all its proxies are paused")
    return _of_pace(site, now)


def _of_pause(pause: Pause, now: float) -> Why | None:
    tries = f"{pause.failed_probes} failed tries" if pause.failed_probes else ""
    details = ", ".join(filter(None, (pause.reason, tries)))
    if pause.state is PauseState.PAUSED:
        # Its time is over: the next request that the queue hands out is the probe.
        reason = Reason.PAUSED if pause.until > now else Reason.PROBED
        return Why(reason, pause.until, details)
    if pause.is_last_round:
        return Why(Reason.LAST_ROUND, _finite(pause.due(now)), details)
    if pause.state is PauseState.PROBING:
        return Why(Reason.PROBED, None, details)
    due = pause.due(now)
    if due <= now or pause.recovery is None:
        return None
    return Why(Reason.RECOVERING, due, f"{pause.recovery.rate:.1f} requests a second")


def _of_pace(site: SiteState, now: float) -> Why | None:
    if not site.has_pace:
        return None
    opens = site.pace.opens(now)
    if opens > now:
        return Why(Reason.VISIT_TIME, opens, site.pace.visits_in_words)
    due = site.due(now)
    if due <= now:
        return None
    return Why(Reason.PACE, _finite(due), f"{site.pace} ({site.pace.source})")


def _finite(due: float) -> float | None:
    return due if isfinite(due) else None
