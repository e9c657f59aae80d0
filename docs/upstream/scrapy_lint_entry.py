"""For scrapy-lint: written by make.py, not by hand."""

from scrapy_lint.addons import Addon, VersionedSettings
from scrapy_lint.settings import Setting

# scrapy_lint/data/addons.py
ADDONS = {
    "scrapy_mandelbot.Addon": Addon(
        package="scrapy-mandelbot",
        settings=VersionedSettings(
            settings={
                "DOWNLOADER_MIDDLEWARES",
                "EXTENSIONS",
                "MANDELBOT_INNER_PRIORITY_QUEUE",
                "MANDELBOT_INNER_SCHEDULER",
                "ROBOTSTXT_OBEY",
                "ROBOTSTXT_PARSER",
                "SCHEDULER",
                "SCHEDULER_PRIORITY_QUEUE",
                "SPIDER_MIDDLEWARES",
            },
        ),
    ),
}

# scrapy_lint/data/settings.py
SETTINGS = {
    # scrapy-mandelbot add-on settings, by name
    "MANDELBOT_CACHE": Setting(package="scrapy-mandelbot"),
    "MANDELBOT_CRAWL_DELAYS": Setting(package="scrapy-mandelbot"),
    "MANDELBOT_DIALECT": Setting(package="scrapy-mandelbot"),
    "MANDELBOT_ENABLED": Setting(package="scrapy-mandelbot"),
    "MANDELBOT_IDENTITY_WARNINGS": Setting(package="scrapy-mandelbot"),
    "MANDELBOT_INNER_PRIORITY_QUEUE": Setting(package="scrapy-mandelbot"),
    "MANDELBOT_INNER_SCHEDULER": Setting(package="scrapy-mandelbot"),
    "MANDELBOT_JOB": Setting(package="scrapy-mandelbot"),
    "MANDELBOT_JOB_OPTIONS": Setting(package="scrapy-mandelbot"),
    "MANDELBOT_LEDGER": Setting(package="scrapy-mandelbot"),
    "MANDELBOT_LEDGER_REQUIRED": Setting(package="scrapy-mandelbot"),
    "MANDELBOT_LIMITS": Setting(package="scrapy-mandelbot"),
    "MANDELBOT_METRICS": Setting(package="scrapy-mandelbot"),
    "MANDELBOT_NOFOLLOW_LINKS": Setting(package="scrapy-mandelbot"),
    "MANDELBOT_PACE": Setting(package="scrapy-mandelbot"),
    "MANDELBOT_PACE_OPTIONS": Setting(package="scrapy-mandelbot"),
    "MANDELBOT_PAUSE_HTTP_CODES": Setting(package="scrapy-mandelbot"),
    "MANDELBOT_PAUSE_IDLE": Setting(package="scrapy-mandelbot"),
    "MANDELBOT_PAUSE_OPTIONS": Setting(package="scrapy-mandelbot"),
    "MANDELBOT_PURPOSE": Setting(package="scrapy-mandelbot"),
    "MANDELBOT_REPORT": Setting(package="scrapy-mandelbot"),
    "MANDELBOT_ROBOT_TAGS": Setting(package="scrapy-mandelbot"),
    "MANDELBOT_SIGN": Setting(package="scrapy-mandelbot"),
    "MANDELBOT_SIGN_KEY": Setting(package="scrapy-mandelbot"),
    "MANDELBOT_SIGN_OPTIONS": Setting(package="scrapy-mandelbot"),
    "MANDELBOT_SITEMAPS": Setting(package="scrapy-mandelbot"),
    "MANDELBOT_SITEMAP_SINCE": Setting(package="scrapy-mandelbot"),
    "MANDELBOT_STORE": Setting(package="scrapy-mandelbot"),
    "MANDELBOT_SUMMARY": Setting(package="scrapy-mandelbot"),
    "MANDELBOT_TOGETHER": Setting(package="scrapy-mandelbot"),
    "MANDELBOT_USAGE": Setting(package="scrapy-mandelbot"),
    "MANDELBOT_USAGE_UNKNOWN": Setting(package="scrapy-mandelbot"),
}
