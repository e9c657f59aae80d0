"""Which lines of the file are about a robot.

A group is one or more User-agent lines and what follows them, up to the next group
(Mandelbot's page, section "User Agents and Directive Groups"; RFC 9309, section 2.1). Only
the User-agent lines are read here, and what decides where a group ends; the rules of other
robots' groups are passed over unread.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from scrapy_mandelbot.robotstxt.agents import NAMES, read_name
from scrapy_mandelbot.robotstxt.lines import BLANK_LINE, WHITE_SPACE, field_line, grammar_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_mandelbot.robotstxt.dialects import Dialect


class Group(NamedTuple):
    """A group of the file: the names in it as written, and where in the text it is."""

    names: list[str]
    start: int
    after_names: int
    end: int


class Selection(NamedTuple):
    """What of a file is about one robot."""

    agent: str
    """The name that was found in the file, as written."""
    spans: tuple[tuple[int, int], ...]
    """Where in the text its groups are, in order."""
    version: int
    """2 for a group of the extended standard 2.0, else 1."""


def read_groups(text: str, dialect: Dialect) -> Iterator[Group]:
    """Yield the groups of a searchable text, in order."""
    grammar = grammar_of(dialect)
    agent_lines = list(grammar.agent_line.finditer(text))
    names: list[str] = []
    start = 0
    for at, line in enumerate(agent_lines):
        if not names:
            start = line.start()
        names.append(read_name(line[2].strip(WHITE_SPACE), dialect))
        last = at + 1 == len(agent_lines)
        end = len(text) if last else agent_lines[at + 1].start()
        blank = dialect.blank_line_ends_group and BLANK_LINE.search(text, line.end(), end + 1)
        if blank:
            end = blank.start()
        elif not last and not grammar.run_end.search(text, line.end(), end):
            continue
        yield Group(names, start, line.end(), end)
        names = []


def select_groups(text: str, dialect: Dialect, robot: tuple[str, ...]) -> Selection | None:
    """Return the groups for a robot known by these names, in lower case, the preferred first.

    None when no group is about it, not even one for everyone.
    """
    is_name_of = NAMES[dialect.agent_match]
    everyone = len(robot)  # after all its own names
    found: dict[int, tuple[str, list[Group]]] = {}
    for group in read_groups(text, dialect):
        if dialect.robot_version and version_of(text, group, dialect) is None:
            continue
        for name in group.names:
            lower = name.lower()
            ranks = (rank for rank, own in enumerate(robot) if lower and is_name_of(lower, own))
            rank = everyone if name == "*" else next(ranks, None)
            if rank is not None:
                groups = found.setdefault(rank, (name, []))[1]
                if group not in groups[-1:]:
                    groups.append(group)
        if found and dialect.star_stops:
            break
    if not found:
        return None
    agent, groups = found[min(found)]
    if dialect.repeated_agent == "first":
        groups = groups[:1]
    version = version_of(text, groups[0], dialect) if dialect.robot_version else 1
    return Selection(agent, tuple((group.start, group.end) for group in groups), version or 1)


_VERSION = re.compile(r"([0-9]{1,9})(?:\.([0-9]{1,9}))?(?:\.[0-9]+)*")


def version_of(text: str, group: Group, dialect: Dialect) -> int | None:
    """Return the major version by which a group is to be read; None: it is to be passed over.

    "An Extended Standard for Robot Exclusion", directive Robot-version: missing, or not the first
    line after the agents, is 1.0; an even minor version can be read by who reads a lower one; an
    odd one is an experiment, another major one is unknown.
    """
    grammar = grammar_of(dialect)
    first = grammar.directive_line.search(text, group.after_names, group.end)
    version_line = field_line(dialect, "robot-version")
    line = first and version_line.match(text, first.start(), group.end)
    version = line and _VERSION.fullmatch(line[2].strip(WHITE_SPACE))
    if not version:
        return 1
    major, minor = int(version[1]), int(version[2] or 0)
    return major if major in (1, 2) and minor % 2 == 0 else None
