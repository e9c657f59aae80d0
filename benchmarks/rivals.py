"""Other ways to crawl beside this package: the same sites, as many requests at once.

Each row is one site, each line of it a crawl of it by somebody else's program or
settings. Every crawl follows the links of a front page to the pages of the site, obeys
robots.txt (there is none), and may have eight requests in flight, sixteen in the row
``slow``: ``CONCURRENT_REQUESTS`` holds all of them to that, as Scrapy exceeds
``CONCURRENT_REQUESTS_PER_DOMAIN`` by itself (``requests_at_once.py``).

healthy  answers each request after 30 ms
outage   answers 503, without Retry-After, for ten seconds after the 50th page
limit    bears 30 requests a minute and five more, and answers 429 to what is above
slow     has four workers; a page takes one of them 60 ms, longer the more wait
kill     is healthy; the crawl is killed (SIGKILL) after a quarter of the pages, and the
         same command runs again

The crawls:

stock             Scrapy as it is installed
SQLite queues     the same with Scrapy's queues in SQLite (two settings, 2.19)
AutoThrottle      with AUTOTHROTTLE_ENABLED
AutoThrottle, tuned  from 0.1 s on, with a target concurrency of 4
wait a minute     the middleware that answers on the web propose for a 429: it stops the
                  whole process for a minute and retries (written from its description)
scrapy-redis      its scheduler and its filter of duplicates, with a real Redis
Crawlee           Crawlee for Python, ParselCrawler
Crawlee, listed   the same with its ThrottlingRequestManager, and the site on its list
mandelbot         this package, and nothing else

Printed are the different pages that the program got, pages that it got again, refusals
that the site had to send, requests at once at the site, and seconds. A crawl that does
not end in three minutes is ended, and its seconds are marked with ``+``. Seconds are
those of a machine that may have other work: compare lines of one row.

Exits with 1 if this package did not get all pages of each site. ``--table`` writes
docs/rivals.csv, which docs/compare.rst shows.

scrapy-redis and Crawlee come from the package index, each in a separate environment
that is kept in ``~/.cache/scrapy-mandelbot/rivals``; Redis is Debian's.

Usage::

    python benchmarks/rivals.py [--table] [--only NAME] [SITE ...]
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from time import monotonic
from typing import NamedTuple

import crowded
import quotes

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))
CACHE = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser()
KEPT = CACHE / "scrapy-mandelbot" / "rivals"
LONGEST = 180  # seconds of a crawl
TABLE = Path(__file__).parents[1] / "docs" / "rivals.csv"
NOTES = "pages.txt"
"""The URL of each page that a crawl got, a line each: it outlasts a killed process."""

# The crawls.

SCRAPY = """
import json
import sys
import time
from pathlib import Path

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.downloadermiddlewares.retry import RetryMiddleware


class WaitAMinute(RetryMiddleware):
    def process_response(self, request, response, spider=None):
        if response.status != 429:
            return super().process_response(request, response)
        self.crawler.engine.pause()
        time.sleep(60)
        self.crawler.engine.unpause()
        return self._retry(request, "429") or response


class Pages(scrapy.Spider):
    name = "pages"

    def parse(self, response):
        with Path("pages.txt").open("a") as notes:
            notes.write(response.url + "\\n")
        yield from response.follow_all(css="a", callback=self.parse)


if __name__ == "__main__":
    process = CrawlerProcess(json.loads(sys.argv[2]))
    process.crawl(Pages, start_urls=[sys.argv[1]])
    process.start()
"""

CRAWLEE = """
import asyncio
import csv
import json
import logging
import sys
from pathlib import Path
from urllib.parse import urlsplit

from crawlee import ConcurrencySettings
from crawlee.crawlers import ParselCrawler
from crawlee.request_loaders import ThrottlingRequestManager
from crawlee.storages import RequestQueue


async def main(url, options):
    at_once = options["at_once"]
    settings = {
        "respect_robots_txt_file": True,
        "configure_logging": False,
        "concurrency_settings": ConcurrencySettings(
            min_concurrency=at_once,  # else it follows the load of the machine
            desired_concurrency=at_once,
            max_concurrency=at_once,
        ),
    }
    if options["is_listed"]:
        settings["request_manager"] = ThrottlingRequestManager(
            inner=await RequestQueue.open(),
            domains=[urlsplit(url).hostname],
            request_manager_opener=RequestQueue.open,
        )
    crawler = ParselCrawler(**settings)

    @crawler.router.default_handler
    async def handle(context):
        with Path("pages.txt").open("a") as notes:
            notes.write(context.request.url + "\\n")
        await context.enqueue_links()

    await crawler.run([url], purge_request_queue=False)


