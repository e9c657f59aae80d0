"""Scrapy reads every robots.txt right, pauses sites in trouble, finds their sitemaps.

The public names stand below. Each is imported when it is first used:
Scrapy loads the package's commands on every call. What a site's files say is read by
the library, ``mandelbot``.
"""

from mandelbot.lazy import lazy_names

_HOMES = {
    "__version__": "._version",
    "Addon": ".addon",
    "PauseConsole": ".console",
    "pause_site": ".console",
    "paused_sites": ".console",
    "resume_site": ".console",
    "site_rules": ".console",
    "why_idle": ".console",
    "PauseMiddleware": ".downloadermiddlewares.pause",
    "RobotsTxtMiddleware": ".downloadermiddlewares.robotstxt",
    "BudgetReachedError": ".downloadermiddlewares.site_budget",
    "MandelbotRobotParser": ".fetching.robot_parser",
    "SharedJobScheduler": ".fleet.shared_scheduler",
    "JobScheduler": ".job.job_scheduler",
    "JobMiddleware": ".job.middleware",
    "CrawlReport": ".report.crawl_report",
    "CrawlMetrics": ".report.metrics",
    "CrawlSummary": ".report.summary",
    "status": ".report.survey",
    "ParkingScheduler": ".scheduling.parking",
    "SiteQueue": ".scheduling.site_queue",
    "SettingsError": ".settings.values",
    "SitemapFollower": ".sitemap_crawl.follower",
    "SpiderHooks": ".spidermiddlewares.hooks",
    "RobotTagsMiddleware": ".spidermiddlewares.robot_tags",
    "SitePausedError": ".throttle.in_flight",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _HOMES)
