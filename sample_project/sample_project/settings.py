"""Scrapy settings for sample_project.

For simplicity, this file contains only settings considered important or
commonly used. You can find more settings consulting the documentation:

    https://docs.scrapy.org/en/latest/topics/settings.html
"""

from pathlib import Path

BOT_NAME = "sample_project"

SPIDER_MODULES = ["sample_project.spiders"]
NEWSPIDER_MODULE = "sample_project.spiders"

# This line is all that a project adds to use the package.
ADDONS = {"scrapy_mandelbot.Addon": 500}

# Crawl responsibly by identifying yourself (and your website) on the user-agent
USER_AGENT = "Samplebot/1.0 (+https://example.com/samplebot)"

# Obey robots.txt rules
ROBOTSTXT_OBEY = True

# The demo web runs on this machine and takes what it gets. For the web out there, be
# gentler: set DOWNLOAD_DELAY and CONCURRENT_REQUESTS_PER_DOMAIN to 1, as `scrapy
# startproject` does.

# Everything below serves the demo: the web that it crawls, the check at its end, its
# exit code.
EXTENSIONS = {
    "sample_project.extensions.DemoWeb": 100,
    "sample_project.extensions.CrawlCheck": 200,
}
COMMANDS_MODULE = "sample_project.commands"
# the next run's web may have this run's ports, but not its rules
MANDELBOT_STORE = "memory"
DEMO_OUTAGE = 3  # seconds for which a site of the demo web answers 503
DEMO_CHECK = True  # `scrapy crawl` fails unless it agrees with the demo web's own count
CLOSESPIDER_TIMEOUT = 25  # a demo that hangs is a demo that failed

LOG_LEVEL = "INFO"
# all of it; the terminal has what the command lets through
LOG_FILE = Path("crawl.log")
LOG_FILE_APPEND = False
FEED_EXPORT_ENCODING = "utf-8"
