"""A crawl whose requests wait in a Redis that workers share: scrapy-redis alone, and with us.

Crawls webs on loopback with scrapy-redis' scheduler over a redis-server of its own, one worker at
a time, each in a process of its own, and prints for both what the shared queue holds meanwhile.
Exits with 1 where the package is worse than its absence, beyond what is in flight.

length  one site: how many requests are in the shared queue when a tenth, a half and nine tenths of
        the pages are done, and how many at most were neither there nor done from the tenth on,
        looked at each 20 ms
kill    the same, killed with SIGKILL when a third is done and the site answers no more, and gone
        on with by another worker: the pages that no callback of either has seen, and those that
        came twice
paused  two sites, one of which says 503 with Retry-After for a while; the worker is killed then
idle    RedisSpider, whose only site says 503 for a while: when it has asked nothing for some
        seconds, the time from a new start URL in Redis to the first request for it

Usage::

    python benchmarks/parking.py [length|kill|paused|idle|all [PAGES [both|ours]]]
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import asynccontextmanager, suppress
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

import redis
import scrapy
from loopback import _head, listen
from scrapy.crawler import CrawlerProcess
from scrapy_redis.spiders import RedisMixin

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from redis_server import RedisServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

IN_FLIGHT = 16  # Scrapy's CONCURRENT_REQUESTS
ANSWERS_AFTER = 0.02  # seconds
REFUSES = 600  # seconds
LONGEST = 300  # seconds for a run
REQUESTS, START_URLS = "pages:requests", "pages:start_urls"
WORKERS = {"scrapy-redis": False, "with mandelbot": True}


class Pages(scrapy.Spider):
    """A note of each page whose callback has run to its end, which outlasts the process."""

    name = "pages"

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.log_of_ends = os.open("ends.txt", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        return spider

    def parse(self, response):
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link, self.parse)
        os.write(self.log_of_ends, f"{response.url}\n".encode())


class FedPages(RedisMixin, Pages):
    """The same, with start URLs from Redis, as RedisSpider has them."""

    redis_key = START_URLS

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.setup_redis(crawler)
        return spider

    async def start(self):
        for request in self.next_requests():
            yield request


def crawl(redis_url: str, is_ours: str, is_fed: str, start_urls: str) -> None:
    """Crawl in this process and folder."""
    process = CrawlerProcess(
        {
            "ADDONS": {"scrapy_mandelbot.Addon": 500} if int(is_ours) else {},
            "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
            "SCHEDULER_PERSIST": True,
            "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
            "REDIS_URL": redis_url,
            "CONCURRENT_REQUESTS": IN_FLIGHT,
            "DOWNLOAD_DELAY": 0,
            "LOG_LEVEL": "WARNING",
            "TELNETCONSOLE_ENABLED": False,
            "USER_AGENT": "Examplebot/1.0 (+https://example.com/bot)",
        }
    )
    spider = FedPages if int(is_fed) else Pages
    process.crawl(spider, start_urls=json.loads(start_urls))
    process.start()


class World:
    """Sites whose front page links to all their pages; the first may refuse, as it is asked to."""

    def __init__(self, pages: int) -> None:
        self.pages = pages
        self.refuses_until = 0.0
        self.stops_after: float = inf
        """Answers after which there are none while :attr:`answers` is not set."""
        self.answers = asyncio.Event()
        self._answered = 0
        self.asked: list[tuple[float, str]] = []
        self.urls: list[str] = []
        self._servers: list[asyncio.Server] = []

    async def listen(self) -> None:
        for sock in listen(2):
            host, port = sock.getsockname()[:2]
            self.urls.append(f"http://{host}:{port}/")
            self._servers.append(await asyncio.start_server(self._serve, sock=sock))

    def close(self) -> None:
        for server in self._servers:
            server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while head := await _head(reader):
                host, port = writer.get_extra_info("sockname")[:2]
                path = head.split(b" ", 2)[1].decode()
                status, more, body = self._answer(f"http://{host}:{port}/", path)
                await asyncio.sleep(ANSWERS_AFTER)
                if self._answered >= self.stops_after:
                    await self.answers.wait()
                self._answered += status == 200
                writer.write(
                    f"HTTP/1.1 {status} Said\r\nContent-Type: text/html\r\n{more}"
                    f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
                )
        writer.close()

    def _answer(self, site: str, path: str) -> tuple[int, str, str]:
        self.asked.append((time.monotonic(), site + path[1:]))
        left = self.refuses_until - time.monotonic()
        if path == "/robots.txt":
            return 404, "", ""
        if path == "/":
            return 200, "", "".join(f'<a href="/{n}">page</a>' for n in range(1, self.pages))
        if left > 0 and site == self.urls[0]:
            return 503, f"Retry-After: {int(left) + 1}\r\n", ""
        return 200, "", "<p>page</p>"


class Trial:
    """One kind of worker, with a Redis and sites of its own."""

    def __init__(self, folder: Path, server: RedisServer, pages: int, *, is_ours: bool) -> None:
        self.folder = folder
        self.redis_url = server.url
        self.shared = redis.Redis.from_url(server.url)
        self.world = World(pages)
        self.is_ours = is_ours

    def is_quiet_for(self, seconds: float) -> bool:
        """Return whether the sites were asked, and nothing for so long."""
        asked = self.world.asked
        return len(asked) > 2 and asked[-1][0] < time.monotonic() - seconds

    def done(self) -> list[str]:
        path = self.folder / "ends.txt"
        return path.read_text().split() if path.exists() else []

    def length(self) -> int:
        return self.shared.zcard(REQUESTS)

    @asynccontextmanager
    async def worker(
        self, *start_urls: str, is_fed: bool = False
    ) -> AsyncIterator[asyncio.subprocess.Process]:
        command = [__file__, "crawl", self.redis_url, str(int(self.is_ours)), str(int(is_fed))]
        with (self.folder / "log.txt").open("ab") as log:
            child = await asyncio.create_subprocess_exec(
                sys.executable, *command, json.dumps(start_urls), cwd=self.folder, stderr=log
            )
        try:
            yield child
        finally:
            if child.returncode is None:
                child.kill()
            await child.wait()

    async def until(self, is_so, child: asyncio.subprocess.Process, each: float = 0.02) -> None:
        """Wait for something, or for the worker's end."""
        deadline = time.monotonic() + LONGEST
        while child.returncode is None and not is_so():
            if time.monotonic() > deadline:
                raise TimeoutError((self.folder / "log.txt").read_text())
            await asyncio.sleep(each)


