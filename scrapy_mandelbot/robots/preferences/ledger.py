"""The ledger: what was decided about each page, by what, and what was said of its use.

A line is a JSON object. It quotes the page's own words, and names the robots.txt and tdmrep.json in
force by the SHA-256 of their bytes: with these copies every decision in it can be made again. Each
line has its number and the SHA-256 of the line before it: `Chain` tells what was changed since.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_mandelbot.robots.preferences.in_pages import PageWords, usage_in
from scrapy_mandelbot.robots.preferences.statements import NOTHING_SAID, Usage, answers_of
from scrapy_mandelbot.robots.preferences.tdmrep import TdmFile, with_tdm_file
from scrapy_mandelbot.robots.robotstxt import DIALECTS, RobotsTxt
from scrapy_mandelbot.robots.tags.head import LicenseLink, Meta

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from scrapy_mandelbot.robots.preferences.statements import Statement

VERSION = 2
"""Of a line's form: it grows when a name or a meaning changes. Lines of version 1 have no hash."""
NO_LINE = "0" * 64
"""What the first line has in place of the hash of the line before it."""
MOST_STATEMENTS = 200
"""Statements of a page that a line has; the answers come from all."""
LINE_LIMIT = 65_536
"""Bytes of a line, its end included. One that would be longer is cut, and says so (``is_cut``)."""
MALFORMED = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What is raised by a line that somebody has changed, when it is looked into."""
_TEXT_LIMIT = 500  # characters of a statement's text
_written = json.JSONEncoder(separators=(",", ":")).encode
_FEW = 20  # statements and terms of a line that is cut


class RulesInForce(NamedTuple):
    """The robots.txt by which a page was fetched."""

    robots: RobotsTxt
    digest: str
    """The SHA-256 of its bytes, as :func:`digest_of` returns it."""
    max_bytes: int
    case: str
    """What its answer meant: ``rules``, ``allow_all``, …"""
    is_ours: bool = True
    """False: another parser decided whether the page might be fetched."""


class FetchRecord(NamedTuple):
    """A page, and all that was said of its use when it was fetched."""

    url: str
    time: str
    """ISO 8601, UTC."""
    status: int | None
    """None: it was not fetched, because of the use that was refused beforehand."""
    agent: str | Sequence[str]
    words: PageWords
    usage: Usage
    rules: RulesInForce | None
    """None: the site's robots.txt was not asked."""
    tdm_digest: str | None = None
    """Of its tdmrep.json; None: it was not asked for."""
    purposes: tuple[str, ...] = ()
    is_image: bool = False
    is_cached: bool = False
    """It came from the HTTP cache: fetched before, and judged by what stands now."""
    body: str | None = None
    """The SHA-256 of its body, unpacked."""


def digest_of(body: bytes) -> str:
    """Return the SHA-256 of a copy, body or line without its end, in hexadecimal digits."""
    return sha256(body).hexdigest()


def entry_of(page: FetchRecord) -> dict[str, Any]:
    """Return what the line of a page says."""
    return {
        "event": "not_fetched" if page.status is None else "fetched",
        "url": page.url,
        "time": page.time,
        "status": page.status,
        "body": page.body,
        "agent": page.agent if isinstance(page.agent, str) else list(page.agent),
        "purposes": list(page.purposes),
        "is_image": page.is_image,
        "is_cached": page.is_cached,
        "robots": None if page.rules is None else _rules_data(page.rules, page.url, page.agent),
        "tdmrep": page.tdm_digest,
        "words": [list(map(list, words)) for words in page.words],
        **_said(page.usage, is_image=page.is_image),
    }


def line_of(entry: dict[str, Any], number: int, previous: str) -> bytes:
    """Return a line, with its end: what it says, its number, and the hash of the line before it."""
    entry = {"version": VERSION, "number": number, "previous": previous, **entry}
    line = _written(entry).encode() + b"\n"
    if len(line) > LINE_LIMIT:  # what a page says itself is the longest part of it, and goes first
        short: dict[str, Any] = {"words": [[], [], []], "is_cut": True}
        short |= {name: entry.get(name, ())[:_FEW] for name in ("statements", "terms")}
        line = _written({**entry, **short}).encode() + b"\n"
    if len(line) > LINE_LIMIT:
        short |= {"robots": None, "statements": [], "terms": [], "agent": ""}
        short["url"] = str(entry.get("url"))[:_TEXT_LIMIT]
        line = _written({**entry, **short}).encode() + b"\n"
    return line


def _rules_data(rules: RulesInForce, url: str, agent: str | Sequence[str]) -> dict[str, Any]:
    decided = _decided(rules.robots, url, agent) if rules.is_ours else None
    return {
        "sha256": rules.digest,
        "case": rules.case,
        "dialect": rules.robots.dialect.name,
        "max_bytes": rules.max_bytes,
        "verdict": decided,
    }


def _decided(robots: RobotsTxt, url: str, agent: str | Sequence[str]) -> dict[str, Any]:
    verdict = robots.verdict(url, agent)
    rule = verdict.rule
    return {
        "allowed": verdict.allowed,
        "line": None if rule is None else rule.line,
        "rule": None if rule is None else str(rule),
        "reason": verdict.reason,
    }


def _said(usage: Usage, *, is_image: bool) -> dict[str, Any]:
    return {
        "answers": answers_of(usage, of_images=is_image),
        "statements": list(map(_statement_data, usage.statements[:MOST_STATEMENTS])),
        "terms": list(map(asdict, usage.terms[:MOST_STATEMENTS])),
    }


def _statement_data(statement: Statement) -> dict[str, Any]:
    return {**asdict(statement), "text": statement.text[:_TEXT_LIMIT]}


