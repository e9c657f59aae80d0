"""The robots.txt files of a crawl: fetched once by whoever asks first, shared by all who wait."""

from __future__ import annotations

import logging
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

import scrapy.exceptions
import scrapy.signals
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Request
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.misc import build_from_crawler, load_object
from twisted.internet.defer import Deferred
from twisted.internet.error import DNSLookupError

from scrapy_mandelbot import signals
from scrapy_mandelbot.politeness import (
    Outcome,
    OutcomeKind,
    parse_retry_after,
    robots_url,
    status_outcome,
)
from scrapy_mandelbot.robotstxt import RobotsTxt
from scrapy_mandelbot.stores import Copy

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.robotstxt import RobotParser

    from scrapy_mandelbot.config import Config
    from scrapy_mandelbot.stores import Store

logger = logging.getLogger(__name__)

_NO_SUCH_HOST: tuple[type[Exception], ...] = (
    DNSLookupError,
    # Scrapy 2.15 and newer has its own.
    getattr(scrapy.exceptions, "CannotResolveHostError", DNSLookupError),
)
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_UNASKED_TTL = 300.0  # seconds; a name that does not resolve is not looked up for every request
_PARSED_AT_MOST = 10_000  # sites whose rules are kept parsed; the others are parsed when asked


@dataclass(frozen=True)
class SiteRules:
    """What is known of a site's rules, and until when."""

    outcome: Outcome
    parser: RobotParser | None
    """None: nobody could be asked, and the request goes on."""
    until: float
    response: Response | None = None


