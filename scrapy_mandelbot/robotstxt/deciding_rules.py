"""The third way to decide: all rules of a robot by what they match, for who wants many verdicts.

The index (`index.py`) knows the answer, and no longer the rule. The scan (`rules.py`) knows the
rule, and reads the file for it each time. Here the rules are read once: one that is a plain prefix
is found by looking up the beginnings of the target, few are left to be tried one by one. Kept are
the rules, and nothing else of the file: a crawl keeps them with each site.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from typing import TYPE_CHECKING

from scrapy_mandelbot.robotstxt.globs import Glob, Globs
from scrapy_mandelbot.robotstxt.lines import WHITE_SPACE, decode, line_ends
from scrapy_mandelbot.robotstxt.rules import default_of, read_rule
from scrapy_mandelbot.robotstxt.verdict import Rule

if TYPE_CHECKING:
    from scrapy_mandelbot.robotstxt.grammar import Grammar
    from scrapy_mandelbot.robotstxt.groups import Selection
    from scrapy_mandelbot.robotstxt.patterns import Pattern


class DecidingRules:
    """Tells which rule decides. Ranks are places in the dialect's precedence, 0 the strongest."""

    def __init__(self, text: str, selection: Selection, grammar: Grammar) -> None:
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
        self._wildcards: list[tuple[int, str, Pattern]] = []
        self._glob_ranks: list[int] = []
        globs: list[Glob] = []
        for rank, (_, _, _, pattern, _) in enumerate(found):
            if isinstance(pattern, Glob):
                self._glob_ranks.append(rank)
                globs.append(pattern)
            elif pattern.exact:
                self._exact.setdefault(pattern.head, rank)
            elif pattern.is_prefix:
                self._prefixes.setdefault(pattern.head, rank)
            else:
                self._wildcards.append((rank, pattern.guard, pattern))
        self._lengths = sorted({len(prefix) for prefix in self._prefixes})
        self._globs = Globs(globs) if globs else None

    def explain(self, target: str) -> tuple[bool, Rule | None]:
        """Return whether a target is allowed, and the rule that decides; None: none matches."""
        best = self._exact.get(target, sys.maxsize)
        for length in self._lengths:
            if length > len(target):
                break
            best = min(best, self._prefixes.get(target[:length], sys.maxsize))
        for rank, guard, pattern in self._wildcards:
            if rank > best:
                break
            if guard in target and pattern.matches(target):
                best = rank
                break
        glob = None if self._globs is None else self._globs.first(target)
        if glob is not None:
            best = min(best, self._glob_ranks[glob])
        if best == sys.maxsize:
            return self._default, None
        return self._ranked[best]
