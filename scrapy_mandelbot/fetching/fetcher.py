"""The robots.txt rules of every site of a crawl: fetched once, cached, chosen fresh."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from http import HTTPStatus
from itertools import islice
from shlex import quote
from typing import TYPE_CHECKING

import scrapy.signals
from mandelbot import Failure, Outcome, OutcomeKind, RobotsTxt
from mandelbot.answers.failures import without_traceback
from mandelbot.answers.outcome import Trouble
from mandelbot.formatting import shown
from mandelbot.origins import robots_url
from mandelbot.robotstxt.decider import LARGE
from scrapy.exceptions import IgnoreRequest
from scrapy.utils.misc import build_from_crawler, load_object

from scrapy_mandelbot import events
from scrapy_mandelbot.fetching.request_agents import Agents
from scrapy_mandelbot.fetching.requesting import RobotsRequester
from scrapy_mandelbot.fetching.robot_parser import MandelbotRobotParser
from scrapy_mandelbot.fetching.slow_files import SlowFiles
from scrapy_mandelbot.politeness.pause_policy import Refusal
from scrapy_mandelbot.store.memory import Recent

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.robotstxt import RobotParser

    from scrapy_mandelbot.clock import Clock
    from scrapy_mandelbot.events.emitter import Events
    from scrapy_mandelbot.fetching.download_limits import DownloadLimits
    from scrapy_mandelbot.fetching.http_cache import HttpCache
    from scrapy_mandelbot.fetching.requesting import FetchedFile
    from scrapy_mandelbot.settings.config import Config
    from scrapy_mandelbot.store import CachedRobots, Store

MOST_CITED = 5_000
"""Sitemap lines that are read of a file; each may cite an index of 50,000."""
# of those; encoding an international name takes up to a millisecond
_MOST_NOT_ASCII = 100


def cited_sitemaps(
    robots: RobotsTxt, site: str, named: tuple[str, ...] = (), *, inside: bool
) -> tuple[str, ...]:
    """Return the absolute, unique, valid URLs of a site's Sitemap lines.

    `named`: paths that stand in for them, where the site has none. `inside`: a public
    site may cite URLs on this machine or in its network.
    """
    written = dict.fromkeys(islice(robots.sitemaps or named, MOST_CITED))
    if not written:
        return ()
    from mandelbot.answers.inside import leads_inside  # noqa: PLC0415 -- few files
    from mandelbot.sitemaps import http_url  # noqa: PLC0415

    plain = [url for url in written if url.isascii()]
    others = islice((url for url in written if not url.isascii()), _MOST_NOT_ASCII)
    chosen = {*plain, *others}
    base = robots_url(site)
    urls: dict[str, None] = {}
    for url in written:
        absolute = http_url(base, url) if url in chosen else None
        if absolute is not None:
            urls[absolute] = None
    return tuple(url for url in urls if inside or not leads_inside(site, url))


_ROBOTS_PARSED = getattr(scrapy.signals, "robots_parsed", None)  # Scrapy 2.18 and newer
_MOST_UNCITED = 5  # sites without sitemaps that the log names
_MOST_TRIED = 5  # hosts that do not answer at first, and that the log names at INFO
_RULES_UNKNOWN = (
    "Only its robots.txt was asked for: while that is unreachable, no page may be (RFC"
    " 9309; ROBOTSTXT_OBEY = False for this spider, if you may)."
)
_MOST_COMMENTS = 5  # of a file, in one log line
_KNOWN_LIMIT = 16 * 1024 * 1024  # bytes; of some hundred thousand sites
_KNOWN_SIZE = 100  # bytes, beside the site's name
_REQUEST_AGAIN_AFTER = 300.0  # seconds, for a site that could not be asked
_WITHOUT_RULES = frozenset({OutcomeKind.UNAVAILABLE, OutcomeKind.FAILED})
_FORBID_ALL = b"User-agent: *\nDisallow: /\n"

# Parsed rules stay in memory as long as they fit. Those of more sites are parsed again
# from the copy: for each page, if the sites take turns.
_PARSED_LIMIT = 32 * 1024 * 1024  # bytes; of some 6,000 sites with small files
_PARSED_OVERHEAD = 1_536  # bytes of an empty file, parsed
_FAILED_SIZE = 2 * 1024  # bytes, of a site that did not answer, with its error
_PARSED_FACTOR = 7  # bytes for each byte of the file


@dataclass(eq=False)
class SiteRules:
    """The rules of a site, and until when they are valid."""

    site: str
    outcome: Outcome
    robots: RobotsTxt
    """The parsed file."""
    parser: RobotParser | None
    """Decides on URLs; None: the rules are unknown, and nothing is decided."""
    until: float
    response: Response | None = None
    """The response, if it left the rules unknown."""
    error: BaseException | None = None
    """Why there is no response, without a traceback."""
    unreadable: str = field(default="", init=False)
    """A ``Retry-After`` of the response that cannot be read, as received."""
    cites_inside: bool = field(default=False, init=False)
    """Whether a public site may cite sitemaps on this machine or in its network."""
    named_sitemaps: tuple[str, ...] = field(default=(), init=False)
    """Paths of the project's settings that count where the site cites none."""
    cached_at: float | None = field(default=None, init=False)
    """When the stored file was fetched or last confirmed; None: not read from the
    store.
    """
    is_large: bool = field(default=False, init=False)
    """Whether the first decision may take long."""

    @property
    def is_dead(self) -> bool:
        """Whether the host never answered, and was tried often enough."""
        # After a proxy's failure the next request may use another proxy.
        is_proxys = self.outcome.failure is Failure.PROXY
        return self.outcome.kind is OutcomeKind.FAILED and not is_proxys

    def error_anew(self) -> BaseException:
        """Return the error, to be raised once more."""
        if self.error is None:
            return IgnoreRequest(self.outcome.reason)
        return self.error.with_traceback(None)

    @property
    def names_sitemaps(self) -> bool:
        """Whether the file, or the project, names sitemaps, be they valid or not."""
        return bool(self.named_sitemaps or self.robots.sitemaps)

    @cached_property
    def sitemaps(self) -> tuple[str, ...]:
        """The absolute URLs of cited sitemaps that the crawl may request."""
        return cited_sitemaps(
            self.robots, self.site, self.named_sitemaps, inside=self.cites_inside
        )


