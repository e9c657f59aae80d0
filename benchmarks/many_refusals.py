"""What the longest turn of the loop is made of while many sites refuse every page.

Usage: python benchmarks/many_refusals.py [SITES...]

Crawls so many sites (1,000, 2,000 and 4,000) that answer 503 and are given up after
three probes, beside a healthy one, without a network. Each number is crawled twice.

- While no garbage is collected, the calls of functions in each turn are counted: of the
  longest turn while there are requests, and of the longest one afterwards, as the crawl
  ends and each site is added to its account.
- While garbage is collected as always, the processor time of each turn is measured, and
  the part of it that full collections take. Printed are the longest turn, the part of
  full collections in that turn, the longest turn without that part, how many full
  collections there were, and how many objects the last ones looked at: that number
  grows with the requests in memory, and a collection is one turn.

The calls, the collections and the objects are counts, which other work on the machine
does not change.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import time
from typing import NamedTuple

import scrapy
from loopback import ADDON, SETTINGS, crawled, printed_by
from scrapy.http import HtmlResponse, Response, TextResponse
from scrapy.utils.httpobj import urlparse_cached

FEW = ("1000", "2000", "4000")
PAGES = 300  # of the healthy site
LOOKED_AT = 500  # turns between two countings of what is in memory
FULL = 2  # the generation of a full collection
COUNTED = "counted"
TIMED = "timed"
PATIENCE = {"first": 0.05, "longest": 0.1, "tries": 3}


class Web:
    """Answers for all sites, a few milliseconds later."""

    lazy = False

    async def download_request(self, request: scrapy.Request) -> Response:
        await asyncio.sleep(0.003)
        url = urlparse_cached(request)
        if url.path == "/robots.txt":
            body = b"User-agent: *\nDisallow: /no\n"
            return TextResponse(request.url, body=body, request=request)
        if url.netloc.startswith("bad"):
            return Response(request.url, 503, request=request)
        return HtmlResponse(request.url, body=b"<html>", request=request)

    async def close(self) -> None:
        """Have nothing to close."""


class Turn(NamedTuple):
    """One turn of the loop."""

    seconds: float
    """Its processor time."""
    collecting: float
    """The part of it that full collections took, in seconds."""
    calls: int


class Turns:
    """Measures each turn of the loop."""

    def __init__(self) -> None:
        self.measured: list[Turn] = []
        self.collections = 0
        self.objects = 0
        """The most objects that a full collection had to look at."""
        self.until_idle = 0
        """How many turns there were when nothing was left to request."""
        self._calls = 0
        self._collecting = 0.0
        self._began = 0.0

    def install(self, *, is_counting: bool) -> None:
        """Count calls from now on, without the collector, or time it."""
        if is_counting:
            gc.disable()
            sys.setprofile(self._called)
        else:
            gc.callbacks.append(self._collected)
        turn = asyncio.BaseEventLoop._run_once  # noqa: SLF001 -- no other place has them

        def measured(loop: asyncio.BaseEventLoop) -> None:
            calls = self._calls
            collecting = self._collecting
            began = time.thread_time()
            turn(loop)
            seconds = time.thread_time() - began
            collecting = self._collecting - collecting
            self.measured.append(Turn(seconds, collecting, self._calls - calls))
            if not is_counting and len(self.measured) % LOOKED_AT == 0:
                self.objects = max(self.objects, len(gc.get_objects()))

        asyncio.BaseEventLoop._run_once = measured  # noqa: SLF001

    def _called(self, _frame: object, event: str, _what: object) -> None:
        self._calls += event == "call"

    def _collected(self, phase: str, info: dict[str, int]) -> None:
        if info["generation"] < FULL:
            return
        if phase == "start":
            self._began = time.thread_time()
            return
        self._collecting += time.thread_time() - self._began
        self.collections += 1


class Many(scrapy.Spider):
    """Requests a page of each site."""

    name = "many"
    sites: int
    well = 0

    async def start(self):
        turns.measured.clear()  # the spider has been opened: that is over
        for number in range(self.sites):
            url = f"https://bad{number}.example/{number}"
            yield scrapy.Request(url, errback=lambda _: None)
            if number % max(1, self.sites // PAGES) == 0:
                yield scrapy.Request(f"https://well.example/{number}")

    def parse(self, _response):
        """Count the healthy site's page."""
        self.well += 1

    def idle(self):
        """Note that the crawl ends with this turn, unless the next one is idle, too."""
        turns.until_idle = len(turns.measured)

    @classmethod
    def from_crawler(cls, crawler, *arguments, **attributes):
        """Watch for the end."""
        spider = super().from_crawler(crawler, *arguments, **attributes)
        crawler.signals.connect(spider.idle, signal=scrapy.signals.spider_idle)
        return spider


turns = Turns()


def crawl(sites: str, how: str) -> None:
    """Print what the turns of one crawl were, as JSON."""
    turns.install(is_counting=how == COUNTED)
    settings = {
        **SETTINGS,
        **ADDON,
        "CONCURRENT_ITEMS": 1,  # Scrapy makes so many tasks for each page
        "CONCURRENT_REQUESTS": 64,
        "DOWNLOAD_HANDLERS": {"http": Web, "https": Web},
        "MANDELBOT_PAUSE_OPTIONS": PATIENCE,
        "MANDELBOT_SUMMARY": 0,
        "RETRY_ENABLED": False,
    }
    spider = crawled(Many, settings, sites=int(sites)).spider
    sys.setprofile(None)
    crawling = turns.measured[: turns.until_idle]
    ending = turns.measured[turns.until_idle :]
    longest = max(crawling)
    seen = {
        "calls": max(one.calls for one in crawling),
        "at_end": max(one.calls for one in ending),
        "longest": longest.seconds,
        "collecting": longest.collecting,
        "without": max(one.seconds - one.collecting for one in crawling),
        "collections": turns.collections,
        "objects": turns.objects,
        "pages": spider.well,
    }
    print(json.dumps(seen))


def main(*numbers: str) -> None:
    """Print a row for each number of sites; each crawl has its own process."""
    print("            calls in a turn    ms of the longest turn   full collections")
    print("   sites  crawling   ending       all  collector  rest  number    objects")
    for sites in numbers or FEW:
        counted = printed_by(__file__, "crawl", sites, COUNTED)
        timed = printed_by(__file__, "crawl", sites, TIMED)
        milliseconds = [
            round(1_000 * timed[name]) for name in ("longest", "collecting", "without")
        ]
        print(
            f"{sites:>8}{counted['calls']:>10,}{counted['at_end']:>9,}"
            "{:>10}{:>11}{:>6}".format(*milliseconds),
            f"{timed['collections']:>7}{timed['objects']:>11,}",
            flush=True,
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["crawl"]:
        crawl(*sys.argv[2:])
    else:
        main(*sys.argv[1:])
