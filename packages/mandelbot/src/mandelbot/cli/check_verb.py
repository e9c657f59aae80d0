"""The verb ``check``: what is wrong with robots.txt files, on disk and on sites."""

from __future__ import annotations

import os
from configparser import ConfigParser
from configparser import Error as ConfigError
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mandelbot.cli.invocation import Result
from mandelbot.cli.output import UnavailableError, is_url
from mandelbot.cli.output import check_report as reports_on
from mandelbot.cli.output.check_report import ALL, Choices
from mandelbot.cli.output.rules_in_force import SUCCESS, Rules
from mandelbot.cli.sources import read_source, rules_of
from mandelbot.findings import FINDINGS, Severity
from mandelbot.formatting import shown

if TYPE_CHECKING:
    from argparse import Namespace

    from mandelbot.cli.invocation import Invocation

FAIL_ON = {"error": Severity.ERROR, "warning": Severity.WARNING}
_SECTIONS = {
    ".mandelbot.cfg": "mandelbot",
    "pyproject.toml": "tool.mandelbot",
    "setup.cfg": "mandelbot",
}
"""Where a project's choices are: files of a folder, the first that has the section."""
_SHARED = ("pyproject.toml", "setup.cfg")  # files that others have sections in
_KEYS = ("select", "ignore", "fail-on")


def read_choices(opts: Namespace, folder: Path) -> Choices:
    """Return what the options choose, completed from the project's file."""
    path, chosen = _nearest(folder)
    if opts.config:
        path = Path(opts.config)
        if not path.exists():
            raise UnavailableError(f"{path}: there is no such file (--config)")
        chosen = _read(path, _SECTIONS.get(path.name, "mandelbot")) or {}
    codes = {}
    for key in _KEYS[:2]:
        if given := getattr(opts, key):
            codes[key] = _codes(given, f"--{key}")
        elif key in chosen:
            codes[key] = _codes(chosen[key], f"{path}: {key}")
    fail_on = opts.fail_on or str(chosen.get("fail-on", ALL.fail_on)).strip()
    if fail_on not in FAIL_ON:
        raise UnavailableError(
            f"{path}: fail-on: {shown(fail_on)} is not error, warning"
        )
    return Choices(fail_on=FAIL_ON[fail_on], **codes)


def _nearest(folder: Path) -> tuple[Path, dict[str, Any]]:
    """Return the nearest file with choices, and these."""
    for one in (folder, *folder.parents):
        for name, section in _SECTIONS.items():
            if (one / name).is_file() and (
                found := _read(one / name, section)
            ) is not None:
                return one / name, found
        if (one / ".git").exists():
            break
    return Path(), {}


def _read(path: Path, section: str) -> dict[str, Any] | None:
    found: dict[str, Any] | None
    try:
        text = read_source(str(path)).decode()
        if path.name in _SHARED and f"[{section}]" not in text:
            return None
        found = _toml(text) if path.suffix == ".toml" else _ini(text, path, section)
    except ModuleNotFoundError:  # Python 3.10
        need = "Python 3.11 is needed to read it; .mandelbot.cfg will do"
        raise UnavailableError(f"{path}: {need}") from None
    except RecursionError:
        raise UnavailableError(f"{path}: it is nested too deeply") from None
    except (ConfigError, ValueError) as error:
        raise UnavailableError(f"{path}: {str(error).splitlines()[0]}") from None
    for key in found or ():
        if key not in _KEYS:
            raise UnavailableError(
                f"{path}: {shown(key)} is not one of {', '.join(_KEYS)}"
            )
    return found


def _toml(text: str) -> dict[str, Any] | None:
    """Return the table ``[tool.mandelbot]``; raise ValueError if it is no table."""
    found: Any = import_module("tomllib").loads(text)
    for name, key in (("tool", "tool"), ("tool.mandelbot", "mandelbot")):
        found = found.get(key)
        if found is None:
            return None
        if not isinstance(found, dict):
            raise ValueError(f"{name} is no table")  # noqa: TRY004 -- of the file
    return cast("dict[str, Any]", found)


