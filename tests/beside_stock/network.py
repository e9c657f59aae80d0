"""Sites that a download handler plays, by the clock of the crawl: no socket, no thread.

A site is a function from what it is asked to what it answers. An answer takes 0.05 s
unless it says otherwise; a connection that is refused, a name that does not resolve and
a site that never answers end as Scrapy's own handlers end them.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from math import inf
from socket import EAI_AGAIN, EAI_NONAME, gaierror
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from loop_time import TIME
from scrapy import signals
from scrapy.http import Headers
from scrapy.responsetypes import responsetypes
from twisted.internet.error import ConnectionLost
from twisted.python.failure import Failure
from twisted.web._newclient import ResponseNeverReceived

try:
    from scrapy.exceptions import (
        CannotResolveHostError,
        DownloadConnectionRefusedError,
        DownloadFailedError,
        DownloadTimeoutError,
    )
except ImportError:  # before Scrapy 2.15 they were Twisted's
    from twisted.internet.error import ConnectionLost as DownloadFailedError
    from twisted.internet.error import (
        ConnectionRefusedError as DownloadConnectionRefusedError,
    )
    from twisted.internet.error import DNSLookupError as CannotResolveHostError
    from twisted.internet.error import TimeoutError as DownloadTimeoutError

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

USUAL = 0.05
"""Seconds until a site answers."""
MOST = 3_000
"""Requests after which a crawl is stopped: it goes round in circles."""


class Fault(Enum):
    """What takes the place of an answer."""

    REFUSED = "connection refused"
    NO_NAME = "the name does not resolve"
    """Now: the resolver cannot be asked."""
    NO_HOST = "no host has the name"
    """The resolver says so."""
    HANG = "no answer"
    LOST = "the connection is lost"
    BROKEN = "an error of the project's own handler"


class Answer(NamedTuple):
    """What a site answers."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = {}
    wait: float = USUAL
    """Seconds until the headers come."""
    body_takes: float = 0.0
    """Seconds from there to the end of the body."""


@dataclass
class Asked:
    """One request, as its site sees it."""

    method: str
    path: str
    """With its query."""
    n: int
    """How often this has been asked for, this time included."""
    t: float
    """Seconds since the first crawl of the cell began."""
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes
    url: str
    host: str
    status: int | Fault = 0
    """How it was answered."""

    @property
    def number(self) -> int:
        """The number at the end of the path, as of ``/page/7``."""
        return int(self.path.rpartition("/")[2].rpartition("=")[2])

    def sends(self, cookie: str) -> bool:
        """Return whether a cookie, as ``"name=value"``, came with the request."""
        return cookie in self.headers.get("cookie", "").split("; ")


SiteAnswers = Callable[[Asked], "Answer | Fault"]


@dataclass
class Network:
    """All sites of a cell, and all that they were asked."""

    sites: dict[str, SiteAnswers]
    """By host; ``"*.example"``: each host of it."""
    proxies: dict[str, bool] = field(default_factory=dict)
    """By URL; True: it works."""
    asked: list[Asked] = field(default_factory=list)
    counts: Counter = field(default_factory=Counter)
    _began: float = field(default_factory=TIME.elapsed)

    @property
    def t(self) -> float:
        return TIME.elapsed() - self._began

    def handler(self) -> type:
        """Return a download handler that asks the sites of this network."""
        return type("Handler", (Handler,), {"network": self})

    def site_of(self, host: str) -> SiteAnswers | None:
        return self.sites.get(host) or self.sites.get(f"*.{host.partition('.')[2]}")


