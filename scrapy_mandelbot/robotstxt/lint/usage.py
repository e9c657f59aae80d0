"""Checks of what a file says of the use of pages, and of groups that contradict each other.

Statements combine as draft-ietf-aipref-vocab says, so that any refusal wins: what is allowed in
vain is told. Paths are exceptions: a longer one that allows, or refuses, contradicts nothing.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from scrapy_mandelbot.robotstxt.lint.source import ABSOLUTE_URL, STANDARD, Found, quoted
from scrapy_mandelbot.robotstxt.outline import name_of
from scrapy_mandelbot.robotstxt.preferences.control_tokens import CONTROL_TOKENS
from scrapy_mandelbot.robotstxt.preferences.reading import split_path
from scrapy_mandelbot.robotstxt.preferences.statements import statements_of
from scrapy_mandelbot.robotstxt.preferences.values import read_content_signal, read_content_usage
from scrapy_mandelbot.robotstxt.preferences.vocabulary import MEANINGS
from scrapy_mandelbot.robotstxt.rules import path_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy_mandelbot.robotstxt.lint.source import Check, Source
    from scrapy_mandelbot.robotstxt.outline import Group
    from scrapy_mandelbot.robotstxt.records import Record

STATEMENT_FIELDS = frozenset({"content-usage", "content-signal"})
_EFFORT = 200_000  # statements and rules of groups that share a name, compared in a file
_KEYS = {source: {word.partition("=")[0] for of, word in MEANINGS if of == source}
         for source in STATEMENT_FIELDS}  # fmt: skip
_EVERYTHING = frozenset({"/", "/*"})


# Each line by itself.


def _check_content_usage(record: Record) -> Check:
    _, value = split_path(record.value)
    said = read_content_usage(value)
    if not said.is_readable or (not said.words and not said.unknown):
        message = f"{quoted(record.value)} is no Dictionary of RFC 9651, as train-ai=n is."
        yield Found("bad-content-usage", record.number, message)
        return
    for key in said.unknown:
        if key in _KEYS["content-usage"]:
            message = f"{quoted(key)} has another value than y or n."
            yield Found("bad-content-usage", record.number, message)
        else:
            message = f"{quoted(key)} is no category of use: train-ai and search are."
            yield Found("unknown-usage", record.number, message)


def _check_content_signal(record: Record) -> Check:
    said = read_content_signal(record.value)
    if not said.is_readable and not said.unknown:
        message = f"{quoted(record.value)} is too long to be read."
        yield Found("bad-content-signal", record.number, message)
    for part in said.unknown:
        key = part.partition("=")[0].strip().lower()
        if key in _KEYS["content-signal"] or "=" not in part:
            message = f"{quoted(part)} is no signal, as search=yes, ai-train=no are."
            yield Found("bad-content-signal", record.number, message)
        else:
            message = f"{quoted(key)} is no signal: search, ai-input, ai-train and use are."
            yield Found("unknown-usage", record.number, message)


def _check_license(record: Record) -> Check:
    if not ABSOLUTE_URL.fullmatch(record.value):
        message = f"{quoted(record.value)} is not an absolute URL."
        yield Found("relative-license", record.number, message)


#: Checks of values, by field.
VALUES_OF_USE: dict[str, Callable[[Record], Check]] = {
    "content-usage": _check_content_usage,
    "content-signal": _check_content_signal,
    "license": _check_license,
}


# Lines against each other.


class _Said(NamedTuple):
    """A statement of a group."""

    category: str
    path: str | None
    """None: of all pages."""
    line: int
    is_signal: bool


class _Facts(NamedTuple):
    """What of a group can be contradicted: the first lines that say so."""

    allowed: dict[tuple[str, str | None], _Said]
    refused: dict[tuple[str, str | None], _Said]
    rules: dict[tuple[str, bool], int]
    """Paths, and whether they are allowed."""

    @property
    def size(self) -> int:
        return 1 + len(self.allowed) + len(self.refused) + len(self.rules)

    def learn(self, other: _Facts) -> None:
        """Add what another group says first."""
        for key, said in other.allowed.items():
            self.allowed.setdefault(key, said)
        for key, said in other.refused.items():
            self.refused.setdefault(key, said)
        for rule, line in other.rules.items():
            self.rules.setdefault(rule, line)


def check_usage(source: Source) -> Check:
    """Which statements and groups contradict each other."""
    groups = source.outline.groups
    facts = [_facts_of(group) for group in groups]
    told: set[Found] = set()
    for found in (*_contradicted(groups, facts), *_shut_out(groups, facts)):
        if found not in told:
            told.add(found)
            yield found


def _facts_of(group: Group) -> _Facts:
    facts = _Facts({}, {}, {})
    for record in group.directives:
        if record.field in STATEMENT_FIELDS:
            for allows, said in _statements(record):
                kind = facts.allowed if allows else facts.refused
                kind.setdefault((said.category, said.path), said)
        elif record.field in {"allow", "disallow"}:
            path = path_of(record.value, 1, STANDARD)
            if path:
                facts.rules.setdefault((path, record.field == "allow"), record.number)
    return facts


def _statements(record: Record) -> Iterator[tuple[bool, _Said]]:
    is_signal = record.field == "content-signal"
    path, value = (None, record.value) if is_signal else split_path(record.value)
    words = read_content_signal(value).words if is_signal else read_content_usage(value).words
    for one in statements_of(record.field, words, "robots.txt", record.value, record.number):
        yield one.allowed, _Said(one.category, path, record.number, is_signal)


def _contradicted(groups: list[Group], facts: list[_Facts]) -> Check:
    for one in facts:
        yield from _against(one, one)
    effort = _EFFORT
    for name, of_name in _in_several(groups):
        together = _Facts({}, {}, {})
        for place in of_name:
            effort -= facts[place].size
            if effort < 0:
                return
            yield from _against(together, facts[place])
            yield from _against(facts[place], together)
            yield from _ties(name, together, facts[place])
            together.learn(facts[place])


def _in_several(groups: list[Group]) -> Iterator[tuple[str, list[int]]]:
    """Yield the names of several groups, in lower case, and which groups these are."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, group in enumerate(groups):
        for name in {name_of(agent).lower() for agent in group.agents}:
            if name:
                places[name].append(place)
    yield from ((name, of_name) for name, of_name in places.items() if len(of_name) > 1)


