"""Metrics of a crawl, for OpenTelemetry and Prometheus: ``pip install scrapy-mandelbot[otel]``.

Exporters ask from threads of their own. They get what was measured last in the crawl's own thread,
so that nothing of a running crawl is looked at from elsewhere.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import NotConfigured

from scrapy_mandelbot import events
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.report.measures import BUCKETS, METRICS, Labels, Measurement, Measuring
from scrapy_mandelbot.report.recorder import Recorder
from scrapy_mandelbot.report.survey import CrawlExtension, Steps, Survey, waiting_elsewhere
from scrapy_mandelbot.setting_values import METRICS_API, SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from scrapy import Spider
    from scrapy.crawler import Crawler

    from scrapy_mandelbot.report.measures import Measurements

_EVERY = 5.0  # seconds
_SHARE = 0.02  # of the crawl's time: very many sites are measured less often, and in steps
_ENDED = 10  # crawls of the process whose last measurements an exporter still finds


class CrawlMetrics(CrawlExtension):
    """Measures a crawl every five seconds, for whoever exports it (``MANDELBOT_METRICS``)."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawl = Crawl.of(crawler)
        config = self._crawl.config
        if not config.enabled or config.metrics is None:
            raise NotConfigured
        try:
            import opentelemetry.metrics  # noqa: PLC0415 -- an extra, and slow to import

            if config.metrics != METRICS_API:
                import opentelemetry.exporter.prometheus  # noqa: F401, PLC0415
        except ImportError:
            raise SettingsError(
                "MANDELBOT_METRICS",
                config.metrics,
                "what needs pip install scrapy-mandelbot[otel]; None without it",
            ) from None
        self._crawler = crawler
        self._address = config.metrics
        recorder = Recorder.of(crawler, watches=True)
        recorder.gap_heard = partial(self._note, "mandelbot.request.interval")
        self._record = recorder.record
        for event, name, value in (
            (events.RESUMED, "mandelbot.pause.duration", "paused_for"),
            (events.OPENED, "mandelbot.pause.duration", "paused_for"),
            (events.TURN_WAITED, "mandelbot.turn.duration", "seconds"),
        ):
            self._crawl.events.hear(partial(self._heard, name, value), event)
        self._labels = Labels()
        self._steps = Steps(self._crawl.clock)
        self._exported: _Exported | None = None
        self.spider = ""
        self.measured: Measurements = {}
        """What was measured last; replaced as a whole, and never changed."""

    def spider_opened(self, spider: Spider) -> None:
        """Begin to measure."""
        self.spider = spider.name
        try:
            self._exported = _exported_at(self._address)
        except OSError as error:  # the address is another process's: no crawl fails for it
            self._crawl.events.tell(events.METRICS_NOT_SERVED, where=self._address, error=error)
            return
        self._measure()
        self._exported.add(self)
        if self._address != METRICS_API:
            self._crawl.events.tell(events.METRICS_SERVED, where=self._exported.url)

    def spider_closed(self) -> None:
        """Measure once more, without a break, and end."""
        self._steps.cancel()
        if self._exported is not None:
            measuring = self._begin()
            for _ in self._look(measuring):
                pass
            self._found(measuring)
            self._exported.remove(self)

    def _measure(self) -> None:
        measuring = self._begin()
        self._steps.take(self._look(measuring), lambda: self._end(measuring))

    def _begin(self) -> Measuring:
        return Measuring(self._record, self._labels, self._crawl.now())

    def _look(self, measuring: Measuring) -> Iterator[None]:
        return measuring.look(Survey(self._crawl.throttle, self._crawl.now()).standings())

    def _end(self, measuring: Measuring) -> None:
        self._found(measuring)
        self._steps.later(max(_EVERY, self._steps.spent / _SHARE), self._measure)

    def _found(self, measuring: Measuring) -> None:
        found = measuring.found(waiting_elsewhere(self._crawler))

        stats = self._crawler.stats
        failures = stats.get_value(events.JOB_NOT_SAVED.stats[0], 0) if stats else 0
        found["mandelbot.job.not_saved"].append(Measurement(failures, {}))
        self.measured = found

    def _heard(self, name: str, value: str, values: Mapping[str, Any]) -> None:
        self._note(name, values["site"], values[value])

    def _note(self, name: str, site: str, seconds: float) -> None:
        if self._exported is not None:
            labels = {"spider": self.spider, **self._labels.of(site)}
            self._exported.histograms[name].record(seconds, labels)


