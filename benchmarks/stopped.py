"""What becomes of a crawl that is stopped in a pause, as a laptop that is closed.

Usage: python benchmarks/stopped.py [SECONDS]

A site refuses with ``Retry-After: 5`` after ten pages. Then the crawling process gets
SIGSTOP, for so many seconds (60), and SIGCONT. Exits with 1 unless each page came once
and the site was probed once: the time that passed is a pause's, too.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import scrapy
from loopback import ADDON, SETTINGS, crawled, until_input_ends

PAGES = 40
WELL = 10  # pages before the site refuses
AFTER = 5  # seconds


class Site:
    """Answers well, refuses until the crawler was stopped, and answers well again."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.refused = 0
        self._began = 0.0

    async def serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = head.split(b" ")[1].decode()
                writer.write(self._answer(path))
                await writer.drain()
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            writer.close()

    def _answer(self, path: str) -> bytes:
        if path == "/robots.txt":
            return b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"
        if self.asked.total() >= WELL:
            self._began = self._began or time.monotonic()
            if time.monotonic() < self._began + AFTER - 1:
                self.refused += 1
                return (
                    b"HTTP/1.1 503 No\r\nRetry-After: %d\r\nContent-Length: 0\r\n\r\n"
                    % AFTER
                )
        self.asked[path] += 1
        return b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


async def serve() -> None:
    """Serve until standard input ends, and print what was asked for."""
    site = Site()
    await until_input_ends(["127.0.0.1"], site.serve)
    twice = sum(count > 1 for count in site.asked.values())
    print(json.dumps([len(site.asked), twice, site.refused]))


class Pages(scrapy.Spider):
    """Says when its site is paused."""

    name = "pages"
    site: str

    async def start(self):
        for number in range(PAGES):
            yield scrapy.Request(f"{self.site}/{number}")

    def parse(self, _response):
        """Take the page."""

    def site_paused(self, site, until, reason):  # noqa: ARG002 -- the hook's
        print("PAUSED", flush=True)


def crawl(site: str) -> None:
    """Crawl, one request at a time."""
    crawled(Pages, {**SETTINGS, **ADDON, "CONCURRENT_REQUESTS": 1}, site=site)


def main(seconds: str = "60") -> None:
    """Stop a crawl in a pause, and continue it."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    web = subprocess.Popen([sys.executable, __file__, "serve"], **pipes)
    port = web.stdout.readline().strip()
    with TemporaryDirectory() as folder:
        command = [sys.executable, str(Path(__file__).resolve()), "crawl"]
        command.append(f"http://127.0.0.1:{port}")
        crawler = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, text=True
        )
        while crawler.stdout.readline().strip() != "PAUSED":
            pass
        began = time.monotonic()
        os.kill(crawler.pid, signal.SIGSTOP)
        time.sleep(float(seconds))
        os.kill(crawler.pid, signal.SIGCONT)
        crawler.communicate(timeout=300)
        took = time.monotonic() - began
    pages, twice, refused = json.loads(web.communicate()[0])
    print(
        f"stopped for {seconds} s of {took:.1f}: {pages} of {PAGES} pages, {twice} of"
        f" them twice, {refused} refusals"
    )
    if crawler.returncode or pages != PAGES or twice or refused != 1:
        sys.exit("not as it should be")


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        asyncio.run(serve())
    elif sys.argv[1:2] == ["crawl"]:
        crawl(sys.argv[2])
    else:
        main(*sys.argv[1:])
