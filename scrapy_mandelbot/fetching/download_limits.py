"""Size and time limits of the package's own downloads; detects truncated bodies.

Scrapy's own limits, ``download_maxsize`` and ``download_timeout``, drop the part that
has come. Receivers of ``headers_received`` and ``bytes_received`` cost every other page
a call a chunk. So they follow a second request for a body that was too long, which is
then cut, and requests for a file whose last response was truncated. Third-party
handlers may read the whole body.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from math import inf
from typing import TYPE_CHECKING, ClassVar
from weakref import WeakKeyDictionary, WeakSet

import scrapy.signals
from mandelbot.answers.content_codings import (
    ACCEPTED,
    UnknownCodingError,
    UnreadableBodyError,
    codings_in,
    is_plain,
    unpack,
)
from mandelbot.answers.failures import TruncatedError, failure_of
from mandelbot.answers.outcome import SILENT, whole_lines
from scrapy.exceptions import IgnoreRequest, StopDownload

from scrapy_mandelbot import engine

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.http.headers import Headers


def codings_of(headers: Headers) -> list[str]:
    """Return the content codings of a body, the last applied first."""
    return codings_in(b",".join(headers.getlist("Content-Encoding")).decode("latin-1"))


# bytes; DOWNLOAD_MAXSIZE is about pages, and receivers have their limit
_ANY_SIZE = 2**30
_MOST_TRUNCATED = 10_000  # URLs that are known
_INFLATED = 20  # times the size limit, as HttpCompressionMiddleware drops larger bodies
# bytes to which it decompresses a sitemap in another coding than gzip
MOST_AT_ONCE = 4_194_304
_RESPONSE = scrapy.signals.response_downloaded
CITED = "mandelbot_sitemap"
"""Meta key of a request for a sitemap: what is known of it, and whose ``site`` it is.
"""


class Download:
    """The state of a download. Class attributes hold the initial values."""

    received = 0
    cut = ""
    """Why the rest was not read: the part before suffices."""
    is_late = False
    """Whether the time limit ended the download."""
    collects = False
    """Whether `body` collects the bytes received."""
    headers: Headers | None = None
    """None: no headers yet, or the handler does not send ``headers_received``."""
    packed: Response | None = None
    """The response as received, if it is compressed."""
    is_done = False
    """Whether the response is complete; a later exception comes from a middleware."""

    def __init__(
        self, most_bytes: int, seconds: float, began: float, *, is_watched: bool = True
    ) -> None:
        self.most_bytes = most_bytes
        self.seconds = seconds
        self.began = began
        self.is_watched = is_watched
        """Whether receivers of the handler's signals follow it."""
        self.body = bytearray()

    def is_truncated(self, response: Response) -> bool:
        """Return whether a body is shorter than its response announces."""
        if self.cut or self.is_late or "dataloss" in response.flags:
            return not self.cut
        if self.packed is None:
            return False
        return (
            _what_packed_means(ConnectionError(), self.packed, self.most_bytes)
            is not None
        )

    def body_of(self, response: Response) -> tuple[bytes, str, bool]:
        """Return the part that counts, why the rest was not read, and if it is whole.

        Of a body that was cut or is truncated, the complete lines count.
        """
        body = response.body
        cut = self.cut
        # a handler without signals reads all of it
        if not cut and len(body) > self.most_bytes:
            cut = f"is longer than {self.most_bytes} bytes"
        is_whole = bool(cut) or not self.is_truncated(response)
        body = body[: self.most_bytes]
        if cut or not is_whole:
            body = whole_lines(body)
        return body, cut, is_whole


class StoppedByProjectError(StopDownload):
    """A signal handler of the project stopped the download; the body is incomplete."""

    def __str__(self) -> str:
        return "a signal handler of the project has stopped the download of robots.txt"


