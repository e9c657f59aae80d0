"""The verb ``sitemaps``: which sitemaps a robots.txt cites, and what is in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.commands.errors import UnavailableError
from scrapy_mandelbot.commands.invocation import Result, body_of
from scrapy_mandelbot.commands.sources import named, read_source, url_to_check
from scrapy_mandelbot.robots.origins import without_user
from scrapy_mandelbot.robots.reports.rules_in_force import SUCCESS
from scrapy_mandelbot.robots.reports.terminal_text import PLAIN, is_url, joined, wrapped
from scrapy_mandelbot.robots.robotstxt import RobotsTxt
from scrapy_mandelbot.robots.shown import counted, printable
from scrapy_mandelbot.robots.sitemaps import SitemapReader
from scrapy_mandelbot.robots.sitemaps.urls import absolute_url

if TYPE_CHECKING:
    from scrapy_mandelbot.commands.invocation import Invocation
    from scrapy_mandelbot.robots.reports.terminal_text import Paint

_MOST_SITEMAPS = 100  # read in one call
_INSIDE = 'this is on this machine or in its network (MANDELBOT_LIMITS["private_hosts"])'


def list_sitemaps(invocation: Invocation) -> Result:
    """List the sitemaps of a file, and read them if that was asked for."""
    source = invocation.args[0]
    if is_url(source):
        site = url_to_check(source)
        report = cited(site, body_of(invocation.fetch(site)), site, invocation.max_bytes)
        if invocation.opts.read:
            _read_all(invocation, site, report)
    else:
        if invocation.opts.read:
            raise UnavailableError("--read takes the URL of a site")
        report = cited(named(source), read_source(source), "", invocation.max_bytes)
    return Result(exit_code(report), report, text(report, invocation.terminal.paint))


def _read_all(invocation: Invocation, site: str, report: dict[str, Any]) -> None:
    """Read the sitemaps of a report, and those that indexes list."""
    most_bytes = int(invocation.setting("sitemap_max_bytes"))
    most_entries = invocation.setting("sitemap_max_entries")
    sitemaps = report["sitemaps"]
    known = {one["url"] for one in sitemaps}
    for sitemap in sitemaps:  # the loop comes to those that it adds
        if not is_url(sitemap["url"]):
            sitemap["failure"] = "this is no URL that can be read"
            continue
        if not invocation.may_redirect(site, sitemap["url"]):
            sitemap["failure"] = _INSIDE
            continue
        fetched = invocation.fetch(sitemap["url"], most_bytes, invocation.page_timeout)
        sitemap["status"] = fetched.status
        if fetched.failure is not None:
            sitemap["failure"] = fetched.failure.value
            continue
        if fetched.status not in SUCCESS:
            sitemap["failure"] = f"the status is {fetched.status}"
            continue
        what, children = read(fetched.body, fetched.final_url, most_bytes, most_entries)
        sitemap.update(what)
        found = [url for url in dict.fromkeys(children) if url not in known]
        room = max(0, _MOST_SITEMAPS - len(sitemaps))
        known.update(found[:room])
        sitemaps += [_unread(url, sitemap["url"]) for url in found[:room]]
        report["left"] += len(found[room:])


_PIECE = 65_536  # bytes


def cited(source: str, body: bytes, base: str, max_bytes: int) -> dict[str, Any]:
    """Return the sitemaps that a file cites, none of them read; `base`: its URL, if it has one."""
    urls = RobotsTxt.parse(body, max_bytes=max_bytes).sitemaps
    whole = (without_user((base and absolute_url(url, base)) or url) for url in urls)
    return {"source": source, "sitemaps": [_unread(url) for url in dict.fromkeys(whole)], "left": 0}


def _unread(url: str, cited_by: str | None = None) -> dict[str, Any]:
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
    """Return what is in a sitemap, and the sitemaps that it lists, if it is an index."""
    reader = SitemapReader(url, max_bytes=max_bytes, max_entries=max_entries)
    children: list[str] = []
    for start in range(0, len(body), _PIECE):
        entries = list(reader.feed(body[start : start + _PIECE]))
        if reader.kind == "index":
            children += [entry.loc for entry in entries]
    entries = list(reader.close())
    if reader.kind == "index":
        children += [entry.loc for entry in entries]
    problems = [
        {"code": one.code, "message": one.message, "where": one.where, "count": one.count}
        for one in reader.problems
    ]
    return {"kind": reader.kind, "entries": reader.entries_read, "problems": problems}, children


def exit_code(report: dict[str, Any]) -> int:
    """Return 3 where a sitemap cannot be had, 1 where something is wrong with one, else 0."""
    sitemaps = report["sitemaps"]
    if any(one["failure"] for one in sitemaps):
        return 3
    return 1 if any(one["problems"] for one in sitemaps) else 0


def text(report: dict[str, Any], paint: Paint = PLAIN) -> str:
    """Return the report for a terminal."""
    sitemaps = report["sitemaps"]
    lines = []
    for one in sitemaps:
        lines.append(paint("strong", printable(one["url"])))
        if one["failure"]:
            lines.append(f"    {paint('error', printable(one['failure']))}")
        elif one["entries"] is not None:
            lines.append(f"    {one['kind']}: {counted(one['entries'], 'entry', 'entries')}")
        for problem in one["problems"]:
            where = f"{problem['where']}: " if problem["where"] else ""
            often = f" ({problem['count']:,} times)" if problem["count"] > 1 else ""
            lines.append(wrapped(f"{where}{problem['message']}{often}", 4, width=paint.width))
    if report["left"]:
        lines.append(f"And {counted(report['left'], 'more sitemap')}, not read.")
    if not sitemaps:
        lines.append(f"{printable(report['source'])} cites no sitemap.")
    return joined(lines)
