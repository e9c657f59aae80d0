"""Decides for one robot, and prepares no more of the file than the decisions so far pay for.

Crawls fetch a page or two from most sites, and a million from some. Most files are small: their
rules are listed and tried one by one, until an index pays. A large file costs a scan for the first
decision, which stores nothing, and an index for the second; later decisions cost next to nothing.
Explanations cost a scan each, until storing all rules pays.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, ClassVar

from scrapy_mandelbot.robots.formatting import shown
from scrapy_mandelbot.robots.robotstxt.grammar import searchable
from scrapy_mandelbot.robots.robotstxt.groups import select_groups
from scrapy_mandelbot.robots.robotstxt.patterns import Pattern
from scrapy_mandelbot.robots.robotstxt.verdict import (
    WEIGHTS,
    Matcher,
    Rule,
    default_of,
    literal_in,
    read_rule,
    read_rules,
    scan,
)

if TYPE_CHECKING:
    from scrapy_mandelbot.robots.preferences.in_robots_txt import AgentPreferences
    from scrapy_mandelbot.robots.robotstxt.grammar import Grammar
    from scrapy_mandelbot.robots.robotstxt.groups import GroupMatch
    from scrapy_mandelbot.robots.robotstxt.index import DecidingRules, Index


class RuleList:
    """The rules of a small file as written: cheap to build, and fast enough for a few decisions.

    It decides URLs of its origin without escapes, fragments and characters beyond ASCII.
    """

    __slots__ = ("_always", "_dialect", "_others", "_prefixes", "_rules", "left", "origin")

    def __init__(self, text: str, selection: GroupMatch, grammar: Grammar, origin: str) -> None:
        self.origin = origin
        self.left = _LISTED_ANSWERS
        """The decisions left until an index pays."""
        self._dialect = grammar.dialect
        self._always = origin + ROBOTS_TXT if grammar.dialect.robots_txt_allowed else None
        self._rules: list[tuple[str, str, str]] = []  # as `Grammar.rule` finds them
        self._others: list[tuple[str, str, int, int, bool]] = []
        for start, end, version in selection.spans:
            found = grammar.rule.findall(text, start, end)
            self._others += [
                (literal_in(other), other, version, place, not forbids)
                for place, (forbids, _, other) in enumerate(found, len(self._rules))
                if other
            ]
            self._rules += found
        self._prefixes = tuple([plain for _, plain, _ in self._rules if plain])

    def decide(self, url: str) -> bool:
        """Return whether a URL is allowed."""
        self.left -= 1
        if url == self._always:
            return True
        target = url[len(self.origin) :]
        found: list[tuple[int, int, bool]] = []  # weight, place, whether it allows
        if target.startswith(self._prefixes):
            weigh = WEIGHTS[self._dialect.precedence]
            found += (
                (weigh(len(plain), not forbids, False), place, not forbids)  # noqa: FBT003 - not exact
                for place, (forbids, plain, _) in enumerate(self._rules)
                if plain and target.startswith(plain)
            )
        for literal, value, version, place, allows in self._others:
            if literal in target:
                found += (
                    read[:3]
                    for read in read_rule(value, version, self._dialect, place, allow=allows)
                    if read[3].matches(target)
                )
        return min(found)[2] if found else True


ROBOTS_TXT = "/robots.txt"
_NAME_SHOWN = 60  # characters of a robot's name in the text of a verdict
_LISTED_ANSWERS = 40  # so many decisions by a list cost about as much as an index
_SMALL = 4_000  # characters of a robot's groups
_STEP = 32  # rules; indexing them takes a fraction of a millisecond
_SCANS = 6  # so many cost about as much as parsing all rules
_SHORTEST = 7  # characters of a line with a glob, by its cost
_ALWAYS: Matcher = (-sys.maxsize, -1, True, Pattern(ROBOTS_TXT, exact=True))


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer for one URL and agent. Its text is a sentence for any log."""

    A_RULE: ClassVar = "a rule matches"
    NO_RULE: ClassVar = "no rule matches"
    NOT_LISTED: ClassVar = "no rule matches, and only what is allowed may be read"
    NO_GROUP: ClassVar = "no group is about this agent"
    ROBOTS_TXT: ClassVar = "/robots.txt is always allowed"
    NOT_A_URL: ClassVar = "not a URL that can be read"
    TOO_COSTLY: ClassVar = "too many rules with wildcards for a URL of this length"

    allowed: bool
    rule: Rule | None
    """The rule that decided; None if none matched."""
    agent: str | None
    """The name, as written, of the group that applies; None if none does."""
    reason: str
    """Why, as text."""

    @property
    def is_too_costly(self) -> bool:
        """Whether it is forbidden as the comparison would cost too much (``docs/limits.rst``)."""
        return self.reason == self.TOO_COSTLY

    def __str__(self) -> str:
        answer = "allowed" if self.allowed else "forbidden"
        rule = self.rule
        why = f": {self.reason}" if rule is None else f" by line {rule.line}: {rule}"
        if self.agent is None:
            return f"{answer}{why}"
        return f"{answer}{why} (agent {shown(self.agent, _NAME_SHOWN)})"


