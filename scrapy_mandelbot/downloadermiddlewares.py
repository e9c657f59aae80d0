"""The two downloader middlewares: one obeys the rules, one notices that a site wants a pause."""

from __future__ import annotations

import asyncio
import logging
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from weakref import ref

import scrapy.downloadermiddlewares.robotstxt
import scrapy.signals
from scrapy.downloadermiddlewares.stats import DownloaderStats
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.http import TextResponse
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.httpobj import urlparse_cached
from twisted.internet.defer import CancelledError

from scrapy_mandelbot import engine
from scrapy_mandelbot.crawl import (
    CITED,
    LISTED_IN,
    Crawl,
    fate_of,
    hear_quota,
    is_turned_away,
    keep_cookies,
    may_repeat,
    not_sent,
    tell_unreadable,
)
from scrapy_mandelbot.events import (
    FORBIDDEN,
    FORBIDDEN_UNEXPLAINED,
    PAGES_FOREIGN,
    ROBOTS_ANSWERED,
    ROBOTS_UNKNOWN,
    TURN_MISSED,
)
from scrapy_mandelbot.robots.formatting import shown
from scrapy_mandelbot.robots.origins import robots_url
from scrapy_mandelbot.robots.outcome import Failure, OutcomeKind
from scrapy_mandelbot.robots.preferences import MARKED_STATUSES
from scrapy_mandelbot.robots.retry_after import wait_asked_for
from scrapy_mandelbot.robots.robotstxt.paths import as_servers_read_it
from scrapy_mandelbot.rules.failures import failure_of
from scrapy_mandelbot.rules.robot_parser import MandelbotRobotParser
from scrapy_mandelbot.sites.flight import Admission, End
from scrapy_mandelbot.sites.probe import SAFE_METHODS
from scrapy_mandelbot.throttle.in_flight import SitePausedError
from scrapy_mandelbot.throttle.site_map import site_of_request
from scrapy_mandelbot.throttle.waiting import ASKS_AGAIN, is_of_the_package

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.robotstxt import RobotParser

    from scrapy_mandelbot.rules.fetcher import SiteRules
    from scrapy_mandelbot.sites.flight import Flight

_OF_QUOTAS = frozenset({b"Ratelimit", b"Ratelimit-Remaining"})  # as Scrapy keeps headers
_NO_ANSWER = frozenset({Failure.REFUSED, Failure.UNREACHABLE, Failure.LOST, Failure.TIMED_OUT})
_NOT_KNOWN = frozenset({OutcomeKind.UNAVAILABLE, OutcomeKind.FAILED})
_NO_WORD_OF_THE_SITE = frozenset({Failure.DROPPED, Failure.OTHER})


