"""What the page knows to test URLs: the tables of all dialects, of the file and the corrected one.

Dialects mostly read a group alike, and the corrected file mostly has the same groups: what is the
same is there once.
"""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy_mandelbot.politeness import site_of
from scrapy_mandelbot.robotstxt import DIALECTS
from scrapy_mandelbot.robotstxt import verdict as reasons
from scrapy_mandelbot.robotstxt.agents import BROWSER_WORDS

if TYPE_CHECKING:
    from scrapy_mandelbot.commands.reports.page import Subject
    from scrapy_mandelbot.commands.reports.rules_in_force import Rules
    from scrapy_mandelbot.robotstxt import Dialect, RobotsTxt

_REASONS = ("A_RULE", "NO_RULE", "NOT_LISTED", "NO_GROUP", "ROBOTS_TXT", "NOT_A_URL")
_NAMED = 16  # robots of the file that are offered
_TRIED = 2  # paths of the file that are in the box at first
_LONG = 200  # characters of a path that is not


class Shared:
    """Values, each once, that are found again by their number."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._numbers: dict[str, int] = {}

    def number_of(self, value: Any) -> int:
        """Return the number of a value, which is kept if it is new."""
        key = json.dumps(value)
        if key not in self._numbers:
            self._numbers[key] = len(self.values)
            self.values.append(value)
        return self._numbers[key]


def tester_data(subject: Subject) -> dict[str, Any]:
    """Return all that the page's script has to know."""
    dialects = {**DIALECTS, subject.dialect.name: subject.dialect}
    rules, tables = Shared(), Shared()
    before = {
        name: tables.number_of(_tables(subject.rules, dialect, subject.max_bytes, rules))
        for name, dialect in dialects.items()
    }
    after = None
    if subject.corrected is not None:
        corrected = replace(subject.rules, body=subject.corrected["text"].encode(), _read={})
        after = {
            name: tables.number_of(_tables(corrected, dialect, subject.max_bytes, rules))
            for name, dialect in dialects.items()
        }
    robots, _ = subject.rules.read(subject.dialect, subject.max_bytes)
    site = _site_of(subject.rules)
    return {
        "site": site,
        "dialect": subject.dialect.name,
        "agents": list(subject.agents),
        "urls": list(subject.told) or [site + path for path in _paths(robots)],
        "told": subject.told,
        "named": _named(tables.values[before[subject.dialect.name]]),
        "before": before,
        "after": after,
        "tables": tables.values,
        "rules": rules.values,
        "corrected": subject.corrected and subject.corrected["text"],
        "reasons": {name: getattr(reasons, name) for name in _REASONS},
        "browser_words": sorted(BROWSER_WORDS),
    }


def _tables(rules: Rules, dialect: Dialect, max_bytes: int, shared: Shared) -> dict[str, Any]:
    """Return the tables of a dialect, or what it makes of an answer without a file."""
    robots, _ = rules.read(dialect, max_bytes)
    if robots is None:
        decided = rules.decide("/", "", dialect, max_bytes)
        return {"meaning": {"allowed": decided["allowed"], "reason": decided["reason"]}}
    tables = robots.tables()
    for group in tables["groups"]:
        group["rules"] = shared.number_of(group["rules"])
    tables.pop("dialect")  # two that read alike share their tables
    return tables


def _site_of(rules: Rules) -> str:
    """Return the site that the file came from; empty: it was on disk."""
    return "" if rules.answer is None else site_of(urlsplit(rules.source))


def _named(tables: dict[str, Any]) -> list[str]:
    """Return the first robots that the file names."""
    groups = tables.get("groups", ())
    names = dict.fromkeys(name for group in groups for name, _ in group["names"])
    return list(names)[:_NAMED]


def _paths(robots: RobotsTxt | None) -> list[str]:
    """Return paths of which the file says something."""
    values = [
        record.value
        for record in (robots.records if robots else ())
        if record.field in {"allow", "disallow"} and record.value.startswith("/")
    ]
    plain = [value for value in values if 1 < len(value) < _LONG and not set(value) & set("*$?[")]
    return [*list(dict.fromkeys(plain))[:_TRIED], "/"]


_OF_FETCHING = frozenset({"fresh_for", "forbidding_statuses", "only_status_200"})


def dialect_data(dialect: Dialect) -> dict[str, Any]:
    """Return how a dialect reads files, as the page's script takes it."""
    return {
        field.name: getattr(dialect, field.name)
        for field in fields(dialect)
        if field.name not in _OF_FETCHING
    }
