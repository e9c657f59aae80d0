"""What a file says to one robot: scanned while it is asked little, indexed when it is asked more.

Most sites are asked for a page or two, some for a million. The first question costs a scan, which
keeps nothing. The second builds an index, for the price of several scans; all later ones cost next
to nothing. Who asks why, and not only whether, pays a scan each time, until so often that all rules
by themselves are worth to be kept.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from scrapy_mandelbot.robotstxt.deciding_rules import DecidingRules
from scrapy_mandelbot.robotstxt.groups import select_groups
from scrapy_mandelbot.robotstxt.index import Index
from scrapy_mandelbot.robotstxt.lines import searchable
from scrapy_mandelbot.robotstxt.patterns import Pattern
from scrapy_mandelbot.robotstxt.rules import Matcher, default_of, read_rules, rule_of, scan

if TYPE_CHECKING:
    import re

    from scrapy_mandelbot.robotstxt.grammar import Grammar
    from scrapy_mandelbot.robotstxt.preferences import AgentPreferences
    from scrapy_mandelbot.robotstxt.verdict import Rule

ROBOTS_TXT = "/robots.txt"
_SCANS = 16  # as many cost about as much as reading all rules
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
