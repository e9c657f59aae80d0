"""Which robots.txt a site had at which time, and which of its rules forbid a URL."""

from __future__ import annotations

from bisect import bisect_right
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from scrapy_mandelbot.politeness import PaceLaw, pace_by_hand, pace_of_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_mandelbot.politeness import Pace
    from scrapy_mandelbot.robotstxt import RobotsTxt
    from scrapy_mandelbot.robotstxt.robots import Agent

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


ALLOWED = Deciding(0)


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
            return ALLOWED
        verdict = robots.verdict(target, self._agent)
        if verdict.allowed:
            return ALLOWED
        rule = verdict.rule
        return Deciding(-1, verdict.reason) if rule is None else Deciding(rule.line, str(rule))

    def _pace(self, robots: RobotsTxt | None, delay: float | None) -> Pace:
        if delay is not None:
            return pace_by_hand(delay, robots, self._agent)
        return pace_by_hand(0.0) if robots is None else pace_of_file(robots, self._agent, _AS_ASKED)
