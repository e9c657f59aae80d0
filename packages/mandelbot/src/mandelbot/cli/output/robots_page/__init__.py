"""``--format html``: one page about one robots.txt, which needs nothing but a browser.

The findings by kind, the file, the corrected version, and a box in which URLs are
tested. The file can be edited, and is judged as one types: the page reads it and
decides by itself, by scripts that are held equal to the package (`read.js`,
`decide.js`).
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from html import escape
from itertools import islice
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from mandelbot import pages
from mandelbot._version import __version__
from mandelbot.cli.output.check_report import STANDARD_INPUT, counts_of
from mandelbot.cli.output.fix_report import differing
from mandelbot.cli.output.rules_in_force import Rules
from mandelbot.findings import FINDINGS
from mandelbot.formatting import counted, printable
from mandelbot.robotstxt.agents import BROWSER_WORDS
from mandelbot.robotstxt.dialects import DIALECTS
from mandelbot.robotstxt.known_robots import (
    FALLBACKS,
    IGNORE_STAR,
    KINDS,
    KNOWN_ROBOTS,
    own_dialects,
)
from mandelbot.robotstxt.verdict import Verdict

if TYPE_CHECKING:
    from mandelbot.robotstxt.dialects import Dialect

DIALECT_TEXTS = {
    "mandelbot": (
        "The longest path that matches decides, and Allow wins a tie. * and a final $"
        " are wildcards, groups for the same robot count together."
    ),
    "rfc9309": (
        "The standard of 2022. It decides as Mandelbot does, but rules that are whole"
        " URLs match nothing."
    ),
    "google": (
        "Google's own parser: the standard, some misspelt fields, and lines without a"
        " colon."
    ),
    "rep1994": (
        "The first standard: the first path that matches decides, nothing is a"
        " wildcard, and a blank line ends a group."
    ),
    "rep2008": (
        "What search engines agreed on in 2008: the longest path decides, and of"
        " several groups for a robot the first."
    ),
    "extended2": (
        "The extended standard 2.0: the first path that matches decides; shell patterns"
        " in groups with Robot-version: 2.0."
    ),
}
OWN_DIALECT = "A dialect of this project's own."


def title_of(rules: Rules) -> str:
    """Return what a page is about: the site, or the file without its folder."""
    if not rules.url:
        if rules.source == STANDARD_INPUT:
            return "robots.txt"
        return PurePath(rules.source).name
    site = rules.site.partition("://")[2]
    path = urlsplit(rules.url).path
    return site if path == "/robots.txt" else f"{site}{path}"


_REASONS = (
    "A_RULE",
    "NO_RULE",
    "NOT_LISTED",
    "NO_GROUP",
    "STAR_IGNORED",
    "ROBOTS_TXT",
    "NOT_A_URL",
    "TOO_COSTLY",
)
_OF_FETCHING = frozenset({"fresh_for", "forbidding_statuses", "only_status_200"})
_NAMED = 100  # robots of the file that are offered
_TRIED = 2  # paths of the file that are in the box at first
_LONG = 200  # characters of a path that is not


def tester_data(
    subject: RobotsPageData, before: ShownFile, after: ShownFile | None
) -> dict[str, Any]:
    """Return what the page's scripts need, except the files that it shows."""
    site = subject.rules.site
    dialects = {}
    for name, dialect in {**DIALECTS, subject.dialect.name: subject.dialect}.items():
        dialects[name] = {
            "reads": dialect_data(dialect),
            "about": DIALECT_TEXTS.get(name, OWN_DIALECT),
            "meaning": _meaning(subject, dialect),
        }
    urls = list(subject.urls)
    if not urls:
        urls = [site + path for path in _paths(subject.rules)]
    return {
        "site": site,
        "dialect": subject.dialect.name,
        "own_dialects": {} if subject.is_chosen else own_dialects(),
        "dialects": dialects,
        "max_bytes": subject.rules.max_bytes,
        "agents": list(subject.agents),
        "urls": urls,
        "before": before.octets,
        "after": None if after is None else after.octets,
        "reasons": {name: getattr(Verdict, name) for name in _REASONS},
        "browser_words": sorted(BROWSER_WORDS),
    }


def dialect_data(dialect: Dialect) -> dict[str, Any]:
    """Return how a dialect reads files, as the page's script takes it."""
    data = asdict(dialect)
    others = ((one.name.lower(), (one.group.lower(),)) for one in FALLBACKS)
    data["fallbacks"] = (*dialect.fallbacks, *others)
    data["ignore_star"] = [one.name.lower() for one in IGNORE_STAR]
    return {name: value for name, value in data.items() if name not in _OF_FETCHING}


def robots_offered(rules: Rules) -> list[tuple[str, list[str]]]:
    """Return the robots to choose from, by kind: those that the file names first."""
    offered = []
    of_file = list(islice(rules.robots_named(), _NAMED))
    if of_file:
        offered.append(("In the file", of_file))
    for kind, words in KINDS.items():
        names = [robot.name for robot in KNOWN_ROBOTS if robot.kind == kind]
        offered.append((words, names))
    return offered


def _meaning(subject: RobotsPageData, dialect: Dialect) -> dict[str, Any] | None:
    """Return what a dialect makes of an answer without a file; None: there is one."""
    robots, _ = subject.rules.read(dialect)
    if robots is not None:
        return None
    decided = subject.rules.decide("/", "", dialect)
    return {"allowed": decided["allowed"], "reason": decided["reason"]}


