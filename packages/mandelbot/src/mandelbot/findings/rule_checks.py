"""Checks which rules count where robots differ: by order, length, group, version."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right, insort
from collections import Counter, defaultdict
from collections.abc import Iterator
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from mandelbot.findings.source import STANDARD, LintHit, quoted, readable
from mandelbot.findings.structure import SEARCH_ENGINES
from mandelbot.robotstxt.index import FEW
from mandelbot.robotstxt.known_robots import TOKENS
from mandelbot.robotstxt.paths import escaped_length, normalise
from mandelbot.robotstxt.patterns import Pattern, wildcard_pattern
from mandelbot.robotstxt.records import name_of
from mandelbot.robotstxt.verdict import path_of

if TYPE_CHECKING:
    from mandelbot.findings.source import Check, LintInput
    from mandelbot.robotstxt.records import Group, Record

_ANYTHING = "\uffff"  # stands in no comparable path: these are ASCII
_KEY = 5  # characters by which wildcards are looked up
_EFFORT_CLASHES = 2_000_000
"""Pieces of patterns tried in a file; rules left after that count as reachable."""


class _RuleAt(NamedTuple):
    weight: int
    """The smaller the stronger."""
    line: int
    record: Record
    path: str
    pattern: Pattern

    def __str__(self) -> str:
        return f"line {self.line} ({self.record.field.capitalize()})"


def check_clashes(source: LintInput) -> Check:
    """Which rules of a group conflict, and which robots apply differently."""
    effort = _EFFORT_CLASHES
    for group in source.outline.groups:
        rules = list(_rules_of(group))
        yield from _check_order(rules)
        yield from _check_covered(rules)
        yield from _check_lengths(rules)
        yield from _check_explicit(group)
        yield from _check_cost(rules)
        wildcards = _WildcardRules(rules, effort)
        yield from _check_reach(sorted(rules), wildcards)
        effort = wildcards.effort
    yield from _check_dropped(source.outline.groups)
    yield from _check_stars(source.outline.groups)


def _rules_of(group: Group) -> Iterator[_RuleAt]:
    for record in group.rules():
        path = path_of(record.value, 1, STANDARD)
        if path:
            weight = -2 * escaped_length(path) - (record.field == "allow")
            pattern = wildcard_pattern(path, normalise)
            yield _RuleAt(weight, record.number, record, path, pattern)


def _check_cost(rules: list[_RuleAt]) -> Check:
    """A path is compared with the rules whose heads it begins with."""
    wildcards = [
        rule for rule in rules if not rule.pattern.is_prefix and not rule.pattern.exact
    ]
    around: list[_RuleAt] = []
    for rule in sorted(wildcards, key=lambda rule: rule.pattern.head):
        while around and not rule.pattern.head.startswith(around[-1].pattern.head):
            around.pop()
        around.append(rule)
        if len(around) > FEW:
            message = (
                f"It is one of more than {FEW} rules with wildcards for the same URLs."
            )
            yield LintHit("costly-wildcards", around[0].line, message)
            return


def _check_reach(strongest_first: list[_RuleAt], wildcards: _WildcardRules) -> Check:
    same: dict[Pattern, _RuleAt] = {}
    for rule in strongest_first:
        first = same.setdefault(rule.pattern, rule)
        if first is rule:
            stronger = wildcards.covering(rule)
            wildcards.add(rule)
            if stronger:
                yield _unreachable(rule, stronger)
        elif first.record.value != rule.record.value:
            yield _unreachable(rule, first)
        elif first.record.field == rule.record.field:
            yield LintHit(
                "duplicate-rule",
                rule.line,
                f"The rule is already in line {first.line}.",
            )
        else:
            yield LintHit(
                "tie", rule.line, f"The Allow of line {first.line} has the same path."
            )


def _unreachable(rule: _RuleAt, stronger: _RuleAt) -> LintHit:
    message = (
        f"The rule never decides: {stronger} matches all that it matches, and takes"
        " precedence."
    )
    return LintHit("unreachable-rule", rule.line, message)


def _check_order(rules: list[_RuleAt]) -> Check:
    """Moderatobot, "Disallow vs.

    Allow": some robots take the first rule that matches.
    """
    disallowed: dict[str, _RuleAt] = {}
    lengths: list[int] = []
    for rule in rules:
        head = rule.pattern.head
        if rule.record.field == "disallow":
            if rule.pattern.is_prefix and head not in disallowed:
                disallowed[head] = rule
                if len(head) not in lengths:
                    lengths.append(len(head))
            continue
        for length in lengths:
            earlier = None
            if length <= len(head):
                earlier = disallowed.get(head[:length])
            if earlier and earlier.pattern != rule.pattern:
                message = (
                    f"The Disallow of line {earlier.line} covers this Allow and comes"
                    " first."
                )
                yield LintHit("allow-after-disallow", rule.line, message)
                break


class _WildcardRules:
    """Rules with wildcards, by a rare piece of what their matches must hold."""

    def __init__(self, rules: list[_RuleAt], effort: int) -> None:
        self.effort = effort
        self._counts: Counter[str] = Counter()
        for rule in rules:
            if not rule.pattern.is_prefix:
                self._counts.update(_keys(rule.pattern.guard))
        self._by_key: defaultdict[str, list[_RuleAt]] = defaultdict(list)
        self._sizes: set[int] = set()
        """Lengths of the keys in use: the usual one, and of guards that are shorter."""

    def add(self, rule: _RuleAt) -> None:
        """Add a rule; without wildcards it covers only its equals."""
        pattern = rule.pattern
        if pattern.exact or pattern.is_prefix:
            return
        key = min(_keys(pattern.guard), key=self._counts.__getitem__)
        self._by_key[key].append(rule)
        self._sizes.add(len(key))

    def covering(self, rule: _RuleAt) -> _RuleAt | None:
        """Return one of the rules added that matches all that this one matches."""
        if not self._by_key:
            return None
        target = _example(rule.pattern)
        for wildcard in self._looked_up(target):
            if self.effort < 0:
                return None
            self.effort -= 1 + len(wildcard.pattern.middle)
            if wildcard.pattern.matches(target):
                return wildcard
        return None

    def _looked_up(self, target: str) -> Iterator[_RuleAt]:
        """Yield the rules whose key is a piece of a target."""
        for size in self._sizes:
            for key in _pieces(target, size):
                yield from self._by_key.get(key, ())


def _keys(guard: str) -> list[str]:
    if len(guard) <= _KEY:
        return [guard]
    return list(_pieces(guard, _KEY))


def _pieces(text: str, size: int) -> Iterator[str]:
    """Yield the pieces of a size; each once, in their order."""
    places = range(len(text) - size + 1)
    yield from dict.fromkeys(text[at : at + size] for at in places)


def _example(pattern: Pattern) -> str:
    """Return a target whose every match covers all that this pattern does."""
    if pattern.exact:
        return pattern.head
    return _ANYTHING.join((pattern.head, *pattern.middle, pattern.tail or ""))


_EFFORT = 300_000  # rules for * that are looked up in other groups
_SIGNS = frozenset("*?[\\")


def _check_covered(rules: list[_RuleAt]) -> Check:
    """Moderatobot, "Disallow vs.

    Allow": only the first directive with a matching value is used.
    """
    allowed: dict[str, Record] = {}
    lengths: list[int] = []
    covered: dict[int, list[int]] = {}
    for _, _, rule, path, pattern in rules:
        head = pattern.head
        if rule.field == "allow":
            if pattern.is_prefix:
                allowed.setdefault(head, rule)
                if len(head) not in lengths:
                    insort(lengths, len(head))
            continue
        for length in lengths:
            if length > len(head):
                break
            earlier = allowed.get(head[:length])
            if earlier and earlier.value != path:
                covered.setdefault(earlier.number, []).append(rule.number)
                break
    for line, (first, *others) in covered.items():
        more = f" and {len(others)} more" if others else ""
        message = (
            f"The Allow of line {line} covers this Disallow{more}, and comes first."
        )
        yield LintHit("allow-before-disallow", first, message)


_FOLDER = re.compile(r"/([^/*$?]{3,})(?=/)")


def _can_hardly_meet(path: str, other: str) -> bool:
    """Whether a URL of the one would need a folder that is only in the other."""
    _, _, rest = other.partition("*")
    return any(f"/{name}/" not in f"{path}/" for name in _FOLDER.findall(rest))


def _check_lengths(rules: list[_RuleAt]) -> Check:
    """Mandelbot's page, "Precedence of Directives": wildcards count as characters."""
    longest: dict[str, tuple[int, Record]] = {}
    heads: list[str] = []
    for _, _, rule, path, pattern in rules:
        if rule.field == "disallow" and "*" in path.rstrip("*"):
            length = escaped_length(path)
            if pattern.head not in longest:
                insort(heads, pattern.head)
            if length > longest.get(pattern.head, (0, rule))[0]:
                longest[pattern.head] = length, rule
    lengths = sorted({len(head) for head in heads})
    for _, _, rule, path, pattern in rules:
        if rule.field != "allow" or not path.strip("/*"):
            continue
        head = pattern.head
        shorter = lengths[: bisect_right(lengths, len(head))]
        at = bisect_left(heads, head)
        near = [head[:size] for size in shorter] + heads[at : at + 1]
        rivals = [
            longest[one]
            for one in near
            if one in longest and one[: len(head)] == head[: len(one)]
        ]
        if not rivals:
            continue
        length, rival = max(rivals, key=itemgetter(0))
        own_length = escaped_length(path)
        if length < own_length or _can_hardly_meet(path, rival.value):
            continue
        does = "is longer than"
        if length == own_length:
            does = "is as long as"
        message = (
            f"The Disallow of line {rival.number}, with wildcards, {does} this Allow."
        )
        yield LintHit("allow-loses", rule.number, message)


