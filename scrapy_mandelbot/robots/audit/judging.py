"""What the requests of a robot to one site were: polite, or not, and where not.

Times in a log are cut to what its clock tells, and nginx writes a line when a request ends. So a
request counts as too soon only where it was, however the cut fell; and for `IN_FLIGHT` seconds
after a refusal requests arrive that the robot had sent before it knew.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import floor, inf
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from scrapy_mandelbot.robots.audit.visits import ALLOWED, ROBOTS_TXT, UNKNOWN
from scrapy_mandelbot.robots.outcome import PAUSE_STATUSES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_mandelbot.robots.audit.visits import Visits
    from scrapy_mandelbot.robots.pace import Pace

IN_FLIGHT = 1.0
"""Seconds after a refusal in which requests may arrive that were sent before it."""
_JITTER = 0.1  # seconds that the way to the server may take from a delay; a tenth of a short one
_EXAMPLES = 5  # of each finding
_SERVER_ERROR = 500

ERROR, WARNING = "error", "warning"
SEVERITIES = {
    "forbidden": ERROR,
    "during-pause": ERROR,
    "too-soon": WARNING,
    "outside-visit-time": WARNING,
    "robots-not-read": WARNING,
    "robots-not-read-again": WARNING,
    "robots-unavailable": WARNING,
}
"""What may be found, and how bad it is."""


class Law(NamedTuple):
    """By what a robot is judged."""

    resolution: float
    """Seconds that the log's clock tells apart."""
    refusals: frozenset[int] = frozenset(PAUSE_STATUSES)
    """Statuses that say: not now."""
    retry_after: float | None = None
    """Seconds that a refusal asks for where the log does not tell; None: not known."""
    ttl: float = 172_800.0
    """Seconds for which a robot may go by the robots.txt that it has read."""


class Instance(NamedTuple):
    """One request that was wrong."""

    line: int
    """Of the log, from 1."""
    moment: float
    target: str = ""
    """What was asked for, where that is known."""
    seconds: float | None = None
    """By how much it was wrong: the gap, or how much of the pause was left."""


@dataclass
class Offence:
    """One thing that was found."""

    code: str
    count: int = 0
    instances: list[Instance] = field(default_factory=list)
    """The first ones."""


class Broken(NamedTuple):
    """A rule that was broken."""

    source: str
    """The file that it stands in."""
    line: int
    """From 1; 0: none, as only what is allowed may be read."""
    text: str
    requests: int
    targets: list[str]
    """The first URLs."""


@dataclass
class Judged:
    """What was found of one site. All times in seconds."""

    requests: int = 0
    first: float = inf
    last: float = -inf
    statuses: dict[int, int] = field(default_factory=dict)
    reads: dict[int, int] = field(default_factory=dict)
    """Answers to robots.txt, by status."""
    longest_without_read: float = 0.0
    """From a read, or the first request, to the last page before the next read."""
    least_gap: float | None = None
    median_gap: float | None = None
    most_in_a_second: int = 0
    delay: float = 0.0
    """That was asked for, the longest; 0: none was."""
    paces: list[str] = field(default_factory=list)
    """What was asked for, in words, and where."""
    refusals: int = 0
    waits: int = 0
    """Refusals that asked for a time."""
    longest_wait: float = 0.0
    pauses: int = 0
    """Refusals that others did not follow at once."""
    in_flight: int = 0
    """Requests that came right after a refusal, and may have been sent before."""
    least_return: float | None = None
    """From the first refusal of a pause to the next request that was not in flight then."""
    median_return: float | None = None
    broken: list[Broken] = field(default_factory=list)
    findings: list[Offence] = field(default_factory=list)


def judge(visits: Visits, law: Law) -> Judged:
    """Return what was found of a site, in the order of time."""
    return _Judging(visits, law).run()


