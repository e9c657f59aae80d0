"""``sitemaps``: the sitemaps that a robots.txt cites, and their contents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mandelbot.cli.output import joined
from mandelbot.formatting import counted, printable
from mandelbot.origins import without_user
from mandelbot.robotstxt.robots_txt import RobotsTxt
from mandelbot.sitemaps import SitemapReader
from mandelbot.sitemaps.urls import absolute_url

if TYPE_CHECKING:
    from mandelbot.cli.output import TerminalStyle
    from mandelbot.cli.output.rules_in_force import Rules

_PIECE = 65_536  # bytes


def cited(rules: Rules) -> dict[str, Any]:
    """Return the sitemaps that a file cites, unread."""
    urls = RobotsTxt.parse(rules.body, max_bytes=rules.max_bytes).sitemaps
    base = rules.url
    whole = dict.fromkeys(
        without_user((base and absolute_url(base, u)) or u) for u in urls
    )
    return {
        "source": rules.source,
        "sitemaps": [unread(url) for url in whole],
        "left": 0,
    }


def unread(url: str, cited_by: str | None = None) -> dict[str, Any]:
    """Return the fields of a sitemap that was not read."""
    return {
        "url": url,
        "cited_by": cited_by,
        "status": None,
        "kind": None,
        "entries": None,
        "problems": [],
        "failure": None,
    }


def read(
    body: bytes, url: str, max_bytes: int, max_entries: int | None
) -> tuple[dict[str, Any], list[str]]:
    """Return what a sitemap contains, and the sitemaps that an index lists."""
    reader = SitemapReader(url, max_bytes=max_bytes, max_entries=max_entries)
    children: list[str] = []
    for start in (*range(0, len(body), _PIECE), None):
        if start is None:
            found = reader.close()
        else:
            found = reader.feed(body[start : start + _PIECE])
        urls = [entry.loc for entry in found]
        children += urls if reader.kind == "index" else ()
    problems = [
        {
            "code": one.code,
            "message": one.message,
            "where": one.where,
            "count": one.count,
        }
        for one in reader.problems
    ]
    return {
        "kind": reader.kind,
        "entries": reader.entries_read,
        "problems": problems,
    }, children


def exit_code(report: dict[str, Any]) -> int:
    """Return 3 if a sitemap is not available, 1 if one has problems, else 0."""
    sitemaps = report["sitemaps"]
    if any(one["failure"] for one in sitemaps):
        return 3
    return 1 if any(one["problems"] for one in sitemaps) else 0


def text(report: dict[str, Any], paint: TerminalStyle) -> str:
    """Return the report for a terminal."""
    sitemaps = report["sitemaps"]
    lines = []
    for one in sitemaps:
        lines.append(paint("strong", printable(one["url"])))
        if one["failure"]:
            lines.append(f"    {paint('error', printable(one['failure']))}")
        elif one["entries"] is not None:
            lines.append(
                f"    {one['kind']}: {counted(one['entries'], 'entry', 'entries')}"
            )
        for problem in one["problems"]:
            where = ""
            if problem["where"]:
                where = f"{problem['where']}: "
            often = ""
            if problem["count"] > 1:
                often = f" ({problem['count']:,} times)"
            lines.append(paint.wrapped(f"{where}{problem['message']}{often}", 4))
    if report["left"]:
        lines.append(f"And {counted(report['left'], 'more sitemap')}, not read.")
    if not sitemaps:
        lines.append(f"{printable(report['source'])} cites no sitemap.")
    return joined(lines)
