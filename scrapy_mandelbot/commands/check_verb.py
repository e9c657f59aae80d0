"""The verb ``check``: what is wrong with robots.txt files, on disk and on sites."""

from __future__ import annotations

import os
from configparser import ConfigParser
from configparser import Error as ConfigError
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from glob import glob
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.commands.call import Result
from scrapy_mandelbot.commands.sources import (
    CannotBeHadError,
    delivery_of,
    page_of,
    read_source,
    rules_from,
    rules_on_disk,
    url_to_check,
)
from scrapy_mandelbot.robots.formatting import shown
from scrapy_mandelbot.robots.lint import FINDINGS, Severity
from scrapy_mandelbot.robots.reports import check_report as reports_on
from scrapy_mandelbot.robots.reports.check_report import ALL, Choices
from scrapy_mandelbot.robots.reports.rules_in_force import SUCCESS
from scrapy_mandelbot.robots.reports.terminal_text import is_url

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from scrapy_mandelbot.commands.call import Invocation
    from scrapy_mandelbot.commands.downloads import FetchedFile, FetchPlan
    from scrapy_mandelbot.robots.reports.rules_in_force import Rules

FAIL_ON = {"error": Severity.ERROR, "warning": Severity.WARNING}
_SECTIONS = {
    ".robots-check.cfg": "check",
    "pyproject.toml": "tool.robots-check",
    "setup.cfg": "robots-check",
}
"""Where a project's choices are: files of a folder, the first that has the section."""
_OWN = "check"  # the section of a file that has nothing else
_KEYS = ("select", "ignore", "fail-on", "per-file-ignores")
_SEVERITIES = frozenset(map(str, Severity))


def read_choices(opts: Namespace, folder: Path) -> Choices:
    """Return the choices of a call; what it leaves open is as the project's file says."""
    path, chosen = _nearest(folder)
    if opts.config:
        path = Path(opts.config)
        chosen = _read(path, _SECTIONS.get(path.name, _OWN)) or {}
    where = dict.fromkeys(chosen, f"{path}: ")
    for key in _KEYS[:3]:
        told = getattr(opts, key.replace("-", "_"))
        if told is not None:
            chosen[key] = told
            where[key] = "--"
    codes = {key: _codes(chosen[key], where[key] + key) for key in _KEYS[:2] if key in chosen}
    fail_on = str(chosen.get("fail-on", ALL.fail_on)).strip()
    if fail_on not in FAIL_ON:
        raise CannotBeHadError(f"{where['fail-on']}fail-on: {shown(fail_on)} is not error, warning")
    return Choices(
        *(codes.get("select"), codes.get("ignore", ALL.ignore), FAIL_ON[fail_on]),
        tuple(_by_file(chosen.get("per-file-ignores", {}), f"{path}: per-file-ignores")),
        path.resolve().parent,
    )


