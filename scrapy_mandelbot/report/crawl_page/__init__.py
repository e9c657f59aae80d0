"""The page about a crawl: one file that needs nothing but a browser, and no network.

Every site that is told apart has a row; of those that were troubled most, as many as have room, all
that is known is in the page. ``report.json`` has it of every site.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.robots import html as pages
from scrapy_mandelbot.robots.formatting import counted, duration, number, without_zone

if TYPE_CHECKING:
    from collections.abc import Iterator

_PUNCTUAL = 0.05  # seconds that two clocks may be apart
_WORSE = 0.01  # more of the answers than at first: 5xx
_SLOWER = 1.5  # times the time to the first byte


def in_short(report: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield what matters most: ``good``, ``warning`` or ``note``, a word for it, and a sentence."""
    total, sites = report["total"], report["sites"]
    yield from _missing(report)
    yield from _retry_after(total["retry_after"])
    yield from _gaps(sites)
    yield from _hurt(total["answers"])
    if total["forbidden"]:
        where = sum(1 for one in sites if one["forbidden"])
        urls, sites_told = counted(total["forbidden"], "URL"), counted(where, "site")
        text = f"{urls} at {sites_told}, and not asked for."
        yield "good", "Forbidden", text
    if total["refused"]:
        paused = f"{counted(total['pauses'], 'pause')}, {duration(total['paused_for'])} in all"
        yield "note", "Refused", f"{counted(total['refused'], 'time')}; {paused}."


