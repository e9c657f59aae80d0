"""The one object per crawler that ties together what is below."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import scrapy.signals
from scrapy.utils.job import job_dir

from scrapy_mandelbot.config import Config
from scrapy_mandelbot.fetching import RobotsFetcher
from scrapy_mandelbot.gates import Gatekeeper
from scrapy_mandelbot.patience import Patience
from scrapy_mandelbot.stores import MemoryStore, Store

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.crawler import Crawler

_ATTRIBUTE = "_scrapy_mandelbot_crawl"
_STORES: dict[str, Callable[[], Store]] = {"memory": MemoryStore}


class Crawl:
    """What the package's components of one crawler share. Crawlers share nothing."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self.config = Config.from_settings(crawler.settings)
        self._started_at = time.time() - time.monotonic()
        self.store = _STORES[self.config.store]()
        self.fetcher = RobotsFetcher(crawler, self.config, self.store, self.now)
        self.gates = Gatekeeper(crawler, self.config, self.now)
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
            and not self.fetcher.knows(site)
        )

    def _spider_closed(self) -> None:
        self.gates.close()
        self.store.close()
