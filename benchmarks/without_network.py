"""Crawls without a network: a download handler answers, so two runs do the same.

What is left is Scrapy, the package, and nothing that depends on the time of day or on
how fast the machine is. Run as a program it makes one crawl after the other, each in a
fork of this process, and prints what was counted as JSON, a line for each::

    python benchmarks/without_network.py VARIANT,SHAPE,PAGES[,COUNT] ...

VARIANT  stock: Scrapy obeying robots.txt
         package: ADDONS = {"scrapy_mandelbot.Addon": 500}
         annotate, obey: the same with MANDELBOT_PURPOSE and that MANDELBOT_USAGE
         watched, metrics: the same with MANDELBOT_REPORT, MANDELBOT_METRICS
         measured, measured-job: the same with MANDELBOT_CONCURRENCY = "measured"
         stock-job, package-job: stock and package, with a JOBDIR
SHAPE    page: so many pages of one site
         apart: the same, each answer one to five turns of the loop after its request;
         else what was sent in one turn is answered in the next one
         links: the same, each with twenty new links, and most of these wait in the end
         site: three pages each of so many sites
         refusal: a site that refuses its first page so many times, with 503
         queue: pages of so many sites that all wait
COUNT    still: collect no garbage, and one task takes the items of a page, where Scrapy
         makes a hundred
         code: calls and bytecodes of each function of the package
         calls: the same without the bytecodes, which takes half as long
         modules: how many modules of the package are loaded, and how many dataclasses
         are in them
         trace: what was called from the last 503 until the scheduler has the request
         queue: bytecodes of pushes and pops, with all that they call
         else the number of the process
"""

from __future__ import annotations

import sys

import steady_time

if __name__ == "__main__":
    steady_time.install()

import asyncio
import dis
import encodings.cp1252  # noqa: F401 -- the first page in Latin-1 would load it, amid what is counted
import gc
import json
import os
import tempfile
from collections import Counter
from importlib import import_module
from inspect import CO_OPTIMIZED, isclass
from typing import TYPE_CHECKING, Any

import loopback
import scrapy
from scrapy.core.scheduler import Scheduler
from scrapy.crawler import CrawlerProcess
from scrapy.exceptions import CloseSpider
from scrapy.http import Headers, HtmlResponse, TextResponse
from scrapy.settings import BaseSettings, Settings
from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.misc import load_object

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType

    from scrapy.crawler import Crawler

PACKAGE = "scrapy_mandelbot"
LIBRARY = "mandelbot"
STOCK = {"ROBOTSTXT_OBEY": True}
OURS = {**STOCK, "ADDONS": {f"{PACKAGE}.Addon": 500}}
ANNOTATE = {**OURS, "MANDELBOT_PURPOSE": "train-ai", "MANDELBOT_USAGE": "annotate"}
VARIANTS = {
    "stock": STOCK,
    "stock-job": {**STOCK, "JOBDIR": "job"},
    "package": OURS,
    "package-job": {**OURS, "JOBDIR": "job"},
    "annotate": ANNOTATE,
    "obey": {**ANNOTATE, "MANDELBOT_USAGE": "obey"},
    "watched": {**OURS, "MANDELBOT_REPORT": "report.json"},
    "metrics": {**OURS, "MANDELBOT_METRICS": "127.0.0.1:0"},
    "measured": {**OURS, "MANDELBOT_CONCURRENCY": "measured"},
    "measured-job": {**OURS, "MANDELBOT_CONCURRENCY": "measured", "JOBDIR": "job"},
}
SETTINGS = {
    "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
    "DOWNLOAD_DELAY": 0,
    "DOWNLOAD_HANDLERS": dict.fromkeys(["http", "https"], "without_network.Web"),
    "LOGSTATS_INTERVAL": 0,
    "LOG_LEVEL": "WARNING",
    "MANDELBOT_STORE": "memory",
    "TELNETCONSOLE_ENABLED": False,
    "USER_AGENT": "Examplebot/1.0 (+https://example.com/bot)",
}
PAGES_OF_A_SITE = 3
NEW_LINKS = 20
TURNS = 5
STRIDE = 7  # neighbours are not answered in the order of their requests
FEW_SITES = 10
PAGES_OF_FEW = 400
REFUSED = "https://example.com/refused"


