"""The two downloader middlewares: one obeys the rules, one notices that a site wants a pause."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import scrapy.downloadermiddlewares.robotstxt
import scrapy.signals
from scrapy.downloadermiddlewares.stats import DownloaderStats
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.http import TextResponse
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.httpobj import urlparse_cached

from scrapy_mandelbot import signals
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.fetching import failure_of
from scrapy_mandelbot.gates import REFUSAL_FLAG, SitePausedError, site_of_request
from scrapy_mandelbot.politeness import Failure, OutcomeKind, parse_retry_after, robots_url
from scrapy_mandelbot.robotparser import MandelbotRobotParser

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.robotstxt import RobotParser

    from scrapy_mandelbot.fetching import SiteRules

logger = logging.getLogger(__name__)

_NO_ANSWER = frozenset({Failure.REFUSED, Failure.LOST, Failure.TIMED_OUT})


class RobotsTxtMiddleware:
    """Obeys every site's robots.txt. Order 100, where Scrapy's own stands.

    Unlike Scrapy's own, it asks what the answer to /robots.txt means before it reads it as rules,
    and leaves a site alone whose answer is that it cannot say now.
    """

    DOWNLOAD_PRIORITY: int = 1000

    def __init__(self, crawler: Crawler) -> None:
        if not crawler.settings.getbool("ROBOTSTXT_OBEY"):
            raise NotConfigured
        self.crawler = crawler
        self._crawl = Crawl.of(crawler)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Any:
        """Build the middleware; Scrapy's own where MANDELBOT_ENABLED is False."""
        if not Crawl.of(crawler).config.enabled:
            stock = scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware
            return stock.from_crawler(crawler)
        return cls(crawler)

    async def process_request(self, request: Request) -> Request | Response | None:
        """Let the request pass, drop it, or send it back until its site's rules are known."""
        gates = self._crawl.gates
        if (
            request.meta.get("dont_obey_robotstxt")
            or not request.url.startswith(("http://", "https://"))  # no other has a robots.txt
            or gates.has_given_up(request)  # PauseMiddleware answers it; the site is not asked
        ):
            return None
        site = site_of_request(request)
        while True:
            try:
                rules = await self._crawl.fetcher.rules(site, request, self.DOWNLOAD_PRIORITY)
            finally:
                gates.has_scouted(request)
            if rules.outcome.kind is not OutcomeKind.UNAVAILABLE:
                break
            if self._crawl.is_for_a_person(request):
                self._tell_person(site, rules)
                return None
            gates.refused(request, rules.outcome.reason, rules.outcome.retry_after, rules.response)
            if gates.can_go_back(request):
                return gates.send_back(request)
            if not await gates.wait(request):
                return _refusal(self._crawl, request)
        self.process_request_2(rules.parser, request)
        return self._robots_txt(site, request)

    def process_request_2(self, rp: RobotParser | None, request: Request) -> None:
        """Raise IgnoreRequest if the rules forbid the request."""
        if rp is None:
            return
        agent: Any = self._crawl.agents.of(request)
        if rp.allowed(request.url, agent):
            return
        self.crawler.stats.inc_value("robotstxt/forbidden")
        if not isinstance(rp, MandelbotRobotParser):  # another ROBOTSTXT_PARSER cannot say why
            logger.debug(
                "Forbidden by robots.txt: %(request)s",
                {"request": request},
                extra={"spider": self.crawler.spider},
            )
            raise IgnoreRequest("Forbidden by robots.txt")
        verdict = rp.verdict(request.url, agent)
        logger.debug(
            "Forbidden by robots.txt: %(request)s (%(file)s: %(verdict)s)",
            {
                "request": request,
                "file": robots_url(site_of_request(request)),
                "verdict": verdict,
            },
            extra={"spider": self.crawler.spider},
        )
        self.crawler.signals.send_catch_log(
            signals.request_forbidden,
            request=request,
            verdict=verdict,
            spider=self.crawler.spider,
        )
        raise IgnoreRequest(f"Forbidden by robots.txt: {verdict}")

    def _robots_txt(self, site: str, request: Request) -> Response | None:
        """Return the site's copy for a spider's own request for it, as SitemapSpider sends.

        Who wants to see what the site says now asks with ``dont_obey_robotstxt``, or with one of
        Scrapy's commands.
        """
        if not request.url.endswith("/robots.txt") or request.method != "GET":
            return None
        url = urlparse_cached(request)
        if url.path != "/robots.txt" or url.query or self._crawl.is_for_a_person(request):
            return None
        copy = self._crawl.fetcher.copy(site)
        if copy is None:  # nobody could be asked
            return None
        self.crawler.stats.inc_value("mandelbot/robots/answered")
        return TextResponse(
            request.url,
            status=copy.status,
            headers={"Content-Type": "text/plain"},
            body=copy.body,
            flags=["cached"],  # it tells nothing about how the site is now
            request=request,
        )

    def _tell_person(self, site: str, rules: SiteRules) -> None:
        logger.warning(
            "The rules of %(site)s are not known (%(reason)s). A crawl would leave it alone for a"
            " while and ask again; this request is sent, as you wait for its answer.",
            {"site": site, "reason": rules.outcome.reason},
            extra={"spider": self.crawler.spider},
        )


