"""The verb ``check``: what is wrong with robots.txt files, on disk and on sites."""

from __future__ import annotations

from configparser import ConfigParser
from configparser import Error as ConfigError
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_mandelbot.commands.call import Result
from scrapy_mandelbot.commands.sources import CannotBeHadError, read_source, url_to_check
from scrapy_mandelbot.commands.subjects import delivery_of, page_of, rules_from, rules_on_disk
from scrapy_mandelbot.robots.lint import FINDINGS, Severity
from scrapy_mandelbot.robots.reports import check_report as findings
from scrapy_mandelbot.robots.reports import check_report as github
from scrapy_mandelbot.robots.reports import check_report as sarif
from scrapy_mandelbot.robots.reports.rules_in_force import SUCCESS
from scrapy_mandelbot.robots.reports.terminal_text import is_url
from scrapy_mandelbot.robots.shown import shown

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Iterator, Mapping

    from scrapy_mandelbot.commands.call import Invocation
    from scrapy_mandelbot.commands.downloads import FetchedFile, FetchPlan
    from scrapy_mandelbot.robots.reports.rules_in_force import Rules

FILE_NAME = ".robots-check.cfg"
FAIL_ON = {"error": Severity.ERROR, "warning": Severity.WARNING}
_SECTION = "check"
_KEYS = ("select", "ignore", "fail-on")
_SEVERITIES = {str(severity): severity for severity in Severity}


class Choices(NamedTuple):
    """What is told of what is found, and what fails."""

    select: frozenset[str] | None = None
    """Codes; None: all of them."""
    ignore: frozenset[str] = frozenset()
    fail_on: Severity = Severity.WARNING
    """The least severity that is no success."""

    def takes(self, code: str) -> bool:
        """Whether findings with this code count."""
        return (self.select is None or code in self.select) and code not in self.ignore


ALL = Choices()


def read_choices(opts: Namespace, folder: Path) -> Choices:
    """Return the choices of a call; what it leaves open is as the project's file says.

    Raises:
        CannotBeHadError: a choice is none, or the file named cannot be read.
    """
    path = Path(opts.config) if opts.config else _nearest(folder)
    chosen = dict(_read(path)) if path else {}
    where = dict.fromkeys(chosen, f"{path}: ")
    for key in _KEYS:
        told = getattr(opts, key.replace("-", "_"))
        if told is not None:
            chosen[key] = told if isinstance(told, str) else ",".join(told)
            where[key] = "--"
    codes = {key: _codes(chosen[key], where[key] + key) for key in _KEYS[:2] if key in chosen}
    fail_on = chosen.get("fail-on", str(ALL.fail_on)).strip()
    if fail_on not in FAIL_ON:
        raise CannotBeHadError(f"{where['fail-on']}fail-on: {shown(fail_on)} is not error, warning")
    return Choices(codes.get("select"), codes.get("ignore", ALL.ignore), FAIL_ON[fail_on])


def _nearest(folder: Path) -> Path | None:
    for one in (folder, *folder.parents):
        if (one / FILE_NAME).is_file():
            return one / FILE_NAME
        if (one / ".git").exists():
            break
    return None


def _read(path: Path) -> Mapping[str, str]:
    parser = ConfigParser(interpolation=None, default_section="")
    try:
        parser.read_string(read_source(str(path)).decode(), str(path))
    except (ConfigError, UnicodeDecodeError) as error:
        raise CannotBeHadError(f"{path}: {str(error).splitlines()[0]}") from None
    unknown = [name for name in parser.sections() if name != _SECTION]
    if unknown:
        raise CannotBeHadError(f"{path}: there is no section {shown(unknown[0])}, only {_SECTION}")
    found = dict(parser.items(_SECTION)) if parser.has_section(_SECTION) else {}
    for key in found:
        if key not in _KEYS:
            raise CannotBeHadError(f"{path}: {shown(key)} is not one of {', '.join(_KEYS)}")
    return found


def _codes(text: str, where: str) -> frozenset[str]:
    """Return the codes in a text: of a severity, all of its."""
    codes: set[str] = set()
    for word in text.replace(",", " ").split():
        if word in _SEVERITIES:
            codes.update(_of_severity(_SEVERITIES[word], FINDINGS))
        elif word in FINDINGS:
            codes.add(word)
        else:
            like = get_close_matches(word, FINDINGS, 1)
            hint = f": {like[0]} is meant, most likely" if like else ""
            raise CannotBeHadError(f"{where}: there is no finding {shown(word)}{hint}")
    return frozenset(codes)


def _of_severity(severity: Severity, codes: Iterable[str]) -> Iterable[str]:
    return (code for code in codes if FINDINGS[code].severity is severity)


_NOT_FOUND = frozenset({404, 410})
_CANNOT_BE_HAD = 2
_PATTERN = frozenset("*?[")


def check(job: Invocation) -> Result:
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


def _text(job: Invocation, reports: list[dict[str, Any]], choices: Choices, *, is_one: bool) -> str:
    if job.opts.format == "csv":
        return findings.as_csv(reports)
    if job.opts.format == "github":
        return github.github_text(reports)
    if job.opts.format == "sarif":
        return sarif.sarif_text(reports, choices.takes)
    text = "\n".join(findings.text(one, job.terminal.paint) for one in reports)
    return text if is_one else f"{text}\n{findings.total_text(reports, job.terminal.paint)}"


def _page(
    job: Invocation, had: dict[str, Rules | CannotBeHadError], reports: list[dict[str, Any]]
) -> str:
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


def _had(job: Invocation, sources: list[str]) -> Iterator[tuple[str, Rules | CannotBeHadError]]:
    """Yield the rules of each source, in order, each once; or why they cannot be had."""
    of_sites = _of_sites(job, list(dict.fromkeys(filter(is_url, sources))))
    for source in dict.fromkeys(sources):
        yield source, of_sites[source] if is_url(source) else _on_disk(source)


def _on_disk(source: str) -> Rules | CannotBeHadError:
    try:
        return rules_on_disk(source)
    except CannotBeHadError as error:
        return error


def _of_sites(job: Invocation, urls: list[str]) -> dict[str, Rules | CannotBeHadError]:
    """Ask for files; where one is not there, whether it is there in capitals.

    Raises:
        CannotBeHadError: a URL has no site.
    """
    found: dict[str, FetchedFile] = {}
    in_capitals: set[str] = set()

    def visit(fetched: FetchedFile) -> list[FetchPlan]:
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
    return {url: _rules(job, found[url], in_capitals=url in in_capitals) for url in urls}


def _rules(job: Invocation, fetched: FetchedFile, *, in_capitals: bool) -> Rules | CannotBeHadError:
    try:
        delivery = replace(delivery_of(fetched), in_capitals=in_capitals)
        return rules_from(job, fetched, delivery)
    except CannotBeHadError as error:
        return error
