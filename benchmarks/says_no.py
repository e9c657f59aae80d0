"""What becomes of a crawl whose site says no in other ways than by a 503, beside stock
Scrapy.

Each crawl is a process of its own; the servers are threads of this one, on loopback,
and beside each a free site of twenty pages is crawled. Prints, for each case: pages got
of those there are, the seconds from the first request to the last of them, requests
that were refused or lost, and the pages of the free site. A crawl is ended after 60
seconds.

challenge   500 pages, all 403 with ``cf-mitigated: challenge``
price       500 pages, all 402 with ``crawler-price``
room        60 pages for who brings the cookie that a 503 sets
room opens  100 pages, and the same from the twentieth on
methods     60 pages by GET, HEAD and POST; the last two are refused; counted is GET
resets      30 pages; after the robots.txt connections are reset for 8 seconds
quota       200 pages, 20 in each 4 seconds, told by ``RateLimit`` on good answers

Usage::

    python benchmarks/says_no.py [CASE ...]
"""

from __future__ import annotations

import json
import math
import sys
import threading
import time
from email.utils import formatdate

import scrapy
from loopback import ADDON, SETTINGS, ThreadedSite, crawled, printed_by
from scrapy.downloadermiddlewares import cookies
from tldextract import TLDExtract

MOST_SECONDS = 60
RULES = b"User-agent: *\nDisallow:\n"


class Spider(scrapy.Spider):
    """Asks for what it is told to, and notes what comes of it, and when."""

    name = "says no"

    async def start(self):
        for method, url in self.wanted:
            yield scrapy.Request(url, method=method, dont_filter=True)

    def parse(self, response):
        self.got.append((time.time(), response.request.method, response.url))


def crawl(with_what: str, wanted: list[tuple[str, str]]) -> None:
    """Crawl in this process, and print what came of it."""
    # Scrapy would fetch a list of public suffixes for the first cookie.
    cookies._split_domain = TLDExtract(cache_dir=None, suffix_list_urls=())  # noqa: SLF001
    settings = {
        **SETTINGS,
        **(ADDON if with_what == "package" else {}),
        "CLOSESPIDER_TIMEOUT": MOST_SECONDS,
    }
    crawler = crawled(Spider, settings, wanted=wanted, got=[])
    print(json.dumps([crawler.spider.got, crawler.stats.get_value("finish_reason")]))


class Site(ThreadedSite):
    """A site whose answers a function makes.

    ``(method, path, cookie)`` to status and headers.
    """

    def __init__(self, answer, host: str = "127.0.0.1") -> None:
        super().__init__(self.respond, host)
        self.decide = answer
        self.hits: list[tuple[float, str, int]] = []

    def respond(self, request) -> tuple[int, dict, bytes]:
        decided = self.decide(
            request.command, request.path, request.headers.get("Cookie", "")
        )
        status, headers = decided or (200, {})
        self.hits.append((time.time(), request.path, status))
        headers = {
            "Date": formatdate(usegmt=True),
            "Content-Type": "text/plain",
            **headers,
        }
        return status, headers, RULES if request.path == "/robots.txt" else b"page"

    def pages(self, count: int, method: str = "GET") -> list[tuple[str, str]]:
        return [(method, f"{self.url}/page/{number}") for number in range(count)]


# How sites answer.


def always(status, headers):
    return lambda _m, path, _c: None if path == "/robots.txt" else (status, headers)


def waiting_room(opens_after: int):
    served = []

    def answer(_method, path, cookie):
        if path == "/robots.txt" or "pass=yes" in cookie or len(served) < opens_after:
            served.append(path)
            return None
        return 503, {"Set-Cookie": "pass=yes; Path=/"}

    return answer


def by_method(method, path, _cookie):
    return None if path == "/robots.txt" or method == "GET" else (503, {})


def resetting():
    since = []

    def answer(_method, path, _cookie):
        if path == "/robots.txt" and not since:
            since.append(time.time())
            return None
        return (0, {}) if since and time.time() < since[0] + 8 else None

    return answer


def quota():
    window = [0.0]
    used = [0]
    lock = threading.Lock()

    def answer(_method, path, _cookie):
        if path == "/robots.txt":
            return None
        with lock:
            now = time.time()
            if now >= window[0] + 4:
                window[0] = now
                used[0] = 0
            rest = math.ceil(window[0] + 4 - now)
            used[0] = used[0] + 1
            told = {"RateLimit": f'"default";r={max(0, 20 - used[0])};t={rest}'}
            return (200 if used[0] <= 20 else 429, told)

    return answer


CASES = {  # pages, and what answers
    "challenge": (500, lambda: always(403, {"cf-mitigated": "challenge"})),
    "price": (500, lambda: always(402, {"crawler-price": "USD 0.01"})),
    "room": (60, lambda: waiting_room(0)),
    "room opens": (100, lambda: waiting_room(20)),
    "methods": (60, lambda: by_method),
    "resets": (30, resetting),
    "quota": (200, quota),
}


def row(case: str, with_what: str) -> str:
    """Crawl, and return the line of it."""
    count, answer = CASES[case]
    site = Site(answer())
    wanted = site.pages(count)
    if case == "methods":
        wanted += site.pages(60, "HEAD") + site.pages(60, "POST")
    free = Site(lambda *_: None, "127.0.0.9")
    arguments = [with_what, [*wanted, *free.pages(20)]]
    got, reason = printed_by(__file__, "--crawl", json.dumps(arguments))
    pages = [
        at
        for at, method, url in got
        if not url.startswith(free.url) and method == "GET"
    ]
    beside = sum(url.startswith(free.url) for _, _, url in got)
    began = site.hits[0][0] if site.hits else 0.0
    refused = sum(
        status != 200 for _, path, status in site.hits if path != "/robots.txt"
    )
    in_all = sum(method == "GET" for method, _ in wanted)
    seconds = f"{max(pages) - began:.1f} s" if pages else "-"
    return (
        f"{case:<17}{with_what:<9}{len(pages):>4} of {in_all:<4}{seconds:>8}  refused"
        f" {refused:>4}  free {beside:>2}  {reason}"
    )


def main(names: list[str]) -> None:
    """Print the lines of these cases; of all, if none is named."""
    for case in names or CASES:
        for with_what in ("package", "stock"):
            print(row(case, with_what), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--crawl"]:
        crawl(*json.loads(sys.argv[2]))
    else:
        main(sys.argv[1:])
