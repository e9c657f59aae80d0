"""``/.well-known/tdmrep.json``: a site's reservations of text and data mining, by path.

Source: TDM Reservation Protocol (W3C community group report of 10 May 2024), "TDM File
on the Origin Server": an array of rules; the first rule whose location matches counts.
Locations are patterns as in robots.txt.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from mandelbot.preferences.in_pages import tdm_statements
from mandelbot.preferences.statements import NOTHING_SAID, Terms, Usage
from mandelbot.robotstxt.paths import normalise, split_url
from mandelbot.robotstxt.patterns import Pattern, wildcard_pattern

TDMREP_PATH = "/.well-known/tdmrep.json"
BYTES_LIMIT = 512_000
"""Bytes of a file that are read, as for robots.txt."""
MOST_RULES = 10_000
"""Rules of a file that are read."""
_CONTENT_LIMIT = 4_096  # characters of a policy's URL
_MANY = 32  # rules; fewer are tried one by one
_LOOKED_AT = 32  # characters of a location that are searched for a rare part
_GRAM = 3  # characters

_BETWEEN = re.compile(r"[\s,]*")
_START = re.compile(r"\s*\[")


class TdmRule(NamedTuple):
    """One rule of the file."""

    pattern: Pattern
    location: str
    """As written."""
    reservation: str
    """``0`` or ``1``; other values are ignored."""
    policy: str
    line: int


class TdmFile:
    """A site's ``tdmrep.json``. No body raises; unreadable parts are ignored."""

    __slots__ = ("_index", "problem", "rules")

    def __init__(self, rules: tuple[TdmRule, ...], problem: str = "") -> None:
        self.rules = rules
        self._index: dict[str, list[int]] = {}
        self.problem = problem
        """Why the file, or the part after its rules, is unreadable; ``""``: it is
        readable.
        """

    @classmethod
    def parse(cls, body: bytes) -> TdmFile:
        """Parse a file. The rules before a syntax error count."""
        text = body[:BYTES_LIMIT].decode("utf-8-sig", "replace")
        start = _START.match(text)
        if start is None:
            return cls((), "it is no array of rules")
        rules: list[TdmRule] = []
        decoder = json.JSONDecoder()
        position = start.end()
        line = 1
        counted = 0
        while len(rules) < MOST_RULES:
            between = _BETWEEN.match(text, position)
            position = between.end() if between else position
            if text[position : position + 1] == "]":
                return cls(tuple(rules))
            line += text.count("\n", counted, position)
            counted = position
            try:
                value, position = decoder.raw_decode(text, position)
            except (ValueError, RecursionError):
                return cls(tuple(rules), f"it is no JSON from line {line} on")
            rule = _rule(value, line)
            if rule is not None:
                rules.append(rule)
        return cls(tuple(rules), f"it has more than {MOST_RULES} rules")

    def usage(self, url: str) -> Usage:
        """Return the preferences of the first rule that matches a URL or path."""
        parts = split_url(url) if self.rules else None
        if parts is None:
            return NOTHING_SAID
        found = self._first(normalise(parts[1]))
        if found == len(self.rules):
            return NOTHING_SAID
        rule = self.rules[found]
        statements = tdm_statements(rule.reservation, "tdmrep.json", rule.line)
        terms: tuple[Terms, ...] = ()
        if rule.policy:
            terms = (Terms("tdm-policy", rule.policy, "tdmrep.json", rule.line),)
        return Usage(statements, terms)

    def _first(self, target: str) -> int:
        """The number of rules if none matches."""
        rules = self.rules
        first = len(rules)
        if first < _MANY:
            return next(
                (n for n, one in enumerate(rules) if one.pattern.matches(target)), first
            )
        self._index = self._index or _by_gram(rules)
        ends = range(_GRAM + 1)
        grams = {target[at : at + end] for at in range(len(target)) for end in ends}
        for gram in self._index.keys() & grams:
            for number in self._index[gram]:
                if number >= first:
                    break
                if rules[number].pattern.matches(target):
                    first = number
        return first


def _by_gram(rules: tuple[TdmRule, ...]) -> dict[str, list[int]]:
    """Index the rules, each by an n-gram that all its matches contain.

    It is the n-gram of the rule's longest literal that the fewest earlier rules share.
    """
    index: dict[str, list[int]] = {}
    for number, (pattern, *_) in enumerate(rules):
        literal = max(pattern.head, pattern.guard, key=len)[-_LOOKED_AT:]
        size = min(_GRAM, len(literal))
        grams = [literal[at : at + size] for at in range(len(literal) - size + 1)]
        fewest = min(grams, key=lambda gram: len(index.get(gram, ())))
        index.setdefault(fewest, []).append(number)
    return index


def _rule(value: object, line: int) -> TdmRule | None:
    if not isinstance(value, dict):
        return None
    location = value.get("location")
    reserved = value.get("tdm-reservation")
    if not isinstance(location, str) or not location.startswith(("/", "*")):
        return None
    policy = value.get("tdm-policy")
    said = str(reserved) if isinstance(reserved, (int, str)) else ""
    return TdmRule(
        wildcard_pattern(location, normalise),
        location,
        said if not isinstance(reserved, bool) else "",
        policy[:_CONTENT_LIMIT] if isinstance(policy, str) else "",
        line,
    )


def with_tdm_file(page: Usage, file: Usage) -> Usage:
    """Combine a page with its site's file: the page wins ("Processing priority")."""
    if not file.statements and not file.terms:
        return page
    if any(statement.source == "tdmrep" for statement in page.statements):
        return page
    return page.combined_with(file)
