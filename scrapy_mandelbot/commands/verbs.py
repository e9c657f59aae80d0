"""The verbs of the command: get what is asked about, and report on it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.commands.cache_verb import look_at_copies
from scrapy_mandelbot.commands.job import Result, body_of
from scrapy_mandelbot.commands.ledger_verb import look_at_ledger
from scrapy_mandelbot.commands.page import page_of
from scrapy_mandelbot.commands.reports import comparison, correction, explanation, findings
from scrapy_mandelbot.commands.reports.rules_in_force import SUCCESS, Rules
from scrapy_mandelbot.commands.sitemap_verb import list_sitemaps
from scrapy_mandelbot.commands.sources import (
    CannotBeHadError,
    delivery_of_file,
    named,
    read_source,
    read_urls,
    robots_url_of,
    url_to_check,
)
from scrapy_mandelbot.commands.use import is_url
from scrapy_mandelbot.politeness import Failure
from scrapy_mandelbot.robotstxt.lint import Delivery

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy_mandelbot.commands.fetching import Fetched, Wanted
    from scrapy_mandelbot.commands.job import Job

_NOT_FOUND = frozenset({404, 410})
_NOBODY_WAITS = 10  # seconds (Moderatobot, "Robots.txt timeout")


def _check(job: Job) -> Result:
    source = job.args[0]
    if is_url(source):
        fetched, in_capitals = _fetch_to_check(job, url_to_check(source))
        rules = _rules_from(fetched, replace(_delivery(fetched), in_capitals=in_capitals))
    else:
        rules = _rules_on_disk(source)
    report = findings.check_rules(rules, job.max_bytes)
    text = findings.text(report, job.terminal.paint)
    page = partial(page_of, job, rules, checked=report)
    return Result(findings.exit_code(report), report, text, page=page)


def _fetch_to_check(job: Job, url: str) -> tuple[Fetched, bool]:
    """Ask for a robots.txt; where it is not there, whether it is there in capitals."""
    found: list[Fetched] = []

    def visit(fetched: Fetched) -> list[Wanted]:
        found.append(fetched)
        is_missing = len(found) == 1 and fetched.status in _NOT_FOUND
        if not is_missing or not url.endswith("/robots.txt"):
            return []
        return [job.wanted_robots(url.removesuffix("robots.txt") + "ROBOTS.TXT")]

    job.fetch([job.wanted_robots(url)], visit)
    return found[0], any(one.status in SUCCESS for one in found[1:])


def _rules_on_disk(source: str) -> Rules:
    return Rules(named(source), read_source(source), delivery=delivery_of_file(source))


def _rules_from(fetched: Fetched, delivery: Delivery | None) -> Rules:
    return Rules(fetched.wanted.url, fetched.body, fetched.answer, delivery)


def _delivery(fetched: Fetched) -> Delivery:
    """Return how a file came. That it took longer than anyone waits is a finding."""
    seconds = fetched.seconds
    if fetched.failure is Failure.TIMED_OUT and fetched.wanted.timeout >= _NOBODY_WAITS:
        seconds = max(seconds, fetched.wanted.timeout)
        return Delivery(url=fetched.wanted.url, redirects=fetched.redirects, seconds=seconds)
    if fetched.failure is not None:
        raise CannotBeHadError(fetched.trouble)
    is_success = fetched.status in SUCCESS
    return Delivery(
        url=fetched.wanted.url,
        final_url=fetched.final_url,
        redirects=fetched.redirects,
        status=fetched.status,
        seconds=seconds,
        # Of an error page these say nothing about the file.
        content_type=fetched.content_type if is_success else None,
        content_encoding=fetched.content_encoding if is_success else None,
    )


def _fix(job: Job) -> Result:
    source = job.args[0]
    if is_url(source):
        fetched = job.fetch_one(url_to_check(source))
        body_of(fetched)  # an error page is nothing to correct
        rules = _rules_from(fetched, _delivery(fetched))
    else:
        rules = _rules_on_disk(source)
    job.terminal.progress(f"correcting {rules.source}")
    report = correction.fix(
        rules.source, rules.body, job.dialect, job.max_bytes, alone=bool(job.opts.only)
    )
    code = correction.exit_code(report)
    remarks = correction.remarks(report)
    text = _corrected(job, report)
    if job.opts.output:
        remarks.append(_write(job.opts.output, report["text"], is_proved=not code))
        text = text if job.opts.diff else ""
    page = partial(page_of, job, rules, corrected=report)
    told = remarks if job.opts.format == "text" else []
    return Result(code, report, text, is_file=True, remarks=told, page=page)


def _corrected(job: Job, report: dict[str, Any]) -> str:
    """Return the file or the diff: for a program as it is, for a person as it can be shown."""
    if job.terminal.is_screen:
        is_diff, paint = job.opts.diff, job.terminal.paint
        return correction.diff_shown(report, paint) if is_diff else correction.text_shown(report)
    text: str = report["diff" if job.opts.diff else "text"]
    return text


def _write(output: str, text: str, *, is_proved: bool) -> str:
    if not is_proved:
        return f"{output} is not written"
    try:
        Path(output).write_bytes(text.encode())
    except OSError as error:
        raise CannotBeHadError(f"{output}: {(error.strerror or str(error)).lower()}") from None
    return f"{output} is written"


def _explain(job: Job) -> Result:
    dialect = job.dialect
    asked = _rules_of(job)
    reports = [
        explanation.explain(url, job.agent, rules, dialect, job.max_bytes)
        for url, rules in _counted(job, asked)
    ]
    purposes = job.opts.purpose or ()
    text = "\n".join(explanation.text(report, job.terminal.paint, purposes) for report in reports)
    told = {report["url"]: explanation.changes_told(report) for report in reports}
    page = partial(_page_of_urls, job, asked, told)
    return Result(explanation.exit_code(reports, purposes), {"urls": reports}, text, page=page)


def _compare(job: Job) -> Result:
    asked = _rules_of(job)
    reports = [
        comparison.compare(url, job.agent, rules, job.max_bytes)
        for url, rules in _counted(job, asked)
    ]
    text = "\n".join(comparison.text(report, job.terminal.paint) for report in reports)
    page = partial(_page_of_urls, job, asked, {url: [] for url, _ in asked})
    return Result(comparison.exit_code(reports), {"urls": reports}, text, page=page)


def _page_of_urls(job: Job, asked: list[tuple[str, Rules]], told: dict[str, list[str]]) -> str:
    if not asked:
        raise CannotBeHadError("there is no URL, and so no robots.txt to make a page of")
    return page_of(job, asked[0][1], told=told)


def _counted(job: Job, pairs: list[tuple[str, Rules]]) -> Iterator[tuple[str, Rules]]:
    """Iterate over the URLs with their rules, and show how far it has come."""
    for number, (url, rules) in enumerate(pairs, start=1):
        job.terminal.progress(f"{number:,} of {len(pairs):,}: {url}")
        yield url, rules


def _rules_of(job: Job) -> list[tuple[str, Rules]]:
    """Return the URLs asked about, each with the rules of its site, or those of the file."""
    urls = read_urls(job.args, job.opts.urls)
    if job.opts.file:
        rules = _rules_on_disk(job.opts.file)
        return [(url, rules) for url in urls]
    robots_of = {url: robots_url_of(url) for url in urls}
    wanted = dict.fromkeys(robots_of.values())
    if job.opts.format == "html" and len(wanted) > 1:
        raise CannotBeHadError(f"a page is about one site, and these URLs are of {len(wanted)}")
    rules_of: dict[str, Rules] = {}

    def visit(fetched: Fetched) -> tuple[()]:
        url = fetched.wanted.url
        # Of several sites one that is not there is a line in the report, as one that is down is.
        if fetched.failure in {Failure.NO_SUCH_HOST, Failure.OTHER} and len(wanted) == 1:
            raise CannotBeHadError(fetched.trouble)
        delivery = None if fetched.failure else _delivery(fetched)
        rules_of[url] = _rules_from(fetched, delivery)
        return ()

    if urls:
        job.fetch(map(job.wanted_robots, wanted), visit)
    return [(url, rules_of[robots_of[url]]) for url in urls]


VERBS: dict[str, Callable[[Job], Result]] = {
    "check": _check,
    "fix": _fix,
    "explain": _explain,
    "compare": _compare,
    "sitemaps": list_sitemaps,
    "cache": look_at_copies,
    "ledger": look_at_ledger,
}
