"""Crawls without a network: a download handler answers them, so that two runs do the same.

What is left is Scrapy, the package, and nothing that depends on the time of day or on how fast the
machine is. Run as a program it crawls in this process and ends::

    python benchmarks/without_network.py VARIANT SHAPE PAGES [COUNT]

VARIANT  stock: Scrapy obeying robots.txt; package: ADDONS = {"scrapy_mandelbot.Addon": 500}; the
         same with MANDELBOT_PURPOSE and MANDELBOT_USAGE = "annotate" or "obey"; ledger: annotate,
         and a MANDELBOT_LEDGER; stock-job, package-job: stock and package, with a JOBDIR
SHAPE    page: so many pages of one site; links: the same, each with twenty new links, and most of
         these wait in the end; site: three pages each of so many sites; refusal: one that refuses
         its first page so many times, with 503
COUNT    full: collect garbage as Python does, else no full collections; still: collect none, and
         have one task take the items of a page, where Scrapy makes a hundred; calls: print, as
         JSON, how often each function of the package was called; modules: print how many modules
         of the package are loaded, and how many dataclasses are in them; trace: print what was
         called from the last 503 until the scheduler has the request again
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
import tempfile
from collections import Counter
from importlib import import_module
from inspect import isclass
from typing import TYPE_CHECKING

import loopback
import scrapy
from scrapy.core.scheduler import Scheduler
from scrapy.crawler import CrawlerProcess
from scrapy.exceptions import CloseSpider
from scrapy.http import Headers, HtmlResponse, TextResponse
from scrapy.utils.httpobj import urlparse_cached

if TYPE_CHECKING:
    from types import CodeType, FrameType

    from scrapy.crawler import Crawler

PACKAGE = "scrapy_mandelbot"
VARIANTS = {
    "stock": {"ROBOTSTXT_OBEY": True},
    "package": {"ADDONS": {f"{PACKAGE}.Addon": 500}, "ROBOTSTXT_OBEY": True},
}
VARIANTS["annotate"] = {
    **VARIANTS["package"],
    "MANDELBOT_PURPOSE": "train-ai",
    "MANDELBOT_USAGE": "annotate",
}
VARIANTS["obey"] = {**VARIANTS["annotate"], "MANDELBOT_USAGE": "obey"}
VARIANTS["ledger"] = VARIANTS["annotate"]
VARIANTS["watched"] = VARIANTS["package"]
VARIANTS["metrics"] = {**VARIANTS["package"], "MANDELBOT_METRICS": True}
VARIANTS["stock-job"], VARIANTS["package-job"] = VARIANTS["stock"], VARIANTS["package"]
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
REFUSED = "https://example.com/refused"


class Web:
    """Answers every request in the next turn of the loop, with the signals of Scrapy's own."""

    lazy = False
    calls: Recorder | None = None
    refusals = 1

    def __init__(self, crawler: Crawler) -> None:
        self._send = crawler.signals.send_catch_log
        self.refused = 0

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Web:
        return cls(crawler)

    async def download_request(self, request: scrapy.Request) -> scrapy.http.Response:
        await asyncio.sleep(0)
        path = urlparse_cached(request).path
        if path == "/robots.txt":
            headers = {"Content-Type": "text/plain"}
            return TextResponse(request.url, body=loopback.ROBOTS, headers=headers, request=request)
        if request.url == REFUSED and self.refused < self.refusals:
            self.refused += 1
            if self.calls is not None and self.refused == self.refusals:
                self.calls.start()
            headers = {"Content-Type": "text/html", "Retry-After": "1"}
            return HtmlResponse(request.url, status=503, headers=headers, request=request)
        headers = {"Content-Type": "text/html; charset=utf-8"}
        body = loopback.page(path.encode())
        self._send(scrapy.signals.headers_received, headers=Headers(headers), request=request)
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


SHAPES = {
    "page": lambda pages: (Pages, {"start_urls": ["https://example.com/"], "last": pages - 2}),
    "links": lambda pages: (Links, {"start_urls": ["https://example.com/"], "last": pages}),
    "site": lambda sites: (
        Fronts,
        {"start_urls": [f"https://site{number}.example/" for number in range(sites)]},
    ),
    "refusal": lambda _pages: (Fronts, {"start_urls": [REFUSED]}),
}


