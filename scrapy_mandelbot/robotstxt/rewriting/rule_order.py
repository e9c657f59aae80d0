"""The order of a group's rules.

Moderatobot, "Disallow vs. Allow": all Allow first and then all Disallow, so that most robots come
to the same decisions. Where the dialect takes the first rule that matches that may change
decisions: then the rules stay in their order.
"""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from typing import TYPE_CHECKING

from scrapy_mandelbot.robotstxt.paths import COMPARABLE
from scrapy_mandelbot.robotstxt.rules import path_of

if TYPE_CHECKING:
    from scrapy_mandelbot.robotstxt.dialects import Dialect
    from scrapy_mandelbot.robotstxt.records import Record

_LITERAL = re.compile(r"[^*?\[\\$]*")


def in_order(rules: list[Record], dialect: Dialect) -> tuple[list[Record], bool]:
    """Return the rules of a group in their new order, and whether that is the recommended one."""
    allow_first = sorted(rules, key=lambda rule: rule.field == "disallow")
    if allow_first != rules and dialect.precedence == "first" and _meet(rules, dialect):
        return rules, False
    return allow_first, True


def _meet(rules: list[Record], dialect: Dialect) -> bool:
    """Whether an Allow may match a URL that a Disallow before it matches, too.

    Only if what one begins with is what the other begins with, as far as both are literal.
    """
    heads: list[str] = []
    known: set[str] = set()
    lengths: set[int] = set()
    for rule in rules:
        path = path_of(rule.value, 2, dialect)
        if path is None:
            continue
        literal = _LITERAL.match(path)
        head = COMPARABLE[dialect.escapes](literal[0] if literal else "")
        if rule.field == "disallow":
            if path and head not in known:
                insort(heads, head)
                known.add(head)
                lengths.add(len(head))
            continue
        place = bisect_left(heads, head)
        if place < len(heads) and heads[place].startswith(head):
            return True
        if any(head[:length] in known for length in lengths if length <= len(head)):
            return True
    return False
