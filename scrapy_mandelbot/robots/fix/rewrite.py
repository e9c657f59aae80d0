"""The corrected file, as "Checking robots.txt theory" (Moderatobot) describes it.

Its sections: comments go above their line; groups are separated by blank lines, and a robot has
one; in a group come Robot-version, Allow, Disallow (an empty one where there is none), the rest;
the group for ``*`` is the last; Host and Clean-param end the group for Yandex, made from that
for ``*`` where there is none; Sitemap ends the file.

The new file decides as the old one does in the dialect by which it was read. Where that asks for
another thing than the document, the decisions are kept, and a remark says so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scrapy_mandelbot.robots.fix.rewritten_lines import (
    Comments,
    RewrittenLine,
    in_order,
    never_decides,
    read_comments,
    spelt,
)
from scrapy_mandelbot.robots.robotstxt.dialects import FIELDS, OWN_FIELDS
from scrapy_mandelbot.robots.robotstxt.grammar import WHITE_SPACE, grammar_of
from scrapy_mandelbot.robots.robotstxt.records import ABOUT_ALL, name_of, read_outline
from scrapy_mandelbot.robots.shown import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy_mandelbot.robots.robotstxt.dialects import Dialect
    from scrapy_mandelbot.robots.robotstxt.grammar import Grammar
    from scrapy_mandelbot.robots.robotstxt.records import AgentRun, Group, Outline, Record
    from scrapy_mandelbot.robots.robotstxt.robots_txt import RobotsTxt

_GROWTH = 3  # times as many lines as before: more and groups are left apart
_SMALL = 1000  # lines that a file may always grow by
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
    """Whether groups of one robot were not merged, because the file would grow too long."""


def read_blocks(outline: Outline, grammar: Grammar) -> Blocks:
    """Sort the robots of a file into groups of their own."""
    found = Blocks()
    # Where groups have versions, which of them counts for a robot is not by its name alone.
    memberships = {} if grammar.dialect.robot_version else _memberships(outline, grammar)
    if _size(outline, memberships) > _GROWTH * len(outline.records) + _SMALL:
        found.left_apart = True
        memberships = {}
    by_groups: dict[tuple[_Membership, bool], Block] = {}
    written: set[tuple[str, _Membership]] = set()
    for place, group in enumerate(outline.groups):
        alone = _Membership((place,), None)
        for agent in group.agents:
            name = key_of(agent, grammar)
            groups = memberships.get(name, alone)
            if not name:
                found.unread.add(agent.number)
            elif place not in groups.places:
                found.unread.add(agent.number)  # of several groups the first alone counts
            elif (name, groups) in written:
                found.merged.add(agent.number)
            else:
                key = (groups, name == "*" and _order_matters(grammar.dialect))
                block = by_groups.setdefault(key, Block())
                block.agents.append(agent)
                block.names.append(name)
                written.add((name, groups))
    for (groups, _), block in by_groups.items():
        block.directives = list(_directives(outline, groups))
    found.blocks = list(by_groups.values())
    _set_aside(outline, found)
    return found


def key_of(agent: Record, grammar: Grammar) -> str:
    """Return the name that the dialect reads in a User-agent line, in lower case."""
    name = grammar.agent_name.match(agent.value)
    return name[0].lower() if name else ""


class _Membership:
    """What of a file is about a name: names of which that is the same share one of these.

    It is equal to itself alone. A name of many groups is looked up in each of them, and must not
    be compared with all each time.
    """

    __slots__ = ("own", "places")

    def __init__(self, places: Iterable[int], own: Iterable[AgentRun] | None) -> None:
        self.places = dict.fromkeys(places)
        """Of its groups."""
        self.own = None if own is None else {record.number for run in own for record in run.own}
        """The lines with delays and the like that are about it; None: all."""


def _memberships(outline: Outline, grammar: Grammar) -> dict[str, _Membership]:
    """Return what is about each name."""
    counts_first = grammar.dialect.repeated_agent == "first"
    found: dict[str, dict[int, dict[int, AgentRun]]] = {}
    for place, group in enumerate(outline.groups):
        for run in group.runs:
            own = {id(run): run} if run.own else {}
            for agent in run.agents:
                places = found.setdefault(key_of(agent, grammar), {})
                if place in places or not places or not counts_first:
                    places.setdefault(place, {}).update(own)
    shared: dict[tuple[tuple[int, ...], tuple[int, ...]], _Membership] = {}
    memberships = {}
    for name, places in found.items():
        runs = {key: run for own in places.values() for key, run in own.items()}
        key = (tuple(places), tuple(runs))
        if key not in shared:
            shared[key] = _Membership(places, runs.values())
        memberships[name] = shared[key]
    return memberships


def _size(outline: Outline, memberships: dict[str, _Membership]) -> int:
    """Return how many directives the new file would have, about."""
    sizes = [len(group.directives) for group in outline.groups]
    return sum(sizes[place] for member in set(memberships.values()) for place in member.places)


def _directives(outline: Outline, membership: _Membership) -> Iterator[Record]:
    """Yield the lines about a robot but those that are about all robots."""
    own = membership.own
    for place in membership.places:
        for record in _own(outline.groups[place]):
            if own is None or record.field not in OWN_FIELDS or record.number in own:
                yield record


def _order_matters(dialect: Dialect) -> bool:
    """Whether a robot may find a name of another group in its own, so that groups cannot move."""
    return dialect.agent_match in {"inside", "contains"}


def _own(group: Group) -> list[Record]:
    return [record for record in group.directives if record.field not in ABOUT_ALL]


def _set_aside(outline: Outline, found: Blocks) -> None:
    """Find the lines that no group of the new file holds."""
    for record in outline.outside:
        if record.field not in FIELDS and not _is_odd(record):
            found.loose.append(record)
        elif record.field not in ABOUT_ALL:
            found.unread.add(record.number)
    kept = {record.number for block in found.blocks for record in block.directives}
    for record in [record for group in outline.groups for record in _own(group)]:
        if _is_odd(record) or record.number not in kept:
            found.unread.add(record.number)
    for block in found.blocks:
        block.directives = [r for r in block.directives if r.number not in found.unread]


def _is_odd(record: Record) -> bool:
    """Whether the field is none: a URL by itself, a sentence with a colon."""
    is_plain = _PLAIN_NAME.fullmatch(record.name) and not record.value.startswith("//")
    return record.field not in FIELDS and not is_plain


_YANDEX = "yandex"
_TOLD = 20  # lines that a remark names
_RULES = frozenset({"allow", "disallow"})


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The corrected file."""

    text: str
    remarks: tuple[str, ...] = ()
    """Where it is not as the document recommends, as sentences: to keep the decisions."""


