"""What metrics say of a crawl: their names, their labels, and their values.

Labels follow OpenTelemetry's semantic conventions. A bounded number of sites have their
own, and never lose them; all others share one. No counter ever decreases: what a site
counted before it got its labels stays with the others.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import nlargest
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from mandelbot.origins import DEFAULT_PORTS, host_of

from scrapy_mandelbot.report.status import in_order

if TYPE_CHECKING:
    from scrapy_mandelbot.report.crawl_record import CrawlRecord
    from scrapy_mandelbot.report.site_record import SiteRecord
    from scrapy_mandelbot.report.snapshots import SiteSnapshot
    from scrapy_mandelbot.report.status import Reason

MOST_LABELLED = 50
"""Sites with their own labels: half of them the largest, half in trouble."""
OTHERS = "_OTHER"
"""The address of all other sites together, as the conventions name it."""


class Metric(NamedTuple):
    """A metric in OpenTelemetry's terms."""

    name: str
    unit: str
    description: str
    kind: str
    """``counter``, ``up-down`` or ``histogram``."""


METRICS = (
    Metric(
        "mandelbot.sites", "{site}", "Sites with requests, by why they wait.", "up-down"
    ),
    Metric("mandelbot.requests.waiting", "{request}", "Waiting requests.", "up-down"),
    Metric(
        "mandelbot.requests.under_way", "{request}", "Requests in flight.", "up-down"
    ),
    Metric("mandelbot.pages", "{page}", "Answers of 2xx.", "counter"),
    Metric(
        "mandelbot.requests.forbidden", "{request}", "Forbidden requests.", "counter"
    ),
    Metric(
        "mandelbot.requests.lost",
        "{request}",
        "Requests that failed for good.",
        "counter",
    ),
    Metric(
        "mandelbot.refusals", "{answer}", "Answers that call for a pause.", "counter"
    ),
    Metric(
        "mandelbot.errors",
        "{answer}",
        "Answers of 4xx and 5xx that call for no pause.",
        "counter",
    ),
    Metric(
        "mandelbot.concurrency.limit",
        "{request}",
        "Requests at once that a site bears, where that was measured.",
        "up-down",
    ),
    Metric("mandelbot.pauses", "{pause}", "Pauses.", "counter"),
    Metric("mandelbot.pause.time", "s", "Time of pauses.", "counter"),
    Metric("mandelbot.turn.time", "s", "Time of waits for a crawl delay.", "counter"),
    Metric(
        "mandelbot.robots_txt.answers", "{answer}", "Answers to /robots.txt.", "counter"
    ),
    Metric("mandelbot.network.down", "1", "1: no site answers.", "up-down"),
    Metric("mandelbot.job.not_saved", "{failure}", "Failed saves of a job.", "counter"),
    Metric(
        "mandelbot.job.unsaved", "s", "Time since a job cannot be saved.", "up-down"
    ),
    Metric(
        "mandelbot.job.set_aside",
        "{request}",
        "Requests that the job has set aside.",
        "up-down",
    ),
    Metric(
        "mandelbot.job.workers", "{worker}", "Workers of the job on Redis.", "up-down"
    ),
    Metric(
        "mandelbot.run.reasons",
        "1",
        "1: this rule makes the run that has ended INCOMPLETE or FAILED.",
        "up-down",
    ),
    Metric(
        "mandelbot.run.finish_reason",
        "1",
        "1: the run has ended for this reason.",
        "up-down",
    ),
    Metric(
        "mandelbot.run.ended",
        "s",
        "When the last run ended, in seconds since the epoch.",
        "up-down",
    ),
    Metric("mandelbot.pause.duration", "s", "How long pauses lasted.", "histogram"),
    Metric(
        "mandelbot.turn.duration",
        "s",
        "Length of waits for a crawl delay.",
        "histogram",
    ),
    Metric("mandelbot.request.interval", "s", "Time between requests.", "histogram"),
)
LATEST = frozenset(
    {
        "mandelbot.network.down",
        "mandelbot.run.reasons",
        "mandelbot.run.finish_reason",
        "mandelbot.run.ended",
        "mandelbot.job.unsaved",
        "mandelbot.job.workers",
    }
)
"""Metrics of which several crawls of a spider have the largest value, not the sum."""
BUCKETS = (
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
    30.0,
    60.0,
    300.0,
    900.0,
    3_600.0,
    14_400.0,
    86_400.0,
)
"""Bounds of histogram buckets, in seconds."""


class Measurement(NamedTuple):
    """A value with its labels."""

    value: float
    labels: dict[str, str | int]


Measurements = dict[str, list[Measurement]]
"""By metric name."""
_Key = tuple[Any, ...]
_FROM_THE_START: tuple[_Key, ...] = (
    ("mandelbot.requests.lost",),
    ("mandelbot.requests.forbidden",),
    ("mandelbot.refusals", ("http.response.status_code", 429)),
    ("mandelbot.refusals", ("http.response.status_code", 503)),
    ("mandelbot.pauses",),
    ("mandelbot.pause.time",),
)
"""Counters that are 0 before the first event: Prometheus sees no increase of others."""


