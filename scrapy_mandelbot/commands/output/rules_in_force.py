"""What is known of a site's rules, and what these say: of a page, and of its use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_mandelbot.commands.output.terminal_text import cut
from scrapy_mandelbot.politeness.outcome import (
    Answer,
    Failure,
    OutcomeKind,
    OutcomePolicy,
    SiteKnowledge,
)
from scrapy_mandelbot.robots.preferences.statements import CATEGORY_TEXTS
from scrapy_mandelbot.robots.robotstxt import RobotsTxt
from scrapy_mandelbot.robots.robotstxt.known_robots import KNOWN_ROBOTS, KnownRobot
from scrapy_mandelbot.robots.robotstxt.records import name_of

if TYPE_CHECKING:
    from scrapy_mandelbot.commands.output.terminal_text import TerminalStyle
    from scrapy_mandelbot.robots.lint import Delivery
    from scrapy_mandelbot.robots.robotstxt import Dialect, Rule, Verdict
    from scrapy_mandelbot.robots.robotstxt.records import Record
    from scrapy_mandelbot.robots.robotstxt.robots_txt import Agent

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


def robots_listed(rules: Rules) -> list[tuple[str, dict[str, Any]]]:
    """Return the known robots, then others that the file names, then who stands for all others.

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
    """Yield the robots that a file names and that are not among the known ones, each once."""
    seen = {robot.name.lower() for robot in KNOWN_ROBOTS} | {"", EVERYBODY}
    for record in rules.records:
        name = name_of(record) if record.field == "user-agent" else ""
        if name.lower() not in seen:
            seen.add(name.lower())
            yield name


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
    policy: OutcomePolicy = field(default_factory=OutcomePolicy)
    """What the project makes of answers: the crawl's own."""
    trouble: str = ""
    """Why the site sent no response; empty: it did."""
    _read: dict[tuple[Dialect, int | None], RobotsTxt] = field(
        default_factory=dict, repr=False, compare=False
    )
    """The file as dialects read it: it may be asked about thousands of URLs."""

    @property
    def is_there(self) -> bool:
        """Whether there is a file: one on disk, or the body of a success."""
        return self.answer is None or self.answer.status in SUCCESS

    def read(self, dialect: Dialect, max_bytes: int) -> tuple[RobotsTxt | None, str]:
        """Return the file as a dialect reads it, or None and what the answer means instead."""
        robots = self._robots(dialect, max_bytes)
        if self.answer is None:
            return robots, ""
        kind, reason = self._meaning(dialect)
        return (robots, "") if kind is OutcomeKind.RULES else (None, reason)

    @cached_property
    def records(self) -> tuple[Record, ...]:
        """Every line of the file, of which all may be shown; none if there is no file."""
        return RobotsTxt.parse(self.body if self.is_there else b"", max_bytes=None).records

    def comments(self, agent: Agent, dialect: Dialect, max_bytes: int) -> tuple[str, ...]:
        """Return the owner's comments for those who run a robot."""
        robots, _ = self.read(dialect, max_bytes)
        return () if robots is None else robots.comments(agent)

    def _robots(self, dialect: Dialect, max_bytes: int | None) -> RobotsTxt:
        key = dialect, max_bytes
        if key not in self._read:
            self._read[key] = RobotsTxt.parse(self.body, dialect=dialect, max_bytes=max_bytes)
        return self._read[key]

    def decide(self, url: str, agent: Agent, dialect: Dialect, max_bytes: int) -> dict[str, Any]:
        """Return the verdict on a URL as plain data; ``allowed`` None: not known now.

        ``beyond`` is what the whole file would say, where another line decides it: one that lies
        past what robots read.
        """
        robots, reason = self.read(dialect, max_bytes)
        if robots is not None:
            decided = _verdict_data(robots.verdict(url, agent))
            whole = None
            if len(self.body) > max_bytes:
                whole = _verdict_data(self._robots(dialect, None).verdict(url, agent))
            return {**decided, "beyond": None if whole in (None, decided) else whole}
        kind, _ = self._meaning(dialect)
        answers = {OutcomeKind.ALLOW_ALL: True, OutcomeKind.FORBID_ALL: False}
        decided = {"allowed": answers.get(kind), "reason": reason, "group": None, "rule": None}
        return {**decided, "beyond": None}

    def _meaning(self, dialect: Dialect) -> tuple[OutcomeKind, str]:
        policy = self.policy._replace(
            forbidding_statuses=dialect.forbidding_statuses,
            only_status_200=dialect.only_status_200,
        )
        outcome = policy.outcome_of(self.answer or Answer(failure=Failure.OTHER), SiteKnowledge())
        return outcome.kind, outcome.reason.removeprefix("robots.txt: ")


