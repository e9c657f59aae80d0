"""The verbs ``normalize`` and ``sitemaps``, and the page of ``--format html``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from functools import partial
from typing import TYPE_CHECKING, Any

from mandelbot.cli.invocation import Result
from mandelbot.cli.output import (
    UnavailableError,
    check_report,
    fix_report,
    is_url,
    sitemaps_report,
)
from mandelbot.cli.output.rules_in_force import SUCCESS
from mandelbot.cli.sources import rules_of, write_file
from mandelbot.fix import normalize as normal_form

if TYPE_CHECKING:
    from mandelbot.cli.invocation import Invocation
    from mandelbot.cli.output.rules_in_force import Rules

_MOST_SITEMAPS = 100  # read in one call
_INSIDE = (
    'this is on this machine or in its network (MANDELBOT_LIMITS["private_hosts"])'
)


def normalize(invocation: Invocation) -> Result:
    """Write one file in the normal form."""
    rules = _file(invocation)
    dialect = invocation.dialect
    normal = normal_form(rules.body, dialect, alone=bool(invocation.opts.only))
    return _result(invocation, rules, fix_report.corrected(rules, normal, dialect.name))


def _result(invocation: Invocation, rules: Rules, report: dict[str, Any]) -> Result:
    opts = invocation.opts
    remarks = [*report["remarks"]]
    code = 0
    if report["proof"] and report["proof"]["different"]:
        code = 3
    text: str = report["diff" if opts.diff else "text"]  # octet by octet for a program
    if invocation.terminal.is_screen:
        paint = invocation.terminal.paint
        if opts.diff:
            text = fix_report.diff_shown(report, paint)
        else:
            text = fix_report.text_shown(report)
    if opts.output:
        if not code:
            write_file(opts.output, report["text"])
        remarks.append(f"{opts.output} is {'not ' if code else ''}written")
        text = text if opts.diff else ""
    page = partial(page_of, invocation, rules, corrected=report)
    shown_remarks = remarks if opts.format in {None, "text"} else []
    return Result(code, report, text, is_file=True, remarks=shown_remarks, page=page)


def _file(invocation: Invocation) -> Rules:
    """Return the file that the verb is about; an error page is none."""
    rules = rules_of(invocation, invocation.opts.source)
    if rules.trouble or not rules.is_there:
        status = rules.answer and rules.answer.status
        raise UnavailableError(
            rules.trouble or f"{rules.source}: the status is {status}"
        )
    return rules


def list_sitemaps(invocation: Invocation) -> Result:
    """List the sitemaps of a file; with ``--read``, read them."""
    source = invocation.opts.source
    if invocation.opts.read and not is_url(source):
        raise UnavailableError("--read takes the URL of a site")
    rules = _file(invocation)
    report = sitemaps_report.cited(rules)
    if invocation.opts.read:
        _read_all(invocation, report)
    text = sitemaps_report.text(report, invocation.terminal.paint)
    return Result(sitemaps_report.exit_code(report), report, text)


def _read_all(invocation: Invocation, report: dict[str, Any]) -> None:
    """Read the sitemaps of a report, and those that indexes list."""
    limits = (
        invocation.setting("sitemap_max_bytes"),
        invocation.setting("sitemap_max_entries"),
    )
    sitemaps = report["sitemaps"]
    timeout = invocation.page_timeout
    known = {one["url"] for one in sitemaps}
    for sitemap in sitemaps:  # grows in the loop
        url = sitemap["url"]
        if not is_url(url):
            sitemap["failure"] = "this is no URL that can be read"
            continue
        if not invocation.may_redirect(report["source"], url):
            sitemap["failure"] = _INSIDE
            continue
        fetched = invocation.fetch(url, int(limits[0]), timeout)
        sitemap["status"] = fetched.status
        if fetched.failure is not None or fetched.status not in SUCCESS:
            failure = fetched.failure
            sitemap["failure"] = (
                failure.value if failure else f"the status is {fetched.status}"
            )
            continue
        contents, children = sitemaps_report.read(
            fetched.body, fetched.final_url, *limits
        )
        sitemap.update(contents)
        found = [child for child in dict.fromkeys(children) if child not in known]
        room = max(0, _MOST_SITEMAPS - len(sitemaps))
        known.update(found[:room])
        sitemaps += [sitemaps_report.unread(child, url) for child in found[:room]]
        report["left"] += len(found[room:])


def page_of(
    invocation: Invocation,
    rules: Rules,
    *,
    checked: dict[str, Any] | None = None,
    corrected: dict[str, Any] | None = None,
    urls: Sequence[str] = (),
) -> str:
    """Return the page about a robots.txt, with the reports made of it.

    `urls` are those to try on the page at first.
    """
    # Importing this takes long, and only a page needs it.
    from mandelbot.cli.output.robots_page import RobotsPageData, render  # noqa: PLC0415

    dialect = invocation.dialect
    if corrected is None and rules.read(dialect)[0] is not None:
        normal = normal_form(rules.body, dialect)
        corrected = fix_report.corrected(rules, normal, dialect.name)
    agent = invocation.agent
    subject = RobotsPageData(
        rules=rules,
        checked=checked or check_report.check(rules),
        corrected=corrected,
        dialect=dialect,
        is_chosen=bool(getattr(invocation.opts, "dialect", None)),
        agents=[agent] if isinstance(agent, str) else agent,
        urls=urls,
    )
    return render(subject, datetime.now(timezone.utc))
