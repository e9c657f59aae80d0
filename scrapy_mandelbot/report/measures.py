"""What is measured of a crawl at one time, with a bounded number of labels. Pure.

A site that has a label once keeps it, so that their number stays bounded over time too. The others
are one together, and no counter ever goes back: what a site had counted before it got its label
stays with the others.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from heapq import nlargest
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from scrapy_mandelbot.report.crawl_record import CrawlRecord
    from scrapy_mandelbot.report.site_record import SiteRecord
    from scrapy_mandelbot.report.status import CrawlStatus

MOST_LABELLED = 50
"""Sites with a label of their own: half of them the largest, half in trouble."""
OTHERS = "other"
"""The label of all others together."""


class Metric(NamedTuple):
    """A metric, as OpenTelemetry describes it."""

    name: str
    unit: str
    description: str
    kind: str
    """``counter``, or ``gauge``."""


METRICS = (
    Metric("mandelbot.sites", "{site}", "Sites with requests, by why these wait.", "gauge"),
    Metric("mandelbot.requests.waiting", "{request}", "Requests that wait.", "gauge"),
    Metric("mandelbot.requests.under_way", "{request}", "Requests without an answer yet.", "gauge"),
    Metric("mandelbot.pages", "{page}", "Answers of 2xx.", "counter"),
    Metric("mandelbot.requests.forbidden", "{request}", "Requests that rules forbade.", "counter"),
    Metric("mandelbot.refusals", "{answer}", "Answers that asked for a pause.", "counter"),
    Metric("mandelbot.pauses", "{pause}", "Pauses.", "counter"),
    Metric("mandelbot.pause.time", "s", "Time of pauses.", "counter"),
    Metric("mandelbot.turn.time", "s", "Time of waits for a turn.", "counter"),
    Metric("mandelbot.robots_txt.answers", "{answer}", "Answers to /robots.txt.", "counter"),
    Metric("mandelbot.gap", "s", "Least and median time between requests.", "gauge"),
)


class Measurement(NamedTuple):
    """One value, with its labels."""

    value: float
    labels: dict[str, str]


Measurements = dict[str, list[Measurement]]
"""By the name of the metric."""


@dataclass
class Labels:
    """Which sites have a label of their own, and what they had counted before.

    Args:
        most: how many sites may have one.
    """

    most: int = MOST_LABELLED
    before: dict[str, Mapping[tuple[str, ...], float]] = field(default_factory=dict)
    """By site: what it had counted as it got its label, where that was told of others already."""
    told: int = 0
    """How many records there were when it was measured last."""
    _troubled: int = 0

    def choose(self, records: Iterable[SiteRecord], now: float) -> None:
        """Give labels to the largest and the most troubled sites, as long as there are any."""
        half = self.most // 2
        open_ones = [one for one in records if one.site not in self.before]
        free = self.most - half - self._troubled
        for one in nlargest(free, (one for one in open_ones if one.is_troubled), key=_trouble):
            self._troubled += 1
            self._give(one, now)
        free = half - (len(self.before) - self._troubled)
        left = (one for one in open_ones if one.pages and one.site not in self.before)
        for one in nlargest(free, left, key=_size):
            self._give(one, now)

    def _give(self, one: SiteRecord, now: float) -> None:
        is_new = one.number >= self.told
        self.before[one.site] = {} if is_new else dict(_counts(one, now))


def measure(record: CrawlRecord, status: CrawlStatus, labels: Labels, now: float) -> Measurements:
    """Return what is measured now.

    Args:
        record: what happened so far.
        status: how the crawl stands.
        labels: which sites have one; chosen anew where any is free.
        now: seconds since the epoch.
    """
    labels.choose(record, now)
    labels.told = record.made
    found: Measurements = {metric.name: [] for metric in METRICS}
    others: defaultdict[tuple[str, ...], float] = defaultdict(float)
    cases: Counter[str] = Counter(record.rest.robots_seen)
    for key, count in _counts(record.rest, now):
        others[key] += count
    for one in record:
        cases.update(one.robots_seen)
        before = labels.before.get(one.site)
        for key, count in _counts(one, now):
            earlier = count if before is None else min(count, before.get(key, 0))
            others[key] += earlier
            if before is not None:
                _put(found, key, one.site, count - earlier)
        if before is not None and one.gaps is not None:
            for name, gap in (("0", one.gaps.least), ("0.5", one.gaps.median or 0.0)):
                of_site = {"site": one.site, "quantile": name}
                found["mandelbot.gap"].append(Measurement(gap, of_site))
    for key, count in others.items():
        _put(found, key, OTHERS, count)
    for case, count in cases.items():
        found["mandelbot.robots_txt.answers"].append(Measurement(count, {"case": case}))
    _measure_status(found, status, labels)
    return found


def _measure_status(found: Measurements, status: CrawlStatus, labels: Labels) -> None:
    for reason, count in status.by_reason.items():
        found["mandelbot.sites"].append(Measurement(count, {"state": str(reason)}))
    waiting: Counter[str] = Counter()
    for one in status.sites:
        site = one.site.partition(" via ")[0]
        waiting[site if site in labels.before else OTHERS] += one.waiting
    waiting[OTHERS] += status.elsewhere
    for site in {*waiting, *labels.before}:
        of_site = {"site": site}
        found["mandelbot.requests.waiting"].append(Measurement(waiting[site], of_site))
    found["mandelbot.requests.under_way"].append(Measurement(status.under_way, {}))


def _put(found: Measurements, key: tuple[str, ...], site: str, value: float) -> None:
    name, *more = key
    labels = {"site": site, "status": more[0]} if more else {"site": site}
    found[name].append(Measurement(value, labels))


def _counts(one: SiteRecord, now: float) -> Iterator[tuple[tuple[str, ...], float]]:
    """Yield what only grows of a site, by the metric and its further label."""
    yield ("mandelbot.pages",), one.pages
    if one.forbidden:
        yield ("mandelbot.requests.forbidden",), one.forbidden
    for kind, count in one.refusals.items():
        yield ("mandelbot.refusals", kind), count
    if one.pauses_seen:
        yield ("mandelbot.pauses",), one.pauses_seen
        yield ("mandelbot.pause.time",), one.paused_for(now)
    if one.turns:
        yield ("mandelbot.turn.time",), one.turn_waits


def _trouble(one: SiteRecord) -> tuple[int, int, str]:
    return one.given_up, one.refused + one.pauses_seen, one.site


def _size(one: SiteRecord) -> tuple[int, str]:
    return one.pages, one.site
