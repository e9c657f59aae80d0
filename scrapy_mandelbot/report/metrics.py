"""Metrics of a crawl, for OpenTelemetry and Prometheus.

``pip install scrapy-mandelbot[otel]``. Exporters read from separate threads. They get
the last measurement, which the crawl's own thread made, so no other thread reads the
state of a running crawl.

Labels follow OpenTelemetry's semantic conventions. A bounded number of sites have their
own, and never lose them; all others share one. No counter ever decreases: what a site
counted before it got its labels stays with the others.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from heapq import nlargest
from http import HTTPStatus
from http.server import ThreadingHTTPServer
from ipaddress import ip_address
from socket import SOCK_STREAM, getaddrinfo
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from mandelbot.origins import DEFAULT_PORTS, host_of
from scrapy.exceptions import NotConfigured

from scrapy_mandelbot import events
from scrapy_mandelbot.report.recorder import Recorder
from scrapy_mandelbot.report.status import in_order
from scrapy_mandelbot.report.summary import CrawlExtension
from scrapy_mandelbot.report.survey import Survey, waiting_elsewhere
from scrapy_mandelbot.settings.values import METRICS_API, SettingsError

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler

    from scrapy_mandelbot.report.recorder import CrawlRecord
    from scrapy_mandelbot.report.site_record import SiteRecord
    from scrapy_mandelbot.report.status import Reason, SiteSnapshot

MOST_LABELLED = 50
"""Sites with their own labels: half of them the largest, half in trouble."""
OTHERS = "_OTHER"
"""The address of all other sites together, as the conventions name it."""
_EVERY = 5.0  # seconds
_SHARE = 0.02  # of the crawl's time: many sites are measured less often
_ENDED = 10  # ended crawls whose last measurements stay available
_MOST_CONNECTIONS = 20
_LONGEST_IDLE = 10  # seconds, as Prometheus waits for an answer by default


class CrawlMetrics(CrawlExtension):
    """Measures a crawl every five seconds for exporters (``MANDELBOT_METRICS``)."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        config = self._crawl.config
        if config.metrics is None:
            raise NotConfigured
        try:
            import opentelemetry.metrics  # noqa: PLC0415 -- an extra, and slow to import

            if config.metrics != METRICS_API:
                import opentelemetry.exporter.prometheus  # noqa: F401, PLC0415
        except ImportError:
            raise SettingsError(
                "MANDELBOT_METRICS",
                config.metrics,
                "None, unless scrapy-mandelbot[otel] is installed",
            ) from None
        self._address = config.metrics
        recorder = Recorder.of(crawler, watches=True)
        recorder.on_gap = partial(self._note, "mandelbot.request.interval")
        self._record = recorder.record
        for event, name, value in (
            (events.RESUMED, "mandelbot.pause.duration", "paused_for"),
            (events.OPENED, "mandelbot.pause.duration", "paused_for"),
            (events.TURN_WAITED, "mandelbot.turn.duration", "seconds"),
        ):
            self._crawl.events.subscribe(partial(self._on_event, name, value), event)
        self._labels = Labels()
        self._exported: _Exported | None = None
        self.spider = ""
        self.measured: Measurements = {}
        """The last measurement; replaced as a whole, never modified."""

    def spider_opened(self, spider: Spider) -> None:
        """Start to measure."""
        self.spider = spider.name
        try:
            self._exported = exported_at(self._address)
        except OSError as error:  # address in use: no reason to stop a crawl
            self._crawl.events.emit(
                events.METRICS_NOT_SERVED, where=self._address, error=error
            )
            return
        self._measure()
        self._exported.add(self)
        if self._address != METRICS_API:
            self._crawl.events.emit(events.METRICS_SERVED, where=self._exported.url)

    def spider_closed(self) -> None:
        """Measure a last time, without yielding to the loop."""
        self._steps.cancel()
        if self._exported is not None:
            for _ in self._measuring():
                pass
            self._exported.remove(self)

    def _measure(self) -> None:
        def again() -> None:
            self._steps.later(max(_EVERY, self._steps.spent / _SHARE), self._measure)

        self._steps.take(self._measuring(), again)

    def _measuring(self) -> Iterator[None]:
        now = self._crawl.now()
        stats = self._crawler.stats
        sites = Survey(self._crawl.throttle, now).snapshots()
        elsewhere = waiting_elsewhere(self._crawler)
        found = yield from measuring(self._record, self._labels, now, sites, elsewhere)
        failures = stats.get_value(events.JOB_NOT_SAVED.stats[0], 0) if stats else 0
        found["mandelbot.job.not_saved"].append(Measurement(failures, {}))
        is_down = int(self._crawl.throttle.network.is_down(now))
        found["mandelbot.network.down"].append(Measurement(is_down, {}))
        self.measured = found

    def _on_event(self, name: str, value: str, values: Mapping[str, Any]) -> None:
        self._note(name, values["site"], values[value])

    def _note(self, name: str, site: str, seconds: float) -> None:
        if self._exported is not None:
            labels = {"spider": self.spider, **self._labels.of(site)}
            self._exported.histograms[name].record(seconds, labels)


