"""What a crawl of one page, and one of 1,500 pages, cost more than stock Scrapy's.

CPU of the process, and its memory. Usage::

    python benchmarks/start.py [RUNS]

Runs ``scrapy runspider`` with one ``data:`` page, stock and with the add-on in turn,
each in a process of its own; prints the medians over RUNS (9), and the range of the
differences. Then a crawl takes 1,500 pages of one site on loopback, by their links,
five times each way in turn: the medians of the CPU of its process, start and end
included, and how many times as long the add-on takes. That is a ratio of two figures of
one run; beside other work both are greater, and it moves by some hundredths.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from statistics import median

import loopback
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
PAGES = 1_500
SITE = """
from pathlib import Path

import scrapy

class OneSite(scrapy.Spider):
    name = "site"
    pages = 0

    async def start(self):
        yield scrapy.Request(self.front)

    def parse(self, response):
        self.pages += 1
        for link in response.css("a::attr(href)").getall():
            if int(link.rpartition("/")[2]) < int(self.last):
                yield response.follow(link)

    def closed(self, reason):
        Path(__file__).with_suffix(".txt").write_text(str(self.pages))
"""
ADDON = ("-s", 'ADDONS={"scrapy_mandelbot.Addon": 500}')
OBEYS = ("-s", "ROBOTSTXT_OBEY=1")
RUNS = 9
RUNS_OF_SITE = 5


def crawl(*options: str, spider: str = SPIDER) -> tuple[float, float, list[str]]:
    """Return milliseconds of CPU, MiB of memory at the most, and the words that the
    spider has written: modules that are loaded, or its number of pages.
    """
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "one.py")
        place.write_text(spider)
        command = [
            *(sys.executable, "-m", "scrapy", "runspider", place, "-L", "ERROR"),
            *options,
        ]
        pid = os.posix_spawn(sys.executable, command, ENVIRONMENT)
        _, status, usage = os.wait4(pid, 0)
        if status:
            sys.exit(f"it ended with {status}")
        words = place.with_suffix(".txt").read_text().split()
    return (usage.ru_utime + usage.ru_stime) * 1e3, usage.ru_maxrss / 1024, words


def more_modules() -> int:
    """Return how many modules are loaded that are not by stock Scrapy obeying
    robots.txt.
    """
    return len({*crawl(*ADDON)[2]} - {*crawl(*OBEYS)[2]})


def site() -> tuple[float, float]:
    """Return milliseconds of CPU for the pages of a site: stock's, and the add-on's."""
    stock = []
    ours = []
    with loopback.Serving(Path(__file__).with_name("loopback.py")) as port:
        front = f"http://127.0.0.1:{port}/"
        given = ("-a", f"front={front}", "-a", f"last={PAGES - 1}")
        for _ in range(RUNS_OF_SITE):
            for taken, options in ((stock, OBEYS), (ours, ADDON)):
                milliseconds, _, (pages,) = crawl(*given, *options, spider=SITE)
                if int(pages) != PAGES:
                    sys.exit(f"{pages} pages, not {PAGES}")
                taken.append(milliseconds)
    return median(stock), median(ours)


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
    stock, our = site()
    print(
        f"ms of CPU for {PAGES:,} pages: stock {stock:,.0f}  with the add-on {our:,.0f}"
        f"  {our / stock:.3f} times"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else RUNS)
