"""Scrapy reads every robots.txt right, pauses a site that answers 503 and finds its sitemaps.

Here are the public names. They are imported when first asked for: the parser is used without
Scrapy too, and Scrapy loads the package's commands on every call.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from scrapy_mandelbot._version import __version__

if TYPE_CHECKING:
    from scrapy_mandelbot.addon import Addon as Addon
    from scrapy_mandelbot.console import PauseConsole as PauseConsole
    from scrapy_mandelbot.console import pause_site as pause_site
    from scrapy_mandelbot.console import paused_sites as paused_sites
    from scrapy_mandelbot.console import resume_site as resume_site
    from scrapy_mandelbot.downloadermiddlewares import PauseMiddleware as PauseMiddleware
    from scrapy_mandelbot.downloadermiddlewares import RobotsTxtMiddleware as RobotsTxtMiddleware
    from scrapy_mandelbot.fleet.shared_scheduler import SharedJobScheduler as SharedJobScheduler
    from scrapy_mandelbot.hooks import SpiderHooks as SpiderHooks
    from scrapy_mandelbot.job.job_scheduler import JobScheduler as JobScheduler
    from scrapy_mandelbot.job.middleware import JobMiddleware as JobMiddleware
    from scrapy_mandelbot.queue.parking import ParkingScheduler as ParkingScheduler
    from scrapy_mandelbot.queue.site_queue import SiteQueue as SiteQueue
    from scrapy_mandelbot.report.metrics import CrawlMetrics as CrawlMetrics
    from scrapy_mandelbot.report.report_file import CrawlReport as CrawlReport
    from scrapy_mandelbot.report.summary import CrawlSummary as CrawlSummary
    from scrapy_mandelbot.report.survey import site_rules as site_rules
    from scrapy_mandelbot.report.survey import status as status
    from scrapy_mandelbot.report.survey import why_idle as why_idle
    from scrapy_mandelbot.robots.lint import Finding as Finding
    from scrapy_mandelbot.robots.lint import Severity as Severity
    from scrapy_mandelbot.robots.outcome import Outcome as Outcome
    from scrapy_mandelbot.robots.outcome import OutcomeKind as OutcomeKind
    from scrapy_mandelbot.robots.preferences import Statement as Statement
    from scrapy_mandelbot.robots.preferences import Usage as Usage
    from scrapy_mandelbot.robots.preferences import page_usage as page_usage
    from scrapy_mandelbot.robots.robotstxt import Dialect as Dialect
    from scrapy_mandelbot.robots.robotstxt import RobotsTxt as RobotsTxt
    from scrapy_mandelbot.robots.robotstxt import Rule as Rule
    from scrapy_mandelbot.robots.robotstxt import Verdict as Verdict
    from scrapy_mandelbot.robots.sitemaps import SitemapEntry as SitemapEntry
    from scrapy_mandelbot.robots.sitemaps import SitemapReader as SitemapReader
    from scrapy_mandelbot.robots.tags import RobotTag as RobotTag
    from scrapy_mandelbot.robots.tags import RobotTags as RobotTags
    from scrapy_mandelbot.robots.tags import robot_tags as robot_tags
    from scrapy_mandelbot.rules.robot_parser import MandelbotRobotParser as MandelbotRobotParser
    from scrapy_mandelbot.setting_values import SettingsError as SettingsError
    from scrapy_mandelbot.sitemap_crawl.follower import SitemapFollower as SitemapFollower
    from scrapy_mandelbot.spidermiddlewares import RobotTagsMiddleware as RobotTagsMiddleware

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

__all__ = ["__version__", *_HOMES]  # noqa: PLE0604


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
