"""How a crawl fares with servers that refuse: laws of recovery beside each other and
stock Scrapy.

Each crawl is a process of its own, and so is each server. Prints, for each server and
law, pages crawled, refusals as a share of the pages, the time, how much of it was spent
in pauses, and the rate outside of pauses as a share of what the server allows. A crawl
is ended after 40 seconds. The laws:

stock Scrapy        RetryMiddleware asks again at once
pause, then open    MANDELBOT_PAUSE_OPTIONS["recovery"] = False: all at once after it
pause, then a pace  the package as it comes

limits      nginx with limit_req, at a rate a second and a burst (Debian: nginx-light)
oddities    one page that always answers 503; a server up for two seconds and down for
            one; one that is down for some seconds; one whose limit halves
neighbours  what one paused site of ten costs the other nine

Usage::

    python benchmarks/pauses.py [limits|oddities|neighbours ...]

As ``pauses.py serve PAGES BEHAVIOUR [HOST]`` it is the server, which prints its port,
serves until its standard input is closed, and then prints what it answered, as JSON.
Pages are ``/0`` to ``/N``; ``/`` links to all of them. A behaviour is
``limit:RATE:BURST``, ``halving:RATE:BURST`` (after ten seconds), ``flapping`` (up two
seconds, down one), ``down:SECONDS`` (after 50 pages), ``closed:SECONDS`` (the same,
with Retry-After), ``odd:RATE:BURST`` (a limit whose refusals are 429, 430, 509 and 529
in turn), ``one-page`` (page 7 answers 503), or ``well``.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import tempfile
from collections import Counter
from itertools import cycle
from pathlib import Path
from time import monotonic

import scrapy
from loopback import ADDON, SETTINGS, Serving, crawled, printed_by, serve_answers

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))
MOST_SECONDS = 40
LAWS = {
    "stock Scrapy": {},
    "pause, then open": {**ADDON, "MANDELBOT_PAUSE_OPTIONS": {"recovery": False}},
    "pause, then a pace": ADDON,
}
LIMITS = [
    ("nginx:5:0", 60),
    ("nginx:5:5", 60),
    ("nginx:30:0", 600),
    ("nginx:30:5", 600),
    ("nginx:200:0", 2000),
    ("nginx:200:5", 2000),
    ("nginx:200:20", 2000),
]
ODDITIES = [
    ("one-page", 300),
    ("flapping", 3000),
    ("down:10", 300),
    ("closed:5", 300),
    ("halving:30:5", 600),
]


def crawl(urls: list[str], settings: dict) -> None:
    """Crawl in this process, and print what came of it as JSON."""

    class Spider(scrapy.Spider):
        name = "benchmark"
        start_urls = urls

        def __init__(self) -> None:
            super().__init__()
            self.pages: dict[str, list[float]] = {}

        def parse(self, response):
            site = response.url.rpartition("/")[0]
            self.pages.setdefault(site, []).append(monotonic())
            yield from response.follow_all(css="a", callback=self.parse)

    # A law that pauses a second for every page would take ten minutes for 600.
    settings = {**SETTINGS, "CLOSESPIDER_TIMEOUT": MOST_SECONDS, **settings}
    crawler = crawled(Spider, settings)
    stats = crawler.stats.get_stats()
    pages = crawler.spider.pages
    print(
        json.dumps(
            {
                "pages": {site: len(times) for site, times in pages.items()},
                "spans": {site: times[-1] - times[0] for site, times in pages.items()},
                "seconds": stats["elapsed_time_seconds"],
                "paused": stats.get("mandelbot/pause/seconds", 0),
            }
        )
    )


class Refusing:
    """Pages, and when they are refused."""

    def __init__(self, pages: int, behaviour: str) -> None:
        kind, *numbers = behaviour.split(":")
        self._refuses = getattr(self, "_" + kind.replace("-", "_"))
        self._numbers = [float(number) for number in numbers]
        self._index = "".join(f'<a href="/{n}">{n}</a>' for n in range(pages))
        self._statuses = cycle([429, 430, 509, 529])
        self._excess = 0.0
        self._last = -1e9
        self._began: float | None = None
        self._closed_at: float | None = None
        self._served = 0
        self.answered = {"statuses": Counter(), "refusals": 0}

    def answer(self, _host: str, _port: int, path: str) -> tuple[int, str, str]:
        """Return status, content type with further headers, and body."""
        now = monotonic()
        self._began = self._began or now
        refused = path != "/robots.txt" and self._refuses(path, now)
        status = 503 if refused is True or isinstance(refused, str) else refused or 200
        self.answered["statuses"][status] += 1
        if path != "/robots.txt" and not refused:
            self._served += 1
        elif refused:
            self.answered["refusals"] += 1
        headers = "text/html"
        if isinstance(refused, str):
            headers += f"\r\nRetry-After: {refused}"
        page = f"<html><body>page {path}</body></html>"
        return status, headers, self._index if path == "/" else page

    def _limit(self, _path, now):
        rate, burst = self._numbers
        excess = max(0.0, self._excess - (now - self._last) * rate + 1)
        if self._last < 0:
            excess = 0.0
        if excess > burst:
            return True
        self._excess = excess
        self._last = now
        return False

    def _odd(self, path, now):
        return next(self._statuses) if self._limit(path, now) else False

    def _halving(self, path, now):
        if now - self._began > 10 and len(self._numbers) == 2:
            self._numbers = [self._numbers[0] / 2, self._numbers[1]]
            self._halving = self._refuses = self._limit
        return self._limit(path, now)

    def _flapping(self, _path, now):
        return (now - self._began) % 3 >= 2

    def _down(self, _path, now):
        if self._served >= 50 and self._closed_at is None:
            self._closed_at = now
        return self._closed_at is not None and now - self._closed_at < self._numbers[0]

    def _closed(self, path, now):
        if not self._down(path, now):
            return False
        return str(max(1, round(self._numbers[0] - (now - self._closed_at))))

    @staticmethod
    def _one_page(path, _now):
        return path == "/7"

    @staticmethod
    def _well(_path, _now):
        return False


def serve(pages: str, behaviour: str, host: str = "127.0.0.1") -> None:
    site = Refusing(int(pages), behaviour)
    asyncio.run(serve_answers([host], site.answer))
    print(json.dumps(site.answered), flush=True)


class Server(Serving):
    """A refusing server in a process of its own."""

    def __init__(self, pages: int, behaviour: str, host: str = "127.0.0.1") -> None:
        super().__init__(__file__, "serve", pages, behaviour, host)
        self.url = f"http://{host}:{self.port}/"


class LimitedNginx:
    """The nginx of the tests, with a limit."""

    def __init__(self, pages: int, behaviour: str) -> None:
        from nginx import Nginx  # noqa: PLC0415 -- of the tests

        _, rate, burst = behaviour.split(":")
        self._folder = tempfile.TemporaryDirectory()
        self._nginx = Nginx(Path(self._folder.name), int(rate), int(burst))
        self._nginx.pages(pages)
        self._nginx.start()
        self.url = f"{self._nginx.url}/"

    def stop(self) -> dict:
        self._nginx.stop()
        statuses = Counter(map(str, self._nginx.statuses()))
        self._folder.cleanup()
        return {"statuses": statuses}


def _of_the_rate(behaviour: str, got: int, result: dict) -> float:
    """Return the share of a limit that was used, outside of pauses."""
    _, rate, _ = behaviour.split(":")
    return got / max(0.001, result["seconds"] - result["paused"]) / float(rate)


def table(servers: list[tuple[str, int]]) -> None:
    print(
        f"{'server':<14} {'law':<19} {'pages':>11} {'refused':>8} {'time':>7}"
        f" {'paused':>7} {'of the rate':>11}"
    )
    for behaviour, pages in servers:
        for law, settings in LAWS.items():
            make = LimitedNginx if behaviour.startswith("nginx") else Server
            server = make(pages, behaviour)
            result = printed_by(
                __file__, "--crawl", json.dumps([[server.url], settings])
            )
            refused = server.stop()["statuses"].get("503", 0)
            got = sum(result["pages"].values())
            share = ""
            if behaviour.startswith("nginx"):
                share = f"{_of_the_rate(behaviour, got, result):.0%}"
            print(
                f"{behaviour:<14} {law:<19} {got:>5} of"
                f" {pages + 1:<4}{refused / pages:>7.1%} {result['seconds']:>6.1f}s"
                f" {result['paused']:>6.1f}s {share:>11}",
                flush=True,
            )


def neighbours() -> None:
    """One site of ten pauses for five seconds: pages a second of the other nine."""
    rates = {}
    for behaviour in ("well", "closed:5", "well", "closed:5"):
        servers = [
            Server(400, behaviour if n == 0 else "well", f"127.0.0.{n + 1}")
            for n in range(10)
        ]
        urls = [server.url for server in servers]
        result = printed_by(__file__, "--crawl", json.dumps([urls, ADDON]))
        for server in servers:
            server.stop()
        others = [site for site in result["pages"] if "127.0.0.1:" not in site]
        rate = sum(result["pages"][s] for s in others) / max(
            result["spans"][s] for s in others
        )
        rates[behaviour] = max(rate, rates.get(behaviour, 0))
    print("\nnine sites, the tenth well or paused for 5 s; the better of two runs")
    print(f"pages a second, tenth site well    {rates['well']:>8.0f}")
    print(f"pages a second, tenth site paused  {rates['closed:5']:>8.0f}")
    print(
        f"ratio                              {rates['closed:5'] / rates['well']:>8.2f}"
    )


def main(wanted: list[str]) -> None:
    if "limits" in wanted and shutil.which("nginx") is None:
        print("nginx is not installed (Debian: nginx-light): limits are left out")
    elif "limits" in wanted:
        table(LIMITS)
    if "oddities" in wanted:
        table(ODDITIES)
    if "neighbours" in wanted:
        neighbours()


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--crawl", arguments]:
            crawl(*json.loads(arguments))
        case ["serve", *arguments]:
            serve(*arguments)
        case wanted:
            main(wanted or ["limits", "oddities", "neighbours"])
