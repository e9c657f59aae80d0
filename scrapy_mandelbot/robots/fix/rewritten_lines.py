"""Lines to be written, and the comments above them.

Moderatobot, "File structure": a comment that follows a directive moves to the line before it. What
no robot reads becomes a comment too, so that nothing an owner has written is lost.
"""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scrapy_mandelbot.robots.robotstxt.dialects import FIELDS, documented
from scrapy_mandelbot.robots.robotstxt.grammar import WHITE_SPACE
from scrapy_mandelbot.robots.robotstxt.paths import escape_non_ascii
from scrapy_mandelbot.robots.robotstxt.verdict import path_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from scrapy_mandelbot.robots.robotstxt.dialects import Dialect
    from scrapy_mandelbot.robots.robotstxt.records import Record

# As far as a path is the same to all robots: without what some of them decode or read as a pattern.
_LITERAL = re.compile(r"[^*?\[\\$%#\x80-\U0010ffff]*")


def in_order(
    rules: list[Record], dialect: Dialect, *, alone: bool = False
) -> tuple[list[Record], bool]:
    """Return the rules of a group in their new order, and whether that is the recommended one.

    Args:
        rules: The Allow and Disallow lines.
        dialect: How they are read.
        alone: What other robots than those of the dialect make of it does not count.
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
        elif disallowed.meet(head) if nobody_is_let_in else disallowed.within(head, rule.value):
            rest.append(rule)
        else:
            first.append(rule)
    return first + rest, all(rule.field == "disallow" for rule in rest)


def never_decides(rules: list[Record], dialect: Dialect) -> set[int]:
    """Return the line numbers of the Allow rules without which the group decides as with them.

    That are those that meet no Disallow which they win over, where the longest wins.
    """
    if dialect.precedence != "longest":
        return set()
    lengths = {rule.number: _length(rule, dialect) for rule in rules}
    weaker = _Heads()
    found = set()
    # The shortest first, Disallow before Allow: an Allow wins ties.
    for rule in sorted(rules, key=lambda rule: (lengths[rule.number], rule.field == "allow")):
        if rule.field == "disallow":
            if rule.value:
                weaker.add(_head(rule, dialect), rule.value)
        elif rule.value and not weaker.meet(_head(rule, dialect)):
            found.add(rule.number)
    return found


def _head(rule: Record, dialect: Dialect) -> str:
    """Return what the path of a rule begins with, to whichever robot."""
    path = path_of(rule.value, 2, dialect)
    literal = _LITERAL.match(path if path is not None and "://" in rule.value else rule.value)
    return literal[0] if literal else ""


def _length(rule: Record, dialect: Dialect) -> int:
    path = path_of(rule.value, 1, dialect) or ""
    return len(path) if path.isascii() else len(escape_non_ascii(path))


class _Heads:
    """Rules by what they begin with, for what begins with it and for what it begins with."""

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
        return any(head[:length] in self._values for length in self._lengths if length <= len(head))


@dataclass(slots=True)
class RewrittenLine:
    """A directive of the new file."""

    name: str
    value: str
    comments: list[str] = field(default_factory=list)
    """Whole lines above it."""

    def write(self) -> Iterator[str]:
        """Yield its lines."""
        yield from self.comments
        if not self.value:
            yield f"{self.name}:"
        elif self.value.startswith("#"):  # of the extended standard: after a space it is a comment
            yield f"{self.name}:{self.value}"
        else:
            yield f"{self.name}: {self.value}"


def spelt(record: Record) -> str:
    """Return the field as documents write it; one that no document knows, as the file does."""
    return documented(record.field) if record.field in FIELDS else record.name


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
    """Find the comments of a file.

    Args:
        records: All lines.
        unread: Numbers of lines with a field that become comments.
        merged: Numbers of lines that are not written again; their comments go to the next line.
    """
    comments = Comments()
    waiting: list[str] = []
    is_top = True
    for record in records:
        text = record.raw.strip(WHITE_SPACE)
        if record.is_blank:
            if is_top and waiting:
                comments.header, waiting, is_top = waiting, [], False
        elif not record.field or record.number in unread:
            waiting.append(text if text.startswith("#") else f"# {text}")
        else:
            is_top = False
            comment = (record.comment or "").rstrip(WHITE_SPACE)
            if comment:
                waiting.append(f"#{comment}")
            if record.number not in merged:
                comments.above[record.number], waiting = waiting, []
    comments.end = waiting
    return comments
