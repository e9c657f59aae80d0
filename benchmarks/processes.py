"""Several spiders at once on one site, each in a process of its own, as scrapyd runs them.

They share nothing but the file of MANDELBOT_STORE, or the server, where the URL of one is given.
Prints what the site saw of them together: how often robots.txt was asked for, what was sent into a
pause, how many probes there were, and the gaps between requests where its Crawl-delay is obeyed.

pause  each asks for its own pages; in the middle the site says 503 with Retry-After
pace   each asks for its own pages, at a Crawl-delay
cost   what a turn at a pace costs in the file: a lease, when the next turn is, the lease given
       back; and what a look costs for what others have written, where there is nothing

Usage::

    python benchmarks/processes.py [pause|pace|all [PROCESSES [PAGES [DELAY [URL]]]]]
    python benchmarks/processes.py cost
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import tempfile
import time
from contextlib import closing, suppress
from itertools import pairwise
from pathlib import Path

import scrapy
from loopback import _head, listen
from scrapy.crawler import CrawlerProcess

from scrapy_mandelbot.store.contract import Lease
from scrapy_mandelbot.store.sqlite import SqliteStore

ANSWERS_AFTER = 0.05  # seconds
REFUSES = 6  # seconds
RUNS, TURNS = 5, 1_000
CAN_KNOW = (0.1, 1.0)  # seconds after the first refusal


class Pages(scrapy.Spider):
    """Asks for so many pages of its own."""

    name = "pages"

    async def start(self):
        for number in range(int(self.pages)):
            yield scrapy.Request(f"{self.url}{self.mark}/{number}")

    def parse(self, response):
        pass


def crawl(store: str, url: str, mark: str, pages: str) -> None:
    """Crawl in this process."""
    process = CrawlerProcess(
        {
            "ADDONS": {"scrapy_mandelbot.Addon": 500},
            "CONCURRENT_REQUESTS_PER_DOMAIN": 2,
            "DOWNLOAD_DELAY": 0,
            "LOG_LEVEL": "WARNING",
            "TELNETCONSOLE_ENABLED": False,
            "MANDELBOT_PACE": "obey",
            "MANDELBOT_STORE": store,
        }
    )
    process.crawl(Pages, url=url, mark=mark, pages=pages)
    process.start()


class World:
    """One site, and what it was asked: when, what for, and how it answered."""

    def __init__(self, what: str, processes: int, delay: float) -> None:
        self.robots = f"User-agent: *\nCrawl-delay: {delay}\n" if what == "pace" else ""
        self.refuses_from = 30 * processes if what == "pause" else None
        self.refused_at: float | None = None
        self.asked: list[tuple[float, str, int]] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while head := await _head(reader):
                status, more, body = self._answer(head.split(b" ", 2)[1].decode())
                await asyncio.sleep(ANSWERS_AFTER)
                writer.write(
                    f"HTTP/1.1 {status} Said\r\nContent-Type: text/plain\r\n{more}"
                    f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
                )
        writer.close()

    def _answer(self, path: str) -> tuple[int, str, str]:
        now = time.monotonic()
        if self.refused_at is None and self.refuses_from == len(self.asked):
            self.refused_at = now
        refuses = self.refused_at is not None and now < self.refused_at + REFUSES
        status = 503 if refuses else 200
        self.asked.append((now, path, status))
        if refuses:
            return status, f"Retry-After: {REFUSES}\r\n", ""
        return status, "", self.robots if path == "/robots.txt" else "page"


async def run(what: str, processes: int, pages: int, delay: float, url: str) -> World:
    world = World(what, processes, delay)
    (sock,) = listen(1)
    host, port = sock.getsockname()[:2]
    server = await asyncio.start_server(world.serve, sock=sock)
    with tempfile.TemporaryDirectory() as folder:
        children = []
        for number in range(processes):
            store = url or f"{folder}/store.db"
            arguments = (store, f"http://{host}:{port}/", str(number), str(pages))
            children.append(
                await asyncio.create_subprocess_exec(
                    sys.executable, str(Path(__file__)), "crawl", *arguments
                )
            )
        for child in children:
            await child.wait()
    server.close()
    return world


def report(what: str, world: World, pages: int, delay: float) -> bool:
    """Print what the site saw; return whether all promises of one process held for all."""
    asked_for = [path for _, path, status in world.asked if status == 200]
    robots = asked_for.count("/robots.txt")
    seen = {path for path in asked_for if path != "/robots.txt"}
    print(f"  robots.txt fetched {robots} times, {len(seen)} of {pages} pages")
    holds = robots == 1 and len(seen) == pages
    if world.refused_at is not None:
        for known in CAN_KNOW:
            until = world.refused_at + REFUSES
            sent = sum(world.refused_at + known < at < until for at, _, _ in world.asked)
            print(f"  sent into the pause, {known} s after its first 503: {sent}")
        holds &= not sent
        probed = sum(until <= at < until + 0.9 for at, _, _ in world.asked)
        print(f"  requests in the 0.9 s after it: {probed}")
    if what == "pace":
        times = sorted(at for at, path, _ in world.asked if path != "/robots.txt")
        gaps = sorted(later - sooner for sooner, later in pairwise(times))
        short = sum(gap < delay - 0.05 for gap in gaps)
        print(f"  least gap {gaps[0]:.2f} s, {short} of {len(gaps)} shorter than {delay} s")
        print(f"  mean gap {sum(gaps) / len(gaps):.2f} s")
        holds &= not short
    return holds


def cost() -> None:
    """Print processor time by turn and by look, the least of several runs."""
    turns, looks = [], []
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(f"{folder}/store.db")
        for _ in range(RUNS):
            began = time.process_time()
            for number in range(TURNS):
                site = f"https://{number}.example"
                store.claim(Lease.TURN, site, 15.0, lambda _: None)
                store.put_turn(site, time.time() + 1)
                store.release(Lease.TURN, site)
                store.save()
            turns.append((time.process_time() - began) / TURNS)
            time.sleep(1)  # until all are due again
        with closing(sqlite3.connect(f"{folder}/store.db")) as database:
            for _ in range(RUNS):
                began = time.process_time()
                for _ in range(TURNS):
                    database.execute("PRAGMA data_version").fetchone()
                looks.append((time.process_time() - began) / TURNS)
        store.close()
    print(f"a turn: {1e6 * min(turns):.0f} µs of processor time")
    print(f"a look: {1e6 * min(looks):.1f} µs")


def main(
    what: str = "all", processes: int = 3, pages: int = 40, delay: float = 1.0, url: str = ""
) -> int:
    """Run, print, and return the exit code."""
    held = True
    for one in ("pause", "pace") if what == "all" else [what]:
        each = pages * 4 if one == "pause" else max(pages // 4, 4)
        print(f"{one}: {processes} processes, {each} pages each", flush=True)
        world = asyncio.run(run(one, processes, each, delay, url))
        held &= report(one, world, processes * each, delay)
    return 0 if held else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["crawl"]:
        crawl(*sys.argv[2:])
    elif sys.argv[1:2] == ["cost"]:
        cost()
    else:
        numbers = [int(one) for one in sys.argv[2:4]]
        sys.exit(main(*sys.argv[1:2], *numbers, *map(float, sys.argv[4:5]), *sys.argv[5:6]))
