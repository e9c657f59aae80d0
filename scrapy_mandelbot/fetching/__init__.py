"""The robots.txt files of a crawl: fetched once, kept, and known to all who ask.

What an answer means is in ``politeness.outcome``, where copies are kept in ``stores``.
"""

from scrapy_mandelbot.fetching.download_limits import DownloadLimits
from scrapy_mandelbot.fetching.failures import failure_of
from scrapy_mandelbot.fetching.fetcher import RobotsFetcher, SiteRules
from scrapy_mandelbot.fetching.shared_fetches import SharedFetches, Whose

__all__ = ["DownloadLimits", "RobotsFetcher", "SharedFetches", "SiteRules", "Whose", "failure_of"]
