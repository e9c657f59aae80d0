"""What it takes to be told how a crawl of many sites stands, in processor time of its loop.

Usage::

    python benchmarks/status.py [SITES ...]
    python benchmarks/status.py profile status|log|metrics [SITES]

Half of the sites have a pace and wait for their turns, four in ten are paused, one in ten may be
asked. Each has answered or refused one request, two more wait, and 64 are under way. Printed are
the milliseconds of

status      ``status(crawler)``
why_idle    ``why_idle(crawler)``, as text
log         the line beside LogStats', all its turns of the loop together, and the longest one
metrics     a measurement for the exporters, likewise
scrape      what Prometheus is given of it; in a thread of its own, and of no turn of the loop

Each is the least of some runs. The clock is turned by hand: what a turn of the loop takes is what
one call by the clock takes.
"""

# ruff: noqa: SLF001 - it looks inside
# ruff: noqa: E402 - what is imported has to find tests/, and a reactor

from __future__ import annotations

import cProfile
import gc
import logging
import pstats
import subprocess
import sys
import time
import urllib.request
from collections import defaultdict
from pathlib import Path

from scrapy.utils.reactor import install_reactor

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")

from clocks import TurnedClock
from queueing import open_scheduler, queue_crawler
from scrapy import Request

from scrapy_mandelbot import status, why_idle
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.report import metrics
from scrapy_mandelbot.report.metrics import CrawlMetrics
from scrapy_mandelbot.report.summary import CrawlSummary

SITES = (5_000, 10_000, 20_000, 50_000)
KINDS = ("paced", "paused") * 4 + ("paced", "open")
REQUESTS = 3  # of a site
UNDER_WAY = 64
RUNS = 5
LOG_INTERVAL = 60.0
SETTINGS = {
    "MANDELBOT_CRAWL_DELAYS": {"*.paced.example": 600},
    "MANDELBOT_METRICS": "127.0.0.1:0",
    "MANDELBOT_STORE": "memory",
    "MANDELBOT_PAUSE_OPTIONS": {"retry_after": 86_400},
    "LOGSTATS_INTERVAL": LOG_INTERVAL,
    "CONCURRENT_REQUESTS": 1_000_000,
}


class MeasuredClock(TurnedClock):
    """Notes the processor time of each call, by whose it is."""

    def __init__(self) -> None:
        super().__init__()
        self.turns: defaultdict[int, list[float]] = defaultdict(list)
        self.profile: cProfile.Profile | None = None
        self.profiled: set[int] = set()

    def call_later(self, seconds, call, *arguments):
        owner = id(getattr(call, "__self__", None))

        def timed(*given):
            gc.disable()
            if owner in self.profiled:
                self.profile.enable()
            began = time.process_time()
            call(*given)
            spent = time.process_time() - began
            if owner in self.profiled:
                self.profile.disable()
            gc.enable()
            self.turns[owner].append(spent)

        return super().call_later(seconds, timed, *arguments)