class _Exported:
    """The instruments of the package's meter, for all crawls of the process.

    If the package serves them, they have a URL, and `close` is called after the last
    crawl.
    """

    def __init__(self, meter: Any, url: str, close: Callable[[], None] | None) -> None:
        self.url = url
        self.close = close
        self._crawls: tuple[CrawlMetrics, ...] = ()
        self._ended: deque[tuple[str, Measurements]] = deque(maxlen=_ENDED)
        self.histograms: dict[str, Any] = {}
        """By name; they store their values themselves."""
        create = {
            "counter": meter.create_observable_counter,
            "up-down": meter.create_observable_up_down_counter,
        }
        for name, unit, description, kind in METRICS:
            if kind == "histogram":
                self.histograms[name] = meter.create_histogram(
                    name, unit, description, explicit_bucket_boundaries_advisory=BUCKETS
                )
            else:
                create[kind](
                    name, [self._observer(name)], unit=unit, description=description
                )

    def add(self, crawl: CrawlMetrics) -> None:
        """Export the measurements of a crawl."""
        self._ended = deque(
            (one for one in self._ended if one[0] != crawl.spider), maxlen=_ENDED
        )  # the same labels must not be exported twice
        self._crawls = (*self._crawls, crawl)

    def remove(self, crawl: CrawlMetrics) -> None:
        """Keep exporting the last values of a crawl, as long as the instruments exist."""
        self._crawls = tuple(one for one in self._crawls if one is not crawl)
        if self.close is None:
            self._ended.append((crawl.spider, crawl.measured))
        elif not self._crawls:
            self.close()

    def _observer(self, name: str) -> Callable[[Any], Iterator[Any]]:
        from opentelemetry.metrics import Observation  # noqa: PLC0415 -- an extra

        def observe(_options: Any) -> Iterator[Any]:
            running = ((one.spider, one.measured) for one in self._crawls)
            for spider, measured in (*self._ended, *running):
                for value, labels in measured.get(name, ()):
                    yield Observation(value, {"spider": spider, **labels})

        return observe


at_addresses: dict[str, _Exported] = {}
"""The instruments of this process."""


def exported_at(address: str) -> _Exported:
    """Return the instruments of an address; OSError: it is not available."""
    from opentelemetry.metrics import get_meter  # noqa: PLC0415 -- an extra

    # the project's MeterProvider
    if address not in at_addresses and address == METRICS_API:
        at_addresses[address] = _Exported(get_meter("scrapy_mandelbot"), "", None)
    elif address not in at_addresses:
        at_addresses[address] = _served(address)
    return at_addresses[address]


class _Server(ThreadingHTTPServer):
    """Serves a bounded number of connections, each in a thread."""

    def __init__(self, host: str, port: int, handler: Any) -> None:
        self._open: list[Any] = []
        found: Any
        self.address_family, *_, found = getaddrinfo(host, port, type=SOCK_STREAM)[0]
        super().__init__(found, handler)

    def verify_request(self, request: Any, client_address: Any) -> bool:  # noqa: ARG002 -- the base's
        """Accept so many connections at a time; the base class closes the others at once."""
        self._open = [request, *(one for one in self._open if one.fileno() >= 0)]
        return len(self._open) <= _MOST_CONNECTIONS


