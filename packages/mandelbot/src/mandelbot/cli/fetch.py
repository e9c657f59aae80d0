"""Fetches a URL with ``urllib.request``: no Scrapy, no crawl.

One deadline holds for the whole download: names, connections, redirects, headers and
body. It runs in a thread, as neither the resolver of the system nor a server that sends
a byte now and then ends by itself. Proxies are those of the environment. Nothing is
retried, cached, obeyed or paused.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from http.client import HTTPException, HTTPResponse
from threading import Thread
from urllib.request import (
    HTTPHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    UnknownHandler,
)

from w3lib.url import safe_url_string

from mandelbot.answers.content_codings import (
    UnknownCodingError,
    UnreadableBodyError,
    codings_in,
    is_plain,
    unpack,
)
from mandelbot.answers.failures import (
    error_text,
    failure_of,
    names_no_host,
    without_traceback,
)
from mandelbot.answers.outcome import Answer, Failure
from mandelbot.formatting import shown
from mandelbot.origins import without_user
from mandelbot.robotstxt.agents import header_text
from mandelbot.sitemaps.urls import absolute_url

# RFC 9309, section 2.3.1.2, asks for five at least; ten are read everywhere in this
# package.
_MAX_REDIRECTS = 10
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_PIECE = 65_536  # bytes
_CODINGS = "gzip, deflate"


@dataclass(frozen=True)
class Fetched:
    """What became of a request: a response, or a failure."""

    final_url: str
    redirects: int
    seconds: float
    """From the first request to the last byte, or to the deadline."""
    status: int | None = None
    body: bytes = b""
    """Unpacked."""
    content_encoding: str = ""
    """The header; empty if the body was unpacked. Of a failure: the coding that does
    not hold.
    """
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
            is_url = (
                not location
                or absolute_url(self.final_url, location.strip()) is not None
            )
            failure = Failure.NOWHERE if is_url else Failure.BAD_REDIRECT
            return Answer(failure=failure, detail=f"{self.redirects} hops")
        return Answer(self.status, self.failure, self.detail)

    @property
    def is_encoded(self) -> bool:
        """Whether the body is encoded if the header says so."""
        return not (self.content_encoding and is_plain(self.body))

    @property
    def trouble(self) -> str:
        """Why there is no response; empty: there is one."""
        if self.failure is None:
            return ""
        detail = ""
        if self.failure is Failure.OTHER:
            detail = f" ({self.detail})"
        return f"{shown(self.final_url)}: {self.failure.value}{detail}"


@cache
def _tls(*, verify: bool) -> ssl.SSLContext:
    """Return the TLS context of all downloads.

    To read the system's certificates takes longer than most downloads do.
    """
    context = ssl.create_default_context()
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


class TimedDownload(Thread):
    """The download of a URL for one robot, and what has come of it so far.

    Args:
        url: where it begins.
        user_agent: the header.
        may_redirect: whether a site, given by a URL, may redirect to another URL.
        verify: whether certificates must be valid.
    """

    def __init__(
        self,
        url: str,
        user_agent: str,
        may_redirect: Callable[[str, str], bool],
        *,
        verify: bool = True,
    ) -> None:
        super().__init__(daemon=True)
        self._headers = {
            "User-Agent": user_agent,
            "Accept": "*/*",
            "Accept-Encoding": _CODINGS,
        }
        self._may_redirect = may_redirect
        # where it was redirected to, the last one last
        self._urls = [without_user(url)]
        # the last one, once its headers are there
        self._response: HTTPResponse | None = None
        self._body = bytearray()  # as sent, up to one byte more than it may have
        self._is_body_whole = False
        self._error: BaseException = TimeoutError("the download took too long")
        self._max_bytes = 0
        self._timeout = 0.0
        self._opener = OpenerDirector()
        https = HTTPSHandler(context=_tls(verify=verify))
        for handler in (ProxyHandler(), UnknownHandler(), HTTPHandler(), https):
            self._opener.add_handler(handler)

    def fetch(
        self,
        max_bytes: int,
        timeout: float,
        join: Callable[[Thread, float], None] = Thread.join,
    ) -> Fetched:
        """Fetch the URL within a number of seconds, and follow its redirects.

        Never raises. A body that is longer is read up to `max_bytes`, one that is late
        as far as it came. `join` waits for a thread, so many seconds at most.
        """
        self._max_bytes = max_bytes
        self._timeout = timeout
        began = time.monotonic()
        self.start()
        join(self, timeout)
        seconds = timeout if self.is_alive() else time.monotonic() - began
        fetched = partial(Fetched, self._urls[-1], len(self._urls) - 1, seconds)
        response = self._response
        is_whole = self._is_body_whole
        body = bytes(self._body)
        if response is None:
            return fetched(
                failure=_failure_of(self._error), detail=error_text(self._error)
            )
        given = response.headers
        headers = {
            name.lower(): ", ".join(map(str, given.get_all(name, ()))) for name in given
        }
        encoding = headers.get("content-encoding", "")
        try:
            with suppress(UnknownCodingError):
                unpacked = unpack(body, codings_in(encoding), max_bytes + 1)
                is_whole = is_whole and (unpacked.is_whole or len(body) > max_bytes)
                is_encoded = unpacked.body != body or not encoding
                body = unpacked.body
                encoding = "" if is_encoded else encoding
        except UnreadableBodyError as error:
            detail = error_text(error)
            return fetched(
                failure=Failure.LOST, detail=detail, content_encoding=encoding
            )
        return fetched(
            status=response.status,
            body=body[: max_bytes + 1],
            content_encoding=encoding,
            is_incomplete=not is_whole,
            headers=headers,
        )

    def run(self) -> None:
        """Follow the redirects, and read the last response."""
        try:
            while (target := self._next_url(response := self._open())) is not None:
                response.close()
                self._urls.append(target)
            self._response = response
            with response:
                self._read(response)
        except (OSError, HTTPException, ValueError) as error:
            # its frames hold a socket, and this object
            self._error = without_traceback(error)

    def _open(self) -> HTTPResponse:
        url = self._urls[-1]
        if names_no_host(url):
            raise socket.gaierror("no host can have this name")
        request = Request(safe_url_string(url), headers=self._headers)  # noqa: S310 - http alone
        response: HTTPResponse = self._opener.open(request, timeout=self._timeout)
        return response

    def _next_url(self, response: HTTPResponse) -> str | None:
        """Return where a response redirects to.

        None: nowhere, or not where we may go.
        """
        urls = self._urls
        location = response.headers.get("Location")
        if response.status not in _REDIRECTS or not location:
            return None
        written = header_text(location.encode("latin-1", "replace")).strip()
        target = absolute_url(urls[-1], written)
        if target is None or len(urls) > _MAX_REDIRECTS:
            return None
        target = without_user(target)
        may_redirect = target not in urls and self._may_redirect(urls[0], target)
        return target if may_redirect else None

    def _read(self, response: HTTPResponse) -> None:
        # In Python 3.10 and 3.11 read1() counts nothing down, and waits for more than
        # there is.
        left = response.length
        while left != 0 and len(self._body) <= self._max_bytes:
            piece = response.read1(_PIECE if left is None else min(_PIECE, left))
            if not piece:
                break
            self._body += piece
            left = None if left is None else left - len(piece)
        self._is_body_whole = not left or len(self._body) > self._max_bytes


def _failure_of(error: BaseException) -> Failure:
    failure = failure_of(error)
    # The text of http.client's error when a proxy refuses.
    is_refused = failure is Failure.OTHER and "Tunnel connection failed" in str(error)
    return Failure.UNREACHABLE if is_refused else failure
