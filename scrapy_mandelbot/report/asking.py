"""Asks a running crawl how it stands. It costs nothing while nobody asks."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from scrapy_mandelbot import engine
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.events import moment
from scrapy_mandelbot.politeness import site_of
from scrapy_mandelbot.report.status import CrawlStatus, SiteStatus, time_of, why_idle_in_words
from scrapy_mandelbot.report.survey import Survey
from scrapy_mandelbot.shown import shown

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_mandelbot.report.survey import Standing
    from scrapy_mandelbot.robotstxt import RobotsTxt


def status(crawler: Crawler) -> CrawlStatus:
    """Return how a crawl stands: for each site the requests that wait, and the one reason.

    ``print()`` writes it as a table. It is worked out from what is known of each site as it is
    asked for, in a time that grows with the number of sites that have requests.
    """
    crawl = Crawl.of(crawler)
    now = crawl.now()
    standings = Survey(crawl.throttle, now).standings()
    sites = [_told(one) for one in standings if one is not None]
    sites.sort(key=lambda one: (one.reason.place, -one.waiting, one.site))
    return CrawlStatus(moment(now), tuple(sites), waiting_elsewhere(crawler))


def waiting_elsewhere(crawler: Crawler) -> int:
    """Return how many requests a scheduler of the project's own holds, their sites unknown."""
    held = engine.scheduler_length(crawler)
    return max(0, held - Crawl.of(crawler).throttle.in_queues)


def why_idle(crawler: Crawler) -> str:
    """Return why a crawl sends nothing now, in words: what it waits for, and for how long."""
    return why_idle_in_words(status(crawler))


def site_rules(crawler: Crawler, url: str) -> RobotsTxt | None:
    """Return the robots.txt of a site as it is known in a running crawl; nothing is fetched.

    Args:
        crawler: whose crawl it is.
        url: the site, or any URL of it.

    Returns:
        Its rules, which allow all where the site has no such file. None: they are not known, as no
        request to the site had to find them out yet, or as the site could not say.

    Raises:
        ValueError: the URL has no site.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError(f"{url!r} names no site: a site is as https://example.com")
    rules = Crawl.of(crawler).fetcher.known(site_of(parts))
    return None if rules is None or rules.parser is None else rules.robots


def _told(one: Standing) -> SiteStatus:
    details = shown(one.details)
    until = time_of(one.until)
    return SiteStatus(one.site, one.reason, until, details, one.waiting, one.under_way)