class RobotsFetcher:
    """Knows the rules of every site of a crawl, or finds them out."""

    def __init__(
        self, crawler: Crawler, config: Config, store: Store, now: Callable[[], float]
    ) -> None:
        self._crawler = crawler
        self._config = config
        self._store = store
        self._now = now
        self._parser_class = load_object(crawler.settings.get("ROBOTSTXT_PARSER"))
        # A parser that cannot work is an error at start, not at the first site.
        build_from_crawler(self._parser_class, crawler, b"")
        self._known: OrderedDict[str, SiteRules] = OrderedDict()
        self._under_way: dict[str, list[Deferred[SiteRules]]] = {}
        self._sitemaps_told: set[str] = set()

    def knows(self, site: str) -> bool:
        """Return whether the site's rules need not be fetched now."""
        return self._recall(site) is not None

    async def rules(self, site: str, request: Request, priority: int) -> SiteRules:
        """Return the site's rules, from memory or from one fetch shared by all who ask.

        Args:
            site: the site asked for.
            request: the request that wants to know; its proxy is used for the fetch.
            priority: of the fetch.
        """
        rules = self._recall(site)
        if rules is not None:
            return rules
        if site in self._under_way:
            waiter: Deferred[SiteRules] = Deferred()
            self._under_way[site].append(waiter)
            return await maybe_deferred_to_future(waiter)
        self._under_way[site] = []
        try:
            rules = await self._find_out(site, request, priority)
        except BaseException as error:
            for waiter in self._under_way.pop(site):
                waiter.errback(error)
            raise
        for waiter in self._under_way.pop(site):
            waiter.callback(rules)
        return rules

    def _recall(self, site: str) -> SiteRules | None:
        rules = self._known.get(site)
        if rules is not None and self._now() < rules.until:
            return rules
        copy = self._store.get(site)
        if copy is None or not copy.fresh(self._now(), self._config.cache_ttl):
            return None
        return self._remember(
            site,
            status_outcome(copy.status, self._config.pause_statuses),
            self._parse(copy.body),
            copy.fetched_at + self._config.cache_ttl,
        )

    def _remember(
        self, site: str, outcome: Outcome, parser: RobotParser | None, until: float
    ) -> SiteRules:
        rules = self._known[site] = SiteRules(outcome, parser, until)
        self._known.move_to_end(site)
        if len(self._known) > _PARSED_AT_MOST:
            self._known.popitem(last=False)
        return rules

    def _parse(self, body: bytes) -> RobotParser:
        parser: RobotParser = build_from_crawler(self._parser_class, self._crawler, body)
        return parser

    async def _find_out(self, site: str, request: Request, priority: int) -> SiteRules:
        stats = self._crawler.stats
        response = None
        try:
            response, outcome = await self._fetch(site, request, priority)
        except IgnoreRequest as error:
            outcome = Outcome(OutcomeKind.UNASKED, f"robots.txt was not asked for: {error}")
        except _NO_SUCH_HOST as error:
            outcome = Outcome(OutcomeKind.UNASKED, f"no such host: {error}")
            self._count_failure(site, error)
        except Exception as error:  # noqa: BLE001 -- whatever it is, nobody knows the rules
            name = type(error).__name__
            outcome = Outcome(OutcomeKind.UNAVAILABLE, f"robots.txt: {name}: {error}")
            self._count_failure(site, error)
        finally:
            stats.inc_value("robotstxt/request_count")
        stats.inc_value(f"mandelbot/robots/{outcome.kind.name.lower()}")
        now = self._now()
        if outcome.kind is OutcomeKind.UNASKED:
            return self._remember(site, outcome, None, now + _UNASKED_TTL)
        body = response.body if response and outcome.kind is OutcomeKind.RULES else b""
        if outcome.kind is OutcomeKind.UNAVAILABLE:
            rules = SiteRules(outcome, None, now, response)
        else:
            copy = Copy(body, outcome.status or 0, now)
            self._store.put(site, copy)
            until = now + self._config.cache_ttl
            rules = self._remember(site, outcome, self._parse(body), until)
        await self._tell(site, request, rules, body)
        return rules

    async def _fetch(
        self, site: str, request: Request, priority: int
    ) -> tuple[Response | None, Outcome]:
        """Ask the site, following redirects across sites; the end result belongs to the site."""
        url: str | None = robots_url(site)
        seen: set[str] = set()
        while url and url not in seen and len(seen) <= self._config.robots_max_redirects:
            seen.add(url)
            response = await self._download(url, request, priority)
            location = response.headers.get("Location")
            if response.status not in _REDIRECTS or not location:
                retry_after = parse_retry_after(response.headers.get("Retry-After"), self._now())
                return response, status_outcome(
                    response.status, self._config.pause_statuses, retry_after
                )
            url = _http_url(url, location.decode("latin-1").strip())
        # A loop, a target that nobody can fetch, or more hops than anyone means: as a 404.
        return None, Outcome(
            OutcomeKind.ALLOW_ALL, f"robots.txt: {len(seen)} redirects lead nowhere", 404
        )

    async def _download(self, url: str, request: Request, priority: int) -> Response:
        meta: dict[str, Any] = {
            "dont_obey_robotstxt": True,
            # What its answer means for the gate is said by the outcome, not by its status alone.
            "dont_pause": True,
            "dont_redirect": True,
            "dont_retry": True,
            "dont_cache": True,
            # robots.txt may be redirected to a site that the spider does not crawl.
            "allow_offsite": True,
            "download_timeout": self._config.robots_timeout,
        }
        if "proxy" in request.meta:
            meta["proxy"] = request.meta["proxy"]
        engine = self._crawler.engine
        response: Response = await engine.download_async(
            Request(url, priority=priority, meta=meta, callback=NO_CALLBACK)
        )
        stats = self._crawler.stats
        stats.inc_value("robotstxt/response_count")
        stats.inc_value(f"robotstxt/response_status_count/{response.status}")
        return response

    async def _tell(self, site: str, request: Request, rules: SiteRules, body: bytes) -> None:
        """Send what there is to hear of a fetch, Scrapy's own signal first."""
        spider = self._crawler.spider
        robots_parsed = getattr(scrapy.signals, "robots_parsed", None)  # Scrapy 2.18 and newer
        if rules.parser is not None and robots_parsed is not None:
            await self._crawler.signals.send_catch_log_async(
                signal=robots_parsed, robotparser=rules.parser, request=request
            )
        robots = RobotsTxt.parse(
            body, dialect=self._config.dialect, max_bytes=self._config.robots_max_bytes
        )
        self._crawler.signals.send_catch_log(
            signals.robots_fetched,
            site=site,
            robots=robots,
            outcome=rules.outcome,
            spider=spider,
        )
        if self._config.sitemaps != "off" and site not in self._sitemaps_told:
            urls = absolute_urls(robots_url(site), robots.sitemaps)
            if urls:
                self._sitemaps_told.add(site)
                self._crawler.stats.inc_value("mandelbot/sitemaps/discovered", len(urls))
                self._crawler.signals.send_catch_log(
                    signals.sitemaps_discovered, site=site, urls=urls, spider=spider
                )

    def _count_failure(self, site: str, error: Exception) -> None:
        self._crawler.stats.inc_value(f"robotstxt/exception_count/{type(error)}")
        logger.error(
            "Error downloading %(url)s: %(error)s",
            {"url": robots_url(site), "error": error},
            extra={"spider": self._crawler.spider},
        )


def absolute_urls(base: str, urls: tuple[str, ...]) -> tuple[str, ...]:
    """Return the URLs made absolute, each once; what cannot be a URL is left out."""
    absolute = (_http_url(base, url) for url in urls)
    return tuple(dict.fromkeys(url for url in absolute if url is not None))


def _http_url(base: str, url: str) -> str | None:
    try:
        absolute = urljoin(base, url)
    except ValueError:  # such as "http://["
        return None
    return absolute if absolute.startswith(("http://", "https://")) else None