def _against(allowing: _Facts, refusing: _Facts) -> Check:
    """What one group allows and another, or the same, refuses."""
    for (category, path), allowed in allowing.allowed.items():
        refused = refusing.refused.get((category, path))
        if refused is None and path is not None:  # a signal refuses whatever the path
            refused = refusing.refused.get((category, None))
            refused = refused if refused and refused.is_signal else None
        if refused is not None:
            at = f"of line {refused.line}" if refused.line != allowed.line else "in the same line"
            message = f"{category} is allowed here in vain: the refusal {at} wins."
            yield Found("usage-contradiction", allowed.line, message)


def _ties(name: str, first: _Facts, other: _Facts) -> Check:
    """The rules that two groups of a robot have, allowed by one and disallowed by the other."""
    for (path, allows), line in other.rules.items():
        opposite = first.rules.get((path, not allows))
        if opposite is not None and (path, allows) not in first.rules:
            kinds = ("Allow", "Disallow") if allows else ("Disallow", "Allow")
            message = (
                f"{kinds[0]}: {quoted(path)} for {quoted(name)} is {kinds[1]} in line {opposite},"
                " in another group; Allow wins."
            )
            yield Found("groups-contradict", line, message)


def _shut_out(groups: list[Group], facts: list[_Facts]) -> Check:
    """Which uses are allowed to all while the robots that stand for them are shut out."""
    shut: dict[str, tuple[str, int]] = {}
    for group, of_group in zip(groups, facts, strict=True):
        line = next(filter(None, (of_group.rules.get((path, False)) for path in _EVERYTHING)), 0)
        for agent in group.agents if line else ():
            token = CONTROL_TOKENS.get(name_of(agent).lower())
            for category in token.refuses if token else ():
                shut.setdefault(category, (name_of(agent), line))
    for group, of_group in zip(groups, facts, strict=True):
        if any(name_of(agent) == "*" for agent in group.agents):
            for (category, path), allowed in of_group.allowed.items():
                if category in shut and path is None:
                    name, line = shut[category]
                    message = (
                        f"{category} is allowed to all, and {name}, which stands for it, is shut"
                        f" out in line {line}."
                    )
                    yield Found("usage-contradiction", allowed.line, message)
