"""The downloader middleware that detects refusals, and what a response means."""

from __future__ import annotations

import logging
from functools import cached_property
from http import HTTPStatus
from inspect import isawaitable
from math import ceil
from typing import TYPE_CHECKING, Any

import scrapy.downloadermiddlewares.robotstxt
import scrapy.signals
from mandelbot.answers.failures import (
    failure_of,
    has_begun,
    is_of_library,
    was_new_connection,
)
from mandelbot.answers.meaning import (
    GOES_BACK,
    NOTHING,
    Kind,
    ResponseMeaning,
    meaning_of,
)
from mandelbot.formatting import counted
from mandelbot.preferences import MARKED_STATUSES
from scrapy.downloadermiddlewares.cookies import CookiesMiddleware
from scrapy.downloadermiddlewares.retry import RetryMiddleware, get_retry_request
from scrapy.downloadermiddlewares.stats import DownloaderStats
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.http.request import NO_CALLBACK

from scrapy_mandelbot import engine, events
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.politeness.flight import GO, NEVER, SAFE_METHODS, Wait
from scrapy_mandelbot.politeness.tally import SUCCESSES, End
from scrapy_mandelbot.throttle.in_flight import (
    ASKS_AGAIN,
    SitePausedError,
    is_of_the_package,
)
from scrapy_mandelbot.time_text import duration

if TYPE_CHECKING:
    from collections.abc import Callable

    from mandelbot import Failure
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_mandelbot.downloadermiddlewares.refusals import Refusals
    from scrapy_mandelbot.politeness.flight import Flight
    from scrapy_mandelbot.politeness.site_state import Site

logger = logging.getLogger(__name__)

_SLOW = 3_600  # seconds that a quota holds the crawl up
_OF_QUOTAS = frozenset({b"Ratelimit", b"Ratelimit-Remaining"})  # in Scrapy's spelling
_PROBLEM = b"application/problem+json"  # RFC 9457, section 3
_OF_ROBOTS = frozenset({Kind.TERMS, Kind.FORBIDDEN})