def _check_explicit(group: Group) -> Check:
    """Find paths that match exactly in version 2.0: no pattern character."""
    if not group.directives:
        return
    first = group.directives[0]
    if first.field != "robot-version" or not first.value.startswith("2"):
        return
    for rule in group.rules():
        if rule.value and not _SIGNS & set(rule.value):
            message = (
                f"{quoted(rule.value)} is a single page to robots of the extended"
                " standard."
            )
            yield LintHit("explicit-match", rule.number, message)


def _check_dropped(groups: list[Group]) -> Check:
    """Find rules to repeat in special blocks (SearchTools, "Bad Examples")."""
    everyone = list(_closed_to_everyone(groups))
    of_name = _groups_by_name(groups)
    effort = _EFFORT
    seen: set[tuple[int, ...]] = set()  # one finding for robots that share their groups
    for name, places in of_name.items():
        if tuple(places) in seen or effort < 0 or name in TOKENS:
            continue
        seen.add(tuple(places))
        rules = [rule for place in places for rule in groups[place].rules()]
        paths = {rule.value for rule in rules if rule.field == "disallow"}
        # An empty Disallow is there to allow everything (Mandelbot's page), and so is a
        # lone Allow where it is not for a search engine: for a preview or an
        # advertisement.
        if not any(paths) and (paths or (rules and name not in SEARCH_ENGINES)):
            continue
        closed = _ClosedPaths(paths)
        effort -= len(rules) + len(everyone) * (1 + closed.effort)
        if effort < 0:
            continue
        dropped = [number for number, path in everyone if not closed.hold(path)]
        if dropped:
            agents = groups[places[0]].agents
            agent = next(one for one in agents if name_of(one).lower() == name)
            message = (
                f"{readable(name_of(agent))} may fetch what"
                f" {_closing_lines(dropped)} to others: its own group replaces the"
                " group for *."
            )
            yield LintHit("own-group-drops-rules", agent.number, message)


