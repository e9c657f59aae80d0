"""What a site that was made to be slow costs a healthy one beside it, in a crawl of
both.

Usage: python benchmarks/hostile.py [PAGES]

Crawls so many pages (750) of a healthy site beside each hostile one, without a network,
and prints the longest time without a response of the healthy site, in turns of the loop
too, the longest turn, when the last page came, all also over those beside another
healthy site, the processor's time until then, and the peak of memory. A call of a
function takes a fixed time, so the figures are the same on any machine. The growth of
each reader with its input is in ``tests/growth``.
"""

from __future__ import annotations

import sys

import steady_time

if sys.argv[1:2] == ["attack"]:
    start_time = steady_time.install_calls()

import asyncio
import gzip
import json
import os
import resource
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from itertools import pairwise
from typing import TYPE_CHECKING

import scrapy
from loopback import ADDON, SETTINGS, crawled
from scrapy.exceptions import StopDownload
from scrapy.http import Headers, HtmlResponse, TextResponse
from scrapy.utils.httpobj import urlparse_cached
from twisted.python.failure import Failure

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

Answer = Callable[[scrapy.Request], scrapy.http.Response]
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
BOMB = gzip.compress(b"Disallow: /a\n" * 4_000_000)
LISTS = gzip.compress(b'{"type":"x","d":[' + b"[]," * 5_000_000 + b"0]}")
FOR_USE = {"MANDELBOT_PURPOSE": "train-ai", "MANDELBOT_ROBOT_TAGS": "obey"}


def stars(path: str) -> bytes:
    """Return a robots.txt of so many rules with wildcards as are read."""
    lines = "".join(f"Disallow: /{path}{number:x}b\n" for number in range(50_000))
    return f"User-agent: *\n{lines}"[:511_000].encode()