class PauseMiddleware:
    """Pauses sites that refuse requests, and sends those requests back to the queue.

    Order 950. It stands nearest the downloader: it sees a 503 before another component
    caches or retries it, and enforces crawl delays on requests from any source.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self._crawl = Crawl.of(crawler)
        if not self._crawl.config.enabled:
            raise NotConfigured
        self._throttle = self._crawl.throttle
        self._budgets = self._throttle.budgets
        self._flight = self._throttle.in_flight.get
        self._statuses = self._crawl.config.pause_statuses
        self._is_read = self._crawl.config.refusal is not None
        handled = map(int, crawler.settings.getlist("HTTPERROR_ALLOWED_CODES"))
        self._spiders = frozenset(handled)  # the spider handles them
        self._are_all_handled = crawler.settings.getbool("HTTPERROR_ALLOW_ALL")
        if self._are_all_handled:
            self._spiders = frozenset(range(1_000))
        # Neither terms nor the project's function make a refusal of these.
        self._successes = frozenset(SUCCESSES) - MARKED_STATUSES.difference(
            self._spiders
        )
        if self._is_read:
            self._successes = frozenset()
            self._refusals.load()
        self._proxies: set[str | None] = set()  # by which responses came
        self._is_proxy_bypassed = False  # a response came by none
        self._is_subscribed = False
        if engine.has_delays(crawler):
            self._subscribe_to_responses()
        self._limits = self._crawl.fetcher.limits
        self._limits.is_notified = True
        self._special = self._limits.KEYS | {ASKS_AGAIN}
        self._count: Callable[..., object] = lambda *_: None
        # it sees no response that is sent back
        if crawler.settings.getbool("DOWNLOADER_STATS"):
            self._count = DownloaderStats(crawler.stats).process_response

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> PauseMiddleware:
        """Build the middleware."""
        return cls(crawler)

    def _subscribe_to_responses(self) -> None:
        """Receive each response one iteration of the loop before its middlewares do.

        Download slots that hold requests send the next one then: slots with a delay,
        and slots of requests that bypass the queue, which hands out no more than a slot
        transfers at once.
        """
        if not self._is_subscribed:
            self._is_subscribed = True
            self.crawler.signals.connect(
                self._response_downloaded, signal=scrapy.signals.response_downloaded
            )

    def _response_downloaded(self, response: Response, request: Request) -> None:
        """Pause the site at once: its slot is about to send the next request."""
        if not request.meta.get("dont_pause"):
            self._hear(
                self._flight(request) or self._throttle.flight_of(request), response
            )

    def _hear(self, flight: Flight[Site], response: Response) -> None:
        """Report to its site what a response means: once for each response."""
        request: Request = flight.request
        now = self._crawl.now()
        meaning = self._meaning_of(request, response, now)
        flight.meaning = meaning
        if meaning.kind is Kind.NOT_NOW:
            reason = f"{response.status} for {request}"
            if meaning.said:
                reason += f", {meaning.said}"
            if (response.headers.get("Content-Type") or b"").startswith(_PROBLEM):
                reason += self._refusals.problem(response)
            if meaning.unreadable:
                report_unreadable(self._crawl, flight.site, meaning.unreadable)
            self._throttle.pauses.refused(
                flight, reason, meaning.wait, response, now=now
            )
            is_503 = response.status == HTTPStatus.SERVICE_UNAVAILABLE
            if is_503 and meaning.wait is None:
                self._renew_connections(flight)
            return
        if meaning.kind in _OF_ROBOTS and self._refusals.is_bot_block(
            flight, response, meaning
        ):
            flight.meaning = GOES_BACK
            return
        if not _OF_QUOTAS.isdisjoint(response.headers):
            note_quota(self._crawl, flight, response)
        if meaning.kind is Kind.FAILED and flight.site.well_url:
            reason = f"{response.status} for {request}"
            if self._throttle.pauses.failed(flight, reason, response.status):
                flight.meaning = GOES_BACK
            self._renew_connections(flight)
            return
        is_page = meaning.kind is Kind.PAGE and request.method == "GET"
        self._throttle.answered(flight, is_page=is_page)

    def _renew_connections(self, flight: Flight[Site]) -> None:
        """Let what follows a failure use new connections: an old one may be why."""
        most = flight.site.suspected_connections
        if most and "proxy" not in flight.request.meta:
            engine.close_idle_connections(self.crawler, flight.request, most)

    def _meaning_of(
        self, request: Request, response: Response, now: float
    ) -> ResponseMeaning:
        """Return what a response means to the project, its spider and the request."""
        status = response.status
        is_own = is_of_the_package(request)
        meaning = meaning_of(
            status, response.headers, self._statuses, now, is_own=is_own
        )
        is_for_terms = meaning.kind in _OF_ROBOTS and status in self._spiders
        if is_for_terms or self._is_handled(request, response):
            meaning = NOTHING
            if status >= HTTPStatus.BAD_REQUEST:
                meaning = ResponseMeaning(Kind.ERROR)
        is_read = self._is_read and not self._crawl.is_for_a_person(request)
        if is_read and meaning.kind is not Kind.NOT_NOW:
            return self._refusals.recognised(request, response) or meaning
        return meaning

    @cached_property
    def _refusals(self) -> Refusals:
        from scrapy_mandelbot.downloadermiddlewares.refusals import (  # noqa: PLC0415 -- few
            Refusals,
        )

        return Refusals(self.crawler, self._crawl)

    async def process_request(self, request: Request) -> Request | Response | None:
        """Stop a request whose site was paused since the queue handed it out."""
        flight = self._flight(request)
        if flight is None:
            is_own = request.callback is NO_CALLBACK and request.meta.get("dont_pause")
            if is_own and self._throttle.lets_pass(request):
                return None
            flight = self._throttle.flight_of(request)
        if flight.is_from_queue:
            if flight.site.is_plain and not self._throttle.is_paced:
                return None
        elif not request.meta.get("dont_pause"):
            self._subscribe_to_responses()
        return await self._wait_for_turn(flight, request)

    async def _wait_for_turn(
        self, flight: Flight[Site], request: Request
    ) -> Request | Response | None:
        """Return None once the request may be sent, else what ends its way."""
        throttle = self._throttle
        while True:
            if throttle.is_paced:
                self._crawl.learn_pace(request, flight.site)
            decision = throttle.admit(flight)
            if decision is GO:
                return None
            if decision.wait is Wait.TURN:
                # An interactive request does not wait, and one to be given up is not
                # sent.
                if self._crawl.is_for_a_person(request) or throttle.has_given_up(
                    flight
                ):
                    throttle.let_leave(flight)
                    return None
                if throttle.can_go_back(flight):
                    return throttle.send_back(flight, events.TURN_MISSED)
                if not await throttle.wait(flight, decision):
                    throttle.in_flight.fates[request] = fate_of(self._crawl, flight)
                    raise IgnoreRequest(f"{flight.site.name} may not be requested now")
            elif throttle.can_go_back(flight):
                return throttle.send_back(flight)
            elif decision is NEVER or not await throttle.wait(flight, decision):
                raise not_sent(self._crawl, flight)

    async def process_response(  # noqa: C901, PLR0912 -- a call less for each page
        self, request: Request, response: Response
    ) -> Request | Response:
        """Send a request back that its site refused, to be sent after the pause."""
        throttle = self._throttle
        flight = self._flight(request)
        meta = request.meta
        if request.callback is NO_CALLBACK and meta.get("dont_pause"):
            return self._own(flight, request, response)
        if "proxy" in meta:
            self._proxies.add(meta["proxy"])
        else:
            self._is_proxy_bypassed = True
        if flight is None:
            flight = throttle.flight_of(request)
        site = flight.site
        is_special = not self._special.isdisjoint(meta)
        is_cached = "cached" in response.flags
        is_exempt = is_special and meta.get("dont_pause")
        if flight.meaning is None and not is_cached and not is_exempt:
            is_page = request.method == "GET"
            is_plain = response.status in self._successes
            if not is_plain or not _OF_QUOTAS.isdisjoint(response.headers):
                self._hear(flight, response)
            elif site.is_calm and not throttle.network.silent:
                site.answered(flight, flight.sent_at, b"", is_page=is_page)
            else:
                throttle.answered(flight, is_page=is_page)
        if is_special:
            self._limits.response_downloaded(response, request)
        meaning = flight.meaning
        if meaning is not None:
            flight.meaning = None
            if meaning.kind is Kind.NOT_NOW and ASKS_AGAIN not in meta:
                return await self._send_again(flight, response)
        # Here alone an answer that is handed on is counted.
        if request.callback is not NO_CALLBACK or not is_of_the_package(request):
            status = response.status
            if status in SUCCESSES or is_cached:
                site.tally.count_answer(status, is_cached=is_cached)
            else:
                is_handled = self._is_handled(request, response)
                from scrapy_mandelbot.downloadermiddlewares.other_answers import (  # noqa: PLC0415 -- few
                    count_other,
                )

                count_other(self.crawler, flight, response, is_handled=is_handled)
            if self._budgets is not None:
                self._budgets.answered(flight, response)
        throttle.release(flight)
        return response

    async def _send_again(
        self, flight: Flight[Site], response: Response
    ) -> Request | Response:
        """Send a refused request back to its queue, or wait, or hand its refusal on."""
        throttle = self._throttle
        request: Request = flight.request
        is_left = False
        if flight.is_refused_alone and response.status >= HTTPStatus.BAD_REQUEST:
            is_left = self._is_left(flight)  # others the project takes for refusals
        if flight.not_before and not may_retry(self.crawler, request):
            flight.is_refused_alone = True  # it has no tries of its own
        if flight.is_refused_alone and not is_left:
            return self._hand_refusal_on(flight, response)
        if request.method not in SAFE_METHODS and not decide_on_repeat(
            self.crawler, flight, response.status
        ):
            return self._hand_refusal_on(flight, response)
        if "Set-Cookie" in response.headers:
            await store_cookies(self.crawler, request, response)
        if is_left:
            self._count(request, response)
            return throttle.leave_to_next_run(flight, str(response.status))
        if throttle.can_go_back(flight):
            self._count(request, response)
            return throttle.send_back(flight)
        if await throttle.wait(flight):
            self._count(request, response)
            return request
        return self._hand_refusal_on(flight, response)

    def _is_left(self, flight: Flight[Site]) -> bool:
        """Return whether the next run tries a page again that this one gives up.

        One that the project does not let retry has none.
        """
        may_try = may_retry(self.crawler, flight.request)
        return may_try and self._throttle.may_leave(flight)

    def _own(
        self, flight: Flight[Site] | None, request: Request, response: Response
    ) -> Response:
        """Pass on the response to a request of the package's own; it is no page."""
        self._limits.response_downloaded(response, request)
        if flight is not None:
            self._throttle.release(flight)
        return response

    async def process_exception(
        self, request: Request, exception: Exception
    ) -> Request | None:
        """Send back a request that was never sent, or whose site is down."""
        flight = self._flight(request) or self._throttle.flight_of(request)
        sent_back = self._sent_back(flight, exception)
        if sent_back is None and not is_of_the_package(request):
            flight.site.tally.count(End.TRIED_AGAIN)  # unless no middleware retries it
        again = sent_back or self._limits.second_request(request, exception)
        return again or retry_as_lost(self.crawler, request, exception)

    def _sent_back(self, flight: Flight[Site], exception: Exception) -> Request | None:
        """Return the request to send back, or None to pass the exception on."""
        throttle = self._throttle
        request: Request = flight.request
        if request.meta.get("dont_pause") or flight.meaning is not None:
            flight.meaning = None
            throttle.release(flight)
            return None
        if not isinstance(exception, SitePausedError):
            failure = failure_of(exception)
            if not self._hear_nothing(flight, failure, exception):
                throttle.release(flight)
                return None
            if flight.is_refused_alone and self._is_left(flight):
                return throttle.leave_to_next_run(flight, failure.value)
            # Enough tries: RetryMiddleware decides now.
            if (
                flight.is_refused_alone
                or ASKS_AGAIN in request.meta
                or not decide_on_repeat(self.crawler, flight, exception)
            ):
                throttle.in_flight.fates[request] = End.URL
                throttle.handed_on(flight)
                throttle.release(flight)
                return None
        return self._back_to_its_sender(flight)

    def _hear_nothing(
        self, flight: Flight[Site], failure: Failure, exception: Exception
    ) -> bool:
        """Report a request without an answer to its site.

        Returns whether the request is sent again without a retry being counted.
        """
        pauses = self._throttle.pauses
        site = flight.site
        by_proxy = bool(flight.request.meta.get("proxy"))
        if by_proxy and not self._is_by_the_only_proxy(flight.request):
            return False  # the project's components retry by another proxy
        reason = f"{failure.value} for {flight.request}"
        if not failure.is_outage:
            if not failure.concerns_site or site.pause.probe is not flight:
                return False
            pauses.refused(flight, reason)
            return True
        self._throttle.in_flight.unresponsive.fail(flight, failure)
        if has_begun(exception) and site.pause.probe is not flight:
            return False  # the site answered, and the body is truncated
        is_cut_off = pauses.network_failed(site)
        if is_cut_off or (failure.is_certain and site.has_answered):
            pauses.refused(flight, reason)
            return True
        is_connection = False  # a proxy's are of all sites
        if not by_proxy and flight.request.method in SAFE_METHODS:
            is_connection = was_new_connection(exception)
        return pauses.failed(flight, reason, is_connection=is_connection)

    def _is_by_the_only_proxy(self, request: Request) -> bool:
        """Return whether a request used the only proxy, and none used another.

        A request that fails by one proxy of several says nothing about its site, and a
        component of the project may retry it by another one. Where each response so far
        came by one and the same proxy, it is a part of the way to each site.
        """
        if self._is_proxy_bypassed or self._proxies != {request.meta["proxy"]}:
            return False
        return not engine.handles_failures(self.crawler)

    def _back_to_its_sender(self, flight: Flight[Site]) -> Request | None:
        """Return the request to send back; None: its site or section is given up."""
        throttle = self._throttle
        request: Request = flight.request
        throttle.ended(flight)
        if throttle.can_go_back(flight):
            return throttle.send_back(flight)
        if throttle.has_given_up(flight):
            throttle.in_flight.fates[request] = fate_of(self._crawl, flight)
            throttle.release(flight)
            return None
        return request  # it waits for the pause when its sender sends it again

    def _is_handled(self, request: Request, response: Response) -> bool:
        """Return whether the spider, or a person, handles this status."""
        if self._crawl.is_for_a_person(request):
            return True
        meta = request.meta
        # Media pipelines accept every status but redirects, only to log them, and
        # HttpErrorMiddleware sees no response to them.
        is_spiders = request.callback is not NO_CALLBACK
        listed: Any = meta.get("handle_httpstatus_list")
        if listed is None:
            default = self._spiders if is_spiders else ()
            listed = getattr(self.crawler.spider, "handle_httpstatus_list", default)
            if is_spiders and self._are_all_handled:
                return True
        if isinstance(listed, (list, tuple, set, frozenset)):
            if response.status in listed:
                return True
        elif is_spiders and response.status in listed:
            return True
        return is_spiders and bool(meta.get("handle_httpstatus_all"))

    def _hand_refusal_on(self, flight: Flight[Site], response: Response) -> Response:
        if not is_of_the_package(flight.request):
            end = fate_of(self._crawl, flight)
            flight.site.tally.count(end)
            if end in flight.site.tally.LOST:
                from scrapy_mandelbot.downloadermiddlewares.other_answers import (  # noqa: PLC0415 -- few
                    report_failed,
                )

                report_failed(self._crawl, flight, end, response.status)
        self._throttle.handed_on(flight)
        self._throttle.release(flight)
        # Enough tries: RetryMiddleware would retry it at once. A refusal is no page, in
        # later runs either.
        flight.request.meta["dont_retry"] = True
        flight.request.meta["dont_cache"] = True
        return response


