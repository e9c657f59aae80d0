"""The parts of a site's record: a timeline, quantiles, and bounded samples.

Each takes bounded memory, however much happened. Texts are escaped and shortened
before.
"""

from __future__ import annotations

import operator
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import floor, inf, log2
from operator import attrgetter
from typing import NamedTuple, TypeAlias, TypeVar

from scrapy_mandelbot.fields import Fold, part

Time: TypeAlias = float
"""Seconds since the epoch; a report has them in ISO 8601."""
Name: TypeAlias = str
"""Text that is escaped and shortened only for a report."""

Sample = TypeVar("Sample")

MOST_BUCKETS = 60
"""Buckets of a timeline; beyond that, pairs are merged."""
FIRST_WIDTH = 1.0
"""Initial width of a bucket, in seconds; it only doubles, so timelines of sites align.
"""


class Bucket(NamedTuple):
    """What happened at a site in one interval."""

    sent: int
    """Requests sent, robots.txt included."""
    answers: int
    errors: int
    """Answers with 5xx."""
    refusals: int
    """Answers and failures that asked for a pause."""
    failures: int
    timed: int
    """Answers with a measured time."""
    first_byte: float
    """Sum of the seconds from request to answer, of the timed answers."""
    rate: float
    """Requests a second that a recovery allowed last; 0: there was none."""


MOST_PAUSES = 40
"""Pauses of a site; beyond that, those in the middle are dropped."""
MOST_ROBOTS = 20
MOST_RULES = 20
"""Rules of a site: those that forbade most."""
_PASSED_ON = frozenset({"overheard", "previous run"})
"""Kinds of pauses that a site's next owner takes over from the last one."""
_UNDER_WAY = 1.0  # seconds at most from the last check to the wire
_PUNCTUAL = 0.05  # seconds that two clocks may be apart
_PARTS = 8  # per octave: values are known within 4.5 %
# values outside fall into the first or last bucket
_LEAST_VALUE = 2.0**-14
_MOST_VALUE = 2.0**24
_NOTHING = array("d", bytes(8 * len(Bucket._fields)))


class Timeline:
    """Buckets of equal width since the crawl began.

    The numbers of all buckets are in one array: objects would take four times the
    memory. A bucket in which nothing happened has none: most sites of a large crawl are
    asked in few of its intervals.
    """

    __slots__ = ("_places", "began", "numbers", "width")
    SENT, ANSWERS, ERRORS, REFUSALS, FAILURES, TIMED, FIRST_BYTE, RATE = range(8)

    def __init__(self, began: float) -> None:
        self.began = began
        self.width = FIRST_WIDTH
        """Seconds of each bucket."""
        self.numbers = array("d")
        """The fields of `Bucket`, bucket by bucket."""
        self._places = bytearray()
        """Of each of these buckets, which one it is since the crawl began."""

    def __iter__(self) -> Iterator[tuple[float, Bucket]]:
        """Yield each bucket that is not empty, with its start in seconds since 1970."""
        size = len(_NOTHING)
        for number, place in enumerate(self._places):
            numbers = self.numbers[number * size : (number + 1) * size]
            if any(numbers):
                counts = map(int, numbers[: self.FIRST_BYTE])
                bucket = Bucket(*counts, numbers[self.FIRST_BYTE], numbers[self.RATE])  # type: ignore[call-arg]
                yield self.began + place * self.width, bucket

    def at(self, now: float) -> int:
        """Return the index in `numbers` at which the bucket of a time begins."""
        place = max(0, int((now - self.began) / self.width))
        while place >= MOST_BUCKETS:
            self._double()
            place //= 2
        places = self._places
        number = bisect_left(places, place)
        begin = number * len(_NOTHING)
        if number == len(places) or places[number] != place:
            places.insert(number, place)
            self.numbers[begin:begin] = _NOTHING
        return begin

    def add(self, now: float, bucket: Bucket) -> None:
        """Add the sums of another bucket."""
        place = self.at(now)
        for which in range(self.RATE):
            self.numbers[place + which] += bucket[which]

    def _double(self) -> None:
        """Merge pairs of buckets, in place: callers of `at` hold on to `numbers`."""
        size = len(_NOTHING)
        places = self._places
        numbers = self.numbers
        self.width *= 2
        for number in reversed(range(len(places))):
            places[number] //= 2
            is_last = number + 1 == len(places)
            if is_last or places[number + 1] != places[number]:
                continue
            first = number * size
            one = numbers[first : first + size]
            later = numbers[first + size : first + 2 * size]
            merged = array("d", map(operator.add, one, later))
            merged[self.RATE] = later[self.RATE] or one[self.RATE]
            numbers[first : first + 2 * size] = merged
            del places[number + 1]


