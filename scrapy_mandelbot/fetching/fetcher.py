"""What the rules of every site of a crawl are, or how they are found out."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

import scrapy.signals
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.misc import build_from_crawler, load_object
from twisted.internet.defer import CancelledError, Deferred

from scrapy_mandelbot.events import (
    COMMENTED,
    ROBOTS_FROM_CACHE,
    ROBOTS_READ,
    ROBOTS_STALE,
    ROBOTS_UNANSWERED,
    ROBOTS_UNREADABLE,
    SITEMAPS_DISCOVERED,
)
from scrapy_mandelbot.fetching.asking import Asked, RobotsAsker, tell_of_answer
from scrapy_mandelbot.fetching.failures import without_traceback
from scrapy_mandelbot.fetching.own_requests import http_url
from scrapy_mandelbot.fetching.request_agents import Agents
from scrapy_mandelbot.fetching.robot_parser import MandelbotRobotParser
from scrapy_mandelbot.politeness.inside import leads_inside
from scrapy_mandelbot.politeness.outcome import (
    BROKEN_OFF_APART,
    ENOUGH_BROKEN_OFF,
    Failure,
    Known,
    Outcome,
    OutcomeKind,
    counted_as,
    is_fresh,
    kept_outcome,
    may_be_misreported,
    outcome_of,
)
from scrapy_mandelbot.politeness.pause_law import Refusal
from scrapy_mandelbot.robots.formatting import shown
from scrapy_mandelbot.robots.origins import robots_url
from scrapy_mandelbot.robots.robotstxt import RobotsTxt
from scrapy_mandelbot.store.contract import CachedRobots
from scrapy_mandelbot.store.memory import Recent

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.robotstxt import RobotParser

    from scrapy_mandelbot.events.emitter import Events
    from scrapy_mandelbot.fetching.shared_fetches import SharedFetches, SharedResult
    from scrapy_mandelbot.settings.config import Config
    from scrapy_mandelbot.store.contract import Store

MOST_CITED = 5_000
"""Sitemap lines of a file that are read; each may cite an index of 50,000."""
_MOST_NOT_ASCII = 100  # of those; to make ASCII of a name takes up to a millisecond


def cited_sitemaps(robots: RobotsTxt, site: str, *, inside: bool) -> tuple[str, ...]:
    """Return the URLs of a site's Sitemap lines, absolute, each once; none that cannot be a URL.

    `inside`: a site of the public internet may cite what is on this machine or in its network.
    """
    written = dict.fromkeys(islice(robots.sitemaps, MOST_CITED))
    if not written:
        return ()
    plain = [url for url in written if url.isascii()]
    others = islice((url for url in written if not url.isascii()), _MOST_NOT_ASCII)
    kept = {*plain, *others}
    absolute = (http_url(robots_url(site), url) for url in written if url in kept)
    urls = dict.fromkeys(url for url in absolute if url is not None)
    return tuple(url for url in urls if inside or not leads_inside(site, url))


_MOST_COMMENTS = 5  # as many as are told of
_KNOWN_LIMIT = 16 * 1024 * 1024  # bytes; of some hundred thousand sites
_KNOWN_SIZE = 100  # bytes, beside the site's name


class OncePerSite:
    """Reports each site's comments and sitemaps when its rules are first known in a run.

    Of more sites than fit, it may report those of longest ago twice.
    """

    def __init__(self, crawler: Crawler, config: Config, events: Events) -> None:
        self._crawler = crawler
        self._config = config
        self._events = events
        self._agents = Agents(crawler, config)
        self.known: Recent[bool] = Recent(_KNOWN_LIMIT)

    def is_new(self, site: str) -> bool:
        """Return whether the site's rules have not been told of in this run."""
        return self.known.get(site) is None

    async def tell(self, site: str, request: Request, rules: SiteRules) -> None:
        """Report that a site's rules are known: by Scrapy's signal each time, the rest once."""
        if rules.parser is None:
            return
        is_new = self.is_new(site)
        self.remember(site)
        if is_new:
            self._tell_comments(site, request, rules)
        robots_parsed = getattr(scrapy.signals, "robots_parsed", None)  # Scrapy 2.18 and newer
        if robots_parsed is not None:
            await self._crawler.signals.send_catch_log_async(
                signal=robots_parsed, robotparser=rules.parser, request=request
            )
        if is_new and self._config.sitemaps != "off" and (urls := rules.sitemaps):
            self._events.tell(SITEMAPS_DISCOVERED, site=site, urls=urls, count=len(urls))

    def remember(self, site: str) -> None:
        """Note that a site was told of."""
        self.known.put(site, value=True, size=_KNOWN_SIZE + len(site))

    def _tell_comments(self, site: str, request: Request, rules: SiteRules) -> None:
        """Tell what the owner wants the robot's people to be told.

        "An Extended Standard for Robot Exclusion", directive Comment.
        """
        comments = rules.robots.comments(self._agents.of(request))
        if comments:
            told = " / ".join(map(shown, comments[:_MOST_COMMENTS]))
            self._events.tell(COMMENTED, site=site, comments=told)


