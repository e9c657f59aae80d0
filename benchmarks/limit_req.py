"""How near to a rate limit a crawl gets, at a real nginx.

``limit_req`` lets 30 requests a second through, with a burst of 5 or another one, and
answers the others with 503. A crawl of 600 of its pages with 8 requests at once, and of
a free site beside it, is a process of its own. Prints, for each crawl: pages got, those
got twice, requests refused, and the pages a second of those that the limit allows; at
the end the medians. The goal is 85 % with at most 10 refusals. Exits with 1 if a page
is missing, or was got twice. Seconds are the machine's: let nothing else run.

Usage::

    python benchmarks/limit_req.py [CRAWLS [BURST]]
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

import scrapy
from loopback import ADDON, SETTINGS, ThreadedSite, crawled, printed_by

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from nginx import Nginx

RATE = 30  # a second
PAGES = 600
RULES = b"User-agent: *\nDisallow:\n"


class Spider(scrapy.Spider):
    """Asks for the pages of both sites by turns, and notes when each came."""

    name = "limit_req"

    async def start(self):
        for number in range(PAGES):
            for url in self.sites:
                yield scrapy.Request(f"{url}/{number}.html")

    def parse(self, response):
        self.got.append((time.monotonic(), response.url))


def crawl(*sites: str) -> None:
    """Crawl in this process, and print what came when."""
    settings = {**SETTINGS, **ADDON, "CONCURRENT_REQUESTS_PER_DOMAIN": 8}
    crawler = crawled(Spider, settings, sites=sites, got=[])
    print(json.dumps(crawler.spider.got))


class Figures(NamedTuple):
    """What came of a crawl."""

    pages: int
    twice: int
    refused: int
    share: float
    """Of the rate that the limit allows."""

    def __str__(self) -> str:
        return (
            f"{self.pages} of {2 * PAGES} pages, {self.twice} twice, refused"
            f" {self.refused}, {self.share:.0%} of the rate"
        )


def free_site() -> ThreadedSite:
    """Start a site without a limit."""

    def answer(request) -> tuple[int, dict, bytes]:
        is_rules = request.path == "/robots.txt"
        return 200, {"Content-Type": "text/plain"}, RULES if is_rules else b"page"

    return ThreadedSite(answer, "127.0.0.9")


def figures(free: str, burst: int) -> Figures:
    """Start an nginx, and crawl it and the free site."""
    with tempfile.TemporaryDirectory() as folder:
        server = Nginx(Path(folder), rate=RATE, burst=burst)
        server.pages(PAGES)
        server.start()
        try:
            got = printed_by(__file__, "--crawl", server.url, free)
        finally:
            server.stop()
        refused = server.statuses().count(503)
    urls = [url for _, url in got]
    times = [at for at, url in got if url.startswith(server.url)]
    seconds = times[-1] - times[0]
    pages = len(set(urls))
    return Figures(pages, len(urls) - pages, refused, PAGES / seconds / RATE)


def main(crawls: int = 5, burst: int = 5) -> bool:
    """Print the figures of so many crawls; return whether each got all pages once."""
    free = free_site()
    rows = []
    for _ in range(crawls):
        rows.append(figures(free.url, burst))
        print(rows[-1], flush=True)
    refused = median(row.refused for row in rows)
    share = median(row.share for row in rows)
    print(f"median: refused {refused:.0f}, {share:.0%} of the rate")
    return all(row.pages == 2 * PAGES and not row.twice for row in rows)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--crawl"]:
        crawl(*sys.argv[2:])
    else:
        sys.exit(not main(*map(int, sys.argv[1:3])))
