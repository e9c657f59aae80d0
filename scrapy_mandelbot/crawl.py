"""The one object per crawler that ties together what is below."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scrapy.signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import call_later
from scrapy.utils.job import job_dir
from scrapy.utils.project import inside_project, project_data_dir
from twisted.internet.defer import Deferred

from scrapy_mandelbot.config import Config
from scrapy_mandelbot.fetching import RobotsFetcher
from scrapy_mandelbot.gates import Gatekeeper
from scrapy_mandelbot.patience import Patience
from scrapy_mandelbot.stores import MemoryStore, SqliteStore

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from scrapy_mandelbot.stores import Store

logger = logging.getLogger(__name__)

_ATTRIBUTE = "_scrapy_mandelbot_crawl"
_STORE_FILE = "mandelbot.db"


class Crawl:
    """What the package's components of one crawler share. Crawlers share nothing."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self.config = Config.from_settings(crawler.settings)
        self._started_at = time.time() - time.monotonic()
        self.store = _store(crawler.settings, self.config, self.now())
        self.fetcher = RobotsFetcher(crawler, self.config, self.store, self.now)
        self.gates = Gatekeeper(crawler, self.config, self.store, self.now)
        self.gates.keeps_given_up = bool(job_dir(crawler.settings))
        self.patience = Patience(crawler, self.config, self.gates, self.now)
        crawler.signals.connect(self._spider_closed, signal=scrapy.signals.spider_closed)

    @classmethod
    def of(cls, crawler: Crawler) -> Crawl:
        """Return the crawler's one, made when first asked for.

        Raises:
            SettingsError: a setting has a value that it does not take.
        """
        crawl = vars(crawler).get(_ATTRIBUTE)
        if not isinstance(crawl, cls):
            crawl = cls(crawler)
            setattr(crawler, _ATTRIBUTE, crawl)
        return crawl

    def now(self) -> float:
        """Return seconds since the epoch, by a clock that nobody sets during the crawl."""
        return self._started_at + time.monotonic()

    def needs_scout(self, request: Request, site: str) -> bool:
        """Return whether the request will have to find out its site's rules."""
        return (
            self.config.obey
            and not request.meta.get("dont_obey_robotstxt")
            and site.startswith("http")
            and self.fetcher.known(site) is None
        )

    def learn_pace(self, request: Request, site: str) -> bool:
        """Have a site asked at the pace that its owner wants, as far as that is known now.

        Returns:
            Whether its pace is another one than just now, so that the gate is to be asked again.
        """
        paces = self.gates.paces
        if not paces.is_active or self.is_for_a_person(request):
            return False
        is_new = paces.recall(site)
        if is_new is not None:
            return is_new
        rules = None
        if self.config.obeys_pace and not request.meta.get("dont_obey_robotstxt"):
            rules = self.fetcher.known(site)
        if rules is None or rules.parser is None:  # not known yet, or nobody could be asked
            return paces.learn_by_hand(site)
        agent: Any = self.config.agent or request.headers.get("User-Agent")
        if not agent:
            agent = getattr(self._crawler.spider, "user_agent", None)
            agent = agent or self._crawler.settings["USER_AGENT"]
        if isinstance(agent, bytes):
            agent = agent.decode("latin-1")
        return paces.learn(site, rules.robots, agent, rules.until)

    def is_for_a_person(self, request: Request) -> bool:
        """Return whether somebody waits for the answer at a terminal, so that nothing may hang.

        Scrapy does not say which command runs a crawl. But its commands that ask for single pages
        put a ``start()`` of their own into the spider class (``fetch``, ``parse``, ``check``), and
        the shell, which runs none, has its requests answered by a Deferred. No crawl does either.
        """
        start = getattr(self._crawler.spidercls, "start", None)
        is_a_commands = str(getattr(start, "__module__", "")).startswith("scrapy.commands.")
        return is_a_commands or isinstance(getattr(request.callback, "__self__", None), Deferred)

    def _spider_closed(self) -> None:
        self.gates.close()
        self.store.close()


def _store(settings: BaseSettings, config: Config, now: float) -> Store:
    if not config.enabled:
        return MemoryStore()
    path = _default_path(settings) if config.store == "sqlite" else config.store
    if path is None or path == "memory":
        return MemoryStore()
    longest = max(config.cache_stale, config.fresh_for)
    return SqliteStore(path, call_later, forget_before=now - longest)


def _default_path(settings: BaseSettings) -> str | Path | None:
    """Return the file in JOBDIR, else in the project's .scrapy folder; None: there is neither."""
    try:
        folder = job_dir(settings)
        if folder is None and inside_project():
            folder = project_data_dir()
    except NotConfigured:  # settings of a project, but no scrapy.cfg that says where it is
        folder = None
    except OSError as error:
        logger.warning("What is known of sites is kept in the memory of this run only: %s", error)
        folder = None
    return None if folder is None else Path(folder, _STORE_FILE)
