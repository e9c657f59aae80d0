"""The rules of one robot's groups, and the first of two ways to decide: the scan.

The scan tries all rules and takes the one that comes first in the dialect's precedence. It knows
which rule decided, and needs nothing built, so it takes the first decisions on a file and every
explanation. The index (`index.py`) answers when a file turns out to be asked more.
"""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple, Protocol

from scrapy_mandelbot.robotstxt.lines import WHITE_SPACE, decode, grammar_of, line_number
from scrapy_mandelbot.robotstxt.paths import comparable, escape_non_ascii, split_url
from scrapy_mandelbot.robotstxt.patterns import (
    Glob,
    Pattern,
    glob_pattern,
    prefix_pattern,
    wildcard_pattern,
)
from scrapy_mandelbot.robotstxt.verdict import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_mandelbot.robotstxt.dialects import Dialect
    from scrapy_mandelbot.robotstxt.groups import Selection


class Matcher(NamedTuple):
    """A rule ready to be compared with targets. Of those that match, the smallest decides."""

    weight: int
    """How the dialect's precedence orders the rules."""
    number: int
    """The rule's place in the file among the robot's rules, from 0: the order of equals."""
    allows: bool
    pattern: Pattern | Glob


def _longest_first(length: int, *, allow: bool, exact: bool) -> int:
    """Mandelbot's page, "Precedence of Directives": by length, Allow first in ties."""
    del exact
    return -2 * length - allow


def _file_order(length: int, *, allow: bool, exact: bool) -> int:
    """The extended standard: in the order they appear."""
    del length, allow, exact
    return 0


def _by_kind(length: int, *, allow: bool, exact: bool) -> int:
    """The same, the text replaced: explicit Allow, then Disallow, then pattern Allow."""
    del length
    return (_EXPLICIT_ALLOW if exact else _PATTERN_ALLOW) if allow else _DISALLOW


_EXPLICIT_ALLOW, _DISALLOW, _PATTERN_ALLOW = range(3)


class _Weigh(Protocol):
    def __call__(self, length: int, *, allow: bool, exact: bool) -> int: ...


_PRECEDENCE: dict[str, _Weigh] = {
    "longest": _longest_first,
    "first": _file_order,
    "kind": _by_kind,
}


class Rules:
    """The rules of the groups of a file that are about one robot, in file order."""

    __slots__ = ("_dialect", "_lines", "_matchers", "_selection", "_weigh", "default")

    def __init__(self, text: str, selection: Selection, dialect: Dialect) -> None:
        rule_line = grammar_of(dialect).rule_line
        self._dialect = dialect
        self._selection = selection
        self._weigh = _PRECEDENCE[dialect.precedence]
        self._lines: list[tuple[str, str, str]] = []  # first letter, plain value, other value
        for start, end in selection.spans:
            self._lines += rule_line.findall(text, start, end)
        self._matchers = list(self._read_others())
        self.default = dialect.precedence != "kind" or self._default_of_kinds()

    def deciding(self, target: str) -> tuple[int, bool] | None:
        """Scan for the rule that decides: its number and whether it allows; None: none matches."""
        begins = target.startswith
        found = [
            (self._weigh(len(plain), allow=letter in "aA", exact=False), number, letter in "aA")
            for number, (letter, plain, _) in enumerate(self._lines)
            if plain and begins(plain)
        ]
        found += [matcher[:3] for matcher in self._matchers if matcher.pattern.matches(target)]
        return min(found)[1:] if found else None

    def rule(self, number: int, text: str) -> Rule:
        """Return a rule by its number; `text` is the one that the rules were read from."""
        rule_line = grammar_of(self._dialect).rule_line
        spans = self._selection.spans
        found = chain.from_iterable(rule_line.finditer(text, *span) for span in spans)
        line = next(islice(found, number, None))
        path = decode(line[2] or line[3]).strip(WHITE_SPACE)
        return Rule(line[1] in "aA", path, line_number(text, line.start()))

    def matchers(self) -> list[Matcher]:
        """Return all the rules."""
        plain = [
            Matcher(
                self._weigh(len(plain), allow=letter in "aA", exact=False),
                number,
                letter in "aA",
                Pattern(plain),
            )
            for number, (letter, plain, _) in enumerate(self._lines)
            if plain
        ]
        return plain + self._matchers

    def _read_others(self) -> Iterator[Matcher]:
        """Yield the rules whose values are not plain: wildcards, escapes, no paths at all."""
        dialect = self._dialect
        for number, (letter, plain, other) in enumerate(self._lines):
            allow = letter in "aA"
            if allow and dialect.index_htm_is_directory and "/index.htm" in (plain or other):
                yield from self._directory(plain or other, number)
            if plain:
                continue
            path = self._path(decode(other).strip(WHITE_SPACE))
            if path:
                pattern = self._pattern(path)
                length = len(escape_non_ascii(path))
                weight = self._weigh(length, allow=allow, exact=pattern.exact)
                yield Matcher(weight, number, allow, pattern)
            elif path is not None and dialect.empty_rules_decide:
                yield Matcher(self._weigh(0, allow=allow, exact=False), number, True, Pattern(""))  # noqa: FBT003

    def _path(self, value: str) -> str | None:
        """Return the path in a value; None for a value that is ignored, empty for no path."""
        if not value or self._dialect.paths_as_written or value[0] in "/*":
            return value
        if self._selection.version == 2 and value[0] in "?[\\":  # noqa: PLR2004 - Robot-version: 2.0
            return value
        parts = split_url(value)
        return None if parts is None else parts[1]

    def _pattern(self, path: str) -> Pattern | Glob:
        dialect = self._dialect
        if dialect.patterns == "wildcards":
            return wildcard_pattern(path, comparable(dialect))
        if dialect.patterns == "globs" and self._selection.version == 2:  # noqa: PLR2004
            return glob_pattern(path, comparable(dialect))
        return prefix_pattern(path, comparable(dialect))

    def _directory(self, value: str, number: int) -> Iterator[Matcher]:
        """Yield what Google takes ``/a/index.htm…`` for as well: ``/a/$``."""
        directory, _, name = value.rpartition("/")
        if name.startswith("index.htm"):
            path = f"{directory}/$"
            pattern = self._pattern(decode(path))
            weight = self._weigh(len(path), allow=True, exact=pattern.exact)
            yield Matcher(weight, number, True, pattern)  # noqa: FBT003

    def _default_of_kinds(self) -> bool:
        """Whether what no rule matches is allowed, by the older text of the extended standard."""
        weights = {matcher.weight for matcher in self.matchers()}
        if _DISALLOW in weights:
            return _PATTERN_ALLOW not in weights
        return not weights
