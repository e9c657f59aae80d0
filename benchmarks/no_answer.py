"""What becomes of hosts that do not answer, and of files that break off, beside stock Scrapy.

Each crawl is a process of its own; the servers are threads of this one. Prints, for each case, how
long the crawl took, pages, pages that robots.txt closes, and what the errbacks got. A crawl is
ended after 60 seconds.

refused     a host at which nobody listens, with three requests
hangs       one that takes the connection and says nothing; five seconds are waited for an answer
resets      one that drops each connection
forty hang  forty hosts that take the connection and say nothing, ten seconds are waited for an
            answer, and behind them in the queue a site of sixty pages; 16 requests at once
ten dead    ten hosts at which nobody listens, and a site of twenty pages
error       a downloader middleware that raises KeyError at robots.txt, and a site of twenty pages
half        a site of twenty pages whose robots.txt breaks off after ``User-agent: *`` twice, and
            then comes whole: ten of the pages are closed
two crawls  of one site with one store, each in a process: from when one of them is refused (503,
            Retry-After: 5) to the last request of the other before the five seconds are over

Usage::

    python benchmarks/no_answer.py [CASE ...]
"""

from __future__ import annotations

import json
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import scrapy
from scrapy.crawler import CrawlerProcess

MOST_SECONDS = 60
RULES = b"User-agent: *\n" + b"".join(b"Disallow: /page/%d$\n" % n for n in range(10))


class RaisingMiddleware:
    """Cannot bear a robots.txt."""

    def process_request(self, request):
        if request.url.endswith("/robots.txt"):
            raise KeyError("no such header")


class Spider(scrapy.Spider):
    """Asks for what it is told to, and counts what comes of it."""

    name = "no answer"

    async def start(self):
        for url in self.urls:
            yield scrapy.Request(url, errback=self.failed)

    def parse(self, _response):
        self.pages += 1

    def failed(self, failure):
        self.failures[type(failure.value).__name__] += 1


def crawl(with_what: str, urls: list[str], settings: dict) -> None:
    """Crawl in this process, and print what came of it."""
    settings = {
        "ROBOTSTXT_OBEY": True,
        "LOG_LEVEL": "CRITICAL",
        "TELNETCONSOLE_ENABLED": False,
        "DOWNLOAD_DELAY": 0,
        "CLOSESPIDER_TIMEOUT": MOST_SECONDS,
        "MANDELBOT_STORE": "memory",
        **settings,
    }
    if with_what == "package":
        settings["ADDONS"] = {"scrapy_mandelbot.Addon": 500}
    process = CrawlerProcess(settings)
    crawler = process.create_crawler(Spider)
    began = time.monotonic()
    process.crawl(crawler, urls=urls, pages=0, failures=Counter())
    process.start()
    spider, reason = crawler.spider, crawler.stats.get_value("finish_reason")
    seconds = time.monotonic() - began
    print(json.dumps([seconds, spider.pages, dict(spider.failures), reason]))


