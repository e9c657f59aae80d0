"""A crawl of many sites, all scheduled at once: our queue beside Scrapy's own.

Each site on loopback gets three pages: its front page, and two that it links to. The requests for
all front pages are scheduled before the first is answered. Each crawl is a process of its own, the
variants in turns, and who begins changes from round to round. Printed are the medians of so many
rounds (5): pages a second, CPU milliseconds a page, and ours over stock's in each round, with the
least and the greatest of them: on a machine with other work that range is what a ratio is worth.
Below, what no other work can change: thousand instructions a new site (``instructions.py site``).

stock  Scrapy as it comes, with DownloaderAwarePriorityQueue
ours   all of this package: ADDONS = {"scrapy_mandelbot.Addon": 500}

``crawl`` does so with ROBOTSTXT_OBEY off, ``robots`` with it on: a robots.txt a site besides.

Usage::

    python benchmarks/many_sites.py crawl|robots [ROUNDS [SITES ...]]
"""

from __future__ import annotations

import json
import subprocess
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
    "CONCURRENT_REQUESTS": 64,
    "CONCURRENT_ITEMS": 1,  # Scrapy makes so many tasks for each page
    "USER_AGENT": "Examplebot/1.0 (+https://example.com/bot)",
}


class ManySites(scrapy.Spider):
    """Asks each site for its front page and a few that it links to."""

    name = "many_sites"
    cpu = 0.0  # seconds

    async def start(self):
        self.cpu -= time.process_time()
        async for request in super().start():
            yield request

    def closed(self, _reason):
        self.cpu += time.process_time()

    def parse(self, response):
        links = response.css("a::attr(href)").getall()[:LINKS_FOLLOWED]
        yield from response.follow_all(links, callback=self.parse_page)

    def parse_page(self, response):
        """Go no further."""


def crawl(variant: str, port: int, sites: int, *, robots: bool = False) -> None:
    """Crawl in this process, and print how long it took for how many pages."""
    settings = {**COMMON, **VARIANTS[variant], "ROBOTSTXT_OBEY": robots}
    urls = [f"http://{host}:{port}/" for host in hosts(sites)]
    crawler = crawled(ManySites, settings, start_urls=urls)
    count = crawler.stats.get_value
    pages = count("response_received_count") - count("robotstxt/request_count", 0)
    seconds, cpu = count("elapsed_time_seconds"), crawler.spider.cpu
    print(json.dumps({"pages": pages, "seconds": seconds, "cpu": cpu}))


def compare(what: str, rounds: int, sites: int) -> None:
    """Run the variants in turns; print a line for each."""
    results: dict[str, list[dict]] = {variant: [] for variant in VARIANTS}
    with Serving(HERE / "loopback.py", sites) as port:
        for number in range(rounds):
            for variant in sorted(VARIANTS, reverse=number % 2 == 0):
                results[variant].append(printed_by(__file__, "one", variant, port, sites, what))
    for variant, said in results.items():
        rate = median(map(pages_a_second, said))
        cpu = median(one["cpu"] / one["pages"] for one in said)
        ratio = ""
        if variant == "ours":
            pairs = zip(said, results["stock"], strict=True)
            ratios = [pages_a_second(one) / pages_a_second(stock) for one, stock in pairs]
            ratio = f"{median(ratios):>9.2f}  ({min(ratios):.2f} to {max(ratios):.2f})"
        of = f"{sites:>7,}  {variant:<9}{said[0]['pages']:>8,}"
        print(f"{of}{rate:>12.0f}{cpu * 1e3:>12.2f}{ratio}", flush=True)


def pages_a_second(said: dict[str, float]) -> float:
    """Return the pages a second of a crawl."""
    return said["pages"] / said["seconds"]


def main(what: str = "--help", *numbers: str) -> None:
    if what in {"crawl", "robots"}:
        rounds, *sites = [int(number) for number in numbers or ["5"]]
        print(f"  sites  {'variant':<9}{'pages':>8}{'pages/s':>12}{'CPU ms/page':>12}{'ratio':>9}")
        for count in sites or SITES:
            compare(what, rounds, count)
        print()
        subprocess.run([sys.executable, HERE / "instructions.py", "site"], check=True)
    elif what == "one":
        crawl(numbers[0], int(numbers[1]), int(numbers[2]), robots=numbers[3] == "robots")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
