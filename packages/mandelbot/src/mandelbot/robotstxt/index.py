"""An index of all rules, for files with many decisions.

A rule without wildcards matches a range of URLs: URLs that begin with ``/a`` are, in
the order of strings, those from ``/a`` up to but not including ``/b``. Such ranges are
nested or disjoint, so they split all URLs into intervals with one answer each. The
index holds the sorted bounds of the intervals and their answers; a decision is one
`bisect`.

A rule with wildcards belongs to the range of its literal head. If it could change the
answer of an interval, the answer is a `WildcardInterval`: the rules that may match,
strongest first, and the answer that applies when none of them does.

The bounds include the origin of the site, so that whole URLs are looked up unchanged,
and a URL of another origin is outside of all intervals.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from mandelbot.robotstxt.grammar import line_ends, rule_value
from mandelbot.robotstxt.patterns import Glob, Globs, Pattern
from mandelbot.robotstxt.verdict import ROBOTS_TXT, Rule, default_of, read_rules

if TYPE_CHECKING:
    from mandelbot.robotstxt.grammar import Grammar
    from mandelbot.robotstxt.groups import GroupMatch
    from mandelbot.robotstxt.verdict import Matcher


_Rule = tuple[int, bool]
"""Its rank, 0 for the strongest, and whether it allows."""
_Wildcard = tuple[int, bool, str, Callable[[str], bool]]
"""Its rank, whether it allows, a literal in all its matches, and its matcher."""

# A URL is forbidden if more characters of its path, times the rules with wildcards that
# may match, would be compared; but not if these rules are few, as in small files, which
# are not indexed.
MOST_COMPARED = 500_000
FEW = 500

# So many wildcards with one head are looked up by a key in their literal: one character
# that is no letter or digit before two that are, or after them. Keys of one kind never
# overlap, so `findall` finds all keys in a URL.
_MANY = 48
_KEYS = (
    re.compile("[^A-Za-z0-9][A-Za-z0-9]{2}"),
    re.compile("[A-Za-z0-9]{2}[^A-Za-z0-9]"),
)


def may_cost_too_much(wildcards: int, target: str) -> bool:
    """Whether an index of so many wildcards may forbid a target as too costly."""
    return wildcards > FEW and wildcards * len(target) > MOST_COMPARED


class Wildcards:
    """Rules with wildcards and one head, strongest first, and those of outer ranges."""

    __slots__ = (
        "around",
        "count",
        "first",
        "glob_rules",
        "globs",
        "here",
        "listed",
        "tables",
    )

    def __init__(self) -> None:
        self.around: Wildcards | None = None
        # The rules here and in `around`; one more for 32 steps of a glob, which cost as
        # much.
        self.count = 0
        self.first = [sys.maxsize, sys.maxsize]
        """The ranks of the strongest rules that forbid and that allow, here or in
        `around`.
        """
        self.listed: list[Glob] = []
        self.globs: Globs | None = None
        self.glob_rules: list[_Rule] = []
        self.tables: list[tuple[re.Pattern[str], dict[str, list[_Wildcard]]]] = []
        self.here: list[_Wildcard] = []

    def add(self, rank: int, allows: bool, pattern: Pattern | Glob) -> None:  # noqa: FBT001 - as ranked
        """Add a rule that is weaker than those before."""
        self.count += 1
        self.first[allows] = min(rank, self.first[allows])
        if isinstance(pattern, Glob):
            self.count += len(pattern.text) // 32
            self.listed.append(pattern)
            self.glob_rules.append((rank, allows))
        else:
            self.here.append((rank, allows, pattern.guard, pattern.matches))

    def tabulate(self) -> Iterator[None]:
        """Prepare the search, once all rules are added, in steps."""
        if self.listed:
            self.globs = Globs(self.listed)
        for key in _KEYS if len(self.here) >= _MANY else ():
            table: dict[str, list[_Wildcard]] = {}
            others: list[_Wildcard] = []
            for wildcard in self.here:
                found = key.search(wildcard[2])
                (table.setdefault(found[0], []) if found else others).append(wildcard)
                yield
            self.here = others
            if table:
                self.tables.append((key, table))

    def within(self, around: Wildcards | None) -> Wildcards:
        """Return these rules, with those of the range around."""
        if around is not None:
            self.around = around
            self.count += around.count
            self.first = [*map(min, self.first, around.first)]
        return self

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
    longest: int
    """Characters of a URL; a longer one is forbidden without comparing it."""

    def decide(self, url: str) -> bool:
        """The strongest rule that matches wins; False: it would cost too much."""
        if len(url) > self.longest:
            return False
        strongest = self._rank
        answer = self._allows
        wildcards: Wildcards | None = self._wildcards
        while wildcards is not None:
            found = wildcards.search(url) if wildcards.tables else wildcards.here
            for rank, allows, guard, matches in found:
                if rank < strongest and guard in url and matches(url[self._path_at :]):
                    strongest = rank
                    answer = allows
            if wildcards.globs is not None:
                glob = wildcards.globs.first(url[self._path_at :])
                if glob is not None and wildcards.glob_rules[glob][0] < strongest:
                    strongest, answer = wildcards.glob_rules[glob]
            wildcards = wildcards.around
        return answer


class Index:
    """Answers for one robot."""

    __slots__ = ("answers", "bounds", "origin")

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.bounds = [""]
        """The beginnings of the intervals; the first precedes all URLs of the origin.
        """
        self.answers: list[bool | WildcardInterval | None] = [None, None]
        """One more than the bounds, as for `bisect`. None: not a URL of the origin."""

    def build(
        self, text: str, selection: GroupMatch, grammar: Grammar
    ) -> Iterator[None]:
        """Index the rules of a robot's groups in a searchable text, in steps.

        One of them sorts all beginnings: some milliseconds for 512 KB.
        """
        origin = self.origin
        by_head = RulesByHead()
        always: tuple[Matcher, ...] = ()
        if grammar.dialect.robots_txt_allowed:
            always = (_ALWAYS,)
        rules = chain(read_rules(text, selection, grammar), always)
        yield from by_head.fill(rules, default=default_of(text, selection, grammar))
        for bound, answer in _intervals(by_head, len(origin)):
            # the last of equal bounds is the innermost
            if self.bounds[-1] == origin + bound:
                self.bounds.pop()
                self.answers.pop()
            if self.answers[-1] is not answer:
                self.bounds.append(origin + bound)
                self.answers.append(answer)
            yield

    def decide(self, target: str) -> bool:
        """The strongest rule that matches wins."""
        url = self.origin + target
        answer = self.answers[bisect_right(self.bounds, url)]
        if isinstance(answer, WildcardInterval):
            return answer.decide(url)
        return answer is True

    def is_too_costly(self, target: str) -> bool:
        """Return whether a comparable target is forbidden without comparing it."""
        url = self.origin + target
        answer = self.answers[bisect_right(self.bounds, url)]
        return isinstance(answer, WildcardInterval) and len(url) > answer.longest


_ALWAYS: Matcher = (-sys.maxsize, -1, True, Pattern(ROBOTS_TXT, exact=True))

_Range = tuple[str, int, bool, "Wildcards | None", "bool | WildcardInterval | None"]
# An open range of the sweep: its end; the rank of the strongest rule in it, and whether
# it allows; the rules with wildcards; the answer outside of inner ranges.

_LAST = "\U0010fffe"  # after all heads and ends
_OUTSIDE: _Range = ("\U0010ffff", sys.maxsize, True, None, None)


def _intervals(
    rules: RulesByHead, path_at: int
) -> Iterator[tuple[str, bool | WildcardInterval | None]]:
    """Sweep over all ranges; yield each bound in order, and the answer after it."""
    prefixes = rules.prefixes
    exacts = rules.exacts
    wildcards = rules.wildcards
    open_ranges = [_OUTSIDE]
    for head in (*sorted(prefixes.keys() | exacts.keys() | wildcards.keys()), _LAST):
        while open_ranges[-1][0] <= head:
            end = open_ranges.pop()[0]
            yield end, open_ranges[-1][4]
        if head in prefixes or head in wildcards:
            around = open_ranges[-1]
            rule = prefixes.get(head)
            end = head[:-1] + chr(ord(head[-1]) + 1)
            contested = around[3]
            if head in wildcards:
                contested = wildcards[head].within(contested)
            open_ranges.append(_inside(around, end, rule, contested, path_at))
            yield head, open_ranges[-1][4]
        if head in exacts:
            around = open_ranges[-1]
            open_ranges.append(
                _inside(around, head + "\0", exacts[head], around[3], path_at)
            )
            yield head, open_ranges[-1][4]


def _inside(
    around: _Range,
    end: str,
    rule: _Rule | None,
    wildcards: Wildcards | None,
    path_at: int,
) -> _Range:
    """Inherit from the range around, unless the rule is stronger."""
    _, rank, allows, _, _ = around
    if rule and rule[0] < rank:
        rank, allows = rule
    if wildcards is None or wildcards.first[not allows] > rank:
        return end, rank, allows, wildcards, allows
    count = wildcards.count
    longest = sys.maxsize if count <= FEW else path_at + MOST_COMPARED // count
    interval = WildcardInterval(rank, wildcards, path_at, allows, longest)
    return end, rank, allows, wildcards, interval


class RulesByHead:
    """Rules by kind and head, without the weaker ones of equals."""

    def __init__(self) -> None:
        self.ranked: list[Matcher] = []
        """All rules, the strongest first."""
        self.prefixes: dict[str, _Rule] = {}
        self.exacts: dict[str, _Rule] = {}
        self.wildcards: defaultdict[str, Wildcards] = defaultdict(Wildcards)

    def fill(self, rules: Iterable[Matcher], *, default: bool) -> Iterator[None]:
        """Rank and group rules, which come in the order of their places, in steps."""
        by_weight: defaultdict[int, list[Matcher]] = defaultdict(list)
        for rule in rules:
            by_weight[rule[0]].append(rule)
            yield
        self.ranked = [
            rule for weight in sorted(by_weight) for rule in by_weight[weight]
        ]
        for rank, (_, _, allows, pattern) in enumerate(self.ranked):
            yield
            if isinstance(pattern, str):
                self.prefixes.setdefault(pattern, (rank, allows))
            else:
                self._add(rank, allows, pattern)
        self.prefixes.setdefault("/", (len(self.ranked), default))
        for wildcards in self.wildcards.values():
            yield from wildcards.tabulate()
            yield

    def _add(self, rank: int, allows: bool, pattern: Pattern | Glob) -> None:  # noqa: FBT001 - as ranked
        head = pattern.head or "/" * (not pattern.exact)
        if not head.startswith("/"):
            return  # no target begins like that or is empty
        if pattern.exact or pattern.is_prefix:
            (self.exacts if pattern.exact else self.prefixes).setdefault(
                head, (rank, allows)
            )
        else:
            self.wildcards[head].add(rank, allows, pattern)


class DecidingRules:
    """Finds the rule that decides.

    Ranks are positions in the dialect's precedence; 0 wins.
    """

    def build(
        self, text: str, selection: GroupMatch, grammar: Grammar
    ) -> Iterator[None]:
        """Store the rules of a robot's groups in a searchable text, in steps."""
        ends = line_ends(text)
        rules = []
        for start, end, _ in selection.spans:
            for line in grammar.rule.finditer(text, start, end):
                rules.append(
                    Rule(
                        not line[1], rule_value(line), bisect_right(ends, line.start())
                    )
                )
                yield
        default = default_of(text, selection, grammar)
        by_head = RulesByHead()
        yield from by_head.fill(read_rules(text, selection, grammar), default=default)
        self._ranked = [
            (allows, rules[place]) for _, place, allows, _ in by_head.ranked
        ]
        self._default = default, None
        self._prefixes = by_head.prefixes
        self._exact = by_head.exacts
        self._wildcards = by_head.wildcards
        self._lengths = sorted(
            {len(head) for head in (*self._prefixes, *self._wildcards)}
        )

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
            for rank, _, guard, matches in (
                wildcards.search(target) if wildcards else ()
            ):
                if rank < best and guard in target and matches(target):
                    best = rank
            if wildcards and wildcards.globs:
                glob = wildcards.globs.first(target)
                if glob is not None:
                    best = min(best, wildcards.glob_rules[glob][0])
        if best < len(self._ranked):
            return self._ranked[best]
        return self._default
