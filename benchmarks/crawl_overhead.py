"""What obeying robots.txt costs a crawl: CPU seconds per page, beside Scrapy's own middleware.

Usage: python benchmarks/crawl_overhead.py [PAGES [ROUNDS]]

Crawls one site over loopback, each variant in turns, measured as ``crawl_cpu.py`` says:

none        robots.txt is not obeyed
stock       Scrapy's own middleware, with its parser (Protego)
middleware  this package's middleware and parser in their places, nothing else of it
package     all of it: ADDONS = {"scrapy_mandelbot.Addon": 500}
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import crawl_cpu
import scrapy

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
    "USER_AGENT": "Examplebot/1.0 (+https://example.com/bot)",
    "DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter",
}


class OneSite(scrapy.Spider):
    """Follows the links of one site for so many pages."""

    name = "one_site"
    pages_left: int

    def parse(self, response):
        self.pages_left -= 1
        if self.pages_left == 0:
            raise scrapy.exceptions.CloseSpider("enough")
        if self.pages_left > 0:
            for link in response.css("a::attr(href)").getall():
                yield response.follow(link)


def main(pages: int = 1500, rounds: int = 15) -> None:
    """Run all variants in turns, and print a table."""
    with crawl_cpu.web(Path(__file__).with_name("loopback.py")) as url:
        results = crawl_cpu.in_turns(__file__, list(VARIANTS), url, pages, rounds)
    print(f"{pages} pages of one site, {rounds} rounds, Scrapy {scrapy.__version__}")
    crawl_cpu.print_table(results, base="stock")


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in VARIANTS:
        variant, url, pages = sys.argv[1:]
        settings = {**COMMON, **VARIANTS[variant]}
        print(json.dumps(crawl_cpu.crawl(OneSite, settings, url, pages_left=int(pages))))
    else:
        main(*map(int, sys.argv[1:]))
