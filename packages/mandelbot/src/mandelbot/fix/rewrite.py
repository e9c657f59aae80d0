"""The corrected file, as "Checking robots.txt theory" (Moderatobot) describes it.

Its sections: comments go above their line; groups are separated by blank lines, and a
robot has one; in a group come Robot-version, Allow, Disallow (an empty one where there
is none), the rest; the group for ``*`` is the last; Host and Clean-param end the group
for Yandex, made from that for ``*`` where there is none; Sitemap ends the file.

The new file decides as the old one does in the dialect by which it was read. Where that
asks for another thing than the document, the decisions are kept, and a remark says so.
"""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from mandelbot.findings.source import marked_blocks
from mandelbot.fix.rewritten_lines import Block, RewrittenLine, as_written, read_blocks
from mandelbot.formatting import shown
from mandelbot.robotstxt.grammar import WHITE_SPACE, grammar_of
from mandelbot.robotstxt.paths import split_url
from mandelbot.robotstxt.records import RecordProblem, read_outline
from mandelbot.robotstxt.sitemap_lines import bare_urls

if TYPE_CHECKING:
    from mandelbot.robotstxt.dialects import Dialect
    from mandelbot.robotstxt.grammar import Grammar
    from mandelbot.robotstxt.records import Outline, Record
    from mandelbot.robotstxt.robots_txt import RobotsTxt

_YANDEX = "yandex"
_RULES = frozenset({"allow", "disallow"})


class Rewritten(NamedTuple):
    """The corrected file."""

    text: str
    remarks: tuple[str, ...] = ()
    """Where it is not as the document recommends, as sentences: to keep the decisions.
    """


def rewrite(robots: RobotsTxt, *, alone: bool = False) -> Rewritten:
    """Return the normal form of what was read.

    Rewriting it again changes nothing. With `alone` only the robots of the dialect
    count; without, rules stay in an order that lets nobody in by the first that
    matches, and User-agent lines as they are written. What stands between the marks of
    a service (BEGIN … END) is left as it is.
    """
    dialect = robots.dialect
    grammar = grammar_of(dialect)
    texts: list[str] = []
    remarks: list[str] = []
    for records, service in _parts(robots.records):
        if service:
            ends = f"Lines {records[0].number} to {records[-1].number}"
            remarks.append(f"{ends} stay as a service wrote them: {shown(service)}.")
            texts.append("".join(f"{record.raw}\n" for record in records))
            continue
        writer = _Writer(read_outline(records, dialect), grammar, alone=alone)
        texts.append(writer.write())
        remarks += writer.remarks
    return Rewritten("\n".join(filter(None, texts)), tuple(remarks))


def _parts(records: Sequence[Record]) -> Iterator[tuple[Sequence[Record], str]]:
    """Yield the parts of a file in order, each with the service that wrote it, if any.

    Such a part goes up to the next User-agent line: what stands before that is in its
    last group.
    """
    start = 0
    for service, first, last in marked_blocks(records):
        after = (
            at for at in range(last, len(records)) if records[at].field == "user-agent"
        )
        begins = first - 1
        end = next(after, len(records))
        following = end
        # comments above the next group are its
        while end > last and not records[end - 1].field:
            end -= 1
        if begins < start:
            continue  # it stands in the last group of the one before
        yield records[start:begins], ""
        yield records[begins:end], service
        start = min(end, following)
    yield records[start:], ""


