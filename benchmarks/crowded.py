"""Real crawls on loopback of sites that bear only so much, and what visitors feel.

Each row is one site, each line of it a crawl by the same spider with other settings. A
visitor asks the site for a page four times a second meanwhile.

healthy   answers each request after 30 ms
workers   has four workers, each page takes one 60 ms, longer the more wait
slots     serves six connections, and answers 503 to what is above (nginx limit_conn)
nginx     the same by a real nginx in front of it (Debian: nginx-light)
limit     bears ten requests a second and twenty more, and answers 429 to what is above

Stock Scrapy, AutoThrottle as it comes and tuned (from 0.1 s on, a target of 4), the
package as it comes, and with MANDELBOT_CONCURRENCY = "measured".

Prints pages of those there are, refusals, pages a second, requests inside at once at
the most, and a visitor's wait in milliseconds (median and 95th percentile). Seconds are
those of a machine that has other work, too: compare lines of one row.

Usage::

    python benchmarks/crowded.py [--pages 400] [--at-once 16] [site ...]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from time import monotonic

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))

from loopback import ADDON
from loopback import SETTINGS as COMMON
from nginx import IS_THERE, Nginx

VARIANTS = {
    "stock": {},
    "AutoThrottle": {"AUTOTHROTTLE_ENABLED": True},
    "AutoThrottle, tuned": {
        "AUTOTHROTTLE_ENABLED": True,
        "AUTOTHROTTLE_START_DELAY": 0.1,
        "AUTOTHROTTLE_TARGET_CONCURRENCY": 4,
    },
    "mandelbot": ADDON,
    "mandelbot, measured": {**ADDON, "MANDELBOT_CONCURRENCY": "measured"},
}
LONGEST = 120  # seconds of a crawl
VISITS = 0.25  # seconds between two

CRAWL = """
import json
import sys
import time

import scrapy
from scrapy.crawler import CrawlerProcess

site, pages, settings = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
got = []


class Pages(scrapy.Spider):
    name = "pages"
    start_urls = [f"{site}/page/{number}" for number in range(pages)]

    def parse(self, response):
        got.append(time.monotonic())


process = CrawlerProcess(settings)
process.crawl(Pages)
process.start()
print(json.dumps([len(got), got[-1] - got[0] if got else 0]))
"""
SETTINGS = {**COMMON, "MANDELBOT_SUMMARY": 0}


@dataclass
class Site:
    """A site, and what it saw of one crawl."""

    inside: int = 0
    most_inside: int = 0
    refused: int = 0
    waits: list[float] = field(default_factory=list)
    """Of visitors, in seconds."""

    async def answer(self, *, is_visitor: bool) -> int:
        """Return the status of a page, when it is made."""
        if not is_visitor and self.is_refused():
            self.refused += 1
            return self.refusal
        self.inside += 1
        self.most_inside = max(self.most_inside, self.inside)
        try:
            await self.make_page()
        finally:
            self.inside -= 1
        return 200

    refusal = 503

    def is_refused(self) -> bool:
        return False

    async def make_page(self) -> None:
        await asyncio.sleep(0.03)

    async def respond(self, path: str) -> tuple[int, str]:
        """Return status and body, for the crawl."""
        if path == "/robots.txt":
            return 404, "no rules"
        return await self.answer(is_visitor=False), "page"

    async def serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            while line := await reader.readline():
                while (await reader.readline()).strip():
                    pass
                status, body = await self.respond(line.split()[1].decode())
                head = f"HTTP/1.1 {status} -\r\nContent-Length: {len(body)}\r\n"
                writer.write(f"{head}Content-Type: text/html\r\n\r\n{body}".encode())
                await writer.drain()
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def visit(self) -> None:
        while True:
            began = monotonic()
            await self.answer(is_visitor=True)
            self.waits.append(monotonic() - began)
            await asyncio.sleep(VISITS)


@dataclass
class Workers(Site):
    workers: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(4))

    async def make_page(self) -> None:
        async with self.workers:
            await asyncio.sleep(0.06 * (1 + self.inside / 8))


@dataclass
class Slots(Site):
    def is_refused(self) -> bool:
        return self.inside >= 6

    async def make_page(self) -> None:
        await asyncio.sleep(0.1)


@dataclass
class Limit(Site):
    rate: float = 10.0  # requests a second
    burst: float = 20.0
    left: float = inf
    at: float = field(default_factory=monotonic)

    refusal = 429

    def is_refused(self) -> bool:
        now = monotonic()
        self.left = min(self.burst, self.left + (now - self.at) * self.rate)
        self.at = now
        if self.left < 1:
            return True
        self.left -= 1
        return False


@dataclass
class BehindNginx(Site):
    """Refuses nothing by itself: nginx serves six connections."""

    async def make_page(self) -> None:
        await asyncio.sleep(0.1)


SITES = {
    "healthy": Site,
    "workers": Workers,
    "slots": Slots,
    "nginx": BehindNginx,
    "limit": Limit,
}


@asynccontextmanager
async def served(site: Site) -> AsyncIterator[str]:
    """Serve a site; yield its URL."""
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        if not isinstance(site, BehindNginx):
            yield url
            return
        with tempfile.TemporaryDirectory() as folder:
            nginx = Nginx(Path(folder), connections=6, behind=url)
            nginx.start()
            try:
                yield nginx.url
            finally:
                nginx.stop()
                site.refused = nginx.statuses().count(503)
    finally:
        server.close()


async def crawl(name: str, variant: str, pages: int, at_once: int) -> str:
    """Crawl a site in a process of its own; return a line of the table."""
    site = SITES[name]()
    async with served(site) as url:
        got, seconds = await crawl_site(site, url, variant, pages, at_once)
    waits = sorted(site.waits)
    rate = got / seconds if seconds else 0.0
    return (
        f"{name:8} {variant:20} {got:4}/{pages} {site.refused:7} {rate:7.1f}"
        f" {site.most_inside:6} {1000 * waits[len(waits) // 2]:8.0f}"
        f" {1000 * waits[int(len(waits) * 0.95)]:6.0f}"
    )


async def crawl_site(
    site: Site, url: str, variant: str, pages: int, at_once: int
) -> tuple[int, float]:
    """Return how many pages came, and the seconds from the first to the last."""
    settings = {
        **SETTINGS,
        "CONCURRENT_REQUESTS": max(16, at_once),
        "CONCURRENT_REQUESTS_PER_DOMAIN": at_once,
        **VARIANTS[variant],
    }
    visitor = asyncio.create_task(site.visit())
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        CRAWL,
        url,
        str(pages),
        json.dumps(settings),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    got, seconds = 0, 0.0
    try:
        printed, _ = await asyncio.wait_for(process.communicate(), LONGEST)
        got, seconds = json.loads(printed)
    except asyncio.TimeoutError:
        process.kill()
        await process.wait()
    visitor.cancel()
    return got, seconds


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("site", nargs="*", choices=[*SITES, []])
    parser.add_argument("--pages", type=int, default=400)
    parser.add_argument("--at-once", type=int, default=16)
    options = parser.parse_args()
    print(
        "site     settings             pages    refused pages/s inside  wait ms   95th"
    )
    for name in options.site or SITES:
        if name == "nginx" and not IS_THERE:
            print("nginx is not installed", flush=True)
            continue
        for variant in VARIANTS:
            crawled = crawl(name, variant, options.pages, options.at_once)
            print(asyncio.run(crawled), flush=True)


if __name__ == "__main__":
    main()