def _missing(report: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield what the crawl did not get, and what waits."""
    sites, lost = report["sites"], report["total"]["lost"]
    if lost:
        text = f"{counted(lost, 'request')} failed. What these pages link to is unknown."
        yield "warning", "Lost", text
    for state, what in (
        ("given up", "did not come back in time."),
        ("section given up", "answered, but for a section that did not come back in time."),
        ("page given up", "answered, but for pages that were refused each time."),
    ):
        given_up = sum(1 for one in sites if one["state"] == state)
        if given_up:
            yield "warning", state.capitalize(), f"{counted(given_up, 'site')} {what}"
    waiting = sum(one["waiting"] for one in report["waiting"])
    if waiting:
        yield "warning", "Left", f"{counted(waiting, 'request')} not sent: see what waits."


def _retry_after(asked: dict[str, Any] | None) -> Iterator[tuple[str, str, str]]:
    if asked is None:
        return
    known = asked["kept"] + asked["broken"]
    if asked["broken"]:
        yield (
            "warning",
            "Retry-After not kept",
            f"{asked['broken']:,} of {known:,} times a request came before the time asked for.",
        )
    elif known:
        text = f"{known:,} of {known:,} times the next request came after the time asked for."
        yield "good", "Retry-After kept", text


def _gaps(sites: list[dict[str, Any]]) -> Iterator[tuple[str, str, str]]:
    asking = [one for one in sites if one["pace"] and one["pace"]["asked"]]
    ignored = sum(1 for one in asking if not one["pace"]["is_obeyed"])
    if ignored:
        text = f"{counted(ignored, 'site')} that asked for one, as MANDELBOT_PACE is not 'obey'."
        yield "warning", "Delay not obeyed", text
    paced = [one for one in asking if one["pace"]["is_obeyed"] and one["gaps"]]
    if not paced:
        return
    short = [one for one in paced if one["gaps"]["least"] < one["pace"]["asked"] - _PUNCTUAL]
    if short:
        yield (
            "warning",
            "Delay not kept",
            f"at {len(short):,} of {len(paced):,} sites that ask for one the least gap is shorter.",
        )
    else:
        yield (
            "good",
            "Delay kept",
            f"at each of {len(paced):,} sites that ask for one, between any two requests.",
        )


def _hurt(answers: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield whether answers grew worse than the first ones of each site were."""
    if not answers["all"]:
        return
    share, first = (
        answers["errors"] / answers["all"],
        answers["first_errors"] / max(1, answers["first"]),
    )
    worse = share > first + _WORSE
    yield (
        "warning" if worse else "good",
        "More 5xx" if worse else "No more 5xx",
        f"{share:.1%} of {answers['all']:,} answers; of each site's first {first:.1%}.",
    )
    if answers["time"] is None or answers["first_time"] is None:
        return
    slower = answers["time"] > _SLOWER * answers["first_time"]
    later, first_time = duration(answers["time"]), duration(answers["first_time"])
    yield (
        "warning" if slower else "good",
        "Slower" if slower else "Not slower",
        f"the first byte came after {later} in the median; of each site's first {first_time}.",
    )


def times(report: dict[str, Any]) -> str:
    """Return from when to when, UTC."""
    began, ended = (without_zone(report[name]) for name in ("began", "ended"))
    same_day = began[:10] == ended[:10]
    return f"{began} to {ended[11:] if same_day else ended} UTC"


_DETAILS = 1_600_000  # characters of JSON with details of sites
_NAMES = 600_000  # of names of sites; a page chooses them
_SITES_AT_FIRST = 20  # before a script shows others
_RULES = 15
_WAITING = 20
_SCRIPTS = ("chart.js", "report.js")
_DETAILED = (
    *("answers", "gaps", "letter", "others", "pace", "pause_list", "refusals"),
    *("retry_after", "robots_answers", "rules", "sitemaps", "tags", "timeline", "turns"),
    *("turn_waits", "usage"),
)
COLUMNS = (
    ("site", "Site"),
    ("state", "End"),
    ("pages", "Pages"),
    ("lost", "Lost"),
    ("forbidden", "Forbidden"),
    ("refused", "Refused"),
    ("pauses", "Pauses"),
    ("paused_for", "Paused, s"),
    ("delay", "Delay asked, s"),
    ("least_gap", "Least gap, s"),
    ("median_gap", "Median gap, s"),
    ("errors", "5xx of answers"),
    ("time", "First byte, s"),
)
"""Of the table of sites: names, and words."""


def page_of(report: dict[str, Any]) -> str:
    """Return the page about a crawl.

    Args:
        report: as `crawl_report.report_of` returns it.

    Raises:
        ImportError: Jinja2 is not installed.
    """
    rows = list(_rows(report["sites"]))
    data = {
        "began": report["began"],
        "seconds": report["seconds"],
        "columns": [name for name, _ in COLUMNS],
        "rows": rows,
        "details": _details(report["sites"][: len(rows)]),
        "total": report["total"]["timeline"] and _packed(report["total"]["timeline"]),
    }
    left = report["sites"][len(rows) :]
    return pages.render(
        __name__,
        "report.html.jinja",
        {
            "report": report,
            "total": report["total"],
            "columns": [words for _, words in COLUMNS],
            "first_rows": [
                [value if isinstance(value, str) else number(value) for value in row]
                for row in rows[:_SITES_AT_FIRST]
            ],
            "sites_told": len(rows),
            "sites": report["total"]["sites"],
            "folded": len(left) + (report["rest"]["sites"] if report["rest"] else 0),
            "in_short": list(in_short(report)),
            "rules": report["rules"][:_RULES],
            "waiting": report["waiting"][:_WAITING],
            "waiting_more": max(0, report["sites_waiting"] - _WAITING),
            "period": times(report),
            "duration": duration(report["seconds"]),
            "data": pages.script_data(data),
        },
        style=pages.file_of(pages.__name__, "report.css"),
        script="".join(pages.file_of(__name__, name) for name in _SCRIPTS),
    )


def _rows(sites: list[dict[str, Any]]) -> Iterator[list[Any]]:
    """Yield the cells of each site, as far as there is room for names."""
    room = _NAMES
    for site in sites:
        room -= len(site["site"])
        if room < 0:
            return
        pace, gaps, answers = site["pace"], site["gaps"], site["answers"]
        yield [
            *(site["site"], site["state"], site["pages"], site["lost"]),
            *(site["forbidden"], site["refused"], site["pauses"], site["paused_for"]),
            None if pace is None else pace["asked"],
            None if gaps is None else gaps["least"],
            None if gaps is None else gaps["median"],
            answers["errors"] if answers["all"] else None,
            answers["time"],
        ]


def _details(sites: list[dict[str, Any]]) -> dict[str, Any]:
    """Return all that is known of sites, by row, the troubled first, as far as there is room."""
    room = _DETAILS
    details = {}
    for place, site in enumerate(sites):
        told = {name: site[name] for name in _DETAILED if site.get(name) is not None}
        if "timeline" in told:
            told["timeline"] = _packed(told["timeline"])
        room -= len(json.dumps(told))
        if room < 0:
            break
        details[str(place)] = told
    return details


def _packed(timeline: dict[str, Any]) -> dict[str, Any]:
    """Return a timeline with its buckets as lists, in the order of `chart.js`."""
    return {
        "width": timeline["width"],
        "buckets": [list(bucket.values()) for bucket in timeline["buckets"]],
    }
