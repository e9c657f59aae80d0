"""What the longest turn of the loop is made of while many sites refuse every page.

Usage: python benchmarks/many_refusals.py [SITES...]

Crawls so many sites (1,000, 2,000 and 4,000) that answer 503 and are given up after
three probes, beside a healthy one, without a network. Prints the calls of functions in
the longest turn, while no garbage is collected, and how many objects a full collection
looks at: that number grows with the requests in memory, and a
collection is one turn. Both are counts, the same on any machine.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys

import scrapy
from loopback import ADDON, SETTINGS, crawled, printed_by
from scrapy.http import HtmlResponse, Response, TextResponse
from scrapy.utils.httpobj import urlparse_cached

FEW = ("1000", "2000", "4000")
PAGES = 300  # of the healthy site
LOOKED_AT = 50  # pages between two countings of what is in memory
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


class Turns:
    """Counts the calls of functions in each turn of the loop."""

    def __init__(self) -> None:
        self.calls = 0
        self.longest = 0

    def install(self) -> None:
        turn = asyncio.BaseEventLoop._run_once  # noqa: SLF001 -- no other place has them

        def counted(loop: asyncio.BaseEventLoop) -> None:
            before = self.calls
            turn(loop)
            self.longest = max(self.longest, self.calls - before)

        asyncio.BaseEventLoop._run_once = counted  # noqa: SLF001
        sys.setprofile(self._called)

    def _called(self, _frame: object, event: str, _what: object) -> None:
        self.calls += event == "call"


class Many(scrapy.Spider):
    """Requests a page of each site."""

    name = "many"
    sites: int
    well = 0
    objects = 0

    async def start(self):
        for number in range(self.sites):
            url = f"https://bad{number}.example/{number}"
            yield scrapy.Request(url, errback=lambda _: None)
            if number % max(1, self.sites // PAGES) == 0:
                yield scrapy.Request(f"https://well.example/{number}")
        turns.longest = 0  # the reading of start() is the spider's

    def parse(self, _response):
        self.well += 1
        if self.well % LOOKED_AT == 0:
            self.objects = max(self.objects, len(gc.get_objects()))


turns = Turns()


def crawl(sites: str) -> None:
    """Print the calls of the longest turn, the most objects, and the pages."""
    gc.disable()
    turns.install()
    settings = {
        **SETTINGS,
        **ADDON,
        "CONCURRENT_REQUESTS": 64,
        "DOWNLOAD_HANDLERS": {"http": Web, "https": Web},
        "MANDELBOT_PAUSE_OPTIONS": PATIENCE,
        "MANDELBOT_SUMMARY": 0,
        "RETRY_ENABLED": False,
    }
    spider = crawled(Many, settings, sites=int(sites)).spider
    print(json.dumps([turns.longest, spider.objects, spider.well]))


def main(*numbers: str) -> None:
    """Print a row for each number of sites; each crawl has its own process."""
    print(f"{'sites':>8} {'calls in a turn':>16} {'objects':>10} {'pages':>6}")
    for sites in numbers or FEW:
        longest, objects, pages = printed_by(__file__, "crawl", sites)
        print(f"{sites:>8} {longest:>16,} {objects:>10,} {pages:>6}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["crawl"]:
        crawl(sys.argv[2])
    else:
        main(*sys.argv[1:])