logging.disable(logging.CRITICAL)
asyncio.run(main(sys.argv[1], json.loads(sys.argv[2])))
"""


class Crawl(NamedTuple):
    """One way to crawl.

    Attributes:
        settings: of Scrapy, or options of the Crawlee program.
        package: what an environment of its own has; ``""``: this one does.
        program: the source that is run.
    """

    settings: dict[str, object]
    package: str = ""
    program: str = SCRAPY


CRAWLS = {
    "stock": Crawl({}),
    "SQLite queues": Crawl(
        {
            "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleLifoSQLiteQueue",
            "SCHEDULER_START_DISK_QUEUE": "scrapy.squeues.PickleFifoSQLiteQueue",
        }
    ),
    "AutoThrottle": Crawl(crowded.VARIANTS["AutoThrottle"]),
    "AutoThrottle, tuned": Crawl(crowded.VARIANTS["AutoThrottle, tuned"]),
    "wait a minute": Crawl(
        {
            "DOWNLOADER_MIDDLEWARES": {
                "scrapy.downloadermiddlewares.retry.RetryMiddleware": None,
                "crawl.WaitAMinute": 550,
            }
        }
    ),
    "scrapy-redis": Crawl(
        {
            "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
            "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
            "SCHEDULER_PERSIST": True,
        },
        "scrapy-redis",
    ),
    "Crawlee": Crawl({"is_listed": False}, "crawlee[parsel]", CRAWLEE),
    "Crawlee, listed": Crawl({"is_listed": True}, "crawlee[parsel]", CRAWLEE),
    "mandelbot": Crawl(crowded.VARIANTS["mandelbot"]),
}

# The sites.


@dataclass
class Site(crowded.Site):
    """A site of so many pages besides its front page, and what it saw of one crawl."""

    pages: int = 400
    at_once: int = 8
    """Requests that a crawl may have in flight."""
    served: Counter[str] = field(default_factory=Counter)

    async def respond(self, path: str) -> tuple[int, str]:
        """Return status and body; the front page has the links to all others."""
        status, body = await super().respond(path)
        if status != 200:
            return status, body
        self.served[path] += 1
        if path != "/":
            return status, "<html>page</html>"
        links = (f'<a href="/page/{n}">{n}</a>' for n in range(self.pages))
        return status, f"<html>{''.join(links)}</html>"


@dataclass
class Outage(Site):
    pages: int = 200
    began: float | None = None

    def is_refused(self) -> bool:
        if self.began is None and self.served.total() >= 50:
            self.began = monotonic()
        return self.began is not None and monotonic() < self.began + 10


@dataclass
class Limit(Site, crowded.Limit):
    pages: int = 40
    rate: float = 0.5
    burst: float = 5.0


@dataclass
class Slow(Site, crowded.Workers):
    at_once: int = 16


@dataclass
class Kill(Site):
    pages: int = 600


SITES = {"healthy": Site, "outage": Outage, "limit": Limit, "slow": Slow, "kill": Kill}

# A line of the table.


def python_for(package: str) -> str:
    """Return the Python of a package's environment; make it if it is missing."""
    if not package:
        return sys.executable
    folder = KEPT / package.partition("[")[0]
    python = folder / "bin" / "python"
    if not python.exists():
        make = [sys.executable, "-m", "venv", "--without-pip", folder]
        subprocess.run(make, check=True)
        pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet"]
        subprocess.run([*pip, package], check=True, capture_output=True)
    return str(python)


def pages_of(folder: Path) -> list[str]:
    """Return the URL of each page that a crawl got, the front page apart."""
    notes = folder / NOTES
    if not notes.exists():
        return []
    return [url for url in notes.read_text().split() if "/page/" in url]


async def run(folder: Path, command: list[str], kill_at: int | None) -> bool:
    """Crawl in a process; kill it when it got so many pages.

    Returns:
        Whether it ended by itself, or as it should.
    """
    environment = {**os.environ, "CRAWLEE_PURGE_ON_START": "0"}
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env=environment,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    latest = monotonic() + LONGEST
    while process.returncode is None:
        await asyncio.sleep(0.05)
        is_late = monotonic() > latest
        has_enough = kill_at is not None and len(pages_of(folder)) >= kill_at
        if is_late or has_enough:
            process.kill()
            await process.wait()
            return has_enough
    return True