_ASK_ANEW = 300.0  # seconds; who could not be asked is not asked again for every request
_FORBID_ALL = b"User-agent: *\nDisallow: /\n"

# Rules are kept parsed as long as they fit, and else parsed again from the copy when asked for.
_PARSED_LIMIT = 8 * 1024 * 1024  # bytes
_PARSED_OVERHEAD = 8 * 1024  # bytes of a small file, parsed
_TROUBLES_LIMIT = 4 * 1024 * 1024  # bytes
_TROUBLE_SIZE = 400  # bytes, beside the site's name
_FAILED_SIZE = 2 * 1024  # bytes of a site that did not answer, with its error
_PARSED_FACTOR = 4  # bytes for each byte of the file


@dataclass(eq=False)
class SiteRules:
    """What is known of a site's rules, and until when."""

    site: str
    outcome: Outcome
    robots: RobotsTxt
    """All that the file says."""
    parser: RobotParser | None
    """What decides; None: the site could not be asked."""
    until: float
    response: Response | None = None
    """Of a site that could not say, if it said anything."""
    error: BaseException | None = None
    """Why there is no answer, if there is none. It has no traceback."""
    cites_inside: bool = False
    """Whether it may cite sitemaps on this machine or in its network, wherever it is itself."""

    @cached_property
    def sitemaps(self) -> tuple[str, ...]:
        """What the file cites, absolute, as far as we may be sent there."""
        return cited_sitemaps(self.robots, self.site, inside=self.cites_inside)


@dataclass
class _Trouble:
    """A site whose robots.txt could not be had when it was last asked for."""

    answer: tuple[object, ...]
    times: int = 0
    """How often running it was this answer."""
    times_apart: int = 0
    counted_at: float = 0.0  # the last of these
    ask_again_at: float = 0.0
    """Where a good copy serves meanwhile."""
    is_told: bool = False
    has_answered: bool = False
    """Whether the host has answered anything."""


class _FetchCancelledError(Exception):
    """The request that fetched the rules for all was cancelled, or its proxy failed."""