def answer(
    request: scrapy.Request,
    status: int = 200,
    body: bytes = b"<html>",
    **headers: object,
) -> scrapy.http.Response:
    """Return a page; an underscore in the name of a header is a hyphen."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    kind = HtmlResponse if status == HTTPStatus.OK else scrapy.http.Response
    return kind(request.url, status, named, body, request=request)


def further(request: scrapy.Request) -> scrapy.http.Response:
    """Redirect to the next of many pages: no chain ends."""
    path, _, number = request.url.partition("?")
    return answer(request, 302, Location=f"{path}?{int(number or 0) + 1}")


def index(request: scrapy.Request) -> scrapy.http.Response:
    """Return a sitemap index that lists a thousand others."""
    place = request.url.partition("?")[2]
    listed = (
        f"<sitemap><loc>https://hostile.example/map?{place}-{number}</loc></sitemap>"
        for number in range(1_000)
    )
    return answer(request, 200, f"<sitemapindex>{''.join(listed)}".encode())


def raises(error: type[Exception]) -> Answer:
    """Return what fails instead of answering."""

    def fail(request: scrapy.Request) -> scrapy.http.Response:
        raise error(request.url)

    return fail


@dataclass(frozen=True)
class Hostile:
    """What a site does to a crawl."""

    robots: bytes | Answer = RULES
    sitemap: bytes | Answer = b""
    page: Answer = answer
    ends: str = ""
    """What its URLs end with."""
    takes: float = 0.0
    """Seconds that a robots.txt takes."""
    drips: bool = False
    """Whether a robots.txt comes by one byte a second."""
    tdm: bytes = b""
    """Its tdmrep.json."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """What the project has set beside."""


def says(status: int, body: bytes = b"", **headers: object) -> Answer:
    """Return what answers every request so."""
    return partial(answer, status=status, body=body, **headers)


def packed(body: bytes, coding: str = "gzip") -> Answer:
    """Return what answers a robots.txt with a packed body."""
    return lambda request: TextResponse(
        request.url, 200, {"Content-Encoding": coding}, body, request=request
    )


def cut(request: scrapy.Request) -> scrapy.http.Response:
    """Return a robots.txt that breaks off."""
    body = b"a\n" * 250_000
    flags = ["dataloss"]
    return TextResponse(request.url, 200, body=body, flags=flags, request=request)


# by what stands beside the healthy site
ATTACKS = {
    "another healthy site": Hostile,
    "512 KB of /*a*a*a*a*a, long URLs": lambda: Hostile(
        stars("*a*a*a*a*a"), ends="a" * 2_000
    ),
    "the same, URLs of 200 characters": lambda: Hostile(
        stars("*a*a*a*a*a"), ends="a" * 200
    ),
    "512 KB of keys in each URL": lambda: Hostile(stars("*-ab*-ab"), ends="-ab" * 600),
    "a sitemap of 6 MB": lambda: Hostile(CITES, fill(LINE.decode(), 6_000_000)),
    "a sitemap of 50 MB": lambda: Hostile(CITES, fill(LINE.decode(), 50_000_000)),
    "a sitemap of 50 MB, gzipped": lambda: Hostile(
        CITES, gzip.compress(fill(LINE.decode(), 50_000_000))
    ),
    "a sitemap of 20 MB of tags": lambda: Hostile(
        CITES, fill("<a/>", 20_000_000, OPEN + ENTRY)
    ),
    "a sitemap of alternates, 10 MB": lambda: Hostile(
        CITES, fill(ALTERNATES, 10_000_000, OPEN)
    ),
    "a sitemap index of indexes": lambda: Hostile(CITES, index),
    "503": lambda: Hostile(page=says(503)),
    "503, Retry-After: 1": lambda: Hostile(page=says(503, Retry_After="1")),
    "503, problem details of 15 MB, gzipped": lambda: Hostile(
        page=says(
            503, LISTS, Content_Type="application/problem+json", Content_Encoding="gzip"
        )
    ),
    "503, a Retry-After of 100 KB": lambda: Hostile(
        page=says(503, Retry_After="1," * 50_000)
    ),
    "429, RateLimit: r=0;t=1": lambda: Hostile(page=says(429, RateLimit='"a";r=0;t=1')),
    "good pages, RateLimit: r=0;t=1": lambda: Hostile(
        page=says(200, b"<html>", RateLimit='"a";r=0;t=1')
    ),
    "good pages, a RateLimit of 1,000 characters": lambda: Hostile(
        page=says(200, b"<html>", RateLimit='"a";r=9;t=1,' * 80)
    ),
    "bare 403": lambda: Hostile(page=says(403)),
    "402 with terms": lambda: Hostile(page=says(402, Link="</l>;rel=license," * 200)),
    "a page that leads to the next, 10,000 times": lambda: Hostile(
        page=further, settings={"REDIRECT_MAX_TIMES": 10_000}
    ),
    "a robots.txt that leads to the next": lambda: Hostile(further),
    "a robots.txt of 500 KB that breaks off": lambda: Hostile(cut),
    "a robots.txt of 52 MB, gzipped": lambda: Hostile(packed(BOMB)),
    "the same, packed four times": lambda: Hostile(
        packed(
            gzip.compress(gzip.compress(gzip.compress(BOMB))), "gzip, gzip, gzip, gzip"
        )
    ),
    "a robots.txt of 30,000 groups": lambda: Hostile(
        b"".join(b"User-agent: a%d\nDisallow: /\n" % n for n in range(19_000))
    ),
    "a robots.txt that takes 9 s": lambda: Hostile(takes=9.0),
    "a robots.txt that never comes": lambda: Hostile(takes=3_600.0),
    "a robots.txt of a byte a second": lambda: Hostile(drips=True),
    "500 for robots.txt": lambda: Hostile(says(500)),
    "refused connections": lambda: Hostile(
        raises(ConnectionRefusedError), page=raises(ConnectionRefusedError)
    ),
    "connections that are reset": lambda: Hostile(page=raises(ConnectionResetError)),
    "2,000 headers on each page": lambda: Hostile(
        page=says(200, b"<html>", **{f"X_{n}": "a" * 100 for n in range(2_000)})
    ),
    "500 cookies on each page": lambda: Hostile(
        page=says(200, b"<html>", Set_Cookie=[f"c{n}=1" for n in range(500)])
    ),
    "16 KB of X-Robots-Tag": lambda: Hostile(
        page=says(200, b"<html>", X_Robots_Tag="noindex," * 2_000), settings=FOR_USE
    ),
    "256 KB of meta tags": lambda: Hostile(
        page=says(200, b"<head>" + b"<meta name=robots content=noai>" * 8_000),
        settings=FOR_USE,
    ),
    "Content-Usage of 4,096 characters": lambda: Hostile(
        page=says(200, b"<html>", Content_Usage=("train-ai=n, " * 340)[:-2]),
        settings=FOR_USE,
    ),
    "a tdmrep.json of 500 KB": lambda: Hostile(
        tdm=b"[" + b'{"location": "/a*b", "tdm-reservation": 1},' * 9_900 + b"0]",
        settings=FOR_USE,
    ),
    "Crawl-delay: 86400": lambda: Hostile(
        RULES + b"Crawl-delay: 86400\n", settings={"MANDELBOT_PACE": "obey"}
    ),
}


AT_ONCE = 10  # requests of start() in a turn
BEFORE = 20  # pages of the healthy site before any of the other


def file_of(request: scrapy.Request, body: bytes | Answer) -> scrapy.http.Response:
    """Answer with a file, or as a site does it."""
    if not isinstance(body, bytes):
        return body(request)
    headers = {"Content-Encoding": "gzip"} if body[:2] == b"\x1f\x8b" else {}
    return TextResponse(request.url, body=body, headers=headers, request=request)


class Web:
    """Answers for all sites, a few milliseconds later."""

    lazy = False
    hostile = Hostile()

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Web:
        return cls(crawler)

    async def download_request(self, request: scrapy.Request) -> scrapy.http.Response:
        await asyncio.sleep(0.003)
        path = urlparse_cached(request).path
        site = self.hostile if "//hostile." in request.url else Hostile()
        if path == "/robots.txt":
            if site.takes:
                await asyncio.sleep(site.takes)
            if site.drips:
                await self._drip(request)
            return file_of(request, site.robots)
        if path == "/map":
            return file_of(request, site.sitemap)
        if path == "/.well-known/tdmrep.json" and site.tdm:
            return file_of(request, site.tdm)
        return site.page(request)

    async def _drip(self, request: scrapy.Request) -> None:
        """Receive a byte each second, as long as the crawl wants them."""
        send = partial(self._crawler.signals.send_catch_log, dont_log=StopDownload)
        wanted = {"request": request, "spider": self._crawler.spider}
        send(
            scrapy.signals.headers_received, **wanted, headers=Headers(), body_length=0
        )
        received = []
        while not any(isinstance(one, Failure) for _, one in received):
            await asyncio.sleep(1.0)
            received = send(scrapy.signals.bytes_received, **wanted, data=b"#")

    async def close(self) -> None:
        """Close nothing."""


class TwoSites(scrapy.Spider):
    """Notes when the pages of the healthy site come."""

    name = "two"
    end = ""
    pages: int
    began = 0.0
    came: list[float] = []  # noqa: RUF012 - of the one crawl of this process
    turns: list[int] = []  # noqa: RUF012 - of the loop, as each page came

    async def start(self):
        for number in range(self.pages):
            yield scrapy.Request(f"https://healthy.example/{number}")
            if number % AT_ONCE == 0:  # else Scrapy takes all of them in one turn
                await asyncio.sleep(0)

    def parse(self, response):
        if "//healthy." in response.url:
            self.came.append(time.perf_counter())
            self.turns.append(TURNS[0])
            if len(self.came) == self.pages:
                figures()
                os._exit(0)  # it would first read the sitemap to its end
            if len(self.came) > BEFORE:
                yield scrapy.Request(
                    f"https://hostile.example/{len(self.came)}{self.end}"
                )


TURNS = [0]
LONGEST = [0.0]
"""Seconds of the longest turn of the loop since the first page."""


def count_turns() -> None:
    """Count the turns of the loop, and measure the longest."""
    turn = asyncio.BaseEventLoop._run_once  # noqa: SLF001 -- no other place has them

    def counted(loop: asyncio.BaseEventLoop) -> None:
        TURNS[0] += 1
        began = time.process_time()
        turn(loop)
        if TwoSites.came:
            LONGEST[0] = max(LONGEST[0], time.process_time() - began)

    asyncio.BaseEventLoop._run_once = counted  # noqa: SLF001


def attack(name: str, pages: str, package: str = "with") -> None:
    """Print the longest gap, the seconds of all, of the processor, the peak of memory,
    the pages, the turns of the longest gap, and the longest turn.

    `package` is "with", or "without" for stock Scrapy.
    """
    Web.hostile = ATTACKS[name]()
    TwoSites.end = Web.hostile.ends
    count_turns()
    more = {
        "DOWNLOAD_HANDLERS": {"http": Web, "https": Web},
        "MANDELBOT_SITEMAPS": "follow",
        **Web.hostile.settings,
    }
    settings = {**SETTINGS, **(ADDON if package == "with" else {}), **more}
    start_time()  # what is imported until now takes half as long without
    TwoSites.began = time.process_time()
    crawled(TwoSites, settings, pages=int(pages))
    figures()


def figures() -> None:
    gap = max(later - earlier for earlier, later in pairwise(TwoSites.came))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    took = TwoSites.came[-1] - TwoSites.came[0]
    cpu = time.process_time() - TwoSites.began
    turns = max(later - earlier for earlier, later in pairwise(TwoSites.turns))
    print(
        json.dumps([gap, took, cpu, peak, len(TwoSites.came), turns, LONGEST[0]]),
        flush=True,
    )


def attacks(pages: str = "750") -> None:
    """Print a row for each attack; each is crawled in a process of its own."""
    print(
        f"{'beside':44} {'gap':>8} {'ratio':>6} {'turns':>6} {'ratio':>6} {'turn':>8}"
        f" {'ratio':>6} {'ends':>6}"
        f" {'ratio':>6} {'CPU s':>6} {'MiB':>6}"
    )
    well: list[float] = []
    for name in ATTACKS:
        run = [sys.executable, __file__, "attack", name, pages]
        figures = json.loads(subprocess.check_output(run))
        gap, took, cpu, peak, came, turns, longest = figures
        well = well or [gap, took, turns, longest]
        lost = "" if came == int(pages) else f"  only {came} pages"
        print(
            f"{name:44} {gap * 1000:5.1f} ms {gap / well[0]:6.2f} {turns:6}"
            f" {turns / well[2]:6.2f} {longest * 1000:5.1f} ms"
            f" {longest / well[3]:6.2f} {took:4.1f} s"
            f" {took / well[1]:6.2f} {cpu:6.1f} {peak:6.0f}{lost}",
            flush=True,
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["attack"]:
        attack(*sys.argv[2:])
    else:
        attacks(*sys.argv[1:])
