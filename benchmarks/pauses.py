"""How a crawl fares with servers that refuse: our laws beside stock Scrapy.

Each crawl is a process of its own, and so is each server (``refusing_server.py``). Prints, for each
server and law, pages crawled, refusals as a share of the pages, the time, how much of it was spent
in pauses, and the rate outside of pauses as a share of what the server allows.

Then: what one paused site of ten costs the other nine, and how many requests reach a site that
pauses with sixteen under way.

Usage::

    python benchmarks/pauses.py [limits|oddities|neighbours|in-flight ...]
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import scrapy
from scrapy.crawler import CrawlerProcess

HERE = Path(__file__).parent
MOST_SECONDS = 60
LAWS = {
    "stock Scrapy": {},
    "pause, then open": {"ours": True, "MANDELBOT_RECOVERY": False},
    "pause, then a pace": {"ours": True},
}
LIMITS = [
    ("limit:5:0", 100),
    ("limit:30:0", 600),
    ("limit:30:5", 150),
    ("limit:30:5", 600),
    ("limit:200:0", 2000),
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

    ours = settings.pop("ours", False)
    process = CrawlerProcess(
        {
            "LOG_LEVEL": "ERROR",
            "TELNETCONSOLE_ENABLED": False,
            "REMOTE_CONTROL_ENABLED": False,
            "DOWNLOAD_DELAY": 0,
            "ROBOTSTXT_OBEY": True,
            "MANDELBOT_PAUSE_BASE": 2,
            # A law that pauses a second for every page would take ten minutes for 600.
            "CLOSESPIDER_TIMEOUT": MOST_SECONDS,
            "MANDELBOT_STORE": "memory",
            **({"ADDONS": {"scrapy_mandelbot.Addon": 500}} if ours else {}),
            **settings,
        }
    )
    crawler = process.create_crawler(Spider)
    process.crawl(crawler)
    process.start()
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


class Server:
    """A refusing server in a process of its own."""

    def __init__(self, pages: int, behaviour: str, host: str = "127.0.0.1") -> None:
        command = [sys.executable, HERE / "refusing_server.py", str(pages), behaviour, host]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.url = self._process.stdout.readline().strip()

    def stop(self) -> dict:
        answered, _ = self._process.communicate()
        return json.loads(answered)


def run(urls: list[str], settings: dict) -> dict:
    """Crawl in a process of its own."""
    command = [sys.executable, __file__, "--crawl", json.dumps([urls, settings])]
    out = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600).stdout
    return json.loads(out.splitlines()[-1])


def table(servers: list[tuple[str, int]]) -> None:
    print(
        f"{'server':<14} {'law':<19} {'pages':>11} {'refused':>8} {'time':>7} {'paused':>7}"
        f" {'of the rate':>11}"
    )
    for behaviour, pages in servers:
        for law, settings in LAWS.items():
            server = Server(pages, behaviour)
            result = run([server.url], dict(settings))
            refused = server.stop()["statuses"].get("503", 0)
            got = sum(result["pages"].values())
            share = ""
            if behaviour.startswith("limit"):
                rate = float(behaviour.split(":")[1])
                free = max(0.001, result["seconds"] - result["paused"])
                share = f"{got / free / rate:.0%}"
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
        result = run([server.url for server in servers], {"ours": True})
        for server in servers:
            server.stop()
        others = [site for site in result["pages"] if "127.0.0.1:" not in site]
        rate = sum(result["pages"][s] for s in others) / max(result["spans"][s] for s in others)
        rates[behaviour] = max(rate, rates.get(behaviour, 0))
    print("\nnine sites, the tenth well or paused for 5 s; the better of two runs")
    print(f"pages a second, tenth site well    {rates['well']:>8.0f}")
    print(f"pages a second, tenth site paused  {rates['closed:5']:>8.0f}")
    print(f"ratio                              {rates['closed:5'] / rates['well']:>8.2f}")


def in_flight() -> None:
    """Requests that reach a site which closes, with sixteen under way."""
    print("\nrefusals by a site that closes for 5 s, 16 requests under way")
    for law, settings in LAWS.items():
        server = Server(300, "closed:5")
        sixteen = {"CONCURRENT_REQUESTS": 16, "CONCURRENT_REQUESTS_PER_DOMAIN": 16}
        result = run([server.url], {**settings, **sixteen})
        refused = server.stop()["statuses"].get("503", 0)
        got = sum(result["pages"].values())
        print(f"{law:<19} {refused:>5} refusals, {got} of 301 pages")


def main() -> None:
    if sys.argv[1:2] == ["--crawl"]:
        crawl(*json.loads(sys.argv[2]))
        return
    wanted = sys.argv[1:] or ["limits", "oddities", "neighbours", "in-flight"]
    if "limits" in wanted:
        table(LIMITS)
    if "oddities" in wanted:
        table(ODDITIES)
    if "neighbours" in wanted:
        neighbours()
    if "in-flight" in wanted:
        in_flight()


if __name__ == "__main__":
    main()
