"""What a crawl of one page costs more than stock Scrapy's.

CPU of the process, and its memory. Usage::

    python benchmarks/start.py [RUNS]

Runs ``scrapy runspider`` with one ``data:`` page, stock and with the add-on in turn,
each in a process of its own; prints the medians over RUNS (9), and the range of the
differences.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from statistics import median

from instructions import ENVIRONMENT

SPIDER = """
import atexit
import sys
from pathlib import Path

import scrapy

class OnePage(scrapy.Spider):
    name = "one"
    start_urls = ["data:,page"]

    def parse(self, response):
        atexit.register(write_modules)
        yield {"url": response.url}

def write_modules():
    Path(__file__).with_suffix(".txt").write_text("\\n".join(sys.modules))
"""
ADDON = ("-s", 'ADDONS={"scrapy_mandelbot.Addon": 500}')
RUNS = 9


def crawl(*settings: str) -> tuple[float, float, set[str]]:
    """Return milliseconds of CPU, MiB of memory at the most, and the modules that are
    loaded.
    """
    with tempfile.TemporaryDirectory() as folder:
        spider = Path(folder, "one.py")
        spider.write_text(SPIDER)
        command = [
            *(sys.executable, "-m", "scrapy", "runspider", spider, "-L", "ERROR"),
            *settings,
        ]
        pid = os.posix_spawn(sys.executable, command, ENVIRONMENT)
        _, status, usage = os.wait4(pid, 0)
        if status:
            sys.exit(f"it ended with {status}")
        modules = set(spider.with_suffix(".txt").read_text().split())
    return (usage.ru_utime + usage.ru_stime) * 1e3, usage.ru_maxrss / 1024, modules


def more_modules() -> int:
    """Return how many modules are loaded that are not by stock Scrapy obeying
    robots.txt.
    """
    return len(crawl(*ADDON)[2] - crawl("-s", "ROBOTSTXT_OBEY=1")[2])


def main(runs: int) -> None:
    print(f"modules    more {more_modules()}")
    pairs = [(crawl()[:2], crawl(*ADDON)[:2]) for _ in range(runs)]
    for unit, stocks, ours in zip(
        ("ms of CPU", "MiB"),
        *(zip(*one, strict=True) for one in zip(*pairs, strict=True)),
        strict=True,
    ):
        more = [our - stock for stock, our in zip(stocks, ours, strict=True)]
        print(
            f"{unit:<10} stock {median(stocks):6.1f}  with the add-on"
            f" {median(ours):6.1f}  more {median(more):+6.1f} ({min(more):+.1f} to"
            f" {max(more):+.1f})"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else RUNS)