class Decider:
    """Decides for one robot. It stores the body and the places of the robot's groups."""

    __slots__ = (
        *("_is_used", "_body", "_explained", "_grammar", "_rules", "_steps"),
        *("index", "listed", "preferences", "selection"),
    )

    def __init__(self, body: bytes, grammar: Grammar, names: tuple[str, ...]) -> None:
        self._body = body
        self._grammar = grammar
        self._is_used = False
        self._explained = 0
        self._rules: DecidingRules | None = None
        self._steps: Iterator[object] | None = None
        self.selection = select_groups(searchable(body), grammar, names)
        self.listed: RuleList | None = None
        self.index: Index | None = None
        self.preferences: AgentPreferences | None = None
        """The usage preferences in its groups, once requested."""

    def allowed(self, origin: str, target: str) -> bool:
        """Return whether a target is allowed. Later URLs are expected to have the same origin."""
        if self.index is not None:
            return self.index.decide(target)
        if not self._is_used:
            self._is_used = True
            if not self._is_small():
                return not self.is_too_costly(origin, target) and self.scan(target)[0]
            text = searchable(self._body)
            self.listed = RuleList(text, self.selection, self._grammar, origin)
        if self.listed is not None and self.listed.left:
            return self.listed.decide(self.listed.origin + target)
        any(self._index_steps(origin))  # all of them
        return self.allowed(origin, target)

    def _is_small(self) -> bool:
        """Whether the rules are few, and each decides without the others."""
        dialect = self._grammar.dialect
        return (
            dialect.patterns != "globs"
            and dialect.precedence != "kind"
            and not dialect.index_htm_is_directory
            and sum(span.end - span.start for span in self.selection.spans) <= _SMALL
        )

    def is_too_costly(self, origin: str, target: str) -> bool:
        """Return whether a target is forbidden without comparing it with the rules."""
        if self.index is None:
            text, has_globs = searchable(self._body), self._grammar.dialect.patterns == "globs"
            wildcards = sum(  # at most
                (end - start) // _SHORTEST if has_globs else text.count("*", start, end)
                for start, end, _ in self.selection.spans
            )
            from scrapy_mandelbot.robots.robotstxt.index import FEW, MOST_COMPARED  # noqa: PLC0415

            if wildcards <= FEW or wildcards * len(target) <= MOST_COMPARED:
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
        allowed, rule = self._explain(target)
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
            for line in self._grammar.any_rule.finditer(text, start, end)
        )
        first = list(islice(lines, 2))
        return Rule.of(first[0]) if len(first) == 1 else None

    def _explain(self, target: str) -> tuple[bool, Rule | None]:
        if self._explained < _SCANS:
            self._explained += 1
            allowed, line = self.scan(target)
            return allowed, None if line is None else Rule.of(line)
        if self._rules is None:
            from scrapy_mandelbot.robots.robotstxt.index import DecidingRules  # noqa: PLC0415

            self._rules = DecidingRules(searchable(self._body), self.selection, self._grammar)
        return self._rules.explain(target)

    def scan(self, target: str) -> tuple[bool, re.Match[str] | None]:
        """Return whether a target is allowed, and the line that decided, for `Rule.of`, or None."""
        if target == ROBOTS_TXT and self._grammar.dialect.robots_txt_allowed:
            return True, None
        text = searchable(self._body)
        found = scan(text, self.selection, self._grammar, target)
        return found or (default_of(text, self.selection, self._grammar), None)

    def preparing(self, origin: str) -> Iterator[object] | None:
        """Return the steps that are left to index the file; None: it is indexed."""
        if self.index is None and self._steps is None:
            steps = self._index_steps(origin)
            self._steps = iter(lambda: len(list(islice(steps, _STEP))), 0)
        return self._steps

    def _index_steps(self, origin: str) -> Iterator[None]:
        from scrapy_mandelbot.robots.robotstxt.index import Index  # noqa: PLC0415 -- few crawls

        text, index = searchable(self._body), Index(origin)
        rules: Iterable[Matcher] = read_rules(text, self.selection, self._grammar)
        if self._grammar.dialect.robots_txt_allowed:
            rules = chain(rules, (_ALWAYS,))
        default = default_of(text, self.selection, self._grammar)
        yield from index.build(rules, default=default)
        self.listed, self.index, self._steps = None, index, None
