"""Checks of what a file says about the use of pages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from mandelbot.findings.source import (
    STANDARD,
    LintHit,
    has_star,
    named_robots,
    quoted,
    readable,
)
from mandelbot.preferences.in_robots_txt import split_path
from mandelbot.preferences.statements import MEANINGS, READERS, Statement
from mandelbot.robotstxt.known_robots import CONTROL_TOKENS, KNOWN_ROBOTS
from mandelbot.robotstxt.records import name_of
from mandelbot.robotstxt.verdict import path_of

if TYPE_CHECKING:
    from mandelbot.findings.source import Check
    from mandelbot.robotstxt.records import Group, Record

STATEMENT_FIELDS = frozenset({"content-usage", "content-signal"})
TRAINING = "disallowaitraining"
# statements and rules of groups that share a name, compared in a file
_EFFORT = 200_000


def _keys(field: str, *, are_older: bool = False) -> set[str]:
    """Return the keys that a field may have, those in force or those of old drafts."""
    keys = set()
    for (source, word), meaning in MEANINGS.items():
        if source == field and bool(meaning.now) is are_older:
            keys.add(word.partition("=")[0])
    return keys


_KEYS = {field: _keys(field) for field in STATEMENT_FIELDS}
_OLDER_KEYS = _keys("content-usage", are_older=True)
_EVERYTHING = frozenset({"/", "/*"})


def check_content_usage(record: Record) -> Check:
    """What is wrong with the value of a Content-Usage."""
    _, value = split_path(record.value)
    said = READERS["content-usage"](value)
    if not said.is_readable or (not said.words and not said.unknown):
        with_commas = ", ".join(value.replace(";", " ").replace(",", " ").split())
        such_as = "such as train-ai=n."
        if READERS["content-usage"](with_commas).words:
            such_as = f"such as {readable(with_commas)}: robots ignore all of it."
        message = f"{quoted(record.value)} is not a Dictionary of RFC 9651, {such_as}"
        yield LintHit("bad-content-usage", record.number, message)
        return
    for word in said.words:
        yield from _check_form("content-usage", word, quoted(word), record)
    for key in said.unknown:
        if key in _KEYS["content-usage"]:
            message = f"{quoted(key)} has a value other than y and n."
            yield LintHit("bad-content-usage", record.number, message)
        elif key in _OLDER_KEYS:
            message = f"{quoted(key)} is of an older draft: it allows nothing."
            yield LintHit("unknown-usage", record.number, message)
        else:
            message = (
                f"{quoted(key)} is not a category of use, such as train-ai or search."
            )
            yield LintHit("unknown-usage", record.number, message)


def _check_form(source: str, word: str, name: str, record: Record) -> Check:
    """Whether a refusal is in a form that is not in force any more."""
    now = MEANINGS[source, word].now
    if now:
        message = f"{name} is of an older draft: write {now}."
        yield LintHit("older-usage", record.number, message)


def check_training(record: Record) -> Check:
    """What is wrong with the path of a DisallowAITraining."""
    if record.value[:1] not in {"/", "*"}:
        message = f"{quoted(record.value)} does not begin with a slash."
        yield LintHit("no-leading-slash", record.number, message)
    else:
        yield from _check_form(TRAINING, "", "DisallowAITraining", record)


def check_content_signal(record: Record) -> Check:
    """What is wrong with the value of a Content-Signal."""
    _, value = split_path(record.value)
    said = READERS["content-signal"](value)
    if not said.is_readable and not said.unknown:
        message = f"{quoted(record.value)} is too long to be read."
        yield LintHit("bad-content-signal", record.number, message)
    for part in said.unknown:
        key = part.partition("=")[0].strip().lower()
        if key in _KEYS["content-signal"] or "=" not in part:
            message = f"{quoted(part)} is not a signal, such as search=yes."
            yield LintHit("bad-content-signal", record.number, message)
        else:
            message = (
                f"{quoted(key)} is not a signal: search, ai-input, ai-train or use."
            )
            yield LintHit("unknown-usage", record.number, message)


class _UsageStatement(NamedTuple):
    """A statement of a group."""

    category: str
    path: str | None
    """None: of all pages."""
    line: int
    is_signal: bool


class _Facts(NamedTuple):
    """What of a group can be contradicted: the first lines that say so."""

    allowed: dict[tuple[str, str | None], _UsageStatement]
    refused: dict[tuple[str, str | None], _UsageStatement]
    rules: dict[tuple[str, bool], int]
    """Paths, and whether they are allowed."""

    @property
    def size(self) -> int:
        return 1 + len(self.allowed) + len(self.refused) + len(self.rules)

    def learn(self, other: _Facts) -> None:
        for key, said in other.allowed.items():
            self.allowed.setdefault(key, said)
        for key, said in other.refused.items():
            self.refused.setdefault(key, said)
        for rule, line in other.rules.items():
            self.rules.setdefault(rule, line)


def check_usage(groups: list[Group]) -> Check:
    """Which statements and groups contradict each other."""
    facts = [_facts_of(group) for group in groups]
    seen: set[LintHit] = set()
    for found in (
        *_contradicted(groups, facts),
        *_shut_out(groups, facts),
        *_dropped(groups, facts),
    ):
        if found not in seen:
            seen.add(found)
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


def _statements(record: Record) -> Iterator[tuple[bool, _UsageStatement]]:
    is_signal = record.field == "content-signal"
    path, value = split_path(record.value)
    for one in Statement.read(
        record.field, value, "robots.txt", record.value, record.number
    ):
        yield one.allowed, _UsageStatement(one.category, path, record.number, is_signal)


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
    for name, of_name in places.items():
        if len(of_name) > 1:
            yield name, of_name


def _against(allowing: _Facts, refusing: _Facts) -> Check:
    for (category, path), allowed in allowing.allowed.items():
        refused = refusing.refused.get((category, path))
        if refused is None and path is not None and not allowed.is_signal:
            # The path precedes only statements of the same field: a signal about all
            # pages counts.
            of_all = refusing.refused.get((category, None))
            if of_all is not None and of_all.is_signal:
                refused = of_all
        if refused is not None:
            at = "in the same line"
            if refused.line != allowed.line:
                at = f"of line {refused.line}"
            message = (
                f"{category} is allowed here without effect: the refusal {at} wins."
            )
            yield LintHit("usage-contradiction", allowed.line, message)


def _ties(name: str, first: _Facts, other: _Facts) -> Check:
    """Rules that one group of a robot allows and another disallows."""
    for (path, allows), line in other.rules.items():
        opposite = first.rules.get((path, not allows))
        if opposite is not None and (path, allows) not in first.rules:
            kinds = ("Allow", "Disallow") if allows else ("Disallow", "Allow")
            message = (
                f"{kinds[0]}: {quoted(path)} for {quoted(name)} is {kinds[1]} in line"
                f" {opposite}, in another group; Allow wins."
            )
            yield LintHit("groups-contradict", line, message)


_USERS = frozenset(
    robot.name.lower()
    for robot in KNOWN_ROBOTS
    if robot.kind in {"ai", "search"} and not robot.is_token
)
"""Robots that use pages as statements say, in lower case: a preview trains nothing."""


def _dropped(groups: list[Group], facts: list[_Facts]) -> Check:
    """Find refusals for * that a robot ignores, as its own group replaces them."""
    refused: dict[str, int] = {}
    for group, of_group in zip(groups, facts, strict=True):
        if has_star(group):
            for said in of_group.refused.values():
                refused.setdefault(said.category, said.line)
    if refused:
        for categories, agents in _ignored(refused, groups, facts).items():
            uses = " and ".join(categories)
            verb = "are" if len(categories) > 1 else "is"
            own = "own groups replace"
            if len(agents) == 1:
                own = "its own group replaces"
            message = (
                f"{uses} {verb} refused to all in line {refused[categories[0]]}, but"
                f" not to {named_robots([name_of(agent) for agent in agents])}: {own}"
                " the group for *."
            )
            yield LintHit("own-group-drops-usage", agents[0].number, message)


def _ignored(
    refused: Iterable[str], groups: list[Group], facts: list[_Facts]
) -> dict[tuple[str, ...], list[Record]]:
    """Return the categories that are not received, each with its robots."""
    own: dict[str, _Facts] = {}
    first: dict[str, Record] = {}
    for group, of_group in zip(groups, facts, strict=True):
        agents = {name_of(agent).lower(): agent for agent in reversed(group.agents)}
        for name in _USERS & agents.keys():
            own.setdefault(name, _Facts({}, {}, {})).learn(of_group)
            first.setdefault(name, agents[name])
    ignored: dict[tuple[str, ...], list[Record]] = {}
    for name in sorted(own, key=lambda name: first[name].number):
        said = own[name]
        if not _is_closed(said):
            statements = (*said.refused.values(), *said.allowed.values())
            stated = {one.category for one in statements}
            left = tuple(category for category in refused if category not in stated)
            if left:
                ignored.setdefault(left, []).append(first[name])
    return ignored


def _is_closed(said: _Facts) -> bool:
    closes = any((path, False) in said.rules for path in _EVERYTHING)
    return closes and not any(allows for _, allows in said.rules)


def _shut_out(groups: list[Group], facts: list[_Facts]) -> Check:
    """Uses that are allowed to all, while the robots for them are shut out."""
    shut: dict[str, tuple[str, int]] = {}
    for group, of_group in zip(groups, facts, strict=True):
        closing = [of_group.rules.get((path, False)) for path in _EVERYTHING]
        lines = [line for line in closing if line]
        if not lines:
            continue
        for agent in group.agents:
            name = name_of(agent)
            token = CONTROL_TOKENS.get(name.lower())
            if token is None:
                continue
            for category in token.refuses:
                shut.setdefault(category, (name, lines[0]))
    for group, of_group in zip(groups, facts, strict=True):
        if not has_star(group):
            continue
        for (category, path), allowed in of_group.allowed.items():
            if category in shut and path is None:
                name, line = shut[category]
                message = (
                    f"{category} is allowed to all, but {name}, which stands for"
                    f" it, is disallowed in line {line}."
                )
                yield LintHit("usage-contradiction", allowed.line, message)
