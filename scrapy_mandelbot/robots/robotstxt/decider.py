"""Decides for one robot, and prepares no more of the file than the decisions so far pay for.

Crawls fetch a page or two from most sites, and a million from some. Most files are small: their
rules are listed and tried one by one, until an index pays. A large file costs a scan for the first
decision, which stores nothing, and an index for the second; later decisions cost next to nothing.
Explanations cost a scan each, until storing all rules pays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from scrapy_mandelbot.robots.robotstxt.grammar import searchable
from scrapy_mandelbot.robots.robotstxt.groups import select_groups
from scrapy_mandelbot.robots.robotstxt.verdict import (
    ROBOTS_TXT,
    Rule,
    RuleList,
    Verdict,
    scan,
)

if TYPE_CHECKING:
    from scrapy_mandelbot.robots.preferences.in_robots_txt import AgentPreferences
    from scrapy_mandelbot.robots.robotstxt.grammar import Grammar, RuleFound
    from scrapy_mandelbot.robots.robotstxt.groups import GroupMatch
    from scrapy_mandelbot.robots.robotstxt.index import DecidingRules, Index

_SMALL = 4_000  # characters of a robot's groups
_STEP = 32  # rules; indexing them takes a fraction of a millisecond
_SCANS = 6  # so many cost about as much as parsing all rules
_SHORTEST = 7  # characters of a line with a glob, by its cost


class Decider:
    """Decides for one robot. It stores the body and the places of the robot's groups."""

    __slots__ = (
        *("_body", "_explained", "_grammar", "_is_used", "_names", "_rules", "_selection"),
        *("_steps", "index", "listed", "preferences"),
    )

    def __init__(self, body: bytes, grammar: Grammar, names: tuple[str, ...]) -> None:
        self._body = body
        self._grammar = grammar
        self._names = names
        self._is_used = False
        self._explained = 0
        self._rules: DecidingRules | None = None
        self._selection: GroupMatch | None = None
        self._steps: Iterator[object] | None = None
        self.listed: RuleList | None = None
        self.index: Index | None = None
        self.preferences: AgentPreferences | None = None
        """The usage preferences in its groups, once requested."""

    @property
    def selection(self) -> GroupMatch:
        """The robot's groups."""
        if self._selection is None:
            self._selection = select_groups(searchable(self._body), self._grammar, self._names)
        return self._selection

    def allowed(self, origin: str, target: str) -> bool:
        """Return whether a target is allowed. Later URLs are expected to have the same origin."""
        if self.index is not None:
            return self.index.decide(target)
        if not self._is_used:
            self._is_used = True
            rules = self._few_rules() if self._grammar.longest_decides else None
            if rules is None:
                return not self.is_too_costly(origin, target) and self.scan(target)[0]
            self.listed = RuleList(rules, self._grammar.dialect, origin)
        if self.listed is not None and self.listed.left:
            return self.listed.decide(target)
        any(self._index_steps(origin))  # all of them
        return self.allowed(origin, target)

    def _few_rules(self) -> list[RuleFound] | None:
        if self._grammar.is_default and len(self._body) <= _SMALL:
            return self._grammar.rules_in_small_file(self._body, self._names)
        spans = self.selection.spans
        if sum(span.end - span.start for span in spans) > _SMALL:
            return None
        text = searchable(self._body)
        return [
            rule for start, end, _ in spans for rule in self._grammar.rule.findall(text, start, end)
        ]

    def is_too_costly(self, origin: str, target: str) -> bool:
        """Return whether a target is forbidden without comparing it with the rules."""
        if self.index is None:
            text, has_globs = searchable(self._body), self._grammar.dialect.patterns == "globs"
            wildcards = sum(  # at most
                (end - start) // _SHORTEST if has_globs else text.count("*", start, end)
                for start, end, _ in self.selection.spans
            )
            from scrapy_mandelbot.robots.robotstxt.index import may_cost_too_much  # noqa: PLC0415

            if not may_cost_too_much(wildcards, target):
                return False
            any(self._index_steps(origin))  # all of them
            return self.is_too_costly(origin, target)
        return self.index.is_too_costly(target)

    def verdict(self, origin: str, target: str) -> Verdict:
        """Like :meth:`allowed`, with the rule that decided, and its group."""
        agent = self.selection.agent
        if target == ROBOTS_TXT and self._grammar.dialect.robots_txt_allowed:
            return Verdict(True, None, agent, Verdict.ROBOTS_TXT)  # noqa: FBT003 - Verdict.allowed
        if self.is_too_costly(origin, target):
            return Verdict(False, None, agent, Verdict.TOO_COSTLY)  # noqa: FBT003 - Verdict.allowed
        rule: Rule | None
        if self._explained < _SCANS:
            self._explained += 1
            allowed, line = self.scan(target)
            rule = None if line is None else Rule.of(line)
        else:
            if self._rules is None:
                from scrapy_mandelbot.robots.robotstxt.index import DecidingRules  # noqa: PLC0415

                text = searchable(self._body)
                self._rules = DecidingRules(text, self.selection, self._grammar)
            allowed, rule = self._rules.explain(target)
        if rule is not None:
            return Verdict(allowed, rule, agent, Verdict.A_RULE)
        reason = Verdict.NO_RULE if allowed else Verdict.NOT_LISTED
        return Verdict(allowed, None, agent, Verdict.NO_GROUP if agent is None else reason)

    def only_rule(self) -> Rule | None:
        """Return the single rule of the robot's groups; None: there are none, or several."""
        text = searchable(self._body)
        lines = (
            line
            for start, end, _ in self.selection.spans
            for line in self._grammar.rule.finditer(text, start, end)
        )
        first = list(islice(lines, 2))
        return Rule.of(first[0]) if len(first) == 1 else None

    def scan(self, target: str) -> tuple[bool, re.Match[str] | None]:
        """Return whether a target is allowed, and the line that decided, for `Rule.of`, or None."""
        if target == ROBOTS_TXT and self._grammar.dialect.robots_txt_allowed:
            return True, None
        return scan(searchable(self._body), self.selection, self._grammar, target)

    def preparing(self, origin: str) -> Iterator[object] | None:
        """Return the steps that are left to index the file; None: it is indexed."""
        if self.index is None and self._steps is None:
            steps = self._index_steps(origin)
            self._steps = iter(lambda: len(list(islice(steps, _STEP))), 0)
        return self._steps

    def _index_steps(self, origin: str) -> Iterator[None]:
        from scrapy_mandelbot.robots.robotstxt.index import Index  # noqa: PLC0415 -- few crawls

        index = Index(origin)
        yield from index.build(searchable(self._body), self.selection, self._grammar)
        self.listed, self.index, self._steps = None, index, None
