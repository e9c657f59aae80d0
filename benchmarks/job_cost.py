"""What a job costs that outlasts its process, beside Scrapy's JOBDIR.

crawl        CPU milliseconds a page of whole crawls of one site over loopback, in turns:
             stock (Scrapy alone), durable (this package)
scheduler    CPU microseconds and KiB written a page in the scheduler alone: a request is taken, 20
             new links of its site are kept, it is settled, and the job is committed; with so many
             fingerprints known before, ten sites. Stock is Scrapy's scheduler with its disk queue
sites        CPU microseconds of a push, and of a pop with its end, among so many sites that each
             have a request: of 100,000 more
waiting      with so many requests that wait on 50,000 sites: seconds to open the job after a clean
             end and after a kill (of CPU), memory that it takes in MiB, and files that it has open

Everything but ``crawl`` is measured in processes of its own, and sends nothing.

Usage::

    python benchmarks/job_cost.py crawl [PAGES [ROUNDS]]
    python benchmarks/job_cost.py scheduler [KNOWN ...]
    python benchmarks/job_cost.py sites [SITES ...]
    python benchmarks/job_cost.py waiting [REQUESTS ...]
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from itertools import count
from pathlib import Path

import crawl_cpu
import scrapy
from scrapy import Request
from scrapy.core.scheduler import Scheduler
from scrapy.crawler import Crawler
from scrapy.settings import Settings
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.request import RequestFingerprinter
from site_queue import Engine

from scrapy_mandelbot import JobScheduler
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.job.job import Job
from scrapy_mandelbot.job.job_store import Place
from scrapy_mandelbot.job.sqlite_job import SqliteJob

ADDON = {"ADDONS": {"scrapy_mandelbot.Addon": 500}}
VARIANTS = {
    "stock": {},
    "durable": {**ADDON, "ROBOTSTXT_OBEY": False},
}
LINKS = 20
PAGES = 3_000
KNOWN = (0, 1_000_000, 10_000_000)
SITES = (10, 1_000, 50_000)
WAITING = (100_000, 1_000_000)
REQUESTS = 100_000


class OneSite(scrapy.Spider):
    """Follows the links of one site for so many pages."""

    name = "one_site"
    pages_left: int

    def parse(self, response):
        self.pages_left -= 1
        if self.pages_left == 0:
            raise scrapy.exceptions.CloseSpider("enough")
        if self.pages_left > 0:
            for link in response.css("a::attr(href)").getall():
                yield response.follow(link, self.parse)


class Slot:
    """As much of the engine's slot as a job looks at."""

    nextcall = None

    def add_request(self, request: Request) -> None:
        """Note nothing."""

    def remove_request(self, request: Request) -> None:
        """Note nothing."""


class NoTimers:
    """A clock whose timers never ring: commits are made by hand."""

    now = staticmethod(time.monotonic)

    def call_later(self, *_: object) -> NoTimers:
        return self

    def cancel(self) -> None:
        """Do nothing."""


class OurEngine(Engine):
    """As much of the engine as schedulers look at."""

    _slot = Slot()

    def __init__(self) -> None:
        super().__init__()
        self.downloader.get_slot_key = lambda request: request.url[8:].partition("/")[0]


class Opened:
    """A scheduler over a JOBDIR, for a crawl that sends nothing."""

    def __init__(self, folder: str, *, is_ours: bool = True) -> None:
        settings = Settings({"JOBDIR": folder, "LOG_ENABLED": False, **(ADDON if is_ours else {})})
        crawler = self._crawler = Crawler(OneSite, settings)
        self.spider = crawler.spider = OneSite()
        crawler.addons.load_settings(crawler.settings)
        crawler.stats = MemoryStatsCollector(crawler)
        crawler.request_fingerprinter = RequestFingerprinter()
        crawler.engine = OurEngine()
        self._is_ours = is_ours
        if is_ours:
            crawler.settings["SCHEDULER"] = "scrapy_mandelbot.JobScheduler"
            self._throttle = Crawl.of(crawler, NoTimers()).throttle
        scheduler = (JobScheduler if is_ours else Scheduler).from_crawler(crawler)
        scheduler.open(crawler.spider)
        self.enqueue, self.next = scheduler.enqueue_request, scheduler.next_request
        self.close = scheduler.close
        self._finish = scheduler.finish_request if is_ours else None

    def settle(self, request: Request) -> None:
        """Have a request settled, as the engine and the middlewares would, and commit."""
        if self._is_ours:
            self._throttle.let_go(self._throttle.flight_of(request))
            self._finish(request)
            self.commit()

    def commit(self) -> None:
        """Commit the job."""
        Job.of(self._crawler).commits.now()