class RobotsFetcher:
    """The rules of every site of a crawl, each fetched once for all requests that need them.

    Memory is bounded: the files are in the store, and only the last ones are kept parsed.
    """

    def __init__(  # noqa: PLR0913, PLR0917 -- what it works with
        self,
        crawler: Crawler,
        config: Config,
        store: Store,
        now: Callable[[], float],
        events: Events,
        shared: SharedFetches | None = None,
    ) -> None:
        self._crawler = crawler
        self._config = config
        self._shared = shared
        self._law = config.outcome_law
        self._store = store
        self._now = now
        self._asker = RobotsAsker(crawler, config, now, store, events)
        self.limits = self._asker.limits
        """What holds the downloads of robots.txt."""
        self._events = events
        self._once_per_site = OncePerSite(crawler, config, events)
        self._parser_class = load_object(crawler.settings.get("ROBOTSTXT_PARSER"))
        # A parser that cannot work is an error at start, not at the first site.
        build_from_crawler(self._parser_class, crawler, b"")
        self._parsed: Recent[SiteRules] = Recent(_PARSED_LIMIT)
        self._under_way: dict[str, list[Deferred[SiteRules | None]]] = {}
        self.troubles: Recent[_Trouble] = Recent(_TROUBLES_LIMIT)

    def known(self, site: str) -> SiteRules | None:
        """Return the site's rules, from memory or its copy, if they need not be fetched now."""
        rules = self._parsed.get(site)
        if rules is not None and self._now() < rules.until:
            return rules
        copy = self._store.get_copy(site)
        until = None if copy is None else self._serves_until(site, copy)
        if copy is None or until is None:
            return None
        self._events.count(ROBOTS_FROM_CACHE, site=site)
        return self._remember(site, kept_outcome(copy.status, self._law), copy.body, until)

    def sitemaps(self, site: str) -> tuple[str, ...]:
        """Return what the site's robots.txt cites, absolute, as far as that is known."""
        rules = self.known(site)
        return () if rules is None else rules.sitemaps

    async def rules(
        self, site: str, request: Request, priority: int, *, has_answered: bool = True
    ) -> SiteRules | None:
        """Return the site's rules, from memory, from its copy or from one fetch that all share.

        None: a crawl with the same store has fetched them in vain just now. The fetch goes the way
        of the request. `has_answered`: whether the site has answered others in this run.
        """
        rules = self.known(site)
        if rules is not None:
            if self._once_per_site.is_new(site):
                await self._once_per_site.tell(site, request, rules)
            return rules
        while site in self._under_way:
            waiter: Deferred[SiteRules | None] = Deferred()
            self._under_way[site].append(waiter)
            with suppress(_FetchCancelledError):
                return await maybe_deferred_to_future(waiter)
        self._under_way[site] = []
        try:
            rules = await self._in_turn(site, request, priority, has_answered=has_answered)
        except BaseException as error:
            # Whoever cancelled this request meant it alone: the next in line fetches the file.
            is_own = not isinstance(error, Exception) or isinstance(error, CancelledError)
            self._end_wait(site, Deferred.errback, _FetchCancelledError() if is_own else error)
            raise
        if rules is not None and rules.outcome.failure is Failure.PROXY:
            self._end_wait(site, Deferred.errback, _FetchCancelledError())
        else:
            self._end_wait(site, Deferred.callback, rules)
        return rules

    def _end_wait(self, site: str, end: Callable[[Any, Any], object], value: object) -> None:
        for waiter in self._under_way.pop(site):
            if not waiter.called:  # its request was cancelled
                end(waiter, value)

    def copy(self, site: str) -> CachedRobots | None:
        """Return the site's copy, if it serves now."""
        copy = self._store.get_copy(site)
        return copy if copy is not None and self._serves_until(site, copy) is not None else None

    def _serves_until(self, site: str, copy: CachedRobots) -> float | None:
        now = self._now()
        trouble = self.troubles.get(site)
        if trouble is not None and now < trouble.ask_again_at:
            return trouble.ask_again_at
        if is_fresh(now, copy.fetched_at, self._config.fresh_for):
            return copy.fetched_at + self._config.fresh_for
        return None

    def _remember(self, site: str, outcome: Outcome, body: bytes, until: float) -> SiteRules:
        bodies = {OutcomeKind.RULES: body, OutcomeKind.FORBID_ALL: _FORBID_ALL}
        body = bodies.get(outcome.kind, b"")
        config = self._config
        robots = RobotsTxt.parse(body, dialect=config.dialect, max_bytes=config.robots_max_bytes)
        parser: RobotParser | None = MandelbotRobotParser(robots)
        if self._parser_class is not MandelbotRobotParser:
            parser = self._parse(site, body)
            of_parser = getattr(parser, "robots", None)
            robots = of_parser if isinstance(of_parser, RobotsTxt) else robots
        decides = None if outcome.kind is OutcomeKind.UNASKED else parser
        inside = config.private_hosts
        rules = SiteRules(site, outcome, robots, decides, until, cites_inside=inside)
        self._parsed.put(site, rules, _PARSED_OVERHEAD + _PARSED_FACTOR * len(body))
        return rules

    def _parse(self, site: str, body: bytes) -> RobotParser | None:
        try:
            parser: RobotParser = build_from_crawler(self._parser_class, self._crawler, body)
        except Exception as error:  # noqa: BLE001 -- ours raises nothing, others may raise anything
            self._events.tell(ROBOTS_UNREADABLE, site=site, error=repr(error))
            return None  # the request goes on, as with Scrapy's own middleware
        return parser

    async def _in_turn(
        self, site: str, request: Request, priority: int, *, has_answered: bool
    ) -> SiteRules | None:
        """Find the rules out, unless another crawl that shares the store does so."""
        if self._shared is None:
            return await self._find_out(site, request, priority, has_answered=has_answered)
        from scrapy_mandelbot.fetching.shared_fetches import IN_VAIN_FOR, Whose  # noqa: PLC0415

        found = await self._shared.begin(site, self._config.fresh_for, self._may_serve)
        if found.whose is not Whose.OURS:
            return await self._found(site, request, found)
        keep_for = IN_VAIN_FOR
        try:
            rules = await self._find_out(site, request, priority, has_answered=has_answered)
            if rules.outcome.case == "stale_used":
                keep_for = max(0.0, rules.until - self._now())
            elif rules.outcome.kind is not OutcomeKind.UNAVAILABLE:
                keep_for = 0.0
        finally:
            self._shared.end(site, keep_for)
        return rules

    async def _found(self, site: str, request: Request, found: SharedResult) -> SiteRules | None:
        """Return the rules that another crawl has found out, or lets serve while it does."""
        rules = self.known(site)
        copy = found.copy
        if rules is None and copy is not None and found.left and self._may_serve(copy):
            outcome = kept_outcome(copy.status, self._law)
            rules = self._remember(site, outcome, copy.body, self._now() + found.left)
            self._events.count(ROBOTS_FROM_CACHE, site=site)
        if rules is not None and self._once_per_site.is_new(site):
            await self._once_per_site.tell(site, request, rules)
        return rules

    def _may_serve(self, copy: CachedRobots) -> bool:
        return is_fresh(self._now(), copy.fetched_at, self._config.cache_stale)

    async def _find_out(
        self, site: str, request: Request, priority: int, *, has_answered: bool
    ) -> SiteRules:
        copy = self._store.get_copy(site)
        asked = await self._asker.ask(site, request, priority, copy)
        is_of_the_site = asked.answer.failure is not Failure.PROXY
        trouble = self.count_trouble(site, asked) if is_of_the_site else _Trouble(())
        if asked.answer.broken_off and trouble.times_apart >= ENOUGH_BROKEN_OFF:
            asked = await self._asker.with_status(asked, request, priority)
        known = Known(
            copy.status if copy else None,
            self._now() - copy.fetched_at if copy else 0.0,
            trouble.times,
            trouble.times_apart,
            has_answered=has_answered or trouble.has_answered,
        )
        answer = asked.answer
        if answer.status is not None and may_be_misreported(answer, known, self._law):
            proof = await self._asker.misreports(site, request, priority, answer.status)
            known = known._replace(misreports=proof)
        outcome = outcome_of(answer, known, self._law)
        rules = self._rules(site, asked, outcome, copy)
        tell_of_answer(self._events, site, asked, outcome, self._config.robots_timeout)
        if outcome.kind is OutcomeKind.FAILED and is_of_the_site:
            reason, until = outcome.reason.removesuffix(", its requests fail"), rules.until
            self._events.tell(ROBOTS_UNANSWERED, site=site, reason=reason, next=until)
        elif outcome.kind is not OutcomeKind.UNASKED:
            await self._once_per_site.tell(site, request, rules)
            self._events.tell(ROBOTS_READ, site=site, robots=rules.robots, outcome=outcome)
        if asked.error is not None:
            without_traceback(asked.error)
        return rules

    def count_trouble(self, site: str, asked: Asked) -> _Trouble:
        """Return how often running the site has answered so, this time included, and what else."""
        trouble = self.troubles.get(site)
        key = counted_as(asked.answer)
        if trouble is None or trouble.answer != key:
            was = trouble or _Trouble(key)
            trouble = _Trouble(key, is_told=was.is_told, has_answered=was.has_answered)
            self.troubles.put(site, trouble, _TROUBLE_SIZE + len(site))
        trouble.times += 1
        now = self._now()
        if not trouble.times_apart or now - trouble.counted_at >= BROKEN_OFF_APART:
            trouble.times_apart += 1
            trouble.counted_at = now
        trouble.has_answered |= asked.has_answered
        return trouble

    def _rules(
        self, site: str, asked: Asked, outcome: Outcome, copy: CachedRobots | None
    ) -> SiteRules:
        """Keep what the answer means, and return it."""
        now = self._now()
        if outcome.kind is OutcomeKind.UNAVAILABLE:
            nothing = RobotsTxt.parse(b"", dialect=self._config.dialect)
            # Half a file is no answer to other requests, which the site's refusal is.
            said = None if asked.answer.broken_off else asked.response
            return SiteRules(site, outcome, nothing, None, now, said, asked.error)
        if outcome.kind is OutcomeKind.FAILED:
            nothing = RobotsTxt.parse(b"", dialect=self._config.dialect)
            by_proxy = outcome.failure is Failure.PROXY  # the next request may go by another one
            until = now if by_proxy else now + _ASK_ANEW
            rules = SiteRules(site, outcome, nothing, None, until, error=asked.error)
            if not by_proxy:
                self._parsed.put(site, rules, _FAILED_SIZE + len(site))
            return rules
        if outcome.case == "stale_used" and copy is not None:
            trouble = self.troubles.get(site) or _Trouble((asked.answer.status, None), 1)
            refusal = Refusal(now, outcome.reason, outcome.retry_after)
            wait = self._config.pause_law.pause(trouble.times, refusal)
            trouble.ask_again_at = now + wait
            if not trouble.is_told:
                trouble.is_told = True
                self._events.tell(
                    ROBOTS_STALE,
                    site=site,
                    reason=outcome.reason,
                    since=copy.fetched_at,
                    until=copy.fetched_at + self._config.cache_stale,
                    next=trouble.ask_again_at,
                )
            return self._remember(site, outcome, copy.body, trouble.ask_again_at)
        if outcome.kind is OutcomeKind.UNASKED:
            return self._remember(site, outcome, b"", now + _ASK_ANEW)
        if outcome.serves_for is not None:  # no copy, which would serve for longer
            return self._remember(site, outcome, asked.body, now + outcome.serves_for)
        self.troubles.discard(site)
        if outcome.is_new or copy is None:
            body = asked.body if outcome.kind is OutcomeKind.RULES else b""
            etag, last_modified = asked.validator("ETag"), asked.validator("Last-Modified")
            status = outcome.kept_status
        else:  # a 304: the copy is good for as long again
            body, status = copy.body, copy.status
            etag = asked.validator("ETag") or copy.etag
            last_modified = asked.validator("Last-Modified") or copy.last_modified
        self._store.put_copy(site, CachedRobots(body, status, now, asked.url, etag, last_modified))
        return self._remember(site, outcome, body, now + self._config.fresh_for)