def not_sent(crawl: Crawl, flight: Flight[Site]) -> SitePausedError:
    """Return the error of a request that is not sent."""
    flight.meaning = NOTHING  # it is not sent back
    site = flight.site
    end = fate_of(crawl, flight)
    crawl.throttle.in_flight.fates[flight.request] = end
    what = site.name
    pause = site.pause
    section = site.faults.of(flight.request) if end is End.SECTION else None
    if section is not None:
        what += section.path
        pause = section.pause
    how = "is given up"
    if end in {End.WAITED, End.LEFT}:
        how = "is paused for too long"
    why = f": {pause.reason}" if pause.reason else ""
    return SitePausedError(f"{what} {how}{why}")


def may_retry(crawler: Crawler, request: Request) -> bool:
    """Return whether the project lets RetryMiddleware retry a request at all."""
    retry = crawler.get_downloader_middleware(RetryMiddleware)
    if retry is None or request.meta.get("dont_retry"):
        return False
    times: int = request.meta.get("max_retry_times", retry.max_retry_times)
    return times > 0


def retry_as_lost(
    crawler: Crawler, request: Request, exception: Exception
) -> Request | None:
    """Retry a request that failed by a network error of a library, such as h2's.

    Scrapy's handler for HTTP/2 passes these on, and RETRY_EXCEPTIONS does not name
    them. Where the project sets RETRY_EXCEPTIONS, it says what is retried.
    """
    if not is_of_library(exception) or is_of_the_package(request):
        return None
    retry = crawler.get_downloader_middleware(RetryMiddleware)
    if retry is None or request.meta.get("dont_retry"):
        return None
    is_set = (crawler.settings.getpriority("RETRY_EXCEPTIONS") or 0) > 0
    if is_set or isinstance(exception, retry.exceptions_to_retry):
        return None
    spider: Any = crawler.spider
    return get_retry_request(
        request,
        spider=spider,
        reason=f"{failure_of(exception).value} ({exception!r})",
        max_retry_times=request.meta.get("max_retry_times", retry.max_retry_times),
        priority_adjust=request.meta.get("priority_adjust", retry.priority_adjust),
    )


