"""A parsed robots.txt: the face of this package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_mandelbot.robotstxt import verdict as reasons
from scrapy_mandelbot.robotstxt.agents import names_in_order
from scrapy_mandelbot.robotstxt.dialects import DIALECTS, Dialect
from scrapy_mandelbot.robotstxt.groups import Selection, select_groups
from scrapy_mandelbot.robotstxt.lines import (
    WHITE_SPACE,
    clean_bytes,
    decode,
    field_line,
    searchable,
)
from scrapy_mandelbot.robotstxt.paths import read_url
from scrapy_mandelbot.robotstxt.records import Record, read_records
from scrapy_mandelbot.robotstxt.rules import Rules
from scrapy_mandelbot.robotstxt.times import (
    RequestRate,
    TimeWindow,
    read_delay,
    read_rate,
    read_window,
)
from scrapy_mandelbot.robotstxt.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    Agent = str | Sequence[str]

_AGENTS_KEPT = 64  # a crawler has one or two; one that invents them must not fill the memory


class RobotsTxt:
    """What a robots.txt says, in one dialect.

    Wherever an `agent` is asked for it is a product token (``"Mandelbot"``), a whole User-Agent
    header, or a sequence of these, tried in order. A `url` is absolute, or a path.
    """

    __slots__ = ("_body", "_dialect", "_robots")

    def __init__(self, body: bytes, dialect: Dialect) -> None:
        self._body = body
        self._dialect = dialect
        self._robots: dict[tuple[str, ...], _Robot] = {}

    @classmethod
    def parse(
        cls,
        body: bytes,
        *,
        dialect: str | Dialect = "mandelbot",
        max_bytes: int | None = 512_000,
    ) -> RobotsTxt:
        """Read the body of a robots.txt. Any bytes do; nothing is raised for what they are.

        Of a longer body the whole lines within `max_bytes` count; None: all of it. A dialect that
        does not exist is a ValueError.
        """
        if not isinstance(dialect, Dialect):
            if dialect not in DIALECTS:
                raise ValueError(f"no dialect {dialect!r}: there are {', '.join(DIALECTS)}")
            dialect = DIALECTS[dialect]
        return cls(clean_bytes(body, dialect, max_bytes), dialect)

    def __repr__(self) -> str:
        return f"<RobotsTxt {self._dialect.name}, {len(self._body)} bytes>"

    @property
    def dialect(self) -> Dialect:
        """How the file is read."""
        return self._dialect

    # Deciding.

    def allowed(self, url: str, agent: Agent) -> bool:
        """Whether the agent may fetch the URL. What is no readable URL is allowed."""
        return self.verdict(url, agent).allowed

    def verdict(self, url: str, agent: Agent) -> Verdict:
        """Like `allowed`, with the rule that decided, its line, and the group it is from.

        Costs a scan of the agent's rules: on a hot path ask `allowed` first.
        """
        robot = self._robot(agent)
        name = robot.selection and robot.selection.agent
        parts = read_url(url, self._dialect)
        if parts is None:
            return Verdict(True, None, name, reasons.NOT_A_URL)  # noqa: FBT003 - Verdict.allowed
        if self._dialect.robots_txt_allowed and parts[1] == "/robots.txt":
            return Verdict(True, None, name, reasons.ROBOTS_TXT)  # noqa: FBT003
        if robot.rules is None:
            return Verdict(True, None, name, reasons.NO_GROUP)  # noqa: FBT003
        found = robot.rules.deciding(parts[1])
        if found is None:
            default = robot.rules.default
            return Verdict(default, None, name, reasons.NO_RULE if default else reasons.NOT_LISTED)
        number, allowed = found
        rule = robot.rules.rule(number, searchable(self._body))
        return Verdict(allowed, rule, name, reasons.A_RULE)

    def _robot(self, agent: Agent) -> _Robot:
        names = names_in_order(agent if isinstance(agent, str) else tuple(agent))
        robot = self._robots.get(names)
        if robot is None:
            if len(self._robots) >= _AGENTS_KEPT:
                self._robots.clear()
            text = searchable(self._body)
            robot = _Robot(text, select_groups(text, self._dialect, names), self._dialect)
            self._robots[names] = robot
        return robot

    # What else the file says to an agent.

    def crawl_delay(self, agent: Agent) -> float | None:
        """Return the seconds between requests that the agent is asked for: the longest."""
        delays = map(read_delay, self._group_values("crawl-delay", agent))
        return max((delay for delay in delays if delay is not None), default=None)

    def request_rates(self, agent: Agent) -> tuple[RequestRate, ...]:
        """Return the Request-rates for the agent, in order; `rate_at` tells which one holds."""
        rates = map(read_rate, self._group_values("request-rate", agent))
        return tuple(rate for rate in rates if rate is not None)

    def visit_times(self, agent: Agent) -> tuple[TimeWindow, ...]:
        """Return the parts of the day in which the agent may come; empty: at all times."""
        windows = map(read_window, self._group_values("visit-time", agent))
        return tuple(window for window in windows if window is not None)

    def comments(self, agent: Agent) -> tuple[str, ...]:
        """Return what the owner wants the agent's people to be told (Comment), in order."""
        return tuple(self._group_values("comment", agent))

    def _group_values(self, field: str, agent: Agent) -> list[str]:
        selection = self._robot(agent).selection
        if selection is None:
            return []
        if self._dialect.robot_version and selection.version == 1 and field in _VERSION_2:
            return []
        return self._values(field, selection.spans)

    # What it says to all.

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """The values of Sitemap lines as written, in order, wherever they stand."""
        return tuple(self._values("sitemap"))

    @property
    def hosts(self) -> tuple[str, ...]:
        """The values of Host lines as written, in order."""
        return tuple(self._values("host"))

    @property
    def clean_params(self) -> tuple[str, ...]:
        """The values of Clean-param lines as written, in order."""
        return tuple(self._values("clean-param"))

    @property
    def records(self) -> tuple[Record, ...]:
        """Every line, numbered, with what is wrong with it."""
        return tuple(read_records(self._body, self._dialect))

    def _values(self, field: str, spans: tuple[tuple[int, int], ...] | None = None) -> list[str]:
        """Return the values of a field as written, without empty ones."""
        text = searchable(self._body)
        line = field_line(self._dialect, field)
        found = [
            decode(value.strip(WHITE_SPACE))
            for start, end in spans or ((0, len(text)),)
            for _, value in line.findall(text, start, end)
        ]
        return [value for value in found if value]


_VERSION_2 = frozenset({"request-rate", "visit-time", "comment"})


class _Robot:
    """What is known of one robot: its groups and their rules."""

    __slots__ = ("rules", "selection")

    def __init__(self, text: str, selection: Selection | None, dialect: Dialect) -> None:
        self.selection = selection
        self.rules = None if selection is None else Rules(text, selection, dialect)
