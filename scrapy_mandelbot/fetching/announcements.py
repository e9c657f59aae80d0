"""What the world hears of robots.txt files: log lines, stats and signals."""

from __future__ import annotations

import logging
from datetime import datetime, timezone
from typing import TYPE_CHECKING

import scrapy.signals

from scrapy_mandelbot import signals
from scrapy_mandelbot.agents import Agents
from scrapy_mandelbot.politeness import Failure
from scrapy_mandelbot.shown import shown
from scrapy_mandelbot.stores import Recent

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_mandelbot.config import Config
    from scrapy_mandelbot.fetching.asking import Asked
    from scrapy_mandelbot.fetching.rules import SiteRules
    from scrapy_mandelbot.politeness import Outcome
    from scrapy_mandelbot.stores import Copy

logger = logging.getLogger(__name__)

_SLOW = 0.5  # of the timeout: a site that is as slow as this is soon too slow
_MOST_COMMENTS = 5  # as many as are told of
_KNOWN_LIMIT = 16 * 1024 * 1024  # bytes; of some hundred thousand sites
_KNOWN_SIZE = 100  # bytes, beside the site's name


class Announcements:
    """Tells log, stats and signal handlers of a crawl what is known of sites' rules."""

    def __init__(self, crawler: Crawler, config: Config) -> None:
        self._crawler = crawler
        self._config = config
        self._agents = Agents(crawler, config)
        # Of more sites than these the ones seen last: of others the world may hear twice.
        self._known: Recent[bool] = Recent(_KNOWN_LIMIT)

    def is_news(self, site: str) -> bool:
        """Return whether nobody has heard of the site's rules in this run."""
        return self._known.get(site) is None

    def from_cache(self) -> None:
        """Count that a copy served where a site would have been asked."""
        self._crawler.stats.inc_value("mandelbot/robots/from_cache")

    def asked(self, site: str, asked: Asked, outcome: Outcome) -> None:
        """Tell how a site answered. Of a site that pauses for it, its gate tells."""
        stats = self._crawler.stats
        stats.inc_value("robotstxt/request_count")
        stats.inc_value("mandelbot/robots/fetched")
        stats.inc_value(f"mandelbot/robots/{outcome.case}")
        if asked.answer.status is not None:
            stats.inc_value("robotstxt/response_count")
            stats.inc_value(f"robotstxt/response_status_count/{asked.answer.status}")
        elif asked.error is not None and asked.answer.failure is not Failure.DROPPED:
            stats.inc_value(f"robotstxt/exception_count/{type(asked.error)}")
        level = logging.DEBUG
        if outcome.case == "misreported_5xx" or asked.answer.failure is Failure.NO_SUCH_HOST:
            level = logging.WARNING
        self._log(level, "%(site)s: %(reason)s", site, reason=outcome.reason)
        if asked.cut:
            stats.inc_value("mandelbot/robots/cut")
            message = "The robots.txt of %(site)s %(cut)s: the rest is not read"
            self._log(logging.WARNING, message, site, cut=asked.cut)
        elif asked.seconds > _SLOW * self._config.robots_timeout:
            stats.inc_value("mandelbot/robots/slow")
            message = (
                "The robots.txt of %(site)s took %(seconds).1f s of the %(most)g s that it may"
            )
            most = self._config.robots_timeout
            self._log(logging.WARNING, message, site, seconds=asked.seconds, most=most)

    def stale(self, site: str, outcome: Outcome, copy: Copy, ask_again_at: float) -> None:
        """Tell that a copy serves on, as no better one can be had."""
        self._log(
            logging.WARNING,
            "%(site)s: %(reason)s: from %(date)s, until %(end)s at most; asked again at %(next)s",
            site,
            reason=outcome.reason,
            date=_clock_time(copy.fetched_at),
            end=_clock_time(copy.fetched_at + self._config.cache_stale),
            next=_clock_time(ask_again_at),
        )

    def unreadable(self, site: str, error: Exception) -> None:
        """Tell that the project's own ROBOTSTXT_PARSER has failed on a site's file."""
        message = "ROBOTSTXT_PARSER cannot read the robots.txt of %(site)s, which is not obeyed:"
        self._log(logging.ERROR, f"{message} %(error)s", site, error=repr(error))

    async def known(self, site: str, request: Request, rules: SiteRules) -> None:
        """Tell that the rules of a site are known, whether they were fetched or kept.

        Scrapy's own signal is sent for each fetch, and once a run for a kept copy; the sitemaps
        are told of once a run.
        """
        if rules.parser is None:
            return
        is_news = self.is_news(site)
        self._remember(site)
        if is_news:
            self._comments(site, request, rules)
        robots_parsed = getattr(scrapy.signals, "robots_parsed", None)  # Scrapy 2.18 and newer
        if robots_parsed is not None:
            await self._crawler.signals.send_catch_log_async(
                signal=robots_parsed, robotparser=rules.parser, request=request
            )
        if is_news and self._config.sitemaps != "off":
            urls = rules.sitemaps
            if urls:
                self._crawler.stats.inc_value("mandelbot/sitemaps/discovered", len(urls))
                self._send(signals.sitemaps_discovered, site=site, urls=urls)

    def _remember(self, site: str) -> None:
        self._known.put(site, value=True, size=_KNOWN_SIZE + len(site))

    def fetched(self, site: str, rules: SiteRules) -> None:
        """Tell what came of a fetch, and what the file says."""
        self._send(signals.robots_fetched, site=site, robots=rules.robots, outcome=rules.outcome)

    def _comments(self, site: str, request: Request, rules: SiteRules) -> None:
        """Tell what the owner wants the robot's people to be told.

        "An Extended Standard for Robot Exclusion", directive Comment.
        """
        comments = rules.robots.comments(self._agents.of(request))
        if comments:
            message = "%(site)s has a comment for us in its robots.txt: %(comments)s"
            told = " / ".join(map(shown, comments[:_MOST_COMMENTS]))
            self._log(logging.INFO, message, site, comments=told)

    def _send(self, signal: object, **arguments: object) -> None:
        self._crawler.signals.send_catch_log(signal, spider=self._crawler.spider, **arguments)

    def _log(self, level: int, message: str, site: str, **values: object) -> None:
        values = {
            name: shown(value) if isinstance(value, str) else value
            for name, value in {"site": site, **values}.items()
        }
        logger.log(level, message, values, extra={"spider": self._crawler.spider})


def _clock_time(moment: float) -> str:
    return datetime.fromtimestamp(moment, tz=timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")
