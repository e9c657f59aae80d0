"""What a push and a pop cost at 10 to 200,000 sites: our queue beside Scrapy's own.

Prints a table. Each site has one request; the downloader is a stand-in that holds what was popped
for as long as sixteen others are popped, so that the queues see activity as in a crawl.

Usage::

    python benchmarks/site_queue.py [sites ...]
"""

from __future__ import annotations

import gc
import sys
import time
from collections import deque

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.pqueues import DownloaderAwarePriorityQueue
from scrapy.settings import Settings
from scrapy.squeues import LifoMemoryQueue

from scrapy_mandelbot import SiteQueue
from scrapy_mandelbot.crawl import Crawl

SITES = (10, 1_000, 50_000, 200_000)
IN_FLIGHT = 16
REPEATS = 3


class Slot:
    concurrency = 8

    def __init__(self) -> None:
        self.active: set[Request] = set()


class Downloader:
    """As much of a downloader as queues look at."""

    domain_concurrency = 8

    def __init__(self) -> None:
        self.slots: dict[str, Slot] = {}
        self.active: set[Request] = set()

    @staticmethod
    def get_slot_key(request: Request) -> str:
        return request.url[8:].partition("/")[0]


class Engine:
    _slot = None

    def __init__(self) -> None:
        self.downloader = Downloader()


def crawler() -> Crawler:
    settings = Settings({"ADDONS": {"scrapy_mandelbot.Addon": 500}, "LOG_ENABLED": False})
    made = Crawler(Spider, settings)
    made.spider = Spider("benchmark")
    made.addons.load_settings(made.settings)
    made.engine = Engine()
    return made


def measure(queue_class: type, sites: int, pops: int) -> tuple[float, float]:
    """Return the seconds of a push and of a pop."""
    made = crawler()
    downloader = made.engine.downloader
    throttle = Crawl.of(made).throttle
    queue = queue_class.from_crawler(made, LifoMemoryQueue, "")
    requests = [Request(f"https://site{n}.example/") for n in range(sites)]
    gc.collect()
    gc.disable()
    began = time.perf_counter()
    for request in requests:
        queue.push(request)
    push = (time.perf_counter() - began) / sites

    under_way: deque[Request] = deque()
    spent = 0.0
    for _ in range(min(pops, sites)):
        began = time.perf_counter()
        request = queue.pop()
        spent += time.perf_counter() - began
        slot = downloader.slots.setdefault(downloader.get_slot_key(request), Slot())
        slot.active.add(request)
        downloader.active.add(request)
        under_way.append(request)
        if len(under_way) > IN_FLIGHT:
            done = under_way.popleft()
            downloader.active.discard(done)
            del downloader.slots[downloader.get_slot_key(done)]
            began = time.perf_counter()
            if queue_class is SiteQueue:  # its share of the bookkeeping
                throttle.let_go(throttle.flight_of(done))
                spent += time.perf_counter() - began
    gc.enable()
    return push, spent / min(pops, sites)


def main() -> None:
    print("microseconds; the best of three runs\n")
    print(f"{'sites':>8}  {'push':>18}  {'pop':>22}")
    print(f"{'':>8}  {'stock':>8} {'ours':>9}  {'stock':>11} {'ours':>10}  stock : ours")
    for sites in map(int, sys.argv[1:] or SITES):
        row = []
        for queue_class in (DownloaderAwarePriorityQueue, SiteQueue):
            # A pop of Scrapy's takes 15 ms at 50,000 sites: a few of them tell as much as many.
            pops = 5_000 if queue_class is SiteQueue else max(20, 500_000 // sites)
            runs = [measure(queue_class, sites, pops) for _ in range(REPEATS)]
            row.append([min(times) * 1e6 for times in zip(*runs, strict=True)])
        (stock_push, stock_pop), (our_push, our_pop) = row
        print(
            f"{sites:>8,}  {stock_push:>8.1f} {our_push:>9.1f}  {stock_pop:>11.1f} {our_pop:>10.1f}"
            f"  {stock_pop / our_pop:>10.1f}"
        )


if __name__ == "__main__":
    main()
