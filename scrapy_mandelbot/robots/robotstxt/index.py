"""An index of all rules, for files with many decisions.

A rule without wildcards matches a range of URLs: URLs that begin with ``/a`` are, in the order of
strings, those from ``/a`` up to but not including ``/b``. Such ranges are nested or disjoint, so
they split all URLs into intervals with one answer each. The index holds the sorted bounds of the
intervals and their answers; a decision is one `bisect`.

A rule with wildcards belongs to the range of its literal head. If it could change the answer of
an interval, the answer is a `WildcardInterval`: the rules that may match, strongest first, and the
answer that applies when none of them does.

The bounds include the origin of the site, so that whole URLs are looked up unchanged, and a URL of
another origin is outside of all intervals.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING

from scrapy_mandelbot.robots.robotstxt.grammar import line_ends, value_of
from scrapy_mandelbot.robots.robotstxt.patterns import Glob, Globs
from scrapy_mandelbot.robots.robotstxt.verdict import Rule, default_of, read_rules

if TYPE_CHECKING:
    from scrapy_mandelbot.robots.robotstxt.grammar import Grammar
    from scrapy_mandelbot.robots.robotstxt.groups import GroupMatch
    from scrapy_mandelbot.robots.robotstxt.verdict import Matcher


_Rule = tuple[int, bool]
"""Its rank, 0 for the strongest, and whether it allows."""
_Wildcard = tuple[int, bool, str, Callable[[str], bool]]
"""Its rank, whether it allows, a literal in all its matches, and its matcher."""
_Glob = tuple[int, bool, Glob]
"""Its rank, whether it allows, and its pattern."""

# A URL is forbidden if more characters of its path, times the rules with wildcards that may match,
# would be compared; but not if these rules are few, as in small files, which are not indexed.
MOST_COMPARED = 500_000
FEW = 500

# So many wildcards with one head are looked up by a key in their literal: one character that is no
# letter or digit before two that are, or after them. Keys of one kind never overlap, so `findall`
# finds all keys in a URL.
_MANY = 48
_KEYS = (re.compile("[^A-Za-z0-9][A-Za-z0-9]{2}"), re.compile("[A-Za-z0-9]{2}[^A-Za-z0-9]"))


class Wildcards:
    """Rules with wildcards and the same head, strongest first, and those of enclosing ranges."""

    __slots__ = ("around", "count", "first", "glob_rules", "globs", "here", "tables")

    def __init__(self, here: list[_Wildcard], globs: list[_Glob], around: Wildcards | None) -> None:
        self.around = around
        # The rules here and in `around`; one more for 32 steps of a glob, which cost as much.
        self.count = len(here) + sum(1 + len(glob.text) // 32 for _, _, glob in globs)
        self.count += 0 if around is None else around.count
        self.first: list[int] = [sys.maxsize, sys.maxsize] if around is None else [*around.first]
        """The ranks of the strongest rules that forbid and that allow, here or in `around`."""
        for rank, allows in [one[:2] for one in here] + [one[:2] for one in globs]:
            self.first[allows] = min(rank, self.first[allows])
        self.globs = Globs([glob for _, _, glob in globs]) if globs else None
        self.glob_rules: list[_Rule] = [(rank, allows) for rank, allows, _ in globs]
        self.tables: list[tuple[re.Pattern[str], dict[str, list[_Wildcard]]]] = []
        for key in _KEYS if len(here) >= _MANY else ():
            table: dict[str, list[_Wildcard]] = {}
            for wildcard in here:
                found = key.search(wildcard[2])
                if found:
                    table.setdefault(found[0], []).append(wildcard)
            here = [wildcard for wildcard in here if not key.search(wildcard[2])]
            if table:
                self.tables.append((key, table))
        self.here = here

    def search(self, url: str) -> list[_Wildcard]:
        """Return the few of these rules that may match."""
        found = self.here.copy()
        for key, table in self.tables:
            for text in set(key.findall(url)):
                if text in table:
                    found += table[text]
        return found


@dataclass(slots=True, eq=False)
class WildcardInterval:
    """An interval whose answer depends on rules with wildcards."""

    _rank: int
    _wildcards: Wildcards
    _path_at: int
    _allows: bool

    def decide(self, url: str) -> bool:
        """The strongest rule that matches wins."""
        strongest, answer = self._rank, self._allows
        wildcards: Wildcards | None = self._wildcards
        while wildcards is not None:
            found = wildcards.search(url) if wildcards.tables else wildcards.here
            for rank, allows, guard, matches in found:
                if rank < strongest and guard in url and matches(url[self._path_at :]):
                    strongest, answer = rank, allows
            if wildcards.globs is not None:
                glob = wildcards.globs.first(url[self._path_at :])
                if glob is not None and wildcards.glob_rules[glob][0] < strongest:
                    strongest, answer = wildcards.glob_rules[glob]
            wildcards = wildcards.around
        return answer


class CostlyInterval(WildcardInterval):
    """One with so many rules that a long URL is forbidden without comparing it with them."""

    __slots__ = ()

    def decide(self, url: str) -> bool:
        """Return the answer of the strongest rule that matches; False: it would cost too much."""
        return not self.is_too_costly(url) and WildcardInterval.decide(self, url)

    def is_too_costly(self, url: str) -> bool:
        """Return whether the URL is forbidden without comparing it."""
        return self._wildcards.count * (len(url) - self._path_at) > MOST_COMPARED


class Index:
    """Answers for one robot."""

    __slots__ = ("answers", "bounds", "origin")

    def __init__(self, rules: list[Matcher], *, default: bool, origin: str) -> None:
        self.origin = origin
        self.bounds = [""]
        """The beginnings of the intervals; the first precedes all URLs of the origin."""
        self.answers: list[bool | WildcardInterval | None] = [None, None]
        """One more than the bounds, as for `bisect`. None: not a URL of the origin."""
        for bound, answer in _intervals(rules, len(origin), default=default):
            if self.bounds[-1] == origin + bound:  # the last of equal bounds is the innermost
                self.bounds.pop()
                self.answers.pop()
            if self.answers[-1] is not answer:
                self.bounds.append(origin + bound)
                self.answers.append(answer)

    def decide(self, target: str) -> bool:
        """The strongest rule that matches wins."""
        url = self.origin + target
        answer = self.answers[bisect_right(self.bounds, url)]
        return answer.decide(url) if isinstance(answer, WildcardInterval) else answer is True

    def is_too_costly(self, target: str) -> bool:
        """Return whether a comparable target is forbidden without comparing it."""
        url = self.origin + target
        answer = self.answers[bisect_right(self.bounds, url)]
        return isinstance(answer, CostlyInterval) and answer.is_too_costly(url)


_Range = tuple[str, int, bool, "Wildcards | None", "bool | WildcardInterval | None"]
# An open range of the sweep: its end; the rank of the strongest rule in it, and whether it allows;
# the rules with wildcards; the answer outside of inner ranges.

_OUTSIDE: _Range = ("\U0010ffff", sys.maxsize, True, None, None)


def _intervals(
    rules: list[Matcher], path_at: int, *, default: bool
) -> Iterator[tuple[str, bool | WildcardInterval | None]]:
    """Sweep over all ranges; yield each bound, in order, with the answer from there on."""
    prefixes, exacts, wildcards, globs = by_head(rules, default=default)
    open_ranges = [_OUTSIDE]
    for head in sorted(prefixes.keys() | exacts.keys() | wildcards.keys() | globs.keys()):
        while open_ranges[-1][0] <= head:
            end = open_ranges.pop()[0]
            yield end, open_ranges[-1][4]
        if head in prefixes or head in wildcards or head in globs:
            around, rule = open_ranges[-1], prefixes.get(head)
            end = head[:-1] + chr(ord(head[-1]) + 1)
            contested = around[3]
            if head in wildcards or head in globs:
                contested = Wildcards(wildcards.get(head, []), globs.get(head, []), contested)
            open_ranges.append(_inside(around, end, rule, contested, path_at))
            yield head, open_ranges[-1][4]
        if head in exacts:
            end = head + "\0"
            around = open_ranges[-1]
            open_ranges.append(_inside(around, end, exacts[head], around[3], path_at))
            yield head, open_ranges[-1][4]
    while len(open_ranges) > 1:
        end = open_ranges.pop()[0]
        yield end, open_ranges[-1][4]


def _inside(
    around: _Range, end: str, rule: _Rule | None, wildcards: Wildcards | None, path_at: int
) -> _Range:
    """Inherit from the range around, unless the rule is stronger."""
    _, rank, allows, _, _ = around
    if rule and rule[0] < rank:
        rank, allows = rule
    if wildcards is None or wildcards.first[not allows] > rank:
        return end, rank, allows, wildcards, allows
    kind = WildcardInterval if wildcards.count <= FEW else CostlyInterval
    return end, rank, allows, wildcards, kind(rank, wildcards, path_at, allows)


def by_head(
    rules: list[Matcher], *, default: bool
) -> tuple[dict[str, _Rule], dict[str, _Rule], dict[str, list[_Wildcard]], dict[str, list[_Glob]]]:
    """Rank the rules and group them by kind and head; drop the weaker ones of equals."""
    prefixes: dict[str, _Rule] = {}
    exacts: dict[str, _Rule] = {}
    wildcards: dict[str, list[_Wildcard]] = {}
    globs: dict[str, list[_Glob]] = {}
    ranked = sorted(rules, key=itemgetter(0, 1))
    for rank, (_, _, allows, pattern) in enumerate(ranked):
        if isinstance(pattern, str):
            prefixes.setdefault(pattern, (rank, allows))
            continue
        head = pattern.head if pattern.head or pattern.exact else "/"
        if not head.startswith("/"):
            continue  # no target begins like that or is empty
        if pattern.exact:
            exacts.setdefault(head, (rank, allows))
        elif pattern.is_prefix:
            prefixes.setdefault(head, (rank, allows))
        elif isinstance(pattern, Glob):
            globs.setdefault(head, []).append((rank, allows, pattern))
        else:
            wildcard = (rank, allows, pattern.guard, pattern.matches)
            wildcards.setdefault(head, []).append(wildcard)
    prefixes.setdefault("/", (len(ranked), default))
    return prefixes, exacts, wildcards, globs


class DecidingRules:
    """Finds the rule that decides. Ranks are positions in the dialect's precedence; 0 wins."""

    def __init__(self, text: str, selection: GroupMatch, grammar: Grammar) -> None:
        ends = line_ends(text)
        rules = [
            Rule(not line[1], value_of(line[2]), bisect_right(ends, line.start()))
            for start, end, _ in selection.spans
            for line in grammar.any_rule.finditer(text, start, end)
        ]
        default = default_of(text, selection, grammar)
        found = sorted(read_rules(text, selection, grammar), key=itemgetter(0, 1))
        self._ranked = [(allows, rules[place]) for _, place, allows, _ in found]
        self._default = default, None
        self._prefixes, self._exact, wildcards, globs = by_head(found, default=default)
        self._wildcards = {
            head: Wildcards(wildcards.get(head, []), globs.get(head, []), None)
            for head in wildcards.keys() | globs.keys()
        }
        self._lengths = sorted({len(head) for head in (*self._prefixes, *self._wildcards)})

    def explain(self, target: str) -> tuple[bool, Rule | None]:
        """Return whether a target is allowed, and the rule that decides, or None."""
        nothing = len(self._ranked), True
        best, _ = self._exact.get(target, nothing)
        for length in self._lengths:
            if length > len(target):
                break
            head = target[:length]
            best = min(best, self._prefixes.get(head, nothing)[0])
            wildcards = self._wildcards.get(head)
            for rank, _, guard, matches in wildcards.search(target) if wildcards else ():
                if rank < best and guard in target and matches(target):
                    best = rank
            if wildcards and wildcards.globs:
                glob = wildcards.globs.first(target)
                best = best if glob is None else min(best, wildcards.glob_rules[glob][0])
        return self._ranked[best] if best < len(self._ranked) else self._default