def rewrite(
    robots: RobotsTxt, *, max_bytes: int | None = 512_000, alone: bool = False
) -> Rewritten:
    """Return the corrected file of what was read.

    Rewriting it again changes nothing. Where it would be longer than `max_bytes`, so that its end
    were not read, it has no comments, if that helps. With `alone` only the robots of the dialect
    count; without, rules stay in an order that lets nobody in by the first that matches.
    """
    grammar = grammar_of(robots.dialect)
    outline = read_outline(robots.records, robots.dialect)
    writer = _Writer(outline, grammar, alone=alone)
    text = writer.write()
    if max_bytes is not None and len(text.encode()) > max_bytes:
        bare = _Writer(outline, grammar, alone=alone)
        bare.comments = Comments()
        shorter = bare.write()
        if len(shorter.encode()) <= max_bytes:
            text, writer = shorter, bare
            message = f"Comments are left out: with them the file has over {max_bytes} bytes."
            writer.remarks.append(message)
    return Rewritten(text, tuple(writer.remarks))


class _Writer:
    """Puts the lines of one file in order."""

    def __init__(self, outline: Outline, grammar: Grammar, *, alone: bool) -> None:
        self._dialect = grammar.dialect
        self._alone = alone
        self._blocks = read_blocks(outline, grammar)
        self._sitemaps = self._about_all(outline, "sitemap")
        self._licenses = self._about_all(outline, "license")
        self._for_yandex = [
            *self._about_all(outline, "host")[:1],
            *self._about_all(outline, "clean-param"),
        ]
        for block in self._blocks.blocks:
            self._drop_repeated_versions(block)
        dropped = self._drop_useless()
        self.comments = read_comments(outline.records, self._blocks.unread, self._blocks.merged)
        self.remarks: list[str] = []
        if dropped:
            lines = "line" if len(dropped) == 1 else "lines"
            numbers = ", ".join(map(str, dropped[:_TOLD])) + (", …" if dropped[_TOLD:] else "")
            self.remarks.append(f"Allow never decides in {lines} {numbers}: it is a comment now.")

    def write(self) -> str:
        """Return the text."""
        if self._blocks.left_apart:
            self.remarks.append(
                "Groups for the same robot are left apart: merged, the file would be several "
                "times as long."
            )
        parts = [
            self.comments.header,
            _text(self._lines([*self._licenses, *self._blocks.loose])),
            *map(_text, self._groups()),
            _text(self._lines(self._sitemaps)),
            self.comments.end,
        ]
        return "\n".join("".join(f"{line}\n" for line in part) for part in parts if part)

    # What is where.

    def _about_all(self, outline: Outline, field: str) -> list[Record]:
        """Return the lines of a field that is about all robots; what no robot reads of them is not.

        Moderatobot, "Host directive": all but the first are skipped.
        """
        found = [record for record in outline.records if record.field == field]
        kept = [record for record in found if record.value]
        unread = [record for record in found if not record.value]
        unread += kept[1:] if field == "host" else []
        self._blocks.unread.update(record.number for record in unread)
        return kept

    def _drop_repeated_versions(self, block: Block) -> None:
        """Moderatobot, "An Extended Standard for Robot Exclusion": one Robot-version a group."""
        if self._dialect.robot_version:
            return
        repeated = {r.number for r in block.directives if r.field == "robot-version"}
        repeated -= {min(repeated, default=0)}
        self._blocks.unread |= repeated
        block.directives = [r for r in block.directives if r.number not in repeated]

    def _drop_useless(self) -> list[int]:
        """Take Allow rules that never decide out of their groups; return those that are gone."""
        found: set[int] = set()
        for block in self._blocks.blocks:
            useless = never_decides(
                [r for r in block.directives if r.field in _RULES], self._dialect
            )
            block.directives = [r for r in block.directives if r.number not in useless]
            found |= useless
        gone = found - {r.number for block in self._blocks.blocks for r in block.directives}
        self._blocks.unread |= gone
        return sorted(gone)

    # Groups.

    def _groups(self) -> Iterator[list[RewrittenLine]]:
        """Yield the groups in order, each as its lines."""
        blocks = self._blocks.blocks
        if not self._dialect.star_stops:
            blocks = sorted(blocks, key=lambda block: "*" in block.names)
        yandex = next((block for block in blocks if _YANDEX in block.names), None)
        pattern = next((block for block in blocks if "*" in block.names), None)
        is_made = yandex is not None or not self._for_yandex
        if not is_made and self._hides_a_name(_YANDEX):
            yield from ([*map(self._agent, b.agents), *self._directives(b)] for b in blocks)
            yield self._lines(self._for_yandex)
            return
        for block in blocks:
            if block is pattern and not is_made:
                yield self._made_for_yandex(block)
                is_made = True
            yield [
                *map(self._agent, block.agents),
                *self._directives(block),
                *self._lines(self._for_yandex if block is yandex else []),
            ]
        if not is_made:
            yield self._made_for_yandex(Block())

    def _hides_a_name(self, new: str) -> bool:
        """Whether a robot of two names would be found by a new one instead of one in the file."""
        if self._dialect.agent_match != "inside":
            return False
        names = (name for block in self._blocks.blocks for name in block.names)
        return any(name != "*" and len(name) < len(new) for name in names)

    def _made_for_yandex(self, pattern: Block) -> list[RewrittenLine]:
        """Moderatobot, "User-agent directive": the group for ``*`` is the pattern."""
        comments, self.comments = self.comments, Comments()
        directives = self._directives(pattern)
        self.comments = comments
        return [RewrittenLine("User-agent", "Yandex"), *directives, *self._lines(self._for_yandex)]

    def _directives(self, block: Block) -> list[RewrittenLine]:
        """Return Robot-version, the rules, and the rest."""
        versions = [r for r in block.directives if r.field == "robot-version"]
        first = versions[:1]
        if self._dialect.robot_version and versions and block.directives[0] is not first[0]:
            first = []  # it has no effect where it stands, and must not have one now
            self._remark(block, "Robot-version stays after the rules")
        rules = self._once(r for r in block.directives if r.field in _RULES)
        ordered, is_recommended = in_order(rules, self._dialect, alone=self._alone)
        if not is_recommended:
            self._remark(block, "Allow stays behind Disallow")
        others = [r for r in block.directives if r.field not in _RULES and r not in first]
        lines = self._lines([*first, *ordered])
        if not any(rule.field == "disallow" for rule in ordered):
            lines.append(RewrittenLine("Disallow", ""))
        return [*lines, *self._lines(others)]

    def _once(self, rules: Iterable[Record]) -> list[Record]:
        """Return the rules without those that are there already, which leave their comments."""
        found: dict[tuple[str, str], Record] = {}
        above = self.comments.above
        for rule in rules:
            first = found.setdefault((rule.field, rule.value), rule)
            if first is not rule and rule.number in above:
                above.setdefault(first.number, []).extend(above.pop(rule.number))
        return list(found.values())

    def _remark(self, block: Block, what: str) -> None:
        name = block.names[0] if block.names else "*"
        remark = f"{what} in the group for {shown(name)}: some robots decide by it."
        if remark not in self.remarks[-2:]:  # a group that is a pattern is written twice
            self.remarks.append(remark)

    # Lines.

    def _lines(self, records: Iterable[Record]) -> list[RewrittenLine]:
        return [self._line(record) for record in records]

    def _agent(self, record: Record) -> RewrittenLine:
        """Return a User-agent line: the name is what robots read; what else it says, a comment."""
        line = self._line(record)
        if any(white in line.value for white in WHITE_SPACE):
            line.comments.append(f"# {line.value}")
        line.value = name_of(record)
        return line

    def _line(self, record: Record) -> RewrittenLine:
        """Return a line with the comments above it: these once, should it be written twice."""
        comments = self.comments.above.pop(record.number, [])
        return RewrittenLine(spelt(record), record.value, comments)


def _text(lines: Iterable[RewrittenLine]) -> list[str]:
    return [text for line in lines for text in line.write()]
