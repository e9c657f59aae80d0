"""Asking a site for its robots.txt: the request, where it is redirected, what comes of it."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

from scrapy_mandelbot import engine
from scrapy_mandelbot.events import (
    ROBOTS_ASKED,
    ROBOTS_ASKED_IN_VAIN,
    ROBOTS_BROKEN_OFF,
    ROBOTS_CUT,
    ROBOTS_ERROR,
    ROBOTS_EXCEPTION,
    ROBOTS_RESPONSE,
    ROBOTS_SLOW,
    ROBOTS_TESTED,
)
from scrapy_mandelbot.fetching.content_codings import UnreadableBodyError
from scrapy_mandelbot.fetching.download_limits import (
    BrokenOffError,
    DownloadLimits,
    breaks_off,
    whole_lines,
)
from scrapy_mandelbot.fetching.failures import (
    ProxyFailedError,
    failure_of,
    has_begun,
    names_no_host,
)
from scrapy_mandelbot.fetching.own_requests import follow, in_words, request_on_the_way_of
from scrapy_mandelbot.politeness.outcome import (
    IMPOSSIBLE_PATH,
    SILENT,
    Answer,
    Failure,
    conditions,
    is_fresh,
)
from scrapy_mandelbot.politeness.retry_after import wait_asked_for
from scrapy_mandelbot.robots.origins import robots_url
from scrapy_mandelbot.robots.robotstxt import RobotsTxt
from scrapy_mandelbot.store.contract import CachedRobots

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_mandelbot.events.emitter import Events
    from scrapy_mandelbot.fetching.download_limits import Download
    from scrapy_mandelbot.politeness.outcome import Outcome
    from scrapy_mandelbot.settings.config import Config
    from scrapy_mandelbot.store.contract import Store

_SLOW = 0.5  # of the timeout: a site that is as slow as this is soon too slow


class Asked(NamedTuple):
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
    has_answered: bool = True
    """Whether the host has said anything, were it half of an answer."""

    def validator(self, name: str) -> str | None:
        """Return a validator of the answer: its ``ETag`` or ``Last-Modified``.

        Of half an answer there is none: nothing is to confirm it.
        """
        if self.response is None or self.answer.broken_off:
            return None
        value = self.response.headers.get(name)
        return None if value is None else value.decode("latin-1")


TEST_EVERY = 86_400.0
"""Seconds, at least, from one test of a site that may say 5xx for 404 to the next."""


class RobotsAsker:
    """Sends the requests for robots.txt files, past all that is meant for pages."""

    def __init__(
        self,
        crawler: Crawler,
        config: Config,
        now: Callable[[], float],
        store: Store,
        events: Events,
    ) -> None:
        self._crawler = crawler
        self._config = config
        self._now = now
        self._store = store
        self._events = events
        self.limits = DownloadLimits(crawler, now)

    async def ask(
        self, site: str, request: Request, priority: int, copy: CachedRobots | None
    ) -> Asked:
        """Ask the site, following redirects across sites. Nothing that goes wrong is raised."""

        async def send(url: str) -> tuple[Response, Download]:
            headers = conditions(copy.etag, copy.last_modified) if copy and copy.url == url else {}
            most_bytes = self._config.robots_max_bytes
            return await self._download(url, request, priority, headers, most_bytes)

        trail = await follow(
            robots_url(site),
            self._config.robots_max_redirects,
            send,
            lambda url: self._config.may_send(site, url),
        )
        if isinstance(trail.error, ProxyFailedError):
            return _failed(Failure.PROXY, trail.error.__cause__ or trail.error, trail.urls)
        if trail.error is not None:
            failure = failure_of(trail.error)
            if failure is Failure.OTHER and names_no_host(trail.url):
                failure = Failure.NO_SUCH_HOST
            # The site is there; where it redirects to may not be.
            if failure is not Failure.NO_SUCH_HOST or len(trail.urls) == 1:
                return _failed(failure, trail.error, trail.urls)
        elif not trail.leads_nowhere and trail.response is not None and trail.download is not None:
            return self._asked(trail.url, trail.response, trail.download)
        detail = f"{len(trail.urls)} hops"
        failure = Failure.LOOP if trail.is_loop else Failure.NOWHERE
        return Asked(Answer(failure=failure, detail=detail), trail.url)

    async def misreports(self, site: str, request: Request, priority: int, status: int) -> bool:
        """Return whether the site answers a 5xx status where it means 404.

        It does if it answers below 400 for ``/``, and this status for a path that cannot exist. It
        is asked that once a day at most: what comes of it is kept in the store.
        """
        key, now = site + IMPOSSIBLE_PATH, self._now()
        found = self._store.get_copy(key)
        if found is None or not is_fresh(now, found.fetched_at, TEST_EVERY):
            self._events.tell(ROBOTS_TESTED, site=site, path=IMPOSSIBLE_PATH, status=status)
            is_well = await self._status(site + "/", request, priority) in range(
                HTTPStatus.OK, HTTPStatus.BAD_REQUEST
            )
            missing = await self._status(key, request, priority) if is_well else None
            found = CachedRobots(b"", missing or 0, now, key)
            self._store.put_copy(key, found)
        return found.status == status

    async def with_status(self, asked: Asked, request: Request, priority: int) -> Asked:
        """Return what came of a body that broke off with its status, if that can be had."""
        if asked.answer.status is not None:
            return asked
        status = await self._status(asked.url, request, priority)
        if status is None:
            return asked
        answer = asked.answer._replace(status=status, failure=None, detail="")
        return asked._replace(answer=answer, error=None)

    async def _status(self, url: str, request: Request, priority: int) -> int | None:
        try:
            response, _ = await self._download(url, request, priority)
        except Exception:  # noqa: BLE001 -- no answer proves nothing
            return None
        return response.status

    def _asked(self, url: str, response: Response, download: Download) -> Asked:
        # A handler that sends no signals has read on.
        too_long = len(response.body) > self._config.robots_max_bytes
        cut = download.cut or (f"is longer than {download.most_bytes} bytes" if too_long else "")
        body = response.body[: self._config.robots_max_bytes]
        is_whole = bool(cut) or not breaks_off(response, download)
        retry_after = None
        if not is_whole or response.status >= HTTPStatus.MULTIPLE_CHOICES:
            retry_after = wait_asked_for(response.headers.get, self._now()).seconds
        answer = Answer(response.status, retry_after=retry_after)
        return Asked(
            answer if is_whole else _broken_off(answer, body),
            url,
            response,
            body if is_whole and not cut else whole_lines(body),
            cut,
            self._now() - download.began,
        )

    async def _download(
        self,
        url: str,
        request: Request,
        priority: int,
        headers: dict[str, str] | None = None,
        most_bytes: int = 0,
    ) -> tuple[Response, Download]:
        timeout = self._config.robots_timeout
        wanted = request_on_the_way_of(
            request, url, timeout, priority=priority, headers=headers or {}
        )
        try:
            with engine.one_place(self._crawler, request):
                return await self.limits.download(wanted, most_bytes, timeout)
        except Exception as error:
            is_silent = failure_of(error) in SILENT and not isinstance(error, BrokenOffError)
            if is_silent and wanted.meta.get("proxy"):
                raise ProxyFailedError from error
            raise


def _failed(failure: Failure, error: BaseException, urls: tuple[str, ...]) -> Asked:
    """Return what came where no answer did, or no whole one."""
    broken = error if isinstance(error, BrokenOffError) else None
    answer = Answer(failure=failure, detail=in_words(error))
    return Asked(
        answer if broken is None else _broken_off(answer, broken.body),
        urls[-1],
        body=b"" if broken is None else whole_lines(broken.body),
        error=error,
        has_answered=len(urls) > 1
        or isinstance(error, (BrokenOffError, UnreadableBodyError))
        or has_begun(error),
    )


def _broken_off(answer: Answer, body: bytes) -> Answer:
    """Return what an answer is whose body breaks off after these bytes."""
    records = RobotsTxt.parse(whole_lines(body)).records
    has_a_rule = any(one.field in {"allow", "disallow"} for one in records)
    return answer._replace(broken_off=sha256(body).digest(), has_a_rule=has_a_rule)


def tell_of_answer(
    events: Events, site: str, asked: Asked, outcome: Outcome, timeout: float
) -> None:
    """Tell how a site answered. That it pauses for it, the throttle tells."""
    failure, error = asked.answer.failure, asked.error
    is_odd = outcome.case == "misreported_5xx" or failure in {Failure.NO_SUCH_HOST, Failure.OTHER}
    event = ROBOTS_ASKED_IN_VAIN if is_odd else ROBOTS_ASKED
    events.tell(event, site=site, reason=outcome.reason, case=outcome.case, seconds=asked.seconds)
    if asked.answer.status is not None:
        events.count(ROBOTS_RESPONSE, status=asked.answer.status)
    elif error is not None and failure is not Failure.DROPPED:
        raised = error.__cause__ if isinstance(error, BrokenOffError) else error
        events.count(ROBOTS_EXCEPTION, error=type(raised))
    if failure is Failure.OTHER and error is not None:
        events.tell_error(ROBOTS_ERROR, error, site=site, reason=outcome.reason)
    if asked.answer.broken_off:
        events.tell(ROBOTS_BROKEN_OFF, site=site, size=len(asked.body), reason=outcome.reason)
    elif asked.cut:
        events.tell(ROBOTS_CUT, site=site, cut=asked.cut)
    elif asked.seconds > _SLOW * timeout:
        events.tell(ROBOTS_SLOW, site=site, seconds=asked.seconds, most=timeout)