class RobotsTxtMiddleware:
    """Obeys every site's robots.txt. Order 100, where Scrapy's own stands.

    Unlike Scrapy's own, it leaves a site alone whose answer to /robots.txt says nothing of rules.
    """

    DOWNLOAD_PRIORITY: int = 1000

    def __init__(self, crawler: Crawler) -> None:
        if not crawler.settings.getbool("ROBOTSTXT_OBEY"):
            raise NotConfigured
        self.crawler = crawler
        self._crawl = Crawl.of(crawler)
        self._flight = self._crawl.throttle.in_flight.get

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Any:
        """Build the middleware; Scrapy's own where MANDELBOT_ENABLED is False."""
        if not Crawl.of(crawler).config.enabled:
            stock = scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware
            return stock.from_crawler(crawler)
        return cls(crawler)

    async def process_request(self, request: Request) -> Request | Response | None:
        """Let the request pass, drop it, or send it back until its site's rules are known."""
        if request.meta.get("dont_obey_robotstxt") or not request.url.startswith(
            ("http://", "https://")  # no other has a robots.txt
        ):
            return None
        if CITED in request.meta:
            self._judge_sent(request)
        flight = self._flight(request) or self._crawl.throttle.flight_of(request)
        rules = flight.site.rules()
        if rules is None or not flight.site.is_plain or rules.until <= self._crawl.now():
            answer, rules = await self._find_out(flight, request)
            if answer is not None or rules is None:
                return answer
        self.process_request_2(rules.parser, request)
        if LISTED_IN in request.meta:
            self._judge_listed(request, rules)
        if request.url.endswith("/robots.txt"):
            return self._robots_txt(flight.site.name, request)
        return None

    async def _find_out(
        self, flight: Flight, request: Request
    ) -> tuple[Request | Response | None, SiteRules | None]:
        """Return the rules of the request's site, or what is returned in place of going by them."""
        throttle, site = self._crawl.throttle, flight.site
        if throttle.has_given_up(flight):
            return None, None  # PauseMiddleware answers it; the site is not asked
        while True:
            try:
                rules = await self._crawl.fetcher.rules(
                    site.name,
                    request,
                    self.DOWNLOAD_PRIORITY,
                    has_answered=site.has_answered,
                )
            except (asyncio.CancelledError, CancelledError):
                flight.end = End.CANCELLED
                raise
            finally:
                throttle.scouted(flight)
            if rules is not None and rules.outcome.kind not in _NOT_KNOWN:
                site.rules = ref(rules)
                agent: Any = self._crawl.agents.of(request)
                throttle.paces.tell_not_obeyed(site, rules.robots, agent)
                return None, rules
            if self._crawl.is_for_a_person(request):
                if rules is not None:
                    reason = rules.outcome.reason
                    self._crawl.events.tell(ROBOTS_UNKNOWN, site=site.name, reason=reason)
                return None, None
            if rules is not None and not self._refuses(flight, rules):
                return None, None  # who sent it waits for it, and nobody else for the site
            if throttle.can_go_back(flight):
                return throttle.send_back(flight), None
            if not await throttle.wait(flight, Admission.PAUSED):
                raise not_sent(self._crawl, flight)

    def _refuses(self, flight: Flight, rules: SiteRules) -> bool:
        """Tell that a site cannot say what its rules are; return whether it is asked again.

        Raises:
            Exception: the site has never answered, and its requests fail with what was raised.
        """
        outcome, throttle, site = rules.outcome, self._crawl.throttle, flight.site
        throttle.in_flight.unheard.fail(flight, outcome.failure)
        if outcome.kind is OutcomeKind.FAILED and rules.error is not None:
            if outcome.failure is not Failure.PROXY:
                site.pause.reset()  # no request waits
                throttle.scouted(flight)
                throttle.update(site)
            flight.is_noticed = True
            raise rules.error.with_traceback(None)
        if outcome.failure is Failure.NO_SUCH_HOST and not flight.is_from_queue:
            return False
        wait = outcome.wait if outcome.retry_after is None else outcome.retry_after
        if rules.response is not None:
            asked = wait_asked_for(rules.response.headers.get, self._crawl.now())
            if asked.unreadable:
                tell_unreadable(self._crawl, flight, asked.unreadable)
        # Of a host that never answered it is told once, where that is known.
        level = None if outcome.wait is None else logging.DEBUG
        throttle.refused(flight, outcome.reason, wait, rules.response, level=level)
        return True

    def _judge_sent(self, request: Request) -> None:
        """Raise IgnoreRequest if a sitemap's request was redirected to where none may send it."""
        if not self._crawl.config.may_send(request.meta[CITED]["site"], request.url):
            raise IgnoreRequest(
                f"{shown(request.url)} is on this machine or in its network"
                ' (MANDELBOT_LIMITS["private_hosts"])'
            )

    def _judge_listed(self, request: Request, rules: SiteRules) -> None:
        """Raise IgnoreRequest if its own site does not cite the sitemap that lists the page."""
        if request.meta.pop(LISTED_IN) not in rules.sitemaps:
            self._crawl.events.count(PAGES_FOREIGN, pages=1)
            raise IgnoreRequest("Its site's robots.txt does not cite the sitemap that lists it")

    def process_request_2(self, rp: RobotParser | None, request: Request) -> None:
        """Raise IgnoreRequest if the rules forbid the request."""
        if rp is None:
            return
        agent: Any = self._crawl.agents.of(request)
        url = request.url
        if rp.allowed(url, agent):
            # A server may serve a forbidden page for another spelling of its path.
            path_resolved = as_servers_read_it(url)
            if path_resolved is None or rp.allowed(path_resolved, agent):
                return
            url = path_resolved
        self._crawl.fates[request] = End.FORBIDDEN
        tell = self._crawl.events.tell
        if not isinstance(rp, MandelbotRobotParser):  # another ROBOTSTXT_PARSER cannot say why
            tell(FORBIDDEN_UNEXPLAINED, request=request, site=site_of_request(request))
            raise IgnoreRequest("Forbidden by robots.txt")
        verdict = rp.verdict(url, agent)
        site = site_of_request(request)
        tell(FORBIDDEN, request=request, site=site, file=robots_url(site), verdict=verdict)
        raise IgnoreRequest(f"Forbidden by robots.txt: {verdict}")

    def _robots_txt(self, site: str, request: Request) -> Response | None:
        """Return the site's copy for a spider's own request for it, as SitemapSpider sends.

        To see the current file, set ``dont_obey_robotstxt`` or use one of Scrapy's commands.
        """
        if request.method != "GET":
            return None
        url = urlparse_cached(request)
        if url.path != "/robots.txt" or url.query or self._crawl.is_for_a_person(request):
            return None
        copy = self._crawl.fetcher.copy(site)
        if copy is None:  # nobody could be asked
            return None
        self._crawl.events.count(ROBOTS_ANSWERED)
        return TextResponse(
            request.url,
            status=copy.status,
            headers={"Content-Type": "text/plain"},
            body=copy.body,
            flags=["cached"],  # it tells nothing about how the site is now
            request=request,
        )