def _paths(rules: Rules) -> list[str]:
    """Return paths of which the file says something."""
    values = (one.value for one in rules.records if one.field in {"allow", "disallow"})
    plain = filter(_is_plain, dict.fromkeys(values))
    return [*islice(plain, _TRIED), "/"]


def _is_plain(path: str) -> bool:
    is_short = 1 < len(path) < _LONG
    return path.startswith("/") and is_short and not set(path) & set("*$?[")


class ShownFile(NamedTuple):
    """A file in a page."""

    lines: tuple[str, ...]
    """As they are, octets that are not UTF-8 as escapes."""
    octets: str | None
    """The whole file, a character for each octet; None: what is shown is all there is.
    """


def shown_file(rules: Rules) -> ShownFile:
    """Return all of a file, even if robots read only the first part of it."""
    lines = tuple(record.raw for record in rules.records)
    shown = "".join(f"{printable(line)}\n" for line in lines)
    if shown.encode() == rules.body:
        return ShownFile(lines, None)
    return ShownFile(lines, rules.body.decode("latin-1"))


def html_of(file: ShownFile, linked: Container[int]) -> str:
    """Return the lines as items of a list, those that are linked to with an ``id``.

    A line that is not linked costs four characters: a file may have a hundred thousand.
    """
    items = []
    for number, line in enumerate(file.lines, start=1):
        tag = f"<li id=L{number}>" if number in linked else "<li>"
        items.append(f"{tag}{escape(printable(line))}\n")
    return "".join(items)


def changed(
    before: ShownFile, after: ShownFile
) -> tuple[list[list[int]], list[list[int]]]:
    """Return the lines in one file alone: of each run the first and the last."""
    removed = []
    added = []
    for start, stop, other_start, other_stop in differing(before.lines, after.lines):
        if start < stop:
            removed.append([start + 1, stop])
        if other_start < other_stop:
            added.append([other_start + 1, other_stop])
    return removed, added


_WITHOUT_SCRIPTS = (
    ".file { list-style: decimal; padding-left: 4rem; } .file li { content-visibility:"
    " visible; display: list-item; padding-left: 0.5rem; }"
)
"""Numbers of lines, where no script writes them."""
_SCRIPTS = ("decide.js", "read.js", "lines.js", "page.js")


@dataclass(frozen=True, kw_only=True)
class RobotsPageData:
    """What a page is about."""

    rules: Rules
    checked: dict[str, Any]
    """The report of ``check``."""
    corrected: dict[str, Any] | None
    """The report of ``fix``; None: there is no file to be read."""
    dialect: Dialect
    is_chosen: bool = False
    """Whether this dialect reads the file for robots with another one of theirs, too.
    """
    agents: Sequence[str]
    """Names of the robot, tried in order."""
    urls: Sequence[str] = ()
    """To test at first; none: some to which rules of the file apply."""


_SHUT_OUT = frozenset({"closed-to-all", "closed-to-robot"})
"""The summary at the top."""


def render(subject: RobotsPageData, made: datetime) -> str:
    """Return the page.

    Raises:
        ImportError: Jinja2 is not installed.
    """
    rules = subject.rules
    checked = subject.checked
    corrected = subject.corrected
    robots, reason = rules.read(subject.dialect)
    before = shown_file(rules if rules.is_there else Rules(""))
    after = None
    if robots and corrected:
        after = shown_file(Rules("", corrected["text"].encode()))
    absence = ""
    if reason:
        absence = f"No rules are read: {reason}."
    elif not before.lines:
        absence = "The file is empty."
    found = checked["findings"]
    kinds: dict[str, list[dict[str, Any]]] = {}
    for one in found:
        kinds.setdefault(one["code"], []).append(one)
    data = tester_data(subject, before, after)
    marked, marked_after = changed(before, after) if after else ([], [])
    return pages.render(
        __name__,
        "page.html.jinja",
        {
            "title": title_of(rules),
            "summary": ", ".join(text for _, text in counts_of(checked)),
            "counts": counts_of(checked),
            "shut_out": [one for one in found if one["code"] in _SHUT_OUT],
            "delivery": list(_delivery(checked["delivery"], len(rules.body))),
            "comments": robots.comments(subject.agents) if robots else (),
            "kinds": kinds,
            "catalogue": FINDINGS,
            "lines": html_of(before, {one["line"] for one in found}),
            "absent": absence,
            "corrected": None if after is None else html_of(after, ()),
            "remarks": corrected["remarks"] if corrected else (),
            "offered": robots_offered(rules),
            "dialect": subject.dialect.name,
            "dialects": list(data["dialects"]),
            "made": f"mandelbot {__version__}, {made:%Y-%m-%d %H:%M} UTC",
            "data": pages.script_data(
                {**data, "changed": {"before": marked, "after": marked_after}}
            ),
        },
        style=pages.file_of(__name__, "page.css"),
        script="".join(pages.file_of(__name__, name) for name in _SCRIPTS),
        unscripted=_WITHOUT_SCRIPTS,
    )


def _delivery(delivery: dict[str, Any] | None, size: int) -> Iterator[tuple[str, str]]:
    """Yield what is known of how the file came, for people."""
    known = delivery or {}
    seconds = known.get("seconds")
    final_url = known.get("final_url")
    fields = (
        ("Came from", final_url if final_url != known.get("url") else None),
        ("Status", known.get("status")),
        ("Redirects", known.get("redirects")),
        ("Time", None if seconds is None else f"{seconds:.3f} s"),
        ("Type", known.get("content_type")),
        ("Encoding", known.get("content_encoding")),
        ("Size", counted(size, "byte")),
    )
    yield from ((name, str(value)) for name, value in fields if value)
