"""The downloader middleware that obeys robots.txt."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import ref

import scrapy.downloadermiddlewares.robotstxt
import scrapy.signals
from mandelbot import Failure, OutcomeKind
from mandelbot.answers.meaning import NOTHING
from mandelbot.formatting import shown
from mandelbot.origins import robots_url
from mandelbot.robotstxt.paths import as_servers_read_it
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.http import TextResponse
from scrapy.utils.httpobj import urlparse_cached
from twisted.internet.defer import CancelledError

from scrapy_mandelbot import events
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.downloadermiddlewares.pause import not_sent, report_unreadable
from scrapy_mandelbot.fetching.credentials import AUTHORIZATION, META_KEYS
from scrapy_mandelbot.fetching.download_limits import CITED
from scrapy_mandelbot.fetching.requesting import LONGEST_REDIRECT
from scrapy_mandelbot.fetching.robot_parser import MandelbotRobotParser
from scrapy_mandelbot.politeness.tally import End

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.robotstxt import RobotParser

    from scrapy_mandelbot.fetching.fetcher import RobotsFetcher, SiteRules
    from scrapy_mandelbot.politeness.flight import Flight
    from scrapy_mandelbot.politeness.site_state import Site

LISTED_IN = "mandelbot_listed_in"
"""Meta key of a page that only the sitemap of another site lists: the one that its own
site's robots.txt has to cite.
"""
_NOT_KNOWN = frozenset({OutcomeKind.UNAVAILABLE, OutcomeKind.FAILED})
_SPECIAL = META_KEYS | {"dont_obey_robotstxt", CITED, LISTED_IN}
"""Meta keys of requests that need more than their site's rules, as few have."""
_SCHEME = len("https://")
_EVERY_PAGE = frozenset({"/", "/*", "*"})


