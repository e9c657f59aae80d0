"""The rules of one robot's groups, and the first of two ways to decide: the scan.

The scan tries all rules and takes the one that comes first in the dialect's precedence. It knows
which rule decided, and needs nothing built, so it takes the first decisions on a file and every
explanation. The index (`index.py`) answers when a file turns out to be asked more.
"""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

from scrapy_mandelbot.robotstxt.lines import WHITE_SPACE, decode, line_number
from scrapy_mandelbot.robotstxt.paths import COMPARABLE, escape_non_ascii, split_url
from scrapy_mandelbot.robotstxt.patterns import (
    Glob,
    Pattern,
    glob_pattern,
    prefix_pattern,
    wildcard_pattern,
)
from scrapy_mandelbot.robotstxt.verdict import Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy_mandelbot.robotstxt.dialects import Dialect
    from scrapy_mandelbot.robotstxt.grammar import Grammar
    from scrapy_mandelbot.robotstxt.groups import Selection


class Matcher(NamedTuple):
    """A rule ready to be compared with targets. Of those that match, the smallest decides."""

    weight: int
    """How the dialect's precedence orders the rules."""
    number: int
    """The rule's place in the file among the robot's rules, from 0: the order of equals."""
    allows: bool
    pattern: Pattern | Glob


def _longest_first(length: int, allow: bool, exact: bool) -> int:  # noqa: ARG001, FBT001 - row of a table
    """Mandelbot's page, "Precedence of Directives": by length, Allow first in ties."""
    return -2 * length - allow


def _file_order(length: int, allow: bool, exact: bool) -> int:  # noqa: ARG001, FBT001
    """The extended standard: in the order they appear."""
    return 0


def _by_kind(length: int, allow: bool, exact: bool) -> int:  # noqa: ARG001, FBT001
    """Its older text: explicit Allow, then Disallow, then pattern Allow."""
    return (_EXPLICIT_ALLOW if exact else _PATTERN_ALLOW) if allow else _DISALLOW


_EXPLICIT_ALLOW, _DISALLOW, _PATTERN_ALLOW = range(3)

_PRECEDENCE: dict[str, Callable[[int, bool, bool], int]] = {
    "longest": _longest_first,
    "first": _file_order,
    "kind": _by_kind,
}

_Line = tuple[str, str, str]  # empty for Allow; a plain value; any other value


class Rules:
    """The rules of the groups of a file that are about one robot, in file order."""

    __slots__ = ("_grammar", "_lines", "_others", "_plain", "_weigh", "default")

    def __init__(self, text: str, selection: Selection, grammar: Grammar) -> None:
        self._grammar = grammar
        self._weigh = _PRECEDENCE[grammar.dialect.precedence]
        self._lines: list[_Line] = []
        self._others: list[Matcher] = []
        for start, end, version in selection.spans:
            lines: list[_Line] = grammar.rule.findall(text, start, end)
            self._others += self._read_others(lines, len(self._lines), version)
            if grammar.dialect.index_htm_is_directory:
                self._others += self._directories(lines, len(self._lines))
            self._lines += lines
        self._plain = tuple([plain for _, plain, _ in self._lines if plain])
        self.default = grammar.dialect.precedence != "kind" or self._default_of_kinds()

    def deciding(self, target: str) -> tuple[bool, int] | None:
        """Scan for the rule that decides: whether it allows, and its number; None: none matches."""
        found = [other[:3] for other in self._others if other.pattern.matches(target)]
        begins, weigh = target.startswith, self._weigh
        if begins(self._plain):
            found += [
                (weigh(len(plain), not forbids, False), number, not forbids)  # noqa: FBT003 - no exact
                for number, (forbids, plain, _) in enumerate(self._lines)
                if plain and begins(plain)
            ]
        if not found:
            return None
        _, number, allows = min(found)
        return allows, number

    def matchers(self) -> list[Matcher]:
        """Return all the rules."""
        weigh = self._weigh
        plain = [
            Matcher(weigh(len(plain), not forbids, False), number, not forbids, Pattern(plain))  # noqa: FBT003
            for number, (forbids, plain, _) in enumerate(self._lines)
            if plain
        ]
        return plain + self._others

    def _read_others(self, lines: list[_Line], first: int, version: int) -> Iterator[Matcher]:
        """Yield the rules whose values are not plain: wildcards, escapes, no path at all."""
        dialect = self._grammar.dialect
        numbered = enumerate(lines, first)
        others = [(n, not forbids, other) for n, (forbids, plain, other) in numbered if not plain]
        for number, allow, value in others:
            path = _path(decode(value.rstrip(WHITE_SPACE)), version, dialect)
            if path:
                yield self._matcher(number, path, version, allow=allow)
            elif path is not None and dialect.empty_rules_decide:
                weight = self._weigh(0, allow, False)  # noqa: FBT003
                yield Matcher(weight, number, True, Pattern(""))  # noqa: FBT003

    def _matcher(self, number: int, path: str, version: int, *, allow: bool) -> Matcher:
        dialect = self._grammar.dialect
        pattern = _PATTERNS[dialect.patterns, version](path, COMPARABLE[dialect.escapes])
        length = len(path) if path.isascii() else len(escape_non_ascii(path))
        return Matcher(self._weigh(length, allow, pattern.exact), number, allow, pattern)

    def _directories(self, lines: list[_Line], first: int) -> Iterator[Matcher]:
        """Yield what Google takes ``Allow: /a/index.htm…`` for as well: ``/a/$``."""
        for number, (forbids, plain, other) in enumerate(lines, first):
            directory, slash, name = (plain or other).rpartition("/")
            if slash and not forbids and name.startswith("index.htm"):
                yield self._matcher(number, decode(directory) + "/$", 1, allow=True)

    def _default_of_kinds(self) -> bool:
        """Whether what no rule matches is allowed, by the older text of the extended standard."""
        kinds = {matcher.weight for matcher in self.matchers()}
        if _DISALLOW in kinds:
            return _PATTERN_ALLOW not in kinds
        return not kinds


_PATTERNS: dict[tuple[str, int], Callable[[str, Callable[[str], str]], Pattern | Glob]] = {
    ("wildcards", 1): wildcard_pattern,
    ("wildcards", 2): wildcard_pattern,
    ("none", 1): prefix_pattern,
    ("none", 2): prefix_pattern,
    ("globs", 1): prefix_pattern,
    ("globs", 2): glob_pattern,
}
_PATH_BEGINNINGS = {1: "/*", 2: "/*?[\\"}


def _path(value: str, version: int, dialect: Dialect) -> str | None:
    """Return the path in a value; None for a value that is ignored, empty for no path."""
    if not value or dialect.paths_as_written or value[0] in _PATH_BEGINNINGS[version]:
        return value
    parts = split_url(value)
    return None if parts is None else parts[1]


def read_rule(number: int, text: str, selection: Selection, grammar: Grammar) -> Rule:
    """Return the rule of that number among those of the selection."""
    found = (grammar.rule.finditer(text, span.start, span.end) for span in selection.spans)
    line = next(islice(chain.from_iterable(found), number, None))
    path = decode(line[2] or line[3]).rstrip(WHITE_SPACE)
    return Rule(not line[1], path, line_number(text, line.start()))
