"""What a file becomes: its groups, and how a line of it is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

from mandelbot.robotstxt.dialects import FIELDS, OWN_FIELDS, documented
from mandelbot.robotstxt.records import ABOUT_ALL, name_of

if TYPE_CHECKING:
    from mandelbot.robotstxt.dialects import Dialect
    from mandelbot.robotstxt.grammar import Grammar
    from mandelbot.robotstxt.records import AgentRun, Group, Outline, Record

_GROWTH = 3  # times as many lines as before: more and groups are left apart
_SMALL = 1000  # lines that a file may always grow by
_LOOKING_INSIDE = frozenset({"inside", "contains"})
"""How a robot may find a name of another group in its own, so that groups cannot move.
"""
_PLAIN_NAME = re.compile(r"[A-Za-z][A-Za-z0-9 ._\-]*")


@dataclass(slots=True)
class Block:
    """A group of the new file, as records of the old one."""

    agents: list[Record] = field(default_factory=list)
    directives: list[Record] = field(default_factory=list)
    """Without what is about all robots."""
    names: list[str] = field(default_factory=list)
    """Of its robots, as the dialect reads them, in lower case."""


@dataclass(slots=True)
class Blocks:
    """What a file becomes, in the order of the old one."""

    blocks: list[Block] = field(default_factory=list)
    loose: list[Record] = field(default_factory=list)
    """Lines with unknown fields that stand in no group."""
    unread: set[int] = field(default_factory=set)
    """Lines with a field that no robot of the dialect reads: they become comments."""
    merged: set[int] = field(default_factory=set)
    """User-agent lines that say again what another says."""
    left_apart: bool = False
    """Whether groups of one robot were not merged, because the file would grow too
    long.
    """


def read_blocks(outline: Outline, grammar: Grammar, *, alone: bool) -> Blocks:
    """Sort the robots of a file into groups by the name in each User-agent line.

    With `alone` for robots of the dialect, else for others, too, which may read another
    name.
    """
    found = Blocks()
    dialect = grammar.dialect

    def key_of(agent: Record) -> str:
        name = grammar.robot_name(agent.value).lower()
        if alone:
            return name
        return name or agent.value.lower() or _NAMELESS

    # Where groups have versions, which of them counts for a robot is not by its name
    # alone.
    if dialect.robot_version:
        memberships = {}
    else:
        memberships = _memberships(outline, key_of, dialect)
    if _size(outline, memberships) > _GROWTH * len(outline.records) + _SMALL:
        found.left_apart = True
        memberships = {}
    by_groups: dict[tuple[_Membership, bool], Block] = {}
    written: set[tuple[str, str, _Membership]] = set()
    for place, group in enumerate(outline.groups):
        by_itself = _Membership((place,), None)
        for agent in group.agents:
            name = key_of(agent)
            groups = memberships.get(name, by_itself)
            line = (name, as_written(agent, alone=alone).lower(), groups)
            # of several groups the first alone counts
            if not name or place not in groups.places:
                found.unread.add(agent.number)
            elif line in written:
                found.merged.add(agent.number)
            else:
                stands_apart = name == "*" and dialect.agent_match in _LOOKING_INSIDE
                block = by_groups.setdefault((groups, stands_apart), Block())
                block.agents.append(agent)
                block.names.append(name)
                written.add(line)
    for (groups, _), block in by_groups.items():
        block.directives = list(_directives(outline, groups))
    found.blocks = list(by_groups.values())
    _set_aside(outline, found)
    return found


def as_written(agent: Record, *, alone: bool) -> str:
    """Return what a User-agent line of the new file says."""
    return name_of(agent) if alone else agent.value


_NAMELESS = " "  # a User-agent line without a value; no value is white space


class _Membership:
    """What a file says about a name; names with the same contents share one of these.

    It is equal to itself alone. A name of many groups is looked up in each of them, and
    must not be compared with all each time.
    """

    __slots__ = ("own", "places")

    def __init__(self, places: Iterable[int], own: Iterable[AgentRun] | None) -> None:
        self.places = dict.fromkeys(places)
        """Of its groups."""
        self.own: set[int] | None = None
        if own is not None:
            records = chain.from_iterable(run.own for run in own)
            self.own = {record.number for record in records}
        """The lines with delays and the like that are about it; None: all."""


def _memberships(
    outline: Outline, key_of: Callable[[Record], str], dialect: Dialect
) -> dict[str, _Membership]:
    counts_first = dialect.repeated_agent == "first"
    found: dict[str, dict[int, dict[int, AgentRun]]] = {}
    for place, group in enumerate(outline.groups):
        for run in group.runs:
            own = {id(run): run} if run.own else {}
            for agent in run.agents:
                places = found.setdefault(key_of(agent), {})
                if place in places or not places or not counts_first:
                    places.setdefault(place, {}).update(own)
    shared: dict[tuple[tuple[int, ...], tuple[int, ...]], _Membership] = {}
    memberships = {}
    for name, places in found.items():
        runs: dict[int, AgentRun] = {}
        for own in places.values():
            runs.update(own)
        key = (tuple(places), tuple(runs))
        if key not in shared:
            shared[key] = _Membership(places, runs.values())
        memberships[name] = shared[key]
    return memberships


def _size(outline: Outline, memberships: dict[str, _Membership]) -> int:
    sizes = [len(group.directives) for group in outline.groups]
    members = set(memberships.values())
    places = chain.from_iterable(member.places for member in members)
    return sum(sizes[place] for place in places)


def _directives(outline: Outline, membership: _Membership) -> Iterator[Record]:
    """Yield the lines about a robot but those that are about all robots."""
    own = membership.own
    for place in membership.places:
        for record in _own(outline.groups[place]):
            if own is None or record.field not in OWN_FIELDS or record.number in own:
                yield record


def _own(group: Group) -> list[Record]:
    return [record for record in group.directives if record.field not in ABOUT_ALL]


def _set_aside(outline: Outline, found: Blocks) -> None:
    for record in outline.outside:
        if record.field not in FIELDS and not _is_odd(record):
            found.loose.append(record)
        elif record.field not in ABOUT_ALL:
            found.unread.add(record.number)
    written = chain.from_iterable(block.directives for block in found.blocks)
    kept = {record.number for record in written}
    for record in chain.from_iterable(map(_own, outline.groups)):
        if _is_odd(record) or record.number not in kept:
            found.unread.add(record.number)
    for block in found.blocks:
        block.directives = [r for r in block.directives if r.number not in found.unread]


def _is_odd(record: Record) -> bool:
    """Whether the field is none: a URL by itself, a sentence with a colon."""
    is_plain = _PLAIN_NAME.fullmatch(record.name) and not record.value.startswith("//")
    return record.field not in FIELDS and not is_plain


@dataclass(slots=True)
class RewrittenLine:
    """A directive of the new file."""

    name: str
    value: str
    comments: list[str] = field(default_factory=list)
    """Whole lines above it."""

    @classmethod
    def of(cls, record: Record, comments: list[str]) -> RewrittenLine:
        """Spell the field as documents do, or, if none knows it, as the file does."""
        name = documented(record.field) if record.field in FIELDS else record.name
        return cls(name, record.value, comments)

    def write(self) -> Iterator[str]:
        """Yield its lines."""
        yield from self.comments
        if not self.value:
            yield f"{self.name}:"
        # of the extended standard: after a space it is a comment
        elif self.value.startswith("#"):
            yield f"{self.name}:{self.value}"
        else:
            yield f"{self.name}: {self.value}"
