"""What is told of sites' rules once a run, however often the rules are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import scrapy.signals

from scrapy_mandelbot.agents import Agents
from scrapy_mandelbot.events import COMMENTED, SITEMAPS_DISCOVERED
from scrapy_mandelbot.shown import shown
from scrapy_mandelbot.stores import Recent

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_mandelbot.config import Config
    from scrapy_mandelbot.events import Events
    from scrapy_mandelbot.fetching.fetcher import SiteRules

_MOST_COMMENTS = 5  # as many as are told of
_KNOWN_LIMIT = 16 * 1024 * 1024  # bytes; of some hundred thousand sites
_KNOWN_SIZE = 100  # bytes, beside the site's name


class OncePerSite:
    """Tells of each site's comments and sitemaps when its rules are first known in a run.

    Of more sites than fit these are the ones seen last: of others it may tell twice.
    """

    def __init__(self, crawler: Crawler, config: Config, events: Events) -> None:
        self._crawler = crawler
        self._config = config
        self._events = events
        self._agents = Agents(crawler, config)
        self._known: Recent[bool] = Recent(_KNOWN_LIMIT)

    def is_new(self, site: str) -> bool:
        """Return whether the site's rules have not been told of in this run."""
        return self._known.get(site) is None

    async def tell(self, site: str, request: Request, rules: SiteRules) -> None:
        """Tell that the rules of a site are known, whether they were fetched or kept.

        Scrapy's own signal is sent for each fetch, and once a run for a kept copy; comments and
        sitemaps are told of once a run.
        """
        if rules.parser is None:
            return
        is_new = self.is_new(site)
        self._remember(site)
        if is_new:
            self._tell_comments(site, request, rules)
        robots_parsed = getattr(scrapy.signals, "robots_parsed", None)  # Scrapy 2.18 and newer
        if robots_parsed is not None:
            await self._crawler.signals.send_catch_log_async(
                signal=robots_parsed, robotparser=rules.parser, request=request
            )
        if is_new and self._config.sitemaps != "off":
            urls = rules.sitemaps
            if urls:
                self._events.tell(SITEMAPS_DISCOVERED, site=site, urls=urls, count=len(urls))

    def _remember(self, site: str) -> None:
        self._known.put(site, value=True, size=_KNOWN_SIZE + len(site))

    def _tell_comments(self, site: str, request: Request, rules: SiteRules) -> None:
        """Tell what the owner wants the robot's people to be told.

        "An Extended Standard for Robot Exclusion", directive Comment.
        """
        comments = rules.robots.comments(self._agents.of(request))
        if comments:
            told = " / ".join(map(shown, comments[:_MOST_COMMENTS]))
            self._events.tell(COMMENTED, site=site, comments=told)