class _Exported:
    """The instruments of the package's meter, which tell of all crawls of the process.

    Where we serve them, there is a URL, and something to call when no crawl is left.
    """

    def __init__(self, meter: Any, url: str, close: Callable[[], None] | None) -> None:
        self.url = url
        self._close = close
        self._crawls: tuple[CrawlMetrics, ...] = ()
        self._ended: deque[tuple[str, Measurements]] = deque(maxlen=_ENDED)
        self.histograms: dict[str, Any] = {}
        """By their names; what is noted in them they keep themselves."""
        making = {
            "counter": meter.create_observable_counter,
            "up-down": meter.create_observable_up_down_counter,
        }
        for name, unit, description, kind in METRICS:
            if kind == "histogram":
                self.histograms[name] = meter.create_histogram(
                    name, unit, description, explicit_bucket_boundaries_advisory=BUCKETS
                )
            else:
                making[kind](name, [self._observer(name)], unit=unit, description=description)

    def add(self, crawl: CrawlMetrics) -> None:
        """Tell of a crawl from now on."""
        self._ended = deque(
            (one for one in self._ended if one[0] != crawl.spider), maxlen=_ENDED
        )  # one with the same labels would be told of twice
        self._crawls = (*self._crawls, crawl)

    def remove(self, crawl: CrawlMetrics) -> None:
        """Tell of a crawl no more, but what it counted last, as long as there is anything else."""
        self._crawls = tuple(one for one in self._crawls if one is not crawl)
        if self._close is None:
            self._ended.append((crawl.spider, crawl.measured))
        elif not self._crawls:
            self._close()

    def _observer(self, name: str) -> Callable[[Any], Iterator[Any]]:
        from opentelemetry.metrics import Observation  # noqa: PLC0415 -- an extra

        def observe(_options: Any) -> Iterator[Any]:
            told = [*self._ended, *((one.spider, one.measured) for one in self._crawls)]
            for spider, measured in told:
                for value, labels in measured.get(name, ()):
                    yield Observation(value, {"spider": spider, **labels})

        return observe


at_addresses: dict[str, _Exported] = {}
"""Those that are there in this process."""


def _exported_at(address: str) -> _Exported:
    """Return the instruments of an address; OSError: nothing can be served there."""
    from opentelemetry.metrics import get_meter  # noqa: PLC0415 -- an extra

    if address not in at_addresses:
        is_the_projects = address == METRICS_API  # its MeterProvider, or its environment's
        at_addresses[address] = (
            _Exported(get_meter("scrapy_mandelbot"), "", None)
            if is_the_projects
            else _served(address)
        )
    return at_addresses[address]


def _served(address: str) -> _Exported:
    """Return instruments that Prometheus can scrape at an address."""
    from opentelemetry.exporter.prometheus import PrometheusMetricReader  # noqa: PLC0415 -- an extra
    from opentelemetry.sdk.metrics import MeterProvider  # noqa: PLC0415
    from prometheus_client import CollectorRegistry, start_http_server  # noqa: PLC0415

    host, _, port = address.rpartition(":")
    registry = CollectorRegistry()
    server, thread = start_http_server(int(port), host.strip("[]"), registry)
    reader = PrometheusMetricReader(
        disable_target_info=True, scope_info_enabled=False, registry=registry
    )
    provider = MeterProvider([reader], shutdown_on_exit=False)

    def close() -> None:
        del at_addresses[address]
        server.shutdown()  # within half a second
        server.server_close()
        thread.join()
        provider.shutdown()

    url = f"http://{host}:{server.server_port}/metrics"
    return _Exported(provider.get_meter("scrapy_mandelbot"), url, close)
