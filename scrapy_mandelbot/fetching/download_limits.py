"""How long and how large a download of our own may be. What was read until then counts.

A download handler that sends Scrapy's ``headers_received`` and ``bytes_received``, as Scrapy's
own do, ends the download there; of another one the whole body comes.
"""

from __future__ import annotations

import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import scrapy.signals
from scrapy.exceptions import IgnoreRequest, StopDownload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

_PART_FOR_THE_BODY = 0.9
"""Of the timeout; at its end the handler drops what it has, so a slow body is cut before."""

_INFLATED = 20  # times the size limit


@dataclass
class Download:
    """A download as far as it has come."""

    most_bytes: int
    seconds: float
    most_inflated: int
    """Bytes that a compressed body may come to; HttpCompressionMiddleware drops one of more."""
    began: float
    received: int = 0
    cut: str = ""
    """Why the rest was not read."""
    packed: Response | None = None
    """The response as it came, if it was compressed."""


class DownloadLimits:
    """Ends downloads of our own that are longer than anyone means.

    Signals are sent for every piece of every page: they are heard only while we have a download.
    """

    def __init__(self, crawler: Crawler, now: Callable[[], float]) -> None:
        self._crawler = crawler
        self._now = now
        self._downloads: WeakKeyDictionary[Request, Download] = WeakKeyDictionary()

    async def download(
        self, request: Request, most_bytes: int, seconds: float
    ) -> tuple[Response, Download]:
        """Download a request, held to a size and a time; 0 bytes: headers only.

        A compressed body that comes to more than anyone means is cut as another one is.

        Raises:
            Exception: whatever the downloader and its middlewares raise.
        """
        with self.watch(request, most_bytes, seconds) as download:
            if self._crawler.engine is None:  # it is there while a spider is
                raise RuntimeError("no engine")
            try:
                return await self._crawler.engine.download_async(request), download
            except IgnoreRequest:
                if download.packed is None:
                    raise
                response = unpacked(download.packed, most_bytes + 1)
                if len(response.body) <= most_bytes:  # it was dropped for something else
                    raise
                download.cut = f"is longer than {most_bytes} bytes"
                return response, download

    @contextmanager
    def watch(self, request: Request, most_bytes: int, seconds: float) -> Iterator[Download]:
        """Hold a request that is downloaded within to a size and a time; 0 bytes: headers only."""
        try:
            yield self.begin(request, most_bytes, seconds, _INFLATED * most_bytes)
        finally:
            self.end(request)

    def begin(
        self, request: Request, most_bytes: int, seconds: float, most_inflated: int
    ) -> Download:
        """Hold a request to a size and a time from now on."""
        if not self._downloads:
            for signal, handler in self._handlers():
                self._crawler.signals.connect(handler, signal=signal)
        download = Download(most_bytes, seconds, most_inflated, self._now())
        self._downloads[request] = download
        return download

    def end(self, request: Request) -> None:
        """Hold it no longer: it has its answer, or never gets one."""
        if self._downloads.pop(request, None) is not None and not self._downloads:
            for signal, handler in self._handlers():
                self._crawler.signals.disconnect(handler, signal=signal)

    def _handlers(self) -> tuple[tuple[object, Callable[..., None]], ...]:
        return (
            (scrapy.signals.headers_received, self._headers_received),
            (scrapy.signals.bytes_received, self._bytes_received),
            (scrapy.signals.response_downloaded, self._response_downloaded),
        )

    def _headers_received(self, request: Request) -> None:
        download = self._downloads.get(request)
        if download is None:
            return
        # Waiting for its turn in the download slot is no slowness of the site.
        if "download_latency" in request.meta:
            download.began = self._now() - request.meta["download_latency"]
        if not download.most_bytes:
            raise StopDownload(fail=False)

    def _bytes_received(self, data: bytes, request: Request) -> None:
        download = self._downloads.get(request)
        if download is None:
            return
        download.received += len(data)
        # The handler has read it by now, for the size on the wire; what inflates will read it.
        request.meta["download_maxsize"] = download.most_inflated
        if download.received > download.most_bytes:
            download.cut = f"is longer than {download.most_bytes} bytes"
        elif self._now() - download.began >= _PART_FOR_THE_BODY * download.seconds:
            download.cut = f"does not end within {download.seconds:g} s"
        if download.cut:
            raise StopDownload(fail=False)

    def _response_downloaded(self, response: Response, request: Request) -> None:
        download = self._downloads.get(request)
        if download is not None and "Content-Encoding" in response.headers:
            download.packed = response


_ANY_HEADER = 32 + zlib.MAX_WBITS  # of gzip or of zlib, whichever is there


class UnreadableBodyError(ConnectionError):
    """An answer has come that cannot be unpacked: as if the connection had been lost."""


def unpacked(response: Response, most_bytes: int) -> Response:
    """Return a compressed response with so many bytes of what is in it.

    Raises:
        UnreadableBodyError: it is not compressed with gzip or deflate, or is damaged.
    """
    inflate = zlib.decompressobj(_ANY_HEADER)
    try:
        body = inflate.decompress(response.body, most_bytes)
    except zlib.error as error:
        raise UnreadableBodyError(f"its body cannot be unpacked: {error}") from None
    headers = response.headers.copy()
    del headers["Content-Encoding"]
    return response.replace(body=body, headers=headers)


def whole_lines(body: bytes) -> bytes:
    """Return a body that was cut somewhere without the line that the cut went through."""
    return body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]