class Web:
    """Answers every request in the next turn of the loop, or in one of a few, with the
    signals of Scrapy's own.
    """

    lazy = False
    come_apart = False
    calls: Recorder | None = None
    refusals = 1

    def __init__(self, crawler: Crawler) -> None:
        self._send = crawler.signals.send_catch_log
        self.refused = 0
        self.asked = 0

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Web:
        return cls(crawler)

    async def download_request(self, request: scrapy.Request) -> scrapy.http.Response:
        await asyncio.sleep(0)
        if self.come_apart:
            self.asked += 1
            for _ in range(STRIDE * self.asked % TURNS):
                await asyncio.sleep(0)
        path = urlparse_cached(request).path
        if path == "/robots.txt":
            headers = {"Content-Type": "text/plain"}
            return TextResponse(
                request.url, body=loopback.ROBOTS, headers=headers, request=request
            )
        if request.url == REFUSED and self.refused < self.refusals:
            self.refused += 1
            if self.calls is not None and self.refused == self.refusals:
                self.calls.start()
            headers = {"Content-Type": "text/html", "Retry-After": "1"}
            return HtmlResponse(
                request.url, status=503, headers=headers, request=request
            )
        headers = {"Content-Type": "text/html; charset=utf-8"}
        body = loopback.page(path.encode())
        self._send(
            scrapy.signals.headers_received, headers=Headers(headers), request=request
        )
        self._send(scrapy.signals.bytes_received, data=body, request=request)
        return HtmlResponse(request.url, body=body, headers=headers, request=request)

    async def close(self) -> None:
        """There is nothing to close."""


class Pages(scrapy.Spider):
    """Takes so many pages of one site, along the chains of its links."""

    name = "pages"
    last: int

    def parse(self, response):
        for link in response.css("a::attr(href)").getall():
            if int(link.rpartition("/")[2]) <= self.last:
                yield response.follow(link)


class Links(scrapy.Spider):
    """Takes so many pages of one site, of which each has as many new links."""

    name = "links"
    last: int
    pages = 0

    def parse(self, response):
        self.pages += 1
        if self.pages > self.last:
            raise CloseSpider
        for link in range(NEW_LINKS):
            yield response.follow(f"/{self.pages}/{link}", self.parse)


class Fronts(scrapy.Spider):
    """Takes the front page of many sites, and some that it links to."""

    name = "fronts"

    def parse(self, response):
        links = response.css("a::attr(href)").getall()[: PAGES_OF_A_SITE - 1]
        yield from response.follow_all(links, callback=self.parse_page)

    def parse_page(self, response):
        """Go no further."""


class Waiting(scrapy.Spider):
    """Has so many sites wait in the queue; takes some pages of the last ten, then ends
    all.
    """

    name = "waiting"
    sites: int
    pages = 0

    async def start(self):
        queue = self.crawler.engine._slot.scheduler.mqs  # noqa: SLF001 -- Scrapy has no other way
        requests = [
            scrapy.Request(f"https://site{n}.example/") for n in range(self.sites)
        ]
        for number, request in enumerate(requests, 1 - self.sites + FEW_SITES):
            if number == 1:
                self.recorder = QueueRecorder(type(queue))
            queue.push(request)
        for request in requests[:FEW_SITES]:  # their turns come first
            queue.push(request.replace(url=request.url + "page/0"))
        yield scrapy.Request(requests[0].url + "page/1")

    def parse(self, response):
        self.pages += 1
        if self.pages == (PAGES_OF_FEW if self.sites == FEW_SITES else FEW_SITES):
            print(json.dumps(self.recorder.costs), flush=True)
            os._exit(0)
        yield from response.follow_all(css="a")


