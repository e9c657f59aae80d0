"""Requests for robots.txt and tdmrep.json, and what the responses mean.

Each takes the route of the request that needs the file: its proxy, download slot, bind
address.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from http import HTTPStatus
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from mandelbot import Answer, Failure, Outcome, OutcomeKind
from mandelbot.answers.failures import (
    TruncatedError,
    error_text,
    failure_at,
    failure_of,
    has_begun,
)
from mandelbot.answers.meaning import NOTHING, meaning_of
from mandelbot.answers.outcome import SILENT, SiteKnowledge, Trouble, whole_lines
from mandelbot.origins import robots_url, site_of
from mandelbot.robotstxt.agents import header_text
from scrapy.http import Request
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import CancelledError, Deferred

from scrapy_mandelbot import events
from scrapy_mandelbot.clock import LATE
from scrapy_mandelbot.engine import SLOT_KEY
from scrapy_mandelbot.fetching.credentials import AUTHORIZATION, META_KEYS
from scrapy_mandelbot.fetching.download_limits import DownloadLimits
from scrapy_mandelbot.store import CachedRobots
from scrapy_mandelbot.store.memory import Recent

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_mandelbot.events.emitter import Events
    from scrapy_mandelbot.fetching.download_limits import Download
    from scrapy_mandelbot.settings.config import Config
    from scrapy_mandelbot.store import Store

_T = TypeVar("_T")
_PRIORITY = 1_000
_ROUTE = frozenset({"proxy", "_auth_proxy", SLOT_KEY, "bindaddress"})
_PASSED_ON = _ROUTE | META_KEYS
_PASSED_ON_HEADERS = frozenset({AUTHORIZATION, b"Proxy-Authorization"})
LONGEST_REDIRECT = 8_192  # characters of a URL
MOST_REDIRECTS = 10  # of a robots.txt; RFC 9309 asks for five
REDIRECTS = frozenset({301, 302, 303, 307, 308})


_VALIDATORS = frozenset({b"Etag", b"Last-Modified"})  # in Scrapy's spelling


class FetchedFile(NamedTuple):
    """The result of a request for a file of a site, redirects followed."""

    answer: Answer
    url: str
    """The last URL that was requested."""
    response: Response | None = None
    body: bytes = b""
    """The part that counts: of a truncated or too long body, the complete lines."""
    cut: str = ""
    """Why the rest of the body was not read, if it was not."""
    seconds: float = 0.0
    asked_at: float = -inf
    """When it was asked for, in seconds since the epoch, if there is a response."""
    error: BaseException | None = None
    has_answered: bool = True
    """Whether the host has sent anything, even half a response."""
    has_credentials: bool = False
    """Whether it was asked for with credentials, be it after a redirect."""

    def copy(
        self, now: float, body: bytes, status: int, old: CachedRobots | None = None
    ) -> CachedRobots:
        """Return the copy to store.

        `old` is the copy that a 304 confirms, with its validators.
        """
        etag = None
        modified = None
        headers: Any = {}
        if not self.answer.broken_off:  # a 304 must never confirm a truncated one
            headers = getattr(self.response, "headers", {})
        if not _VALIDATORS.isdisjoint(headers):  # most have neither
            etag = _validator(headers, "ETag")
            modified = _validator(headers, "Last-Modified")
        if old is not None:
            etag = etag or old.etag
            modified = modified or old.last_modified
        return CachedRobots(body, status, now, self.url, etag, modified)


def _validator(headers: Any, name: str) -> str | None:
    value = headers.get(name)
    return value.decode("latin-1") if value else None


class _FetchCancelledError(Exception):
    """The request that fetched for all waiters was cancelled, or its proxy failed."""


class SiteFiles:
    """Fetches files of at most `most_bytes` bytes, each once for all requests."""

    def __init__(
        self,
        limits: DownloadLimits,
        config: Config,
        now: Callable[[], float],
        most_bytes: int,
    ) -> None:
        self.limits = limits
        self._config = config
        self._now = now
        self._most_bytes = most_bytes
        self._under_way: dict[str, list[Deferred[Any]]] = {}
        self._meta: dict[str, Any] = {
            "dont_obey_robotstxt": True,
            # The outcome decides what the response means for the site, not its status
            # alone.
            "dont_pause": True,
            "dont_redirect": True,
            "dont_retry": True,
            "dont_cache": True,
            # robots.txt may redirect to a site that the spider does not crawl.
            "allow_offsite": True,
            "download_fail_on_dataloss": False,  # a truncated body is examined, too
        }

    async def once(
        self,
        key: str,
        fetch: Callable[[], Awaitable[_T]],
        is_for_all: Callable[[_T], bool],
    ) -> _T:
        """Await `fetch`, or share a call for the same key that is already running.

        If that call is cancelled, or its result is not for all, the next waiter
        fetches.
        """
        while key in self._under_way:
            waiter: Deferred[_T] = Deferred()
            self._under_way[key].append(waiter)
            with suppress(_FetchCancelledError):
                return await maybe_deferred_to_future(waiter)
        self._under_way[key] = []
        try:
            found = await fetch()
        except BaseException as error:
            passed_on: BaseException = error
            if not isinstance(error, Exception) or isinstance(error, CancelledError):
                passed_on = _FetchCancelledError()  # it is this waiter's alone
            self._end(key, Deferred.errback, passed_on)
            raise
        if is_for_all(found):
            self._end(key, Deferred.callback, found)
        else:
            self._end(key, Deferred.errback, _FetchCancelledError())
        return found

    def _end(self, key: str, end: Callable[[Any, Any], object], value: object) -> None:
        for waiter in self._under_way.pop(key):
            if not waiter.called:  # its request was cancelled
                end(waiter, value)

    async def get(
        self,
        site: str,
        url: str,
        request: Request,
        copy: CachedRobots | None,
        *,
        seconds: float | None = None,
    ) -> FetchedFile:
        """Request a file of a site. Follows redirects across sites; never raises.

        Each hop may take so many seconds, by default ``robots_timeout``.
        A URL may redirect to itself: with the cookie that it sets, it may answer.
        """
        urls = [url]
        has_credentials = False
        config = self._config
        while True:
            url = urls[-1]
            headers: dict[str, Any] = {}
            if copy is not None and copy.url == url:
                headers |= copy.conditions()
            wanted = self._request(url, request, headers)
            try:
                response, download = await self._download(
                    wanted, request, self._most_bytes, seconds
                )
            except Exception as error:  # noqa: BLE001 -- any failure means no answer
                return _failed(error, urls, by_proxy=bool(wanted.meta.get("proxy")))
            if dict.get(wanted.headers, AUTHORIZATION):  # also by HttpAuthMiddleware
                has_credentials = True
            location = None
            if response.status in REDIRECTS:
                location = response.headers.get("Location")
            if not location:
                return self._fetched(
                    url, response, download, has_credentials=has_credentials
                )
            from mandelbot.sitemaps import http_url  # noqa: PLC0415 -- few

            text = header_text(location).strip()
            target = None
            if len(text) <= LONGEST_REDIRECT:
                target = http_url(url, text)
            if target is None or len(target) > LONGEST_REDIRECT:
                return _redirected_nowhere(Failure.BAD_REDIRECT, urls)
            if len(urls) > MOST_REDIRECTS or not config.may_send(site, target):
                failure = Failure.LOOP if target in urls else Failure.NOWHERE
                return _redirected_nowhere(failure, urls)
            urls.append(target)

    async def status(self, url: str, request: Request) -> int | None:
        """Return the status of a URL, or None if it does not answer."""
        try:
            response, _ = await self._download(
                self._request(url, request, {}), request, 0
            )
        except Exception:  # noqa: BLE001 -- no answer proves nothing
            return None
        return response.status

    def _request(self, url: str, needing: Request, headers: dict[str, Any]) -> Request:
        meta = self._meta.copy()
        if not (
            _PASSED_ON.isdisjoint(needing.meta)
            and _PASSED_ON_HEADERS.isdisjoint(needing.headers)
        ):
            _pass_on(url, needing, meta, headers)
        return Request(
            url, callback=NO_CALLBACK, meta=meta, priority=_PRIORITY, headers=headers
        )

    async def _download(
        self,
        wanted: Request,
        needing: Request,
        most_bytes: int,
        seconds: float | None = None,
    ) -> tuple[Response, Download]:
        seconds = seconds or self._config.robots_timeout
        wanted.meta["download_timeout"] = seconds
        self.limits.add_place(wanted, needing)
        began = self._now()
        try:
            return await self.limits.download(wanted, most_bytes, seconds)
        except Exception as error:
            # A deadline that is late was held up by the crawl's own work, or by a
            # machine that slept: nobody could read an answer that came meanwhile.
            is_late = self._now() > began + seconds + LATE
            if not is_late or failure_of(error) is not Failure.TIMED_OUT:
                raise
            return await self.limits.download(wanted, most_bytes, seconds)
        finally:
            self.limits.drop_place(wanted)

    def _fetched(
        self, url: str, response: Response, download: Download, *, has_credentials: bool
    ) -> FetchedFile:
        now = self._now()
        (body, cut, is_whole) = download.body_of(response)
        meaning = NOTHING
        statuses = self._config.pause_statuses
        if response.status >= HTTPStatus.BAD_REQUEST:
            meaning = meaning_of(
                response.status, response.headers, statuses, now, is_own=True
            )
        answer = Answer(response.status, meaning=meaning)
        if not is_whole:
            answer = answer.truncated(response.body[: self._most_bytes])
        return FetchedFile(
            answer,
            url,
            response,
            body,
            cut,
            seconds=now - download.began,
            asked_at=download.began,
            has_credentials=has_credentials,
        )


def _pass_on(
    url: str, needing: Request, meta: dict[str, Any], headers: dict[str, Any]
) -> None:
    """Add the route, and the credentials, of the request that needs a file."""
    passed_on = _ROUTE & needing.meta.keys()
    secret = META_KEYS & needing.meta.keys()
    authorization = dict.get(needing.headers, AUTHORIZATION)
    # Its own site alone gets the credentials of a page.
    if (secret or authorization) and (
        site_of(urlsplit(url)) == site_of(urlsplit(needing.url))
    ):
        passed_on |= secret
        if authorization:
            headers["Authorization"] = authorization
    for key in passed_on:
        meta[key] = needing.meta[key]
    if "Proxy-Authorization" in needing.headers:
        headers["Proxy-Authorization"] = needing.headers["Proxy-Authorization"]


def _failed(error: Exception, urls: list[str], *, by_proxy: bool) -> FetchedFile:
    failure = failure_at(urls[-1], error, by_proxy=by_proxy)
    if failure is Failure.NO_SUCH_HOST and len(urls) > 1:
        # the site exists, its target does not
        return _redirected_nowhere(Failure.NOWHERE, urls)
    answer = Answer(failure=failure, detail=error_text(error))
    body = b""
    if isinstance(error, TruncatedError):
        answer = answer.truncated(error.body)
        body = whole_lines(error.body)
    has_answered = len(urls) > 1 or has_begun(error)
    return FetchedFile(
        answer, urls[-1], body=body, error=error, has_answered=has_answered
    )


def _redirected_nowhere(failure: Failure, urls: list[str]) -> FetchedFile:
    return FetchedFile(Answer(failure=failure, detail=f"{len(urls)} hops"), urls[-1])


async def _is_not_known(_site: str, _error: BaseException | None) -> bool:
    return False


_SLOW = 0.5  # of the timeout; a slower response is logged
_TROUBLES_LIMIT = 4 * 1024 * 1024  # bytes
_TROUBLE_SIZE = 400  # bytes, beside the site's name
_NO_TROUBLE = Trouble()
IMPOSSIBLE_PATH = "/robots-test-for-404-a-page-that-cannot-exist"
"""No site has this page: what it answers for it is what it says instead of 404."""
TEST_EVERY = 86_400.0
"""Seconds between two tests of a site that may send 5xx instead of 404."""


class RobotsRequester:
    """Requests the robots.txt of sites, and decides what the responses mean."""

    def __init__(  # noqa: PLR0913, PLR0917 -- its collaborators
        self,
        crawler: Crawler,
        config: Config,
        now: Callable[[], float],
        store: Store,
        events: Events,
        limits: DownloadLimits | None = None,
    ) -> None:
        self._config = config
        self._policy = config.outcome_policy
        self._now = now
        self._store = store
        self._events = events
        limits = limits or DownloadLimits(crawler, now)
        self.files = SiteFiles(limits, config, now, config.robots_max_bytes)
        self.troubles: Recent[Trouble] = Recent(_TROUBLES_LIMIT)
        self.is_cut_off: Callable[[str], bool] = lambda _: False
        """Notes that a site did not answer; returns whether none does."""
        self.network_answers: Callable[[], None] = lambda: None
        """Notes that a site answered."""
        self.has_no_name: Callable[[str, BaseException | None], Awaitable[bool]]
        self.has_no_name = _is_not_known
        """Asks whether no host has the name of a site, which could not be looked up."""

    async def request(
        self,
        site: str,
        request: Request,
        copy: CachedRobots | None,
        seconds: float,
        *,
        has_answered: bool,
    ) -> tuple[FetchedFile, Outcome]:
        """Return the response of a site, and what it means given the site's history.

        `seconds`: its deadline.
        """
        fetched = await self.files.get(
            site, robots_url(site), request, copy, seconds=seconds
        )
        answer = fetched.answer
        if answer.status is not None:
            self.network_answers()
        if answer.status == HTTPStatus.OK and not answer.broken_off:
            outcome = self._policy.outcome_of(answer)
        else:
            fetched, outcome = await self._explain(
                site, request, copy, fetched, seconds, has_answered=has_answered
            )
        self._report(site, fetched, outcome)
        return fetched, outcome

    async def _explain(  # noqa: PLR0913 -- those of `request`
        self,
        site: str,
        request: Request,
        copy: CachedRobots | None,
        fetched: FetchedFile,
        seconds: float,
        *,
        has_answered: bool,
    ) -> tuple[FetchedFile, Outcome]:
        """Return what a response means that is no whole file, or that none came."""
        policy = self._policy
        answer = fetched.answer
        trouble = _NO_TROUBLE
        if answer.failure is not Failure.PROXY:
            trouble = self.count_trouble(site, fetched, seconds)
        is_nameless = False
        if answer.status is None:
            is_known = has_answered or trouble.has_answered or copy is not None
            if answer.failure is Failure.NO_SUCH_HOST and not is_known:
                is_nameless = await self.has_no_name(site, fetched.error)
            if not is_nameless and answer.failure in SILENT and self.is_cut_off(site):
                trouble.uncount()
            else:
                trouble.uncounted = 0
        if answer.broken_off and answer.status is None and trouble.may_be_whole:
            status = await self.files.status(fetched.url, request)
            if status is not None:
                answer = answer._replace(status=status, failure=None, detail="")
                fetched = fetched._replace(answer=answer, error=None)
        known = SiteKnowledge(
            times=trouble.times,
            times_apart=trouble.times_apart,
            has_answered=has_answered or trouble.has_answered,
            uncounted=trouble.uncounted,
            is_nameless=is_nameless,
        )
        if copy is not None:
            age = self._now() - copy.fetched_at
            known = known._replace(copy_status=copy.status, copy_age=age)
        if answer.status is not None and policy.may_be_misreported(answer, known):
            proof = await self._misreports(site, request, answer.status)
            known = known._replace(misreports=proof)
        return fetched, policy.outcome_of(answer, known)

    def deadline(self, copy: CachedRobots | None) -> float:
        """Return the seconds for all of a robots.txt, given the stored copy of it.

        Where a copy serves, no page waits for the file for long.
        """
        config = self._config
        if copy is not None and copy.is_fresh(self._now(), self._policy.longest_stale):
            return config.robots_timeout
        return config.robots_deadline

    def count_trouble(
        self, site: str, fetched: FetchedFile, seconds: float = 0.0
    ) -> Trouble:
        """Count a response that repeats the site's last one, this one included.

        `seconds`: its deadline. A long silence counts as the short tries that fit in
        it, up to the last but one: a host that never answers is not held for longer.
        """
        trouble = self.troubles.get(site) or Trouble()
        answer = fetched.answer
        trouble.count(answer, self._now(), has_answered=fetched.has_answered)
        if answer.failure is Failure.TIMED_OUT and not answer.broken_off:
            more = int(seconds / self._config.robots_timeout) - 1
            trouble.count_more(min(more, self._policy.short_tries - 1 - trouble.times))
        self.troubles.put(site, trouble, _TROUBLE_SIZE + len(site))
        return trouble

    async def _misreports(self, site: str, request: Request, status: int) -> bool:
        """Return whether the site sends this 5xx status instead of 404.

        It does if it answers ``/`` with a status below 400, and a path that cannot
        exist with this one. The test runs once a day at most; the store holds the
        result.
        """
        key = site + IMPOSSIBLE_PATH
        now = self._now()
        found = self._store.get_copy(key)
        if found is None or not found.is_fresh(now, TEST_EVERY):
            self._events.emit(
                events.ROBOTS_TESTED, site=site, path=IMPOSSIBLE_PATH, status=status
            )
            front = await self.files.status(site + "/", request)
            missing = None
            if front is not None and front < HTTPStatus.BAD_REQUEST:
                missing = await self.files.status(key, request)
            found = CachedRobots(b"", missing or 0, now, key)
            self._store.put_copy(key, found)
        return found.status == status

    def _report(self, site: str, fetched: FetchedFile, outcome: Outcome) -> None:
        """Report a site's response. The throttle reports the pause that may follow."""
        answer = fetched.answer
        error = fetched.error
        seconds = fetched.seconds
        failure = answer.failure
        status = answer.status
        reason = outcome.reason
        case = outcome.case
        level = None
        if failure is Failure.OTHER or case == "misreported_5xx":
            level = logging.WARNING
        elif (
            failure is Failure.NO_SUCH_HOST
            and outcome.wait is None
            and outcome.kind is not OutcomeKind.FAILED
        ):
            # A host that never answered is reported after the last of its tries.
            level = logging.WARNING
        event = events.ROBOTS_NOT_FETCHED if status is None else events.ROBOTS_FETCHED
        emit = self._events.emit
        emit(
            event,
            level=level,
            site=site,
            reason=reason,
            case=case,
            seconds=seconds,
            status=status,
        )
        if status is None and error is not None and failure is not Failure.DROPPED:
            raised = error.__cause__ if isinstance(error, TruncatedError) else error
            self._events.count(events.ROBOTS_EXCEPTION, error=type(raised))
        if failure is Failure.OTHER and error is not None:
            self._events.emit_error(
                events.ROBOTS_ERROR, error, site=site, reason=reason
            )
        most = self._config.robots_deadline
        if answer.broken_off:
            emit(
                events.ROBOTS_TRUNCATED,
                site=site,
                size=len(fetched.body),
                reason=reason,
            )
        elif fetched.cut:
            emit(events.ROBOTS_CUT, site=site, cut=fetched.cut)
        elif seconds > _SLOW * most:
            emit(events.ROBOTS_SLOW, site=site, seconds=seconds, most=most)
