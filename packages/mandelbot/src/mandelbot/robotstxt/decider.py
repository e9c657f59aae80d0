"""Decides for one robot, and prepares only as much as its decisions pay for.

Crawls fetch a page or two from most sites, and a million from some. Most files are
small: their rules are listed and tried one by one, until an index pays. A large file
costs a scan for the first decision, which stores nothing, and an index for the second;
later decisions cost next to nothing. Explanations cost a scan each, until storing all
rules pays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from mandelbot.robotstxt.grammar import searchable
from mandelbot.robotstxt.paths import read_url
from mandelbot.robotstxt.verdict import ROBOTS_TXT, Rule, RuleList, Verdict, scan

if TYPE_CHECKING:
    from mandelbot.robotstxt.grammar import Grammar
    from mandelbot.robotstxt.groups import GroupMatch
    from mandelbot.robotstxt.index import DecidingRules, Index

LARGE = 32_000
"""Bytes of a file; a longer one may take several milliseconds to prepare."""
_SMALL = 4_000  # characters of a robot's groups
_STEP = 32  # rules; indexing them takes a fraction of a millisecond
_SCANS = 6  # so many cost about as much as parsing all rules
_SHORTEST = 7  # characters of a line with a glob, by its cost


class Decider:
    """Decides for one robot.

    It stores the body and the places of the robot's groups.
    """

    __slots__ = (
        "_body",
        "_explained",
        "_explaining",
        "_grammar",
        "_is_used",
        "_names",
        "_rules",
        "_selection",
        "_steps",
        "_wildcards",
        "index",
        "listed",
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
        self._explaining: Iterator[object] | None = None
        # in the robot's groups, at most; None: not counted yet
        self._wildcards: int | None = None
        self.listed: RuleList | None = None
        self.index: Index | None = None

    @property
    def selection(self) -> GroupMatch:
        """The robot's groups."""
        if self._selection is None:
            from mandelbot.robotstxt.groups import select_groups  # noqa: PLC0415 -- not for most

            self._selection = select_groups(
                searchable(self._body), self._grammar, self._names
            )
        return self._selection

    def values(self, field: str) -> list[tuple[int, str]]:
        """Return number and value of each line with a lower-case field for the robot.

        Values are as written, whether readable or not.
        """
        return self.selection.values(field, self._body, self._grammar)

    def allowed(self, url: str) -> bool:
        """Return whether a URL is allowed, as an invalid one is."""
        parts = read_url(url, self._grammar.dialect)
        return parts is None or self._decide(*parts)

    def _decide(self, origin: str, target: str) -> bool:
        """Later URLs are expected to have the same origin."""
        if self.index is not None:
            return self.index.decide(target)
        if not self._is_used:
            self._is_used = True
            self.listed = self._list(origin) if self._grammar.can_list else None
            if self.listed is None:
                return not self.is_too_costly(origin, target) and self.scan(target)[0]
        if self.listed is not None and self.listed.left:
            return self.listed.decide(target)
        any(self._index_steps(origin))  # all of them
        return self._decide(origin, target)

    def _list(self, origin: str) -> RuleList | None:
        grammar = self._grammar
        body = self._body
        rules = None
        if len(body) <= _SMALL:
            rules = grammar.rules_in_small_file(body, self._names)
        if rules is None:
            text = searchable(body)
            spans = self.selection.spans
            if (
                not grammar.has_prefixes
                or sum(span.end - span.start for span in spans) > _SMALL
            ):
                return None
            rules = [
                rule
                for start, end, _ in spans
                for rule in grammar.rule.findall(text, start, end)
            ]
        # its heads are in no folder's URL
        elif not grammar.has_prefixes and b"/index.htm" in body:
            rules = [(field, "", head + rest, "") for field, head, rest, _ in rules]
        return RuleList(rules, grammar.dialect, origin)

    def is_too_costly(self, origin: str, target: str) -> bool:
        """Return whether a target is forbidden without comparing it with the rules."""
        wildcards = self._most_wildcards() if self.index is None else 0
        if wildcards:
            from mandelbot.robotstxt.index import may_cost_too_much  # noqa: PLC0415

            if may_cost_too_much(wildcards, target):
                any(self._index_steps(origin))  # all of them
        return self.index is not None and self.index.is_too_costly(target)

    def _most_wildcards(self) -> int:
        """Return how many the robot's groups have; of globs, how many they may have."""
        if self._wildcards is None:
            text = searchable(self._body)
            has_globs = self._grammar.dialect.patterns == "globs"
            self._wildcards = sum(
                (end - start) // _SHORTEST if has_globs else text.count("*", start, end)
                for start, end, _ in (self._selection or self.selection).spans
            )
        return self._wildcards

    def verdict(self, url: str) -> Verdict:
        """Like :meth:`allowed`, with the rule that decided, and its group."""
        selection = self._selection or self.selection
        agent = selection.agent
        parts = read_url(url, self._grammar.dialect)
        if parts is None:
            return Verdict(True, None, agent, Verdict.NOT_A_URL)  # noqa: FBT003 - Verdict.allowed
        if (
            target := parts[1]
        ) == ROBOTS_TXT and self._grammar.dialect.robots_txt_allowed:
            return Verdict(True, None, agent, Verdict.ROBOTS_TXT)  # noqa: FBT003 - Verdict.allowed
        if self.is_too_costly(*parts):
            return Verdict(False, None, agent, Verdict.TOO_COSTLY)  # noqa: FBT003 - Verdict.allowed
        rule: Rule | None
        if self._rules is None and self._explained < _SCANS:
            self._explained += 1
            allowed, line = scan(
                searchable(self._body), selection, self._grammar, target
            )
            rule = None if line is None else Rule.of(line)
        else:
            rules = self._rules or next(filter(None, self._rules_steps()))
            allowed, rule = rules.explain(target)
        if rule is not None:
            return Verdict(allowed, rule, agent, Verdict.A_RULE)
        reason = Verdict.NO_RULE if allowed else Verdict.NOT_LISTED
        return Verdict(
            allowed, None, agent, Verdict.NO_GROUP if agent is None else reason
        )

    def explaining(self) -> Iterator[object] | None:
        """Return the steps that are left to store all rules; None: none."""
        self._explaining = self._explaining or _in_steps(self._rules_steps())
        return self._explaining if self._rules is None else None

    def _rules_steps(self) -> Iterator[DecidingRules | None]:
        from mandelbot.robotstxt.index import DecidingRules  # noqa: PLC0415

        rules = DecidingRules()
        yield from rules.build(searchable(self._body), self.selection, self._grammar)
        self._rules = rules
        yield rules

    def only_rule(self) -> Rule | None:
        """Return the single rule of the robot's groups.

        None: there are none, or several.
        """
        text = searchable(self._body)
        lines = (
            line
            for start, end, _ in self.selection.spans
            for line in self._grammar.rule.finditer(text, start, end)
        )
        first = list(islice(lines, 2))
        return Rule.of(first[0]) if len(first) == 1 else None

    def scan(self, target: str) -> tuple[bool, re.Match[str] | None]:
        """Return whether a target is allowed, and the deciding line (`Rule.of`)."""
        if target == ROBOTS_TXT and self._grammar.dialect.robots_txt_allowed:
            return True, None
        return scan(searchable(self._body), self.selection, self._grammar, target)

    def preparing(self, url: str) -> Iterator[object] | None:
        """Return the steps that are left to index the file, for URLs such as this one.

        None: none, or the URL is invalid. `allowed` takes them at once, in 0.1 s for a
        file of 512 KB. An event loop can take them before, most in a fraction of a
        millisecond, and do other work between them.
        """
        parts = read_url(url, self._grammar.dialect)
        if parts is not None and self.index is None and self._steps is None:
            self._steps = _in_steps(self._index_steps(parts[0]))
        return None if parts is None else self._steps

    def _index_steps(self, origin: str) -> Iterator[None]:
        from mandelbot.robotstxt.index import Index  # noqa: PLC0415 -- few crawls

        index = Index(origin)
        yield from index.build(searchable(self._body), self.selection, self._grammar)
        self.listed = None
        self.index = index
        self._steps = None


def _in_steps(rules: Iterator[object]) -> Iterator[object]:
    return iter(lambda: len(list(islice(rules, _STEP))), 0)