class _Writer:
    """Puts the lines of one file in order."""

    def __init__(self, outline: Outline, grammar: Grammar, *, alone: bool) -> None:
        self._dialect = grammar.dialect
        self._alone = alone
        self._effective_versions = _effective_versions(outline, grammar)
        self._blocks = read_blocks(outline, grammar, alone=alone)
        self._sitemaps = self._about_all(outline, "sitemap")
        self._licenses = self._about_all(outline, "license")
        self._for_yandex = [
            *self._about_all(outline, "host")[:1],
            *self._about_all(outline, "clean-param"),
        ]
        for block in self._blocks.blocks:
            self._drop_repeated_versions(block)
        self.comments = read_comments(
            outline.records, self._blocks.unread, self._blocks.merged
        )
        self.remarks: list[str] = []

    def write(self) -> str:
        if self._blocks.left_apart:
            self.remarks.append(
                "Groups for the same robot are left apart: merged, the file would be"
                " several times as long."
            )
        parts = [
            self.comments.header,
            _text(self._lines([*self._licenses, *self._blocks.loose])),
            *map(_text, self._groups()),
            _text(self._lines(self._sitemaps)),
            self.comments.end,
        ]
        written = [map("{}\n".format, part) for part in parts if part]
        return "\n".join(map("".join, written))

    def _about_all(self, outline: Outline, field: str) -> list[Record]:
        """Return the lines of a field for all robots, if any robot reads them.

        Moderatobot, "Host directive": all but the first are skipped.
        """
        found = [record for record in outline.records if record.field == field]
        if field == "sitemap":
            found = self._with_bare_sitemaps(outline, found)
        kept = [record for record in found if record.value]
        unread = [record for record in found if not record.value]
        if field == "host":
            unread += kept[1:]
        self._blocks.unread.update(record.number for record in unread)
        return kept

    def _with_bare_sitemaps(
        self, outline: Outline, found: list[Record]
    ) -> list[Record]:
        """Return the Sitemap lines, and those that lack the field with it."""
        for record in outline.records:
            if record.field and RecordProblem.UNKNOWN_FIELD in record.problems:
                for _, url in bare_urls(record.raw.encode("utf-8", "surrogateescape")):
                    self._blocks.unread.discard(record.number)
                    found.append(
                        replace(record, name="Sitemap", field="sitemap", value=url)
                    )
        return sorted(found, key=attrgetter("number"))

    def _drop_repeated_versions(self, block: Block) -> None:
        """Keep one Robot-version a group (Moderatobot, "An Extended Standard ...")."""
        if self._dialect.robot_version:
            return
        repeated = {r.number for r in block.directives if r.field == "robot-version"}
        repeated -= {min(repeated, default=0)}
        self._blocks.unread |= repeated
        block.directives = [r for r in block.directives if r.number not in repeated]

    # Groups.

    def _groups(self) -> Iterator[list[RewrittenLine]]:
        blocks = self._blocks.blocks
        if not self._dialect.star_stops:
            blocks = sorted(blocks, key=lambda block: "*" in block.names)
        yandex = next((block for block in blocks if _YANDEX in block.names), None)
        pattern = next((block for block in blocks if "*" in block.names), None)
        is_made = yandex is not None or not self._for_yandex
        if not is_made and self._hides_a_name(_YANDEX):
            for block in blocks:
                yield self._group(block)
            yield self._lines(self._for_yandex)
            return
        for block in blocks:
            if block is pattern and not is_made:
                yield self._made_for_yandex(block)
                is_made = True
            group = self._group(block)
            if block is yandex:
                group += self._lines(self._for_yandex)
            yield group
        if not is_made:
            yield self._made_for_yandex(Block())

    def _group(self, block: Block) -> list[RewrittenLine]:
        return [*map(self._agent, block.agents), *self._directives(block)]

    def _hides_a_name(self, new: str) -> bool:
        """Whether a robot of two names would match a new name, not the file's."""
        if self._dialect.agent_match != "inside":
            return False
        names = chain.from_iterable(block.names for block in self._blocks.blocks)
        return any(name != "*" and len(name) < len(new) for name in names)

    def _made_for_yandex(self, pattern: Block) -> list[RewrittenLine]:
        """Moderatobot, "User-agent directive": the group for ``*`` is the pattern."""
        comments = self.comments
        self.comments = Comments()
        directives = self._directives(pattern)
        self.comments = comments
        return [
            RewrittenLine("User-agent", "Yandex"),
            *directives,
            *self._lines(self._for_yandex),
        ]

    def _directives(self, block: Block) -> list[RewrittenLine]:
        versions = [r for r in block.directives if r.field == "robot-version"]
        first = versions[:1]
        has_effect = {version.number for version in first} <= self._effective_versions
        if self._dialect.robot_version and not has_effect:
            first = []  # it has no effect where it stands, and must not have one now
            self._remark(block, "Robot-version stays after the rules")
        rules = self._once(r for r in block.directives if r.field in _RULES)
        ordered, is_recommended = in_order(rules, self._dialect, alone=self._alone)
        if not is_recommended:
            self._remark(block, "Allow stays behind Disallow")
        others = [
            r for r in block.directives if r.field not in _RULES and r not in first
        ]
        lines = self._lines([*first, *ordered])
        if not any(rule.field == "disallow" for rule in ordered):
            lines.append(RewrittenLine("Disallow", ""))
        return [*lines, *self._lines(others)]

    def _once(self, rules: Iterable[Record]) -> list[Record]:
        """Return the rules that are not there already; the comments of all stay."""
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
        # a group that is a pattern is written twice
        if remark not in self.remarks[-2:]:
            self.remarks.append(remark)

    def _lines(self, records: Iterable[Record]) -> list[RewrittenLine]:
        return [self._line(record) for record in records]

    def _agent(self, record: Record) -> RewrittenLine:
        """Return a User-agent line; what follows the name becomes a comment."""
        line = self._line(record)
        written = as_written(record, alone=self._alone)
        if written != line.value and any(white in line.value for white in WHITE_SPACE):
            line.comments.append(f"# {line.value}")
        line.value = written
        return line

    def _line(self, record: Record) -> RewrittenLine:
        """Return a line with the comments above it, which are written once."""
        return RewrittenLine.of(record, self.comments.above.pop(record.number, []))


