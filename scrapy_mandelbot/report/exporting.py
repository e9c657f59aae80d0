"""Offers measurements to Prometheus: over HTTP, in a file, or by a gateway.

Exporters read from separate threads. They get the last measurement, which the crawl's
own thread made, so no other thread reads the state of a running crawl.
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import unquote, urlsplit

from mandelbot.files import replace_file
from mandelbot.origins import host_of

from scrapy_mandelbot.report.measurements import BUCKETS, LATEST, METRICS
from scrapy_mandelbot.settings.values import METRICS_FILE, is_gateway

if TYPE_CHECKING:
    from scrapy_mandelbot.report.measurements import Measurements, Metric

_Series = frozenset[tuple[str, str]]  # labels
Labels = Mapping[str, str | int]
_ENDED = 10  # ended crawls whose last measurements stay available
_MOST_CONNECTIONS = 20
LONGEST_PUSH = 10
"""Seconds that the end of a crawl waits for a Pushgateway."""
_LONGEST_IDLE = 10  # seconds, as Prometheus waits for an answer by default


class MeasuredCrawl(Protocol):
    """A crawl, with its last measurement."""

    spider: str
    measured: Measurements
    """Replaced as a whole, never modified."""


class Instruments:
    """What the package offers to Prometheus, for all crawls of the process.

    It is a collector of Prometheus' client library.

    Args:
        registry: collects it.
        url: where the package serves it, if it does.
        close: called after the last crawl.
        write: writes the file, if there is one; raises OSError.
        push: with a gateway, takes the present values and returns a function that
            sends them; that one blocks, and raises OSError.
    """

    def __init__(
        self,
        registry: Any,
        url: str = "",
        close: Callable[[], None] | None = None,
        write: Callable[[], None] | None = None,
        push: Callable[[], Callable[[], None]] | None = None,
    ) -> None:
        from prometheus_client import Histogram  # noqa: PLC0415 -- an extra

        self.url = url
        self.write = write
        self.push = push
        self.close = close
        self._crawls: tuple[MeasuredCrawl, ...] = ()
        self._ended: deque[tuple[str, Measurements]] = deque(maxlen=_ENDED)
        self._histograms = {
            one.name: Histogram(
                _name(one),
                one.description,
                _OF_SITE,
                buckets=BUCKETS,
                registry=None,
            )
            for one in METRICS
            if one.kind == "histogram"
        }
        registry.register(self)

    def note(self, name: str, spider: str, labels: Labels, seconds: float) -> None:
        """Add a value to a histogram."""
        series = self._histograms[name].labels(  # called for each page
            spider,
            labels.get("server.address", ""),
            labels.get("server.port", ""),
            labels.get("url.scheme", ""),
        )
        series.observe(seconds)

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

    def describe(self) -> list[Any]:
        """Return nothing, so that a registry does not collect to learn the names."""
        return []

    def collect(self) -> Iterator[Any]:
        """Yield each metric with its present values."""
        from prometheus_client.core import (  # noqa: PLC0415 -- an extra
            CounterMetricFamily,
            GaugeMetricFamily,
        )

        for metric in METRICS:
            if metric.kind == "histogram":
                yield from _without_begin(self._histograms[metric.name])
                continue
            name = _name(metric)
            family: Any = GaugeMetricFamily(name, metric.description)
            if metric.kind == "counter":
                family = CounterMetricFamily(name, metric.description)
                name += "_total"
            for series, value in self._series(metric.name).items():
                family.add_sample(name, dict(series), value)
            yield family

    def _series(self, name: str) -> dict[_Series, float]:
        add: Callable[[float, float], float] = max if name in LATEST else operator.add
        running = ((one.spider, one.measured) for one in self._crawls)
        found: dict[_Series, float] = {}
        for spider, measured in (*self._ended, *running):
            for value, labels in measured.get(name, ()):
                series = frozenset({"spider": spider, **_plain(labels)}.items())
                found[series] = add(found.get(series, 0), value)
        return found


_OF_SITE = ("spider", "server_address", "server_port", "url_scheme")
"""Labels of a histogram; those that a site does not have are empty."""


def _without_begin(histogram: Any) -> Iterator[Any]:
    """Yield the metric without the time at which each of its series began."""
    for family in histogram.collect():
        family.samples = [
            one for one in family.samples if not one.name.endswith("_created")
        ]
        yield family


def _name(metric: Metric) -> str:
    """Return the name that Prometheus has for a metric."""
    unit = "_seconds" if metric.unit == "s" else ""
    return metric.name.replace(".", "_") + unit


def _plain(labels: Labels) -> dict[str, str]:
    return {name.replace(".", "_"): str(value) for name, value in labels.items()}


at_addresses: dict[str, Instruments] = {}
"""The instruments of this process."""


def exported_at(address: str) -> Instruments:
    """Return the instruments of an address; OSError: it is not available."""
    if address in at_addresses:
        return at_addresses[address]
    if is_gateway(address):
        made = _pushed(address)
    elif address.endswith(METRICS_FILE):
        made = _in_file(address)
    else:
        made = _served(address)
    at_addresses[address] = made
    return made


def _in_file(path: str) -> Instruments:
    """Write the instruments to a file, for a collector that reads it when it likes."""
    from prometheus_client import (  # noqa: PLC0415 -- an extra
        CollectorRegistry,
        generate_latest,
    )

    registry = CollectorRegistry()

    def write() -> None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, [generate_latest(registry)])

    def close() -> None:
        del at_addresses[path]

    return Instruments(registry, close=close, write=write)


class _Collected:
    """Metrics as they were, whatever becomes of their registry."""

    def __init__(self, registry: Any) -> None:
        self._metrics = list(registry.collect())

    def collect(self) -> Iterator[Any]:
        """Yield them."""
        yield from self._metrics


def _pushed(address: str) -> Instruments:
    """Push the instruments to a gateway: its URL, and after ``#`` the spider's name."""
    from prometheus_client import (  # noqa: PLC0415 -- an extra
        CollectorRegistry,
        push_to_gateway,
    )
    from prometheus_client.exposition import (  # noqa: PLC0415
        basic_auth_handler,
        default_handler,
    )

    url, _, spider = address.partition("#")
    parts = urlsplit(url)
    gateway = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    handler: Any = default_handler
    if parts.username is not None:
        user = unquote(parts.username)
        password = unquote(parts.password or "")
        handler = partial(basic_auth_handler, username=user, password=password)

    registry = CollectorRegistry()

    def push() -> Callable[[], None]:
        collected: Any = _Collected(registry)
        return partial(
            push_to_gateway,
            gateway,
            job=spider,
            registry=collected,
            timeout=LONGEST_PUSH,
            handler=handler,
        )

    def close() -> None:
        del at_addresses[address]

    return Instruments(registry, close=close, push=push)


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

    def close() -> None:
        del at_addresses[address]
        server.shutdown()  # within half a second
        server.server_close()

    url = f"http://{host}:{server.server_port}/metrics"
    # Until here the registry is empty: what is not guarded yet has nothing to show.
    return Instruments(registry, url, close)


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