class Row(NamedTuple):
    """What became of one crawl of one site.

    Attributes:
        got: different pages, of ``there_are``; ``again``: pages that came once more.
        refused: refusals that the site had to send.
        at_once: requests that the site had at once, at the most.
        seconds: from the start of the process to its end; of both runs of ``kill``.
        has_ended: False where it was ended after `LONGEST` seconds.
    """

    site: str
    crawl: str
    got: int
    there_are: int
    again: int
    refused: int
    at_once: int
    seconds: float
    has_ended: bool

    def line(self) -> str:
        """Return it for a terminal."""
        mark = "" if self.has_ended else "+"
        return (
            f"{self.site:8} {self.crawl:20} {self.got:4}/{self.there_are:<4}"
            f" {self.again:5} {self.refused:8} {self.at_once:7}"
            f" {self.seconds:8.1f}{mark}"
        )

    def cell(self) -> str:
        """Return it for a table with a column for each site."""
        parts = [f"{self.got} of {self.there_are}"]
        if self.again:
            parts.append(f"{self.again} twice")
        if self.refused:
            parts.append(f"{self.refused} refusals")
        more_than = "" if self.has_ended else "more than "
        parts.append(f"{more_than}{self.seconds:.0f} s")
        return ", ".join(parts)


async def crawl(site_name: str, name: str, redis_url: str) -> Row:
    """Crawl a site."""
    site = SITES[site_name]()
    way = CRAWLS[name]
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    settings = {
        **crowded.SETTINGS,
        "CONCURRENT_REQUESTS": site.at_once,
        "CONCURRENT_REQUESTS_PER_DOMAIN": site.at_once,
        "REDIS_URL": redis_url,
        **way.settings,
        "at_once": site.at_once,
    }
    if way.package == "scrapy-redis":
        settings["SCHEDULER_QUEUE_KEY"] = f"queue:{url}"
        settings["SCHEDULER_DUPEFILTER_KEY"] = f"seen:{url}"
    kill_at = None
    if site_name == "kill":
        kill_at = site.pages // 4
        settings["JOBDIR"] = "job"
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "crawl.py").write_text(way.program)
        command = [python_for(way.package), "crawl.py", url, json.dumps(settings)]
        began = monotonic()
        if kill_at is not None:
            await run(folder, command, kill_at)
        has_ended = await run(folder, command, None)
        seconds = monotonic() - began
        pages = pages_of(folder)
    server.close()
    got = len(set(pages))
    return Row(
        site_name,
        name,
        got,
        site.pages,
        len(pages) - got,
        site.refused,
        site.most_inside,
        seconds,
        has_ended,
    )


def write_table(rows: list[Row]) -> None:
    """Write docs/rivals.csv: a line for each crawl, a column for each site."""
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        written = csv.writer(file, lineterminator="\n")
        written.writerow(["crawl", *SITES])
        for name in CRAWLS:
            cells = {one.site: one.cell() for one in rows if one.crawl == name}
            written.writerow([name, *(cells[site] for site in SITES)])
    quotes.write_pages()


def versions() -> str:
    """Return the versions of what is compared."""
    found = {name: version(name) for name in ("scrapy", "scrapy-mandelbot")}
    for package in ("scrapy-redis", "crawlee"):
        code = f"from importlib.metadata import version; print(version({package!r}))"
        python = python_for("crawlee[parsel]" if package == "crawlee" else package)
        printed = subprocess.check_output([python, "-c", code], text=True)
        found[package] = printed.strip()
    return ", ".join(f"{name} {number}" for name, number in found.items())


def main() -> None:
    from redis_server import RedisServer  # noqa: PLC0415 -- of the tests

    parser = argparse.ArgumentParser()
    parser.add_argument("site", nargs="*", choices=[*SITES, []])
    parser.add_argument("--only", choices=CRAWLS, action="append")
    parser.add_argument("--table", action="store_true", help="write docs/rivals.csv")
    options = parser.parse_args()
    if options.table and (options.site or options.only):
        parser.error("--table takes all crawls of all sites")
    print(versions(), end="\n\n")
    print("site     crawl                    pages again refusals at once  seconds")
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder, RedisServer(Path(folder)) as redis:
        for site_name in options.site or SITES:
            for name in options.only or CRAWLS:
                row = asyncio.run(crawl(site_name, name, redis.url))
                print(row.line(), flush=True)
                rows.append(row)
    if options.table:
        write_table(rows)
    ours = [one for one in rows if one.crawl == "mandelbot"]
    sys.exit(int(any(one.got < one.there_are for one in ours)))


if __name__ == "__main__":
    main()
