"""The verb ``sitemaps``: which sitemaps a robots.txt cites, and what is in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.commands import downloads as fetching
from scrapy_mandelbot.commands.call import Result, body_of
from scrapy_mandelbot.commands.sources import CannotBeHadError, named, read_source, url_to_check
from scrapy_mandelbot.config import read_setting
from scrapy_mandelbot.robots.origins import without_user
from scrapy_mandelbot.robots.reports import sitemaps_report as sitemaps
from scrapy_mandelbot.robots.reports.rules_in_force import SUCCESS
from scrapy_mandelbot.robots.reports.terminal_text import is_url
from scrapy_mandelbot.robots.robotstxt import RobotsTxt
from scrapy_mandelbot.rules.own_requests import http_url

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_mandelbot.commands.call import Invocation
    from scrapy_mandelbot.commands.downloads import FetchedFile

_MOST_SITEMAPS = 100  # read in one call
_INSIDE = "this is on this machine or in its network (MANDELBOT_PRIVATE_HOSTS)"


def list_sitemaps(job: Invocation) -> Result:
    """List the sitemaps of a file, and read them if that was asked for."""
    source = job.args[0]
    report: dict[str, Any] = {}
    if is_url(source):
        source = url_to_check(source)

        def visit(fetched: FetchedFile) -> Iterator[fetching.FetchPlan]:
            if not report:
                body = body_of(fetched)
                report.update(_cited(source, body, fetched.wanted.url, job.max_bytes))
                yield from _to_read(job, source, report["sitemaps"])
            else:
                yield from _to_read(job, source, _read(job, fetched, report))

        job.fetch([job.wanted_robots(source)], visit)
    else:
        if job.opts.read:
            raise CannotBeHadError("--read takes the URL of a site")
        report = _cited(named(source), read_source(source), "", job.max_bytes)
    return Result(sitemaps.exit_code(report), report, sitemaps.text(report, job.terminal.paint))


def _cited(source: str, body: bytes, base: str, max_bytes: int) -> dict[str, Any]:
    urls = RobotsTxt.parse(body, max_bytes=max_bytes).sitemaps
    return sitemaps.cited(
        source, ((http_url(base, url) if base else None) or without_user(url) for url in urls)
    )


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
    what = sitemaps.read(fetched.body, fetched.final_url, most, entries)
    children = what.pop("children")
    sitemap.update(what)
    known = {one["url"] for one in report["sitemaps"]}
    found = [
        sitemaps.unread(url, sitemap["url"]) for url in dict.fromkeys(children) if url not in known
    ]
    room = max(0, _MOST_SITEMAPS - len(report["sitemaps"]))
    report["sitemaps"] += found[:room]
    report["left"] += len(found[room:])
    return found[:room]
