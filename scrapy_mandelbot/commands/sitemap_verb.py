"""The verb ``sitemaps``: lists the sitemaps that a robots.txt cites, and reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.commands.invocation import Result, body_of
from scrapy_mandelbot.commands.output.rules_in_force import SUCCESS
from scrapy_mandelbot.commands.output.sitemaps_report import cited, exit_code, read, text, unread
from scrapy_mandelbot.commands.output.terminal_text import is_url
from scrapy_mandelbot.commands.sources import named, read_source, url_to_check
from scrapy_mandelbot.commands.terminal import UnavailableError

if TYPE_CHECKING:
    from scrapy_mandelbot.commands.invocation import Invocation

_MOST_SITEMAPS = 100  # read in one call
_INSIDE = 'this is on this machine or in its network (MANDELBOT_LIMITS["private_hosts"])'


def list_sitemaps(invocation: Invocation) -> Result:
    """List the sitemaps of a file; with ``--read``, read them."""
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
        sitemaps += [unread(url, sitemap["url"]) for url in found[:room]]
        report["left"] += len(found[room:])