class QuantileSketch:
    """Counts values from 0 up in logarithmic buckets; quantiles are within 4.5 %."""

    __slots__ = ("_first", "count", "counts", "least", "most")

    def __init__(self) -> None:
        self.counts = array("I")
        """The values in each bucket, from the one of the least value to the one of the
        largest. Most sites have few: a dict takes five times the memory.
        """
        self._first = 0  # the number of the first of these buckets
        self.count = 0
        self.least = inf
        self.most = 0.0

    def add(self, value: float) -> None:
        """Add a value."""
        self.count += 1
        self.least = min(self.least, value)
        self.most = max(self.most, value)
        place = floor(log2(min(max(value, _LEAST_VALUE), _MOST_VALUE)) * _PARTS)
        number = place - self._first
        if 0 <= number < len(self.counts):
            self.counts[number] += 1
        else:
            self._count(place, 1)

    def _count(self, place: int, values: int) -> None:
        """Count so many values more in a bucket, which need not be there."""
        counts = self.counts
        if not counts:
            self._first = place
        before = max(0, self._first - place)
        behind = max(0, place + 1 - self._first - len(counts))
        counts[:0] = array("I", bytes(counts.itemsize * before))
        counts.extend(array("I", bytes(counts.itemsize * behind)))
        self._first -= before
        counts[place - self._first] += values

    def _by_place(self) -> Iterator[tuple[int, int]]:
        """Yield the number of each bucket, the least first, and its values."""
        return enumerate(self.counts, self._first)

    def merge(self, other: QuantileSketch) -> None:
        """Add all values of another sketch."""
        self.count += other.count
        self.least = min(self.least, other.least)
        self.most = max(self.most, other.most)
        for place, values in other._by_place():
            if values:
                self._count(place, values)

    @property
    def median(self) -> float | None:
        """The estimated median; None: no values."""
        return self.quantile(0.5)

    def quantile(self, share: float) -> float | None:
        """Return the estimated quantile for a share from 0 to 1; None: no values."""
        if not self.count:
            return None
        left = share * self.count
        for place, values in self._by_place():  # noqa: B007 -- the last one counts
            left -= values
            if left <= 0:
                break
        return self._middle(place)

    def mean(self, most: float) -> float:
        """Return the estimated mean of its values; larger ones count as `most`."""
        total = 0.0
        for place, values in self._by_place():
            total += min(self._middle(place), most) * values
        return total / self.count

    def _middle(self, place: int) -> float:
        return min(max(float(2.0 ** ((place + 0.5) / _PARTS)), self.least), self.most)


