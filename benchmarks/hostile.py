"""What pages and sitemaps that were made to be slow cost: processor time at n, 2n and 4n.

Usage: python benchmarks/hostile.py [attacks [PAGES]]

With ``attacks`` it crawls so many pages (750) of a healthy site beside each hostile one, without a
network, and prints the longest time without a response of the healthy site, when its last page
came, both also over those beside another healthy site, the processor's time until then, and the
peak of memory. A call of a function takes a fixed time, so the figures are the same on any machine.

Each shape is read at three lengths, the least of three runs counts, as noise only adds. ``growth``
is the time for twice the length, the greater of the two; 2 is linear. ``ms / 100 KB`` is at the
greatest length, of what is read: unpacked, and up to where a limit ends it. ``longest turn`` is the
longest time for which following a sitemap keeps the loop from all others. A shape that takes longer
than ten seconds is not read at greater lengths.
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
from scrapy.crawler import CrawlerProcess
from scrapy.http import HtmlResponse, TextResponse
from scrapy.utils.httpobj import urlparse_cached

from scrapy_mandelbot import SitemapReader, robot_tags

PAGE_SIZES = (64, 128, 256)  # KiB
SITEMAP_SIZES = (1024, 2048, 4096)
LONGEST = 10.0  # seconds, beyond which no greater length is tried
AGENT = "Examplebot"

PAGES = {
    "<meta a, name= without end": lambda n: fill("name=", n, "<html><head><meta a "),
    "<!-- again and again": lambda n: fill("<!--", n),
    "<meta name=robots content=x>": lambda n: fill("<meta name=robots content=x>", n),
    "unavailable_after in each tag": lambda n: fill(
        f"<meta name=robots content='{'unavailable_after:1,' * 200}'>", n
    ),
    "UTF-16 that is none": lambda n: b"\xff\xfe" + b"\x00\xd8" * (n // 2),
    "ISO-2022-JP that is none": lambda n: b"\x1b$B<meta " + b"\xff" * n,
    "an attribute for each three bytes": lambda n: fill("a= ", n, "<meta name=robots "),
    "a name of digits": lambda n: fill("1", n, "<meta content=x name='robots&#"),
    "<script> again and again": lambda n: fill("<script>", n),
    "<!--> and --> again and again": lambda n: fill("<!-- > -->", n, "<meta name=robots>"),
}
OPEN = "<urlset>"
SIGNS = "\u0316\u0300"  # that go above and below a letter: sorted when normalised
ENTRY = "<url><loc>https://example.com/page</loc></url>"
SITEMAPS = {
    "entries as they should be": lambda n: fill(ENTRY, n, OPEN),
    "entries of 1 MB": lambda n: fill(f"<url><loc>/{'<a>' * 350_000}</loc></url>", n, OPEN),
    "entries of 60 KB": lambda n: fill(f"<url><loc>/{'<a>' * 20_000}</loc></url>", n, OPEN),
    "an entry without end": lambda n: fill("<a>", n, OPEN + "<url><loc>/"),
    "no entries, only <": lambda n: fill("<", n, OPEN),
    "<?> again and again": lambda n: fill("<?>", n, OPEN),
    "alternates": lambda n: fill(f"<url><loc>/</loc>{'<link href=a/>' * 4_000}", n, OPEN),
    "relative entries": lambda n: fill("<url><loc>a</loc></url>", n, OPEN),
    "empty entries": lambda n: fill("<url/>", n, OPEN),
    "a host of combining signs": lambda n: fill(
        f"<url><loc>http://a{SIGNS * 15_000}/</loc></url>", n, OPEN
    ),
    "lines that are no URLs": lambda n: fill("a\n", n, "https://example.com/\n"),
    "bytes that are not UTF-8": lambda n: OPEN.encode() + b"\x80" * n,
    "gzip: spaces": lambda n: gzip.compress(OPEN.encode() + b" " * 8 * n),
    "gzip: empty files in gzip": lambda n: gzip.compress(gzip.compress(b"") * (n // 4)),
}


def fill(text: str, size: int, start: str = "") -> bytes:
    """Return the text again and again, up to a size, after a start."""
    data = text.encode()
    return (start.encode() + data * (size // len(data) + 1))[:size]


def read_page(body: bytes) -> float:
    """Return the longest turn, which is the only one."""
    began = time.process_time()
    robot_tags([], body, AGENT)
    return time.process_time() - began


def read_sitemap(body: bytes) -> float:
    """Return the longest turn: a step of the reader."""
    reader = SitemapReader("https://example.com/sitemap.xml")
    reader.feed(body)
    reader.close()
    longest, found = 0.0, []
    while found is not None:
        began = time.process_time()
        found = reader.step()
        longest = max(longest, time.process_time() - began)
    return longest


def size_of(body: bytes) -> int:
    """Return the size, unpacked, as far as it is read."""
    return min(len(gzip.decompress(body)), 52_428_800) if body[:2] == b"\x1f\x8b" else len(body)


def measure(read, make, sizes) -> list[tuple[float, float, int]]:
    """Return seconds, the longest turn and bytes for each length."""
    found = []
    for size in sizes:
        body = make(size * 1024)
        runs = []
        for _ in range(3):
            began = time.process_time()
            turn = read(body)
            runs.append((time.process_time() - began, turn))
            if runs[-1][0] > 1.0:
                break
        seconds, _ = min(runs)
        found.append((seconds, min(turn for _, turn in runs), size_of(body)))
        if seconds > LONGEST:
            break
    return found


def table(title: str, read, shapes, sizes) -> None:
    print(f"\n{title:36} {'ms at n, 2n, 4n':>26} {'growth':>7} {'ms / 100 KB':>12} {'turn':>8}")
    for name, make in shapes.items():
        found = measure(read, make, sizes)
        took = " ".join(f"{seconds * 1000:8.1f}" for seconds, *_ in found)
        growth = max((b[0] / a[0] for a, b in pairwise(found)), default=float("nan"))
        seconds, turn, size = found[-1]
        rate = seconds * 1000 / size * 100_000
        print(f"{name:36} {took:>26} {growth:7.1f} {rate:12.1f} {turn * 1000:8.1f}", flush=True)


RULES = b"User-agent: *\nDisallow: /no\n"
CITES = RULES + b"Sitemap: https://hostile.example/map\n"
LINE = b"https://hostile.example/no/such/page/with-a-path-to-fill-the-line\n"
ATTACKS = {  # the robots.txt of the hostile site, its sitemap, and what its URLs end with
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
    "a sitemap of 20 MB of tags": lambda: (CITES, fill("<a/>", 20_000_000, OPEN + ENTRY), ""),
    "a sitemap of alternates, 10 MB": lambda: (CITES, SITEMAPS["alternates"](10_000_000), ""),
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
            body = (self.sitemap if path == "/map" else self.robots) if is_hostile else RULES
            headers = {"Content-Encoding": "gzip"} if body[:2] == b"\x1f\x8b" else {}
            return TextResponse(request.url, body=body, headers=headers, request=request)
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
                yield scrapy.Request(f"https://hostile.example/{len(self.came)}{self.end}")


def attack(name: str, pages: str) -> None:
    """Print the longest gap, the seconds of all, of the processor, and the peak of memory."""
    Web.robots, Web.sitemap, TwoSites.end = ATTACKS[name]()
    settings = {
        "ADDONS": {"scrapy_mandelbot.Addon": 500},
        "DOWNLOAD_HANDLERS": {"http": Web, "https": Web},
        "LOG_LEVEL": "ERROR",
        "MANDELBOT_SITEMAPS": "follow",
        "MANDELBOT_STORE": "memory",
        "TELNETCONSOLE_ENABLED": False,
        "USER_AGENT": "Examplebot/1.0 (+https://example.com/bot)",
    }
    TwoSites.began = time.process_time()
    process = CrawlerProcess(settings)
    process.crawl(TwoSites, pages=int(pages))
    process.start()
    figures()


def figures() -> None:
    gap = max(later - earlier for earlier, later in pairwise(TwoSites.came))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    took = TwoSites.came[-1] - TwoSites.came[0]
    cpu = time.process_time() - TwoSites.began
    print(json.dumps([gap, took, cpu, peak, len(TwoSites.came)]), flush=True)


def attacks(pages: str = "750") -> None:
    """Print a row for each attack; each is crawled in a process of its own."""
    print(f"{'beside':36} {'gap':>8} {'ratio':>6} {'ends':>6} {'ratio':>6} {'CPU s':>6} {'MiB':>6}")
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
        sys.exit()
    if sys.argv[1:2] == ["attacks"]:
        attacks(*sys.argv[2:])
        sys.exit()
    table("page, robot_tags", read_page, PAGES, PAGE_SIZES)
    table("sitemap, SitemapReader in pieces", read_sitemap, SITEMAPS, SITEMAP_SIZES)