def _of_one_site(pages: int) -> tuple[type[scrapy.Spider], dict[str, Any]]:
    return Pages, {"start_urls": ["https://example.com/"], "last": pages - 2}


SHAPES = {
    "page": _of_one_site,
    "apart": _of_one_site,
    "links": lambda pages: (
        Links,
        {"start_urls": ["https://example.com/"], "last": pages},
    ),
    "site": lambda sites: (
        Fronts,
        {"start_urls": [f"https://site{number}.example/" for number in range(sites)]},
    ),
    "queue": lambda sites: (Waiting, {"sites": sites}),
    "refusal": lambda _pages: (Fronts, {"start_urls": [REFUSED]}),
}


class Recorder:
    """Records calls of functions of the package and their bytecodes, from `start` to
    `stop`.

    A coroutine or generator that goes on is no new call.
    """

    counts_bytecodes = True

    def __init__(self) -> None:
        self.calls: list[tuple[str, int]] = []
        self.bytecodes: Counter[str] = Counter()
        self._known: dict[int, tuple[str, int, Callable, CodeType]] = {}
        self._depth = 0

    def start(self) -> None:
        """Begin to record, in what is called from now on."""
        sys.settrace(self._enter)

    def stop(self) -> None:
        sys.settrace(None)

    def _enter(
        self, frame: FrameType, _event: str, _argument: object
    ) -> Callable | None:
        known = self._known.get(id(frame.f_code))
        if known is None:
            # kept: another could get its number
            name = _name(frame)
            code = frame.f_code
            known = self._known[id(code)] = (
                name,
                _beginning(code),
                self._tracer(name),
                code,
            )
        name, beginning, within, _ = known
        if not name:
            return None
        if frame.f_lasti <= beginning:
            self.calls.append((name, self._depth))
        self._depth += 1
        frame.f_trace_lines = False
        frame.f_trace_opcodes = self.counts_bytecodes
        return within

    def _tracer(self, name: str) -> Callable:
        bytecodes = self.bytecodes

        # Some million times for a few hundred pages.
        def within(_frame: FrameType, event: str, _argument: object) -> Callable:
            if event == "opcode":
                bytecodes[name] += 1
            elif event == "return":
                self._depth -= 1
            return within

        return within


class QueueRecorder:
    """Records the bytecodes of each push and pop of a queue, with all that it calls.

    Those of a pop that found no request count for the next one.
    """

    def __init__(self, queue: type) -> None:
        self.costs: dict[str, list[int]] = {"push": [], "pop": []}
        self._bytecodes = 0
        for name, costs in self.costs.items():
            setattr(queue, name, self._recorded(getattr(queue, name), costs))

    def _recorded(self, method: Callable, costs: list[int]) -> Callable:
        def call(*arguments: object) -> object:
            if sys.gettrace() is not None:  # a pop that pushes
                return method(*arguments)
            sys.settrace(self._within)
            result = method(*arguments)
            sys.settrace(None)
            if result is not None or method.__name__ == "push":
                costs.append(self._bytecodes)
                self._bytecodes = 0
            return result

        return call

    def _within(self, frame: FrameType, event: str, _argument: object) -> Callable:
        frame.f_trace_lines = False
        frame.f_trace_opcodes = True
        self._bytecodes += event == "opcode"
        return self._within


def _name(frame: FrameType) -> str:
    """Return ``module:function`` of a function of ours, else an empty text.

    Bodies of modules and classes are none: an import is made once in a process.
    """
    module = frame.f_globals.get("__name__", "")
    code = frame.f_code
    if not is_ours(module) or not code.co_flags & CO_OPTIMIZED:
        return ""
    function = getattr(code, "co_qualname", code.co_name)
    if function == "<genexpr>":  # of a module's body
        return ""
    return f"{module.removeprefix(PACKAGE + '.')}:{function}"