class LoadRecord:
    """A site's answers by the requests in flight when their requests were sent.

    The groups are 1, 2, 3 to 4, 5 to 8 requests, and so on. They show what was seen,
    not why: pages that are slow may be those that are requested when many others are.
    """

    __slots__ = ("most", "numbers")

    def __init__(self) -> None:
        self.most = 0
        """Requests in flight at once, at the most."""
        self.numbers = array("d")
        """Answers, their seconds to the first byte, and refusals, group by group."""

    def add(self, at_once: int, seconds: float | None) -> None:
        """Add an answer; `seconds`: None where the request was refused.

        `at_once` counts its request, too.
        """
        place = 3 * (at_once - 1).bit_length()
        numbers = self.numbers
        while len(numbers) <= place:
            numbers.extend((0.0, 0.0, 0.0))
        if seconds is None:
            numbers[place + 2] += 1.0
        else:
            numbers[place] += 1.0
            numbers[place + 1] += seconds
        self.most = max(self.most, at_once)

    def __iter__(self) -> Iterator[LoadGroup]:
        """Yield the groups that are not empty, those of the fewest requests first."""
        for place in range(0, len(self.numbers), 3):
            answers = int(self.numbers[place])
            refused = int(self.numbers[place + 2])
            if not answers and not refused:
                continue
            most = 2 ** (place // 3)
            least = most // 2 + 1 if most > 1 else 1
            mean = self.numbers[place + 1] / answers if answers else None
            yield LoadGroup(least, min(most, self.most), answers, mean, refused)


class LoadGroup(NamedTuple):
    """The answers to requests that were sent with so many in flight."""

    least: int
    most: int
    answers: int
    time: float | None
    """Mean seconds to the first byte; None: there are no answers."""
    refused: int
    """Requests that were refused, by 503 and the like; they are no answers here."""


@dataclass(slots=True)
class PauseRecord:
    """A pause of a site or section."""

    where: Name
    """The site, with the path of a section."""
    kind: str
    """``refused``, ``manual``, ``overheard`` (from another crawl), ``previous run``;
    and two that are no pause of the site: ``visit time``, ``section``.
    """
    since: Time
    until: Time
    """The last known end; ``inf``: until it is ended manually."""
    reason: str
    failed_probes: int = 0
    ended: Time | None = None
    """When it did end; None: it has not."""
    is_given_up: bool = False

    def seconds(self, now: float) -> float:
        """Return how long it has lasted, in seconds."""
        end = now if self.ended is None else self.ended
        return max(0.0, end - self.since)


@dataclass(slots=True)
class RobotsRecord:
    """An answer to /robots.txt."""

    at: Time
    case: str
    """``Outcome.case``, such as ``rules``, ``allow_all``, ``unavailable``; or
    ``from_cache``.
    """
    reason: str
    seconds: float | None = None


@dataclass(slots=True)
class RuleRecord:
    """A rule that forbade something."""

    line: int | None
    """None: the whole site was forbidden, or the parser does not name the line."""
    text: str
    agent: str
    count: int = 0
    examples: list[str] = field(default_factory=list)
    """The first URLs."""


@dataclass(slots=True)
class PaceRecord:
    """The crawl delay in a site's robots.txt."""

    asked: float
    """Seconds between requests that the file requests."""
    kept_to: float
    """Seconds between requests that apply: at most MANDELBOT_PACE_OPTIONS["longest"].
    """
    words: str
    source: str
    is_obeyed: bool = True
    """False: the delay is reported only."""


@dataclass(slots=True)
class ConcurrencyRecord:
    """The requests at once that a site bears, as far as that was measured."""

    bound: int
    most: int
    """What the project allows."""
    times_as_long: float | None
    """How many times as long an answer took with more; None: more are refused."""


@dataclass(slots=True)
class RetryAfterRecord:
    """Waits that a site requested by ``Retry-After`` and the like."""

    asked: int = part(0, "answers", Fold.SUM)
    longest: float = part(0.0, "s", Fold.MOST)
    kept: int = part(0, "requests", Fold.SUM)
    """Waits that the next request observed."""
    broken: int = part(0, "requests", Fold.SUM)
    """Waits that it did not observe. Both counts need recorded requests."""
    under_way: int = part(0, "requests", Fold.SUM, is_shown=False)
    """Requests sent within a second of the answer: they were on their way."""
    soonest: float = part(inf, "s", Fold.LEAST)
    """Least seconds from the requested time to the next request; negative: it came too
    soon.
    """
    asked_at: Time = part(-inf, is_shown=False)
    """When the site last answered so."""
    until: Time | None = part(None, is_shown=False)
    """The last requested time, until something is sent."""

    def sent(self, now: float) -> None:
        """Judge the next request by the requested time, if there is one."""
        if self.until is None:
            return
        late = now - self.until
        is_early = late < -_PUNCTUAL
        if is_early and now < self.asked_at + _UNDER_WAY:
            self.under_way += 1
            return
        self.soonest = min(self.soonest, late)
        self.until = None
        if is_early:
            self.broken += 1
        else:
            self.kept += 1


@dataclass(slots=True)
class SitemapsRecord:
    """A site's sitemaps."""

    cited: int = part(0, "sitemaps", Fold.SUM)
    urls: list[str] = part(list, fold=Fold.SAMPLE)
    """The first of them."""
    read: int = part(0, "sitemaps", Fold.SUM)
    failed: int = part(0, "sitemaps", Fold.SUM)
    entries: int = part(0, "entries", Fold.SUM)


@dataclass(slots=True)
class TagsRecord:
    """Pages with robot tags."""

    pages: int = part(0, "pages", Fold.SUM)
    noindex: int = part(0, "pages", Fold.SUM)
    nofollow: int = part(0, "pages", Fold.SUM)
    unavailable: int = part(0, "pages", Fold.SUM)


@dataclass(slots=True)
class UsageRecord:
    """Usage preferences of a site's pages; see ``MANDELBOT_PURPOSE``."""

    pages: int = part(0, "pages", Fold.SUM)
    allowed: int = part(0, "pages", Fold.SUM)
    disallowed: int = part(0, "pages", Fold.SUM)
    unknown: int = part(0, "pages", Fold.SUM)
    terms: int = part(0, "pages", Fold.SUM)
    statements: dict[str, int] = part(dict, "pages", Fold.SAMPLE)
    """The first statements that decided, with their numbers of pages."""


def joined_pauses(
    mine: Sequence[PauseRecord], its: Sequence[PauseRecord]
) -> list[PauseRecord]:
    """Return the pauses of a site that two workers recorded, in the order they began.

    A pause that the site's next owner took over from the last one is one pause.
    """
    joined: list[PauseRecord] = []
    open_ones: dict[str, PauseRecord] = {}
    for pause in sorted([*mine, *its], key=attrgetter("since")):
        before = open_ones.pop(pause.where, None)
        if before is not None and pause.kind in _PASSED_ON:
            _continue(before, pause)
            lasts = before
        else:
            if before is not None:  # its end is not known
                before.ended = pause.since
            joined.append(pause)
            lasts = pause
        if lasts.ended is None:
            open_ones[lasts.where] = lasts
    return joined


def _continue(pause: PauseRecord, later: PauseRecord) -> None:
    """Let a pause go on as another worker saw it."""
    pause.until = later.until
    pause.ended = later.ended
    pause.failed_probes = max(pause.failed_probes, later.failed_probes)
    pause.is_given_up = later.is_given_up


def joined_answers(
    mine: Sequence[RobotsRecord], its: Sequence[RobotsRecord]
) -> list[RobotsRecord]:
    """Return the answers to /robots.txt that two workers recorded, in their order."""
    return without_middle(sorted([*mine, *its], key=attrgetter("at")), MOST_ROBOTS)


def joined_rules(
    mine: Sequence[RuleRecord], its: Sequence[RuleRecord]
) -> list[RuleRecord]:
    """Return the rules of two workers, those that forbade most first."""
    rules = {(rule.line, rule.text, rule.agent): rule for rule in mine}
    for rule in its:
        known = rules.setdefault((rule.line, rule.text, rule.agent), rule)
        if known is not rule:
            known.count += rule.count
    ordered = sorted(rules.values(), key=attrgetter("count"), reverse=True)
    return ordered[:MOST_RULES]


def without_middle(samples: Sequence[Sample], most: int) -> list[Sample]:
    """Return at most so many samples, without those in the middle."""
    if len(samples) <= most:
        return list(samples)
    half = most // 2
    return [*samples[:half], *samples[half - most :]]