def run(with_what: str, urls: list[str], **settings) -> subprocess.Popen:
    """Start a crawl in a process of its own."""
    arguments = json.dumps([with_what, urls, settings])
    command = [sys.executable, __file__, "--crawl", arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


class Site(ThreadingHTTPServer):
    """Some pages and their robots.txt; what was asked for is in `asked`."""

    daemon_threads = True

    def __init__(self, halves: int = 0, refuses: str = "", pages: int = 20) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.pages = pages
        self.asked: list[tuple[float, str]] = []
        self.halves = halves
        self.refuses = refuses
        self.refused_at = 0.0
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def urls(self) -> list[str]:
        return [f"http://127.0.0.1:{self.server_port}/page/{n}" for n in range(self.pages)]

    def handle_error(self, request, client_address) -> None:
        pass


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        site: Site = self.server
        site.asked.append((time.monotonic(), self.path))
        body = RULES if self.path == "/robots.txt" else b"page"
        if self.path == site.refuses and not site.refused_at:
            site.refused_at = time.monotonic()
            self.send_response(503)
            self.send_header("Retry-After", "5")
            body = b""
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.path == "/robots.txt" and site.halves:
            site.halves -= 1
            body = body[:14]
            self.close_connection = True
        self.wfile.write(body)

    def log_message(self, *_) -> None:
        pass


def refusing() -> str:
    """Return the URL of a port at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}"


def silent(*, resets: bool = False, host: str = "127.0.0.1") -> str:
    """Return the URL of a server that takes connections and says nothing, or drops them."""
    server = socket.create_server((host, 0))
    kept = []

    def serve() -> None:
        while True:
            connection, _ = server.accept()
            kept.append(connection)
            if resets:
                connection.recv(9)
                linger = struct.pack("ii", 1, 0)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                connection.close()

    threading.Thread(target=serve, daemon=True).start()
    return f"http://{host}:{server.getsockname()[1]}"


def tell(case: str, with_what: str, crawling: subprocess.Popen, site: Site | None = None) -> None:
    """Print a row of the table."""
    seconds, pages, failures, reason = json.loads(crawling.communicate()[0])
    closed = {f"/page/{n}" for n in range(10)}
    asked = 0 if site is None else sum(path in closed for _, path in site.asked)
    took = f"{seconds:.1f} s" if reason == "finished" else f"not over after {MOST_SECONDS} s"
    errors = ", ".join(f"{count} {name}" for name, count in sorted(failures.items()))
    print(f"{case:10}  {with_what:7}  {took:20}  {pages:5}  {asked:6}  {errors}")


def two_crawls() -> None:
    with tempfile.TemporaryDirectory() as folder:
        site = Site(refuses="/page/13")
        store = str(Path(folder, "store.db"))
        slow = {"MANDELBOT_STORE": store, "DOWNLOAD_DELAY": 0.2, "CONCURRENT_REQUESTS": 1}
        slow["RANDOMIZE_DOWNLOAD_DELAY"] = False
        urls = [f"{url}?{which}" for url in site.urls for which in range(2)]
        one = run("package", [site.urls[10], site.urls[13], *urls[2::2]], **slow)
        other = run("package", urls[1::2], **slow)
        results = [json.loads(crawling.communicate()[0])[1] for crawling in (one, other)]
        since = [at - site.refused_at for at, _ in site.asked]
        late = max(at for at in since if at < 5)
        print(
            f"two crawls: the last request {max(late, 0):.2f} s after the refusal, {results} pages"
        )


def main(cases: list[str]) -> None:
    print("case        with     took                  pages  closed  what errbacks got")
    for with_what in ("stock", "package"):
        for case, url, settings in (
            ("refused", refusing(), {}),
            (
                "hangs",
                silent(resets=False),
                {"DOWNLOAD_TIMEOUT": 5, "MANDELBOT_LIMITS": {"robots_timeout": 5}},
            ),
            ("resets", silent(resets=True), {}),
        ):
            if case in cases:
                tell(case, with_what, run(with_what, [f"{url}/{n}" for n in range(3)], **settings))
        if "forty hang" in cases:
            site = Site(pages=60)
            hang = [silent(host=f"127.0.1.{n}") + "/" for n in range(1, 41)]
            waits = {"DOWNLOAD_TIMEOUT": 10, "CONCURRENT_REQUESTS": 16}
            tell("forty hang", with_what, run(with_what, [*hang, *site.urls], **waits), site)
        if "ten dead" in cases:
            site = Site()
            dead = [refusing() + "/" for _ in range(10)]
            tell("ten dead", with_what, run(with_what, [*dead, *site.urls]), site)
        if "error" in cases:
            site = Site()
            raising = {"DOWNLOADER_MIDDLEWARES": {f"__main__.{RaisingMiddleware.__name__}": 500}}
            tell("error", with_what, run(with_what, site.urls, **raising), site)
        if "half" in cases:
            site = Site(halves=2)
            tell("half", with_what, run(with_what, site.urls), site)
    if "two crawls" in cases:
        two_crawls()


if __name__ == "__main__":
    ALL = ["refused", "hangs", "resets", "forty hang", "ten dead", "error", "half", "two crawls"]
    if sys.argv[1:2] == ["--crawl"]:
        crawl(*json.loads(sys.argv[2]))
    else:
        main(sys.argv[1:] or ALL)