class ManySites:
    """A crawl that stands as told above; nothing is sent."""

    def __init__(self, sites: int) -> None:
        self.clock = MeasuredClock()
        self.crawler = queue_crawler(self.clock, **SETTINGS)
        self.crawler.crawling = True
        self._crawl = Crawl.of(self.crawler)
        self.log = CrawlSummary.from_crawler(self.crawler)
        self.metrics = CrawlMetrics.from_crawler(self.crawler)
        self._scheduler = open_scheduler(self.crawler)
        self.crawler.engine.scheduler = self._scheduler
        for number in range(sites):
            for path in range(REQUESTS):
                host = f"site{number}.{KINDS[number % len(KINDS)]}.example"
                self._scheduler.enqueue_request(Request(f"https://{host}/{path}"))
        for _ in range(sites):
            self._answer(self._next())
        self._under_way = [self._next() for _ in range(UNDER_WAY)]
        self.log.spider_opened()
        self.metrics.spider_opened(self.crawler.spider)
        self.clock.turn(LOG_INTERVAL / 2)

    def _next(self) -> Request:
        request = self._scheduler.next_request()
        self._crawl.throttle.admit(self._crawl.throttle.flight_of(request))
        return self.crawler.engine.downloader.send(request)

    def _answer(self, request: Request) -> None:
        throttle, downloader = self._crawl.throttle, self.crawler.engine.downloader
        flight = throttle.flight_of(request)
        downloader.active.discard(request)
        downloader.slots.pop(downloader.get_slot_key(request))
        if ".paused." in request.url:
            throttle.refused(flight, f"503 for {request}", 40_000.0)
        else:
            flight.site.tally.pages += 1
            throttle.answered(flight)
        throttle.let_go(flight)

    def log_line(self) -> list[float]:
        """Return what the turns of the loop took in which the log's line was made once."""
        log = self.log
        return self._turns(log, lambda: log._next is not None and self._turns_of(log))

    def measurement(self) -> list[float]:
        """Return what the turns of the loop took in which the metrics were measured once."""
        before = self.metrics.measured
        return self._turns(self.metrics, lambda: self.metrics.measured is not before)

    def _turns(self, extension, is_done) -> list[float]:
        self.clock.turns.clear()
        while not is_done():
            self.clock.turn(0.1)
        return self._turns_of(extension)

    def _turns_of(self, extension) -> list[float]:
        return [one for owner in owners(extension) for one in self.clock.turns[owner]]

    def close(self) -> None:
        self.metrics.spider_closed()
        self.log._next.cancel()

    def scrape(self) -> None:
        (exported,) = metrics._at_addresses.values()
        with urllib.request.urlopen(exported.url) as answer:
            answer.read()


def owners(extension) -> set[int]:
    return {id(extension), id(vars(extension).get("_steps"))}


def seconds_of(call, *arguments) -> float:
    gc.collect()
    gc.disable()
    try:
        began = time.process_time()
        call(*arguments)
        return time.process_time() - began
    finally:
        gc.enable()


def least(call, *arguments) -> float:
    return min(seconds_of(call, *arguments) for _ in range(RUNS))


def measure(sites: int) -> None:
    """Print a line."""
    many = ManySites(sites)
    crawler = many.crawler
    found = status(crawler)
    columns = [least(status, crawler), least(why_idle, crawler)]
    for turns in (many.log_line, many.measurement):
        turns()  # of the first one there may be the end only
        runs = [turns() for _ in range(RUNS)]
        columns += [min(map(sum, runs)), min(map(max, runs))]
    columns.append(least(many.scrape))
    told = ", ".join(f"{count:,} {reason}" for reason, count in found.by_reason.items())
    print(f"{sites:>7,}" + "".join(f"{1000 * one:>10.1f}" for one in columns) + f"  {told}")
    many.close()


def profile(what: str, sites: int) -> None:
    """Print where the time goes."""
    many = ManySites(sites)
    profiled = many.clock.profile = cProfile.Profile()
    if what == "status":
        profiled.runcall(status, many.crawler)
    elif what == "log":
        many.clock.profiled = owners(many.log)
        many.log_line()
    else:
        many.clock.profiled = owners(many.metrics)
        many.measurement()
    many.close()
    pstats.Stats(profiled).sort_stats("tottime").print_stats(25)


def main(*words: str) -> None:
    logging.disable(logging.CRITICAL)
    if words[:1] == ("profile",):
        profile(words[1], int(words[2]) if words[2:] else SITES[2])
        return
    if words[:1] == ("one",):
        measure(int(words[1]))
        return
    print(f"{'':7}{'status':>10}{'why_idle':>10}{'log':>10}{'longest':>10}", end="")
    print(f"{'metrics':>10}{'longest':>10}{'scrape':>10}  sites", flush=True)
    for sites in words or SITES:  # in a process each: crawls of one hear of each other's pauses
        subprocess.run([sys.executable, __file__, "one", str(sites)], check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
