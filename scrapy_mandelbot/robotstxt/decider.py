"""What a file says to one robot: scanned while it is asked little, indexed when it is asked more.

Most files are asked a few times and have a few rules; some are asked a million times, or have
thousands. Building an index costs about as much as `SCANS` scans, whatever the size of the file.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from scrapy_mandelbot.robotstxt.groups import select_groups
from scrapy_mandelbot.robotstxt.index import Index
from scrapy_mandelbot.robotstxt.lines import searchable
from scrapy_mandelbot.robotstxt.patterns import Pattern
from scrapy_mandelbot.robotstxt.rules import Matcher, Rules, read_rule

if TYPE_CHECKING:
    from scrapy_mandelbot.robotstxt.grammar import Grammar
    from scrapy_mandelbot.robotstxt.verdict import Rule

SCANS = 16

ROBOTS_TXT = "/robots.txt"
_ALWAYS = Matcher(-sys.maxsize, -1, True, Pattern(ROBOTS_TXT, exact=True))  # noqa: FBT003 - allows


class Decider:
    """Decides for one robot. Holds the body, and what it needed so far of what is in it."""

    __slots__ = ("_asked", "_body", "_grammar", "_rules", "index", "selection")

    def __init__(self, body: bytes, grammar: Grammar, names: tuple[str, ...]) -> None:
        text = searchable(body)
        self._body = body
        self._grammar = grammar
        self._asked = 0
        self.selection = select_groups(text, grammar, names)
        self._rules: Rules | None = Rules(text, self.selection, grammar)
        self.index: Index | None = None

    def allowed(self, origin: str, target: str) -> bool:
        """Whether a target is allowed. The origin tells what URLs look like that will be asked."""
        if self.index is None:
            self._asked += 1
            if self._asked < SCANS:
                return self.scan(target)[0]
            rules = self._rules or self._read_rules()
            matchers = rules.matchers()
            if self._grammar.dialect.robots_txt_allowed:
                matchers.append(_ALWAYS)
            self.index = Index(matchers, default=rules.default, origin=origin)
            self._rules = None
        return self.index.decide(target)

    def scan(self, target: str) -> tuple[bool, int | None]:
        """Return whether a target is allowed, and the number of the rule that decided."""
        if target == ROBOTS_TXT and self._grammar.dialect.robots_txt_allowed:
            return True, None
        if self._rules is None:
            self._rules = self._read_rules()
        return self._rules.deciding(target) or (self._rules.default, None)

    def rule(self, number: int) -> Rule:
        """Return the rule of that number, with its line."""
        return read_rule(number, searchable(self._body), self.selection, self._grammar)

    def _read_rules(self) -> Rules:
        return Rules(searchable(self._body), self.selection, self._grammar)