class PauseMiddleware:
    """Notices that a site wants a pause, and sends back what it refuses. Order 950.

    It stands nearest the downloader, so that a 503 is seen before anyone caches or retries it, and
    that a site with a pace is sent nothing whose turn has not come.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self._crawl = Crawl.of(crawler)
        if not self._crawl.config.enabled:
            raise NotConfigured
        self._statuses = self._crawl.config.pause_statuses
        self._noticed: WeakSet[Request] = WeakSet()
        self._stats_missed: DownloaderStats | None = None
        if crawler.settings.getbool("DOWNLOADER_STATS"):
            self._stats_missed = DownloaderStats(crawler.stats)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> PauseMiddleware:
        """Build the middleware, and have it hear of responses before the next is sent."""
        middleware = cls(crawler)
        crawler.signals.connect(
            middleware.response_downloaded, signal=scrapy.signals.response_downloaded
        )
        return middleware

    def response_downloaded(self, response: Response, request: Request) -> None:
        """Close the gate at once: the downloader slot is about to send its next request."""
        if request.meta.get("dont_pause"):
            return
        self._noticed.add(request)
        if self._asks_for_pause(request, response):
            retry_after = response.headers.get("Retry-After")
            reason = f"{response.status} for {request}"
            if retry_after is not None:
                reason += f", Retry-After: {retry_after.decode('latin-1')}"
            seconds = parse_retry_after(retry_after, self._crawl.now())
            self._crawl.gates.refused(request, reason, seconds, response)
        else:
            self._crawl.gates.answered(request)

    async def process_request(self, request: Request) -> Request | Response | None:
        """Stop a request whose site has closed since the queue handed it out."""
        gates, paces = self._crawl.gates, self._crawl.gates.paces
        while True:
            if paces.is_active:
                self._crawl.learn_pace(request, site_of_request(request))
            if not self._has_its_turn(request):
                if gates.can_go_back(request):
                    self.crawler.stats.inc_value("mandelbot/pace/sent_back")
                    return gates.handouts.send_back(request)
                if not await paces.wait(request):
                    raise IgnoreRequest(f"{site_of_request(request)} may not be asked now")
            elif request.meta.get("dont_pause") or gates.passes.admits(request):
                paces.sent(request)
                return None
            else:
                paces.ended(request)  # its turn is for somebody else
                if gates.can_go_back(request):
                    return gates.send_back(request)
                if not await gates.wait(request):
                    return _refusal(self._crawl, request)

    async def process_response(self, request: Request, response: Response) -> Request | Response:
        """Send back a request that its site refused, to be asked again after the pause."""
        gates = self._crawl.gates
        gates.paces.ended(request)
        if request.meta.get("dont_pause") or REFUSAL_FLAG in response.flags:
            gates.let_go(request)
            return response
        if "cached" not in response.flags and request not in self._noticed:
            # A custom DOWNLOADER need not send the signal.
            self.response_downloaded(response, request)
        self._noticed.discard(request)
        if not self._asks_for_pause(request, response):
            gates.let_go(request)
            return response
        if gates.is_refused_alone(request):
            return self._hand_on(request, response)
        if gates.can_go_back(request):
            self._count(request, response)
            return gates.send_back(request)
        if await gates.wait(request):
            self._count(request, response)
            return request
        return self._hand_on(request, response)

    async def process_exception(
        self, request: Request, exception: Exception
    ) -> Request | Response | None:
        """Send back a request that never was sent, or found its site down."""
        gates = self._crawl.gates
        gates.paces.ended(request)
        if request.meta.get("dont_pause"):
            gates.let_go(request)
            return None
        if not isinstance(exception, SitePausedError):
            failure = failure_of(exception)
            is_down = failure in _NO_ANSWER and gates.is_silent(
                request, is_certain=failure is Failure.REFUSED
            )
            if not is_down and (not gates.passes.is_probe(request) or failure is Failure.DROPPED):
                gates.let_go(request)
                return None
            gates.refused(request, f"{failure.value} for {request}")
            if gates.is_refused_alone(request):  # it was tried enough: now it is RetryMiddleware's
                gates.handed_on(request)
                gates.let_go(request)
                return None
        if gates.can_go_back(request):
            return gates.send_back(request)
        if gates.has_given_up(request):
            gates.let_go(request)
            return None
        return request  # it waits at the gate, when whoever sent it sends it again

    def _has_its_turn(self, request: Request) -> bool:
        """Return whether the pace of its site lets the request go now."""
        crawl = self._crawl
        # What is given up is not sent.
        return (
            crawl.gates.paces.take(request)
            or crawl.is_for_a_person(request)
            or crawl.gates.has_given_up(request)
        )

    def _asks_for_pause(self, request: Request, response: Response) -> bool:
        """Return whether the response means a pause, rather than something its spider handles."""
        if response.status not in self._statuses or "cached" in response.flags:
            return False
        if self._crawl.is_for_a_person(request):
            return False
        listed = request.meta.get(
            "handle_httpstatus_list", getattr(self.crawler.spider, "handle_httpstatus_list", ())
        )
        if isinstance(listed, (list, tuple, set, frozenset)) and response.status in listed:
            return False
        # Media pipelines ask for every status but redirects, to log them: they handle none.
        if request.callback is NO_CALLBACK:
            return True
        return not request.meta.get("handle_httpstatus_all") and response.status not in listed

    def _hand_on(self, request: Request, response: Response) -> Response:
        self._crawl.gates.handed_on(request)
        self._crawl.gates.let_go(request)
        # It has been tried enough: RetryMiddleware would have it tried again at once.
        request.meta["dont_retry"] = True
        return response

    def _count(self, request: Request, response: Response) -> None:
        """Count a response in the stats, as it will not reach the middleware that does."""
        if self._stats_missed is not None:
            self._stats_missed.process_response(request, response)


def _refusal(crawl: Crawl, request: Request) -> Response:
    """Return the answer for a request that is not sent, as its site would have given it."""
    request.meta["dont_retry"] = True
    response = crawl.gates.refusal_for(request)
    if response is None:
        raise IgnoreRequest(f"{site_of_request(request)} is paused, and has not answered")
    return response