class RobotsTxtMiddleware:
    """Obeys every site's robots.txt. Order 100, where Scrapy's own stands.

    Unlike Scrapy's own, it sends nothing to a site whose rules are *unreachable* (RFC
    9309).
    """

    def __init__(self, crawler: Crawler) -> None:
        if not crawler.settings.getbool("ROBOTSTXT_OBEY"):
            raise NotConfigured
        self.crawler = crawler
        self._crawl = Crawl.of(crawler)
        self._flight = self._crawl.throttle.in_flight.get
        self._agent: Any = self._crawl.agents.of
        self._has_credentials = self._crawl.credentials.has_default

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Any:
        """Build the middleware; Scrapy's own where MANDELBOT_ENABLED is False."""
        if not Crawl.of(crawler).config.enabled:
            stock = scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware
            return stock.from_crawler(crawler)
        return cls(crawler)

    async def process_request(  # noqa: C901 -- a call less for each page
        self, request: Request
    ) -> Request | Response | None:
        """Pass the request on, drop it, or send it back until the rules are known."""
        meta = request.meta
        url = request.url
        is_special = not _SPECIAL.isdisjoint(meta)
        if is_special:
            if meta.get("dont_obey_robotstxt"):
                return None
            if CITED in meta:
                self._check_redirect(request)
        flight = self._flight(request) or self._crawl.throttle.flight_of(request)
        # One from the queue was handed out just now, by the rules of that moment.
        rules = flight.rules
        if (
            self._has_credentials
            or dict.__contains__(request.headers, AUTHORIZATION)
            or (is_special and not META_KEYS.isdisjoint(meta))
        ):
            rules = self._crawl.fetchers.of(request).known(flight.site.name)
        elif rules is None:
            rules = self._at_hand(flight)
        if rules is None or not flight.site.is_plain:
            if not url.startswith(("http://", "https://")):
                return None  # other schemes have no robots.txt
            answer, rules = await self._find_out(flight, request)
            if answer is not None or rules is None:
                return answer
        if rules.is_large and self._crawl.forbids(request):
            await self._prepare_reasons(rules, request)
        self.process_request_2(rules.parser, request)
        if is_special and LISTED_IN in meta:
            self._check_citation(rules, meta.pop(LISTED_IN))
        if url.endswith("/robots.txt"):
            return self._robots_txt(flight.site.name, request)
        return None

    def _at_hand(self, flight: Flight[Site]) -> SiteRules | None:
        """Return the rules of a request's site, if they are known and valid."""
        rules: SiteRules | None = flight.site.rules()
        now = flight.sent_at if flight.is_from_queue else self._crawl.now()
        if rules is None or rules.until <= now:
            return None
        return rules

    def _check_citation(self, rules: SiteRules, sitemap: str) -> None:
        """Raise IgnoreRequest if the rules of a page's site do not cite its sitemap."""
        if sitemap in rules.sitemaps:
            return
        self._crawl.events.count(events.PAGES_FOREIGN, pages=1)
        raise IgnoreRequest(
            "Its site's robots.txt does not cite the sitemap that lists it"
        )

    async def _prepare_reasons(self, rules: SiteRules, request: Request) -> None:
        """Prepare in slices what says why a large file forbids a request."""
        steps = rules.robots.decider(self._agent(request)).explaining()
        if steps:
            await self._crawl.clock.share.run(steps)

    async def _find_out(
        self, flight: Flight[Site], request: Request
    ) -> tuple[Request | Response | None, SiteRules | None]:
        """Return the rules of the request's site, or a result of `process_request`."""
        throttle = self._crawl.throttle
        site = flight.site
        if throttle.has_given_up(flight):
            return None, None  # PauseMiddleware answers it
        fetcher = self._crawl.fetchers.of(request)
        while True:
            try:
                rules = await fetcher.rules(
                    site.name, request, has_answered=site.has_answered
                )
            except (asyncio.CancelledError, CancelledError):
                flight.end = End.CANCELLED
                raise
            finally:
                throttle.scouted(flight)
            if rules.outcome.kind not in _NOT_KNOWN:
                self._keep(site, fetcher, rules)
                throttle.paces.report_not_obeyed(
                    site, rules.robots, partial(self._agent, request)
                )
                return None, rules
            if self._crawl.is_for_a_person(request):
                reason = rules.outcome.reason
                self._crawl.events.emit(
                    events.ROBOTS_UNKNOWN, site=site.name, reason=reason
                )
                return None, None
            if not self._refuses(flight, rules):
                return None, None  # its sender waits for it, and no other request does
            if throttle.can_go_back(flight):
                return throttle.send_back(flight), None
            if not await throttle.wait(flight):
                raise self._not_sent(flight, rules)

    def _keep(self, site: Site, fetcher: RobotsFetcher, rules: SiteRules) -> None:
        """Keep a site's rules at hand, except those for requests with credentials."""
        if fetcher is self._crawl.fetcher:
            site.rules = ref(rules)

    def _not_sent(self, flight: Flight[Site], rules: SiteRules) -> BaseException:
        """Return the error of a request that has waited in vain."""
        if rules.outcome.wait is None:
            return not_sent(self._crawl, flight)
        return rules.error_anew()  # the host has never answered

    def _refuses(self, flight: Flight[Site], rules: SiteRules) -> bool:
        """Report that a site's rules are unknown.

        Returns whether they are requested again.

        Raises:
            Exception: the site has never answered; its requests fail with the
                download's exception.
        """
        outcome = rules.outcome
        throttle = self._crawl.throttle
        site = flight.site
        throttle.in_flight.unresponsive.fail(flight, outcome.failure)
        # It is sent, and fails by itself, as without rules to ask for.
        if outcome.failure is Failure.NO_SUCH_HOST and not flight.is_from_queue:
            if site.note_once("no such host"):
                reason = outcome.reason
                self._crawl.events.emit(
                    events.ROBOTS_NO_SUCH_HOST, site=site.name, reason=reason
                )
            return False
        # Its sender waits for no last try: a callback may hang until it has an answer.
        is_over = outcome.kind is OutcomeKind.FAILED
        is_over = is_over or (outcome.is_last_wait and not flight.is_from_queue)
        if is_over and rules.error is not None:
            if rules.is_dead:
                throttle.scouted(flight)
                throttle.pauses.found_dead(site, outcome.failure, rules.until)
                if site.pause.is_given_up and flight.is_from_queue:
                    return True  # it waits for the next run
            flight.meaning = NOTHING
            raise rules.error_anew()
        wait = outcome.wait if outcome.retry_after is None else outcome.retry_after
        if rules.unreadable:
            report_unreadable(self._crawl, site, rules.unreadable)
        # A host that never answers is reported once, after the last of the short tries.
        level = None if outcome.wait is None else logging.DEBUG
        throttle.pauses.refused(
            flight, outcome.reason, wait, rules.response, level=level
        )
        return True

    def _check_redirect(self, request: Request) -> None:
        """Raise IgnoreRequest if a sitemap was redirected to a forbidden place."""
        if len(request.url) > LONGEST_REDIRECT:
            raise IgnoreRequest(
                f"its redirect's URL has more than {LONGEST_REDIRECT:,} characters"
            )
        if not self._crawl.config.may_send(request.meta[CITED]["site"], request.url):
            raise IgnoreRequest(
                f"{shown(request.url)} is on this machine or in its network"
                ' (MANDELBOT_LIMITS["private_hosts"])'
            )

    # Scrapy's name: a project's subclass may override it (docs/moving.rst).
    def process_request_2(self, rp: RobotParser | None, request: Request) -> None:
        """Raise IgnoreRequest if the rules forbid the request."""
        if rp is None:
            return
        agent = self._agent(request)
        url = request.url
        allowed: Callable[..., bool] = rp.allowed
        if type(rp) is MandelbotRobotParser:
            allowed = rp.robots.allowed
        if allowed(url, agent):
            # A server may serve a forbidden page for another spelling of its path.
            if not ("/." in url or "//" in url[_SCHEME:] or "%2" in url):
                return
            resolved = as_servers_read_it(url)
            if resolved is None or allowed(resolved, agent):
                return
            url = resolved
        self._crawl.throttle.in_flight.fates[request] = End.FORBIDDEN
        site = self._crawl.throttle.sites.of_request(request)
        emit = self._crawl.events.emit
        # another ROBOTSTXT_PARSER cannot say why
        if not isinstance(rp, MandelbotRobotParser):
            emit(events.FORBIDDEN_UNEXPLAINED, request=request, site=site.name)
            raise IgnoreRequest("Forbidden by robots.txt")
        verdict = rp.verdict(url, agent)
        file = robots_url(site.name)
        if verdict.is_too_costly and site.note_once("costly"):
            emit(events.ROBOTS_COSTLY, site=site.name)
        emit(
            events.FORBIDDEN,
            request=request,
            site=site.name,
            file=file,
            verdict=verdict,
        )
        if (
            verdict.rule is not None
            and verdict.rule.path in _EVERY_PAGE
            and site.note_once("forbidden")
            and not rp.robots.decider(agent).values("allow")
        ):
            emit(events.FORBIDDEN_ALL, site=site.name, file=file, verdict=verdict)
        raise IgnoreRequest(f"Forbidden by robots.txt: {verdict}")

    def _robots_txt(self, site: str, request: Request) -> Response | None:
        """Answer a spider's own request for /robots.txt from the cache.

        To fetch the current file, set ``dont_obey_robotstxt`` or use one of Scrapy's
        commands.
        """
        url = urlparse_cached(request)
        if url.path != "/robots.txt" or url.query or request.method != "GET":
            return None
        if self._crawl.is_for_a_person(request):
            return None
        copy = self._crawl.fetchers.of(request).cached(site)
        if copy is None:  # the file is unavailable
            return None
        self._crawl.events.count(events.ROBOTS_ANSWERED)
        return TextResponse(
            request.url,
            status=copy.status,
            headers={"Content-Type": "text/plain"},
            body=copy.body,
            flags=["cached"],  # no evidence of the site's current state
            request=request,
        )
