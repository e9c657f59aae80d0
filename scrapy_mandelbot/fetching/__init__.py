"""The robots.txt files of a crawl: fetched once, kept, and known to all who ask.

What an answer means is in ``politeness.outcome``, where copies are kept in ``stores``.
"""

from scrapy_mandelbot.fetching.failures import failure_of
from scrapy_mandelbot.fetching.limits import Limits
from scrapy_mandelbot.fetching.rules import RobotsFetcher, SiteRules

__all__ = ["Limits", "RobotsFetcher", "SiteRules", "failure_of"]
