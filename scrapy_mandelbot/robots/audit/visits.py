"""The requests of one robot to one site, as a log has them: a few octets each.

A log may have millions. What is kept of each are numbers in arrays; its URL is kept only as an
example of a rule that forbids it.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from scrapy_mandelbot.robots.pace import PaceLaw, pace_by_hand, pace_of_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_mandelbot.robots.pace import Pace
    from scrapy_mandelbot.robots.robotstxt import RobotsTxt
    from scrapy_mandelbot.robots.robotstxt.robots_txt import Agent

_AS_ASKED = PaceLaw(longest=inf)


class CopyInForce(NamedTuple):
    """A robots.txt, and since when it was the site's."""

    since: float
    """Seconds since the epoch; ``-inf``: as long as anybody knows."""
    source: str
    """Its file or URL."""
    robots: RobotsTxt | None
    """None: there was none to be read, and all was allowed."""


class Deciding(NamedTuple):
    """What forbids a URL in one copy."""

    line: int
    """From 1; 0: the URL is allowed."""
    text: str = ""
    """The rule."""


ALLOWED_BY_COPY = Deciding(0)


class CopiesInForce:
    """The robots.txt of a site over time, as one robot reads it.

    Args:
        copies: of the site; none: nothing is known of its rules.
        agent: who reads them.
        delay: seconds between requests that are asked for, whatever the files say.
    """

    def __init__(
        self, copies: Sequence[CopyInForce], agent: Agent, delay: float | None = None
    ) -> None:
        self.copies = sorted(copies, key=lambda copy: copy.since)
        self._since = [copy.since for copy in self.copies]
        self._agent = agent
        self._paces = [self._pace(copy.robots, delay) for copy in self.copies]
        self._without = pace_by_hand(delay or 0.0)

    def at(self, moment: float) -> int | None:
        """Return the number of the copy that was in force; None: none is known."""
        number = bisect_right(self._since, moment) - 1
        return None if number < 0 else number

    def pace(self, number: int | None) -> Pace:
        """Return what a copy asks for."""
        return self._without if number is None else self._paces[number]

    def within(self, start: float, end: float) -> range:
        """Return the numbers of the copies that were in force at some time between two."""
        first, last = self.at(start), self.at(end)
        return range(first or 0, 0 if last is None else last + 1)

    def decide(self, target: str) -> tuple[Deciding, ...]:
        """Return what forbids a URL, in each copy; empty: each allows it."""
        for copy in self.copies:
            if copy.robots is not None and not copy.robots.allowed(target, self._agent):
                break
        else:
            return ()
        return tuple(self._decided(one.robots, target) for one in self.copies)

    def _decided(self, robots: RobotsTxt | None, target: str) -> Deciding:
        if robots is None:
            return ALLOWED_BY_COPY
        verdict = robots.verdict(target, self._agent)
        if verdict.allowed:
            return ALLOWED_BY_COPY
        rule = verdict.rule
        return Deciding(-1, verdict.reason) if rule is None else Deciding(rule.line, str(rule))

    def _pace(self, robots: RobotsTxt | None, delay: float | None) -> Pace:
        if delay is not None:
            return pace_by_hand(delay, robots, self._agent)
        return pace_by_hand(0.0) if robots is None else pace_of_file(robots, self._agent, _AS_ASKED)


ALLOWED, ROBOTS_TXT = 0, 1
"""What a URL may be in all copies alike; from 2 on it is a number in `Visits.decided`."""
UNKNOWN = -1.0
"""Seconds of a Retry-After that is not there."""
_EXAMPLES = 8  # URLs of what one rule forbids
_DECISIONS = 50_000  # different ones that are told apart; a file has fewer rules


class Example(NamedTuple):
    """A URL that was asked for."""

    number: int
    """Of the request, in the order of the log."""
    target: str


class Visits:
    """What one site was asked, in the order of the log."""

    __slots__ = (
        *("_known", "copies", "decided", "decisions", "examples", "is_sorted"),
        *("lines", "statuses", "times", "waits"),
    )

    def __init__(self, copies: CopiesInForce) -> None:
        self.copies = copies
        self.times = array("d")
        self.statuses = array("H")
        self.decisions = array("I")
        self.lines = array("Q")
        self.waits = array("d")
        """Seconds that a refusal asked for, `UNKNOWN` where it asked for nothing that is told."""
        self.decided: list[tuple[Deciding, ...]] = [(), ()]
        self.examples: dict[int, list[Example]] = {}
        self.is_sorted = True
        self._known: dict[tuple[Deciding, ...], int] = {(): ALLOWED}

    def __len__(self) -> int:
        return len(self.times)

    def add(self, moment: float, status: int, target: str, line: int, wait: float) -> None:
        """Note a request."""
        times = self.times
        if times and moment < times[-1]:
            self.is_sorted = False
        self.decisions.append(self._decide(target) if target else ALLOWED)
        times.append(moment)
        self.statuses.append(status)
        self.lines.append(line)
        self.waits.append(wait)

    def in_order(self) -> Sequence[int]:
        """Return the numbers of the requests in the order of their times."""
        every = range(len(self.times))
        return every if self.is_sorted else sorted(every, key=self.times.__getitem__)

    def _decide(self, target: str) -> int:
        if target.startswith("/robots.txt") and target.partition("?")[0] == "/robots.txt":
            return ROBOTS_TXT
        decided = self.copies.decide(target)
        if not decided:
            return ALLOWED
        number = self._known.get(decided)
        if number is None:
            if len(self.decided) >= _DECISIONS:  # one more stands for the rest
                decided = self.decided[-1]
                number = len(self.decided) - 1
            else:
                number = len(self.decided)
                self.decided.append(decided)
            self._known[decided] = number
        examples = self.examples.setdefault(number, [])
        if len(examples) < _EXAMPLES:
            examples.append(Example(len(self.times), target))
        return number
