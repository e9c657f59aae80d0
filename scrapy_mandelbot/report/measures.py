"""What is measured of a crawl at one time, with a bounded number of labels. Pure.

A site that has a label once keeps it, so that their number stays bounded over time too. The others
are one together, and no counter ever goes back: what a site had counted before it got its label
stays with the others.

Names of labels are those of OpenTelemetry's semantic conventions where these have any.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from heapq import heappush, heapreplace
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from scrapy_mandelbot.report.status import Reason
from scrapy_mandelbot.robots.origins import DEFAULT_PORTS, host_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from scrapy_mandelbot.report.recorder import CrawlRecord
    from scrapy_mandelbot.report.site_record import SiteRecord
    from scrapy_mandelbot.report.survey import Standing

MOST_LABELLED = 50
"""Sites with a label of their own: half of them the largest, half in trouble."""
OTHERS = "other"
"""The label of all others together."""
_OTHER_SERVERS = "_OTHER"  # as the conventions call what is not told apart


class Metric(NamedTuple):
    """A metric, as OpenTelemetry describes it."""

    name: str
    unit: str
    description: str
    kind: str
    """``counter``, ``up-down`` or ``histogram``."""


METRICS = (
    Metric("mandelbot.sites", "{site}", "Sites with requests, by why these wait.", "up-down"),
    Metric("mandelbot.requests.waiting", "{request}", "Requests that wait.", "up-down"),
    Metric("mandelbot.requests.under_way", "{request}", "Requests without an answer.", "up-down"),
    Metric("mandelbot.pages", "{page}", "Answers of 2xx.", "counter"),
    Metric("mandelbot.requests.forbidden", "{request}", "Requests that rules forbade.", "counter"),
    Metric("mandelbot.requests.lost", "{request}", "Requests that failed for good.", "counter"),
    Metric("mandelbot.refusals", "{answer}", "Answers that asked for a pause.", "counter"),
    Metric("mandelbot.pauses", "{pause}", "Pauses.", "counter"),
    Metric("mandelbot.pause.time", "s", "Time of pauses.", "counter"),
    Metric("mandelbot.turn.time", "s", "Time of waits for a turn.", "counter"),
    Metric("mandelbot.robots_txt.answers", "{answer}", "Answers to /robots.txt.", "counter"),
    Metric("mandelbot.job.not_saved", "{failure}", "Times a job could not be saved.", "counter"),
    Metric("mandelbot.pause.duration", "s", "How long pauses lasted.", "histogram"),
    Metric("mandelbot.turn.duration", "s", "How long requests waited for a turn.", "histogram"),
    Metric("mandelbot.request.interval", "s", "Time from request to request.", "histogram"),
)
BUCKETS = (
    *(0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0),
    *(3_600.0, 14_400.0, 86_400.0),
)
"""Bounds of the histograms' buckets, in seconds."""


class Measurement(NamedTuple):
    """One value, with its labels."""

    value: float
    labels: dict[str, str | int]


Measurements = dict[str, list[Measurement]]
"""By the name of the metric."""


@dataclass
class Labels:
    """Which sites have a label of their own, so many at most, and what they had counted before."""

    most: int = MOST_LABELLED
    before: dict[str, Mapping[tuple[str, ...], float]] = field(default_factory=dict)
    """By site: what it had counted as it got its label, where that was told of others already."""
    told: int = 0
    """How many records there were when it was measured last."""
    _troubled: int = 0

    def choose(self, records: Iterable[SiteRecord], now: float) -> Iterator[None]:
        """Give labels to the largest and the most troubled sites, as long as there are any.

        Yields as often as a record is looked at.
        """
        half = self.most // 2
        free_of_trouble = self.most - half - self._troubled
        free = half - (len(self.before) - self._troubled)
        if free_of_trouble + free <= 0:
            return
        troubled = _Largest(free_of_trouble)
        large = _Largest(free_of_trouble + free)  # some of them are troubled, and get theirs so
        for one in records:
            yield
            if one.site in self.before:
                continue
            if one.is_troubled:
                troubled.add((one.given_up, one.refused + one.pauses_seen, one.site), one)
            if one.pages:
                large.add((one.pages, one.site), one)
        for one in troubled:
            self._troubled += 1
            self._give(one, now)
        for one in islice((one for one in large if one.site not in self.before), free):
            self._give(one, now)

    def of(self, site: str) -> dict[str, str | int]:
        """Return the labels of a site, or those of all that have none."""
        if site not in self.before:
            return {"server.address": _OTHER_SERVERS}
        try:
            scheme, port = urlsplit(site).scheme, urlsplit(site).port
        except ValueError:  # a port that is none, as written: its requests fail
            scheme, port = site.partition(":")[0], 0
        return {
            "server.address": host_of(site).strip("[]"),
            "server.port": DEFAULT_PORTS.get(scheme, 0) if port is None else port,
            "url.scheme": scheme,
        }

    def _give(self, one: SiteRecord, now: float) -> None:
        is_new = one.number >= self.told
        self.before[one.site] = {} if is_new else dict(_counts(one, now))


