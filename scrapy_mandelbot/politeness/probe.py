"""Chooses the request that probes a paused site.

A probe comes from elsewhere than what was refused, and from further away with each that
failed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from math import inf
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.politeness.faults import sections_of
from scrapy_mandelbot.politeness.flight import SAFE_METHODS
from scrapy_mandelbot.politeness.pause_policy import MOST_BY_CHANCE, Mode

if TYPE_CHECKING:
    from scrapy_mandelbot.politeness.pause import Pause
    from scrapy_mandelbot.politeness.site_state import Site

PROBE_IS_LATE = 10.0
"""Seconds, or three times the site's last answer, for which a site waits for a probe.
"""
_DOUBLED = 5  # so often, as more and more requests are out

MOST_LOOKED_THROUGH = 512
"""Requests of a queue that are held while a probe is looked for."""
# requests, for a probe from elsewhere; twice as many after each that failed
_LOOKED_THROUGH = 64
# of the requests that are looked through; its multiples are spread evenly
_GOLDEN = 0.618


def looked_through(site: Site) -> int:
    """Return how many requests are examined to choose the next one to a site.

    One: any will do. Where none of them will do, more are looked through.
    """
    if not site.has_refused or not site.pause.awaits_probe:
        return 1
    doublings = min(site.pause.backoff.place, 10)
    return int(min(_LOOKED_THROUGH * 2**doublings, MOST_LOOKED_THROUGH))


def may_ask_again(site: Site) -> bool:
    """Return whether a good page may be requested again, as a health check.

    Not where a limit counts it, unless a probe failed that no limit explains, or the
    site is paused and pages failed: nothing then said a word about a limit.
    """
    pause = site.pause
    if pause.makes_final_attempts or not site.well_url:
        return False
    if not _is_counted(pause):
        return True
    if site.failures.doubted and not pause.is_passable:
        return True
    rates = pause.rate_control
    if rates is None or not pause.failed_probes:
        return False
    return not rates.may_be_full_after(pause.until - pause.since)


def _is_counted(pause: Pause) -> bool:
    """Return whether the site has a limit, by which it counts requests."""
    return pause.rate_control is not None and pause.rate_control.counts


def pauses_of(site: Site) -> Iterator[Pause]:
    """Yield the pause of a site, and those of its sections."""
    yield site.pause
    for section in site.faults.aside.values():
        yield section.pause


def late_at(site: Site, pause: Pause) -> float:
    """Return when another request may be the probe; ``inf``: there is no probe.

    A probe may be a large file, or stay with a component of the project.
    """
    if pause.probe is None:
        return inf
    usual = site.well_way[1] or {}
    seconds: float = max(PROBE_IS_LATE, 3.0 * usual.get("download_latency", 0.0))
    doubled: float = 2.0 ** min(pause.late_probes, _DOUBLED)
    return pause.probe.sent_at + pause.probe.held_up + seconds * doubled


def refused_least(
    site: Site, requests: Sequence[Any], fingerprint_of: Callable[[Any], bytes]
) -> int:
    """Return which of these requests, all refused before, had best be the probe.

    The one refused least often: a dead page is refused each time. Of several, the one
    refused longest ago; so by turns where a slow limit refuses any page.
    """
    rate_control = site.pause.rate_control
    is_slow = rate_control is not None and rate_control.mode is Mode.SLOW

    def rank(number: int) -> tuple[int, int]:
        fingerprint = fingerprint_of(requests[number])
        one = site.faults.urls.get(fingerprint) or site.failures.pages.get(fingerprint)
        if one is None:
            return 0, -1
        if is_slow:
            return 1, one.last_sent
        return one.times, one.last_sent

    return min(range(len(requests)), key=rank)


def choose_probe(
    site: Site, requests: Sequence[Any], fingerprint_of: Callable[[Any], bytes]
) -> int | None:
    """Return which of these requests had best be the probe.

    One that changes nothing, was never refused, and is of no section that is suspected;
    and one from far between, so that it is no neighbour of what was refused, but of
    what was answered well last. None: there is no such one, or several were refused: a
    page that was answered well had better be asked for again.
    """
    pause = site.pause
    faults = site.faults
    if not site.has_refused:
        return 0
    is_no_chance = pause.failed_probes == MOST_BY_CHANCE
    if is_no_chance and not _is_counted(pause) and may_ask_again(site):
        return None
    first = int(len(requests) * (_GOLDEN * (pause.backoff.place + 1) % 1.0))
    well = frozenset(sections_of(site.well_url))
    for number in chain(range(first, len(requests)), range(first)):
        request = requests[number]
        if request.method not in SAFE_METHODS or faults.is_suspect(request, well):
            continue
        if not site.times(fingerprint_of(request)):
            return number
    return None


def look_for_probe(
    site: Site,
    take: Callable[[int], Sequence[Any]],
    fingerprint_of: Callable[[Any], bytes],
    most: int,
    check: Callable[[Site], bool],
) -> tuple[int | None, list[Any]]:
    """Return which of the requests taken had best be the probe, and all of them.

    `check` sends a health check where none of them will do, and returns whether it has.
    Then no request is the probe.
    """
    taken: list[Any] = []
    # What failed may be the pages: one that was well says more than one of the queue.
    if site.failures.doubted and check(site):
        return None, taken
    while len(taken) < MOST_LOOKED_THROUGH:
        some = take(most)
        if not some:
            break
        chosen = choose_probe(site, some, fingerprint_of)
        taken += some
        if chosen is not None:
            return len(taken) - len(some) + chosen, taken
        most = len(taken)
    if not taken or check(site):
        return None, taken
    return refused_least(site, taken, fingerprint_of), taken