class PauseMiddleware:
    """Notices that a site wants a pause, and sends back what it refuses. Order 950.

    It stands nearest the downloader, so that a 503 is seen before another component caches or
    retries it, and that a site with a pace is sent nothing whose turn has not come.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self._crawl = Crawl.of(crawler)
        if not self._crawl.config.enabled:
            raise NotConfigured
        self._throttle = self._crawl.throttle
        self._flight = self._throttle.in_flight.get
        self._statuses = self._crawl.config.pause_statuses
        handled = map(int, crawler.settings.getlist("HTTPERROR_ALLOWED_CODES"))
        are_all = crawler.settings.getbool("HTTPERROR_ALLOW_ALL")  # who handles them wants them
        self._marked = MARKED_STATUSES.difference(MARKED_STATUSES if are_all else handled)
        self._hears_of_responses = False
        self._limits = self._crawl.fetcher.limits
        self._limits.is_told = True
        self._stats_missed: DownloaderStats | None = None
        if crawler.settings.getbool("DOWNLOADER_STATS"):
            self._stats_missed = DownloaderStats(crawler.stats)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> PauseMiddleware:
        """Build the middleware."""
        middleware = cls(crawler)
        if engine.has_delays(crawler):
            middleware.hear_of_responses()
        return middleware

    def hear_of_responses(self) -> None:
        """Hear of responses one turn of the loop sooner than their middlewares do.

        Slots that hold requests send the next one then: those with a delay, and those of requests
        that are not from the queue, which hands out no more than a slot transfers at once.
        """
        if not self._hears_of_responses:
            self._hears_of_responses = True
            self.crawler.signals.connect(
                self.response_downloaded, signal=scrapy.signals.response_downloaded
            )

    def response_downloaded(self, response: Response, request: Request) -> None:
        """Pause the site at once: the downloader slot is about to send its next request."""
        if not request.meta.get("dont_pause"):
            self._notice(self._flight(request) or self._throttle.flight_of(request), response)

    def _notice(self, flight: Flight, response: Response) -> None:
        """Tell what an answer says of its site; once, whoever hears of it first."""
        flight.is_noticed = True
        request: Request = flight.request
        asks = response.status in self._statuses and "cached" not in response.flags
        is_marked = response.status in self._marked
        if (asks or is_marked) and self._is_handled(request, response):
            asks = is_marked = False
        flight.is_refused = asks
        if not asks:
            flight.is_refused = is_marked and is_turned_away(self._crawl, flight, response)
            if not flight.is_refused:
                self._answered(flight, response)
            return
        asked = wait_asked_for(response.headers.get, self._crawl.now())
        reason = f"{response.status} for {request}" + (f", {asked.said}" if asked.said else "")
        if asked.unreadable:
            tell_unreadable(self._crawl, flight, asked.unreadable)
        self._throttle.refused(flight, reason, asked.seconds, response)

    def _answered(self, flight: Flight, response: Response) -> None:
        """Tell that a site answered; and what it says is left of a quota, if it does."""
        if not _OF_QUOTAS.isdisjoint(response.headers):
            hear_quota(self._crawl, flight, response)
        is_page = response.status < HTTPStatus.BAD_REQUEST and flight.request.method == "GET"
        self._throttle.answered(flight, is_page=is_page)

    async def process_request(self, request: Request) -> Request | Response | None:
        """Stop a request whose site was paused since the queue handed it out."""
        flight = self._flight(request) or self._throttle.flight_of(request)
        if not flight.is_from_queue and not request.meta.get("dont_pause"):
            self.hear_of_responses()
        elif flight.site.is_plain and flight.is_from_queue and not self._throttle.is_paced:
            return None
        return await self._wait_for_turn(flight, request)

    async def _wait_for_turn(self, flight: Flight, request: Request) -> Request | Response | None:
        """Return None when the request may be sent, or what is returned in place of sending it."""
        throttle = self._throttle
        while True:
            if throttle.is_paced:
                self._crawl.learn_pace(request, flight.site)
            admission = throttle.admit(flight)
            if admission is Admission.GO:
                return None
            if admission is Admission.NO_TURN:
                # What is given up is not sent; a person does not wait.
                if self._crawl.is_for_a_person(request) or throttle.has_given_up(flight):
                    throttle.let_leave(flight)
                    return None
                if throttle.can_go_back(flight):
                    return throttle.send_back(flight, TURN_MISSED)
                if not await throttle.wait(flight, admission):
                    self._crawl.fates[request] = fate_of(self._crawl, flight)
                    raise IgnoreRequest(f"{flight.site.name} may not be asked now")
            elif throttle.can_go_back(flight):
                return throttle.send_back(flight)
            elif not await throttle.wait(flight, admission):
                raise not_sent(self._crawl, flight)

    async def process_response(self, request: Request, response: Response) -> Request | Response:
        """Send back a request that its site refused, to be asked again after the pause."""
        throttle = self._throttle
        flight = self._flight(request) or throttle.flight_of(request)
        status, heeds_pauses = response.status, not request.meta.get("dont_pause")
        is_good, is_cached = status not in self._statuses, "cached" in response.flags
        tally = flight.site.tally
        is_own = request.callback is NO_CALLBACK and is_of_the_package(request)
        if heeds_pauses and not flight.is_noticed and not is_cached:
            if is_good and status not in self._marked:
                self._answered(flight, response)
            else:
                self._notice(flight, response)
        is_refused = heeds_pauses and flight.is_refused and ASKS_AGAIN not in request.meta
        if not is_own and not is_refused and (is_good or not heeds_pauses):
            is_page = 200 <= status < 300  # noqa: PLR2004 -- for each page
            tally.cached += is_cached
            tally.pages += is_page and not is_cached
            tally.others += not is_page and not is_cached
        flight.is_noticed = flight.is_refused = False
        if not is_refused:
            tally.others += heeds_pauses and not is_own and not is_good
            if is_own:
                self._limits.response_downloaded(response, request)
            throttle.let_go(flight)
            return response
        is_safe = request.method in SAFE_METHODS
        if flight.is_refused_alone or not (is_safe or may_repeat(self.crawler, flight, status)):
            return self._hand_on(flight, response)
        if "Set-Cookie" in response.headers:
            await keep_cookies(self.crawler, request, response)
        if throttle.can_go_back(flight):
            self._count(request, response)
            return throttle.send_back(flight)
        if await throttle.wait(flight, Admission.PAUSED):
            self._count(request, response)
            return request
        return self._hand_on(flight, response)

    async def process_exception(self, request: Request, exception: Exception) -> Request | None:
        """Send back a request that never was sent, or found its site down."""
        flight = self._flight(request) or self._throttle.flight_of(request)
        sent_back = self._sent_back(flight, exception)
        if sent_back is None and not is_of_the_package(request):
            flight.site.tally.count(End.TRIED_AGAIN)  # unless no middleware tries it again
        return sent_back

    def _sent_back(self, flight: Flight, exception: Exception) -> Request | None:
        """Return the request of an exception as it goes back; None: the exception is passed on."""
        throttle = self._throttle
        request: Request = flight.request
        if request.meta.get("dont_pause") or flight.is_noticed:
            flight.is_noticed = False
            throttle.let_go(flight)
            return None
        if not isinstance(exception, SitePausedError):
            failure = failure_of(exception)
            # Of a proxy's failure the project's components try the request again, by another one.
            by_proxy = bool(request.meta.get("proxy"))
            is_down = failure in _NO_ANSWER and not by_proxy and throttle.is_silent(flight, failure)
            is_told = failure not in _NO_WORD_OF_THE_SITE and flight.site.pause.probe is flight
            if not is_down and (by_proxy or not is_told):
                throttle.let_go(flight)
                return None
            throttle.refused(flight, f"{failure.value} for {request}")
            # Tried enough: now it is RetryMiddleware's.
            is_enough = flight.is_refused_alone or not may_repeat(self.crawler, flight, exception)
            if is_enough or ASKS_AGAIN in request.meta:
                self._crawl.fates[request] = End.URL
                throttle.handed_on(flight)
                throttle.let_go(flight)
                return None
        throttle.ended(flight)
        if throttle.can_go_back(flight):
            return throttle.send_back(flight)
        if throttle.has_given_up(flight):
            self._crawl.fates[request] = fate_of(self._crawl, flight)
            throttle.let_go(flight)
            return None
        return request  # it waits as its site is paused, when whoever sent it sends it again

    def _is_handled(self, request: Request, response: Response) -> bool:
        """Return whether the spider handles such a response, or a person waits for it."""
        if self._crawl.is_for_a_person(request):
            return True
        listed = request.meta.get(
            "handle_httpstatus_list", getattr(self.crawler.spider, "handle_httpstatus_list", ())
        )
        if isinstance(listed, (list, tuple, set, frozenset)) and response.status in listed:
            return True
        # Media pipelines ask for every status but redirects, to log them: they handle none.
        if request.callback is NO_CALLBACK:
            return False
        return bool(request.meta.get("handle_httpstatus_all")) or response.status in listed

    def _hand_on(self, flight: Flight, response: Response) -> Response:
        if not is_of_the_package(flight.request):
            flight.site.tally.count(fate_of(self._crawl, flight))
        self._throttle.handed_on(flight)
        self._throttle.let_go(flight)
        # It has been tried enough: RetryMiddleware would have it tried again at once.
        flight.request.meta["dont_retry"] = True
        return response

    def _count(self, request: Request, response: Response) -> None:
        """Count a response in the stats, as it will not reach the middleware that does."""
        if self._stats_missed is not None:
            self._stats_missed.process_response(request, response)