def read_line(line: bytes) -> dict[str, Any] | None:
    """Return what is in a line; None: it is no line of a ledger."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(entry, dict):
        return None
    is_of_run = entry.get("event") in _OF_RUNS
    return entry if is_of_run or isinstance(entry.get("url"), str) else None


_OF_RUNS = ("run", "end")
_OF_PAGES = (None, "fetched", "not_fetched")  # None: of version 1


class Chain:
    """Tells where lines are missing, changed or added since they were written.

    Each line is given to it, in the order of the file. Lines at the end that are missing, and a
    last one that was changed, are known by the head alone: the hash of the last line, which the log
    and the report have, and who keeps it elsewhere can compare.
    """

    def __init__(self) -> None:
        self.head = NO_LINE
        """The hash of the last line."""
        self._number = 0
        self._is_chained = False
        self._lines_of_runs: dict[str, int] = {}

    @property
    def open_runs(self) -> int:
        """Runs without a last line: they go on, or were killed, or it is missing."""
        return len(self._lines_of_runs)

    def problems(self, line: bytes, entry: dict[str, Any] | None) -> list[str]:
        """Return what is wrong with the place of a line, given without its end, as sentences."""
        found = [] if entry is None else [*self._found(entry)]
        if found[:1] != [_ADDED]:  # the next one need not follow it
            self.head = digest_of(line)
            number = None if entry is None else entry.get("number")
            self._number = number if type(number) is int else self._number + 1
        if entry is not None:
            found += self._of_run(entry)
        return found

    def _found(self, entry: dict[str, Any]) -> Iterator[str]:
        number, due = entry.get("number"), self._number + 1
        if number is None and entry.get("version") == 1 and not self._is_chained:
            return
        self._is_chained = True
        if type(number) is not int or number < due:
            yield _ADDED
        elif number > due:
            missing = f"line {due} is" if number == due + 1 else f"lines {due} to {number - 1} are"
            yield f"{missing} missing before it"
        elif entry.get("previous") != self.head:
            yield "the line before it was changed, or this line was not written after it"

    def _of_run(self, entry: dict[str, Any]) -> Iterator[str]:
        runs, run = self._lines_of_runs, str(entry.get("run"))
        if entry.get("event") == "run":
            runs[run] = 0
        elif entry.get("event") == "end":
            lines = runs.pop(run, None)
            if lines != entry.get("lines"):
                yield f"its run wrote {entry.get('lines')} lines, and {lines} are here"
        elif run in runs:
            runs[run] += 1


_ADDED = "it was added or moved here: its number is not the next"


def disagreements(entry: dict[str, Any], kept: Callable[[str], bytes | None]) -> list[str]:
    """Decide all of a line again, and return where that comes to something else, as sentences.

    `kept` returns the copy of a SHA-256; None: there is none.
    """
    try:
        return _disagreements(entry, kept)
    except MALFORMED as error:
        return [f"the line cannot be read: {type(error).__name__}: {error}"]


def _disagreements(entry: dict[str, Any], kept: Callable[[str], bytes | None]) -> list[str]:
    if entry["version"] not in (1, VERSION):
        return [f"the line is of version {entry['version']}, and {VERSION} can be read"]
    return _decided_again(entry, kept) if entry.get("event") in _OF_PAGES else []


def _decided_again(entry: dict[str, Any], kept: Callable[[str], bytes | None]) -> list[str]:
    problems: list[str] = []
    file, url, agent = NOTHING_SAID, entry["url"], entry["agent"]
    in_force = entry["robots"]
    if in_force is not None:
        body = _copy(in_force["sha256"], "robots.txt", kept, problems)
        if in_force["dialect"] not in DIALECTS:
            problems.append(f"its dialect {in_force['dialect']!r} is not known here")
        elif body is not None:
            robots = _robots(body, in_force["dialect"], in_force["max_bytes"])
            verdict = in_force["verdict"]
            if verdict is not None and verdict != _decided(robots, url, agent):
                problems.append(f"the robots.txt says now: {robots.verdict(url, agent)}")
            file = robots.usage(url, agent)
    if entry.get("is_cut"):  # the page's own words are not there: its answers cannot be made again
        return problems
    headers, metas, links = entry["words"]
    words = PageWords(
        tuple((name, value) for name, value in headers),
        tuple(Meta(*meta) for meta in metas),
        tuple(LicenseLink(*link) for link in links),
    )
    page = usage_in(words, agent)
    if entry["tdmrep"] is not None:
        body = _copy(entry["tdmrep"], "tdmrep.json", kept, problems)
        if body is not None:
            page = with_tdm_file(page, _tdm_file(body).usage(url))
    if not problems:
        again = _said(file.and_also(page), is_image=entry["is_image"])
        problems += [
            f"{name} are {_shown(entry[name])}, and come to {_shown(again[name])}"
            for name in again
            if entry[name] != again[name]
        ]
    return problems


def _copy(
    digest: str, name: str, kept: Callable[[str], bytes | None], problems: list[str]
) -> bytes | None:
    body = kept(digest)
    if body is None:
        problems.append(f"the copy of its {name} is missing: {digest}")
    elif _digest_often(body) != digest:
        problems.append(f"the copy of its {name} has been changed: {digest}")
        return None
    return body


# Line after line is about the same few sites. A copy is parsed into some MB at most.
_MOST_PARSED = 16


@lru_cache(maxsize=_MOST_PARSED)
def _robots(body: bytes, dialect: str, max_bytes: int) -> RobotsTxt:
    return RobotsTxt.parse(body, dialect=dialect, max_bytes=max_bytes)


_tdm_file = lru_cache(maxsize=_MOST_PARSED)(TdmFile.parse)
_digest_often = lru_cache(maxsize=_MOST_PARSED)(digest_of)

_SHOWN = 300  # characters of an answer in a sentence


def _shown(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