def decide_on_repeat(
    crawler: Crawler, flight: Flight[Site], refusal: int | Exception
) -> bool:
    """Decide whether to send a refused request again.

    An unsafe one only if Scrapy would: else it is refused alone.
    """
    request: Request = flight.request
    if request.method in SAFE_METHODS:
        return True
    retry = crawler.get_downloader_middleware(RetryMiddleware)
    is_repeated = retry is not None and _would_retry(retry, crawler, flight, refusal)
    flight.is_refused_alone = not is_repeated
    return is_repeated


def _would_retry(
    retry: RetryMiddleware,
    crawler: Crawler,
    flight: Flight[Site],
    refusal: int | Exception,
) -> bool:
    """Return whether RetryMiddleware would send the request again."""
    request: Request = flight.request
    if request.meta.get("dont_retry"):
        return False
    if (
        not isinstance(refusal, retry.exceptions_to_retry)
        and refusal not in retry.retry_http_codes
    ):
        return False
    fingerprint = crawler.request_fingerprinter.fingerprint(request)
    most = request.meta.get("max_retry_times", retry.max_retry_times)
    return bool(flight.site.times(fingerprint) <= most)


async def store_cookies(crawler: Crawler, request: Request, response: Response) -> None:
    """Store the cookies of a response whose request is sent back.

    CookiesMiddleware does not see the response, unless it stands nearer the downloader:
    then it has stored them already.
    """
    cookies: Any = crawler.get_downloader_middleware(CookiesMiddleware)
    if cookies is None:
        return
    try:
        stored = cookies.process_response(request, response)
        if isawaitable(stored):
            await stored
    except Exception:
        logger.exception("Failed to store the cookies of %s", response)