async def measure_length(trial: Trial) -> list[object]:
    """Return how long the queue was when so many parts of a tenth were done, and on average."""
    seen: list[tuple[int, int]] = []

    def look() -> bool:
        seen.append((len(trial.done()), trial.length()))
        return False

    async with trial.worker(trial.world.urls[0]) as child:
        await trial.until(look, child)
    pages = trial.world.pages
    # Until then the links of the front page are on their way there.
    missing = [pages - done - length for done, length in seen if pages / 10 <= done]
    at = [next(length for done, length in seen if done >= pages * part) for part in (0.1, 0.5, 0.9)]
    return [*at, max(missing)]


async def measure_kill(trial: Trial) -> list[object]:
    """Return how many pages neither worker has seen, and how many came twice."""
    pages, world = trial.world.pages, trial.world
    world.stops_after = pages // 3
    async with trial.worker(world.urls[0]) as child:
        await trial.until(lambda: len(trial.done()) == world.stops_after, child)
        child.send_signal(signal.SIGKILL)
    world.answers.set()
    left = trial.length()
    async with trial.worker() as child:
        await child.wait()
    ends = Counter(trial.done())
    return [left, pages - len(ends), sum(count - 1 for count in ends.values())]


async def measure_paused(trial: Trial) -> list[object]:
    """Return the same, killed while one of the sites is paused, and how that site's pages fared."""
    pages, (refusing, healthy) = trial.world.pages, trial.world.urls
    trial.world.refuses_until = time.monotonic() + REFUSES
    async with trial.worker(refusing, healthy) as child:
        ends = trial.done
        await trial.until(lambda: sum(url.startswith(healthy) for url in ends()) == pages, child)
        child.send_signal(signal.SIGKILL)
    left = trial.length()
    trial.world.refuses_until = 0.0
    async with trial.worker() as child:
        await child.wait()
    seen = set(trial.done())
    lost = [sum(url.startswith(site) for url in seen) for site in (refusing, healthy)]
    return [left, pages - lost[0], pages - lost[1]]


