"""How a crawl fares with servers that refuse: laws of recovery beside each other and stock Scrapy.

Each crawl is a process of its own, and so is each server. Prints, for each server and law, pages
crawled, refusals as a share of the pages, the time, how much of it was spent in pauses, and the
rate outside of pauses as a share of what the server allows. A crawl is ended after 40 seconds. The
laws:

stock Scrapy        RetryMiddleware asks again at once
pause, then open    MANDELBOT_PAUSE_OPTIONS["recovery"] = False: all at once after the pause
pause, then a pace  the package as it comes

limits      nginx with limit_req, at a rate a second and a burst (Debian: nginx-light)
slow        nginx with so many a minute; ended after ten minutes, and only where it is asked for
distant     a server 100 ms away, with such a limit, that says Retry-After: 1
oddities    one page that always answers 503; a server up for two seconds and down for one; one
            that is down for some seconds; one whose limit halves
neighbours  what one paused site of ten costs the other nine

Usage::

    python benchmarks/pauses.py [--ours] [limits|slow|distant|oddities|neighbours ...]
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import scrapy
from loopback import ADDON, SETTINGS, Serving, crawled, printed_by

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "tests" / "support"))
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
SLOW = [
    ("nginx:30m:5", 60),
    ("nginx:20m:10", 50),
    ("nginx:10m:0", 20),
]
DISTANT = [
    ("distant:5:0", 60),
    ("distant:30:0", 600),
    ("distant:30:5", 600),
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
            self.pages.setdefault(site, []).append(time.monotonic())
            yield from response.follow_all(css="a", callback=self.parse)

    # A law that pauses a second for every page would take ten minutes for 600.
    settings = {**SETTINGS, "CLOSESPIDER_TIMEOUT": MOST_SECONDS, **settings}
    crawler = crawled(Spider, settings)
    stats, pages = crawler.stats.get_stats(), crawler.spider.pages
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


class Server(Serving):
    """A refusing server in a process of its own."""

    def __init__(self, pages: int, behaviour: str, host: str = "127.0.0.1") -> None:
        super().__init__(HERE / "refusing_server.py", pages, behaviour, host)
        self.url = f"http://{host}:{self.port}/"


class LimitedNginx:
    """The nginx of the tests, with a limit."""

    def __init__(self, pages: int, behaviour: str) -> None:
        from nginx import Nginx  # noqa: PLC0415 -- of the tests

        _, rate, burst = behaviour.split(":")
        self._folder = tempfile.TemporaryDirectory()
        per = "m" if rate.endswith("m") else "s"
        self._nginx = Nginx(Path(self._folder.name), int(rate.rstrip("m")), int(burst), per=per)
        self._nginx.pages(pages)
        self._nginx.start()
        self.url = f"{self._nginx.url}/"

    def stop(self) -> dict:
        self._nginx.stop()
        statuses = Counter(map(str, self._nginx.statuses()))
        self._folder.cleanup()
        return {"statuses": statuses}


def run(urls: list[str], settings: dict) -> dict:
    """Crawl in a process of its own."""
    return printed_by(__file__, "--crawl", json.dumps([urls, settings]))


def _of_the_rate(behaviour: str, got: int, result: dict) -> float:
    """Return the share of a limit that was used; where it is told a second, outside of pauses."""
    _, rate, burst = behaviour.split(":")
    if rate.endswith("m"):
        return (got - int(burst)) / result["seconds"] / float(rate[:-1]) * 60
    return got / max(0.001, result["seconds"] - result["paused"]) / float(rate)


def table(servers: list[tuple[str, int]], most_seconds: int = MOST_SECONDS) -> None:
    print(
        f"{'server':<14} {'law':<19} {'pages':>11} {'refused':>8} {'time':>7} {'paused':>7}"
        f" {'of the rate':>11}"
    )
    for behaviour, pages in servers:
        for law, settings in LAWS.items():
            make = LimitedNginx if behaviour.startswith("nginx") else Server
            server = make(pages, behaviour)
            result = run([server.url], {**settings, "CLOSESPIDER_TIMEOUT": most_seconds})
            refused = server.stop()["statuses"].get("503", 0)
            got = sum(result["pages"].values())
            share = ""
            if behaviour.startswith(("nginx", "distant")):
                share = f"{_of_the_rate(behaviour, got, result):.0%}"
            print(
                f"{behaviour:<14} {law:<19} {got:>5} of {pages + 1:<4}{refused / pages:>7.1%}"
                f" {result['seconds']:>6.1f}s {result['paused']:>6.1f}s {share:>11}",
                flush=True,
            )


def neighbours() -> None:
    """One site of ten pauses for five seconds: pages a second of the other nine."""
    rates = {}
    for behaviour in ("well", "closed:5", "well", "closed:5"):
        servers = [
            Server(400, behaviour if n == 0 else "well", f"127.0.0.{n + 1}") for n in range(10)
        ]
        result = run([server.url for server in servers], ADDON)
        for server in servers:
            server.stop()
        others = [site for site in result["pages"] if "127.0.0.1:" not in site]
        rate = sum(result["pages"][s] for s in others) / max(result["spans"][s] for s in others)
        rates[behaviour] = max(rate, rates.get(behaviour, 0))
    print("\nnine sites, the tenth well or paused for 5 s; the better of two runs")
    print(f"pages a second, tenth site well    {rates['well']:>8.0f}")
    print(f"pages a second, tenth site paused  {rates['closed:5']:>8.0f}")
    print(f"ratio                              {rates['closed:5'] / rates['well']:>8.2f}")


def main() -> None:
    if sys.argv[1:2] == ["--crawl"]:
        crawl(*json.loads(sys.argv[2]))
        return
    if "--ours" in sys.argv:
        sys.argv.remove("--ours")
        for law in list(LAWS)[:-1]:
            del LAWS[law]
    wanted = sys.argv[1:] or ["limits", "distant", "oddities", "neighbours"]
    if "limits" in wanted and shutil.which("nginx") is None:
        print("nginx is not installed (Debian: nginx-light): limits are left out")
    elif "limits" in wanted:
        table(LIMITS)
    for name, servers, seconds in (
        ("slow", SLOW, 600),
        ("distant", DISTANT, MOST_SECONDS),
        ("oddities", ODDITIES, MOST_SECONDS),
    ):
        if name in wanted:
            table(servers, seconds)
    if "neighbours" in wanted:
        neighbours()


if __name__ == "__main__":
    main()