class DownloadLimits:
    """Ends the package's own downloads at their size and time limits."""

    KEYS: ClassVar = frozenset({"dont_pause", CITED})
    """Meta keys of requests that may be limited."""

    def __init__(self, crawler: Crawler, now: Callable[[], float]) -> None:
        self._crawler = crawler
        self._now = now
        # Without HttpCompressionMiddleware nothing unpacks a body, so none may be
        # compressed.
        self._unpacks = crawler.settings.getbool("COMPRESSION_ENABLED")
        self._downloads: WeakKeyDictionary[Request, Download] = WeakKeyDictionary()
        self._places: dict[Request, int] = {}
        """How many places of the downloader requests have beside those that wait for
        them.
        """
        # A sitemap's request goes through the scheduler, as a page's does.
        self._most_of_pages = min(
            crawler.settings.getint("DOWNLOAD_MAXSIZE") or inf, _ANY_SIZE
        )
        self._watched: WeakSet[Request] = WeakSet()
        self._truncated: set[str] = set()
        """URLs whose last response was truncated: receivers follow the next one from
        its start.
        """
        self.is_notified = False
        """Whether PauseMiddleware passes on the responses, which is cheaper than a
        signal.
        """

    def add_place(self, request: Request, waiting: Request) -> None:
        """Count a request, and the one that waits for it, as one place."""
        self._places[request] = engine.add_place(self._crawler, waiting)

    def drop_place(self, request: Request) -> None:
        """Undo it, once: with the response, before the caller sends the next one."""
        places = self._places.pop(request, 0)
        if places:
            engine.drop_places(self._crawler, places)

    async def download(
        self,
        request: Request,
        most_bytes: int,
        seconds: float,
        *,
        is_watched: bool = False,
    ) -> tuple[Response, Download]:
        """Download a request within a size and time limit; 0 bytes: headers only.

        A compressed body that inflates beyond the limit is cut there.

        Raises:
            TruncatedError: the connection ended before the response did.
            UnreadableBodyError: the body cannot be decoded.
            Exception: anything the downloader and its middlewares raise.
        """
        if self._crawler.engine is None:  # cannot happen while a spider runs
            raise RuntimeError("no engine")
        is_watched = is_watched or not most_bytes or request.url in self._truncated
        request.meta["download_maxsize"] = _ANY_SIZE if is_watched else most_bytes
        download = self.begin(request, most_bytes, seconds, is_watched=is_watched)
        download.collects = most_bytes > 0
        try:
            response = await self._crawler.engine.download_async(request)
        except Exception as error:
            if not is_watched and _is_cancelled(error):
                return await self.download(
                    request.copy(), most_bytes, seconds, is_watched=True
                )
            meant = _what_is_meant(error, download, request)
            if (
                isinstance(meant, TruncatedError)
                and len(self._truncated) < _MOST_TRUNCATED
            ):
                self._truncated.add(request.url)
            if meant is not None:
                raise meant from error
            read = _read_despite(error, download, most_bytes)
            if read is None:
                raise
            response = read
        finally:
            self.end(request)
        self._truncated.discard(request.url)
        is_stopped = most_bytes > 0 and "download_stopped" in response.flags
        if is_stopped and not (download.cut or download.is_late):
            raise StoppedByProjectError
        return response, download

    def begin(
        self,
        request: Request,
        most_bytes: int,
        seconds: float,
        *,
        is_watched: bool = True,
    ) -> Download:
        """Limit a request from now on."""
        if not self.is_notified and not self._downloads:
            self._crawler.signals.connect(self.response_downloaded, _RESPONSE)
        if is_watched and not self._watched:
            self._crawler.signals.connect(
                self._headers_received, scrapy.signals.headers_received
            )
            self._crawler.signals.connect(
                self._bytes_received, scrapy.signals.bytes_received
            )
        if is_watched:
            self._watched.add(request)
        if self._unpacks:
            request.headers.setdefault("Accept-Encoding", ACCEPTED)
        download = Download(most_bytes, seconds, self._now(), is_watched=is_watched)
        self._downloads[request] = download
        return download

    def end(self, request: Request) -> None:
        """Lift the limits: the request has ended."""
        download = self._downloads.pop(request, None)
        if download is None:
            return
        if not self.is_notified and not self._downloads:
            self._crawler.signals.disconnect(self.response_downloaded, _RESPONSE)
        if not download.is_watched:
            return
        self._watched.discard(request)
        if not self._watched:
            receiver = self._headers_received
            self._crawler.signals.disconnect(receiver, scrapy.signals.headers_received)
            self._crawler.signals.disconnect(
                self._bytes_received, scrapy.signals.bytes_received
            )

    def begin_sitemap(self, request: Request, most_bytes: int) -> None:
        """Limit a request for a sitemap from now on."""
        if request.meta.get("download_maxsize") == _ANY_SIZE:  # by `second_request`
            self.begin(request, most_bytes, inf)
        else:
            request.meta["download_maxsize"] = min(most_bytes, self._most_of_pages)

    def second_request(self, request: Request, error: Exception) -> Request | None:
        """Return a request for a sitemap that was too long, to be cut.

        None: it was not. None, too, if it is longer than DOWNLOAD_MAXSIZE.
        """
        self.end(request)
        most = request.meta.get("download_maxsize", _ANY_SIZE)
        if (
            CITED not in request.meta
            or most >= self._most_of_pages
            or not _is_cancelled(error)
        ):
            return None
        meta = {**request.meta, "download_maxsize": _ANY_SIZE}
        return request.replace(meta=meta, dont_filter=True)

    def _headers_received(self, request: Request, headers: Headers) -> None:
        download = self._downloads.get(request)
        if download is None:
            return
        download.headers = headers
        # Time spent waiting in the download slot does not count.
        if "download_latency" in request.meta:
            download.began = self._now() - request.meta["download_latency"]
        if not download.most_bytes:
            raise StopDownload(fail=False)

    def _bytes_received(self, data: bytes, request: Request) -> None:
        download = self._downloads.get(request)
        if download is None:
            return
        download.received += len(data)
        if download.collects:
            download.body += data[: download.most_bytes - len(download.body)]
        if download.received > download.most_bytes:
            download.cut = f"is longer than {download.most_bytes} bytes"
        # the handler may never end
        elif self._now() - download.began >= download.seconds:
            download.is_late = not _has_all(download)
        if download.cut or download.is_late:
            raise StopDownload(fail=False)

    def response_downloaded(self, response: Response, request: Request) -> None:
        """Note the response to a request, if the request is limited."""
        if CITED in request.meta:
            self.end(request)
            # HttpCompressionMiddleware would decompress it at once. Its reader does so
            # in steps.
            request.meta["download_maxsize"] = MOST_AT_ONCE
            if codings_of(response.headers) in (["gzip"], ["x-gzip"]):
                del response.headers["Content-Encoding"]
            return
        download = self._downloads.get(request)
        if download is None:
            return
        download.is_done = True
        self.drop_place(request)
        # time spent waiting in the download slot does not count
        if not download.is_watched:
            download.began = self._now() - request.meta.get("download_latency", 0.0)
        # The handler has used it for the wire size; HttpCompressionMiddleware reads it
        # next.
        request.meta["download_maxsize"] = _INFLATED * download.most_bytes
        if "Content-Encoding" in response.headers:
            # A copy: HttpCompressionMiddleware changes the headers.
            download.packed = response.replace(headers=response.headers.copy())


