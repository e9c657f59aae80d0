"""The one object per crawler that its components share.

Objects refer downwards; one that has to call up gets one narrow callback (in
brackets)::

    Crawl -> Clock, Config, Events, Agents, RobotsFetcher, Throttle

    Throttle -> Sites -> Site -> pacer: Pacer -> Quota, Pace
                              -> pause: Pause -> Backoff, RateControl -> LimitEstimator
                              -> faults: Faults -> Section -> Pause
             -> InFlight [ended] -> Flight -> Site, Reservation
                                 -> SiteQueue; Scrapy makes two with a JOBDIR
             -> Pauses -> Peers -> Store [update]
                       -> HealthCheck [update]
             -> Timers [update] <- Waiters [look]
             -> Paces, SharedLimits

    SiteQueue -> RoundRobin -> SubQueue; Storage; Timers of refused pages

``ParkingScheduler`` holds a third-party scheduler and a ``SiteQueue`` over
``ParkedRequests`` in place of ``Storage``. ``Sites`` keeps a site while anything refers
to it (requests in the queue or in flight, waiters, timers), beside the last 10,000 and
the last 50,000 in trouble.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import scrapy.signals
from mandelbot.answers.failures import names_no_host
from mandelbot.robotstxt.paths import as_servers_read_it
from scrapy import Request
from scrapy.exceptions import DontCloseSpider, NotConfigured
from scrapy.utils.job import job_dir
from scrapy.utils.project import inside_project, project_data_dir

from scrapy_mandelbot import engine
from scrapy_mandelbot.clock import Clock
from scrapy_mandelbot.events.emitter import Events
from scrapy_mandelbot.fetching.credentials import Credentials, Fetchers
from scrapy_mandelbot.fetching.download_limits import CITED
from scrapy_mandelbot.fetching.fetcher import RobotsFetcher
from scrapy_mandelbot.fetching.request_agents import Agents
from scrapy_mandelbot.settings.checks import log_mistakes
from scrapy_mandelbot.settings.config import Config
from scrapy_mandelbot.settings.values import fail_cleanly
from scrapy_mandelbot.store.opener import open_store
from scrapy_mandelbot.throttle.load import Load
from scrapy_mandelbot.throttle.manual_control import ManualControl
from scrapy_mandelbot.throttle.throttle import Throttle

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings

    from scrapy_mandelbot.fetching.fetcher import SiteRules
    from scrapy_mandelbot.fetching.host_names import HostNames
    from scrapy_mandelbot.politeness.site_state import Site

logger = logging.getLogger(__name__)

_ATTRIBUTE = "_scrapy_mandelbot_crawl"
STORE_FILE = "mandelbot.db"


class StoredJob(Protocol):
    """The part of a job that stores values beside requests."""

    def kept(self, prefix: str) -> dict[str, bytes]:
        """Return the values that previous runs stored under names with a prefix."""

    def put(self, name: str, value: bytes | None) -> None:
        """Store a value under a name with the next commit; None removes it."""

    def before_commits(self, call: Callable[[], None]) -> None:
        """Call a function before each commit; what it puts is part of the commit."""


class Crawl:
    """What the package's components of one crawler share.

    Crawlers share nothing but what their store shares: two crawls of one process whose
    stores are one file exchange their pauses there, as crawls of two
    processes do.
    """

    def __init__(self, crawler: Crawler, clock: Clock | None = None) -> None:
        self._crawler = crawler
        self.config = Config.from_settings(crawler.settings)
        self.clock = Clock.of(crawler) if clock is None else clock
        self.now = self.clock.now
        """Returns seconds since the epoch, by a clock that is not set during the crawl.
        """
        self.fetches_rules = self.config.obey
        """Whether the package fetches the rules of sites, so that requests wait for
        them; not where another component obeys robots.txt.
        """
        self._began_at = self.now()
        self._is_a_command = engine.is_a_command(crawler)
        self.is_for_a_person: Callable[[Request], bool] = engine.is_awaited
        """Returns whether somebody waits for a request's answer, so that nothing may
        hang.
        """
        if self._is_a_command:
            self.is_for_a_person = _is_for_a_person
        self.agents = Agents(crawler, self.config)
        self.events = Events(crawler)
        place: Path | None = None
        if self.config.enabled:
            place = store_path(crawler.settings, self.config.store)
        longest = max(self.config.cache_stale, self.config.fresh_for)
        self.store = open_store(place, longest, self.now, self.clock.call_later)
        self.fetcher = RobotsFetcher(
            crawler, self.config, self.store, self.clock, self.events
        )
        self.credentials = Credentials(crawler)
        self.fetchers = Fetchers(self.credentials, self.fetcher, self._private_fetcher)
        """The fetcher of a request's rules: those with credentials have their own."""
        self.throttle = Throttle(
            crawler, self.config, self.store, self.clock, self.events
        )
        self.throttle.forbids = self.forbids
        if self.throttle.budgets is not None:
            self.throttle.budgets.sitemap_key = CITED
        self.sites = self.throttle.sites
        """The state of each site, as ``crawl.sites["https://example.com"]``."""
        self._connect(self.fetcher)
        self.manual_control = ManualControl(
            crawler, self.config, self.throttle, self._end_last_waits, self._end_tries
        )
        self.load = Load(
            crawler,
            self.throttle,
            leaves_paused=self.manual_control.leaves_paused,
            only_waits=self.manual_control.only_waits,
        )
        """What waits in the queues, as part of Scrapy's load."""
        self.job: StoredJob | None = None
        """The job that stores the run in one file; None: there is none."""
        self.drops: Callable[[Request], bool] | None = None
        """Returns whether a request is dropped that the queue is about to hand out."""
        self.sitemap_bodies: WeakKeyDictionary[Response, bytes] = WeakKeyDictionary()
        """The bodies of cited sitemaps by the empty responses that the scraper holds
        instead.
        """
        crawler.signals.connect(
            self._spider_opened, signal=scrapy.signals.spider_opened
        )
        crawler.signals.connect(self._spider_idle, signal=scrapy.signals.spider_idle)
        crawler.signals.connect(
            self._spider_closed, signal=scrapy.signals.spider_closed
        )

    @classmethod
    def of(cls, crawler: Crawler, clock: Clock | None = None) -> Crawl:
        """Return the crawl of a crawler; the first call creates it.

        Args:
            crawler: the crawler whose components share it.
            clock: its clock, if it is made now; by default the machine's.

        Raises:
            SettingsError: a setting has a value that it does not take.
        """
        crawl = vars(crawler).get(_ATTRIBUTE)
        if not isinstance(crawl, cls):
            with fail_cleanly(crawler):
                crawl = cls(crawler, clock)
            setattr(crawler, _ATTRIBUTE, crawl)
        return crawl

    @property
    def is_closing(self) -> bool:
        """Whether the crawl is on its way out."""
        return engine.is_closing(self._crawler)

    def waiting(self, name: str) -> int | None:
        """Return how many requests for a site wait.

        None: not all are in a :class:`SiteQueue`.
        """
        in_flight = self.throttle.in_flight
        site = self.sites.get(name)
        if not in_flight.queues or self.config.inner_scheduler is not None:
            return None
        if site is None:
            return 0
        return in_flight.waiting(site)

    def forbids(self, request: Request) -> bool:
        """Return whether the request is forbidden by the rules at hand."""
        if not self.config.obey or request.meta.get("dont_obey_robotstxt"):
            return False
        rules = self.fetchers.of(request).known(self.sites.of_request(request).name)
        if rules is None or rules.parser is None:
            return False
        if rules.is_large and self.fetcher.preparing(rules, request):
            return False
        # tokens too, which Scrapy's own parsers do not take
        agent: Any = self.agents.of(request)
        allowed = rules.parser.allowed
        resolved = as_servers_read_it(request.url)
        return not (
            allowed(request.url, agent) and (not resolved or allowed(resolved, agent))
        )

    def learn_pace(self, request: Request, site: Site) -> bool:
        """Follow the crawl delay of a site, as far as it is known now.

        Returns:
            Whether the pace has changed, so that the request may have to wait.
        """
        if site.pacer.known_until > self.now() or self.is_for_a_person(request):
            return False
        rules = None
        obeys = self.config.obeys_pace_of(site.name)
        if obeys and not request.meta.get("dont_obey_robotstxt"):
            rules = self.fetchers.of(request).known(site.name)
        # not known yet, or nothing could be asked
        if rules is None or rules.parser is None:
            return self.throttle.paces.learn_by_hand(site)
        agent = self.agents.of(request)
        return self.throttle.paces.learn(site, rules.robots, agent, rules.until)

    @property
    def asks_for_more(self) -> bool:
        """Whether this is a crawl: Scrapy's commands ask for single pages."""
        return not self._is_a_command and not engine.stays_open(self._crawler)

    def _private_fetcher(self) -> RobotsFetcher:
        """Make a fetcher for requests with credentials: no store gets its files."""
        config = self.config
        longest = max(config.cache_stale, config.fresh_for)
        store = open_store(None, longest, self.now, self.clock.call_later)
        limits = self.fetcher.limits
        found = RobotsFetcher(
            self._crawler, config, store, self.clock, self.events, limits=limits
        )
        self._connect(found)
        return found

    def _connect(self, fetcher: RobotsFetcher) -> None:
        pauses = self.throttle.pauses
        fetcher.keeps_dead = pauses.keeps_dead
        fetcher.requester.is_cut_off = self._is_cut_off
        fetcher.requester.network_answers = pauses.network_answers
        fetcher.requester.has_no_name = self._has_no_name
        fetcher.slow_files.note = self.throttle.in_flight.found_slow

    def known_rules(self, site: str) -> SiteRules | None:
        """Return a site's known rules, as they are for the spider's credentials."""
        return self.fetchers.of(Request(site + "/")).known(site)

    def cited_sitemaps(self, site: str) -> tuple[str, ...]:
        """Return the sitemaps that a site's known robots.txt cites, likewise."""
        return self.fetchers.of(Request(site + "/")).sitemaps(site)

    def cites_sitemaps(self, site: str) -> bool:
        """Return whether a site's robots.txt, if it is known, has a Sitemap line."""
        rules = self.known_rules(site)
        return rules is None or bool(rules.robots.sitemaps)

    def _is_cut_off(self, name: str) -> bool:
        return self.throttle.pauses.network_failed(self.sites.of(name))

    async def _has_no_name(self, site: str, error: BaseException | None) -> bool:
        """Return whether no host has the name of a site, as far as anyone can say."""
        if self._is_network_down:
            return False
        host = urlsplit(site).hostname or ""
        if names_no_host(site):
            return True
        is_denied = await self._host_names.is_denied(host, error)
        # other sites may have failed meanwhile
        return is_denied and not self._is_network_down

    @property
    def _is_network_down(self) -> bool:
        return self.throttle.network.is_down(self.now())

    @cached_property
    def _host_names(self) -> HostNames:
        from scrapy_mandelbot.fetching.host_names import (  # noqa: PLC0415 -- few
            HostNames,
        )

        return HostNames(self._crawler.settings, self.clock)

    def _end_last_waits(self, sites: Collection[Site]) -> bool:
        """Take hosts for dead whose last try is left, if all are such hosts."""
        fetchers = tuple(self.fetchers)
        for site in sites:
            if not any(one.is_in_last_wait(site.name) for one in fetchers):
                return False
        for site in sites:
            self._end_tries(site)
        return True

    def _end_tries(self, site: Site) -> bool:
        """Take a host that never answered for dead now; return whether it is one."""
        found = [one.end_tries(site.name) for one in tuple(self.fetchers)]
        dead = [rules for rules in found if rules is not None]
        for rules in dead:
            failure = rules.outcome.failure
            self.throttle.pauses.found_dead(site, failure, rules.until)
        return bool(dead)

    def _spider_opened(self, spider: Spider) -> None:
        if self.config.enabled:
            log_mistakes(self._crawler.settings, self.config, type(spider))

    def _spider_idle(self) -> None:
        """Keep the spider open while a request waits, such as an extension's."""
        if len(self.throttle.waiters):
            raise DontCloseSpider

    def _spider_closed(self, spider: Spider, reason: str) -> None:
        if reason == "finished":
            self.store.put_run(spider.name, self._began_at)
        self.throttle.close()
        self.store.close()


def _is_for_a_person(_request: Request) -> bool:
    """Return True: one of Scrapy's commands shows the answer to a person."""
    return True


def store_path(settings: BaseSettings, store: str) -> Path | None:
    """Return the file in which copies are kept, given MANDELBOT_STORE.

    None: there is none.
    """
    if store == "memory":
        return None
    if store != "sqlite":
        return Path(store)
    try:  # in JOBDIR, else in the project's .scrapy folder
        folder = job_dir(settings)
        if folder is None and inside_project():
            folder = project_data_dir()
    # settings of a project, but no scrapy.cfg that says where it is
    except NotConfigured:
        folder = None
    except OSError as error:
        logger.warning(
            "What is known of sites is kept in the memory of this run only: %s", error
        )
        folder = None
    if folder is None:
        return None
    return Path(folder, STORE_FILE)