def _by_file(told: Any, where: str) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield patterns and codes: of a table, or of lines such as ``drafts/*: wildcard``."""
    if isinstance(told, str):
        lines = [line.rpartition(":") for line in told.splitlines() if line.strip()]
        told = {pattern.strip(): codes for pattern, _, codes in lines}
    if not isinstance(told, dict) or not all(told):
        raise CannotBeHadError(f"{where}: it is a pattern of paths, a colon, codes")
    for pattern, codes in told.items():
        yield pattern, _codes(codes, where)


def _nearest(folder: Path) -> tuple[Path, dict[str, Any]]:
    """Return the file that has a project's choices, and these; an empty path: there is none."""
    for one in (folder, *folder.parents):
        for name, section in _SECTIONS.items():
            if (one / name).is_file() and (found := _read(one / name, section)) is not None:
                return one / name, found
        if (one / ".git").exists():
            break
    return Path(), {}


def _read(path: Path, section: str) -> dict[str, Any] | None:
    """Return the choices in a file, or None; CannotBeHadError: it has keys that are none."""
    try:
        text = read_source(str(path)).decode()
        if section != _OWN and "robots-check" not in text:
            return None
        found = _toml(text) if path.suffix == ".toml" else _ini(text, path, section)
    except (ConfigError, ValueError, ImportError) as error:
        raise CannotBeHadError(f"{path}: {str(error).splitlines()[0]}") from None
    for key in found or ():
        if key not in _KEYS:
            raise CannotBeHadError(f"{path}: {shown(key)} is not one of {', '.join(_KEYS)}")
    return found


def _toml(text: str) -> dict[str, Any] | None:
    try:
        toml = import_module("tomllib")
    except ImportError:  # Python 3.10
        raise ImportError("Python 3.11 is needed to read it; .robots-check.cfg will do") from None
    section: dict[str, Any] | None = toml.loads(text).get("tool", {}).get("robots-check")
    return section


def _ini(text: str, path: Path, section: str) -> dict[str, Any] | None:
    parser = ConfigParser(interpolation=None, default_section="")
    parser.read_string(text, str(path))
    unknown = [name for name in parser.sections() if name != section]
    if unknown and section == _OWN:
        raise ValueError(f"there is no section {shown(unknown[0])}, only {section}")
    return dict(parser.items(section)) if parser.has_section(section) else None


def _codes(told: Any, where: str) -> frozenset[str]:
    """Return the codes in a text or a list: of a severity, all of its."""
    codes: set[str] = set()
    text = told if isinstance(told, str) else " ".join(map(str, told))
    for word in text.replace(",", " ").split():
        if word in _SEVERITIES:
            codes.update(code for code in FINDINGS if str(FINDINGS[code].severity) == word)
        else:
            codes.add(_code(word, f"{where}: "))
    return frozenset(codes)


def _code(word: str, where: str = "") -> str:
    """Return a code that there is; CannotBeHadError: there is none such."""
    if word not in FINDINGS:
        like = get_close_matches(word, FINDINGS, 1)
        hint = f": {like[0]} is meant, most likely" if like else ""
        raise CannotBeHadError(f"{where}there is no finding {shown(word)}{hint}")
    return word


def tell_rules(job: Invocation) -> Result:
    """Say what findings are about; of none that is named, of all."""
    codes = [_code(word) for word in job.args] or list(FINDINGS)
    data = {"rules": [reports_on.rule_data(code) for code in codes]}
    return Result(0, data, reports_on.rule_text(codes, job.terminal.paint))


_NOT_FOUND = frozenset({404, 410})
_CANNOT_BE_HAD = 2
_PATTERN = frozenset("*?[")


def check(job: Invocation) -> Result:
    """Check files and sites. One that cannot be had does not keep the others from being checked."""
    choices = read_choices(job.opts, Path.cwd())
    is_one = len(job.args) == 1 and not (_is_pattern(job.args[0]) or Path(job.args[0]).is_dir())
    if job.opts.format == "html" and not is_one:
        raise CannotBeHadError("a page is about one file")
    had = dict(_had(job, list(_expanded(job.args))))
    reports = []
    for source, rules in had.items():
        if isinstance(rules, CannotBeHadError):
            if is_one:
                raise rules
            reports.append(reports_on.not_had(source, str(rules)))
        else:
            reports.append(reports_on.check_rules(rules, job.max_bytes, choices.of(source)))
    page = partial(_page, job, had, reports)
    data = reports[0] if is_one else reports_on.together(reports)
    failures = [one["failure"] for one in reports if one["failure"]]
    code = _CANNOT_BE_HAD if failures else reports_on.exit_code(reports, choices)
    text = _text(job, reports, choices, is_one=is_one)
    return Result(code, data, text, page=page, remarks=failures)


def _text(job: Invocation, reports: list[dict[str, Any]], choices: Choices, *, is_one: bool) -> str:
    if job.opts.format == "csv":
        return reports_on.as_csv(reports)
    if job.opts.format == "github":
        return reports_on.github_text(reports)
    if job.opts.format == "sarif":
        return reports_on.sarif_text(reports, choices.takes)
    paint = job.terminal.paint
    if job.opts.statistics:
        return reports_on.statistics_text(reports, paint)
    texts = [reports_on.text(one, paint, in_full=job.opts.full) for one in reports]
    if is_one:
        return texts[0]
    told = "".join(f"{text}\n" if "\n" in text[:-1] else text for text in texts)
    return f"{told}{reports_on.total_text(reports, paint)}"


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
    """Yield what is meant: of a pattern, the files that it matches; of a folder, its robots.txt."""
    for source in sources:
        if source != "-" and Path(source).is_dir():
            found = sorted(map(str, _in_folder(Path(source))))
            if not found:
                raise CannotBeHadError(f"{source}: there is no robots.txt in it")
            yield from found
            continue
        if not _is_pattern(source):
            yield source
            continue
        # Path.glob takes no absolute pattern.
        matched = glob(source, recursive=True)  # noqa: PTH207
        found = sorted(one for one in matched if Path(one).is_file())
        if not found:
            raise CannotBeHadError(f"{source}: no file has such a name")
        yield from found


def _in_folder(folder: Path) -> Iterator[Path]:
    """Yield the robots.txt files of a folder and those in it, but those that are hidden."""
    for here, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (Path(here, name) for name in names if name.lower() == "robots.txt")


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
    """Ask for files; where one is not there, whether it is there in capitals."""
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
        return [other._replace(on_behalf_of=url)]

    wanted = [job.wanted_robots(url_to_check(url))._replace(on_behalf_of=url) for url in urls]
    if wanted:
        job.fetch(wanted, visit)
    return {url: _rules(job, found[url], in_capitals=url in in_capitals) for url in urls}


def _rules(job: Invocation, fetched: FetchedFile, *, in_capitals: bool) -> Rules | CannotBeHadError:
    try:
        delivery = replace(delivery_of(fetched), in_capitals=in_capitals)
        return rules_from(job, fetched, delivery)
    except CannotBeHadError as error:
        return error