def _served(address: str) -> _Exported:
    """Start a server that offers the instruments to Prometheus."""
    from opentelemetry.exporter.prometheus import (
        PrometheusMetricReader,
    )  # noqa: PLC0415 -- an extra
    from opentelemetry.sdk.metrics import MeterProvider  # noqa: PLC0415
    from prometheus_client import CollectorRegistry, MetricsHandler  # noqa: PLC0415

    class Handler(MetricsHandler):
        timeout = _LONGEST_IDLE

        def do_GET(self) -> None:  # noqa: N802 -- as http.server calls it
            # By DNS rebinding, a web page reaches a loopback address with the page's
            # own host.
            if (
                is_loopback
                and host_of(self.headers.get("Host", "")).lower() not in names
            ):
                self.send_error(HTTPStatus.MISDIRECTED_REQUEST)
            else:
                super().do_GET()

    host, _, port = address.rpartition(":")
    names = {host.lower(), "localhost", "127.0.0.1", "[::1]"}
    registry = CollectorRegistry()
    server = _Server(host.strip("[]"), int(port), Handler.factory(registry))
    is_loopback = ip_address(str(server.server_address[0])).is_loopback
    reader = PrometheusMetricReader(
        disable_target_info=True, scope_info_enabled=False, registry=registry
    )
    provider = MeterProvider([reader], shutdown_on_exit=False)

    def close() -> None:
        del at_addresses[address]
        server.shutdown()  # within half a second
        server.server_close()
        provider.shutdown()

    Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://{host}:{server.server_port}/metrics"
    return _Exported(provider.get_meter("scrapy_mandelbot"), url, close)


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
    Metric("mandelbot.pauses", "{pause}", "Pauses.", "counter"),
    Metric("mandelbot.pause.time", "s", "Time of pauses.", "counter"),
    Metric("mandelbot.turn.time", "s", "Time of waits for a crawl delay.", "counter"),
    Metric(
        "mandelbot.robots_txt.answers", "{answer}", "Answers to /robots.txt.", "counter"
    ),
    Metric("mandelbot.network.down", "1", "1: no site answers.", "up-down"),
    Metric("mandelbot.job.not_saved", "{failure}", "Failed saves of a job.", "counter"),
    Metric("mandelbot.pause.duration", "s", "How long pauses lasted.", "histogram"),
    Metric(
        "mandelbot.turn.duration",
        "s",
        "Length of waits for a crawl delay.",
        "histogram",
    ),
    Metric("mandelbot.request.interval", "s", "Time between requests.", "histogram"),
)
BUCKETS = (
    *(0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0),
    *(3_600.0, 14_400.0, 86_400.0),
)
"""Bounds of histogram buckets, in seconds."""


class Measurement(NamedTuple):
    """A value with its labels."""

    value: float
    labels: dict[str, str | int]


Measurements = dict[str, list[Measurement]]
"""By metric name."""
_Key = tuple[Any, ...]


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
    """Measure in steps, reading each record and each site once, and return the measurement.

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
            waiting[one.site if one.site in labels.before else OTHERS] += one.waiting
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
    others = defaultdict[_Key, float](float, _counts(record.rest, now))
    yield from labels.choose(records, now)
    labels.records_seen = made
    for one in records:
        yield
        cases.update(one.robots_seen)
        before = labels.before.get(one.site)
        for key, count in _counts(one, now):
            earlier = count if before is None else min(count, before.get(key, 0))
            others[key] += earlier
            if before is not None:
                put(key, one.site, count - earlier)
    for key, count in others.items():
        put(key, OTHERS, count)
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
        label = "http.response.status_code" if kind.isdecimal() else "error.type"
        yield (
            ("mandelbot.refusals", (label, int(kind) if kind.isdecimal() else kind)),
            count,
        )
    if one.pauses_seen:
        yield ("mandelbot.pauses",), one.pauses_seen
        yield ("mandelbot.pause.time",), one.paused_for(now)
    if one.turns:
        yield ("mandelbot.turn.time",), one.turn_waits
