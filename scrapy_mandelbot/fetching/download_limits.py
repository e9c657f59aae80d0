"""How long and how large a download of our own may be, and whether all of it has come.

What is too long ends there, and what was read until then counts. A download handler that sends
Scrapy's ``headers_received`` and ``bytes_received``, as Scrapy's own do, ends the download there;
of another one the whole body comes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import scrapy.signals
from scrapy.exceptions import IgnoreRequest, StopDownload

from scrapy_mandelbot.fetching.content_codings import (
    ACCEPTED,
    UnknownCodingError,
    UnreadableBodyError,
    codings_in,
    unpack,
)
from scrapy_mandelbot.fetching.failures import failure_of
from scrapy_mandelbot.politeness.outcome import SILENT

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.http.headers import Headers


def codings_of(headers: Headers) -> list[str]:
    """Return the codings that a body has been given, the last one first."""
    return codings_in(b",".join(headers.getlist("Content-Encoding")).decode("latin-1"))


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
    """Why the rest was not read, as that was enough."""
    is_late: bool = False
    """Whether the rest was not waited for."""
    keeps: bool = False
    """Whether the body is kept as it comes."""
    body: bytearray = field(default_factory=bytearray)
    headers: Headers | None = None
    """What came before the body; None: nothing, or the handler does not tell."""
    packed: Response | None = None
    """The response as it came, if it was compressed."""
    is_done: bool = False
    """Whether the response has come; what is raised then is a middleware's."""


class BrokenOffError(ConnectionError):
    """An answer has begun, and was lost before its end."""

    def __init__(self, body: bytes, error: Exception) -> None:
        super().__init__(f"the answer breaks off after {len(body)} bytes: {error}")
        self.body = body
        """What came of it, unpacked as far as it goes; maybe nothing."""


class StoppedElsewhereError(StopDownload):
    """Some handler of a signal, of the project's, has the download end; what came is a part."""

    def __str__(self) -> str:
        return "a signal handler of the project has stopped the download of robots.txt"


class DownloadLimits:
    """Ends downloads of our own that are longer than anyone means.

    Signals are sent for every piece of every page: they are heard only while we have a download.
    """

    def __init__(self, crawler: Crawler, now: Callable[[], float]) -> None:
        self._crawler = crawler
        self._now = now
        # Without Scrapy's middleware nothing unpacks a good answer: then none may come packed.
        self._unpacks = crawler.settings.getbool("COMPRESSION_ENABLED")
        self._downloads: WeakKeyDictionary[Request, Download] = WeakKeyDictionary()
        self.is_reported = False
        """Whether a middleware tells of the responses, so that no signal need be heard: pages pay
        for that, too."""

    async def download(
        self, request: Request, most_bytes: int, seconds: float
    ) -> tuple[Response, Download]:
        """Download a request, held to a size and a time; 0 bytes: headers only.

        A compressed body that comes to more than anyone means is cut as another one is.

        Raises:
            BrokenOffError: the answer has begun, and did not come to its end.
            UnreadableBodyError: it has come, and cannot be read.
            Exception: whatever the downloader and its middlewares raise.
        """
        with self.watch(request, most_bytes, seconds) as download:
            download.keeps = most_bytes > 0
            if self._crawler.engine is None:  # it is there while a spider is
                raise RuntimeError("no engine")
            try:
                response = await self._crawler.engine.download_async(request)
            except Exception as error:
                meant = _what_is_meant(error, download)
                if meant is not None:
                    raise meant from error
                if not isinstance(error, IgnoreRequest) or download.packed is None:
                    raise
                response = unpacked(download.packed, most_bytes + 1)
                if len(response.body) <= most_bytes:  # it was dropped for something else
                    raise
                download.cut = f"is longer than {most_bytes} bytes"
            is_ours = download.cut or download.is_late or not most_bytes
            if "download_stopped" in response.flags and not is_ours:
                raise StoppedElsewhereError
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
        if self._unpacks:
            request.headers.setdefault("Accept-Encoding", ACCEPTED)
        download = Download(most_bytes, seconds, most_inflated, self._now())
        self._downloads[request] = download
        return download

    def end(self, request: Request) -> None:
        """Hold it no longer: it has its answer, or never gets one."""
        if self._downloads.pop(request, None) is not None and not self._downloads:
            for signal, handler in self._handlers():
                self._crawler.signals.disconnect(handler, signal=signal)

    def _handlers(self) -> tuple[tuple[object, Callable[..., None]], ...]:
        handlers = (
            (scrapy.signals.headers_received, self._headers_received),
            (scrapy.signals.bytes_received, self._bytes_received),
            (scrapy.signals.response_downloaded, self.response_downloaded),
        )
        return handlers[:2] if self.is_reported else handlers

    def _headers_received(self, request: Request, headers: Headers) -> None:
        download = self._downloads.get(request)
        if download is None:
            return
        download.headers = headers
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
        if download.keeps:
            download.body += data[: download.most_bytes - len(download.body)]
        # The handler has read it by now, for the size on the wire; what inflates will read it.
        request.meta["download_maxsize"] = download.most_inflated
        if download.received > download.most_bytes:
            download.cut = f"is longer than {download.most_bytes} bytes"
        elif self._now() - download.began >= download.seconds:  # where the handler goes on for ever
            download.is_late = not _has_all(download)
        if download.cut or download.is_late:
            raise StopDownload(fail=False)

    def response_downloaded(self, response: Response, request: Request) -> None:
        """Note that the response to a request has come, if that is held to anything."""
        download = self._downloads.get(request)
        if download is None:
            return
        download.is_done = True
        if "Content-Encoding" in response.headers:
            # As it is now: the middleware that unpacks it changes its headers.
            download.packed = response.replace(headers=response.headers.copy())