def _ini(text: str, path: Path, section: str) -> dict[str, Any] | None:
    parser = ConfigParser(interpolation=None, default_section="")
    parser.read_string(text, str(path))
    unknown = [name for name in parser.sections() if name != section]
    if unknown and path.name not in _SHARED:
        raise ValueError(f"there is no section {shown(unknown[0])}, only {section}")
    if parser.has_section(section):
        return dict(parser.items(section))
    return None


def _codes(given: Any, where: str) -> frozenset[str]:
    """Return the codes in a text or a list; a severity stands for all of its codes."""
    codes: set[str] = set()
    if not isinstance(given, str | list):
        raise UnavailableError(f"{where}: {shown(str(given))} is no list of codes")
    text = given if isinstance(given, str) else " ".join(map(str, given))
    for word in text.replace(",", " ").split():
        of_severity = {
            code for code in FINDINGS if str(FINDINGS[code].severity) == word
        }
        codes |= of_severity or {_code(word, f"{where}: ")}
    return frozenset(codes)


def _code(word: str, where: str = "") -> str:
    if word not in FINDINGS:
        like = get_close_matches(word, FINDINGS, 1)
        hint = f": {like[0]} is meant, most likely" if like else ""
        raise UnavailableError(f"{where}there is no finding {shown(word)}{hint}")
    return word


def explain_rules(invocation: Invocation) -> Result:
    """Explain the findings that are named, or all of them."""
    codes = [_code(word) for word in invocation.opts.codes] or list(FINDINGS)
    data = {"rules": [reports_on.rule_data(code) for code in codes]}
    text = reports_on.rule_text(
        codes, invocation.terminal.paint, with_examples=bool(invocation.opts.codes)
    )
    return Result(0, data, text)


_NOT_FOUND = frozenset({404, 410})
_UNAVAILABLE = 2


def check(invocation: Invocation) -> Result:
    """Check files and sites; the others are checked even if one is not available."""
    choices = read_choices(invocation.opts, Path.cwd())
    found = [(source, _files_of(source)) for source in invocation.opts.sources]
    is_one = [files for _, files in found] == [None]
    if invocation.opts.format == "html" and not is_one:
        raise UnavailableError("a page is about one file")
    reports = []
    for source in dict.fromkeys(
        name for one, files in found for name in files or [one]
    ):
        try:
            rules = _rules_of(invocation, source)
        except UnavailableError as error:  # noqa: PERF203 - each source by itself
            if is_one:
                raise
            reports.append(reports_on.check(Rules(source), failure=str(error)))
        else:
            reports.append(reports_on.check(rules, choices))
    page = None
    if invocation.opts.format == "html":
        from mandelbot.cli.file_verbs import page_of  # noqa: PLC0415 -- it is not cheap

        page = partial(page_of, invocation, rules, checked=reports[0])
    data = reports[0] if is_one else reports_on.together(reports)
    failures = [one["failure"] for one in reports if one["failure"]]
    code = _UNAVAILABLE if failures else reports_on.exit_code(data, choices)
    text = reports_on.text_of(data, choices, invocation.opts, invocation.terminal.paint)
    return Result(code, data, text, page=page, remarks=failures)


def _files_of(source: str) -> list[str] | None:
    """Return the robots.txt files of a folder, at any depth, without hidden folders.

    None: the source is no folder.
    """
    if is_url(source) or source == "-" or not Path(source).is_dir():
        return None
    files = []
    for here, folders, names in os.walk(source):
        folders[:] = [name for name in folders if not name.startswith(".")]
        files += [
            str(Path(here, name)) for name in names if name.lower() == "robots.txt"
        ]
    if not files:
        raise UnavailableError(f"{source}: there is no robots.txt in it")
    return sorted(files)


def _rules_of(invocation: Invocation, source: str) -> Rules:
    """Return the rules of a source.

    If a site's file is missing, one in capitals is looked for.
    """
    rules = rules_of(invocation, source)
    if rules.answer is None:
        return rules
    if rules.delivery is None:
        raise UnavailableError(rules.trouble)
    if rules.is_there:
        return rules
    url = rules.source
    if rules.answer.status not in _NOT_FOUND or not url.endswith("/robots.txt"):
        return rules
    other = invocation.fetch(url.removesuffix("robots.txt") + "ROBOTS.TXT")
    delivery = replace(rules.delivery, in_capitals=other.status in SUCCESS)
    return replace(rules, delivery=delivery)
