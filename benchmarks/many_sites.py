"""A crawl of many sites, all scheduled at once: our queue beside Scrapy's own.

Each site on loopback gets three pages: its front page, and two that it links to. The
requests for all front pages are scheduled before the first is answered. Each crawl is a
process of its own, the variants in turns, and who begins changes from round to round.
Printed are the medians of so many rounds (5): pages a second, CPU milliseconds a page,
and ours over stock's of both in each round, with the least and the greatest: on a
machine with other work that range is what a ratio is worth. Five rounds of 500, 2,000
and 5,000 sites take some ten minutes; a crawl ends after five. What no other work can
change, thousand instructions a new site, is in ``instructions.py site``.

stock  Scrapy as it comes, with DownloaderAwarePriorityQueue, obeying robots.txt
ours   all of this package: ADDONS = {"scrapy_mandelbot.Addon": 500}

Usage::

    python benchmarks/many_sites.py [ROUNDS [SITES ...]]
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from statistics import median

import scrapy
from loopback import ADDON, SETTINGS, Serving, crawled, hosts, printed_by

HERE = Path(__file__).parent
SITES = (500, 2_000, 5_000)
LINKS_FOLLOWED = 2
VARIANTS = {"stock": {}, "ours": ADDON}
COMMON = {
    **SETTINGS,
    "CLOSESPIDER_TIMEOUT": 300,
    "CONCURRENT_REQUESTS": 64,
    "CONCURRENT_ITEMS": 1,  # Scrapy makes so many tasks for each page
}


class ManySites(scrapy.Spider):
    """Asks each site for its front page and a few that it links to."""

    name = "many_sites"
    cpu = 0.0  # seconds

    async def start(self):
        self.cpu -= time.process_time()
        engine = self.crawler.engine
        # loopback answers before the next site is scheduled, and none would wait
        engine.pause()
        async for request in super().start():
            yield request
        engine.unpause()

    def closed(self, _reason):
        self.cpu += time.process_time()

    def parse(self, response):
        links = response.css("a::attr(href)").getall()[:LINKS_FOLLOWED]
        yield from response.follow_all(links, callback=self.parse_page)

    def parse_page(self, response):
        """Go no further."""


def crawl(variant: str, port: int, sites: int) -> None:
    """Crawl in this process, and print how long it took for how many pages."""
    settings = {**COMMON, **VARIANTS[variant], "ROBOTSTXT_OBEY": True}
    urls = [f"http://{host}:{port}/" for host in hosts(sites)]
    crawler = crawled(ManySites, settings, start_urls=urls)
    count = crawler.stats.get_value
    pages = count("response_received_count") - count("robotstxt/request_count", 0)
    seconds = count("elapsed_time_seconds")
    cpu = crawler.spider.cpu
    print(json.dumps({"pages": pages, "seconds": seconds, "cpu": cpu}))


def compare(rounds: int, sites: int) -> None:
    """Run the variants in turns; print a line for each."""
    results: dict[str, list[dict]] = {variant: [] for variant in VARIANTS}
    with Serving(HERE / "loopback.py", sites) as port:
        for number in range(rounds):
            for variant in sorted(VARIANTS, reverse=number % 2 == 0):
                results[variant].append(
                    printed_by(__file__, "crawl", variant, port, sites)
                )
    for variant, said in results.items():
        rates = [pages_a_second(one) for one in said]
        cpus = [cpu_of_a_page(one) for one in said]
        print(f"{sites:>7,}  {variant:<9}{said[0]['pages']:>8,}", end="")
        print(f"{median(rates):>10.0f}{median(cpus):>13.2f}", end="", flush=True)
        for measure in (pages_a_second, cpu_of_a_page) if variant == "ours" else ():
            both = zip(map(measure, said), map(measure, results["stock"]), strict=True)
            ratios = [one / stock for one, stock in both]
            print(
                f"{median(ratios):>7.2f} ({min(ratios):.2f} to {max(ratios):.2f})",
                end="",
            )
        print(flush=True)


def pages_a_second(said: dict[str, float]) -> float:
    """Return the pages a second of a crawl."""
    return said["pages"] / said["seconds"]


def cpu_of_a_page(said: dict[str, float]) -> float:
    """Return the milliseconds of CPU for each page of a crawl."""
    return said["cpu"] * 1e3 / said["pages"]


def main(rounds: int = 5, *sites: int) -> None:
    heads = f"{'pages/s':>10}{'CPU ms/page':>13}"
    print(f"  sites  {'variant':<9}{'pages':>8}{heads}  pages/s, ratio      CPU, ratio")
    for count in sites or SITES:
        compare(rounds, count)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["crawl", variant, port, sites]:
            crawl(variant, int(port), int(sites))
        case numbers:
            main(*map(int, numbers))