def _has_all(download: Download) -> bool:
    length = b"" if download.headers is None else download.headers.get("Content-Length") or b""
    return length.isdigit() and download.received >= int(length[:20])


def _what_is_meant(error: Exception, download: Download) -> Exception | None:
    """Return what an error means of an answer that has begun; None: what it says by itself."""
    most = download.most_bytes
    if isinstance(error, (StopDownload, IgnoreRequest)):
        return None
    if download.is_done:  # a middleware; Scrapy's own raises what each coding's library does
        return None if download.packed is None else _what_packed_means(error, download.packed, most)
    if download.headers is None:
        return None
    if failure_of(error) not in SILENT:  # the handler, of a header that it cannot read, say
        return UnreadableBodyError(f"its answer cannot be read: {error}")
    body = bytes(download.body)
    with suppress(UnreadableBodyError):
        body = unpack(body, codings_of(download.headers), most + 1).body
    return BrokenOffError(body[:most], error)


def _what_packed_means(error: Exception, packed: Response, most: int) -> Exception | None:
    """Return what an error means of a packed body that has come; None: it is not the body's."""
    try:
        found = unpack(packed.body, codings_of(packed.headers), most + 1)
    except UnknownCodingError:
        return None
    except UnreadableBodyError as unreadable:
        unreadable.packed = packed
        return unreadable
    return None if found.is_whole else BrokenOffError(found.body[:most], error)


def breaks_off(response: Response, download: Download) -> bool:
    """Return whether the body of a response ends before its end, be it packed or not."""
    if download.cut:
        return False
    if download.is_late or "dataloss" in response.flags:
        return True
    if download.packed is None:
        return False
    try:
        return not unpack(
            download.packed.body, codings_of(download.packed.headers), download.most_bytes + 1
        ).is_whole
    except UnknownCodingError:
        return False
    except UnreadableBodyError:
        return True


def unpacked(response: Response, most_bytes: int) -> Response:
    """Return a compressed response with so many bytes of what is in it.

    Raises:
        UnreadableBodyError: it is not compressed as it says, or that is not known here.
    """
    body = unpack(response.body, codings_of(response.headers), most_bytes).body
    headers = response.headers.copy()
    del headers["Content-Encoding"]
    return response.replace(body=body, headers=headers)


def whole_lines(body: bytes) -> bytes:
    """Return a body that was cut somewhere without the line that the cut went through."""
    return body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]
