"""The verb ``check``: what is wrong with robots.txt files, on disk and on sites."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.commands.choices import read_choices
from scrapy_mandelbot.commands.job import Result
from scrapy_mandelbot.commands.page import page_of
from scrapy_mandelbot.commands.reports import findings, github, sarif
from scrapy_mandelbot.commands.reports.rules_in_force import SUCCESS
from scrapy_mandelbot.commands.rules_of import delivery_of, rules_from, rules_on_disk
from scrapy_mandelbot.commands.sources import CannotBeHadError, url_to_check
from scrapy_mandelbot.commands.use import is_url

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_mandelbot.commands.choices import Choices
    from scrapy_mandelbot.commands.fetching import Fetched, Wanted
    from scrapy_mandelbot.commands.job import Job
    from scrapy_mandelbot.commands.reports.rules_in_force import Rules

_NOT_FOUND = frozenset({404, 410})
_CANNOT_BE_HAD = 2
_PATTERN = frozenset("*?[")


def check(job: Job) -> Result:
    """Check files and sites. One that cannot be had does not keep the others from being checked."""
    choices = read_choices(job.opts, Path.cwd())
    is_one = len(job.args) == 1 and not _is_pattern(job.args[0])
    if job.opts.format == "html" and not is_one:
        raise CannotBeHadError("a page is about one file")
    had = dict(_had(job, list(_expanded(job.args))))
    reports = []
    for source, rules in had.items():
        if isinstance(rules, CannotBeHadError):
            if is_one:
                raise rules
            reports.append(findings.not_had(source, str(rules)))
        else:
            reports.append(findings.check_rules(rules, job.max_bytes, choices))
    page = partial(_page, job, had, reports)
    data = reports[0] if is_one else findings.together(reports)
    failures = [one["failure"] for one in reports if one["failure"]]
    code = _CANNOT_BE_HAD if failures else findings.exit_code(reports, choices)
    text = _text(job, reports, choices, is_one=is_one)
    return Result(code, data, text, page=page, remarks=failures)


def _text(job: Job, reports: list[dict[str, Any]], choices: Choices, *, is_one: bool) -> str:
    if job.opts.format == "csv":
        return findings.as_csv(reports)
    if job.opts.format == "github":
        return github.text(reports)
    if job.opts.format == "sarif":
        return sarif.text(reports, choices.takes)
    text = "\n".join(findings.text(one, job.terminal.paint) for one in reports)
    return text if is_one else f"{text}\n{findings.total_text(reports, job.terminal.paint)}"


def _page(job: Job, had: dict[str, Rules | CannotBeHadError], reports: list[dict[str, Any]]) -> str:
    (rules,) = had.values()
    if isinstance(rules, CannotBeHadError):
        raise rules
    return page_of(job, rules, checked=reports[0])


def _is_pattern(source: str) -> bool:
    is_other = is_url(source) or source == "-" or Path(source).exists()
    return not is_other and bool(_PATTERN & set(source))


def _expanded(sources: list[str]) -> Iterator[str]:
    """Yield what is meant: of a pattern, the files that it matches.

    Raises:
        CannotBeHadError: it matches none.
    """
    for source in sources:
        if not _is_pattern(source):
            yield source
            continue
        # Path.glob takes no absolute pattern.
        matched = glob(source, recursive=True)  # noqa: PTH207
        found = sorted(one for one in matched if Path(one).is_file())
        if not found:
            raise CannotBeHadError(f"{source}: no file has such a name")
        yield from found


def _had(job: Job, sources: list[str]) -> Iterator[tuple[str, Rules | CannotBeHadError]]:
    """Yield the rules of each source, in order, each once; or why they cannot be had."""
    of_sites = _of_sites(job, list(dict.fromkeys(filter(is_url, sources))))
    for source in dict.fromkeys(sources):
        yield source, of_sites[source] if is_url(source) else _on_disk(source)


def _on_disk(source: str) -> Rules | CannotBeHadError:
    try:
        return rules_on_disk(source)
    except CannotBeHadError as error:
        return error


def _of_sites(job: Job, urls: list[str]) -> dict[str, Rules | CannotBeHadError]:
    """Ask for files; where one is not there, whether it is there in capitals.

    Raises:
        CannotBeHadError: a URL has no site.
    """
    found: dict[str, Fetched] = {}
    in_capitals: set[str] = set()

    def visit(fetched: Fetched) -> list[Wanted]:
        url: str = fetched.wanted.on_behalf_of
        if url in found:
            if fetched.status in SUCCESS:
                in_capitals.add(url)
            return []
        found[url] = fetched
        asked = fetched.wanted.url
        if fetched.status not in _NOT_FOUND or not asked.endswith("/robots.txt"):
            return []
        other = job.wanted_robots(asked.removesuffix("robots.txt") + "ROBOTS.TXT")
        return [replace(other, on_behalf_of=url)]

    wanted = [replace(job.wanted_robots(url_to_check(url)), on_behalf_of=url) for url in urls]
    if wanted:
        job.fetch(wanted, visit)
    return {url: _rules(found[url], in_capitals=url in in_capitals) for url in urls}


def _rules(fetched: Fetched, *, in_capitals: bool) -> Rules | CannotBeHadError:
    try:
        delivery = replace(delivery_of(fetched), in_capitals=in_capitals)
        return rules_from(fetched, delivery)
    except CannotBeHadError as error:
        return error
