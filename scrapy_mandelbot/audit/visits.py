"""The requests of one robot to one site, as a log has them: a few octets each.

A log may have millions. What is kept of each are numbers in arrays; its URL is kept only as an
example of a rule that forbids it.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_mandelbot.audit.copies_in_force import CopiesInForce, Deciding

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
