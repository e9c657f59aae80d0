"""What is known of a site's rules, and what these say: of a page, and of its use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from mandelbot.answers.outcome import OutcomeKind, OutcomePolicy, SiteKnowledge
from mandelbot.origins import site_of
from mandelbot.preferences.of_file import usage
from mandelbot.robotstxt.known_robots import (
    KNOWN_ROBOTS,
    KnownRobot,
    known_robot_verdict,
    with_fallback,
)
from mandelbot.robotstxt.records import name_of
from mandelbot.robotstxt.robots_txt import RobotsTxt

if TYPE_CHECKING:
    from mandelbot.answers.outcome import Answer
    from mandelbot.findings import Delivery
    from mandelbot.robotstxt.agents import Agent
    from mandelbot.robotstxt.dialects import Dialect
    from mandelbot.robotstxt.records import Record
    from mandelbot.robotstxt.verdict import Verdict

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

    def usage(self, dialect: Dialect) -> list[dict[str, Any]]:
        """Return the answer for each use and its statements; empty: not known now."""
        robots, _ = self.rules.read(dialect)
        if robots is None:
            return []
        said = usage(robots, self.url, with_fallback(self.agent))
        return [
            {
                "category": category,
                "answer": answer,
                "statements": [
                    str(one) for one in said.statements if one.category == category
                ],
            }
            for category, answer in said.answers.items()
        ]


def robots_listed(rules: Rules) -> list[tuple[str, dict[str, Any]]]:
    """Return the known robots, others that the file names, and one for all the rest.

    Each with what is known of it: None, where that is nothing.
    """
    known = [(robot.name, _robot_data(robot)) for robot in KNOWN_ROBOTS]
    unknown = dict.fromkeys((*KnownRobot._fields[1:5], "is_token"))
    named = islice(_unknown_names(rules), MOST_NAMED)
    return [*known, *((name, unknown) for name in (*named, EVERYBODY))]


def unlisted(rules: Rules) -> int:
    """Return how many robots that a file names are left out of the list."""
    return max(0, sum(1 for _ in _unknown_names(rules)) - MOST_NAMED)


def _unknown_names(rules: Rules) -> Iterator[str]:
    known = {robot.name.lower() for robot in KNOWN_ROBOTS}
    return (name for name in rules.robots_named() if name.lower() not in known)


def _robot_data(robot: KnownRobot) -> dict[str, Any]:
    data = robot._asdict()
    del data["name"], data["refuses"]
    return data


SUCCESS = range(200, 300)
"""Statuses whose body is the file."""


@dataclass(frozen=True)
class Rules:
    """The robots.txt of one site, as it came."""

    source: str
    """The URL or the name of the file."""
    body: bytes = b""
    answer: Answer | None = None
    """Of the site; None: the file was on disk."""
    delivery: Delivery | None = None
    """How it came, as far as that is known."""
    trouble: str = ""
    """Why the site sent no response; empty: it did."""
    max_bytes: int = 512_000
    """What robots read of the file."""
    _read: dict[tuple[Dialect, int | None], RobotsTxt] = field(
        default_factory=dict, repr=False, compare=False
    )
    """The file as dialects read it: it may be asked about thousands of URLs."""

    @property
    def url(self) -> str:
        """Where the file came from; empty: it was on disk."""
        return "" if self.answer is None else self.source

    @property
    def site(self) -> str:
        """The site whose file it is; empty: it was on disk."""
        return self.url and site_of(urlsplit(self.url))

    @property
    def is_there(self) -> bool:
        """Whether there is a file: one on disk, or the body of a success."""
        return self.answer is None or self.answer.status in SUCCESS

    def read(self, dialect: Dialect) -> tuple[RobotsTxt | None, str]:
        """Return the file as a dialect reads it, or None and what the answer means."""
        kind, reason = self._meaning(dialect)
        if kind is OutcomeKind.RULES:
            return self._robots(dialect, self.max_bytes), ""
        return None, reason

    @cached_property
    def records(self) -> tuple[Record, ...]:
        """Every line of the file; none if there is no file."""
        return RobotsTxt.parse(
            self.body if self.is_there else b"", max_bytes=None
        ).records

    def robots_named(self) -> Iterator[str]:
        """Yield the robots that the file names, each once, as it writes it first."""
        seen = {"", EVERYBODY}
        for record in self.records:
            name = ""
            if record.field == "user-agent":
                name = name_of(record)
            if name.lower() not in seen:
                seen.add(name.lower())
                yield name

    def _robots(self, dialect: Dialect, max_bytes: int | None) -> RobotsTxt:
        key = dialect, max_bytes
        if key not in self._read:
            self._read[key] = RobotsTxt.parse(
                self.body, dialect=dialect, max_bytes=max_bytes
            )
        return self._read[key]

    def decide(self, url: str, agent: Agent, dialect: Dialect) -> dict[str, Any]:
        """Return the verdict on a URL as plain data; ``allowed`` None: not known now.

        ``beyond`` is what the whole file would say, where another line decides it: one
        that lies past what robots read.
        """
        robots, reason = self.read(dialect)
        if robots is not None:
            decided = _verdict_data(known_robot_verdict(robots, url, agent))
            whole = None
            if len(self.body) > self.max_bytes:
                all_of_it = self._robots(dialect, None)
                whole = _verdict_data(known_robot_verdict(all_of_it, url, agent))
            return {**decided, "beyond": None if whole in (None, decided) else whole}
        kind, _ = self._meaning(dialect)
        allowed = {OutcomeKind.ALLOW_ALL: True, OutcomeKind.FORBID_ALL: False}.get(kind)
        none = dict.fromkeys(("group", "rule", "beyond"))
        return {"allowed": allowed, "reason": reason, **none}

    def _meaning(self, dialect: Dialect) -> tuple[OutcomeKind, str]:
        if self.answer is None:
            return OutcomeKind.RULES, ""
        policy = OutcomePolicy(
            forbidding_statuses=dialect.forbidding_statuses,
            only_status_200=dialect.only_status_200,
        )
        outcome = policy.outcome_of(self.answer, SiteKnowledge())
        return outcome.kind, outcome.reason.removeprefix("robots.txt: ")


def _verdict_data(verdict: Verdict) -> dict[str, Any]:
    rule = verdict.rule
    return {
        "allowed": verdict.allowed,
        "reason": verdict.reason,
        "group": verdict.agent,
        "rule": (
            rule
            and {
                "allow": rule.allow,
                "path": rule.path,
                "line": rule.line,
                "text": str(rule),
            }
        ),
    }


def verdict_words(decided: dict[str, Any]) -> str:
    """Return ``allowed``, ``forbidden`` or ``unknown``."""
    return {True: "allowed", False: "forbidden", None: "unknown"}[decided["allowed"]]
