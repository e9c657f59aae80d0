"""What keeping copies costs, and what it saves.

Usage: python benchmarks/copies.py memory [SITES]
       python benchmarks/copies.py restart [SITES]

memory   Puts the robots.txt of so many sites into a SQLite store, with the sizes of real files
         (those of the corpus in the folder MANDELBOT_CORPUS, or ../shared/corpus; without one, made
         up to the same distribution), and looks the rules of sites up in random order, as a broad
         crawl does. Shown are the memory of the process before and after, and look-ups a second: of
         a site asked for again at once, and of any site, which are read, unpacked and parsed.
restart  Crawls so many sites on loopback twice, with a spider that is started anew, and shows how
         many requests for robots.txt each run sent.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import scrapy
from loopback import hosts
from scrapy.crawler import Crawler, CrawlerProcess
from scrapy.settings import Settings
from scrapy.statscollectors import StatsCollector

from scrapy_mandelbot.config import Config
from scrapy_mandelbot.rules.fetcher import RobotsFetcher
from scrapy_mandelbot.store.contract import Copy
from scrapy_mandelbot.store.sqlite import SqliteStore
from scrapy_mandelbot.telling import Events

HERE = Path(__file__).parent
CORPUS = Path(os.environ.get("MANDELBOT_CORPUS", HERE.parents[1] / "shared" / "corpus"))


def bodies() -> list[bytes]:
    """Return real files, or some that are as long: median 288 bytes, one in a hundred 22 KB."""
    files = sorted((CORPUS / "robots").glob("*.txt"))
    if files:
        return [file.read_bytes() for file in files]
    chance = random.Random(1)
    lines = [b"Disallow: /%d/%d/\n" % (n, chance.randrange(10**6)) for n in range(10_000)]
    sizes = [min(int(chance.lognormvariate(2.9, 1.6)), 10_000) for _ in range(1000)]
    return [b"User-agent: *\n" + b"".join(lines[:size]) for size in sizes]


def resident() -> float:
    """Return the megabytes of memory that the process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def size(path: Path) -> float:
    """Return the megabytes of a file."""
    return path.stat().st_size / 1e6


async def memory(sites: int) -> None:
    """Fill a store, look up, and print what it took."""
    chance = random.Random(1)
    at_start = resident()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "copies.db")
        store = SqliteStore(path)
        total, now = 0, time.time()
        began = time.perf_counter()
        files = bodies()
        for number in range(sites):
            body = files[number % len(files)]
            total += len(body)
            store.put_copy(f"https://www.site-{number}.example", Copy(body, 200, now))
            if number % 1000 == 999:
                store.save()
        store.save()
        filling = time.perf_counter() - began
        del files
        settings = Settings({"ROBOTSTXT_PARSER": "scrapy_mandelbot.MandelbotRobotParser"})
        crawler = Crawler(FrontPages, settings)
        crawler.stats = StatsCollector(crawler)
        fetcher = RobotsFetcher(
            crawler, Config.from_settings(settings), store, time.time, Events(crawler)
        )
        request = scrapy.Request("https://www.site-0.example/")

        async def look_up(number: int) -> None:
            rules = await fetcher.rules(f"https://www.site-{number}.example", request, 0)
            rules.parser.allowed(f"https://www.site-{number}.example/a/b.html", "examplebot")

        began = time.perf_counter()
        anywhere = min(sites, 50_000)
        for _ in range(anywhere):
            await look_up(chance.randrange(sites))
        anywhere_rate = anywhere / (time.perf_counter() - began)
        began = time.perf_counter()
        for _ in range(200_000):
            await look_up(7)
        again_rate = 200_000 / (time.perf_counter() - began)
        print(f"{sites} sites, {total / 1e6:.0f} MB of robots.txt, file {size(path):.0f} MB")
        print(f"resident at start (Scrapy imported)   {at_start:8.0f} MB")
        print(f"resident now                          {resident():8.0f} MB")
        print(f"copies put and saved                  {sites / filling:8.0f} a second")
        print(f"look-ups and decisions, any site      {anywhere_rate:8.0f} a second")
        print(f"look-ups and decisions, same site     {again_rate:8.0f} a second")
        store.close()


class FrontPages(scrapy.Spider):
    """Asks many sites for their front page."""

    name = "front_pages"


def crawl(store: str, port: int, sites: int) -> None:
    """Crawl in this process, and print what was asked for."""
    process = CrawlerProcess(
        {
            "ADDONS": {"scrapy_mandelbot.Addon": 500},
            "MANDELBOT_STORE": store,
            "DOWNLOAD_DELAY": 0,
            "LOG_LEVEL": "WARNING",
            "TELNETCONSOLE_ENABLED": False,
        }
    )
    crawler = process.create_crawler(FrontPages)
    FrontPages.parse = lambda *_: None
    urls = [f"http://{host}:{port}/" for host in hosts(sites)]
    process.crawl(crawler, start_urls=urls)
    process.start()
    stats = crawler.stats.get_stats()
    names = ["downloader/request_count", "robotstxt/request_count", "mandelbot/robots/from_cache"]
    print(json.dumps({name: stats.get(name, 0) for name in names}))


def restart(sites: int) -> None:
    """Crawl twice, and print what each run asked for."""
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            [sys.executable, HERE / "loopback.py", str(sites)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as web,
    ):
        port = web.stdout.readline().decode().strip()
        store = str(Path(folder, "copies.db"))
        print(f"{sites} sites, one page of each")
        for run in ("first", "second"):
            command = [sys.executable, __file__, "crawl", store, port, str(sites)]
            said = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
            print(f"{run} run: ", ", ".join(f"{name} {value}" for name, value in said.items()))
        web.stdin.close()


if __name__ == "__main__":
    what, *arguments = sys.argv[1:] or ["--help"]
    if what == "memory":
        asyncio.run(memory(int(*arguments or [100_000])))
    elif what == "restart":
        restart(int(*arguments or [500]))
    elif what == "crawl":
        crawl(arguments[0], int(arguments[1]), int(arguments[2]))
    else:
        sys.exit(__doc__)
