"""What a file says to one robot: scanned while it is asked little, indexed when it is asked more.

Most sites are asked for a page or two, some for a million. The first question costs a scan, which
keeps nothing. The second builds an index, for the price of several scans; all later ones cost next
to nothing. Who asks why, and not only whether, pays a scan each time, until so often that all rules
by themselves are worth to be kept.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections import defaultdict
from typing import TYPE_CHECKING

from scrapy_mandelbot.robots.robotstxt.grammar import WHITE_SPACE, decode, line_ends, searchable
from scrapy_mandelbot.robots.robotstxt.groups import select_groups
from scrapy_mandelbot.robots.robotstxt.index import Index, Wildcards
from scrapy_mandelbot.robots.robotstxt.patterns import Glob, Globs, Pattern
from scrapy_mandelbot.robots.robotstxt.verdict import (
    Matcher,
    Rule,
    default_of,
    read_rule,
    read_rules,
    rule_of,
    scan,
)

if TYPE_CHECKING:
    import re
    from collections.abc import Callable

    from scrapy_mandelbot.robots.preferences.in_robots_txt import AgentPreferences
    from scrapy_mandelbot.robots.robotstxt.grammar import Grammar
    from scrapy_mandelbot.robots.robotstxt.groups import GroupMatch


class DecidingRules:
    """Tells which rule decides. Ranks are places in the dialect's precedence, 0 the strongest."""

    def __init__(self, text: str, selection: GroupMatch, grammar: Grammar) -> None:
        dialect = grammar.dialect
        ends = line_ends(text)
        found: list[tuple[int, int, bool, Pattern | Glob, Rule]] = []
        for start, end, version in selection.spans:
            for line in grammar.any_rule.finditer(text, start, end):
                value = line[2].rstrip(WHITE_SPACE)
                rule = Rule(not line[1], decode(value), bisect_right(ends, line.start()))
                read = read_rule(value, version, dialect, line.start(), allow=rule.allow)
                found += ((*one, rule) for one in read)
        found.sort(key=lambda one: one[:2])  # weight, then place
        self._ranked = [(allows, rule) for _, _, allows, _, rule in found]
        self._default = default_of(text, selection, grammar)
        self._exact: dict[str, int] = {}
        self._prefixes: dict[str, int] = {}
        wildcards: defaultdict[str, list[tuple[int, bool, str, Callable[[str], bool]]]]
        wildcards = defaultdict(list)
        self._glob_ranks: list[int] = []
        globs: list[Glob] = []
        for rank, (_, _, allows, pattern, _) in enumerate(found):
            if isinstance(pattern, Glob):
                self._glob_ranks.append(rank)
                globs.append(pattern)
            elif pattern.exact:
                self._exact.setdefault(pattern.head, rank)
            elif pattern.is_prefix:
                self._prefixes.setdefault(pattern.head, rank)
            else:
                wildcards[pattern.head].append((rank, allows, pattern.guard, pattern.matches))
        self._wildcards = {head: Wildcards(rules, [], None) for head, rules in wildcards.items()}
        self._lengths = sorted({len(head) for head in (*self._prefixes, *self._wildcards)})
        self._globs = Globs(globs) if globs else None

    def explain(self, target: str) -> tuple[bool, Rule | None]:
        """Return whether a target is allowed, and the rule that decides; None: none matches."""
        best = self._exact.get(target, sys.maxsize)
        for length in self._lengths:
            if length > len(target):
                break
            head = target[:length]
            best = min(best, self._prefixes.get(head, sys.maxsize))
            wildcards = self._wildcards.get(head)
            for rank, _, guard, matches in wildcards.search(target) if wildcards else ():
                if rank < best and guard in target and matches(target):
                    best = rank
        glob = None if self._globs is None else self._globs.first(target)
        if glob is not None:
            best = min(best, self._glob_ranks[glob])
        if best == sys.maxsize:
            return self._default, None
        return self._ranked[best]


ROBOTS_TXT = "/robots.txt"
_SCANS = 6  # as many cost about as much as reading all rules
_ALWAYS: Matcher = (-sys.maxsize, -1, True, Pattern(ROBOTS_TXT, exact=True))


class Decider:
    """Decides for one robot. Holds the body, and of what is in it only where its groups are."""

    __slots__ = (
        *("_asked", "_body", "_explained", "_grammar", "_rules"),
        *("index", "preferences", "selection"),
    )

    def __init__(self, body: bytes, grammar: Grammar, names: tuple[str, ...]) -> None:
        self._body = body
        self._grammar = grammar
        self._asked = False
        self._explained = 0
        self._rules: DecidingRules | None = None
        self.selection = select_groups(searchable(body), grammar, names)
        self.index: Index | None = None
        self.preferences: AgentPreferences | None = None
        """What its groups say of the use of pages, when that has been asked for."""

    def allowed(self, origin: str, target: str) -> bool:
        """Whether a target is allowed. The origin tells what URLs look like that will be asked."""
        if self.index is None:
            if not self._asked:
                self._asked = True
                return self.scan(target)[0]
            self.index = self._build_index(origin)
        return self.index.decide(target)

    def explain(self, target: str) -> tuple[bool, Rule | None]:
        """Return whether a target is allowed, and the rule that decided; None: no rule did."""
        if self._explained < _SCANS:
            self._explained += 1
            allowed, line = self.scan(target)
            return allowed, None if line is None else rule_of(line)
        if target == ROBOTS_TXT and self._grammar.dialect.robots_txt_allowed:
            return True, None
        if self._rules is None:
            self._rules = DecidingRules(searchable(self._body), self.selection, self._grammar)
        return self._rules.explain(target)

    def scan(self, target: str) -> tuple[bool, re.Match[str] | None]:
        """Return whether a target is allowed, and the line that decided, for `rule_of`."""
        if target == ROBOTS_TXT and self._grammar.dialect.robots_txt_allowed:
            return True, None
        text = searchable(self._body)
        found = scan(text, self.selection, self._grammar, target)
        return found or (default_of(text, self.selection, self._grammar), None)

    def _build_index(self, origin: str) -> Index:
        text = searchable(self._body)
        rules = read_rules(text, self.selection, self._grammar)
        if self._grammar.dialect.robots_txt_allowed:
            rules.append(_ALWAYS)
        default = default_of(text, self.selection, self._grammar)
        return Index(rules, default=default, origin=origin)
