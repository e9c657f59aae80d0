"""`scrapy distributed`: a Redis, three workers of one job, and a table of the result.

Exits with 0 if each page was crawled once, each robots.txt was requested once by a
worker at most, the site that was closed was asked by one probe a pause, and the slow
one never sooner than it wants; else with 1. Needs redis-server (Debian's package of
that name), and of the package its extra `redis`.
"""

import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from sample_project.check import align
from sample_project.demoweb import several

WORKERS = 3
LONGEST = 120  # seconds
SETTINGS = {
    "MANDELBOT_PACE": "obey",
    "MANDELBOT_LIMITS": '{"private_hosts": true}',
    "EXTENSIONS": "{}",  # the demo's own are for a crawl of one process
    "DEMO_CHECK": "0",
    "CONCURRENT_REQUESTS": "4",  # so that there is work for all
}


class Command(ScrapyCommand):
    """Runs the whole of it."""

    requires_project = True
    requires_crawler_process = False

    def short_desc(self):
        """Return what it does."""
        return "Crawl the demo's sites with three workers that share a job on Redis"

    def run(self, args, opts):  # noqa: ARG002  # Scrapy's interface
        """Start all, wait for the workers, and print the table."""
        if shutil.which("redis-server") is None:
            raise UsageError("redis-server is not installed", print_help=False)
        with tempfile.TemporaryDirectory(prefix="distributed-") as name:
            folder = Path(name)
            with redis(folder) as url, Web() as web:
                reasons = crawl(folder, url, web.urls)
            pages = [
                [json.loads(line)["url"] for line in path.read_text().splitlines()]
                for path in sorted(folder.glob("pages-*.jsonl"))
            ]
        text, holds = report(web.urls, web.asked, pages, reasons)
        print(text)
        self.exitcode = 0 if holds else 1


@contextmanager
def redis(folder):
    """Run a Redis of our own; its URL."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    with subprocess.Popen(  # noqa: S603
        [*command, "--dir", str(folder)], stdout=subprocess.DEVNULL
    ) as server:
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.05)
        yield f"redis://127.0.0.1:{port}/0"
        server.terminate()


class Web:
    """The sites, in a process of their own."""

    def __enter__(self):
        command = [sys.executable, "-m", several.__name__]
        self._server = subprocess.Popen(  # noqa: S603
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.urls = json.loads(self._server.stdout.readline())
        return self

    def __exit__(self, *_):
        said, _ = self._server.communicate()
        self.asked = json.loads(said)


def crawl(folder, redis_url, urls):
    """Run the workers to their end; return how each ended."""
    settings = {**SETTINGS, "MANDELBOT_JOB": redis_url}
    workers = []
    for number in range(1, WORKERS + 1):
        log = f"worker-{number}.log"
        command = [sys.executable, "-m", "scrapy", "crawl", "distributed"]
        command += [
            "-a",
            f"start={' '.join(urls)}",
            "-o",
            f"{folder}/pages-{number}.jsonl",
        ]
        for name, value in {**settings, "LOG_FILE": log}.items():
            command += ["-s", f"{name}={value}"]
        said = (folder / f"said-{number}.txt").open("w")
        workers.append(subprocess.Popen(command, stdout=said, stderr=said))  # noqa: S603
        said.close()
    return [worker.wait(LONGEST) for worker in workers]


def report(urls, asked, pages, reasons):
    """Return a table of what came of it, and whether all is as it should be."""
    count = several.PAGES * (len(urls) - 1) + several.SLOW_PAGES
    crawled = Counter(url for one in pages for url in one)
    rows = [("SITE", "PAGES", "ROBOTS.TXT", "503", "PROBES", "LEAST GAP")]
    holds = not any(reasons) and len(crawled) == count and set(crawled.values()) == {1}
    for site, url in enumerate(urls):
        its = [(at, path, status) for at, one, path, status in asked if one == site]
        robots = sum(path == "/robots.txt" for _, path, _ in its)
        times = [at for at, path, _ in its if path != "/robots.txt"]
        gap = min((after - before for before, after in pairwise(times)), default=0.0)
        refusals = [at for at, _, status in its if status == 503]  # noqa: PLR2004
        probes = probes_in(its)
        # a worker that takes a site over early may fetch its rules once more
        holds &= 1 <= robots <= len(pages)
        holds &= site != several.SLOW or gap >= several.DELAY
        holds &= all(one == 1 for one in probes)
        its_pages = sum(one.startswith(url) for one in crawled)
        row = (url, its_pages, robots, len(refusals), sum(probes), f"{gap:.2f} s")
        rows.append(tuple(map(str, row)))
    by_worker = ", ".join(str(len(one)) for one in pages)
    lines = [
        *align(rows),
        "",
        f"pages by worker: {by_worker}; each once: {len(crawled)} of {count}",
    ]
    lines.append(
        "All of it is as it should be." if holds else "THIS IS NOT AS IT SHOULD BE."
    )
    return "\n".join(lines), holds


def probes_in(asked):
    """Return for each end of a pause how many probes were sent: 1."""
    probes = []
    refused_at = None
    for at, path, status in asked:
        is_page = path != "/robots.txt"
        if (
            refused_at is not None
            and is_page
            and at > refused_at + several.OUTAGE - 0.1
        ):
            since = [
                one
                for one, of, _ in asked
                if of != "/robots.txt" and at <= one < at + 0.02
            ]
            probes.append(len(since))
            refused_at = None
        if status == 503 and is_page:  # noqa: PLR2004
            refused_at = at if refused_at is None else refused_at
    return probes
