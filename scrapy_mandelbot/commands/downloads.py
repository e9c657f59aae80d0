"""What the command asks sites for: through Scrapy, with the project's agent, proxies, timeouts.

One small spider asks for one URL after the other. Redirects are followed here, so that they can be
counted; nothing is retried, cached, obeyed or paused.
"""

from __future__ import annotations

import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy import Spider

from scrapy_mandelbot.commands.sources import CannotBeHadError
from scrapy_mandelbot.robots.formatting import shown
from scrapy_mandelbot.robots.outcome import Answer, Failure
from scrapy_mandelbot.rules.download_limits import (
    BrokenOffError,
    DownloadLimits,
    UnreadableBodyError,
    breaks_off,
)
from scrapy_mandelbot.rules.failures import failure_of
from scrapy_mandelbot.rules.own_requests import REDIRECTS, follow, in_words, own_request

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable

    from scrapy.crawler import Crawler, CrawlerProcessBase
    from scrapy.http import Response

    from scrapy_mandelbot.rules.download_limits import Download

_MOST_REDIRECTS = 10  # "up to 10 redirections" (Moderatobot, "File access")


class FetchPlan(NamedTuple):
    """A URL to be asked for."""

    url: str
    most_bytes: int
    """As much is read of it."""
    timeout: float
    """Seconds for each answer."""
    on_behalf_of: Any = None
    """Whatever who asked wants to know it by."""


@dataclass(frozen=True)
class FetchedFile:
    """What came of a URL: an answer, or a failure."""

    wanted: FetchPlan
    final_url: str
    redirects: int
    seconds: float
    """From the first request to the last byte."""
    status: int | None = None
    body: bytes = b""
    content_type: str = ""
    content_encoding: str = ""
    """The header's value; of a failure: by which the body cannot be decoded."""
    failure: Failure | None = None
    detail: str = ""
    is_incomplete: bool = False
    """Whether the body broke off before its end."""
    headers: dict[str, str] = field(default_factory=dict)
    """By name in lower case; those that come several times are joined by a comma."""

    @property
    def answer(self) -> Answer:
        """What came, as the outcome's table takes it."""
        if self.failure is None and self.status in REDIRECTS:
            return Answer(failure=Failure.NOWHERE, detail=f"{self.redirects} hops")
        return Answer(self.status, self.failure, self.detail)

    @property
    def trouble(self) -> str:
        """Why there is no answer, in words; empty: there is one."""
        if self.failure is None:
            return ""
        detail = f" ({self.detail})" if self.failure is Failure.OTHER else ""
        return f"{shown(self.final_url)}: {self.failure.value}{detail}"


def fetch(
    process: CrawlerProcessBase,
    wanted: Iterable[FetchPlan],
    visit: Callable[[FetchedFile], Iterable[FetchPlan]],
    progress: Callable[[str], None],
    may_send: Callable[[str, str], bool],
) -> None:
    """Ask for URLs one after the other, and for what `visit` wants then. Blocks to the end.

    A redirect is followed where `may_send` lets the URL asked for first send us.

    Raises:
        CannotBeHadError: nothing can be asked for, or Ctrl-C was pressed.
    """
    session = _Session(deque(wanted), visit, progress, may_send)
    crawling = process.crawl(_AskingSpider, session=session)
    process.start()
    if session.error is not None:
        raise session.error
    if not session.is_done:
        raise CannotBeHadError(_why_it_did_not_start(crawling) or "interrupted")


@dataclass
class _Session:
    """What is asked for in one run of the spider."""

    _wanted: deque[FetchPlan]
    _visit: Callable[[FetchedFile], Iterable[FetchPlan]]
    _progress: Callable[[str], None]
    _may_send: Callable[[str, str], bool]
    is_done: bool = False
    error: Exception | None = None

    async def run(self, crawler: Crawler) -> None:
        limits = DownloadLimits(crawler, time.monotonic)
        try:
            while self._wanted:
                one = self._wanted.popleft()
                self._progress(f"asking for {one.url}")
                self._wanted.extend(self._visit(await _get(limits, one, self._may_send)))
        except Exception as error:  # noqa: BLE001 - the engine would only log it
            self.error = error
        self.is_done = True


class _AskingSpider(Spider):
    name = "robots"
    session: _Session

    async def start(self) -> AsyncIterator[Any]:
        await self.session.run(self.crawler)
        requests: tuple[Any, ...] = ()  # none: they are sent past the scheduler
        for request in requests:
            yield request


async def _get(
    limits: DownloadLimits, wanted: FetchPlan, may_send: Callable[[str, str], bool]
) -> FetchedFile:
    """Ask for one URL, following redirects. Nothing that goes wrong is raised."""
    began = time.monotonic()

    async def send(url: str) -> tuple[Response, Download]:
        request = own_request(url, wanted.timeout)
        return await limits.download(request, wanted.most_bytes, wanted.timeout)

    trail = await follow(wanted.url, _MOST_REDIRECTS, send, lambda url: may_send(wanted.url, url))
    redirects, seconds = len(trail.urls) - 1, time.monotonic() - began
    response, error = trail.response, trail.error
    body = b"" if response is None else response.body
    is_incomplete = isinstance(error, BrokenOffError)
    if isinstance(error, BrokenOffError):  # its status is not known, and the next is as good
        body, seconds = error.body, time.monotonic() - began
        with suppress(Exception):
            request = own_request(trail.url, wanted.timeout)
            response, _ = await limits.download(request, 0, wanted.timeout)
            error = None
    if response is None or error is not None:
        error = error or RuntimeError("no response")
        packed = error.packed if isinstance(error, UnreadableBodyError) else None
        return FetchedFile(
            *(wanted, trail.url, redirects, seconds),
            failure=failure_of(error),
            detail=in_words(error),
            content_encoding="" if packed is None else _header(packed, "Content-Encoding"),
        )
    if trail.response is not None and trail.download is not None:
        is_incomplete = breaks_off(trail.response, trail.download)
        if trail.download.is_late:
            seconds = max(seconds, wanted.timeout)
    return FetchedFile(
        *(wanted, trail.url, redirects, seconds, response.status, body),
        _header(response, "Content-Type"),
        _header(response, "Content-Encoding"),
        is_incomplete=is_incomplete,
        headers={
            name.decode("latin-1").lower(): b", ".join(values).decode("latin-1")
            for name, values in response.headers.items()
        },
    )


def _header(response: Response, name: str) -> str:
    return (response.headers.get(name) or b"").decode("latin-1")


def _why_it_did_not_start(crawling: Any) -> str:
    """Return the error of a crawl that did not come to its first request."""
    try:
        error = crawling.exception() if hasattr(crawling, "exception") else crawling.result.value
    except Exception:  # noqa: BLE001 - there is none, whichever kind of crawl it is
        return ""
    return "" if error is None else f"{type(error).__name__}: {error}"
