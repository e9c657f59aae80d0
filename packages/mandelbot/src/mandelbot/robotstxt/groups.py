"""Finds the groups of a file that apply to a robot.

A group is one or more User-agent lines and the lines after them, up to the next group
(Mandelbot's page, section "User Agents and Directive Groups"; RFC 9309, section 2.1).
This module reads only the User-agent lines and the ends of groups; it skips the rules
of other robots.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from mandelbot.robotstxt.agents import NAMES
from mandelbot.robotstxt.dialects import OWN_FIELDS, VERSION_2_FIELDS
from mandelbot.robotstxt.grammar import BLANK_LINE, WHITE_SPACE, decode, searchable

if TYPE_CHECKING:
    from mandelbot.robotstxt.agents import Rank
    from mandelbot.robotstxt.grammar import Grammar


Group = tuple[list[str], int, int, int]
"""A group of the file: its names as written, and the offsets of its beginning, of the
end of its User-agent lines, and of its end.
"""


class Span(NamedTuple):
    """A part of the text that applies to a robot."""

    start: int
    end: int
    version: int
    """2 for a group of the extended standard 2.0, else 1."""


class GroupMatch(NamedTuple):
    """The parts of a file that apply to one robot."""

    agent: str | None
    """The matching name in the file, as written; None: no group applies."""
    spans: list[Span]
    """Its groups, in order."""

    def values(
        self, field: str, body: bytes, grammar: Grammar
    ) -> list[tuple[int, str]]:
        """Return number and value of each line with a field for the robot."""
        is_own = field in OWN_FIELDS
        if is_own:
            spans = list(_own_spans(searchable(body), self, grammar))
        else:
            spans = self.spans
        if grammar.dialect.robot_version and field in VERSION_2_FIELDS:
            spans = [span for span in spans if span.version > 1]
        return grammar.values(field, body, spans)


def read_groups(
    text: str, grammar: Grammar, run_end: re.Pattern[str] | None = None
) -> Iterator[Group]:
    """Yield the groups of a searchable text, in order.

    `run_end`: what ends User-agent lines.
    """
    blank_ends = grammar.dialect.blank_line_ends_group
    ends_run = run_end or grammar.run_end
    lines = list(grammar.agent_lines(text))
    names: list[str] = []
    start = 0
    for line, following in zip_longest(lines, lines[1:]):
        if not names:
            start = line.start()
        names.append(line[1])
        after = line.end()
        end = following.start() if following else len(text)
        blank = None
        if blank_ends:
            blank = BLANK_LINE.search(text, after, end + 1)
        if blank:
            end = blank.start()
        elif following and not ends_run.search(text, after, end):
            continue
        yield names, start, after, end
        names = []


def select_groups(
    text: str,
    grammar: Grammar,
    robot: tuple[str, ...],
    groups: Iterable[Group] | None = None,
) -> GroupMatch:
    """Return a robot's groups by its names, in lower case, the preferred first.

    Callers with many robots read the groups of the text once and pass them.
    """
    dialect = grammar.dialect
    place_of = NAMES[dialect.agent_match]
    everyone = (len(robot), 0)  # after all the names of the robot
    found: dict[tuple[Rank, str], tuple[str, list[Span]]] = {}
    for names, start, after_names, end in groups or read_groups(text, grammar):
        for name in filter(None, map(decode, names)):
            lower = name.lower()
            rank = everyone if name == "*" else place_of(lower, robot)
            if rank is None:
                continue
            version: int | None = 1
            if dialect.robot_version:
                version = version_of(text, after_names, end, grammar)
            if version is None:
                continue
            spans = found.setdefault((rank, lower), (name, []))[1]
            if not spans or spans[-1].start != start:
                spans.append(Span(start, end, version))
        if found and dialect.star_stops:
            break
    if not found:
        return GroupMatch(None, [])
    agent, spans = found[min(found, key=itemgetter(0))]
    return GroupMatch(agent, spans[:1] if dialect.repeated_agent == "first" else spans)


def _own_spans(text: str, selection: GroupMatch, grammar: Grammar) -> Iterator[Span]:
    """Yield the parts of a robot's groups whose delays and rates apply to the robot.

    Rules may follow several runs of User-agent lines, with delays between them. A delay
    applies to the agents in the lines right before it: all robots that know the field
    agree.
    """
    if selection.agent is None:
        return
    wanted = selection.agent.lower()
    for start, end, version in selection.spans:
        for names, begins, _, ends in read_groups(
            text[start:end], grammar, grammar.member
        ):
            if any(decode(name).lower() == wanted for name in names):
                yield Span(start + begins, start + ends, version)


_VERSION = re.compile(r"([0-9]{1,9})(?:\.([0-9]{1,9}))?(?:\.[0-9]+)*")


def version_of(text: str, start: int, end: int, grammar: Grammar) -> int | None:
    """Return the major version of a group's syntax, or None to skip the group.

    "An Extended Standard for Robot Exclusion", directive Robot-version: if missing or
    not the first line after the agents, it is 1.0. Even minor versions are
    backward-compatible, odd ones are experiments; other major versions are unknown.
    """
    first = grammar.directive.search(text, start, end)
    line = first and grammar.field_line("robot-version").match(text, first.start(), end)
    version = line and _VERSION.fullmatch(line[1].rstrip(WHITE_SPACE))
    if not version:
        return 1
    major = int(version[1])
    minor = int(version[2] or 0)
    return major if major in (1, 2) and minor % 2 == 0 else None
