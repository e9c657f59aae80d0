"""Who asks for what, by which rules: the rows of a report on URLs."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_mandelbot.robotstxt.known_robots import KNOWN_ROBOTS, KnownRobot
from scrapy_mandelbot.robotstxt.outline import name_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapy_mandelbot.commands.reports.rules_in_force import Rules

    Agent = str | Sequence[str]

EVERYBODY = "*"
"""Stands for the robots that the file does not name."""
MOST_NAMED = 100
"""Robots of a file that are asked about besides the known ones."""


class Question(NamedTuple):
    """May this robot fetch this URL?"""

    url: str
    agent: Agent
    rules: Rules
    robot: dict[str, Any] | None = None
    """What is known of the robot, where robots are listed."""

    def data(self) -> dict[str, Any]:
        """Return the question as plain data."""
        return {
            "url": self.url,
            "agent": self.agent if isinstance(self.agent, str) else list(self.agent),
            "robots": self.rules.source,
            "robot": self.robot,
        }


def robots_asked(rules: Rules) -> list[tuple[str, dict[str, Any]]]:
    """Return the known robots, then others that the file names, then who stands for all others.

    Each with what is known of it: None, where that is nothing.
    """
    known = [(robot.name, _told(robot)) for robot in KNOWN_ROBOTS]
    unknown = dict.fromkeys((*KnownRobot._fields[1:5], "is_token"))
    named = islice(unknown_names(rules), MOST_NAMED)
    return [*known, *((name, unknown) for name in (*named, EVERYBODY))]


def unknown_names(rules: Rules) -> Iterator[str]:
    """Yield the robots that a file names and that are not among the known ones, each once."""
    seen = {robot.name.lower() for robot in KNOWN_ROBOTS} | {"", EVERYBODY}
    for record in rules.records if rules.is_there else ():
        name = name_of(record) if record.field == "user-agent" else ""
        if name.lower() not in seen:
            seen.add(name.lower())
            yield name


def _told(robot: KnownRobot) -> dict[str, Any]:
    told = robot._asdict()
    told.pop("name")
    return told
