"""Offers measurements to OpenTelemetry, or to Prometheus over HTTP.

Exporters read from separate threads. They get the last measurement, which the crawl's
own thread made, so no other thread reads the state of a running crawl.
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from mandelbot.origins import host_of

from scrapy_mandelbot.report.measurements import BUCKETS, LATEST, METRICS
from scrapy_mandelbot.settings.values import METRICS_API, METRICS_FILE

if TYPE_CHECKING:
    from scrapy_mandelbot.report.measurements import Measurements

_Series = frozenset[tuple[str, str | int]]  # labels
_ENDED = 10  # ended crawls whose last measurements stay available
_MOST_CONNECTIONS = 20
_LONGEST_IDLE = 10  # seconds, as Prometheus waits for an answer by default


class MeasuredCrawl(Protocol):
    """A crawl, with its last measurement."""

    spider: str
    measured: Measurements
    """Replaced as a whole, never modified."""


class Instruments:
    """The instruments of the package's meter, for all crawls of the process.

    Args:
        meter: creates them.
        url: where the package serves them, if it does.
        close: called after the last crawl; None: the project's exporter goes on.
        write: writes the file, if there is one; raises OSError.
    """

    def __init__(
        self,
        meter: Any,
        url: str = "",
        close: Callable[[], None] | None = None,
        write: Callable[[], None] | None = None,
    ) -> None:
        self.url = url
        self.write = write
        self.close = close
        self._crawls: tuple[MeasuredCrawl, ...] = ()
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

    def add(self, crawl: MeasuredCrawl) -> None:
        """Export the measurements of a crawl.

        Crawls of one spider have the same labels. Those that run beside each other are
        added up; one that begins alone replaces what has ended before.
        """
        if all(one.spider != crawl.spider for one in self._crawls):
            others = (one for one in self._ended if one[0] != crawl.spider)
            self._ended = deque(others, maxlen=_ENDED)
        self._crawls = (*self._crawls, crawl)

    def remove(self, crawl: MeasuredCrawl) -> None:
        """Export a crawl's last values for as long as the instruments exist.

        Raises:
            OSError: the file cannot be written.
        """
        self._crawls = tuple(one for one in self._crawls if one is not crawl)
        is_served = bool(self.url)
        has_others = any(one.spider == crawl.spider for one in self._crawls)
        if has_others or not is_served:
            self._ended.append((crawl.spider, crawl.measured))
        try:
            if self.write is not None:
                self.write()
        finally:
            if self.close is not None and not self._crawls:
                self.close()

    def _observer(self, name: str) -> Callable[[Any], Iterator[Any]]:
        from opentelemetry.metrics import Observation  # noqa: PLC0415 -- an extra

        add: Callable[[float, float], float] = max if name in LATEST else operator.add

        def observe(_options: Any) -> Iterator[Any]:
            running = ((one.spider, one.measured) for one in self._crawls)
            found: dict[_Series, float] = {}
            for spider, measured in (*self._ended, *running):
                for value, labels in measured.get(name, ()):
                    series = frozenset({"spider": spider, **labels}.items())
                    found[series] = add(found.get(series, 0), value)
            for series, value in found.items():
                yield Observation(value, dict(series))

        return observe


at_addresses: dict[str, Instruments] = {}
"""The instruments of this process."""


def exported_at(address: str) -> Instruments:
    """Return the instruments of an address; OSError: it is not available."""
    from opentelemetry.metrics import get_meter  # noqa: PLC0415 -- an extra

    # the project's MeterProvider
    if address not in at_addresses and address == METRICS_API:
        at_addresses[address] = Instruments(get_meter("scrapy_mandelbot"))
    elif address not in at_addresses and address.endswith(METRICS_FILE):
        at_addresses[address] = _in_file(address)
    elif address not in at_addresses:
        at_addresses[address] = _served(address)
    return at_addresses[address]


def _provider(registry: Any) -> Any:
    """Return what provides meters, whose values a registry of Prometheus collects."""
    # Both belong to an extra.
    from opentelemetry.exporter.prometheus import (  # noqa: PLC0415
        PrometheusMetricReader,
    )
    from opentelemetry.sdk.metrics import MeterProvider  # noqa: PLC0415

    reader = PrometheusMetricReader(
        disable_target_info=True, scope_info_enabled=False, registry=registry
    )
    return MeterProvider([reader], shutdown_on_exit=False)


def _in_file(path: str) -> Instruments:
    """Write the instruments to a file, for a collector that reads it when it likes."""
    from prometheus_client import (  # noqa: PLC0415 -- an extra
        CollectorRegistry,
        write_to_textfile,
    )

    registry = CollectorRegistry()
    provider = _provider(registry)

    def write() -> None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        write_to_textfile(path, registry)  # replaces the file atomically

    def close() -> None:
        del at_addresses[path]
        provider.shutdown()

    meter = provider.get_meter("scrapy_mandelbot")
    return Instruments(meter, close=close, write=write)


def _served(address: str) -> Instruments:
    """Offer the instruments to Prometheus, by the server of its client library."""
    from prometheus_client import (  # noqa: PLC0415 -- an extra
        CollectorRegistry,
        start_http_server,
    )

    host, _, port = address.rpartition(":")
    registry = CollectorRegistry()
    server: Any
    server, _ = start_http_server(int(port), host.strip("[]"), registry)
    _guard(server, host)
    # Until here the registry is empty: what is not guarded yet has nothing to show.
    provider = _provider(registry)

    def close() -> None:
        del at_addresses[address]
        server.shutdown()  # within half a second
        server.server_close()
        provider.shutdown()

    url = f"http://{host}:{server.server_port}/metrics"
    return Instruments(provider.get_meter("scrapy_mandelbot"), url, close)


def _guard(server: Any, host: str) -> None:
    """Bound the connections in number and time, and on loopback answer no foreign host.

    By DNS rebinding, a web page reaches a loopback address with the page's own host.
    """
    is_loopback = ip_address(server.server_address[0]).is_loopback
    names = {host.lower(), "localhost", "127.0.0.1", "[::1]"}
    answer: Callable[[Mapping[str, str], Any], Iterable[bytes]] = server.get_app()
    connections: list[Any] = []

    def guarded(environ: Mapping[str, str], start_response: Any) -> Iterable[bytes]:
        host = host_of(environ.get("HTTP_HOST", "")).lower()
        if not is_loopback or host in names:
            return answer(environ, start_response)
        start_response("421 Misdirected Request", [])
        return []

    def accept(connection: Any, _client: Any) -> bool:
        connection.settimeout(_LONGEST_IDLE)
        still_open = [one for one in connections if one.fileno() >= 0]
        connections[:] = [connection, *still_open]
        return len(connections) <= _MOST_CONNECTIONS

    def ignore(_connection: Any, _client: Any) -> None:
        """Write no traceback for a connection that ends early."""

    server.set_app(guarded)
    server.verify_request = accept
    server.handle_error = ignore