def written() -> int:
    """Return how many octets this process has handed to the system for writing."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["wchar"])


def scheduler(variant: str, known: int) -> None:
    """Take, keep, settle and commit pages; print microseconds and KiB of one."""
    with tempfile.TemporaryDirectory() as folder:
        if known and variant == "ours":
            fill_fingerprints(Path(folder, "job.sqlite"), known)
        one = Opened(folder, is_ours=variant == "ours")
        numbers = count()
        for number in range(10):
            one.enqueue(Request(f"https://site{number}.example/"))
        cpu, octets = 0.0, written()
        for _ in range(PAGES):
            began = time.process_time()
            request = one.next()
            site = request.url[:24].rpartition("/")[0]
            for _ in range(LINKS):
                one.enqueue(Request(f"{site}/page/{next(numbers)}", one.spider.parse))
            one.settle(request)
            cpu += time.process_time() - began
        octets = written() - octets
        print(json.dumps([cpu / PAGES * 1e6, octets / PAGES / 1024]))
        one.close("shutdown")


def fill_fingerprints(path: Path, known: int) -> None:
    job = SqliteJob(path)
    step = 2**64 // known
    for begin in range(0, known, 500_000):
        job.see_all([number * step - 2**63 for number in range(begin, min(begin + 500_000, known))])
    job.close()


def sites(number: int) -> None:
    """Push requests for so many sites, pop and settle them; print microseconds of one."""
    with tempfile.TemporaryDirectory() as folder:
        one = Opened(folder)
        for n in range(number):  # else half of the pushes are of new sites, where there are many
            one.enqueue(Request(f"https://site{n}.example/"))
        requests = [Request(f"https://site{n % number}.example/{n}") for n in range(REQUESTS)]
        one.commit()
        began = time.process_time()
        for request in requests:
            one.enqueue(request)
        push = time.process_time() - began
        one.commit()
        most = 20_000
        began = time.process_time()
        for _ in range(most):
            one.settle(one.next())
        pop = time.process_time() - began
        print(json.dumps([push / REQUESTS * 1e6, pop / most * 1e6]))
        one.close("shutdown")


def open_files() -> int:
    """Return how many files this process has open."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def waiting(number: int) -> None:
    """Open a job in which so many requests wait; print seconds twice, MiB and files."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "job.sqlite")
        fill = [sys.executable, __file__, "fill-waiting", str(path), str(number)]
        subprocess.run(fill, check=True)  # it ends as a kill would have it
        said = []
        for _ in range(2):
            files = open_files()
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            began = time.process_time()
            one = Opened(folder)
            said.append(time.process_time() - began)
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory
            files = open_files() - files
            said += [memory / 1024, files]
            one.close("shutdown")
        print(json.dumps([said[0], said[3], said[1], said[2]]))


def fill_waiting(path: str, number: int) -> None:
    """Have so many requests wait, of 256 octets, and end without closing the file."""
    job = SqliteJob(Path(path))
    place = Place(0, 0, is_last_first=True)
    for n in range(number):
        job.push(f"https://site{n % 50_000}.example", place, b"x" * 256)
        if not n % 10_000:
            job.commit()
    job.commit()
    os._exit(0)


def asked(*arguments: object) -> list[float]:
    """Return the least of what three processes of this program print."""
    runs = []
    for _ in range(3):
        command = [sys.executable, __file__, *map(str, arguments)]
        runs.append(json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout))
    return [min(column) for column in zip(*runs, strict=True)]


def crawls(pages: str = "1500", rounds: str = "9") -> None:
    with crawl_cpu.web(Path(__file__).with_name("loopback.py")) as url:
        results = crawl_cpu.in_turns(__file__, list(VARIANTS), url, int(pages), int(rounds))
    print(f"{pages} pages of one site, {rounds} rounds, Scrapy {scrapy.__version__}")
    crawl_cpu.print_table(results, base="stock")


def schedulers(*numbers: str) -> None:
    print(f"{'known':>12}  {'':<8}{'us a page':>10}{'KiB written':>13}")
    for known in map(int, numbers or KNOWN):
        for variant in ("stock", "ours") if not known else ("ours",):
            cpu, octets = asked("one-scheduler", variant, known)
            print(f"{known:>12,}  {variant:<8}{cpu:>10.0f}{octets:>13.1f}", flush=True)


def numbers_of_sites(*numbers: str) -> None:
    print(f"{'sites':>10}{'us a push':>12}{'us a pop':>12}")
    for number in map(int, numbers or SITES):
        push, pop = asked("one-sites", number)
        print(f"{number:>10,}{push:>12.1f}{pop:>12.1f}", flush=True)


def numbers_waiting(*numbers: str) -> None:
    print(f"{'requests':>12}{'s after a kill':>16}{'s after an end':>16}{'MiB':>8}{'files':>8}")
    for number in map(int, numbers or WAITING):
        killed, ended, memory, files = asked("one-waiting", number)
        print(f"{number:>12,}{killed:>16.2f}{ended:>16.2f}{memory:>8.0f}{files:>8.0f}", flush=True)


def crawl(variant: str, url: str, pages: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        settings = {**VARIANTS[variant], "JOBDIR": folder}
        print(json.dumps(crawl_cpu.crawl(OneSite, settings, url, pages_left=int(pages))))


WHAT = {
    "crawl": crawls,
    "scheduler": schedulers,
    "sites": numbers_of_sites,
    "waiting": numbers_waiting,
    "one-scheduler": lambda variant, known: scheduler(variant, int(known)),
    "one-sites": lambda number: sites(int(number)),
    "one-waiting": lambda number: waiting(int(number)),
    "fill-waiting": lambda path, number: fill_waiting(path, int(number)),
    **{variant: partial(crawl, variant) for variant in VARIANTS},
}

if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in WHAT:
        WHAT[sys.argv[1]](*sys.argv[2:])
    else:
        sys.exit(__doc__)
