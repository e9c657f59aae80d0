"""What crawls cost in CPU seconds, for benchmarks that compare variants of one.

Each variant is crawled in a process of its own, in turns and back, so that what else the machine
does falls on all alike. Counted is the CPU time of the crawling process, from the opening of the
spider to its end. Shown are the median, the least, as noise only adds, and the median of the ratios
to one variant in the same round.

A benchmark that uses it runs itself anew for each crawl, with the arguments ``VARIANT URL PAGES``,
and prints then what :func:`crawl` returns.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import contextmanager
from operator import truediv
from statistics import median
from typing import TYPE_CHECKING, Any

import scrapy
from scrapy.crawler import CrawlerProcess

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SETTINGS = {
    "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
    "DOWNLOAD_DELAY": 0,
    "LOG_LEVEL": "WARNING",
    "TELNETCONSOLE_ENABLED": False,
    "MANDELBOT_STORE": "memory",
}


def crawl(spider: type[scrapy.Spider], settings: dict, url: str, **arguments: Any) -> dict:
    """Crawl in this process, and return its CPU ``seconds`` and how many ``pages`` it got."""
    process = CrawlerProcess({**SETTINGS, **settings})
    crawler = process.create_crawler(spider)
    clocks = []

    def read_clock() -> None:
        clocks.append(time.process_time())

    crawler.signals.connect(read_clock, signal=scrapy.signals.spider_opened)
    crawler.signals.connect(read_clock, signal=scrapy.signals.spider_closed)
    process.crawl(crawler, start_urls=[url], **arguments)
    process.start()
    pages = crawler.stats.get_value("response_received_count")
    return {"seconds": clocks[1] - clocks[0], "pages": pages}


@contextmanager
def web(*command: str | Path) -> Iterator[str]:
    """Run a program that serves on loopback as ``loopback.py`` does; its front page's URL."""
    with subprocess.Popen(
        [sys.executable, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        yield f"http://127.0.0.1:{server.stdout.readline().decode().strip()}/"
        server.stdin.close()


def in_turns(
    program: str, variants: list[str], url: str, pages: int, rounds: int
) -> dict[str, list[dict]]:
    """Crawl each variant once a round; by variant, what its crawls printed."""
    results: dict[str, list[dict]] = {variant: [] for variant in variants}
    for number in range(rounds):
        for variant in variants[:: -1 if number % 2 else 1]:
            command = [sys.executable, program, variant, url, str(pages)]
            run = subprocess.run(command, capture_output=True, check=True)
            results[variant].append(json.loads(run.stdout))
    return results


def print_table(results: dict[str, list[dict]], base: str) -> None:
    """Print the CPU milliseconds a page of each variant, and the ratio to one of them."""
    took = {
        variant: [run["seconds"] / run["pages"] for run in runs]
        for variant, runs in results.items()
    }
    print(f"CPU ms/page   median   least   to {base}")
    for variant, seconds in took.items():
        ratio = median(map(truediv, seconds, took[base]))
        print(f"{variant:<12}{median(seconds) * 1e3:>8.3f}{min(seconds) * 1e3:>8.3f}{ratio:>11.3f}")
