"""``audit --format html``: one page about a robot, which needs nothing but a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_mandelbot._version import __version__
from scrapy_mandelbot.robots import html as pages
from scrapy_mandelbot.robots.reports.audit_report import in_short, remarks, rows_of, told_example

if TYPE_CHECKING:
    from datetime import datetime

_SITES = 500  # with all that is known of them; JSON has the others


def render(report: dict[str, Any], made: datetime) -> str:
    """Return the page.

    Args:
        report: as `audit.audit` returns it.
        made: when, UTC.

    Raises:
        ImportError: Jinja2 is not installed.
    """
    sites = report["sites"]
    first = min((one["first"] for one in sites), default="")
    last = max((one["last"] for one in sites), default="")
    return pages.render(
        __name__,
        "audit.html.jinja",
        {
            "report": report,
            "period": f"{in_short(first)} to {in_short(last)} UTC" if sites else "",
            "remarks": list(remarks(report)),
            "sites": [
                {**one, "rows": list(rows_of(one, report)), "told": _told(one)}
                for one in sites[:_SITES]
            ],
            "more": max(0, len(sites) - _SITES),
            "made": f"scrapy-mandelbot {__version__}, {made:%Y-%m-%d %H:%M} UTC",
        },
        style=pages.file_of(pages.__name__, "report.css"),
    )


def _told(site: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {**one, "examples": [told_example(example) for example in one["examples"]]}
        for one in site["findings"]
    ]
