"""The page about a crawl: one file that needs nothing but a browser, and no network.

Every site that is told apart has a row; of those that were troubled most, as many as have room, all
that is known is in the page. ``report.json`` has it of every site.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot import pages
from scrapy_mandelbot.report.page.words import cell, in_short, seconds, times

if TYPE_CHECKING:
    from collections.abc import Iterator

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
            "first_rows": [[cell(value) for value in row] for row in rows[:_SITES_AT_FIRST]],
            "sites_told": len(rows),
            "sites": report["total"]["sites"],
            "folded": len(left) + (report["rest"]["sites"] if report["rest"] else 0),
            "in_short": list(in_short(report)),
            "rules": report["rules"][:_RULES],
            "waiting": report["waiting"][:_WAITING],
            "waiting_more": max(0, report["sites_waiting"] - _WAITING),
            "period": times(report),
            "duration": seconds(report["seconds"]),
            "data": pages.script_data(data),
        },
        style=pages.file_of(__name__, "report.css"),
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
            *(site["site"], site["state"], site["pages"], site["forbidden"], site["refused"]),
            *(site["pauses"], site["paused_for"]),
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
    for number, site in enumerate(sites):
        told = {name: site[name] for name in _DETAILED if site.get(name) is not None}
        if "timeline" in told:
            told["timeline"] = _packed(told["timeline"])
        room -= len(json.dumps(told))
        if room < 0:
            break
        details[str(number)] = told
    return details


def _packed(timeline: dict[str, Any]) -> dict[str, Any]:
    """Return a timeline with its buckets as lists, in the order of `chart.js`."""
    return {
        "width": timeline["width"],
        "buckets": [list(bucket.values()) for bucket in timeline["buckets"]],
    }