def note_quota(crawl: Crawl, flight: Flight[Site], response: Response) -> None:
    """Limit requests to a site to the quota that its response states, if any."""
    from mandelbot.answers.retry_after import quota_of  # noqa: PLC0415 -- few sites

    now = crawl.now()
    site = flight.site
    quota = quota_of(response.headers.get, now)
    if quota is None:
        return
    left, named = quota
    wait = min(named, crawl.config.quota_longest)
    if not wait:
        return
    if not left:
        emit = crawl.events.emit if site.note_once("quota") else crawl.events.count
        emit(events.QUOTA, where=site.name, until=now + wait)
    site.pacer.note_quota(flight, left, wait, now)
    if not left and "slow quota" not in site.reported:
        _warn_if_slow(crawl, site, wait)
    site.recheck()
    crawl.throttle.sites.note_trouble(site)


def _warn_if_slow(crawl: Crawl, site: Site, wait: float) -> None:
    """Warn, once per site, if its quota holds the crawl up for more than an hour.

    A window is at least as long as what was left of it when the quota was used up.
    """
    quota = site.pacer.quota
    if quota is None:
        return
    waiting = crawl.throttle.in_flight.waiting(site)
    windows = max(1, ceil(waiting / quota.most))
    length = windows * wait
    if length <= _SLOW or not site.note_once("slow quota"):
        return
    event = events.QUOTA_SLOW if waiting else events.QUOTA_SLOW_NEXT
    crawl.events.emit(
        event,
        where=site.name,
        rate=f"{counted(quota.most, 'page')} in {duration(wait)}",
        waiting=waiting,
        length=duration(length),
    )


def report_unreadable(crawl: Crawl, site: Site, value: str) -> None:
    """Report a ``Retry-After`` that cannot be read, once per site."""
    if site.note_once("retry-after"):
        crawl.events.emit(events.RETRY_AFTER_UNREADABLE, site=site.name, value=value)


def fate_of(crawl: Crawl, flight: Flight[Site]) -> End:
    """Return how a request ends that is not sent again."""
    throttle = crawl.throttle
    site = flight.site
    if flight.is_refused_alone:
        return End.URL
    if throttle.has_given_up(flight):
        if site.pause.is_given_up or site.faults.of(flight.request) is None:
            return End.SITE
        return End.SECTION
    if crawl.is_closing:
        return End.LEFT
    return End.WAITED