def _is_cancelled(error: Exception) -> bool:
    """Whether a download was too large.

    Scrapy's exception, or without a length Twisted's.
    """
    return type(error).__name__.endswith("CancelledError")


def _has_all(download: Download) -> bool:
    if download.headers is None:
        return False
    length = download.headers.get("Content-Length") or b""
    return length.isdigit() and download.received >= int(length[:20])


def _what_is_meant(
    error: Exception, download: Download, request: Request
) -> Exception | None:
    """Explain an error of a response that has begun; None: it explains itself."""
    most = download.most_bytes
    if isinstance(error, (StopDownload, IgnoreRequest)):
        return None
    # raised by a middleware, in Scrapy's own by the library of a coding
    if download.is_done:
        if download.packed is None:
            return None
        return _what_packed_means(error, download.packed, most)
    if download.headers is None and "download_latency" not in request.meta:
        return None
    if failure_of(error) not in SILENT:  # of the handler, e.g. for a malformed header
        return UnreadableBodyError(f"its answer cannot be read: {error}")
    body = bytes(download.body)
    if download.headers is not None:
        with suppress(UnreadableBodyError):
            body = unpack(body, codings_of(download.headers), most + 1).body
    return TruncatedError(body[:most], error)


def _read_despite(error: Exception, download: Download, most: int) -> Response | None:
    """Return a response that Scrapy cannot decode, or drops because it is too long.

    Plain text that is labelled as compressed is read as it is.
    """
    packed = download.packed
    if packed is None:
        return None
    is_text = bool(codings_of(packed.headers)) and is_plain(packed.body)
    if not is_text and not isinstance(error, IgnoreRequest):
        return None
    response = unpacked(packed, most + 1)
    if len(response.body) > most:
        download.cut = f"is longer than {most} bytes"
    elif not is_text:  # dropped for another reason
        return None
    return response


def _what_packed_means(
    error: Exception, packed: Response, most: int
) -> Exception | None:
    """Explain an error of a complete compressed body; None: the cause is elsewhere."""
    try:
        found = unpack(packed.body, codings_of(packed.headers), most + 1)
    except UnknownCodingError:
        return None
    except UnreadableBodyError as unreadable:
        unreadable.packed = packed
        return unreadable
    if found.is_whole:
        return None
    return TruncatedError(found.body[:most], error)


def unpacked(response: Response, most_bytes: int) -> Response:
    """Return a compressed response with at most so many bytes of its body, decoded.

    Raises:
        UnreadableBodyError: its Content-Encoding is wrong or not supported.
    """
    body = unpack(response.body, codings_of(response.headers), most_bytes).body
    headers = response.headers.copy()
    del headers["Content-Encoding"]
    return response.replace(body=body, headers=headers)
