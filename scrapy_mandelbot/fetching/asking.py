"""Asking a site for its robots.txt: the request, where it is redirected, what comes of it."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

from scrapy_mandelbot.events import (
    ROBOTS_ASKED,
    ROBOTS_ASKED_IN_VAIN,
    ROBOTS_CUT,
    ROBOTS_EXCEPTION,
    ROBOTS_RESPONSE,
    ROBOTS_SLOW,
)
from scrapy_mandelbot.fetching.download_limits import DownloadLimits, whole_lines
from scrapy_mandelbot.fetching.failures import failure_of
from scrapy_mandelbot.fetching.redirects import follow
from scrapy_mandelbot.fetching.sending import in_words, own_request
from scrapy_mandelbot.politeness import (
    IMPOSSIBLE_PATH,
    Answer,
    Failure,
    conditions,
    parse_retry_after,
    robots_url,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_mandelbot.config import Config
    from scrapy_mandelbot.events import Events
    from scrapy_mandelbot.fetching.download_limits import Download
    from scrapy_mandelbot.politeness import Outcome
    from scrapy_mandelbot.stores import Copy

_NOBODY = frozenset({Failure.NO_SUCH_HOST, Failure.OTHER})
_SLOW = 0.5  # of the timeout: a site that is as slow as this is soon too slow
_LIKE_THE_ASKING_REQUEST = ("proxy", "_auth_proxy", "download_slot", "bindaddress")


@dataclass(frozen=True)
class Asked:
    """What came of asking a site for its robots.txt."""

    answer: Answer
    url: str
    """Where it was in the end, redirects followed."""
    response: Response | None = None
    body: bytes = b""
    """As far as it counts."""
    cut: str = ""
    """Why the rest of the body was not read, if it was not."""
    seconds: float = 0.0
    error: BaseException | None = None

    def validator(self, name: str) -> str | None:
        """Return a validator of the answer: its ``ETag`` or ``Last-Modified``."""
        value = self.response.headers.get(name) if self.response is not None else None
        return None if value is None else value.decode("latin-1")


class RobotsAsker:
    """Sends the requests for robots.txt files, past all that is meant for pages."""

    def __init__(self, crawler: Crawler, config: Config, now: Callable[[], float]) -> None:
        self._crawler = crawler
        self._config = config
        self._now = now
        self._limits = DownloadLimits(crawler, now)

    async def ask(self, site: str, request: Request, priority: int, copy: Copy | None) -> Asked:
        """Ask the site, following redirects across sites. Nothing that goes wrong is raised.

        Args:
            site: the site asked.
            request: the request that wants to know; the file is asked for on the way that it goes.
            priority: of the requests.
            copy: the site's last copy, which may be confirmed.
        """

        async def send(url: str) -> tuple[Response, Download]:
            headers = conditions(copy.etag, copy.last_modified) if copy and copy.url == url else {}
            wanted = self._request(url, request, priority, headers)
            return await self._download(wanted, self._config.robots_max_bytes)

        trail = await follow(
            robots_url(site),
            self._config.robots_max_redirects,
            send,
            lambda url: self._config.may_send(site, url),
        )
        if trail.error is not None:
            failure = failure_of(trail.error)
            # The site is there; where it redirects to may not be.
            if failure not in _NOBODY or len(trail.urls) == 1:
                answer = Answer(failure=failure, detail=in_words(trail.error))
                return Asked(answer, trail.url, error=trail.error)
        elif not trail.leads_nowhere and trail.response is not None and trail.download is not None:
            return self._asked(trail.url, trail.response, trail.download)
        detail = f"{len(trail.urls)} hops"
        return Asked(Answer(failure=Failure.NOWHERE, detail=detail), trail.url)

    async def misreports(self, site: str, request: Request, priority: int, status: int) -> bool:
        """Return whether the site answers a 5xx status where it means 404.

        It does if it answers below 400 for ``/``, and this status for a path that cannot exist.
        """
        return await self._status(site + "/", request, priority) in range(
            HTTPStatus.OK, HTTPStatus.BAD_REQUEST
        ) and status == await self._status(site + IMPOSSIBLE_PATH, request, priority)

    async def _status(self, url: str, request: Request, priority: int) -> int | None:
        try:
            response, _ = await self._download(self._request(url, request, priority, {}), 0)
        except Exception:  # noqa: BLE001 -- no answer proves nothing
            return None
        return response.status

    def _asked(self, url: str, response: Response, download: Download) -> Asked:
        retry_after = parse_retry_after(response.headers.get("Retry-After"), self._now())
        # A handler that sends no signals has read on.
        too_long = len(response.body) > self._config.robots_max_bytes
        cut = download.cut or (f"is longer than {download.most_bytes} bytes" if too_long else "")
        body = response.body[: self._config.robots_max_bytes]
        return Asked(
            Answer(response.status, retry_after=retry_after),
            url,
            response,
            whole_lines(body) if cut else body,
            cut,
            self._now() - download.began,
        )

    def _request(
        self, url: str, request: Request, priority: int, headers: dict[str, str]
    ) -> Request:
        meta = {key: request.meta[key] for key in _LIKE_THE_ASKING_REQUEST if key in request.meta}
        timeout = self._config.robots_timeout
        wanted = own_request(url, timeout, meta, priority=priority, headers=headers)
        if "Proxy-Authorization" in request.headers:
            wanted.headers["Proxy-Authorization"] = request.headers["Proxy-Authorization"]
        return wanted

    async def _download(self, request: Request, most_bytes: int) -> tuple[Response, Download]:
        return await self._limits.download(request, most_bytes, self._config.robots_timeout)


def tell_of_answer(
    events: Events, site: str, asked: Asked, outcome: Outcome, timeout: float
) -> None:
    """Tell how a site answered. That it pauses for it, the throttle tells.

    Args:
        events: of the crawl.
        site: the site asked.
        asked: its answer.
        outcome: what that means.
        timeout: seconds that the answer may take.
    """
    failure = asked.answer.failure
    is_odd = outcome.case == "misreported_5xx" or failure is Failure.NO_SUCH_HOST
    event = ROBOTS_ASKED_IN_VAIN if is_odd else ROBOTS_ASKED
    events.tell(event, site=site, reason=outcome.reason, case=outcome.case)
    if asked.answer.status is not None:
        events.count(ROBOTS_RESPONSE, status=asked.answer.status)
    elif asked.error is not None and failure is not Failure.DROPPED:
        events.count(ROBOTS_EXCEPTION, error=type(asked.error))
    if asked.cut:
        events.tell(ROBOTS_CUT, site=site, cut=asked.cut)
    elif asked.seconds > _SLOW * timeout:
        events.tell(ROBOTS_SLOW, site=site, seconds=asked.seconds, most=timeout)
