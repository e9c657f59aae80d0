"""What the page's scripts know: how dialects read, and who may be asked about."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy_mandelbot.commands.reports.page.words import DIALECTS as ABOUT
from scrapy_mandelbot.commands.reports.page.words import OWN_DIALECT
from scrapy_mandelbot.commands.reports.questions import EVERYBODY
from scrapy_mandelbot.politeness import site_of
from scrapy_mandelbot.robotstxt import DIALECTS
from scrapy_mandelbot.robotstxt import verdict as reasons
from scrapy_mandelbot.robotstxt.agents import BROWSER_WORDS
from scrapy_mandelbot.robotstxt.known_robots import KINDS, KNOWN_ROBOTS
from scrapy_mandelbot.robotstxt.outline import name_of

if TYPE_CHECKING:
    from scrapy_mandelbot.commands.reports.page import Subject
    from scrapy_mandelbot.commands.reports.page.shown_file import ShownFile
    from scrapy_mandelbot.commands.reports.rules_in_force import Rules
    from scrapy_mandelbot.robotstxt import Dialect

_REASONS = ("A_RULE", "NO_RULE", "NOT_LISTED", "NO_GROUP", "ROBOTS_TXT", "NOT_A_URL")
_OF_FETCHING = frozenset({"fresh_for", "forbidding_statuses", "only_status_200"})
_NAMED = 100  # robots of the file that are offered
_TRIED = 2  # paths of the file that are in the box at first
_LONG = 200  # characters of a path that is not


def tester_data(subject: Subject, before: ShownFile, after: ShownFile | None) -> dict[str, Any]:
    """Return all that the page's scripts have to know, but for the files, which it shows."""
    dialects = {**DIALECTS, subject.dialect.name: subject.dialect}
    site = _site_of(subject.rules)
    return {
        "site": site,
        "dialect": subject.dialect.name,
        "dialects": {
            name: {
                "reads": dialect_data(dialect),
                "about": ABOUT.get(name, OWN_DIALECT),
                "meaning": _meaning(subject, dialect),
            }
            for name, dialect in dialects.items()
        },
        "max_bytes": subject.max_bytes,
        "agents": list(subject.agents),
        "urls": list(subject.told) or [site + path for path in _paths(subject.rules)],
        "told": subject.told,
        "before": before.octets,
        "after": None if after is None else after.octets,
        "reasons": {name: getattr(reasons, name) for name in _REASONS},
        "browser_words": sorted(BROWSER_WORDS),
    }


def dialect_data(dialect: Dialect) -> dict[str, Any]:
    """Return how a dialect reads files, as the page's script takes it."""
    return {
        field.name: getattr(dialect, field.name)
        for field in fields(dialect)
        if field.name not in _OF_FETCHING
    }


def robots_offered(rules: Rules) -> list[tuple[str, list[str]]]:
    """Return the robots that can be chosen, by kinds: those that the file names first."""
    named = dict.fromkeys(
        name_of(record)
        for record in (rules.records if rules.is_there else ())
        if record.field == "user-agent"
    )
    of_file = [name for name in named if name not in {"", EVERYBODY}][:_NAMED]
    known = [
        (words, [robot.name for robot in KNOWN_ROBOTS if robot.kind == kind])
        for kind, words in KINDS.items()
    ]
    return [*([("In the file", of_file)] if of_file else ()), *known]


def _meaning(subject: Subject, dialect: Dialect) -> dict[str, Any] | None:
    """Return what a dialect makes of an answer without a file; None: there is one."""
    robots, _ = subject.rules.read(dialect, subject.max_bytes)
    if robots is not None:
        return None
    decided = subject.rules.decide("/", "", dialect, subject.max_bytes)
    return {"allowed": decided["allowed"], "reason": decided["reason"]}


def _site_of(rules: Rules) -> str:
    """Return the site that the file came from; empty: it was on disk."""
    return "" if rules.answer is None else site_of(urlsplit(rules.source))


def _paths(rules: Rules) -> list[str]:
    """Return paths of which the file says something."""
    values = [
        record.value
        for record in (rules.records if rules.is_there else ())
        if record.field in {"allow", "disallow"} and record.value.startswith("/")
    ]
    plain = [value for value in values if 1 < len(value) < _LONG and not set(value) & set("*$?[")]
    return [*list(dict.fromkeys(plain))[:_TRIED], "/"]
