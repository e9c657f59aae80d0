"""What a site that was made to be slow costs a healthy one beside it, in a crawl of
both.

Usage: python benchmarks/hostile.py [PAGES]

Crawls so many pages (750) of a healthy site beside each hostile one, without a network,
and prints the longest time without a response of the healthy site, when its last page
came, both also over those beside another healthy site, the processor's time until then,
and the peak of memory. A call of a function takes a fixed time, so the figures are the
same on any machine. The growth of each reader with its input is in ``tests/growth``.
"""

from __future__ import annotations

import sys

import steady_time

if sys.argv[1:2] == ["attack"]:
    steady_time.install_calls()

import asyncio
import gzip
import json
import os
import resource
import subprocess
import time
from itertools import pairwise

import scrapy
from loopback import ADDON, SETTINGS, crawled
from scrapy.http import HtmlResponse, TextResponse
from scrapy.utils.httpobj import urlparse_cached

OPEN = "<urlset>"
ENTRY = "<url><loc>https://example.com/page</loc></url>"
ALTERNATES = f"<url><loc>/</loc>{'<link href=a/>' * 4_000}"


def fill(text: str, size: int, start: str = "") -> bytes:
    """Return the text again and again, up to a size, after a start."""
    data = text.encode()
    return (start.encode() + data * (size // len(data) + 1))[:size]


RULES = b"User-agent: *\nDisallow: /no\n"
CITES = RULES + b"Sitemap: https://hostile.example/map\n"
LINE = b"https://hostile.example/no/such/page/with-a-path-to-fill-the-line\n"
# the robots.txt of the hostile site, its sitemap, and what its URLs end with
ATTACKS = {
    "another healthy site": lambda: (RULES, b"", ""),
    "512 KB of /*a*a*a*a*a, long URLs": lambda: (stars("*a*a*a*a*a"), b"", "a" * 2_000),
    "the same, URLs of 200 characters": lambda: (stars("*a*a*a*a*a"), b"", "a" * 200),
    "512 KB of keys in each URL": lambda: (stars("*-ab*-ab"), b"", "-ab" * 600),
    "a sitemap of 6 MB": lambda: (CITES, fill(LINE.decode(), 6_000_000), ""),
    "a sitemap of 50 MB": lambda: (CITES, fill(LINE.decode(), 50_000_000), ""),
    "a sitemap of 50 MB, gzipped": lambda: (
        CITES,
        gzip.compress(fill(LINE.decode(), 50_000_000)),
        "",
    ),
    "a sitemap of 20 MB of tags": lambda: (
        CITES,
        fill("<a/>", 20_000_000, OPEN + ENTRY),
        "",
    ),
    "a sitemap of alternates, 10 MB": lambda: (
        CITES,
        fill(ALTERNATES, 10_000_000, OPEN),
        "",
    ),
}


def stars(path: str) -> bytes:
    """Return a robots.txt of so many rules with wildcards as are read."""
    lines = "".join(f"Disallow: /{path}{number:x}b\n" for number in range(50_000))
    return f"User-agent: *\n{lines}"[:511_000].encode()


BEFORE = 20  # pages of the healthy site before any of the other


class Web:
    """Answers for all sites, a few milliseconds later."""

    lazy = False
    robots = sitemap = b""

    async def download_request(self, request: scrapy.Request) -> scrapy.http.Response:
        await asyncio.sleep(0.003)
        path = urlparse_cached(request).path
        if path in {"/robots.txt", "/map"}:
            is_hostile = "//hostile." in request.url
            body = (
                (self.sitemap if path == "/map" else self.robots)
                if is_hostile
                else RULES
            )
            headers = {"Content-Encoding": "gzip"} if body[:2] == b"\x1f\x8b" else {}
            return TextResponse(
                request.url, body=body, headers=headers, request=request
            )
        return HtmlResponse(request.url, body=b"<html>", request=request)

    async def close(self) -> None:
        """Have nothing to close."""


class TwoSites(scrapy.Spider):
    """Notes when the pages of the healthy site come."""

    name = "two"
    end = ""
    pages: int
    began = 0.0
    came: list[float] = []  # noqa: RUF012 - of the one crawl of this process

    async def start(self):
        for number in range(self.pages):
            yield scrapy.Request(f"https://healthy.example/{number}")

    def parse(self, response):
        if "//healthy." in response.url:
            self.came.append(time.perf_counter())
            if len(self.came) == self.pages:
                figures()
                os._exit(0)  # it would first read the sitemap to its end
            if len(self.came) > BEFORE:
                yield scrapy.Request(
                    f"https://hostile.example/{len(self.came)}{self.end}"
                )


def attack(name: str, pages: str) -> None:
    """Print the longest gap, the seconds of all, of the processor, and the peak of
    memory.
    """
    Web.robots, Web.sitemap, TwoSites.end = ATTACKS[name]()
    more = {
        "DOWNLOAD_HANDLERS": {"http": Web, "https": Web},
        "MANDELBOT_SITEMAPS": "follow",
    }
    settings = {**SETTINGS, **ADDON, **more}
    TwoSites.began = time.process_time()
    crawled(TwoSites, settings, pages=int(pages))
    figures()


def figures() -> None:
    gap = max(later - earlier for earlier, later in pairwise(TwoSites.came))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    took = TwoSites.came[-1] - TwoSites.came[0]
    cpu = time.process_time() - TwoSites.began
    print(json.dumps([gap, took, cpu, peak, len(TwoSites.came)]), flush=True)


def attacks(pages: str = "750") -> None:
    """Print a row for each attack; each is crawled in a process of its own."""
    print(
        f"{'beside':36} {'gap':>8} {'ratio':>6} {'ends':>6} {'ratio':>6} {'CPU s':>6}"
        f" {'MiB':>6}"
    )
    well: list[float] = []
    for name in ATTACKS:
        run = [sys.executable, __file__, "attack", name, pages]
        gap, took, cpu, peak, came = json.loads(subprocess.check_output(run))
        well = well or [gap, took]
        lost = "" if came == int(pages) else f"  only {came} pages"
        print(
            f"{name:36} {gap * 1000:5.1f} ms {gap / well[0]:6.2f} {took:4.1f} s"
            f" {took / well[1]:6.2f} {cpu:6.1f} {peak:6.0f}{lost}",
            flush=True,
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["attack"]:
        attack(*sys.argv[2:])
    else:
        attacks(*sys.argv[1:])