async def measure_idle(trial: Trial) -> list[object]:
    """Return the seconds until a new start URL is asked for, while the only site refuses."""
    refusing, new = trial.world.urls
    seconds = []
    for wait in (6.0, 8.0):
        trial.world.refuses_until = time.monotonic() + REFUSES
        trial.world.asked.clear()
        trial.shared.flushall()
        trial.shared.lpush(START_URLS, json.dumps({"url": refusing}))
        async with trial.worker(is_fed=True) as child:
            await trial.until(partial(trial.is_quiet_for, wait), child)
            trial.shared.lpush(START_URLS, json.dumps({"url": new}))
            began = time.monotonic()
            await trial.until(lambda: any(url == new for _, url in trial.world.asked), child)
            seconds.append(round(time.monotonic() - began, 1))
    return seconds


HEADS = {
    "length": ["at 10 %", "at 50 %", "at 90 %", "most taken out"],
    "kill": ["left in Redis", "pages lost", "twice"],
    "paused": ["left in Redis", "lost, refusing", "lost, healthy"],
    "idle": ["pushed after 6 s", "after 8 s"],
}
MEASURES = {
    "length": measure_length,
    "kill": measure_kill,
    "paused": measure_paused,
    "idle": measure_idle,
}


def is_worse(what: str, stock: list, ours: list) -> bool:
    """Return whether the package takes more than is in flight from what is shared."""
    if what == "length":
        return ours[-1] > stock[-1] + IN_FLIGHT
    if what == "kill":
        return ours[1] > IN_FLIGHT
    if what == "paused":
        return ours[2] > 2 * IN_FLIGHT
    return max(ours) > 6  # a heartbeat of the engine, and a second


async def run(what: str, pages: int, which: str) -> dict[str, list[object]]:
    told = {}
    for name, is_ours in WORKERS.items():
        if which == "ours" and not is_ours:
            continue
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "redis").mkdir()
            with RedisServer(Path(folder) / "redis") as server:
                trial = Trial(Path(folder), server, pages, is_ours=is_ours)
                await trial.world.listen()
                told[name] = await MEASURES[what](trial)
                trial.world.close()
                trial.shared.close()
    return told


def main(what: str = "all", pages: int = 600, which: str = "both") -> int:
    """Measure, print, and return the exit code."""
    print(f"{pages} pages a site, each answered after {ANSWERS_AFTER * 1_000:.0f} ms")
    failed = 0
    for one in MEASURES if what == "all" else [what]:
        told = asyncio.run(run(one, pages, which))
        print(f"\n{one:<16}" + "".join(f"{head:>18}" for head in HEADS[one]))
        for name, values in told.items():
            print(f"{name:<16}" + "".join(f"{value!s:>18}" for value in values), flush=True)
        ours = told["with mandelbot"]
        if is_worse(one, told.get("scrapy-redis", ours), ours):
            print("with mandelbot it is worse")
            failed = 1
    return failed


if __name__ == "__main__":
    if sys.argv[1:2] == ["crawl"]:
        crawl(*sys.argv[2:])
    else:
        sys.exit(main(*sys.argv[1:2], *map(int, sys.argv[2:3]), *sys.argv[3:4]))
