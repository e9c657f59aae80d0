"""Fetches a URL with ``urllib.request``: no Scrapy, no crawl.

One deadline holds for the whole download: names, connections, redirects, headers and body. Proxies
are those of the environment. Nothing is retried, cached, obeyed or paused.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from io import BufferedReader, RawIOBase
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.error import URLError
from urllib.request import (
    AbstractHTTPHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    UnknownHandler,
)

from w3lib.url import safe_url_string

from scrapy_mandelbot.fetching.content_codings import (
    UnknownCodingError,
    UnreadableBodyError,
    codings_in,
    unpack,
)
from scrapy_mandelbot.fetching.failures import failure_of, names_no_host
from scrapy_mandelbot.politeness.outcome import Answer, Failure
from scrapy_mandelbot.robots.formatting import shown
from scrapy_mandelbot.robots.origins import without_user
from scrapy_mandelbot.robots.robotstxt.agents import header_text
from scrapy_mandelbot.robots.sitemaps.urls import absolute_url

if TYPE_CHECKING:
    Connect = Callable[[tuple[str, int], Callable[[], float]], socket.socket]

# RFC 9309, section 2.3.1.2, asks for five at least; ten are read everywhere in this package.
_MAX_REDIRECTS = 10
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_PIECE = 65_536  # bytes
_CODINGS = "gzip, deflate"


@dataclass(frozen=True)
class Fetched:
    """What became of a request: a response, or a failure."""

    url: str
    timeout: float
    """Seconds that the whole download could take."""
    final_url: str
    redirects: int
    seconds: float
    """From the first request to the last byte."""
    status: int | None = None
    body: bytes = b""
    """Unpacked."""
    content_type: str = ""
    content_encoding: str = ""
    """The header; empty if the body was unpacked. Of a failure: the coding that does not hold."""
    failure: Failure | None = None
    detail: str = ""
    is_incomplete: bool = False
    """Whether the body was truncated."""
    headers: dict[str, str] = field(default_factory=dict)
    """By name in lower case; repeated ones are joined by a comma."""

    @property
    def answer(self) -> Answer:
        """The response as the table of outcomes takes it."""
        if self.failure is None and self.status in _REDIRECTS:
            location = self.headers.get("location", "")
            is_url = not location or absolute_url(location.strip(), self.final_url) is not None
            failure = Failure.NOWHERE if is_url else Failure.BAD_REDIRECT
            return Answer(failure=failure, detail=f"{self.redirects} hops")
        return Answer(self.status, self.failure, self.detail)

    @property
    def trouble(self) -> str:
        """Why there is no response; empty: there is one."""
        if self.failure is None:
            return ""
        detail = f" ({self.detail})" if self.failure is Failure.OTHER else ""
        return f"{shown(self.final_url)}: {self.failure.value}{detail}"


def connect(address: tuple[str, int], left: Callable[[], float]) -> socket.socket:
    """Connect to a host, within the seconds that are left."""
    places = _places(address, left())
    error: OSError = OSError("no address")
    for number, (family, kind, protocol, _, place) in enumerate(places):
        sock = socket.socket(family, kind, protocol)
        try:
            sock.settimeout(left() / (len(places) - number))
            sock.connect(place)
            sock.settimeout(left())  # for the TLS handshake and the request
        except OSError as one:
            sock.close()
            error = one
        else:
            return sock
    raise error


def _places(address: tuple[str, int], seconds: float) -> list[Any]:
    """Resolve a name in a thread: the resolver of the system knows no deadline."""
    found: SimpleQueue[list[Any] | Exception] = SimpleQueue()

    def resolve() -> None:
        try:
            found.put(socket.getaddrinfo(*address, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            found.put(error)

    Thread(target=resolve, daemon=True).start()
    try:
        places = found.get(timeout=seconds)
    except Empty:
        raise TimeoutError("the name was not resolved in time") from None
    if isinstance(places, Exception):
        raise places
    return places


class Fetcher:
    """Fetches URLs for one robot.

    Args:
        user_agent: the header.
        may_redirect: whether a site, given by a URL, may redirect to another URL.
        verify: whether certificates must be valid.
        now: a monotonic clock, in seconds.
        connect: makes a connection.
    """

    def __init__(
        self,
        user_agent: str,
        may_redirect: Callable[[str, str], bool],
        *,
        verify: bool = True,
        now: Callable[[], float] = time.monotonic,
        connect: Connect = connect,
    ) -> None:
        self._headers = {"User-Agent": user_agent, "Accept": "*/*", "Accept-Encoding": _CODINGS}
        self._may_redirect = may_redirect
        self._verify, self._now, self._connect = verify, now, connect

    def fetch(self, url: str, max_bytes: int, timeout: float) -> Fetched:
        """Fetch a URL within a number of seconds, and follow its redirects. Never raises.

        A body that is longer is read up to `max_bytes`, one that is late as far as it came.
        """
        download = _TimedDownload(self._now, timeout, self._connect)
        urls = [without_user(url)]
        fetched = partial(Fetched, url, timeout)
        encoding = ""
        try:
            while True:
                response = self._open(urls[-1], download)
                target = self._target(response, urls)
                if target is None:
                    break
                response.close()
                urls.append(target)
            with response:
                body = download.read(response, max_bytes)
            headers = _headers_of(response)
            encoding = headers.get("content-encoding", "")
            whole, is_whole = body.octets, body.is_whole
            with suppress(UnknownCodingError):
                unpacked = unpack(whole, codings_in(encoding), max_bytes + 1)
                whole, encoding = unpacked.body, ""
                is_whole = is_whole and (unpacked.is_whole or len(body.octets) > max_bytes)
        except (OSError, HTTPException, ValueError) as error:
            coding = encoding if isinstance(error, UnreadableBodyError) else ""
            return fetched(
                *(urls[-1], len(urls) - 1, download.seconds),
                failure=_failure_of(error),
                detail=shown(" ".join(f"{type(error).__name__}: {str(error)[:1_000]}".split())),
                content_encoding=coding,
            )
        return fetched(
            *(urls[-1], len(urls) - 1, max(download.seconds, timeout if body.is_late else 0)),
            status=response.status,
            body=whole[: max_bytes + 1],
            content_type=headers.get("content-type", ""),
            content_encoding=encoding,
            is_incomplete=not is_whole,
            headers=headers,
        )

    def _open(self, url: str, download: _TimedDownload) -> HTTPResponse:
        """Return the response to one request, whatever its status."""
        if names_no_host(url):
            raise socket.gaierror("no host can have this name")
        opener = OpenerDirector()
        for handler in (ProxyHandler(), UnknownHandler(), _Handler(download, verify=self._verify)):
            opener.add_handler(handler)
        request = Request(safe_url_string(url), headers=self._headers)  # noqa: S310 - http alone
        response: HTTPResponse = opener.open(request, timeout=download.left())
        return response

    def _target(self, response: HTTPResponse, urls: list[str]) -> str | None:
        """Return where a response redirects to; None: nowhere, or not where we may go."""
        location = response.headers.get("Location")
        if response.status not in _REDIRECTS or not location:
            return None
        target = absolute_url(header_text(location.encode("latin-1", "replace")).strip(), urls[-1])
        if target is None or len(urls) > _MAX_REDIRECTS:
            return None
        target = without_user(target)
        return target if target not in urls and self._may_redirect(urls[0], target) else None


class _Body(NamedTuple):
    octets: bytes
    is_whole: bool
    is_late: bool = False


class _TimedDownload:
    """One download: its deadline, and connections that keep it."""

    def __init__(
        self,
        now: Callable[[], float],
        timeout: float,
        connect: Connect,
    ) -> None:
        self._now, self._connect = now, connect
        self._began, self._timeout = now(), timeout

    @property
    def seconds(self) -> float:
        """How long it has taken."""
        return self._now() - self._began

    def left(self) -> float:
        """Return the seconds that are left; TimeoutError: none are."""
        left = self._timeout - self.seconds
        if left <= 0:
            raise TimeoutError("the download took too long")
        return left

    def connection(self, kind: type[HTTPConnection], host: str, **options: Any) -> HTTPConnection:
        """Return a connection whose every read keeps the deadline.

        A timeout of a socket begins anew with each read: a server that sends a byte now and then
        holds it for ever.
        """
        connection: Any = kind(host, **options)
        # http.client has this attribute to be replaced.
        connection._create_connection = lambda address, *_: self._connect(  # noqa: SLF001
            address, self.left
        )
        connection.response_class = self._response
        return connection  # type: ignore[no-any-return]

    def _response(self, sock: socket.socket, *arguments: Any, **options: Any) -> HTTPResponse:
        response = HTTPResponse(sock, *arguments, **options)
        raw: Any = response.fp.detach()
        response.fp = BufferedReader(_TimedReader(raw, sock, self.left))
        return response

    def read(self, response: HTTPResponse, max_bytes: int) -> _Body:
        """Read a body, up to one byte more than it may have."""
        body = bytearray()
        # In Python 3.10 and 3.11 read1() counts nothing down, and waits for more than there is.
        left = response.length
        try:
            while left != 0 and len(body) <= max_bytes:
                piece = response.read1(_PIECE if left is None else min(_PIECE, left))
                if not piece:
                    break
                body += piece
                left = None if left is None else left - len(piece)
        except (OSError, HTTPException) as error:
            return _Body(bytes(body), is_whole=False, is_late=isinstance(error, TimeoutError))
        return _Body(bytes(body), is_whole=not left or len(body) > max_bytes)


class _TimedReader(RawIOBase):
    """Reads from a socket; each read waits no longer than the deadline."""

    def __init__(self, raw: RawIOBase, sock: socket.socket, left: Callable[[], float]) -> None:
        self._raw, self._sock, self._left = raw, sock, left

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._sock.settimeout(self._left())
        count: int | None = self._raw.readinto(buffer)
        with suppress(TimeoutError):
            self._sock.settimeout(self._left())  # a handshake through a proxy may follow
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Handler(AbstractHTTPHandler):
    """Makes connections of a download."""

    def __init__(self, download: _TimedDownload, *, verify: bool) -> None:
        super().__init__()
        self._download, self._verify = download, verify

    def http_open(self, request: Request) -> HTTPResponse:
        return self.do_open(partial(self._download.connection, HTTPConnection), request)

    def https_open(self, request: Request) -> HTTPResponse:
        context = ssl.create_default_context()
        if not self._verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        kind = partial(self._download.connection, HTTPSConnection)
        return self.do_open(kind, request, context=context)

    http_request = https_request = AbstractHTTPHandler.do_request_


def _headers_of(response: HTTPResponse) -> dict[str, str]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for name, value in response.headers.items():
        found[name.lower()].append(str(value))
    return {name: ", ".join(values) for name, values in found.items()}


_PROXY_REFUSES = "Tunnel connection failed"  # what http.client says of a proxy


def _failure_of(error: Exception) -> Failure:
    reason: object = error.reason if isinstance(error, URLError) else error
    if not isinstance(reason, BaseException):
        reason = error
    if isinstance(reason, HTTPException):  # what came makes no sense
        return Failure.LOST
    failure = failure_of(reason)
    if failure is Failure.OTHER and str(reason).startswith(_PROXY_REFUSES):
        return Failure.UNREACHABLE
    return failure
