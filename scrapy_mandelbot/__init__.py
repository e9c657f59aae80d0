"""Scrapy reads every robots.txt right, pauses a site that answers 503 and finds its sitemaps.

Here are the public names. They are imported when first asked for: the parser is used without
Scrapy too, and Scrapy loads the package's commands on every call.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from scrapy_mandelbot._moved import put_up_signs
from scrapy_mandelbot._version import __version__

if TYPE_CHECKING:
    from scrapy_mandelbot.addon import Addon
    from scrapy_mandelbot.console import PauseConsole, pause_site, paused_sites, resume_site
    from scrapy_mandelbot.downloadermiddlewares import PauseMiddleware, RobotsTxtMiddleware
    from scrapy_mandelbot.fleet.shared_scheduler import SharedJobScheduler
    from scrapy_mandelbot.hooks import SpiderHooks
    from scrapy_mandelbot.job.job_scheduler import JobScheduler
    from scrapy_mandelbot.job.middleware import JobMiddleware
    from scrapy_mandelbot.queue.parking import ParkingScheduler
    from scrapy_mandelbot.queue.site_queue import SiteQueue
    from scrapy_mandelbot.report.metrics import CrawlMetrics
    from scrapy_mandelbot.report.report_file import CrawlReport
    from scrapy_mandelbot.report.summary import CrawlSummary
    from scrapy_mandelbot.report.survey import site_rules, status, why_idle
    from scrapy_mandelbot.robots.lint import Finding, Severity
    from scrapy_mandelbot.robots.outcome import Outcome, OutcomeKind
    from scrapy_mandelbot.robots.preferences import Statement, Usage, page_usage
    from scrapy_mandelbot.robots.robotstxt import Dialect, RobotsTxt, Rule, Verdict
    from scrapy_mandelbot.robots.sitemaps import SitemapEntry, SitemapReader
    from scrapy_mandelbot.robots.tags import RobotTag, RobotTags, robot_tags
    from scrapy_mandelbot.rules.robot_parser import MandelbotRobotParser
    from scrapy_mandelbot.setting_values import SettingsError
    from scrapy_mandelbot.sitemap_crawl.follower import SitemapFollower
    from scrapy_mandelbot.spidermiddlewares import RobotTagsMiddleware

put_up_signs()

_NAMES = {
    "addon": "Addon",
    "console": "PauseConsole pause_site paused_sites resume_site",
    "downloadermiddlewares": "PauseMiddleware RobotsTxtMiddleware",
    "fleet.shared_scheduler": "SharedJobScheduler",
    "hooks": "SpiderHooks",
    "job.job_scheduler": "JobScheduler",
    "job.middleware": "JobMiddleware",
    "queue.parking": "ParkingScheduler",
    "queue.site_queue": "SiteQueue",
    "report.metrics": "CrawlMetrics",
    "report.report_file": "CrawlReport",
    "report.summary": "CrawlSummary",
    "report.survey": "site_rules status why_idle",
    "robots.lint": "Finding Severity",
    "robots.outcome": "Outcome OutcomeKind",
    "robots.preferences": "Statement Usage page_usage",
    "robots.robotstxt": "Dialect RobotsTxt Rule Verdict",
    "robots.sitemaps": "SitemapEntry SitemapReader",
    "robots.tags": "RobotTag RobotTags robot_tags",
    "rules.robot_parser": "MandelbotRobotParser",
    "setting_values": "SettingsError",
    "sitemap_crawl.follower": "SitemapFollower",
    "spidermiddlewares": "RobotTagsMiddleware",
}
"""What is public of each module."""
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}

__all__ = [
    "Addon",
    "CrawlMetrics",
    "CrawlReport",
    "CrawlSummary",
    "Dialect",
    "Finding",
    "JobMiddleware",
    "JobScheduler",
    "MandelbotRobotParser",
    "Outcome",
    "OutcomeKind",
    "ParkingScheduler",
    "PauseConsole",
    "PauseMiddleware",
    "RobotTag",
    "RobotTags",
    "RobotTagsMiddleware",
    "RobotsTxt",
    "RobotsTxtMiddleware",
    "Rule",
    "SettingsError",
    "Severity",
    "SharedJobScheduler",
    "SiteQueue",
    "SitemapEntry",
    "SitemapFollower",
    "SitemapReader",
    "SpiderHooks",
    "Statement",
    "Usage",
    "Verdict",
    "__version__",
    "page_usage",
    "pause_site",
    "paused_sites",
    "resume_site",
    "robot_tags",
    "site_rules",
    "status",
    "why_idle",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
