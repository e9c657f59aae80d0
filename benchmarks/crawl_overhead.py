"""What obeying robots.txt costs a crawl: CPU seconds per page, beside Scrapy's own middleware.

Usage: python benchmarks/crawl_overhead.py [PAGES [ROUNDS]]

Crawls one site over loopback, each variant in a process of its own, in turns, so that what else
the machine does falls on all alike. Counted is the CPU time of the crawling process, from the
opening of the spider to its end. Shown are the median, the least, as noise only adds, and the
median of the ratios to the stock variant of the same round. The variants:

none        robots.txt is not obeyed
stock       Scrapy's own middleware, with its parser (Protego)
middleware  this package's middleware and parser in their places, nothing else of it
package     all of it: ADDONS = {"scrapy_mandelbot.Addon": 500}
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from operator import truediv
from pathlib import Path
from statistics import median

import scrapy
from scrapy.crawler import CrawlerProcess

HERE = Path(__file__).parent
STOCK = "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware"
VARIANTS = {
    "none": {},
    "stock": {"ROBOTSTXT_OBEY": True},
    "middleware": {
        "ROBOTSTXT_OBEY": True,
        "ROBOTSTXT_PARSER": "scrapy_mandelbot.MandelbotRobotParser",
        "DOWNLOADER_MIDDLEWARES": {STOCK: None, "scrapy_mandelbot.RobotsTxtMiddleware": 100},
    },
    "package": {"ADDONS": {"scrapy_mandelbot.Addon": 500}},
}
COMMON = {
    "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
    "DOWNLOAD_DELAY": 0,
    "LOG_LEVEL": "WARNING",
    "TELNETCONSOLE_ENABLED": False,
    "USER_AGENT": "Examplebot/1.0 (+https://example.com/bot)",
    "DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter",
    "MANDELBOT_STORE": "memory",
}


class OneSite(scrapy.Spider):
    """Follows the links of one site for so many pages."""

    name = "one_site"

    def parse(self, response):
        self.pages_left -= 1
        if self.pages_left == 0:
            raise scrapy.exceptions.CloseSpider("enough")
        if self.pages_left > 0:
            for link in response.css("a::attr(href)").getall():
                yield response.follow(link)


def crawl(variant: str, url: str, pages: int) -> None:
    """Crawl in this process, and print how long it took for how many pages."""
    process = CrawlerProcess({**COMMON, **VARIANTS[variant]})
    crawler = process.create_crawler(OneSite)
    took = []

    def opened(spider):
        spider.pages_left = pages
        took.append(time.process_time())

    def closed():
        took.append(time.process_time())

    crawler.signals.connect(opened, signal=scrapy.signals.spider_opened)
    crawler.signals.connect(closed, signal=scrapy.signals.spider_closed)
    process.crawl(crawler, start_urls=[url])
    process.start()
    received = crawler.stats.get_value("response_received_count")
    print(json.dumps({"seconds": took[1] - took[0], "pages": received}))


def main(pages: int = 1500, rounds: int = 15) -> None:
    """Run all variants in turns, and print a table."""
    took = {variant: [] for variant in VARIANTS}
    with subprocess.Popen(
        [sys.executable, HERE / "loopback.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as web:
        url = f"http://127.0.0.1:{web.stdout.readline().decode().strip()}/"
        for _ in range(rounds):
            for variant, seconds in took.items():
                command = [sys.executable, __file__, variant, url, str(pages)]
                run = subprocess.run(command, capture_output=True, check=True)
                result = json.loads(run.stdout)
                seconds.append(result["seconds"] / result["pages"])
        web.stdin.close()
    print(f"{pages} pages of one site, {rounds} rounds, Scrapy {scrapy.__version__}")
    print("CPU ms/page   median   least   to stock")
    for variant, seconds in took.items():
        ratio = median(map(truediv, seconds, took["stock"]))
        print(f"{variant:<12}{median(seconds) * 1e3:>8.3f}{min(seconds) * 1e3:>8.3f}{ratio:>11.3f}")


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in VARIANTS:
        crawl(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    else:
        main(*map(int, sys.argv[1:]))
