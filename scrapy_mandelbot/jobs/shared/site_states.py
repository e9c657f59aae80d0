"""How a site is to be asked, in the form in which its next owner is told.

What is not over when a site changes hands goes on: a pause, its failed probes, the turn of a pace.
Of a recovery only that it has not ended: the next owner begins with a probe. What cannot be read
holds a site back no longer than its owner has said to Redis itself.
"""

from __future__ import annotations

import json
from math import inf, isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_mandelbot.politeness import SiteState

ENDLESS = "inf"
"""Said of a site that is given up: no worker has it before the next run."""


class Left(NamedTuple):
    """What an owner leaves of a site."""

    state: bytes
    milliseconds: str
    """For which it is left alone from now on, or ``ENDLESS``."""


class LeftPause(NamedTuple):
    """A pause that was not over."""

    route: str
    until: float
    reason: str
    failed_probes: int


NOTHING_LEFT = Left(b"", "0")


def is_calm(site: SiteState) -> bool:
    """Return whether nothing is under way at a site that its next owner could not go on with."""
    return site.is_plain or (site.scout is None and not any(_pauses(site, 0.0)))


def left_of(site: SiteState, now: float, server_time: float, least: float) -> Left:
    """Return what the next owner of a site has to know.

    Args:
        site: which one.
        now: seconds.
        server_time: how far the server's clock is ahead of that, in seconds.
        least: seconds for which the site is left alone in any case.
    """
    if site.is_plain and not least:
        return NOTHING_LEFT
    rest = max(least, site.next_turn(now) - now, site.pause_due(now) - now, 0.0)
    if site.has_given_up():
        rest = inf
    elif not isfinite(rest):  # probed just now
        rest = least
    pauses = [
        (route, pause["until"] + server_time, pause["reason"], pause["failed_probes"])
        for route, pause in _pauses(site, now)
    ]
    state = json.dumps(pauses).encode() if pauses else b""
    return Left(state, ENDLESS if rest == inf else f"{rest * 1000:.0f}")


def read_left(state: bytes, server_time: float) -> list[LeftPause]:
    """Return what was left of a site; nothing, where that cannot be read."""
    try:
        return [
            LeftPause(str(route), float(until) - server_time, str(reason), int(failed))
            for route, until, reason, failed in json.loads(state or b"[]")
        ]
    except (ValueError, TypeError, OverflowError):
        return []


def _pauses(site: SiteState, now: float) -> Iterator[tuple[str, dict[str, Any]]]:
    yield from site.as_data(now)["pauses"].items()