def is_ours(module: str) -> bool:
    """Return whether a module is of the package, or of the library beneath it."""
    return module.partition(".")[0] in {PACKAGE, LIBRARY}


def _beginning(code: CodeType) -> int:
    """Return how far the code is when it is called anew; a coroutine that goes on is
    further.
    """
    resumes = (
        one.offset for one in dis.get_instructions(code) if one.opname == "RESUME"
    )
    return next(resumes, -1)


class WatchedScheduler(Scheduler):
    """Scrapy's scheduler; the recording ends when the refused request is back."""

    def enqueue_request(self, request: scrapy.Request) -> bool:
        taken = super().enqueue_request(request)
        if Web.calls is not None and request.url == REFUSED:
            Web.calls.stop()
        return taken


def main(variant: str, shape: str, pages: str, count: str = "") -> None:
    """Crawl in an empty folder, and print what was counted."""
    settings = {**SETTINGS, **VARIANTS[variant]}
    recorder = Recorder()
    if count == "still":
        settings["CONCURRENT_ITEMS"] = 1
        gc.disable()
    elif count == "trace":
        # else the first 503 would load it
        import_module(f"{LIBRARY}.answers.retry_after")
        settings["SCHEDULER"] = WatchedScheduler
        Web.calls, Web.refusals = recorder, int(pages)
    Web.come_apart = shape == "apart"
    spider, arguments = SHAPES[shape](int(pages))
    process = CrawlerProcess(settings)
    crawler = process.create_crawler(spider)
    process.crawl(crawler, **arguments)
    # A full collection looks through all that is loaded: one more or less, by chance,
    # in so short a crawl would hide what a page costs. Young objects are collected as
    # ever.
    gc.set_threshold(*gc.get_threshold()[:2], 1_000_000)
    if count in {"code", "calls"}:
        recorder.counts_bytecodes = count == "code"
        recorder.start()
    process.start()
    recorder.stop()
    stats = crawler.stats
    asked = int(pages) * (PAGES_OF_A_SITE if shape == "site" else 1)
    files = ("robotstxt/response_count", "mandelbot/usage/tdm_files")
    got = stats.get_value("response_received_count") - sum(
        stats.get_value(of, 0) for of in files
    )
    if shape not in {"refusal", "links"} and got != asked:
        sys.exit(f"{got} pages, not {asked}: {stats.get_stats()}")
    print(json.dumps(counted(count, recorder)))


def counted(count: str, recorder: Recorder) -> object:
    """Return what a crawl has counted."""
    if count in {"code", "calls"}:
        return [Counter(name for name, _ in recorder.calls), recorder.bytecodes]
    if count == "modules":
        loaded = [one for name, one in sys.modules.items() if is_ours(name)]
        kinds = {
            one for module in loaded for one in vars(module).values() if isclass(one)
        }
        ours = [one for one in kinds if is_ours(one.__module__)]
        return len(loaded), sum("__dataclass_fields__" in vars(one) for one in ours)
    return recorder.calls if count == "trace" else os.getpid()


def crawl_all(crawls: list[str]) -> None:
    """Make each crawl in a fork of this process: what all of them import is imported
    once.
    """
    for value in Settings().values():
        for path in value if isinstance(value, BaseSettings) else [value]:
            if isinstance(path, str) and path.startswith("scrapy."):
                load_object(path)
    for crawl in crawls:
        with tempfile.TemporaryDirectory() as folder:
            if pid := os.fork():
                _, status = os.waitpid(pid, 0)
                if status:
                    sys.exit(f"{crawl} ended with {status}")
                continue
            os.chdir(folder)
            main(*crawl.split(","))
            sys.stdout.flush()
            os._exit(0)


if __name__ == "__main__":
    # By its own name, not __main__: Scrapy loads the handler from here.
    from without_network import crawl_all

    crawl_all(sys.argv[1:])
