"""The README's table: a spider with stock Scrapy, with AutoThrottle, with the package.

Sites on loopback, each crawled by an ordinary spider: an item for each page, and all
its links. Scrapy is set up in two ways, both with ROBOTSTXT_OBEY: as its *library* has
it (no delay, 8 requests at once to a domain), and as ``scrapy startproject`` writes it
(*project*: a second between requests, one at once). Printed are the pages that reached
the spider, of those there are, and the refusals (503) that the site had to send; a
range where runs differ.

503      answers 503 for some seconds after 50 pages, with Retry-After
limit    bears 30 requests a second and five more, and answers 503 to what is above
4xx/5xx  the same limit, answers 429, 430, 509 and 529 in turn
302      redirects all pages to one notice for eleven seconds after 50 pages
200      sends one notice in place of all pages for that time: it counts as none of them
kill -9  the crawl has a JOBDIR, is killed after a quarter of the pages, starts again

Usage::

    python benchmarks/front_door.py [--runs N]
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import scrapy
from loopback import ADDON, crawled
from loopback import SETTINGS as COMMON
from pauses import Server

import scrapy_mandelbot

LONGEST = 300  # seconds of a crawl
AT_ONCE = 4  # crawls of a project, which mostly wait for their delay
NOTICE = "/notice.html"  # no page of the site; see pauses.py
VARIANTS = {
    "stock Scrapy": {},
    "with AutoThrottle": {"AUTOTHROTTLE_ENABLED": True},
    "with scrapy-mandelbot": ADDON,
}
SETTINGS = {
    "library": {"DOWNLOAD_DELAY": 0},
    "project": {"DOWNLOAD_DELAY": 1, "CONCURRENT_REQUESTS_PER_DOMAIN": 1},
}
CASES = [
    ("a 503 for five seconds", "library", "closed:5", 300, None),
    ("a limit of 30 a second", "library", "limit:30:5", 300, None),
    ("429, 430, 509 and 529", "library", "odd:30:5", 300, None),
    ("a kill -9, and a second run", "library", "well", 2000, 500),
    ("a 503 for five seconds", "project", "closed:5", 60, None),
    ("a 503 for a minute", "project", "closed:60", 120, None),
    ("a limit of 30 a second", "project", "limit:30:5", 60, None),
    ("a kill -9, and a second run", "project", "well", 60, 15),
]


class Pages(scrapy.Spider):
    """Notes each page outside of the process, so that the note outlasts it."""

    name = "pages"

    def parse(self, response):
        yield from response.follow_all(css="a", callback=self.parse)
        if b"notice" not in response.body:
            with Path("pages.txt").open("a") as file:
                file.write(f"{response.url}\n")


def crawl(url: str, settings: str) -> None:
    """Crawl in this process and folder."""
    crawled(Pages, COMMON | json.loads(settings), start_urls=[url])


def pages_of(folder: Path) -> list[str]:
    """Return the URL of each callback that has run to its end."""
    notes = folder / "pages.txt"
    return notes.read_text().split() if notes.exists() else []


def run(folder: Path, url: str, settings: dict, kill_at: int | None) -> None:
    """Crawl in a process of its own; kill it when so many pages are done."""
    command = [
        sys.executable,
        Path(__file__).absolute(),
        "crawl",
        url,
        json.dumps(settings),
    ]
    with subprocess.Popen(command, cwd=folder) as child:
        began = time.monotonic()
        while child.poll() is None:
            time.sleep(0.01)
            done = kill_at is not None and len(pages_of(folder)) >= kill_at
            if done or time.monotonic() > began + LONGEST:
                child.kill()


def measure(behaviour: str, pages: int, settings: dict, kill_at: int | None) -> dict:
    """Return what came of a crawl: pages got, and all that the site answered."""
    server = Server(pages, behaviour)
    with tempfile.TemporaryDirectory() as name:
        if kill_at is not None:
            settings = {**settings, "JOBDIR": "job"}
            run(Path(name), server.url, settings, kill_at)
        run(Path(name), server.url, settings, None)
        got = len({url for url in pages_of(Path(name)) if not url.endswith(NOTICE)})
    return {"got": got, **server.stop()}


def told(runs: list[dict], pages: int) -> str:
    """Return what was got of the first page and so many, and refusals, as ranges."""

    def between(values: list[int]) -> str:
        least = min(values)
        most = max(values)
        return f"{least:,}" if least == most else f"{least:,}\u2013{most:,}"

    got = between([one["got"] for one in runs])
    refused = [one["refusals"] for one in runs]
    noun = "refusal" if refused == [1] * len(runs) else "refusals"
    return f"{got} of {pages + 1:,}, {between(refused)} {noun}"


def print_table(rows: list[tuple[str, ...]]) -> None:
    """Print it as reStructuredText has it; the first row is the head."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    line = "  ".join("=" * width for width in widths)
    printed = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    print("\n".join([line, printed[0], line, *printed[1:], line]))


def main() -> None:
    """Print the table, as reStructuredText has it."""
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--runs", type=int, default=1, help="of each crawl with library defaults"
    )
    options = parser.parse_args()

    def row(case: tuple) -> tuple[str, ...]:
        name, kind, behaviour, pages, kill_at = case
        times = range(options.runs if kind == "library" else 1)
        found = [
            [measure(behaviour, pages, SETTINGS[kind] | one, kill_at) for _ in times]
            for one in VARIANTS.values()
        ]
        return name, kind, *(told(runs, pages) for runs in found)

    rows = [("trouble", "settings", *VARIANTS)]
    # By themselves: they are as fast as the machine lets them.
    rows += map(row, [case for case in CASES if case[1] == "library"])
    with ThreadPoolExecutor(AT_ONCE) as pool:
        rows += pool.map(row, [case for case in CASES if case[1] == "project"])
    print(
        f"Scrapy {scrapy.__version__}, scrapy-mandelbot {scrapy_mandelbot.__version__},"
        f" Python {platform.python_version()}; {options.runs} runs with library"
        " defaults\n"
    )
    print_table(rows)


if __name__ == "__main__":
    crawl(*sys.argv[2:]) if sys.argv[1:2] == ["crawl"] else main()