class Handler:
    """Answers requests as the network says."""

    lazy = False
    network: Network

    def __init__(self, crawler: Crawler) -> None:
        self._stop = crawler.stop_async
        self._send = crawler.signals.send_catch_log
        self._timeout = crawler.settings.getfloat("DOWNLOAD_TIMEOUT")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Handler:
        return cls(crawler)

    async def download_request(self, request: Request) -> Response:
        if len(self.network.asked) == MOST:
            self._stopping = asyncio.ensure_future(self._stop())
        timeout = request.meta.get("download_timeout") or self._timeout
        proxy = request.meta.get("proxy")
        if proxy is not None and not self.network.proxies[proxy]:
            await asyncio.sleep(USUAL)
            raise DownloadConnectionRefusedError(f"{proxy} refuses")
        answer = self._ask(request)
        if isinstance(answer, Fault):
            await self._fail(answer, request.url, timeout)
        return await self._deliver(request, answer, timeout)

    def _ask(self, request: Request) -> Answer | Fault:
        network = self.network
        parts = urlsplit(request.url)
        path = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
        key = (request.method, parts.scheme, parts.netloc, path)
        network.counts[key] += 1
        headers = request.headers.to_unicode_dict()
        asked = Asked(
            method=request.method,
            path=path,
            n=network.counts[key],
            t=network.t,
            headers={name.lower(): value for name, value in headers.items()},
            body=request.body,
            url=request.url,
            host=parts.hostname or "",
        )
        site = network.site_of(asked.host)
        answer = Fault.NO_HOST if site is None else site(asked)
        asked.status = answer if isinstance(answer, Fault) else answer.status
        network.asked.append(asked)
        return answer

    async def _fail(self, fault: Fault, url: str, timeout: float) -> None:
        if fault is Fault.HANG:
            await asyncio.sleep(timeout)
            raise DownloadTimeoutError(f"{url} took longer than {timeout} seconds")
        await asyncio.sleep(USUAL)
        if fault is Fault.REFUSED:
            raise DownloadConnectionRefusedError("Connection refused")
        if fault in {Fault.NO_NAME, Fault.NO_HOST}:
            number = EAI_AGAIN if fault is Fault.NO_NAME else EAI_NONAME
            said = gaierror(number, fault.value)
            raise CannotResolveHostError(f"DNS lookup failed: {url}") from said
        if fault is Fault.BROKEN:
            raise AttributeError("'NoneType' object has no attribute 'connection'")
        # as Twisted's client for HTTP/1.1: Scrapy keeps its error as the cause
        lost = ResponseNeverReceived([Failure(ConnectionLost())])
        raise DownloadFailedError("Connection lost") from lost

    async def _deliver(
        self, request: Request, answer: Answer, timeout: float
    ) -> Response:
        if answer.wait + answer.body_takes > timeout != inf:
            await self._fail(Fault.HANG, request.url, timeout)
        await asyncio.sleep(answer.wait)
        request.meta["download_latency"] = answer.wait
        headers = Headers({"Content-Type": "text/html; charset=utf-8"})
        headers.update(answer.headers)
        body = b"" if request.method == "HEAD" else answer.body
        self._send(
            signals.headers_received,
            headers=headers,
            body_length=len(body),
            request=request,
        )
        if answer.body_takes:
            await asyncio.sleep(answer.body_takes)
        self._send(signals.bytes_received, data=body, request=request)
        response = responsetypes.from_args(headers=headers, url=request.url, body=body)
        return response(
            request.url,
            status=answer.status,
            headers=headers,
            body=body,
            request=request,
        )

    async def close(self) -> None:
        """There is nothing to close."""


# What sites answer.


def page(asked: Asked) -> Answer:
    """A page of which no other has the text."""
    return Answer(f"<html><h1>the text of {asked.path}</h1></html>".encode())


def text(body: str | bytes, **headers: str) -> Answer:
    """The same body for all."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(body.encode() if isinstance(body, str) else body, headers=named)


def go(where: str, status: int = 302, **headers: str) -> Answer:
    """A redirect."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(b"", status, {"Location": where, **named})


NOT_THERE = Answer(b"not here", 404)


def with_robots(
    site: SiteAnswers, rules: str | None = "User-agent: *\nDisallow: /no\n"
) -> SiteAnswers:
    """A site with a robots.txt; None: there is none."""

    def answer(asked: Asked) -> Answer | Fault:
        if asked.path != "/robots.txt":
            return site(asked)
        if rules is None:
            return NOT_THERE
        return text(rules, Content_Type="text/plain")

    return answer


class Window:
    """A trouble that lasts for some seconds from its beginning on.

    Or for a number of pages, where `pages` says so.
    """

    def __init__(
        self,
        trouble: Answer | Fault,
        lasts: float,
        begins: float = inf,
        pages: int | None = None,
    ) -> None:
        self.trouble = trouble
        self.lasts = lasts
        self.begins = begins
        self.pages = pages

    def is_on(self, asked: Asked) -> bool:
        """Return whether a request meets the trouble."""
        if self.pages is None:
            return self.begins <= asked.t < self.begins + self.lasts
        if asked.t < self.begins or asked.path == "/robots.txt" or self.pages == 0:
            return False
        self.pages -= 1
        return True

    def over(self, site: SiteAnswers) -> SiteAnswers:
        """The site, with the trouble in place of all its answers meanwhile."""

        def answer(asked: Asked) -> Answer | Fault:
            if self.is_on(asked):
                if isinstance(self.trouble, Answer) and self.trouble.body_takes:
                    good = site(asked)
                    return good._replace(body_takes=self.trouble.body_takes)
                return self.trouble
            return site(asked)

        return answer
