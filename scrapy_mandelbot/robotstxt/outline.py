"""The groups of a file as records: for who checks the whole file or writes it anew.

Deciding finds its groups by offsets (`groups.py`) and never reads the others; here every line gets
its place. Both follow the same sections: Mandelbot's page, "User Agents and Directive Groups";
RFC 9309, section 2.1; and what a `Dialect` changes in them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scrapy_mandelbot.robotstxt.dialects import GROUP_FIELDS, OWN_FIELDS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy_mandelbot.robotstxt.dialects import Dialect
    from scrapy_mandelbot.robotstxt.records import Record

#: Fields that are about all robots, wherever they stand.
ABOUT_ALL = frozenset({"sitemap", "host", "clean-param", "license"})


@dataclass(slots=True)
class Run:
    """User-agent lines with nothing of a group between them, and the delays right after them."""

    agents: list[Record] = field(default_factory=list)
    own: list[Record] = field(default_factory=list)
    """What is about these agents alone, and no others of the group: delays, rates, times."""


@dataclass(slots=True)
class Group:
    """User-agent lines and what follows them."""

    agents: list[Record] = field(default_factory=list)
    directives: list[Record] = field(default_factory=list)
    """All lines with a field in it but the User-agent lines, in order; unknown fields too."""
    runs: list[Run] = field(default_factory=list)
    """One, where all that the group says is about all its agents."""

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
    run_is_open = names_are_open = False
    for record in outline.records:
        if record.is_blank:
            if dialect.blank_line_ends_group:
                group, run_is_open = None, False
        elif record.field == "user-agent":
            if group is None or not run_is_open:
                group, run_is_open = Group(), True
                outline.groups.append(group)
                names_are_open = False
            if not names_are_open:
                group.runs.append(Run())
                names_are_open = True
            group.agents.append(record)
            group.runs[-1].agents.append(record)
        elif record.field:
            names_are_open = names_are_open and record.field not in GROUP_FIELDS
            (outline.outside if group is None else group.directives).append(record)
            if group is not None and record.field in OWN_FIELDS:
                group.runs[-1].own.append(record)
            if dialect.run_ends_at == "directive" or _is_rule(record, dialect):
                run_is_open = False
    return outline


def _is_rule(record: Record, dialect: Dialect) -> bool:
    return record.field == "disallow" or (record.field == "allow" and dialect.honours_allow)


_NAME = re.compile(r"\*(?=[\s/*+,;]|\Z)|[^\s/*+,;]*", re.ASCII)


def name_of(agent: Record) -> str:
    """Return the robot's name in a User-agent line, as Mandelbot reads it: see `Dialect`."""
    name = _NAME.match(agent.value)
    return name[0] if name else ""
