"""What a site's record is made of: how values are spread, what happened when, and single things.

All of it takes little room, however much there was. Texts are harmless and short as they come here.
"""

from __future__ import annotations

import operator
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

MOST_BUCKETS = 60
"""Of one site. When there would be more, two become one."""
FIRST_WIDTH = 1.0
"""Seconds of a bucket at first; it doubles, so that those of all sites fit each other."""


class Bucket(NamedTuple):
    """What happened at a site in one part of the time."""

    sent: int
    """Requests that left for the site, for its robots.txt too."""
    answers: int
    errors: int
    """Of those, 5xx."""
    refusals: int
    """Answers and failures that asked for a pause."""
    failures: int
    timed: int
    """Answers that were timed."""
    first_byte: float
    """Seconds from request to answer, summed over those."""
    rate: float
    """Requests a second that a recovery allowed when it was looked at last; 0: it had none."""


_NOTHING = array("d", bytes(8 * len(Bucket._fields)))


class Timeline:
    """Buckets since the crawl began, those in which something happened.

    Their numbers stand one after the other: as objects they would take four times the room, and
    what a site takes would grow for as long as it is asked.
    """

    __slots__ = ("began", "numbers", "width")
    SENT, ANSWERS, ERRORS, REFUSALS, FAILURES, TIMED, FIRST_BYTE, RATE = range(8)

    def __init__(self, began: float) -> None:
        self.began = began
        self.width = FIRST_WIDTH
        """Seconds of each bucket."""
        self.numbers = array("d")
        """Of each bucket those of `Bucket`."""

    def __iter__(self) -> Iterator[tuple[float, Bucket]]:
        """Yield when each bucket begins, in seconds since the epoch, and what happened in it."""
        size = len(_NOTHING)
        for place in range(0, len(self.numbers), size):
            numbers = self.numbers[place : place + size]
            if any(numbers):
                counts = map(int, numbers[: self.FIRST_BYTE])
                bucket = Bucket(*counts, numbers[self.FIRST_BYTE], numbers[self.RATE])  # type: ignore[call-arg]
                yield self.began + place // size * self.width, bucket

    def at(self, now: float) -> int:
        """Return where in `numbers` those of the bucket of a time begin."""
        number = max(0, int((now - self.began) / self.width))
        while number >= MOST_BUCKETS:
            self._double()
            number //= 2
        place = number * len(_NOTHING)
        if place >= len(self.numbers):
            self.numbers.extend(_NOTHING * (number + 1 - len(self.numbers) // len(_NOTHING)))
        return place

    def add(self, now: float, bucket: Bucket) -> None:
        """Take in the sums of another bucket."""
        place = self.at(now)
        for which in range(self.RATE):
            self.numbers[place + which] += bucket[which]

    def _double(self) -> None:
        """Make two buckets one, in place: who asked where one begins has the numbers in hand."""
        size, numbers = len(_NOTHING), self.numbers
        numbers.extend(_NOTHING * (len(numbers) // size % 2))
        self.width *= 2
        for to, first in enumerate(range(0, len(numbers), 2 * size)):
            one, later = numbers[first : first + size], numbers[first + size : first + 2 * size]
            merged = array("d", map(operator.add, one, later))
            merged[self.RATE] = later[self.RATE] or one[self.RATE]
            numbers[to * size : (to + 1) * size] = merged
        del numbers[len(numbers) // 2 :]


@dataclass(slots=True)
class RobotsRecord:
    """An answer to /robots.txt."""

    at: float
    case: str
    """As ``Outcome.case``: ``rules``, ``allow_all``, ``unavailable``, …; ``from_cache``."""
    reason: str
    seconds: float | None = None


@dataclass(slots=True)
class RuleRecord:
    """A rule that forbade something."""

    line: int | None
    """None: there is no such line, as the whole site was forbidden, or the parser cannot say."""
    text: str
    agent: str
    count: int = 0
    examples: list[str] = field(default_factory=list)
    """URLs, the first ones."""


@dataclass(slots=True)
class PaceRecord:
    """What a site's owner asks for."""

    asked: float
    """Seconds between requests."""
    kept_to: float
    """Seconds between requests that it gets: the longest of MANDELBOT_PACE_OPTIONS at most."""
    words: str
    source: str
    is_obeyed: bool = True
    """False: it is told of, and sites are asked as the project asks them."""


@dataclass(slots=True)
class SitemapsRecord:
    """A site's sitemaps."""

    cited: int = 0
    urls: list[str] = field(default_factory=list)
    """Of those, the first."""
    read: int = 0
    failed: int = 0
    entries: int = 0


@dataclass(slots=True)
class TagsRecord:
    """Pages with robot tags."""

    pages: int = 0
    noindex: int = 0
    nofollow: int = 0
    unavailable: int = 0


@dataclass(slots=True)
class UsageRecord:
    """What a site says of the use of its pages; see ``MANDELBOT_PURPOSE``."""

    pages: int = 0
    allowed: int = 0
    disallowed: int = 0
    unknown: int = 0
    terms: int = 0
    statements: dict[str, int] = field(default_factory=dict)
    """Of those that decided, the first, and how many pages they decided of."""


def add_numbers(mine: object, its: object) -> None:
    """Add the numbers of one record to those of another; lists and the like are left out."""
    for name in type(its).__slots__:  # type: ignore[attr-defined]  # dataclasses with slots
        value = getattr(its, name)
        if name == "longest":
            setattr(mine, name, max(getattr(mine, name), value))
        elif name == "soonest":
            setattr(mine, name, min(getattr(mine, name), value))
        elif isinstance(value, int):  # counts
            setattr(mine, name, getattr(mine, name) + value)