class _Largest:
    """The records with the largest keys, so many; no two keys are alike."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._heap: list[tuple[tuple[object, ...], SiteRecord]] = []

    def add(self, key: tuple[object, ...], one: SiteRecord) -> None:
        if len(self._heap) < self._most:
            heappush(self._heap, (key, one))
        elif self._heap and self._heap[0][0] < key:
            heapreplace(self._heap, (key, one))

    def __iter__(self) -> Iterator[SiteRecord]:
        return (one for _, one in sorted(self._heap, reverse=True))


class Measuring:
    """One measurement, for which each record and each site is looked at once, one by one.

    The crawl may go on in between. What is counted of a site is then what it had counted as it was
    looked at; a counter never goes back from one measurement to the next. So the sums are those of
    the records that there were at first, whatever is folded meanwhile.
    """

    def __init__(self, record: CrawlRecord, labels: Labels, now: float) -> None:
        self._labels = labels
        self._now = now
        self._records = list(record)
        self._made = record.made
        self._found: Measurements = {metric.name: [] for metric in METRICS}
        self._others: defaultdict[tuple[str, ...], float] = defaultdict(float)
        self._cases = Counter(record.rest.robots_seen)
        for key, count in _counts(record.rest, now):
            self._others[key] += count
        self._by_reason: Counter[Reason] = Counter()
        self._waiting: Counter[str] = Counter()
        self._under_way = 0

    def look(self, sites: Iterable[Standing | None]) -> Iterator[None]:
        """Look at the records, and at how the sites stand. Yields as often as there is one.

        Sites are those for which requests wait or are under way, and those that are asked nothing.
        """
        yield from self._labels.choose(self._records, self._now)
        self._labels.told = self._made
        for record in self._records:
            yield
            self._count(record)
        for one in sites:
            yield
            if one is not None:
                self._stands(one)

    def found(self, elsewhere: int) -> Measurements:
        """Return what was measured; `elsewhere` requests wait of which no site is known."""
        found = self._found
        for key, count in self._others.items():
            self._put(key, OTHERS, count)
        for case, seen in self._cases.items():
            found["mandelbot.robots_txt.answers"].append(Measurement(seen, {"case": case}))
        for reason in Reason:
            if self._by_reason[reason]:
                of_state = Measurement(self._by_reason[reason], {"state": str(reason)})
                found["mandelbot.sites"].append(of_state)
        waiting = self._waiting
        waiting[OTHERS] += elsewhere
        for site in {*waiting, *self._labels.before}:
            of_site = Measurement(waiting[site], self._labels.of(site))
            found["mandelbot.requests.waiting"].append(of_site)
        found["mandelbot.requests.under_way"].append(Measurement(self._under_way, {}))
        return found

    def _count(self, one: SiteRecord) -> None:
        others = self._others
        for case, seen in one.robots_seen.items():
            self._cases[case] += seen
        before = self._labels.before.get(one.site)
        if before is None:
            for key, count in _counts(one, self._now):
                others[key] += count
            return
        for key, count in _counts(one, self._now):
            earlier = min(count, before.get(key, 0))
            others[key] += earlier
            self._put(key, one.site, count - earlier)

    def _put(self, key: tuple[str, ...], site: str, value: float) -> None:
        name, *more = key
        labels = self._labels.of(site)
        for kind in more:
            if kind.isdecimal():
                labels["http.response.status_code"] = int(kind)
            else:
                labels["error.type"] = kind
        self._found[name].append(Measurement(value, labels))

    def _stands(self, one: Standing) -> None:
        self._by_reason[one.reason] += 1
        self._under_way += one.under_way
        if one.waiting:
            site = one.site.partition(" via ")[0]
            self._waiting[site if site in self._labels.before else OTHERS] += one.waiting


def _counts(one: SiteRecord, now: float) -> Iterator[tuple[tuple[str, ...], float]]:
    """Yield what only grows of a site, by the metric and its further label."""
    yield ("mandelbot.pages",), one.pages
    if one.forbidden:
        yield ("mandelbot.requests.forbidden",), one.forbidden
    if one.lost:
        yield ("mandelbot.requests.lost",), one.lost
    for kind, count in one.refusals.items():
        yield ("mandelbot.refusals", kind), count
    if one.pauses_seen:
        yield ("mandelbot.pauses",), one.pauses_seen
        yield ("mandelbot.pause.time",), one.paused_for(now)
    if one.turns:
        yield ("mandelbot.turn.time",), one.turn_waits
