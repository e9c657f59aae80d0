"""``job``: what waits in a job, by site, and for what."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_mandelbot.commands.reports.layout import PLAIN, columns, counted, cut, joined
from scrapy_mandelbot.throttle import in_words, split_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy_mandelbot.commands.reports.layout import Paint
    from scrapy_mandelbot.stores import KeptPause

_HEAD = ("waiting", "in flight", "site", "why it waits")
_MOST = 50  # lines for a terminal
_SITE_WIDTH = 40


class Waits(NamedTuple):
    """Why sites wait."""

    now: float
    """Seconds since the epoch."""
    tries: int
    """After so many failed probes a site is given up."""
    aside: Mapping[str, Mapping[str, int]] = {}
    """How many requests are set aside, by site and route and by the path of their section."""
    pauses: Mapping[str, KeptPause] = {}
    """As a run has left them, by site and route."""
    turns: Mapping[str, float] = {}
    """When sites may next be asked at their pace."""
    sections: Mapping[tuple[str, str], float] = {}
    """Until when sections are set aside, by site and path."""


def of_job(lines: Mapping[str, int], in_flight: Mapping[str, int], waits: Waits) -> dict[str, Any]:
    """Return what waits, the site with most of it first.

    Args:
        lines: how many requests there are, by site and route.
        in_flight: how many of those were in flight at the last commit.
        waits: why they wait.
    """
    sites = []
    for key in sorted({*lines, *waits.pauses}, key=lambda key: (-lines.get(key, 0), key)):
        site, route = split_key(key)
        pause, turn = waits.pauses.get(key), waits.turns.get(site)
        is_paused = pause is not None and pause.until > waits.now
        has_failed = pause is not None and pause.failed_probes >= waits.tries
        sites.append(
            {
                "site": site,
                "route": route,
                "waiting": lines.get(key, 0) - in_flight.get(key, 0),
                "in_flight": in_flight.get(key, 0),
                "paused_until": _moment(pause.until) if pause is not None and is_paused else None,
                "failed_probes": 0 if pause is None else pause.failed_probes,
                "given_up": has_failed and not is_paused,
                "set_aside": [
                    {
                        "section": section,
                        "waiting": count,
                        "until": _later(waits.sections.get((site, section)), waits.now),
                    }
                    for section, count in sorted(waits.aside.get(key, {}).items())
                ],
                "reason": None if pause is None else pause.reason,
                "next_turn": None if turn is None else _moment(turn),
            }
        )
    return {
        "waiting": sum(lines.values()) - sum(in_flight.values()),
        "in_flight": sum(in_flight.values()),
        "sites": sites,
    }


def text(report: dict[str, Any], paint: Paint = PLAIN) -> str:
    """Return it for a terminal."""
    run = "a run has it" if report["running"] else "no run has it"
    were = "are" if report["running"] else "were"
    sites = counted(len(report["sites"]), "site")
    requests = counted(report["waiting"], "request")
    told = [f"{requests} of {sites} wait, {report['in_flight']:,} {were} in flight ({run})"]
    shown = report["sites"][:_MOST]
    if not shown:
        return joined(told)
    rows = [
        (
            f"{one['waiting']:,}",
            f"{one['in_flight']:,}",
            cut(in_words(one["site"], one["route"]), _SITE_WIDTH),
            _why(one),
        )
        for one in shown
    ]
    head, *lines = ("  ".join(cells) for cells in columns([_HEAD, *rows], right=frozenset({0, 1})))
    told += ["", paint("strong", head), *lines]
    left = len(report["sites"]) - len(shown)
    return joined([*told, *([f"And {left:,} more."] if left else [])])


def named(key: str) -> str:
    """Return a site and route in words, for a terminal."""
    return cut(in_words(*split_key(key)), 200)


def _why(site: dict[str, Any]) -> str:
    if site["paused_until"] is not None:
        tries = counted(site["failed_probes"], "failed try", "failed tries")
        until = site["paused_until"][:16].replace("T", " ")
        return cut(f"paused until {until} UTC, {tries}: {site['reason']}", 100)
    if site["given_up"]:
        tries = counted(site["failed_probes"], "failed try", "failed tries")
        return cut(f"given up after {tries}, the next run asks again: {site['reason']}", 100)
    told = []
    if site["next_turn"] is not None:
        told.append(f"its turn is at {site['next_turn'][:19].replace('T', ' ')} UTC")
    if site["set_aside"]:
        requests = counted(sum(one["waiting"] for one in site["set_aside"]), "request")
        sections = ", ".join(map(_aside, site["set_aside"]))
        told.append(f"{requests} set aside: {sections}")
    return cut("; ".join(told), 100)


def _aside(one: dict[str, Any]) -> str:
    until = f" until {one['until'][:16].replace('T', ' ')} UTC" if one["until"] else ""
    return f"{one['section']}{until}"


def _later(seconds: float | None, now: float) -> str | None:
    return None if seconds is None or seconds <= now else _moment(seconds)


def _moment(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, tz=timezone.utc).isoformat()
    except (OverflowError, OSError, ValueError):  # for ever
        return datetime.max.replace(tzinfo=timezone.utc).isoformat()
