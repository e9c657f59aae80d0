"""Parses the rules of one robot's groups, and decides by scanning them.

The scan tries the rules that may match and takes the first in the dialect's precedence. It knows
the line that decided and needs no preparation, so it makes the first decision for a large file and
explains the first verdicts. Three others take over: a list (`decider.py`) for the first decisions
on a small file, the index (`index.py`) for many decisions, and all rules (`decider.py`) for many
explanations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from operator import itemgetter
from typing import TYPE_CHECKING

from scrapy_mandelbot.robots.formatting import shown
from scrapy_mandelbot.robots.robotstxt.grammar import WHITE_SPACE, line_number, value_of
from scrapy_mandelbot.robots.robotstxt.paths import COMPARABLE, escaped_length, split_url
from scrapy_mandelbot.robots.robotstxt.patterns import (
    PATTERNS,
    Glob,
    Globs,
    Pattern,
)

if TYPE_CHECKING:
    from scrapy_mandelbot.robots.robotstxt.dialects import Dialect
    from scrapy_mandelbot.robots.robotstxt.grammar import Grammar
    from scrapy_mandelbot.robots.robotstxt.groups import GroupMatch


@dataclass(frozen=True, slots=True)
class Rule:
    """One Allow or Disallow line of the file. Its text fits a log: printable and short."""

    allow: bool
    path: str
    """As written."""
    line: int
    """From 1."""

    @classmethod
    def of(cls, line: re.Match[str]) -> Rule:
        """Return the rule of a line that `scan` returned."""
        return cls(not line[1], value_of(line[2]), line_number(line.string, line.start()))

    def __str__(self) -> str:
        return f"{'Allow' if self.allow else 'Disallow'}: {shown(self.path)}".rstrip()


_PatternMatcher = tuple[int, int, bool, "Pattern | Glob"]
Matcher = _PatternMatcher | tuple[int, int, bool, str]
"""A rule ready to be compared with targets: its weight, which orders the rules by the dialect's
precedence; its place, which increases from rule to rule and orders equal weights; whether it
allows; and its pattern, or a text for a plain prefix. The matching rule with the smallest weight
decides."""


#: The weights of explicit Allow, Disallow and pattern Allow, if kinds decide.
KINDS = _EXPLICIT_ALLOW, _DISALLOW, _PATTERN_ALLOW = range(3)

#: The weight of a rule, by `Dialect.precedence`: from its length, whether it allows and is exact.
WEIGHTS: dict[str, Callable[[int, bool, bool], int]] = {
    # Mandelbot's page, "Precedence of Directives": by length, Allow first in ties.
    "longest": lambda length, allow, _exact: -2 * length - allow,
    # The extended standard: in the order they appear.
    "first": lambda _length, _allow, _exact: 0,
    # Its older text: explicit Allow, then Disallow, then pattern Allow.
    "kind": lambda _length, allow, exact: (
        _DISALLOW if not allow else _EXPLICIT_ALLOW if exact else _PATTERN_ALLOW
    ),
}


def read_rules(text: str, selection: GroupMatch, grammar: Grammar) -> Iterator[Matcher]:
    """Parse all the rules for a robot, one by one."""
    dialect = grammar.dialect
    weigh = WEIGHTS[dialect.precedence]
    places = count()
    for start, end, version in selection.spans:
        lines = grammar.rule.finditer(text, start, end)
        for line, place in zip(lines, places, strict=False):
            forbids, plain, other = line.groups("")
            if plain:
                yield weigh(len(plain), not forbids, False), place, not forbids, plain  # noqa: FBT003 - not exact
            else:
                yield from read_rule(other, version, dialect, place, allow=not forbids)


def scan(
    text: str, selection: GroupMatch, grammar: Grammar, target: str
) -> tuple[bool, re.Match[str]] | None:
    """Return whether the deciding rule allows, and its line; None: no rule matches."""
    dialect = grammar.dialect
    plain = dialect.patterns != "globs" and not dialect.index_htm_is_directory
    found: list[_Found] = []
    globs: list[tuple[_Found, Glob]] = []
    for start, end, version in selection.spans:
        for line in grammar.rules_like(target, text, start, end):
            literal = literal_in(line[2]) if plain else ""
            if literal not in target if "*" in line[2] else not target.startswith(literal):
                continue
            for weight, place, allows, pattern in read_rule(
                line[2], version, dialect, line.start(), allow=not line[1]
            ):
                if isinstance(pattern, Glob):
                    if len(pattern.text) <= len(target):
                        globs.append(((weight, place, allows, line), pattern))
                elif pattern.matches(target):
                    found.append((weight, place, allows, line))
    if globs:
        globs.sort(key=lambda one: one[0][:2])
        first = Globs([glob for _, glob in globs]).first(target)
        found += [] if first is None else [globs[first][0]]
    if not found:
        return None
    _, _, allows, line = min(found, key=itemgetter(0, 1))
    return allows, line


_Found = tuple[int, int, bool, "re.Match[str]"]  # weight, place, whether it allows, line


def literal_in(value: str) -> str:
    """Return a literal in every match of a value without globs, found cheaply; it may be empty."""
    piece = value.rstrip("*$" + WHITE_SPACE)
    piece = piece[piece.rfind("*") + 1 :]
    if "%" in piece or "#" in piece:
        piece = piece.partition("%")[0].partition("#")[0]
    return piece if piece.isascii() and value[:1] in "/*" else ""


def default_of(text: str, selection: GroupMatch, grammar: Grammar) -> bool:
    """Return whether a URL that matches no rule is allowed.

    It is, except in the older text of the extended standard, where Allow lines alone forbid the
    rest, and so does a pattern Allow beside a Disallow.
    """
    if grammar.dialect.precedence != "kind":
        return True
    kinds = {weight for weight, *_ in read_rules(text, selection, grammar)}
    return _PATTERN_ALLOW not in kinds if _DISALLOW in kinds else not kinds


def read_rule(
    value: str, version: int, dialect: Dialect, place: int, *, allow: bool
) -> list[_PatternMatcher]:
    """Return the patterns of a value in the searchable text: none if it is ignored."""
    path = path_of(value_of(value), version, dialect)
    return _read_path(path, version, dialect, place, allow=allow)


def _read_path(
    path: str | None, version: int, dialect: Dialect, place: int, *, allow: bool
) -> list[_PatternMatcher]:
    weigh = WEIGHTS[dialect.precedence]
    if not path:
        if path is None or not dialect.empty_rules_decide:
            return []
        return [(weigh(0, allow, False), place, True, Pattern(""))]  # noqa: FBT003 - it allows
    if "#" in path:  # URLs escape it: a raw one begins the fragment
        path = path.replace("#", "%23")
    pattern = PATTERNS[dialect.patterns, version](path, COMPARABLE[dialect.escapes])
    rules: list[_PatternMatcher] = [
        (weigh(escaped_length(path), allow, pattern.exact), place, allow, pattern)
    ]
    if allow and dialect.index_htm_is_directory:
        directory, slash, name = path.rpartition("/")
        if slash and name.startswith("index.htm"):
            rules += _read_path(f"{directory}/$", version, dialect, place, allow=True)
    return rules


_PATH_BEGINNINGS = {1: "/*", 2: "/*?[\\"}


def path_of(value: str, version: int, dialect: Dialect) -> str | None:
    """Return the path in a value; empty for no path, None for a value to ignore."""
    if not value or dialect.paths_as_written or value[0] in _PATH_BEGINNINGS[version]:
        return value
    parts = split_url(value)
    return None if parts is None else parts[1]
