"""The rules of one robot's groups, and the first of four ways to decide: the scan.

The scan tries the rules that may match and takes the one that comes first in the dialect's
precedence. It knows which line decided, and needs nothing built, so it answers the first question
about a large file and explains the first verdicts. A list (`decider.py`) answers the first
questions about a small one, the index (`index.py`) when a file is asked more, and all rules by
themselves (`decider.py`) when it is asked for more reasons.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from operator import itemgetter
from typing import TYPE_CHECKING

from scrapy_mandelbot.robots.formatting import shown
from scrapy_mandelbot.robots.robotstxt.grammar import WHITE_SPACE, line_number, value_of
from scrapy_mandelbot.robots.robotstxt.paths import COMPARABLE, escaped_length, split_url
from scrapy_mandelbot.robots.robotstxt.patterns import (
    Glob,
    Globs,
    Pattern,
    glob_pattern,
    prefix_pattern,
    wildcard_pattern,
)

if TYPE_CHECKING:
    from scrapy_mandelbot.robots.robotstxt.dialects import Dialect
    from scrapy_mandelbot.robots.robotstxt.grammar import Grammar
    from scrapy_mandelbot.robots.robotstxt.groups import GroupMatch

A_RULE = "a rule matches"
NO_RULE = "no rule matches"
NOT_LISTED = "no rule matches, and only what is allowed may be read"
NO_GROUP = "no group is about this agent"
ROBOTS_TXT = "/robots.txt is always allowed"
NOT_A_URL = "not a URL that can be read"


@dataclass(frozen=True, slots=True)
class Rule:
    """One Allow or Disallow line of the file. Its text is for a log: printable, and not long."""

    allow: bool
    path: str
    """As written."""
    line: int
    """From 1."""

    def __str__(self) -> str:
        return f"{'Allow' if self.allow else 'Disallow'}: {shown(self.path)}".rstrip()


_PatternMatcher = tuple[int, int, bool, "Pattern | Glob"]
Matcher = _PatternMatcher | tuple[int, int, bool, str]
"""A rule ready to be compared with targets: its weight, by which the dialect's precedence orders
the rules; its place, which grows from rule to rule and orders equals; whether it allows; and what
it matches, a text being a plain prefix. Of those that match, the one with the smallest weight
decides."""


#: The weights of explicit Allow, Disallow and pattern Allow, where kinds decide.
KINDS = _EXPLICIT_ALLOW, _DISALLOW, _PATTERN_ALLOW = range(3)

#: What weighs a rule, by `Dialect.precedence`: by its length, whether it allows and is exact.
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


def read_rules(text: str, selection: GroupMatch, grammar: Grammar) -> list[Matcher]:
    """Read all the rules that are about a robot."""
    dialect = grammar.dialect
    weigh = WEIGHTS[dialect.precedence]
    rules: list[Matcher] = []
    places = count()
    for start, end, version in selection.spans:
        lines = grammar.rule.findall(text, start, end)
        for (forbids, plain, other), place in zip(lines, places, strict=False):
            if plain:
                rules.append((weigh(len(plain), not forbids, False), place, not forbids, plain))  # noqa: FBT003 - not exact
            else:
                rules += read_rule(other, version, dialect, place, allow=not forbids)
    return rules


def scan(
    text: str, selection: GroupMatch, grammar: Grammar, target: str
) -> tuple[bool, re.Match[str]] | None:
    """Return whether the rule that decides allows, and its line; None: no rule matches."""
    dialect = grammar.dialect
    plain = dialect.patterns != "globs" and not dialect.index_htm_is_directory
    found: list[_Found] = []
    globs: list[tuple[_Found, Glob]] = []
    for start, end, version in selection.spans:
        for line in grammar.rules_like(target, text, start, end):
            if plain and literal_in(line[2]) not in target:
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
    """Return, at a glance, a part of whatever a value without globs matches; it may be empty."""
    piece = value.rstrip("*$" + WHITE_SPACE)
    piece = piece[piece.rfind("*") + 1 :]
    if "%" in piece or "#" in piece:
        piece = piece.partition("%")[0].partition("#")[0]
    return piece if piece.isascii() and value[:1] in "/*" else ""


def rule_of(line: re.Match[str]) -> Rule:
    """Return the rule of a line that `scan` returned."""
    return Rule(not line[1], value_of(line[2]), line_number(line.string, line.start()))


def default_of(text: str, selection: GroupMatch, grammar: Grammar) -> bool:
    """Whether what no rule matches is allowed.

    Yes, but in the older text of the extended standard: there, Allow lines alone forbid the rest,
    and so does a pattern Allow beside a Disallow.
    """
    if grammar.dialect.precedence != "kind":
        return True
    kinds = {weight for weight, *_ in read_rules(text, selection, grammar)}
    return _PATTERN_ALLOW not in kinds if _DISALLOW in kinds else not kinds


def read_rule(
    value: str, version: int, dialect: Dialect, place: int, *, allow: bool
) -> list[_PatternMatcher]:
    """Return what a value as it stands in the text matches: nothing for one that is ignored."""
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
    if "#" in path:  # a URL has it as an escape: what follows it there is a fragment
        path = path.replace("#", "%23")
    pattern = _PATTERNS[dialect.patterns, version](path, COMPARABLE[dialect.escapes])
    rules: list[_PatternMatcher] = [
        (weigh(escaped_length(path), allow, pattern.exact), place, allow, pattern)
    ]
    if allow and dialect.index_htm_is_directory:
        directory, slash, name = path.rpartition("/")
        if slash and name.startswith("index.htm"):
            rules += _read_path(f"{directory}/$", version, dialect, place, allow=True)
    return rules


_PATTERNS: dict[tuple[str, int], Callable[[str, Callable[[str], str]], Pattern | Glob]] = {
    ("wildcards", 1): wildcard_pattern,
    ("wildcards", 2): wildcard_pattern,
    ("none", 1): prefix_pattern,
    ("none", 2): prefix_pattern,
    ("globs", 1): prefix_pattern,
    ("globs", 2): glob_pattern,
}
_PATH_BEGINNINGS = {1: "/*", 2: "/*?[\\"}


def path_of(value: str, version: int, dialect: Dialect) -> str | None:
    """Return the path in a value; None for a value that is ignored, empty for no path."""
    if not value or dialect.paths_as_written or value[0] in _PATH_BEGINNINGS[version]:
        return value
    parts = split_url(value)
    return None if parts is None else parts[1]
