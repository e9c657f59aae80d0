"""How long and how large a download of our own may be. What was read until then counts.

A download handler that sends Scrapy's ``headers_received`` and ``bytes_received``, as Scrapy's
own do, ends the download there; of another one the whole body comes.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import scrapy.signals
from scrapy.exceptions import StopDownload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler

_PART_FOR_THE_BODY = 0.9
"""Of the timeout; at its end the handler drops what it has, so a slow body is cut before."""

_INFLATED = 20  # times the size limit


@dataclass
class Reading:
    """A download as far as it has come."""

    most_bytes: int
    seconds: float
    most_inflated: int
    """Bytes that a compressed body may come to; HttpCompressionMiddleware drops one of more."""
    began: float
    received: int = 0
    cut: str = ""
    """Why the rest was not read."""


class Limits:
    """Ends downloads of our own that are longer than anyone means.

    Signals are sent for every piece of every page: they are heard only while we have a download.
    """

    def __init__(self, crawler: Crawler, now: Callable[[], float]) -> None:
        self._crawler = crawler
        self._now = now
        self._readings: WeakKeyDictionary[Request, Reading] = WeakKeyDictionary()

    @contextmanager
    def watch(self, request: Request, most_bytes: int, seconds: float) -> Iterator[Reading]:
        """Hold a request that is downloaded within to a size and a time; 0 bytes: headers only."""
        try:
            yield self.begin(request, most_bytes, seconds, _INFLATED * most_bytes)
        finally:
            self.end(request)

    def begin(
        self, request: Request, most_bytes: int, seconds: float, most_inflated: int
    ) -> Reading:
        """Hold a request to a size and a time from now on."""
        if not self._readings:
            for signal, handler in self._handlers():
                self._crawler.signals.connect(handler, signal=signal)
        reading = Reading(most_bytes, seconds, most_inflated, self._now())
        self._readings[request] = reading
        return reading

    def end(self, request: Request) -> None:
        """Hold it no longer: it has its answer, or never gets one."""
        if self._readings.pop(request, None) is not None and not self._readings:
            for signal, handler in self._handlers():
                self._crawler.signals.disconnect(handler, signal=signal)

    def _handlers(self) -> tuple[tuple[object, Callable[..., None]], ...]:
        return (
            (scrapy.signals.headers_received, self._headers_received),
            (scrapy.signals.bytes_received, self._bytes_received),
        )

    def _headers_received(self, request: Request) -> None:
        reading = self._readings.get(request)
        if reading is None:
            return
        # Waiting for its turn in the download slot is no slowness of the site.
        if "download_latency" in request.meta:
            reading.began = self._now() - request.meta["download_latency"]
        if not reading.most_bytes:
            raise StopDownload(fail=False)

    def _bytes_received(self, data: bytes, request: Request) -> None:
        reading = self._readings.get(request)
        if reading is None:
            return
        reading.received += len(data)
        # The handler has read it by now, for the size on the wire; what inflates will read it.
        request.meta["download_maxsize"] = reading.most_inflated
        if reading.received > reading.most_bytes:
            reading.cut = f"is longer than {reading.most_bytes} bytes"
        elif self._now() - reading.began >= _PART_FOR_THE_BODY * reading.seconds:
            reading.cut = f"does not end within {reading.seconds:g} s"
        if reading.cut:
            raise StopDownload(fail=False)


def whole_lines(body: bytes) -> bytes:
    """Return a body that was cut somewhere without the line that the cut went through."""
    return body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]