class Recorder:
    """Records calls of functions of the package, from `start` to `stop`.

    A coroutine or generator that goes on is no new call.
    """

    def __init__(self) -> None:
        self.calls: list[tuple[str, int]] = []
        self._known: dict[CodeType, tuple[str, int]] = {}
        self._depth = 0

    def start(self) -> None:
        """Begin to record, here and in what this is called from."""
        sys.setprofile(self._record)

    def stop(self) -> None:
        sys.setprofile(None)

    def _record(self, frame: FrameType, event: str, _argument: object) -> None:
        if event not in {"call", "return"}:
            return
        code = frame.f_code
        if code not in self._known:
            self._known[code] = _name(frame), _beginning(code)
        name, beginning = self._known[code]
        if not name:
            return
        if event == "return":
            self._depth = max(0, self._depth - 1)
            return
        if frame.f_lasti <= beginning:
            self.calls.append((name, self._depth))
        self._depth += 1


def _name(frame: FrameType) -> str:
    """Return ``module:function`` of a function of the package, else an empty text."""
    module = frame.f_globals.get("__name__", "")
    if module != PACKAGE and not module.startswith(PACKAGE + "."):
        return ""
    code = frame.f_code
    return f"{module.removeprefix(PACKAGE + '.')}:{getattr(code, 'co_qualname', code.co_name)}"


def _beginning(code: CodeType) -> int:
    """Return how far the code is when it is called anew; a coroutine that goes on is further."""
    resumes = (one.offset for one in dis.get_instructions(code) if one.opname == "RESUME")
    return next(resumes, -1)


class WatchedScheduler(Scheduler):
    """Scrapy's own scheduler; the recording ends when it has the refused request again."""

    def enqueue_request(self, request: scrapy.Request) -> bool:
        taken = super().enqueue_request(request)
        if Web.calls is not None and request.url == REFUSED:
            Web.calls.stop()
        return taken


def main(variant: str, shape: str, pages: str, count: str = "") -> None:  # noqa: C901
    """Crawl, and print what was counted."""
    settings = {**SETTINGS, **VARIANTS[variant]}
    folder = tempfile.TemporaryDirectory()
    if variant == "ledger":
        settings["MANDELBOT_LEDGER"] = f"{folder.name}/ledger.jsonl"
    elif variant == "watched":
        settings["MANDELBOT_REPORT"] = f"{folder.name}/report.json"
    elif variant.endswith("-job"):
        settings["JOBDIR"] = f"{folder.name}/job"
    recorder = Recorder()
    if count == "still":
        settings["CONCURRENT_ITEMS"] = 1
        gc.disable()
    if count == "trace":
        import_module(f"{PACKAGE}.politeness.retry_after")  # else the first 503 would load it
        settings["SCHEDULER"] = WatchedScheduler
        Web.calls, Web.refusals = recorder, int(pages)
    spider, arguments = SHAPES[shape](int(pages))
    process = CrawlerProcess(settings)
    crawler = process.create_crawler(spider)
    process.crawl(crawler, **arguments)
    if count == "calls":
        recorder.start()
    if count != "full":
        # A full collection looks through all that is loaded: one more or less, by chance, in so
        # short a crawl would hide what a page costs. Young objects are collected as ever.
        gc.set_threshold(*gc.get_threshold()[:2], 1_000_000)
    process.start()
    recorder.stop()
    folder.cleanup()
    stats = crawler.stats
    asked = int(pages) * (PAGES_OF_A_SITE if shape == "site" else 1)
    files = ("robotstxt/response_count", "mandelbot/usage/tdm_files")
    got = stats.get_value("response_received_count") - sum(stats.get_value(of, 0) for of in files)
    if shape not in {"refusal", "links"} and got != asked:
        sys.exit(f"{got} pages, not {asked}: {stats.get_stats()}")
    if count == "calls":
        print(json.dumps(Counter(name for name, _ in recorder.calls)))
    elif count == "modules":
        loaded = [one for name, one in sys.modules.items() if name.partition(".")[0] == PACKAGE]
        kinds = {one for module in loaded for one in vars(module).values() if isclass(one)}
        ours = [one for one in kinds if one.__module__.partition(".")[0] == PACKAGE]
        print(len(loaded), sum("__dataclass_fields__" in vars(one) for one in ours))
    elif count == "trace":
        print(json.dumps(recorder.calls))


if __name__ == "__main__":
    # By its own name, not __main__: Scrapy loads the handler from here.
    from without_network import main

    main(*sys.argv[1:])
