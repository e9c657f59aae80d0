"""Parses the rules of one robot's groups, and decides by scanning them.

The scan tries the rules that may match and takes the first in the dialect's precedence.
It knows the line that decided and needs no preparation, so it makes the first decision
for a large file and explains the first verdicts. Three others take over: a list
(`RuleList`) for the first decisions on a small file, the index (`index.py`) for many
decisions, and all rules (`DecidingRules`) for many explanations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from operator import itemgetter
from typing import TYPE_CHECKING, ClassVar

from mandelbot.formatting import shown
from mandelbot.robotstxt.grammar import line_number, rule_value, value_of
from mandelbot.robotstxt.paths import COMPARABLE, escaped_length
from mandelbot.robotstxt.patterns import PATTERNS, Glob, Globs, Pattern

if TYPE_CHECKING:
    from mandelbot.robotstxt.dialects import Dialect
    from mandelbot.robotstxt.grammar import Grammar, RuleFound
    from mandelbot.robotstxt.groups import GroupMatch


@dataclass(frozen=True, slots=True)
class Rule:
    r"""One Allow or Disallow line of the file.

    Its text fits a log: printable and short.

    >>> from mandelbot import RobotsTxt
    >>> robots = RobotsTxt.parse(b"User-agent: *\nDisallow: /*.pdf$\n")
    >>> robots.verdict("/paper.pdf", "Examplebot").rule
    Rule(allow=False, path='/*.pdf$', line=2)
    """

    allow: bool
    path: str
    """As written."""
    line: int
    """From 1."""

    @classmethod
    def of(cls, line: re.Match[str]) -> Rule:
        """Return the rule of a line that `scan` returned."""
        return cls(
            not line[1], rule_value(line), line_number(line.string, line.start())
        )

    def __str__(self) -> str:
        return f"{'Allow' if self.allow else 'Disallow'}: {shown(self.path)}".rstrip()


@dataclass(frozen=True, slots=True)
class Verdict:
    r"""The answer for one URL and agent. Its text is a sentence for any log.

    >>> from mandelbot import RobotsTxt
    >>> robots = RobotsTxt.parse(b"User-agent: *\nDisallow: /*.pdf$\n")
    >>> print(robots.verdict("/paper.pdf", "Examplebot"))
    forbidden by line 2: Disallow: /*.pdf$ (agent *)
    """

    A_RULE: ClassVar = "a rule matches"
    NO_RULE: ClassVar = "no rule matches"
    NOT_LISTED: ClassVar = "no rule matches, and only what is allowed may be read"
    NO_GROUP: ClassVar = "no group is about this agent"
    STAR_IGNORED: ClassVar = "no group names this robot, and it ignores the group for *"
    ROBOTS_TXT: ClassVar = "/robots.txt is always allowed"
    NOT_A_URL: ClassVar = "not a URL that can be read"
    SWAPPED: ClassVar = "not a URL, and the agent is one: are they swapped?"
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
        """Whether it is forbidden as comparing costs too much."""
        return self.reason == self.TOO_COSTLY

    def __bool__(self) -> bool:
        """Raise TypeError: a verdict that forbids would be as true as any object."""
        raise TypeError("a Verdict is neither true nor false: ask verdict.allowed")

    def __str__(self) -> str:
        answer = "allowed" if self.allowed else "forbidden"
        rule = self.rule
        why = f": {self.reason}" if rule is None else f" by line {rule.line}: {rule}"
        if self.agent is None:
            return f"{answer}{why}"
        return f"{answer}{why} (agent {shown(self.agent, _NAME_SHOWN)})"


_NAME_SHOWN = 60  # characters of a robot's name in the text of a verdict
ROBOTS_TXT = "/robots.txt"

_PatternMatcher = tuple[int, int, bool, "Pattern | Glob"]
Matcher = _PatternMatcher | tuple[int, int, bool, str]
"""A rule ready to be compared with targets: its weight, which orders the rules by the
dialect's precedence; its place, which increases from rule to rule and orders equal
weights; whether it allows; and its pattern, or a text for a plain prefix. The matching
rule with the smallest weight decides.
"""


#: The weights of explicit Allow, Disallow and pattern Allow, if kinds decide.
KINDS = range(3)
_EXPLICIT_ALLOW, _DISALLOW, _PATTERN_ALLOW = KINDS


def _by_length(length: int, allow: bool, _exact: bool) -> int:  # noqa: FBT001
    """Mandelbot's page, "Precedence of Directives": by length, Allow first in ties."""
    return -2 * length - allow


def _by_place(_length: int, _allow: bool, _exact: bool) -> int:  # noqa: FBT001
    """The extended standard: in the order they appear."""
    return 0


def _by_kind(_length: int, allow: bool, exact: bool) -> int:  # noqa: FBT001
    """Its older text: explicit Allow, then Disallow, then pattern Allow."""
    if not allow:
        return _DISALLOW
    return _EXPLICIT_ALLOW if exact else _PATTERN_ALLOW


#: The weight of a rule, by `Dialect.precedence`: from its length, whether it allows
#: and is exact.
WEIGHTS: dict[str, Callable[[int, bool, bool], int]] = {
    "longest": _by_length,
    "first": _by_place,
    "kind": _by_kind,
}


def read_rules(text: str, selection: GroupMatch, grammar: Grammar) -> Iterator[Matcher]:
    """Parse all the rules for a robot, one by one."""
    dialect = grammar.dialect
    weigh = WEIGHTS[dialect.precedence]
    places = count()
    for start, end, version in selection.spans:
        lines = grammar.rule.finditer(text, start, end)
        for line, place in zip(lines, places, strict=False):
            if line[2] and not line[3]:
                allows = not line[1]
                weight = weigh(len(line[2]), allows, False)  # noqa: FBT003 -- not exact
                yield weight, place, allows, line[2]
            else:
                yield from read_rule(
                    rule_value(line), version, dialect, place, allow=not line[1]
                )


class RuleList:
    """The rules of a small file as written: cheap to build, fast for a few decisions.

    A file needs no index if `Grammar.can_list` its rules. What no Disallow matches is
    allowed, and most files have few Allow lines, so rules are seldom compared with each
    other.
    """

    __slots__ = (
        *("_dialect", "_has_allow", "_heads", "_others", "_patterns", "_rules"),
        *("left", "path_at", "site"),
    )

    def __init__(self, rules: list[RuleFound], dialect: Dialect, origin: str) -> None:
        self.site = origin + "/"
        """What begins an ASCII URL without escapes or fragment, whose target is at
        `path_at`.
        """
        self.path_at = len(origin)
        self.left = _LISTED_ANSWERS
        """The decisions left until an index pays."""
        self._dialect = dialect
        self._rules = rules
        self._patterns: dict[RuleFound, list[_PatternMatcher]] = {}
        # Disallow alone is made ready: Allow counts only where one of these matches.
        self._has_allow = False
        self._others: list[_Other] = []
        """Rules with a pattern, each with a text in every target that it matches."""
        heads: list[str] = []
        for rule in rules:
            field, head, rest, literal = rule
            if field in _ALLOW:
                self._has_allow = True
            elif rest:
                self._others.append((literal or head, rule))
            else:
                heads.append(head)
        self._heads = tuple(filter(None, heads))  # an empty one matches nothing
        """The beginnings of what plain rules match."""

    def decide(self, target: str) -> bool:
        """Return whether a target is allowed."""
        self.left -= 1
        if target == ROBOTS_TXT and self._dialect.robots_txt_allowed:
            return True
        if not self._matches_disallow(target):
            return True
        return self._has_allow and min(self._matching(target))[2]

    def _matches_disallow(self, target: str) -> bool:
        if target.startswith(self._heads):
            return True
        for part, rule in self._others:
            if part in target:
                for _, _, _, pattern in self._patterns_of(rule):
                    if pattern.matches(target):
                        return True
        return False

    def _matching(self, target: str) -> Iterator[tuple[int, int, bool]]:
        """Yield weight, place and whether it allows, of each rule that matches."""
        weigh = WEIGHTS[self._dialect.precedence]
        for place, rule in enumerate(self._rules):
            field, head, rest, literal = rule
            if head and not rest and target.startswith(head):
                allows = field in _ALLOW
                weight = weigh(len(head), allows, False)  # noqa: FBT003 -- not exact
                yield weight, place, allows
            elif rest and target.startswith(head) and literal in target:
                for weight, _, allows, pattern in self._patterns_of(rule):
                    if pattern.matches(target):
                        yield weight, place, allows

    def _patterns_of(self, rule: RuleFound) -> list[_PatternMatcher]:
        patterns = self._patterns.get(rule)
        if patterns is None:
            value = value_of(rule[1] + rule[2])
            allow = rule[0] in _ALLOW
            patterns = read_rule(value, 1, self._dialect, 0, allow=allow)
            self._patterns[rule] = patterns
        return patterns


_Other = tuple[str, "RuleFound"]
_ALLOW = frozenset({"", "A", "a"})  # how `RuleFound` has it
_LISTED_ANSWERS = 40  # so many decisions by a list cost about as much as an index


def scan(
    text: str, selection: GroupMatch, grammar: Grammar, target: str
) -> tuple[bool, re.Match[str] | None]:
    """Return whether a target is allowed, and the line that decided, or None."""
    dialect = grammar.dialect
    found: list[_Found] = []
    globs: list[tuple[_Found, Glob]] = []
    for start, end, version in selection.spans:
        for line in grammar.rules_like(target, text, start, end):
            literal = (line[4] or "") if line[2] else ""
            if grammar.has_prefixes and not (
                target.startswith(line[2]) and literal in target
            ):
                continue
            for weight, place, allows, pattern in read_rule(
                rule_value(line), version, dialect, line.start(), allow=not line[1]
            ):
                if isinstance(pattern, Glob):
                    if len(pattern.text) <= len(target):
                        globs.append(((weight, place, allows, line), pattern))
                elif pattern.matches(target):
                    found.append((weight, place, allows, line))
    if globs:
        globs.sort(key=lambda one: one[0][:2])
        first = Globs([glob for _, glob in globs]).first(target)
        found += [] if first is None else [globs[first][0]]
    if not found:
        return default_of(text, selection, grammar), None
    _, _, allows, line = min(found, key=itemgetter(0, 1))
    return allows, line


# weight, place, whether it allows, line
_Found = tuple[int, int, bool, "re.Match[str]"]


def default_of(text: str, selection: GroupMatch, grammar: Grammar) -> bool:
    """Return whether a URL that matches no rule is allowed.

    It is, except in the older text of the extended standard, where Allow lines alone
    forbid the rest, and so does a pattern Allow beside a Disallow.
    """
    if grammar.dialect.precedence != "kind":
        return True
    kinds = {weight for weight, *_ in read_rules(text, selection, grammar)}
    if _DISALLOW in kinds:
        return _PATTERN_ALLOW not in kinds
    return not kinds


def read_rule(
    value: str, version: int, dialect: Dialect, place: int, *, allow: bool
) -> list[_PatternMatcher]:
    """Return the patterns of a value: none if it is ignored."""
    path = path_of(value, version, dialect)
    weigh = WEIGHTS[dialect.precedence]
    if not path:
        if path is None or not dialect.empty_rules_decide:
            return []
        return [(weigh(0, allow, False), place, True, Pattern(""))]  # noqa: FBT003 - it allows
    if "#" in path:  # URLs escape it: a raw one begins the fragment
        path = path.replace("#", "%23")
    pattern = PATTERNS[dialect.patterns, version](path, COMPARABLE[dialect.escapes])
    rules: list[_PatternMatcher] = [
        (weigh(escaped_length(path), allow, pattern.exact), place, allow, pattern)
    ]
    if allow and dialect.index_htm_is_directory:
        directory, slash, name = path.rpartition("/")
        if slash and name.startswith("index.htm"):
            rules += read_rule(f"{directory}/$", version, dialect, place, allow=True)
    return rules


_PATH_BEGINNINGS = {1: "/*", 2: "/*?[\\"}


def path_of(value: str, version: int, dialect: Dialect) -> str | None:
    """Return the path in a value; empty for no path, None for a value to ignore.

    Of a whole URL, see `full_urls.py`.
    """
    if not value or dialect.paths_as_written or value[0] in _PATH_BEGINNINGS[version]:
        return value
    return None
