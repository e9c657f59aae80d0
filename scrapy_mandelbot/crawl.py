"""The one object per crawler that its components share."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakKeyDictionary

import scrapy.signals
from scrapy.exceptions import DontCloseSpider, NotConfigured
from scrapy.utils.job import job_dir
from scrapy.utils.project import inside_project, project_data_dir

from scrapy_mandelbot import engine
from scrapy_mandelbot.clock import Clock
from scrapy_mandelbot.events import ROBOTS_READ
from scrapy_mandelbot.events.emitter import Events
from scrapy_mandelbot.fetching.fetcher import RobotsFetcher, SharedFetches
from scrapy_mandelbot.fetching.request_agents import Agents
from scrapy_mandelbot.robots.robotstxt.paths import as_servers_read_it
from scrapy_mandelbot.settings.checks import Project, log_mistakes
from scrapy_mandelbot.settings.config import Config
from scrapy_mandelbot.settings.values import fail_cleanly, is_server
from scrapy_mandelbot.store.contract import LiveStore
from scrapy_mandelbot.store.memory import MemoryStore
from scrapy_mandelbot.throttle.manual_control import IdlePolicy, ManualControl
from scrapy_mandelbot.throttle.site_map import site_of_request
from scrapy_mandelbot.throttle.throttle import Throttle

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings

    from scrapy_mandelbot.politeness.flight import End
    from scrapy_mandelbot.politeness.site_state import Site
    from scrapy_mandelbot.store.contract import Store
    from scrapy_mandelbot.throttle.site_map import Sites

logger = logging.getLogger(__name__)

_ATTRIBUTE = "_scrapy_mandelbot_crawl"
STORE_FILE = "mandelbot.db"
CITED = "mandelbot_sitemap"
"""Meta key of a request for a sitemap: what is known of it, and whose ``site`` it is."""
LISTED_IN = "mandelbot_listed_in"
"""Meta key of a page that only the sitemap of another site lists: the one that its own site's
robots.txt has to cite."""


class StoredJob(Protocol):
    """The part of a job that stores values beside requests."""

    def kept(self, prefix: str) -> dict[str, bytes]:
        """Return the values that previous runs put under names with a prefix, by name."""

    def put(self, name: str, value: bytes | None) -> None:
        """Store a value under a name with the next commit; None removes it."""

    def before_commits(self, call: Callable[[], None]) -> None:
        """Call a function before each commit; what it puts is part of the commit."""


class Crawl:
    """What the package's components of one crawler share.

    Crawlers share nothing but what their store shares: two crawls of one process whose stores are
    one file or server exchange their pauses there, as crawls of two processes do.
    """

    def __init__(self, crawler: Crawler, clock: Clock | None = None) -> None:
        self._crawler = crawler
        self.config = Config.from_settings(crawler.settings)
        self.clock = Clock.of(crawler) if clock is None else clock
        self.now = self.clock.now
        """Returns seconds since the epoch, by a clock that is not set during the crawl."""
        self._began_at = self.now()
        self._is_a_command = engine.is_a_command(crawler)
        self.is_for_a_person = (lambda _: True) if self._is_a_command else engine.is_awaited
        """Returns whether somebody waits for a request's answer, so that nothing may hang."""
        self.agents = Agents(crawler, self.config)
        self.events = Events(crawler)
        self.store = _store(crawler.settings, self.config, self.clock)
        self.shared_fetches: SharedFetches | None = None
        """Decides which crawl fetches a file, of all that share the store."""
        if isinstance(self.store, LiveStore):
            self.shared_fetches = SharedFetches(
                self.store,
                self.clock,
                self.config.robots_timeout,
                lambda: engine.is_closing(crawler),
            )
        self.fetcher = RobotsFetcher(
            crawler, self.config, self.store, self.clock, self.events, self.shared_fetches
        )
        self.throttle = Throttle(crawler, self.config, self.store, self.clock, self.events)
        self.throttle.health_check.forbids = self.forbids
        self.manual_control = ManualControl(self.throttle, self.clock)
        self.idle_policy = IdlePolicy(
            crawler, self.config, self.throttle, self.manual_control, self.clock
        )
        self.job: StoredJob | None = None
        """The job that stores the run in one file; None: there is none."""
        self.job_rows: Any = None
        """The storage of a job, which holds rows of requests beyond their end; None: no job."""
        self.drops: Callable[[Request], bool] | None = None
        """Returns whether a request is dropped that the queue is about to hand out."""
        self.fates: WeakKeyDictionary[Request, End] = WeakKeyDictionary()
        """How requests end that fail now, where that is not to be seen from the exception."""
        self.sitemap_bodies: WeakKeyDictionary[Response, bytes] = WeakKeyDictionary()
        """The bodies of cited sitemaps by the empty responses that the scraper holds instead."""
        self.events.subscribe(self._has_answered, ROBOTS_READ)
        crawler.signals.connect(self._spider_opened, signal=scrapy.signals.spider_opened)
        crawler.signals.connect(self._spider_idle, signal=scrapy.signals.spider_idle)
        crawler.signals.connect(self._spider_closed, signal=scrapy.signals.spider_closed)

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
    def sites(self) -> Sites:
        """The state of each site, as ``crawl.sites["https://example.com"]``."""
        return self.throttle.sites

    @property
    def is_closing(self) -> bool:
        """Whether the crawl is on its way out."""
        return engine.is_closing(self._crawler)

    @property
    def has_queue(self) -> bool:
        """Whether all requests of the crawl wait in a :class:`SiteQueue`."""
        return bool(self.throttle.queues) and self.config.inner_scheduler is None

    def fingerprint(self, request: Request) -> bytes:
        """Return the fingerprint of a request, as Scrapy computes it."""
        return self._crawler.request_fingerprinter.fingerprint(request)

    def waiting(self, name: str) -> int:
        """Return how many requests for a site are in the queues."""
        site = self.sites.get(name)
        return 0 if site is None else self.throttle.waiting(site)

    def needs_scout(self, request: Request, site: Site) -> bool:
        """Return whether a request will have to find out its site's rules, if none are at hand."""
        return (
            self.config.obey
            and not request.meta.get("dont_obey_robotstxt")
            and site.name.startswith("http")
            and self.fetcher.known(site.name) is None
        )

    def forbids(self, request: Request) -> bool:
        """Return whether the request is forbidden, as far as its site's rules are ready."""
        if not self.config.obey or request.meta.get("dont_obey_robotstxt"):
            return False
        rules = self.fetcher.known(site_of_request(request))
        if rules is None or rules.parser is None or self.fetcher.preparing(rules, request):
            return False
        agent: Any = self.agents.of(request)  # tokens too, which Scrapy's own parsers do not take
        allowed, resolved = rules.parser.allowed, as_servers_read_it(request.url)
        return not (allowed(request.url, agent) and (not resolved or allowed(resolved, agent)))

    def learn_pace(self, request: Request, site: Site) -> bool:
        """Follow the crawl delay of a site, as far as it is known now.

        Returns:
            Whether the pace has changed, so that the request may have to wait.
        """
        if site.pacer.known_until > self.now() or self.is_for_a_person(request):
            return False
        rules = None
        if self.config.obeys_pace and not request.meta.get("dont_obey_robotstxt"):
            rules = self.fetcher.known(site.name)
        if rules is None or rules.parser is None:  # not known yet, or nothing could be asked
            return self.throttle.paces.learn_by_hand(site)
        agent = self.agents.of(request)
        return self.throttle.paces.learn(site, rules.robots, agent, rules.until)

    @property
    def asks_for_more(self) -> bool:
        """Whether this is a crawl, and not one of Scrapy's commands that ask for single pages."""
        return not self._is_a_command and not engine.stays_open(self._crawler)

    def _spider_opened(self, spider: Spider) -> None:
        if self.config.enabled:
            log_mistakes(Project(self._crawler.settings, self.config, type(spider)))

    def _has_answered(self, values: Mapping[str, Any]) -> None:
        """Note that a site has answered: if it fails to answer from now on, it is down."""
        outcome = values["outcome"]
        if outcome.is_new or outcome.case == "revalidated":
            self.sites.of(values["site"]).has_answered = True

    def _spider_idle(self) -> None:
        """Keep the spider open while a request, such as an extension's, waits for its site."""
        if len(self.throttle.waiters):
            raise DontCloseSpider

    def _spider_closed(self, spider: Spider, reason: str) -> None:
        if reason == "finished":
            self.store.put_run(spider.name, self._began_at)
        self.throttle.close()
        self.store.close()


