"""The order of a group's rules, and which of them go.

Moderatobot, "Disallow vs. Allow": all Allow first and then all Disallow, so that most robots come
to the same decisions. Robots that take the first rule that matches would then be let in where the
file kept them out: before a Disallow goes only an Allow that it does not meet, so that no robot is
let in by a correction. Who corrects for one dialect alone gets the document's order, but that an
Allow stays behind a Disallow that it covers: in front, the Disallow were never reached.

An Allow that never decides goes ("The Allow directive value / has no sense").
"""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from typing import TYPE_CHECKING

from scrapy_mandelbot.robotstxt.paths import escape_non_ascii
from scrapy_mandelbot.robotstxt.rules import path_of

if TYPE_CHECKING:
    from scrapy_mandelbot.robotstxt.dialects import Dialect
    from scrapy_mandelbot.robotstxt.records import Record

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
