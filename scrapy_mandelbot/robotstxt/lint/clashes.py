"""Checks of the rules of a group against each other: twice, tied, never reached.

Rules are compared by what they match, in Mandelbot's precedence: the longest, Allow in a tie. That
is RFC 9309's and Google's, too.

A rule never decides when a stronger one matches all that it matches. For that it is enough to look
at one target: the rule's own literals, with a sign that is in no rule for each run of any
characters. A pattern that matches this has matched the sign with its own stars, and would match
anything else there as well.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

from scrapy_mandelbot.robotstxt.lint.source import STANDARD, Found
from scrapy_mandelbot.robotstxt.paths import escape_non_ascii, normalise
from scrapy_mandelbot.robotstxt.patterns import Pattern, wildcard_pattern
from scrapy_mandelbot.robotstxt.rules import path_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_mandelbot.robotstxt.lint.source import Check, Source
    from scrapy_mandelbot.robotstxt.outline import Group
    from scrapy_mandelbot.robotstxt.records import Record

_ANYTHING = "\uffff"  # stands in no comparable path: these are ASCII
_KEY = 5  # characters by which wildcards are looked up
_EFFORT = 2_000_000  # pieces of patterns tried in a file; rules left after that count as reachable


class _Rule(NamedTuple):
    weight: int
    """The smaller the stronger."""
    line: int
    record: Record
    pattern: Pattern

    def __str__(self) -> str:
        return f"line {self.line} ({self.record.field.capitalize()})"


def check_clashes(source: Source) -> Check:
    """Which rules of a group get in each other's way."""
    effort = _EFFORT
    for group in source.outline.groups:
        rules = list(_rules_of(group))
        yield from _check_order(rules)
        wildcards = _Wildcards(rules, effort)
        yield from _check_reach(sorted(rules), wildcards)
        effort = wildcards.effort


def _rules_of(group: Group) -> Iterator[_Rule]:
    for record in group.rules():
        path = path_of(record.value, 1, STANDARD)
        if path:
            length = len(path) if path.isascii() else len(escape_non_ascii(path))
            weight = -2 * length - (record.field == "allow")
            yield _Rule(weight, record.number, record, wildcard_pattern(path, normalise))


def _check_reach(strongest_first: list[_Rule], wildcards: _Wildcards) -> Check:
    same: dict[Pattern, _Rule] = {}
    for rule in strongest_first:
        first = same.setdefault(rule.pattern, rule)
        if first is rule:
            stronger = wildcards.covering(rule)
            wildcards.add(rule)
            if stronger:
                yield _unreachable(rule, stronger)
        elif first.record.value != rule.record.value:
            yield _unreachable(rule, first)
        elif first.record.field == rule.record.field:
            yield Found("duplicate-rule", rule.line, f"The rule is in line {first.line} already.")
        else:
            yield Found("tie", rule.line, f"The Allow of line {first.line} has the same path.")


def _unreachable(rule: _Rule, stronger: _Rule) -> Found:
    message = f"The rule never decides: {stronger} matches all that it matches, and goes first."
    return Found("unreachable-rule", rule.line, message)


def _check_order(rules: list[_Rule]) -> Check:
    """Moderatobot, "Disallow vs. Allow": some robots take the first rule that matches."""
    disallowed: dict[str, _Rule] = {}
    lengths: list[int] = []
    for rule in rules:
        head = rule.pattern.head
        if rule.record.field == "disallow":
            if rule.pattern.is_prefix and head not in disallowed:
                disallowed[head] = rule
                if len(head) not in lengths:
                    lengths.append(len(head))
            continue
        for length in lengths:
            earlier = disallowed.get(head[:length]) if length <= len(head) else None
            if earlier and earlier.pattern != rule.pattern:
                message = f"The Disallow of line {earlier.line} covers this Allow and comes first."
                yield Found("allow-after-disallow", rule.line, message)
                break


class _Wildcards:
    """Rules with wildcards, by a rare piece of what their matches must hold."""

    def __init__(self, rules: list[_Rule], effort: int) -> None:
        self.effort = effort
        self._counts = Counter(
            key for rule in rules if not rule.pattern.is_prefix for key in _keys(rule.pattern.guard)
        )
        self._by_key: defaultdict[str, list[_Rule]] = defaultdict(list)
        self._sizes: set[int] = set()
        """Lengths of the keys in use: the usual one, and of guards that are shorter."""

    def add(self, rule: _Rule) -> None:
        """Take a rule into account; one without wildcards covers none but its equals."""
        pattern = rule.pattern
        if pattern.exact or pattern.is_prefix:
            return
        key = min(_keys(pattern.guard), key=self._counts.__getitem__)
        self._by_key[key].append(rule)
        self._sizes.add(len(key))

    def covering(self, rule: _Rule) -> _Rule | None:
        """Return one of the rules added that matches all that this one matches."""
        if not self._by_key:
            return None
        target = _example(rule.pattern)
        for size in self._sizes:
            for key in {target[at : at + size] for at in range(len(target) - size + 1)}:
                for wildcard in self._by_key.get(key, ()):
                    if self.effort < 0:
                        return None
                    self.effort -= 1 + len(wildcard.pattern.middle)
                    if wildcard.pattern.matches(target):
                        return wildcard
        return None


def _keys(guard: str) -> list[str]:
    if len(guard) <= _KEY:
        return [guard]
    return [guard[at : at + _KEY] for at in range(len(guard) - _KEY + 1)]


def _example(pattern: Pattern) -> str:
    """Return a target that only those patterns match that match all that this one does."""
    if pattern.exact:
        return pattern.head
    return _ANYTHING.join((pattern.head, *pattern.middle, pattern.tail or ""))
