"""Scrapy reads every robots.txt right, pauses a site that answers 503 and finds its sitemaps.

Here are the public names. They are imported when first asked for: the parser is used without
Scrapy too, and Scrapy loads the package's commands on every call.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from scrapy_mandelbot._version import __version__

if TYPE_CHECKING:
    from scrapy_mandelbot.addon import Addon
    from scrapy_mandelbot.config import SettingsError
    from scrapy_mandelbot.console import PauseConsole, pause_site, paused_sites, resume_site
    from scrapy_mandelbot.downloadermiddlewares import PauseMiddleware, RobotsTxtMiddleware
    from scrapy_mandelbot.extensions import SpiderHooks
    from scrapy_mandelbot.following import SitemapFollower
    from scrapy_mandelbot.jobs import JobMiddleware
    from scrapy_mandelbot.politeness import Outcome, OutcomeKind
    from scrapy_mandelbot.queue import SiteQueue
    from scrapy_mandelbot.report.asking import site_rules, status, why_idle
    from scrapy_mandelbot.report.metrics import CrawlMetrics
    from scrapy_mandelbot.report.report_file import CrawlReport
    from scrapy_mandelbot.report.summary import CrawlSummary
    from scrapy_mandelbot.robotparser import MandelbotRobotParser
    from scrapy_mandelbot.robotstxt import Dialect, RobotsTxt, Rule, Verdict
    from scrapy_mandelbot.robotstxt.lint import Finding, Severity
    from scrapy_mandelbot.schedulers import JobScheduler, ParkingScheduler, SharedJobScheduler
    from scrapy_mandelbot.sitemaps import SitemapEntry, SitemapReader
    from scrapy_mandelbot.spidermiddlewares import RobotTagsMiddleware
    from scrapy_mandelbot.tags import RobotTag, RobotTags, robot_tags
    from scrapy_mandelbot.usage import Statement, Usage, page_usage

_HOMES = {
    "Addon": "addon",
    "CrawlMetrics": "report.metrics",
    "CrawlReport": "report.report_file",
    "CrawlSummary": "report.summary",
    "Dialect": "robotstxt",
    "Finding": "robotstxt.lint",
    "JobMiddleware": "jobs",
    "JobScheduler": "schedulers",
    "MandelbotRobotParser": "robotparser",
    "Outcome": "politeness",
    "OutcomeKind": "politeness",
    "ParkingScheduler": "schedulers",
    "PauseConsole": "console",
    "PauseMiddleware": "downloadermiddlewares",
    "RobotTag": "tags",
    "RobotTags": "tags",
    "RobotTagsMiddleware": "spidermiddlewares",
    "RobotsTxt": "robotstxt",
    "RobotsTxtMiddleware": "downloadermiddlewares",
    "Rule": "robotstxt",
    "SettingsError": "config",
    "Severity": "robotstxt.lint",
    "SharedJobScheduler": "schedulers",
    "SiteQueue": "queue",
    "SitemapEntry": "sitemaps",
    "SitemapFollower": "following",
    "SitemapReader": "sitemaps",
    "SpiderHooks": "extensions",
    "Statement": "usage",
    "Usage": "usage",
    "Verdict": "robotstxt",
    "page_usage": "usage",
    "pause_site": "console",
    "paused_sites": "console",
    "resume_site": "console",
    "robot_tags": "tags",
    "site_rules": "report.asking",
    "status": "report.asking",
    "why_idle": "report.asking",
}

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