def _verdict_data(verdict: Verdict) -> dict[str, Any]:
    return {
        "allowed": verdict.allowed,
        "reason": verdict.reason,
        "group": verdict.agent,
        "rule": None if verdict.rule is None else rule_data(verdict.rule),
    }


def rule_data(rule: Rule) -> dict[str, Any]:
    """Return a rule as plain data."""
    return {"allow": rule.allow, "path": rule.path, "line": rule.line, "text": str(rule)}


def verdict_words(decided: dict[str, Any]) -> str:
    """Return ``allowed``, ``forbidden`` or ``unknown``."""
    return {True: "allowed", False: "forbidden", None: "unknown"}[decided["allowed"]]


VERDICT_COLOURS = {"allowed": "good", "forbidden": "error", "unknown": "warning"}
ANSWER_COLOURS = {"allowed": "good", "disallowed": "error", "unknown": "warning"}


def of_use(question: Question, dialect: Dialect, max_bytes: int) -> list[dict[str, Any]]:
    """Return the answer for each category, with the statements about it; empty: not known now."""
    robots, _ = question.rules.read(dialect, max_bytes)
    if robots is None:
        return []
    usage = robots.usage(question.url, question.agent)
    return [
        {
            "category": category,
            "answer": answer,
            "statements": [
                str(statement) for statement in usage.statements if statement.category == category
            ],
        }
        for category, answer in usage.answers.items()
    ]


def refuses(report: dict[str, Any]) -> bool:
    """Return whether one of the uses asked about is refused."""
    return any(one["answer"] == "disallowed" for one in _asked(report))


def _asked(report: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in report["usage"] if one["category"] in report["purposes"]]


def purpose_lines(report: dict[str, Any], paint: TerminalStyle) -> list[str]:
    """Return what there is to say of the uses asked about, for a terminal."""
    lines = []
    for one in _asked(report):
        answer, text = one["answer"], CATEGORY_TEXTS[one["category"]]
        verdict = paint.wrapped(f"{one['category']}: {answer} ({text})", 4, "  ")
        lines += ["", verdict.replace(answer, paint(ANSWER_COLOURS[answer], answer), 1)]
        lines += [paint.wrapped(said, 6, "    ") for said in one["statements"]]
    if lines:
        hint = "The page itself and tdmrep.json may say more: see MANDELBOT_PURPOSE."
        lines += ["", paint.wrapped(hint, 2, "  ")]
    return lines


def usage_row(report: dict[str, Any], paint: TerminalStyle) -> list[str]:
    """Return the row of a table with all uses; none if the file says nothing of any."""
    answers = [f"{one['category']} {one['answer']}" for one in report["usage"]]
    if all(one["answer"] == "unknown" for one in report["usage"]):
        return []
    return [f"    {cut('of use: ' + ', '.join(answers), paint.width - 4)}"]


def asked_cells(report: dict[str, Any]) -> list[str]:
    """Return the answers for the uses asked about, in their order."""
    answers = {one["category"]: one["answer"] for one in report["usage"]}
    return [answers.get(purpose, "unknown") for purpose in report["purposes"]]


def asked_totals(reports: Sequence[dict[str, Any]]) -> list[str]:
    """Return for each use asked about how many answers there are of each."""
    lines = []
    cells = zip(*map(asked_cells, reports), strict=True)
    for purpose, answers in zip(reports[0]["purposes"], cells, strict=True):
        counts = Counter(answers)
        totals = (f"{counts[answer]:,} {answer}" for answer in ANSWER_COLOURS if counts[answer])
        lines.append(f"{purpose}: {', '.join(totals)}")
    return lines
