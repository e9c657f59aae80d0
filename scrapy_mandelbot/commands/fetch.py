"""Fetches a URL with ``urllib.request``: no Scrapy, no crawl.

One deadline holds for the whole download: names, connections, redirects, headers and body. It runs
in a thread, as neither the resolver of the system nor a server that sends a byte now and then ends
by itself. Proxies are those of the environment. Nothing is retried, cached, obeyed or paused.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
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

from scrapy_mandelbot.fetching.content_codings import (
    UnknownCodingError,
    UnreadableBodyError,
    codings_in,
    unpack,
)
from scrapy_mandelbot.fetching.failures import error_text, failure_of, names_no_host
from scrapy_mandelbot.politeness.outcome import Answer, Failure
from scrapy_mandelbot.robots.formatting import shown
from scrapy_mandelbot.robots.origins import without_user
from scrapy_mandelbot.robots.robotstxt.agents import header_text
from scrapy_mandelbot.robots.sitemaps.urls import absolute_url

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


class Fetcher:
    """Fetches URLs for one robot.

    Args:
        user_agent: the header.
        may_redirect: whether a site, given by a URL, may redirect to another URL.
        verify: whether certificates must be valid.
        join: waits for a thread, so many seconds at most.
    """

    def __init__(
        self,
        user_agent: str,
        may_redirect: Callable[[str, str], bool],
        *,
        verify: bool = True,
        join: Callable[[Thread, float], None] = Thread.join,
    ) -> None:
        self.headers = {"User-Agent": user_agent, "Accept": "*/*", "Accept-Encoding": _CODINGS}
        self.may_redirect, self._join = may_redirect, join
        context = ssl.create_default_context()
        if not verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        self.opener = OpenerDirector()
        https = HTTPSHandler(context=context)
        for handler in (ProxyHandler(), UnknownHandler(), HTTPHandler(), https):
            self.opener.add_handler(handler)

    def fetch(self, url: str, max_bytes: int, timeout: float) -> Fetched:
        """Fetch a URL within a number of seconds, and follow its redirects. Never raises.

        A body that is longer is read up to `max_bytes`, one that is late as far as it came.
        """
        download = _TimedDownload(self, without_user(url), max_bytes, timeout)
        began = time.monotonic()
        download.start()
        self._join(download, timeout)
        seconds = timeout if download.is_alive() else time.monotonic() - began
        fetched = partial(Fetched, url, timeout, download.urls[-1], len(download.urls) - 1, seconds)
        response, is_whole, body = download.response, download.is_whole, bytes(download.body)
        if response is None:
            error = download.error or TimeoutError("the download took too long")
            return fetched(failure=_failure_of(error), detail=error_text(error))
        given = response.headers
        headers = {name.lower(): ", ".join(map(str, given.get_all(name, ()))) for name in given}
        encoding = headers.get("content-encoding", "")
        try:
            with suppress(UnknownCodingError):
                unpacked = unpack(body, codings_in(encoding), max_bytes + 1)
                is_whole = is_whole and (unpacked.is_whole or len(body) > max_bytes)
                body, encoding = unpacked.body, ""
        except UnreadableBodyError as error:
            detail = error_text(error)
            return fetched(failure=Failure.LOST, detail=detail, content_encoding=encoding)
        return fetched(
            status=response.status,
            body=body[: max_bytes + 1],
            content_encoding=encoding,
            is_incomplete=not is_whole,
            headers=headers,
        )


class _TimedDownload(Thread):
    """A download, and what has come of it so far."""

    def __init__(self, fetcher: Fetcher, url: str, max_bytes: int, timeout: float) -> None:
        super().__init__(daemon=True)
        self._fetcher, self._max_bytes, self._timeout = fetcher, max_bytes, timeout
        self.urls = [url]  # where it was redirected to, the last one last
        self.response: HTTPResponse | None = None  # the last one, once its headers are there
        self.body = bytearray()  # as sent, up to one byte more than it may have
        self.is_whole = False
        self.error: Exception | None = None  # why there is no response, or not all of it

    def run(self) -> None:
        try:
            while (target := self._next_url(response := self._open())) is not None:
                response.close()
                self.urls.append(target)
            self.response = response
            with response:
                self._read(response)
        except (OSError, HTTPException, ValueError) as error:
            self.error = error

    def _open(self) -> HTTPResponse:
        url = self.urls[-1]
        if names_no_host(url):
            raise socket.gaierror("no host can have this name")
        request = Request(safe_url_string(url), headers=self._fetcher.headers)  # noqa: S310 - http alone
        response: HTTPResponse = self._fetcher.opener.open(request, timeout=self._timeout)
        return response

    def _next_url(self, response: HTTPResponse) -> str | None:
        """Return where a response redirects to; None: nowhere, or not where we may go."""
        urls, location = self.urls, response.headers.get("Location")
        if response.status not in _REDIRECTS or not location:
            return None
        target = absolute_url(header_text(location.encode("latin-1", "replace")).strip(), urls[-1])
        if target is None or len(urls) > _MAX_REDIRECTS:
            return None
        target = without_user(target)
        may_redirect = target not in urls and self._fetcher.may_redirect(urls[0], target)
        return target if may_redirect else None

    def _read(self, response: HTTPResponse) -> None:
        # In Python 3.10 and 3.11 read1() counts nothing down, and waits for more than there is.
        left = response.length
        while left != 0 and len(self.body) <= self._max_bytes:
            piece = response.read1(_PIECE if left is None else min(_PIECE, left))
            if not piece:
                break
            self.body += piece
            left = None if left is None else left - len(piece)
        self.is_whole = not left or len(self.body) > self._max_bytes


def _failure_of(error: Exception) -> Failure:
    failure = failure_of(error)
    # What http.client says of a proxy that refuses.
    is_refused = failure is Failure.OTHER and "Tunnel connection failed" in str(error)
    return Failure.UNREACHABLE if is_refused else failure