@dataclass
class Labels:
    """The sites with their own labels, and what they counted before they had them."""

    most: int = MOST_LABELLED
    before: dict[str, Mapping[_Key, float]] = field(default_factory=dict)
    """By site: its counts when it got its labels, which stay with the others."""
    records_seen: int = 0
    """The number of records at the last measurement."""
    _troubled: int = 0

    def choose(self, records: Iterable[SiteRecord], now: float) -> Iterator[None]:
        """Give free labels to the largest and most troubled sites, in steps."""
        half = self.most // 2
        free_of_trouble = self.most - half - self._troubled
        free = half - (len(self.before) - self._troubled)
        if free_of_trouble + free <= 0:
            return
        new = []
        for one in records:
            yield
            if one.site not in self.before and (one.pages or one.is_troubled):
                new.append(one)
        troubled = [one for one in new if one.is_troubled]
        for one in nlargest(free_of_trouble, troubled, key=_trouble):
            self._troubled += 1
            self._give(one, now)
        large = [one for one in new if one.pages and one.site not in self.before]
        for one in nlargest(free, large, key=lambda one: (one.pages, one.site)):
            self._give(one, now)

    def of(self, site: str) -> dict[str, str | int]:
        """Return the labels of a site."""
        if site not in self.before:
            return {"server.address": OTHERS}
        try:
            scheme = urlsplit(site).scheme
            port = urlsplit(site).port
        except ValueError:  # an invalid port, whose requests fail
            scheme = site.partition(":")[0]
            port = 0
        return {
            "server.address": host_of(site).strip("[]"),
            "server.port": DEFAULT_PORTS.get(scheme, 0) if port is None else port,
            "url.scheme": scheme,
        }

    def _give(self, one: SiteRecord, now: float) -> None:
        is_new = one.number >= self.records_seen
        self.before[one.site] = {} if is_new else dict(_counts(one, now))


def _trouble(one: SiteRecord) -> tuple[int, int, str]:
    return one.given_up, one.refused + one.pauses_seen, one.site


def measuring(
    record: CrawlRecord,
    labels: Labels,
    now: float,
    sites: Iterable[SiteSnapshot | None],
    elsewhere: int,
) -> Generator[None, None, Measurements]:
    """Measure in steps, each record and each site once, and return the measurement.

    The crawl continues in between. The sums cover the records that existed at the
    start, whatever is folded meanwhile, so that no counter decreases. `elsewhere`:
    waiting requests of unknown sites.
    """
    found: Measurements = {metric.name: [] for metric in METRICS}
    yield from _count_records(record, labels, now, found)
    by_reason: Counter[Reason] = Counter()
    waiting = Counter({OTHERS: elsewhere})
    under_way = 0
    for one in sites:
        yield
        if one is not None:
            by_reason[one.reason] += 1
            under_way += one.under_way
            site = one.site if one.site in labels.before else OTHERS
            waiting[site] += one.waiting
    for reason, count in in_order(by_reason).items():
        found["mandelbot.sites"].append(Measurement(count, {"state": str(reason)}))
    for site in {*waiting, *labels.before}:
        found["mandelbot.requests.waiting"].append(
            Measurement(waiting[site], labels.of(site))
        )
    found["mandelbot.requests.under_way"].append(Measurement(under_way, {}))
    return found


def _count_records(
    record: CrawlRecord, labels: Labels, now: float, found: Measurements
) -> Iterator[None]:
    def put(key: _Key, site: str, value: float) -> None:
        name, *more = key
        found[name].append(Measurement(value, {**labels.of(site), **dict(more)}))

    records = list(record)
    made = record.made
    cases = Counter(record.rest.robots_seen)
    others = defaultdict[_Key, float](float, dict.fromkeys(_FROM_THE_START, 0.0))
    others.update(_counts(record.rest, now))
    yield from labels.choose(records, now)
    labels.records_seen = made
    forbidden = 0
    for one in records:
        yield
        forbidden += one.is_forbidden
        cases.update(one.robots_seen)
        before = labels.before.get(one.site)
        if before is not None and one.concurrency is not None:
            at_once = one.concurrency.bound
            put(("mandelbot.concurrency.limit",), one.site, at_once)
        for key, count in _counts(one, now):
            if before is None:
                others[key] += count
                continue
            earlier = min(count, before.get(key, 0))
            others[key] += earlier
            put(key, one.site, count - earlier)
    for key, count in others.items():
        put(key, OTHERS, count)
    if forbidden:
        found["mandelbot.sites"].append(Measurement(forbidden, {"state": "forbidden"}))
    for case, seen in cases.items():
        found["mandelbot.robots_txt.answers"].append(Measurement(seen, {"case": case}))


def _counts(one: SiteRecord, now: float) -> Iterator[tuple[_Key, float]]:
    """Yield the counters of a site, by the name of the metric and further labels."""
    yield ("mandelbot.pages",), one.pages
    if one.forbidden:
        yield ("mandelbot.requests.forbidden",), one.forbidden
    if one.lost:
        yield ("mandelbot.requests.lost",), one.lost
    for kind, count in one.refusals.items():
        label: tuple[str, int | str] = ("error.type", kind)
        if kind.isdecimal():
            label = ("http.response.status_code", int(kind))
        yield ("mandelbot.refusals", label), count
    for status, count in one.errors.items():
        yield ("mandelbot.errors", ("http.response.status_code", status)), count
    if one.pauses_seen:
        yield ("mandelbot.pauses",), one.pauses_seen
        yield ("mandelbot.pause.time",), one.paused_for(now)
    if one.turns:
        yield ("mandelbot.turn.time",), one.turn_waits
