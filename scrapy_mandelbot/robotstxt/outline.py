"""The groups of a file as records: for who checks the whole file or writes it anew.

Deciding finds its groups by offsets (`groups.py`) and never reads the others; here every line gets
its place. Both follow the same sections: Mandelbot's page, "User Agents and Directive Groups";
RFC 9309, section 2.1; and what a `Dialect` changes in them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy_mandelbot.robotstxt.dialects import Dialect
    from scrapy_mandelbot.robotstxt.records import Record

#: Fields that are about all robots, wherever they stand.
ABOUT_ALL = frozenset({"sitemap", "host", "clean-param"})


@dataclass(slots=True)
class Group:
    """User-agent lines and what follows them."""

    agents: list[Record] = field(default_factory=list)
    directives: list[Record] = field(default_factory=list)
    """All lines with a field in it but the User-agent lines, in order; unknown fields too."""

    def rules(self) -> list[Record]:
        """Return its Allow and Disallow lines."""
        return [record for record in self.directives if record.field in {"allow", "disallow"}]


@dataclass(slots=True)
class Outline:
    """Where every line of a file belongs."""

    records: tuple[Record, ...]
    groups: list[Group] = field(default_factory=list)
    outside: list[Record] = field(default_factory=list)
    """Lines with a field that stand in no group."""


def read_outline(records: Iterable[Record], dialect: Dialect) -> Outline:
    """Sort the lines into groups, as the dialect does."""
    outline = Outline(tuple(records))
    group: Group | None = None
    run_is_open = False
    for record in outline.records:
        if record.is_blank:
            if dialect.blank_line_ends_group:
                group, run_is_open = None, False
        elif record.field == "user-agent":
            if group is None or not run_is_open:
                group, run_is_open = Group(), True
                outline.groups.append(group)
            group.agents.append(record)
        elif record.field:
            (outline.outside if group is None else group.directives).append(record)
            if dialect.run_ends_at == "directive" or _is_rule(record, dialect):
                run_is_open = False
    return outline


def _is_rule(record: Record, dialect: Dialect) -> bool:
    return record.field == "disallow" or (record.field == "allow" and dialect.honours_allow)


_NAME = re.compile(r"[^\s/]*", re.ASCII)


def name_of(agent: Record) -> str:
    """Return the robot's name in a User-agent line: it ends at a slash or white space."""
    name = _NAME.match(agent.value)
    return name[0] if name else ""