def _store(settings: BaseSettings, config: Config, clock: Clock) -> Store:
    if not config.enabled:
        return MemoryStore()
    longest = max(config.cache_stale, config.fresh_for)
    if is_server(config.store):
        # Imported only here: it takes the package of the extra.
        from scrapy_mandelbot.store.redis.redis_store import RedisStore  # noqa: PLC0415

        return RedisStore(config.store, clock.loop, longest, clock.now)
    path = store_path(settings, config.store)
    if path is None:
        return MemoryStore()
    from scrapy_mandelbot.store.sqlite import SqliteStore  # noqa: PLC0415 -- only where it is used

    return SqliteStore(path, clock.call_later, clock.now() - longest, clock.now)


def store_path(settings: BaseSettings, store: str) -> str | Path | None:
    """Return the file in which copies are kept, given MANDELBOT_STORE; None: there is none."""
    if store == "memory":
        return None
    return _default_path(settings) if store == "sqlite" else store


def _default_path(settings: BaseSettings) -> str | Path | None:
    """The file is in JOBDIR, else in the project's .scrapy folder; None: there is neither."""
    try:
        folder = job_dir(settings)
        if folder is None and inside_project():
            folder = project_data_dir()
    except NotConfigured:  # settings of a project, but no scrapy.cfg that says where it is
        folder = None
    except OSError as error:
        logger.warning("What is known of sites is kept in the memory of this run only: %s", error)
        folder = None
    return None if folder is None else Path(folder, STORE_FILE)
