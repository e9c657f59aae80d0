"""What a pace costs who keeps it, and who does not: sites with a delay beside sites without one.

Each crawl is a process of its own, and so is the server (``paced_server.py``), whose log of arrival
times is what is looked at.

Usage::

    python benchmarks/pace.py [intervals|beside|hundred|thousand ...]

intervals   seconds between the requests that reach a site: the least, and the median
beside      pages a second of a site that runs free, alone and beside a slow one
hundred     a hundred sites, each with Crawl-delay: 1: the share of what they allow
thousand    a thousand sites, each with Crawl-delay: 1, and the same thousand without
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from statistics import median

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.resolver import CachingThreadedResolver
from twisted.internet.defer import succeed

HERE = Path(__file__).parent
COMMON = {
    "ADDONS": {"scrapy_mandelbot.Addon": 500},
    "DOWNLOAD_DELAY": 0,
    "LOG_LEVEL": "ERROR",
    "MANDELBOT_PACE": "obey",
    "MANDELBOT_STORE": "memory",
    "REMOTE_CONTROL_ENABLED": False,
    "ROBOTSTXT_OBEY": True,
    "TELNETCONSOLE_ENABLED": False,
}


class Loopback(CachingThreadedResolver):
    """Every name is this machine."""

    def getHostByName(self, name, timeout=None):  # noqa: ARG002, N802 -- as Twisted has it
        return succeed("127.0.0.1")


class Links(scrapy.Spider):
    """Follows the links of a site's front page."""

    name = "links"

    def parse(self, response):
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link, self.parse)


def crawl(urls: list[str], settings: dict) -> None:
    """Crawl in this process."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    process = CrawlerProcess({**COMMON, "DNS_RESOLVER": Loopback, **settings})
    process.crawl(Links, start_urls=urls)
    process.start()


def run(
    sites: list[str], pages: int, robots: str, slowness: float = 0.0, **settings: object
) -> dict[str, list[float]]:
    """Crawl sites in a process of its own; return when each was asked, by its own log."""
    server = subprocess.Popen(
        [sys.executable, HERE / "paced_server.py", str(pages), robots, str(slowness)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    port = server.stdout.readline().strip()
    urls = [f"http://{site}:{port}/" for site in sites]
    command = [sys.executable, __file__, "--crawl", json.dumps([urls, settings])]
    subprocess.run(command, check=True, timeout=600)
    asked, _ = server.communicate()
    return json.loads(asked)


def gaps(times: list[float]) -> list[float]:
    return [later - earlier for earlier, later in pairwise(times)]


def intervals() -> None:
    """Seconds between requests at the server, for each way to ask for half a second."""
    print(f"{'asked for':<36} {'answers take':<13} {'requests':>8} {'least':>8} {'median':>8}")
    for robots in ("Crawl-delay: 0.5", "Request-rate: 2/1s", "Crawl-delay: 0.2;Request-rate: 2/1s"):
        for slowness in (0.0, 0.4):
            between = gaps(run(["slow.test"], 20, robots, slowness)["slow.test"])
            took = f"0 to {slowness:g} s" if slowness else "no time"
            print(
                f"{robots.replace(';', ', '):<36} {took:<13} {len(between) + 1:>8}"
                f" {min(between):>7.4f}s {median(between):>7.4f}s",
                flush=True,
            )


def beside(rounds: int = 12) -> None:
    """Pages a second of a free site, alone and beside a slow one, each first in half the rounds."""
    cases = {"alone": ["free.test"], "beside": ["free.test", "slow.test"]}
    rates: dict[str, list[float]] = {case: [] for case in cases}
    for turn in range(rounds):
        for case in sorted(cases, reverse=turn % 2 == 1):
            asked = run(cases[case], 600, "Crawl-delay: 0.5", CONCURRENT_REQUESTS=8)
            free = asked["free.test"]
            rates[case].append(len(free) / (free[-1] - free[0]))
    ratios = [slow / alone for alone, slow in zip(*rates.values(), strict=True)]
    print(
        f"\na site of 600 pages, 8 requests at once, {rounds} rounds; the other: Crawl-delay: 0.5"
    )
    print(f"pages a second alone, median              {median(rates['alone']):>8.1f}")
    print(f"pages a second beside the other, median   {median(rates['beside']):>8.1f}")
    print(f"ratio, median of the rounds               {median(ratios):>8.3f}")
    print(f"ratio of the best                         {_best(rates):>8.3f}")


def _best(rates: dict[str, list[float]]) -> float:
    return max(rates["beside"]) / max(rates["alone"])


def hundred(pages: int = 20) -> None:
    """A hundred sites at once, which the machine can crawl faster than they allow."""
    sites = [f"site{number}.test" for number in range(100)]
    asked = run(sites, pages, "Crawl-delay: 1", CONCURRENT_REQUESTS=100)
    between = [gap for site in asked.values() for gap in gaps(site)]
    times = [time for site in asked.values() for time in site]
    seconds = max(times) - min(times)
    print(f"\n100 sites with Crawl-delay: 1, {pages + 1} pages each and robots.txt")
    print(f"requests a second                         {len(times) / seconds:>8.1f}")
    print(f"of what the sites allow                   {len(between) / len(sites) / seconds:>8.3f}")
    print(f"least seconds between two requests        {min(between):>8.4f}")
    print(f"median                                    {median(between):>8.4f}")


def thousand(pages: int = 6) -> None:
    """A thousand sites at once, each with a delay of a second, and the same without."""
    print(f"\n1,000 sites, {pages + 1} pages each and robots.txt")
    print(
        f"{'':<14} {'requests':>8} {'seconds':>8} {'a second':>9} {'least gap':>10} {'median':>8}"
    )
    rates = {}
    for name, robots in (("no delay", ""), ("Crawl-delay: 1", "Crawl-delay: 1")):
        sites = [f"site{number}.test" for number in range(1000)]
        asked = run(sites, pages, robots, CONCURRENT_REQUESTS=100)
        times = [time for site in asked.values() for time in site]
        seconds = max(times) - min(times)
        between = [gap for site in asked.values() for gap in gaps(site)]
        rates[name] = len(times) / seconds
        print(
            f"{name:<14} {len(times):>8} {seconds:>8.1f} {rates[name]:>9.1f}"
            f" {min(between):>9.4f}s {median(between):>7.3f}s",
            flush=True,
        )
    print(
        f"with the delay, of the rate without  {rates['Crawl-delay: 1'] / rates['no delay']:>8.2f}"
    )


def main() -> None:
    if sys.argv[1:2] == ["--crawl"]:
        urls, settings = json.loads(sys.argv[2])
        crawl(urls, settings)
        return
    parts = {"intervals": intervals, "beside": beside, "hundred": hundred, "thousand": thousand}
    for name in sys.argv[1:] or parts:
        parts[name]()


if __name__ == "__main__":
    main()
