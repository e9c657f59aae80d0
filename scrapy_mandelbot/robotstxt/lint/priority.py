"""Checks of which rules count, where robots differ: by order, by length, by group, by version."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from typing import TYPE_CHECKING

from scrapy_mandelbot.robotstxt.lint.source import STANDARD, Found, quoted
from scrapy_mandelbot.robotstxt.outline import name_of
from scrapy_mandelbot.robotstxt.paths import escape_non_ascii, normalise
from scrapy_mandelbot.robotstxt.patterns import wildcard_pattern
from scrapy_mandelbot.robotstxt.rules import path_of

if TYPE_CHECKING:
    from scrapy_mandelbot.robotstxt.lint.source import Check, Source
    from scrapy_mandelbot.robotstxt.outline import Group
    from scrapy_mandelbot.robotstxt.patterns import Pattern
    from scrapy_mandelbot.robotstxt.records import Record

_EFFORT = 300_000  # rules for * that are looked up in other groups
_SIGNS = frozenset("*?[\\")


def check_priority(source: Source) -> Check:
    """Which rules count otherwise for some robots than for others."""
    groups = source.outline.groups
    for group in groups:
        rules = [
            (rule, path) for rule in group.rules() if (path := path_of(rule.value, 1, STANDARD))
        ]
        patterns = [(rule, path, wildcard_pattern(path, normalise)) for rule, path in rules]
        yield from _check_covered(patterns)
        yield from _check_lengths(patterns)
        yield from _check_explicit(group)
    yield from _check_dropped(groups)


def _check_covered(rules: list[tuple[Record, str, Pattern]]) -> Check:
    """Moderatobot, "Disallow vs. Allow": only the first directive with a matching value is used."""
    allowed: dict[str, Record] = {}
    lengths: list[int] = []
    for rule, path, pattern in rules:
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
                message = f"The Allow of line {earlier.number} covers this Disallow, and is first."
                yield Found("allow-before-disallow", rule.number, message)
                break


def _check_lengths(rules: list[tuple[Record, str, Pattern]]) -> Check:
    """Mandelbot's page, "Precedence of Directives": wildcards count as characters."""
    longest: dict[str, tuple[int, Record]] = {}
    heads: list[str] = []
    for rule, path, pattern in rules:
        if rule.field == "disallow" and "*" in path.rstrip("*"):
            length = _length(path)
            if pattern.head not in longest:
                insort(heads, pattern.head)
            if length > longest.get(pattern.head, (0, rule))[0]:
                longest[pattern.head] = length, rule
    lengths = sorted({len(head) for head in heads})
    for rule, path, pattern in rules:
        if rule.field != "allow" or not path.strip("/*"):
            continue
        head = pattern.head
        around = [head[:size] for size in lengths[: bisect_right(lengths, len(head))]]
        within = heads[(at := bisect_left(heads, head)) : at + 1]
        near = [
            one
            for one in (*around, *within)
            if one in longest and one[: len(head)] == head[: len(one)]
        ]
        found = max((longest[one] for one in near), key=lambda one: one[0], default=None)
        if found and found[0] >= _length(path):
            does = "is as long as" if found[0] == _length(path) else "is longer than"
            message = f"The Disallow of line {found[1].number}, with wildcards, {does} this Allow."
            yield Found("allow-loses", rule.number, message)


def _length(path: str) -> int:
    return len(path) if path.isascii() else len(escape_non_ascii(path))


def _check_explicit(group: Group) -> Check:
    """An Extended Standard for Robot Exclusion: what has no pattern character matches exactly."""
    first = group.directives[0] if group.directives else None
    if first is None or first.field != "robot-version" or not first.value.startswith("2"):
        return
    for rule in group.rules():
        if rule.value and not _SIGNS & set(rule.value):
            message = f"{quoted(rule.value)} is a single page to robots of the extended standard."
            yield Found("explicit-match", rule.number, message)


def _check_dropped(groups: list[Group]) -> Check:
    """SearchTools, "Bad Examples": general directives should be repeated in the special blocks."""
    everyone = [
        rule
        for group in groups
        if any(agent.value == "*" for agent in group.agents)
        for rule in group.rules()
        if rule.field == "disallow" and path_of(rule.value, 1, STANDARD)
    ]
    of_name: dict[str, list[int]] = {}
    for place, group in enumerate(groups):
        for agent in group.agents:
            if name_of(agent) not in {"", "*"}:
                of_name.setdefault(name_of(agent).lower(), []).append(place)
    effort = _EFFORT
    seen: set[tuple[int, ...]] = set()  # robots that share their groups are told of once
    for name, places in of_name.items():
        if tuple(places) in seen or effort < 0:
            continue
        seen.add(tuple(places))
        rules = [rule for place in places for rule in groups[place].rules()]
        paths = {rule.value for rule in rules if rule.field == "disallow"}
        if not any(paths):
            continue  # an empty Disallow is there to allow everything (Mandelbot's page)
        lengths = {len(path) for path in paths if path}
        effort -= len(rules)
        for rule in everyone:
            effort -= 1 + len(lengths)
            if not any(rule.value[:size] in paths for size in lengths):
                message = (
                    f"{quoted(rule.value)}, line {rule.number}, is closed to others, and open to "
                    f"{quoted(name)}."
                )
                line = groups[places[0]].agents[0].number
                yield Found("own-group-drops-rules", line, message)
                break
            if effort < 0:
                break