def _closed_to_everyone(groups: list[Group]) -> Iterator[tuple[int, str]]:
    """Yield line and path of each Disallow for *; where it begins with *, a match.

    What is closed but for the robots that are named is meant so: no ``Disallow: /``.
    """
    for group in groups:
        if not any(agent.value == "*" for agent in group.agents):
            continue
        for rule in group.rules():
            is_path = path_of(rule.value, 1, STANDARD) and rule.value.strip("/*$")
            if rule.field == "disallow" and is_path:
                yield rule.number, f"/{rule.value.lstrip('/')}"


def _groups_by_name(groups: list[Group]) -> dict[str, list[int]]:
    """Return the places of the groups of each robot that is named."""
    of_name: dict[str, list[int]] = {}
    for place, group in enumerate(groups):
        for agent in group.agents:
            name = name_of(agent).lower()
            if name in {"", "*"}:
                continue
            places = of_name.setdefault(name, [])
            if places[-1:] != [place]:  # a group may name a robot a thousand times
                places.append(place)
    return of_name


class _ClosedPaths:
    """The paths that a robot's own groups close."""

    def __init__(self, paths: set[str]) -> None:
        self._paths = paths
        self._lengths = {len(path) for path in paths if path}
        self._wild: list[Pattern] = []
        for path in paths:
            if "*" in path or "$" in path:
                self._wild.append(wildcard_pattern(path, normalise))

    @property
    def effort(self) -> int:
        """How much is compared for a path."""
        return len(self._lengths) + len(self._wild)

    def hold(self, path: str) -> bool:
        """Return whether a path is closed by one of them."""
        if any(path[:size] in self._paths for size in self._lengths):
            return True
        target = normalise(path)
        return any(one.matches(target) for one in self._wild)


_EFFORT_STARS = 100_000  # pairs of rules of groups for * that are compared


def _check_stars(groups: list[Group]) -> Check:
    """Find groups for * after the first one: WordPress' plugins write one each."""
    first: int | None = None
    rules: list[_RuleAt] = []
    effort = _EFFORT_STARS
    for group in groups:
        stars = [agent for agent in group.agents if name_of(agent) == "*"]
        if not stars:
            continue
        own = list(_rules_of(group))
        effort -= len(rules) * len(own)
        is_apart = effort >= 0 and not _meet(rules, own)
        for agent in stars:
            if first is None:
                first = agent.number
            elif not is_apart or agent is not stars[0]:
                message = f'"*" is already named in line {first}.'
                yield LintHit("repeated-agent", agent.number, message)
            else:
                message = f"There is a group for * in line {first} already."
                yield LintHit("repeated-star", agent.number, message)
        rules += own


def _meet(rules: list[_RuleAt], others: list[_RuleAt]) -> bool:
    """Return whether a rule matches all that one of the other kind in others does."""
    return any(_covers(one, other) for one in rules for other in others)


def _covers(one: _RuleAt, other: _RuleAt) -> bool:
    if one.record.field == other.record.field:
        return False
    if one.pattern.matches(_example(other.pattern)):
        return True
    return other.pattern.matches(_example(one.pattern))


def _closing_lines(numbers: list[int]) -> str:
    first = numbers[0]
    last = numbers[-1]
    if first == last:
        return f"line {first} closes"
    if last - first == len(numbers) - 1:
        return f"lines {first} to {last} close"
    return f"{len(numbers)} rules from line {first} on close"
