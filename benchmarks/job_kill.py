"""What a job loses when its process is killed: nothing; and what comes twice.

Crawls a web on loopback of so many pages over so many sites, kills the crawl so many
times when a random number of pages is done, and goes on each time in the same JOBDIR,
until a run has finished. One site of ten answers 503 with Retry-After for a while, so
that kills fall into pauses too. Each callback notes its end in a log of its own, with
one write() to the system, so that the note outlasts the process. Then it is counted:
pages whose callback never ran to its end, items that are not in the feed, callbacks
that ended twice and items that are there twice, beside the requests that were in flight
at the kills. A page that was under way at three kills is set aside, as it may be their
cause: such pages are requeued in the end, as by ``scrapy robots job ... requeue``, and
crawled before it is counted. Exits with 1 if anything is lost, or too much came twice.

kill     SIGKILL at any time
pause    SIGKILL, when sites are paused
sitemap  SIGKILL, within a sitemap that lists all pages of a single site
faults   SIGKILL at once, after a SIGSTOP, while files cannot grow, or before the clock
         is set

Usage::

    python benchmarks/job_kill.py [HOW [PAGES [SITES [KILLS [SEED]]]]]

HOW is ``kill``, ``pause``, ``sitemap`` or ``faults``.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import scrapy
from loopback import Serving, crawled, hosts, serve_answers

if TYPE_CHECKING:
    from collections.abc import Iterator

IN_FLIGHT = 32
FAULTS = "kill", "stop", "full", "clock"
REFUSES = 3.0  # seconds, from the first request of a site
LONGEST = 3_600  # seconds for a run
COMMON = {
    "ADDONS": {"scrapy_mandelbot.Addon": 500},
    "DOWNLOAD_DELAY": 0,
    "TELNETCONSOLE_ENABLED": False,
    "USER_AGENT": "Examplebot/1.0 (+https://example.com/bot)",
    "MANDELBOT_LIMITS": {"private_hosts": True},
}
SETTINGS = {
    **COMMON,
    "CONCURRENT_REQUESTS": IN_FLIGHT,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
    "LOG_LEVEL": "WARNING",
    "JOBDIR": "job",
    "FEEDS": {"items.jsonl": {"format": "jsonlines"}},
}


class Noting(scrapy.Spider):
    """All links of each page; a note in a file when the callback has run to its end."""

    name = "pages"
    number = ""  # of the worker

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        spider.ends = os.open(f"ends{spider.number}.txt", flags)
        return spider

    def parse(self, response):
        yield from response.follow_all(css="a", callback=self.parse)
        time.sleep(self.settings.getfloat("PARSE_SECONDS"))
        os.write(self.ends, f"{response.url}\n".encode())


class Pages(Noting):
    """An item for each page, too."""

    def parse(self, response):
        yield {"url": response.url}
        self.state["pages"] = self.state.get("pages", 0) + 1
        yield from super().parse(response)


class World:
    """The sites: page n links to 2n + 1 and 2n + 2 of its site, and site n so to two
    others.
    """

    retry_after = 1

    def __init__(self, pages: int, sites: int) -> None:
        self.each, self.hosts = pages // sites, hosts(sites)
        self.first_asked: dict[int, float] = {}

    def pages_of(self, _site: int) -> int:
        return self.each

    def robots(self, _site: int) -> str:
        """Return its robots.txt; empty: it has none."""
        return ""

    def answer(self, host: str, port: int, path: str) -> tuple[int, str, str]:
        """Return status, headers and body."""
        site = site_of(host)
        if path == "/robots.txt":
            robots = self.robots(site)
            return 200 if robots else 404, "text/plain", robots
        since = time.monotonic() - self.first_asked.setdefault(site, time.monotonic())
        if site % 10 == 3 and 0.05 < since < REFUSES:
            return 503, f"text/html\r\nRetry-After: {self.retry_after}", ""
        return (
            200,
            "text/html",
            f"<html><body>{''.join(self.links(site, port, path))}</body>",
        )

    def links(self, site: int, port: int, path: str) -> Iterator[str]:
        number = int(path[1:] or 0)
        for child in (2 * number + 1, 2 * number + 2):
            if child < self.pages_of(site):
                yield f'<a href="/{child}">page</a>'
            if not number and (other := child + 2 * site) < len(self.hosts):
                yield f'<a href="http://{self.hosts[other]}:{port}/">site</a>'

    def urls(self, port: object) -> list[str]:
        return [
            f"http://{host}:{port}/{number or ''}"
            for site, host in enumerate(self.hosts)
            for number in range(self.pages_of(site))
        ]


def site_of(host: str) -> int:
    *_, third, fourth = map(int, host.split("."))
    return third * 250 + fourth - 1


class Listed(World):
    """A site whose pages only its sitemap lists."""

    def answer(self, host: str, port: int, path: str) -> tuple[int, str, str]:
        if path == "/robots.txt":
            return 200, "text/plain", f"Sitemap: http://{host}:{port}/sitemap.xml\n"
        if path != "/sitemap.xml":
            return 200, "text/html", "<html><body></body>"
        urls = "".join(f"<url><loc>{url}</loc></url>" for url in self.urls(port))
        head = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
        return 200, "application/xml", f"{head}{urls}</urlset>"


def crawl(url: str, settings: str) -> None:
    """Crawl in this process and folder; print how it ended."""
    crawler = crawled(Pages, {**SETTINGS, **json.loads(settings)}, start_urls=[url])
    start = "mandelbot/requests/"
    stats = crawler.stats.get_stats().items()
    account = {
        name.removeprefix(start): n for name, n in stats if name.startswith(start)
    }
    Path("account.json").write_text(json.dumps(account))
    print(crawler.stats.get_value("finish_reason"), flush=True)


def requeue_set_aside(place: str) -> Counter[str]:
    """Requeue all that a job has set aside; return how many requests, by reason."""
    from scrapy_mandelbot.fleet.server_job import open_job_at  # noqa: PLC0415 -- servers need none

    with closing(open_job_at(place)) as job:
        aside = Counter(job.contents().given_up)
        if aside:
            job.requeue("")
    return aside


def start(
    program: str, folder: Path, *arguments: str, number: str = "", ahead: float = 0.0
):
    """Start ``PROGRAM crawl ARGUMENTS`` in a folder, with a clock that is so many
    seconds ahead.
    """
    with (folder / f"log{number}.txt").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, program, "crawl", *arguments],
            cwd=folder,
            env={**os.environ, "AHEAD": str(ahead)},
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )


class Trial:
    """A crawl that is killed and goes on, in a folder of its own."""

    def __init__(
        self, what: str, folder: Path, url: str, chance: random.Random
    ) -> None:
        self.what = what
        self.folder = folder
        self.url = url
        self.chance = chance
        self.settings: dict[str, object] = {}
        if what == "sitemap":
            self.settings["MANDELBOT_SITEMAPS"] = "follow"
        self.in_flight: list[int] = []
        self.aside: Counter[str] = Counter()  # requests that were requeued, by reason
        self.fault = "kill"  # the last one
        self.ahead = 0.0  # seconds by which the next run's clock is wrong

    def done(self) -> list[str]:
        """Return the URLs of the callbacks that have ended."""
        path = self.folder / "ends.txt"
        return path.read_text().split() if path.exists() else []

    def run(self, kill_at: int | None) -> str:
        """Crawl until so many callbacks have ended; return how the crawl ended."""
        settings = json.dumps(self.settings)
        with start(
            __file__, self.folder, self.url, settings, ahead=self.ahead
        ) as child:
            began = time.monotonic()
            ends = self.folder / "ends.txt"
            while child.poll() is None and time.monotonic() < began + LONGEST:
                time.sleep(0.02)
                size = ends.stat().st_size if ends.exists() else 0
                if kill_at is not None and size >= kill_at * (len(self.url) + 3):
                    self._end(child)
                    break
            return child.communicate()[0].strip()

    def _end(self, child: subprocess.Popen[str]) -> None:
        time.sleep(self.chance.uniform(0, 0.2))
        if self.what == "pause":
            deadline = time.monotonic() + 10
            while (
                not self._is_pausing()
                and child.poll() is None
                and time.monotonic() < deadline
            ):
                time.sleep(0.01)
        self.fault = self.chance.choice(FAULTS) if self.what == "faults" else "kill"
        unsaved = self._disturb(child, self.fault)
        child.kill()
        child.wait()
        self.in_flight.append(self._claimed() + unsaved)

    def _disturb(self, child: subprocess.Popen[str], what: str) -> int:
        """Do more than kill; return how many callbacks have ended that could not be
        saved.
        """
        if what == "stop":
            child.send_signal(signal.SIGSTOP)
            time.sleep(self.chance.uniform(0, 2))
            child.send_signal(signal.SIGCONT)
            time.sleep(self.chance.uniform(0, 0.5))
        elif what == "clock":
            self.ahead = self.chance.uniform(-600, 600)
        elif what == "full" and (done := len(self.done())):
            items = (self.folder / "items.jsonl").stat().st_size
            # what it writes itself still fits
            limit = items + 65_536, resource.RLIM_INFINITY
            resource.prlimit(child.pid, resource.RLIMIT_FSIZE, limit)
            time.sleep(self.chance.uniform(0, 2))
            return len(self.done()) - done
        return 0

    def _is_pausing(self) -> bool:
        path = self.folder / "job" / "mandelbot.db"
        with sqlite3.connect(path, timeout=5) as database:
            query = "SELECT count(*) FROM pauses WHERE until > ?"
            (count,) = database.execute(query, (time.time(),)).fetchone()
        database.close()
        return bool(count)

    def _claimed(self) -> int:
        path = self.folder / "job" / "job.sqlite"
        if not path.exists():
            return 0
        database = sqlite3.connect(path)
        row = database.execute(
            "SELECT value FROM state WHERE name = 'claimed'"
        ).fetchone()
        database.close()
        return len(json.loads(row[0])) if row else 0


def main(
    what: str = "kill", pages: int = 4_000, sites: int = 200, kills: int = 10, seed=1
) -> int:
    """Crawl and kill, and print what came of it."""
    kind = "World"
    if what == "sitemap":
        kind = "Listed"
        sites = 1
    chance = random.Random(seed)
    each = pages // sites
    with (
        tempfile.TemporaryDirectory(prefix="job-kill-") as name,
        Serving(__file__, "serve", kind, pages, sites) as port,
    ):
        folder = Path(name)
        trial = Trial(what, folder, f"http://127.0.0.1:{port}/", chance)
        began = time.monotonic()
        for at in sorted(chance.sample(range(1, each * sites), kills)):
            said = trial.run(at)
            print(f"ended at {len(trial.done()):,}: {said or trial.fault}", flush=True)
        reason = trial.run(None)
        while aside := requeue_set_aside(str(folder / "job")):
            trial.aside += aside
            reason = trial.run(None)
        return report(trial, each * sites, kills, reason, time.monotonic() - began)


def report(trial: Trial, pages: int, kills: int, reason: str, seconds: float) -> int:
    """Print what was lost and what came twice; return the exit code."""
    ends = Counter(trial.done())
    lines = (trial.folder / "items.jsonl").read_text().splitlines()
    items = Counter(json.loads(line)["url"] for line in lines)
    lost = pages - len(ends)
    items_lost = pages - len(items)
    twice = sum(ends.values()) - len(ends)
    items_twice = sum(items.values()) - len(items)
    most = sum(trial.in_flight)
    print(
        f"{trial.what}: {pages:,} pages, {kills} times, in the end {reason!r} after"
        f" {seconds:.0f} s\npages lost {lost:,}, items lost {items_lost:,}\ncallbacks"
        f" ended twice {twice:,}, items twice {items_twice:,}; of requests in flight at"
        f" the last commits before the kills {most:,}\nthe most that one page was"
        f" called {max(ends.values())} times\nset aside and requeued"
        f" {sum(trial.aside.values())} {dict(trial.aside)}"
    )
    account = json.loads((trial.folder / "account.json").read_text())
    account.pop("lost", None)
    begun = account.pop("taken_in", 0) + account.pop("from_former_run", 0)
    ended = " + ".join(f"{count:,} {end}" for end, count in account.items())
    print(f"account of the last run: {begun:,} = {ended}")
    log = (trial.folder / "log.txt").read_text()
    print(f"the job could not be saved {log.count('cannot be saved for now')} times")
    is_bad = (
        lost or items_lost or reason != "finished" or begun != sum(account.values())
    )
    if is_bad:
        print(log[-3000:])
    # A request may be sent, answered and done with since the last commit.
    allowed = sum(max(one, IN_FLIGHT) for one in trial.in_flight)
    return int(bool(is_bad or twice > allowed))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", kind, pages, sites]:
            world = {"World": World, "Listed": Listed}[kind](int(pages), int(sites))
            asyncio.run(serve_answers(world.hosts, world.answer))
        case ["crawl", url, settings]:
            crawl(url, settings)
        case ["-h" | "--help"]:
            print(__doc__)
        case [*what]:
            sys.exit(main(*what[:1], *map(int, what[1:])))