class RobotsFetcher:
    """Provides the rules of every site; fetches each file once for all requests.

    Memory is bounded: files are in the store, and only the last ones stay parsed in
    memory.
    """

    def __init__(  # noqa: PLR0913 -- its collaborators
        self,
        crawler: Crawler,
        config: Config,
        store: Store,
        clock: Clock,
        events: Events,
        *,
        limits: DownloadLimits | None = None,
    ) -> None:
        self._crawler = crawler
        self._config = config
        self._policy = config.outcome_policy
        self._store = store
        self._now = clock.now
        self._share = clock.share
        self._is_private = limits is not None
        self._requester = RobotsRequester(
            crawler, config, self._now, store, events, limits
        )
        self._files = self._requester.files
        self.limits = self._files.limits
        """Limits the downloads of robots.txt."""
        self._events = events
        self.slow_files = SlowFiles(crawler, clock, events, config.robots_timeout)
        """Notes whose robots.txt is slow to come."""
        self._agents = Agents(crawler, config)
        self._uncited = 0  # sites without sitemaps
        self.announced: Recent[bool] = Recent(_KNOWN_LIMIT)
        """Sites whose rules have become known in this run; of more than fit, the last
        ones.
        """
        self._parser_class = load_object(crawler.settings.get("ROBOTSTXT_PARSER"))
        # A parser that cannot be built is an error at start, not at the first site.
        build_from_crawler(self._parser_class, crawler, b"")
        self._parsed: Recent[SiteRules] = Recent(_PARSED_LIMIT)
        self._troubles = self._requester.troubles
        self.requester = self._requester
        self._tried: Recent[SiteRules] = Recent(_PARSED_LIMIT)
        """Of hosts that never answered and are tried again, the last failures."""
        self._tried_hosts = 0  # that did not answer at first
        self.keeps_dead: Callable[[Failure | None], bool] = lambda _: False
        """Returns whether the requests of a dead host stay in the job."""
        self._http_cache: HttpCache | None = None
        if crawler.settings.getbool("HTTPCACHE_ENABLED"):
            from scrapy_mandelbot.fetching.http_cache import (  # noqa: PLC0415 -- few
                HttpCache,
            )

            self._http_cache = HttpCache(crawler)

    def at_hand(self, site: str) -> SiteRules | None:
        """Return valid rules from memory; None: the store may have them."""
        rules = self._parsed.get(site)
        if rules is not None and self._now() < rules.until:
            return rules
        return None

    def known(self, site: str) -> SiteRules | None:
        """Return rules from memory or the store, or None if they must be fetched."""
        return self._known(site)[0]

    def _known(self, site: str) -> tuple[SiteRules | None, CachedRobots | None]:
        """Return the rules, or else the stored copy, however old."""
        rules = self.at_hand(site)
        if rules is not None:
            return rules, None
        copy = self._store.get_copy(site)
        until = None if copy is None else self._serves_until(site, copy)
        if copy is None or until is None:
            return None, copy
        return self._from_store(site, copy, until), None

    def sitemaps(self, site: str) -> tuple[str, ...]:
        """Return the absolute URLs of the sitemaps that a known robots.txt cites."""
        rules = self.known(site)
        return () if rules is None else rules.sitemaps

    async def rules(
        self, site: str, request: Request, *, has_answered: bool = True
    ) -> SiteRules:
        """Return the rules from memory, the store, or a fetch that requests share.

        The fetch takes the route of the request. `has_answered`: whether the site has
        sent a response in this run.
        """
        rules, copy = self._known(site)
        if rules is not None:
            await self._announce_new(site, request, rules)
        else:
            rules = await self._files.once(
                site,
                partial(self._fetch, site, request, copy, has_answered=has_answered),
                _are_for_all,
            )
        if rules.is_large:
            steps = self.preparing(rules, request)
            if steps is not None:
                await self._share.run(steps)
        return rules

    def preparing(self, rules: SiteRules, request: Request) -> Iterator[object] | None:
        """Return the steps before a decision by large rules; None: none are left."""
        agent = self._agents.of(request)
        return rules.robots.decider(agent).preparing(request.url)

    async def _announce_new(
        self, site: str, request: Request, rules: SiteRules
    ) -> None:
        if self.announced.get(site) is None:
            await self.announce(site, request, rules)

    async def announce(self, site: str, request: Request, rules: SiteRules) -> None:
        """Send Scrapy's ``robots_parsed``; report comments and sitemaps once a run."""
        if rules.parser is None:
            return
        is_new = self.announced.get(site) is None
        self.announced.put(site, value=True, size=_KNOWN_SIZE + len(site))
        if is_new:
            self._report_new(site, request, rules)
        if _ROBOTS_PARSED is not None:
            await self._crawler.signals.send_catch_log_async(
                signal=_ROBOTS_PARSED, robotparser=rules.parser, request=request
            )
        if not is_new or self._config.sitemaps == "off":
            return
        urls = rules.sitemaps
        if urls:
            number = len(urls)
            self._events.emit(
                events.SITEMAPS_DISCOVERED, site=site, urls=urls, count=number
            )
        elif self._config.follows_sitemaps and not rules.names_sitemaps:
            self._report_uncited(site)

    def _report_uncited(self, site: str) -> None:
        """Say of the first few sites that there is nothing to follow."""
        self._uncited += 1
        report = self._events.emit
        if self._uncited > _MOST_UNCITED:
            report = self._events.count
        report(events.SITEMAPS_UNCITED, site=site)

    def _report_new(self, site: str, request: Request, rules: SiteRules) -> None:
        """Report the age of a stored copy, comments, and a misspelt line."""
        emit = self._events.emit
        if rules.cached_at is not None:
            # Pasted into a shell: a host's name is the choice of whoever links to it.
            job = self._crawler.settings.get("JOBDIR")
            place = f" -s {quote(f'JOBDIR={job}')}" if job else ""
            emit(
                events.ROBOTS_CACHED,
                site=site,
                since=rules.cached_at,
                until=rules.until,
                command=f"scrapy robots cache drop {quote(site)}{place}",
            )
        robots = rules.robots
        if not robots.mentioned:
            return  # as of most sites
        # "An Extended Standard for Robot Exclusion": Comment lines address the robot's
        # operator.
        comments = robots.comments(self._agents.of(request))
        if comments:
            said = " / ".join(map(shown, comments[:_MOST_COMMENTS]))
            emit(events.COMMENTED, site=site, comments=said)
        if not isinstance(rules.parser, MandelbotRobotParser):
            return
        misspelt = robots.grammar.misspelt_line(robots.cleaned, robots.mentioned)
        if misspelt:
            line, text, field = misspelt
            emit(
                events.ROBOTS_MISSPELT,
                site=site,
                line=line,
                text=shown(text),
                field=field,
            )

    def cached(self, site: str) -> CachedRobots | None:
        """Return the site's cached robots.txt, if it is in use now."""
        copy = self._store.get_copy(site)
        if copy is None or self._serves_until(site, copy) is None:
            return None
        return copy

    def _serves_until(self, site: str, copy: CachedRobots) -> float | None:
        now = self._now()
        trouble = self._troubles.get(site)
        if trouble is not None and now < trouble.refetch_at:
            return trouble.refetch_at
        if copy.is_fresh(now, self._config.fresh_for):
            return copy.fetched_at + self._config.fresh_for
        return None

    def _from_store(self, site: str, copy: CachedRobots, until: float) -> SiteRules:
        self._events.count(events.ROBOTS_FROM_CACHE, site=site)
        rules = self._remember(
            site, self._policy.outcome_of_copy(copy.status), copy.body, until
        )
        rules.cached_at = copy.fetched_at
        return rules

    def _remember(
        self, site: str, outcome: Outcome, body: bytes, until: float
    ) -> SiteRules:
        if outcome.kind is not OutcomeKind.RULES:
            body = _FORBID_ALL if outcome.kind is OutcomeKind.FORBID_ALL else b""
        config = self._config
        robots = RobotsTxt.parse(
            body, dialect=config.dialect, max_bytes=config.robots_max_bytes
        )
        parser: RobotParser | None = MandelbotRobotParser(robots)
        if self._parser_class is not MandelbotRobotParser:
            parser = self._parse(site, body)
            of_parser = getattr(parser, "robots", None)
            robots = of_parser if isinstance(of_parser, RobotsTxt) else robots
        decides = None if outcome.kind is OutcomeKind.UNASKED else parser
        rules = SiteRules(site, outcome, robots, decides, until)
        rules.cites_inside = config.private_hosts
        rules.named_sitemaps = config.named_sitemaps
        rules.is_large = len(body) > LARGE and isinstance(parser, MandelbotRobotParser)
        self._parsed.put(site, rules, _PARSED_OVERHEAD + _PARSED_FACTOR * len(body))
        return rules

    def _parse(self, site: str, body: bytes) -> RobotParser | None:
        try:
            parser: RobotParser = build_from_crawler(
                self._parser_class, self._crawler, body
            )
        except Exception as error:  # noqa: BLE001 -- a third-party parser may raise anything
            self._events.emit(events.ROBOTS_UNREADABLE, site=site, error=repr(error))
            return None  # nothing is forbidden, as with Scrapy's own middleware
        return parser

    async def _fetch(
        self,
        site: str,
        request: Request,
        copy: CachedRobots | None,
        *,
        has_answered: bool,
    ) -> SiteRules:
        if copy is None and self._http_cache is not None:
            copy = self._from_http_cache(self._http_cache, site)
            rules = self.known(site)
            if rules is not None:
                await self.announce(site, request, rules)
                return rules
        deadline = self._requester.deadline(copy)
        with self.slow_files.watched(site, request, deadline):
            fetched, outcome = await self._requester.request(
                site, request, copy, deadline, has_answered=has_answered
            )
        rules = self._rules(site, fetched, outcome, copy)
        if outcome.wait is None:
            self._tried.discard(site)
        else:
            if site not in self._tried:
                self._report_tries(site, outcome)
            self._tried.put(site, rules, _FAILED_SIZE + len(site))
        if rules.is_dead:
            self._report_dead(rules)
        elif outcome.kind is not OutcomeKind.UNASKED:
            await self.announce(site, request, rules)
            self._events.emit(
                events.ROBOTS_READ,
                site=site,
                robots=rules.robots,
                outcome=outcome,
                asked_at=fetched.asked_at,
            )
        if fetched.error is not None:
            without_traceback(fetched.error)
        return rules

    def _from_http_cache(self, cache: HttpCache, site: str) -> CachedRobots | None:
        """Store the file that the HTTP cache has: a site's first copy."""
        config = self._config
        copy = cache.get(
            robots_url(site), self._now(), config.fresh_for, config.robots_max_bytes
        )
        if copy is not None:
            self._store.put_copy(site, copy)
        return copy

    def is_in_last_wait(self, site: str) -> bool:
        """Return whether one try is left of those for a host that never answered."""
        rules = self._tried.get(site)
        return rules is not None and rules.outcome.is_last_wait

    def end_tries(self, site: str) -> SiteRules | None:
        """Take a host for dead before its last try; return what its requests get."""
        rules = self._tried.get(site)
        if rules is None:
            return None
        self._tried.discard(site)
        rules.outcome = rules.outcome._replace(kind=OutcomeKind.FAILED, wait=None)
        self._events.count(events.ROBOTS_TRIED_ENOUGH)
        self._remember_dead(rules)
        self._report_dead(rules)
        return rules

    def _remember_dead(self, rules: SiteRules) -> None:
        """Let a dead host's requests fail by its last error for a while."""
        site = rules.site
        trouble = self._troubles.get(site) or Trouble()
        lasts = self._policy.longest_wait
        if not trouble.forget():
            lasts = max(lasts, _REQUEST_AGAIN_AFTER)
        rules.until = self._now() + lasts
        self._parsed.put(site, rules, _FAILED_SIZE + len(site))

    def _report_dead(self, rules: SiteRules) -> None:
        reason = rules.outcome.reason.rpartition(", ")[0]
        fate = self._fate_of_dead(rules.outcome.failure)
        why = _RULES_UNKNOWN
        if rules.outcome.is_nameless:
            why = "No host has this name, says the resolver."
        self._events.emit(
            events.ROBOTS_UNANSWERED,
            site=rules.site,
            reason=reason,
            next=rules.until,
            fate=fate,
            why=why,
        )

    def _report_tries(self, site: str, outcome: Outcome) -> None:
        """Say of the first few hosts that do not answer until when they are asked."""
        self._tried_hosts += 1
        level = logging.INFO if self._tried_hosts <= _MOST_TRIED else logging.DEBUG
        trouble = self._troubles.get(site) or Trouble(times=1)
        until = self._now() + self._policy.waits_after(trouble.times)
        failure = outcome.failure
        self._events.emit(
            events.ROBOTS_ASKED_AGAIN,
            level=level,
            site=site,
            failure="" if failure is None else failure.value,
            until=until - self._policy.longest_wait,
            next=until,
            fate=self._fate_of_dead(failure),
        )

    def _fate_of_dead(self, failure: Failure | None) -> str:
        return "wait for the next run" if self.keeps_dead(failure) else "fail"

    def _rules(
        self,
        site: str,
        fetched: FetchedFile,
        outcome: Outcome,
        copy: CachedRobots | None,
    ) -> SiteRules:
        """Store the rules that a response gives, and return them."""
        now = self._now()
        if outcome.kind in _WITHOUT_RULES:
            nothing = RobotsTxt.parse(b"", dialect=self._config.dialect)
            # A refusal answers the waiting requests, too; a truncated file does not.
            said = None if fetched.answer.broken_off else fetched.response
            rules = SiteRules(site, outcome, nothing, None, now, said, fetched.error)
            rules.unreadable = fetched.answer.meaning.unreadable
            if rules.is_dead:
                self._remember_dead(rules)
            return rules
        if outcome.case == "stale_used" and copy is not None:
            trouble = self._troubles.get(site) or Trouble(times=1)
            refusal = Refusal(now, outcome.reason, outcome.retry_after)
            at = self._config.pause_policy.until(refusal, trouble.times)
            trouble.refetch_at = at
            if not trouble.is_reported:
                trouble.is_reported = True
                since = copy.fetched_at
                emit = self._events.emit
                until = since + self._config.cache_stale
                reason = outcome.reason
                emit(
                    events.ROBOTS_STALE,
                    site=site,
                    reason=reason,
                    since=since,
                    until=until,
                    next=at,
                )
            return self._remember(site, outcome, copy.body, at)
        if outcome.kind is OutcomeKind.UNASKED:
            return self._remember(site, outcome, b"", now + _REQUEST_AGAIN_AFTER)
        # not stored: a stored copy would be valid for longer
        if outcome.serves_for is not None:
            return self._remember(site, outcome, fetched.body, now + outcome.serves_for)
        self._troubles.discard(site)
        if outcome.is_new or copy is None:
            body = fetched.body if outcome.kind is OutcomeKind.RULES else b""
            copy = fetched.copy(now, body, outcome.kept_status)
        else:  # a 304 makes the copy fresh again
            copy = fetched.copy(now, copy.body, copy.status, copy)
        if self._is_private or not fetched.has_credentials:
            self._store.put_copy(site, copy)
            if self._http_cache is not None:
                self._put_into_http_cache(self._http_cache, fetched)
        return self._remember(site, outcome, copy.body, now + self._config.fresh_for)

    def _put_into_http_cache(self, cache: HttpCache, fetched: FetchedFile) -> None:
        """Keep a file as stock Scrapy does: a crawl offline finds nothing else."""
        response = fetched.response
        if response is None:
            return
        if response.status == HTTPStatus.OK and not fetched.cut:
            cache.put(fetched.url, response)


def _are_for_all(rules: SiteRules) -> bool:
    """Return whether one fetch answers all that wait; another proxy may work."""
    return rules.outcome.failure is not Failure.PROXY