class _Judging:
    """One pass over the requests of a site."""

    def __init__(self, visits: Visits, law: Law) -> None:
        self._visits, self._law, self._copies = visits, law, visits.copies
        self._found = {code: Offence(code) for code in SEVERITIES}
        self._judged = Judged(requests=len(visits))
        # robots.txt
        self._read_at: float | None = None
        self._copy: int | None = None
        self._failed = False
        self._broken: dict[tuple[int, int, str], int] = {}
        self._targets: dict[tuple[int, int, str], list[str]] = {}
        self._paces: dict[int | None, Pace] = {}
        # pauses
        self._refused_at = -inf
        self._paused_until = -inf
        self._returned = True
        self._returns: list[float] = []

    def run(self) -> Judged:
        judged, visits, rhythm = self._judged, self._visits, _Rhythm()
        order = visits.in_order()
        if order:
            judged.first, judged.last = visits.times[order[0]], visits.times[order[-1]]
        statuses: dict[int, int] = {}
        has_pace = self._has_pace()
        for number in order:
            moment, status = visits.times[number], visits.statuses[number]
            statuses[status] = statuses.get(status, 0) + 1
            if has_pace:
                self._keep_pace(number, moment, rhythm.before)
            rhythm.beat(moment)
            self._ask(number, moment, status)
            if moment < self._paused_until or not self._returned:
                self._come_back(number, moment)
            if status in self._law.refusals:
                self._refuse(number, moment)
        judged.statuses = dict(sorted(statuses.items()))
        judged.most_in_a_second = rhythm.most_in_a_second
        judged.least_gap, judged.median_gap = _least_and_median(rhythm.gaps)
        judged.least_return, judged.median_return = _least_and_median(self._returns)
        judged.broken = list(self._rules_broken())
        self._say_paces()
        if order and not judged.reads:
            self._add("robots-not-read", order[0])
            del self._found["robots-not-read-again"]
        judged.findings = [one for one in self._found.values() if one.count]
        return judged

    # Whether it read robots.txt, and kept to it.

    def _ask(self, number: int, moment: float, status: int) -> None:
        decision = self._visits.decisions[number]
        if decision == ROBOTS_TXT:
            self._read(moment, status)
        else:
            self._page(number, moment, decision)

    def _read(self, moment: float, status: int) -> None:
        reads = self._judged.reads
        reads[status] = reads.get(status, 0) + 1
        if status >= _SERVER_ERROR or status in self._law.refusals:
            self._failed = True
        else:
            self._read_at, self._failed = moment, False
            self._copy = self._copies.at(moment)

    def _page(self, number: int, moment: float, decision: int) -> None:
        judged, law = self._judged, self._law
        since = judged.first if self._read_at is None else self._read_at
        age = moment - since
        judged.longest_without_read = max(judged.longest_without_read, age)
        is_old = age > law.ttl + law.resolution
        if is_old:
            self._add("robots-not-read-again", number, age)
        if self._failed and self._read_at is None:
            self._add("robots-unavailable", number)
        if decision != ALLOWED:
            self._check_rules(number, moment, decision, is_old=is_old)

    def _check_rules(self, number: int, moment: float, decision: int, *, is_old: bool) -> None:
        """Note a URL that no copy allows that the robot could rightly go by."""
        decided = self._visits.decided[decision]
        if self._read_at is not None and not is_old:
            could_have = range(0) if self._copy is None else range(self._copy, self._copy + 1)
        else:
            could_have = self._copies.within(moment - self._law.ttl, moment)
        if not could_have or not all(decided[one].line for one in could_have):
            return
        copy = could_have[-1]
        key = copy, decided[copy].line, decided[copy].text
        self._broken[key] = self._broken.get(key, 0) + 1
        target = next(
            (one.target for one in self._visits.examples[decision] if one.number == number), ""
        )
        if target and len(targets := self._targets.setdefault(key, [])) < _EXAMPLES:
            targets.append(target)
        self._add("forbidden", number, target=target)

    def _rules_broken(self) -> Iterator[Broken]:
        """Yield the rules that were broken, the one that was broken most first."""
        for key, count in sorted(self._broken.items(), key=lambda item: (-item[1], item[0])):
            copy, line, text = key
            source = self._copies.copies[copy].source
            yield Broken(source, max(line, 0), text, count, self._targets.get(key, []))

    # Whether it kept to the delay.

    def _has_pace(self) -> bool:
        """Whether any copy asks for a delay."""
        paces = (self._copies.pace(number) for number in (None, *range(len(self._copies.copies))))
        return not all(pace.is_free for pace in paces)

    def _keep_pace(self, number: int, moment: float, before: float) -> None:
        copy = self._copy if self._read_at is not None else self._copies.at(moment)
        pace = self._paces.get(copy)
        if pace is None:
            pace = self._paces[copy] = self._copies.pace(copy)
        if pace.is_free:
            return
        resolution = self._law.resolution
        if pace.visits and pace.opens(moment) > moment and pace.opens(moment - resolution) > moment:
            self._add("outside-visit-time", number)
            return
        if before == -inf:
            return
        delay = pace.due(moment, before) - before
        gap = moment - before
        if delay > gap and gap + max(resolution, min(_JITTER, delay / 10)) <= delay:
            self._add("too-soon", number, gap)

    def _say_paces(self) -> None:
        for copy in sorted(self._paces, key=lambda one: -1 if one is None else one):
            pace = self._paces[copy]
            if not pace.is_free:
                self._judged.delay = max(self._judged.delay, pace.asked)
                self._judged.paces.append(f"{pace} ({pace.source})")

    # Whether it let the site be when it was refused.

    def _refuse(self, number: int, moment: float) -> None:
        judged = self._judged
        judged.refusals += 1
        if moment >= self._paused_until and self._returned:
            self._refused_at, self._returned = moment, False
            judged.pauses += 1
        wait = self._visits.waits[number]
        if wait == UNKNOWN:
            wait = UNKNOWN if self._law.retry_after is None else self._law.retry_after
        if wait != UNKNOWN:
            judged.waits += 1
            judged.longest_wait = max(judged.longest_wait, wait)
            self._paused_until = max(self._paused_until, moment + wait)

    def _come_back(self, number: int, moment: float) -> None:
        """Note a request after a refusal, the first one or one within the pause."""
        since = moment - self._refused_at
        if since <= IN_FLIGHT:
            self._judged.in_flight += 1
            return
        if not self._returned:
            self._returned = True
            self._returns.append(since)
        left = self._paused_until - moment
        if left >= max(self._law.resolution, _JITTER):
            self._add("during-pause", number, left)

    def _add(self, code: str, number: int, seconds: float | None = None, target: str = "") -> None:
        found, visits = self._found[code], self._visits
        found.count += 1
        if len(found.instances) < _EXAMPLES:
            instance = Instance(visits.lines[number], visits.times[number], target, seconds)
            found.instances.append(instance)


class _Rhythm:
    """How requests follow each other."""

    def __init__(self) -> None:
        self.before = -inf
        self.gaps: list[float] = []
        self.most_in_a_second = 0
        self._second, self._in_second = -1, 0

    def beat(self, moment: float) -> None:
        if self.before != -inf:
            self.gaps.append(moment - self.before)
        self.before = moment
        second = floor(moment)
        self._in_second = self._in_second + 1 if second == self._second else 1
        self._second = second
        self.most_in_a_second = max(self.most_in_a_second, self._in_second)


def _least_and_median(numbers: list[float]) -> tuple[float | None, float | None]:
    return (min(numbers), median(numbers)) if numbers else (None, None)
