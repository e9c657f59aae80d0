"""The verb ``sitemaps``: which sitemaps a robots.txt cites, and what is in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.commands import downloads as fetching
from scrapy_mandelbot.commands.call import Result, body_of
from scrapy_mandelbot.commands.sources import CannotBeHadError, named, read_source, url_to_check
from scrapy_mandelbot.config import read_setting
from scrapy_mandelbot.robots.formatting import counted, printable
from scrapy_mandelbot.robots.origins import without_user
from scrapy_mandelbot.robots.reports.rules_in_force import SUCCESS
from scrapy_mandelbot.robots.reports.terminal_text import PLAIN, is_url, joined, wrapped
from scrapy_mandelbot.robots.robotstxt import RobotsTxt
from scrapy_mandelbot.robots.sitemaps import SitemapReader
from scrapy_mandelbot.rules.own_requests import http_url

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_mandelbot.commands.call import Invocation
    from scrapy_mandelbot.commands.downloads import FetchedFile
    from scrapy_mandelbot.robots.reports.terminal_text import Paint

_MOST_SITEMAPS = 100  # read in one call
_INSIDE = 'this is on this machine or in its network (MANDELBOT_LIMITS["private_hosts"])'


def list_sitemaps(job: Invocation) -> Result:
    """List the sitemaps of a file, and read them if that was asked for."""
    source = job.args[0]
    report: dict[str, Any] = {}
    if is_url(source):
        source = url_to_check(source)

        def visit(fetched: FetchedFile) -> Iterator[fetching.FetchPlan]:
            if not report:
                report.update(cited(source, body_of(fetched), fetched.wanted.url, job.max_bytes))
                yield from _to_read(job, source, report["sitemaps"])
            else:
                yield from _to_read(job, source, _read(job, fetched, report))

        job.fetch([job.wanted_robots(source)], visit)
    else:
        if job.opts.read:
            raise CannotBeHadError("--read takes the URL of a site")
        report = cited(named(source), read_source(source), "", job.max_bytes)
    return Result(exit_code(report), report, text(report, job.terminal.paint))


def _to_read(
    job: Invocation, site: str, found: list[dict[str, Any]]
) -> Iterator[fetching.FetchPlan]:
    if not job.opts.read:
        return
    most = int(read_setting(job.settings, "sitemap_max_bytes"))
    timeout = float(job.settings.getfloat("DOWNLOAD_TIMEOUT"))
    for sitemap in found:
        if not is_url(sitemap["url"]):
            sitemap["failure"] = "this is no URL that can be read"
        elif not job.may_send(site, sitemap["url"]):
            sitemap["failure"] = _INSIDE
        else:
            yield fetching.FetchPlan(sitemap["url"], most, timeout, on_behalf_of=sitemap)


def _read(job: Invocation, fetched: FetchedFile, report: dict[str, Any]) -> list[dict[str, Any]]:
    """Note what is in a sitemap; return those that it lists and that are to be read."""
    sitemap: dict[str, Any] = fetched.wanted.on_behalf_of
    sitemap["status"] = fetched.status
    if fetched.failure is not None:
        sitemap["failure"] = fetched.failure.value
        return []
    if fetched.status not in SUCCESS:
        sitemap["failure"] = f"the status is {fetched.status}"
        return []
    most = int(read_setting(job.settings, "sitemap_max_bytes"))
    entries = read_setting(job.settings, "sitemap_max_entries")
    what, children = read(fetched.body, fetched.final_url, most, entries)
    sitemap.update(what)
    known = {one["url"] for one in report["sitemaps"]}
    found = [_unread(url, sitemap["url"]) for url in dict.fromkeys(children) if url not in known]
    room = max(0, _MOST_SITEMAPS - len(report["sitemaps"]))
    report["sitemaps"] += found[:room]
    report["left"] += len(found[room:])
    return found[:room]


_PIECE = 65_536  # bytes


def cited(source: str, body: bytes, base: str, max_bytes: int) -> dict[str, Any]:
    """Return the sitemaps that a file cites, none of them read; `base`: its URL, if it has one."""
    urls = RobotsTxt.parse(body, max_bytes=max_bytes).sitemaps
    whole = ((http_url(base, url) if base else None) or without_user(url) for url in urls)
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