def _effective_versions(outline: Outline, grammar: Grammar) -> set[int]:
    """Return the lines with a Robot-version right after the agents, where it counts.

    What stands between them counts even if it becomes a comment, or moves to the end of
    the file.
    """
    found = set()
    for group in outline.groups:
        last = group.agents[-1].number
        for record in group.directives:
            if record.number > last and grammar.directive.match(f"\n{record.raw}"):
                if record.field == "robot-version":
                    found.add(record.number)
                break
    return found


def _text(lines: Iterable[RewrittenLine]) -> list[str]:
    return [*chain.from_iterable(line.write() for line in lines)]


# As far as a path is the same to all robots: without what some of them decode or read
# as a pattern.
_LITERAL = re.compile(r"[^*?\[\\$%#\x80-\U0010ffff]*")


def in_order(
    rules: list[Record], dialect: Dialect, *, alone: bool = False
) -> tuple[list[Record], bool]:
    """Return Allow and Disallow lines reordered, and whether as recommended.

    With `alone`, what other robots than those of the dialect make of it does not count.
    """
    nobody_is_let_in = dialect.precedence == "first" or not alone
    first: list[Record] = []
    rest: list[Record] = []
    disallowed = _Heads()
    for rule in rules:
        head = _head(rule, dialect)
        if rule.field == "disallow":
            if rule.value:
                disallowed.add(head, rule.value)
            rest.append(rule)
            continue
        if nobody_is_let_in:
            is_behind = disallowed.meet(head)
        else:
            is_behind = disallowed.within(head, rule.value)
        if is_behind:
            rest.append(rule)
        else:
            first.append(rule)
    return first + rest, all(rule.field == "disallow" for rule in rest)


def _head(rule: Record, dialect: Dialect) -> str:
    """Return what the path of a rule begins with, to whichever robot."""
    value = rule.value
    parts = None
    if "://" in value and dialect.full_urls and not dialect.paths_as_written:
        parts = split_url(value)
    if parts is not None:
        value = parts[1]
    literal = _LITERAL.match(value)
    return literal[0] if literal else ""


class _Heads:
    """Rules sorted by their first characters, to find a rule's prefixes."""

    def __init__(self) -> None:
        self._sorted: list[str] = []
        self._values: dict[str, set[str]] = {}
        self._lengths: set[int] = set()

    def add(self, head: str, value: str) -> None:
        if head not in self._values:
            insort(self._sorted, head)
            self._values[head] = set()
            self._lengths.add(len(head))
        self._values[head].add(value)

    def within(self, head: str, value: str) -> bool:
        """Whether a plain prefix covers one of them, but what is equal to it."""
        if value.rstrip("*") != head:
            return False
        place = bisect_left(self._sorted, head)
        if self._values.get(head) == {value}:
            place += 1
        return place < len(self._sorted) and self._sorted[place].startswith(head)

    def meet(self, head: str) -> bool:
        """Whether a URL may begin with both this and one of them."""
        place = bisect_left(self._sorted, head)
        if place < len(self._sorted) and self._sorted[place].startswith(head):
            return True
        return any(
            head[:length] in self._values
            for length in self._lengths
            if length <= len(head)
        )


@dataclass(slots=True)
class Comments:
    """Where the comments of a file go."""

    header: list[str] = field(default_factory=list)
    """At the top, by themselves."""
    above: dict[int, list[str]] = field(default_factory=dict)
    """Above the line that has this number."""
    end: list[str] = field(default_factory=list)
    """After everything else."""


def read_comments(
    records: Iterable[Record], unread: Container[int], merged: Container[int]
) -> Comments:
    """Find a file's comments; one that follows a directive moves to the line before.

    Lines with a field that are `unread` become comments themselves, so that nothing an
    owner has written is lost. Those that are `merged` are not written again: their
    comments go to the next line. Moderatobot, "File structure".
    """
    comments = Comments()
    waiting: list[str] = []
    is_top = True
    for record in records:
        text = record.raw.strip(WHITE_SPACE)
        if record.is_blank:
            if is_top and waiting:
                comments.header = waiting
                waiting = []
                is_top = False
        elif not record.field or record.number in unread:
            waiting.append(text if text.startswith("#") else f"# {text}")
        else:
            is_top = False
            comment = (record.comment or "").rstrip(WHITE_SPACE)
            if comment:
                waiting.append(f"#{comment}")
            if record.number not in merged:
                comments.above[record.number] = waiting
                waiting = []
    comments.end = waiting
    return comments
