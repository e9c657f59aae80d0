"""Simulates crawls of sites that get slow under load, by the package's law and others.

A crawl as in ``laws.py`` (a millisecond of processor for each request, ten of network),
and a visitor of the site twice a second, who is never refused. Nothing reads a clock.
The laws:

law    the package with ``MANDELBOT_CONCURRENCY = "measured"``:
       :mod:`scrapy_mandelbot.politeness.measured_limit`
ramp   the package as it comes: 16 requests at once, and all when half are answered
stock  Scrapy: two more tries at once
auto   Scrapy with AutoThrottle as it comes: a start delay of 5 s, a target of 1
tuned  the same, tuned: a start delay of 0.1 s, a target of 4

Prints for each row and law: pages got, refusals, pages a second, the same from page 200
on, the median and the 95th percentile of a visitor's wait in milliseconds, the median
as times what it is in an empty site, and pages a second as a share of those of the
ramp (the median over the seeds). Healthy sites bear all that the project allows: h.

``--table`` writes docs/bearable.csv, which docs/measured.rst shows, with each row's
goals: a healthy site is crawled with 95 % of the ramp's pages a second at least (90 %
with more than 16 at once); any other from page 200 on with 90 % of the best law's that
gets all pages; and a visitor waits 3 times as long as in an empty site at most.

``--gate`` runs eleven rows with one seed, and exits with 1 if the package's law gets
fewer pages a second than its gate, as a share of the ramp's, or lets a visitor wait
longer.

Usage::

    python benchmarks/bearable.py [--seeds 5] [--pages 800] [--law law ...] [row ...]
    python benchmarks/bearable.py --table [--seeds 5]
    python benchmarks/bearable.py --gate
"""

from __future__ import annotations

import argparse
import csv
import heapq
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import cos, exp, inf
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import laws
import quotes
from simulated_queue import MeasuredSiteAndQueue, SiteAndQueue
from simulated_scenarios import Bucket, Scenario, Server, flat

_PROCESSOR = 0.001  # seconds a request
_NETWORK = 0.01  # seconds, there and back
_VISITS = 0.5  # seconds between two
_VISITOR = "/visitor"
_MANY = 999  # workers: as many as there are requests
_MANY_PAGES = 10**9
_LATE = 200  # pages after which a law should have found its pace
_TABLE = Path(__file__).parents[1] / "docs" / "bearable.csv"

Service = Callable[[str, float], float]


@dataclass
class LoadedServer(Server):
    """Has workers, which take a page of the queue each."""

    workers: int = _MANY
    """Pages that are made at once."""
    service: float | Service = 0.06
    """Seconds that a page takes a worker, or a function of URL and time."""
    crowd: float = inf
    """Requests inside that make each page take twice as long."""
    thrash: float = inf
    """The same, of those beyond the workers."""
    most_inside: float = inf
    """Requests inside beyond which the next one is refused."""
    slower: Callable[[float], float] = lambda _now: 1.0
    """Times as long as pages take, at a time."""
    limit: Bucket | None = None
    """Refuses by rate."""
    shares_line: bool = False
    """Whether all pages are sent at once over one line."""
    visitors_apart: bool = False
    """Whether visitors have workers that the crawl does not keep busy."""

    def __post_init__(self) -> None:
        self.inside = 0
        self.ends: list[float] = []  # of the pages under way
        self.line = _Line()

    def refuses(self, now: float) -> bool:
        """Return whether one more request is refused."""
        if self.inside >= self.most_inside:
            return True
        return self.limit is not None and self.limit.answer(now, "") is not None

    def workers_of(self, _url: str) -> tuple[int, list[float]]:
        """Return how many make such a page, and when those end that they make."""
        return self.workers, self.ends

    def seconds(self, url: str, now: float) -> float:
        """Return how long the page takes a worker."""
        service = self.service
        seconds = service(url, now) if callable(service) else service
        beyond = max(0, self.inside - self.workers)
        crowded = (1 + self.inside / self.crowd) * (1 + beyond / self.thrash)
        return seconds * self.slower(now) * crowded


class Growing(LoadedServer):
    """Has 64 workers after ten seconds."""

    def seconds(self, url: str, now: float) -> float:
        if now > 10:
            self.workers = 64
        return super().seconds(url, now)


class LockedServer(LoadedServer):
    """Makes its first pages one at a time, as behind a lock, and the rest at once."""

    first: int = 400
    """Pages that are made one at a time."""
    locked: float = 0.04
    """Seconds that one of them takes."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._locked_ends: list[float] = []

    def workers_of(self, url: str) -> tuple[int, list[float]]:
        is_locked = _number(url) < self.first
        return (1, self._locked_ends) if is_locked else super().workers_of(url)

    def seconds(self, url: str, now: float) -> float:
        return self.locked if _number(url) < self.first else super().seconds(url, now)


def _number(url: str) -> int:
    """Return a page's number; that of a visitor's page is that of none of the first."""
    digits = url.strip("/p")
    return int(digits) if digits.isdigit() else _MANY_PAGES


class _Line:
    """Pages that share one line: each has its part of it."""

    def __init__(self) -> None:
        self.pages: list[tuple[float, int, Callable[[], None]]] = []
        self.done = 0.0  # seconds of the line that each page under way has had
        self.at = 0.0
        self.turn = 0

    def go_on(self, now: float) -> None:
        if self.pages:
            self.done += (now - self.at) / len(self.pages)
        self.at = now
        self.turn += 1


class LoadedCrawl(laws.Crawl):
    """A crawl, and a visitor."""

    server: LoadedServer

    def __init__(
        self, row: Row, pages: int, seed: int, law: Callable[..., Any]
    ) -> None:
        scenario = Scenario(
            row.server, flat(pages), in_flight=row.in_flight, most_seconds=4_000.0
        )
        super().__init__(scenario, seed, law)
        self.waits: list[float] = []  # of visitors, in seconds
        self.good_at: list[float] = []
        self._visits = random.Random(77)

    def run(self) -> laws.Result:
        self._plan(0.1, self._visit)
        return super().run()

    def _plan(self, when: float, what: Callable[[], None]) -> None:
        heapq.heappush(self._events, (when, next(self._order), what, False))

    def _visit(self) -> None:
        if self.result.got + self.law.lost >= self.result.pages:
            return
        began = self.now
        self._enter(_VISITOR, lambda: self.waits.append(self.now - began))
        self._plan(self.now + _VISITS * self._visits.uniform(0.6, 1.4), self._visit)

    def _enter(self, url: str, answered: Callable[[], None]) -> None:
        """Let a request into the server."""
        server = self.server
        if server.visitors_apart and url == _VISITOR:
            self._plan(self.now + 0.03, answered)
            return
        server.inside += 1
        seconds = server.seconds(url, self.now)

        def leaves() -> None:
            server.inside -= 1
            answered()

        if server.shares_line:
            server.line.go_on(self.now)
            page = (server.line.done + seconds, next(self._order), leaves)
            heapq.heappush(server.line.pages, page)
            self._next_of_the_line()
            return
        workers, ends = server.workers_of(url)
        ends[:] = [one for one in ends if one > self.now]
        begins = self.now
        if len(ends) >= workers:
            begins = sorted(ends)[-workers]
        ends.append(begins + seconds)
        self._plan(begins + seconds, leaves)

    def _next_of_the_line(self) -> None:
        line = self.server.line
        if not line.pages:
            return
        turn = line.turn

        def is_sent() -> None:
            if turn != line.turn:
                return
            line.go_on(self.now)
            leaves = heapq.heappop(line.pages)[2]
            leaves()
            self._next_of_the_line()

        left = (line.pages[0][0] - line.done) * len(line.pages)
        self._plan(self.now + max(0.0, left), is_sent)

    def _send(self, url: str) -> None:
        self._free_at = self.now + _PROCESSOR
        self._in_flight += 1
        self._sent.add(url)
        told = self.law.sent(url, self.now)
        began = self.now
        self.law.left(told, url, self.now)

        def comes_back(*, is_refused: bool) -> None:
            self._in_flight -= 1
            self.law.latency = self.now - began
            if is_refused:
                self.result.refused += 1
                self.law.refused(told, url, self.now, None)
                return
            if url not in self._got_again:
                self.result.got += 1
                self.result.last_good = self.now
                self.good_at.append(self.now)
            self.law.answered(told, url, self.now)

        def reaches() -> None:
            if self.server.refuses(self.now):
                self.at(self.now + _NETWORK / 2, lambda: comes_back(is_refused=True))
                return
            self._enter(
                url,
                lambda: self.at(
                    self.now + _NETWORK / 2, lambda: comes_back(is_refused=False)
                ),
            )

        self._plan(self.now + _NETWORK / 2, reaches)


class Stock(laws.Stock):
    """Scrapy's RetryMiddleware."""

    lost = 0

    def refused(
        self, _told: Any, url: str, _now: float, _retry_after: float | None
    ) -> None:
        self.times[url] = self.times.get(url, 0) + 1
        if self.times[url] > 2:
            self.lost += 1
        else:
            self.crawl.queue.append(url)


class AutoThrottle(Stock):
    """Scrapy's AutoThrottle, by its documentation."""

    start = 5.0
    target = 1.0
    most = 60.0
    latency = 0.0

    def __init__(self, crawl: Any) -> None:
        super().__init__(crawl)
        self.delay = self.start
        self.may_go_at = 0.0

    def due(self, now: float) -> float:
        return max(now, self.may_go_at)

    def sent(self, _url: str, now: float) -> None:
        self.may_go_at = now + self.delay * self.crawl.random.uniform(0.5, 1.5)

    def answered(self, _told: Any, _url: str, _now: float) -> None:
        self._adjust(is_good=True)

    def refused(
        self, told: Any, url: str, now: float, retry_after: float | None
    ) -> None:
        self._adjust(is_good=False)
        super().refused(told, url, now, retry_after)

    def _adjust(self, *, is_good: bool) -> None:
        wanted = self.latency / self.target
        delay = min(max(wanted, (self.delay + wanted) / 2), self.most)
        if is_good or delay > self.delay:
            self.delay = delay


class Tuned(AutoThrottle):
    start = 0.1
    target = 4.0


class Ramp(SiteAndQueue):
    """The package as it comes."""

    lost = 0


class Law(MeasuredSiteAndQueue):
    """The package with ``MANDELBOT_CONCURRENCY = "measured"``."""

    lost = 0


LAWS: dict[str, Callable[..., Any]] = {
    "law": Law,
    "ramp": Ramp,
    "stock": Stock,
    "auto": AutoThrottle,
    "tuned": Tuned,
}


# Sites.


@dataclass
class Row:
    """A site, and how many requests the project allows at once."""

    server: Callable[[random.Random], LoadedServer]
    in_flight: int


def _mixed(chance: random.Random, fast: float, slow: float, every: int) -> Any:
    """One page in so many is slow, however often it is requested."""
    kinds: dict[str, float] = {}

    def seconds(url: str, _now: float) -> float:
        if url == _VISITOR:
            return fast
        if url not in kinds:
            kinds[url] = slow if chance.random() * every < 1 else fast
        return kinds[url]

    return seconds


def _log_normal(chance: random.Random, middle: float, sigma: float) -> Any:
    def seconds(url: str, _now: float) -> float:
        if url == _VISITOR:
            return middle
        return middle * exp(chance.gauss(0, sigma))

    return seconds


def _jitter(chance: random.Random, middle: float, spread: float) -> Any:
    return lambda _url, _now: middle * chance.uniform(1 - spread, 1 + spread)


def _bursts(chance: random.Random) -> Callable[[float], float]:
    """Somebody else keeps the site busy, for a second in four."""
    period = 4.0 + chance.random()
    return lambda now: 3.0 if now % period < 1.0 else 1.0


def _by_size(chance: random.Random) -> Any:
    return lambda _url, _now: exp(chance.uniform(-4.6, 1.1))


def _long_first(url: str, _now: float) -> float:
    return 30.0 if _number(url) < 16 else 0.05


def _locked(first: int, locked: float, later: float) -> LockedServer:
    server = LockedServer(_MANY, later)
    server.first, server.locked = first, locked
    return server


def _download(url: str, _now: float) -> float:
    return 0.0005 if url == _VISITOR else 0.1


def _same(*args: Any, **named: Any) -> Callable[[random.Random], LoadedServer]:
    return lambda _chance: LoadedServer(*args, **named)


def _healthy() -> dict[str, Row]:
    rows = {
        f"healthy 30 ms, {number}": Row(_same(_MANY, 0.03), number)
        for number in (1, 2, 8, 16, 64)
    }
    rows["healthy 1 s, 8"] = Row(_same(_MANY, 1.0), 8)
    rows["CDN 2 ms, 16"] = Row(_same(_MANY, 0.002), 16)
    rows["jitter 50 %, 8"] = Row(
        lambda chance: LoadedServer(_MANY, _jitter(chance, 0.1, 0.9)), 8
    )
    rows["0.05 to 3 s, 8"] = Row(
        lambda chance: LoadedServer(_MANY, _jitter(chance, 1.525, 0.967)), 8
    )
    for number in (8, 32):
        rows[f"mixed 10 ms, 2 s (1 of 3), {number}"] = Row(
            lambda chance: LoadedServer(_MANY, _mixed(chance, 0.01, 2.0, 3)), number
        )
    rows["one slow kind 5 s (1 of 20), 8"] = Row(
        lambda chance: LoadedServer(_MANY, _mixed(chance, 0.05, 5.0, 20)), 8
    )
    for sigma, number in ((1.0, 8), (1.0, 32), (1.5, 16)):
        rows[f"log-normal {sigma}, {number}"] = Row(
            lambda chance, sigma=sigma: LoadedServer(
                _MANY, _log_normal(chance, 0.1, sigma)
            ),
            number,
        )
    rows["day: 1 to 3 times slow, 8"] = Row(
        _same(_MANY, 0.1, slower=lambda now: 2 - cos(now / 8)), 8
    )
    for number in (8, 32):
        rows[f"another's bursts 3 times, {number}"] = Row(
            lambda chance: LoadedServer(_MANY, 0.1, slower=_bursts(chance)), number
        )
    for first, later, number in ((400, 1.5, 8), (400, 0.04, 8), (400, 1.5, 16)):
        rows[f"400 locked 40 ms, then {later} s, {number}"] = Row(
            lambda _chance, first=first, later=later: _locked(first, 0.04, later),
            number,
        )
    for number in (16, 64):
        rows[f"10 ms to 3 s by size, {number}"] = Row(
            lambda chance: LoadedServer(_MANY, _by_size(chance)), number
        )
    for number in (64, 200):
        rows[f"healthy 2 s, {number}"] = Row(_same(_MANY, 2.0), number)
    rows["16 of 30 s first, 16"] = Row(_same(_MANY, _long_first), 16)
    rows["4 workers, 2"] = Row(_same(4, 0.06, crowd=8), 2)
    rows["16 workers, 8"] = Row(_same(16, 0.06, crowd=32), 8)
    rows["64 workers, 64"] = Row(_same(64, 0.06), 64)
    return rows


def _others() -> dict[str, Row]:
    rows: dict[str, Row] = {}
    for number in (8, 32):
        rows[f"downloads, line shared, {number}"] = Row(
            _same(_MANY, _download, shares_line=True), number
        )
        rows[f"one thread 60 ms, {number}"] = Row(_same(1, 0.06), number)
        rows[f"thrashing, {number}"] = Row(_same(4, 0.06, thrash=6), number)
    for number in (8, 16, 64):
        rows[f"4 workers, {number}"] = Row(_same(4, 0.06, crowd=8), number)
    for number in (16, 32, 100):
        rows[f"refuses at 24 inside, {number}"] = Row(
            _same(4, 0.06, crowd=8, most_inside=24), number
        )
    rows |= {
        "4 workers, pages differ, 16": Row(
            lambda chance: LoadedServer(4, _log_normal(chance, 0.05, 0.8), crowd=8), 16
        ),
        "16 workers, 32": Row(_same(16, 0.06, crowd=32), 32),
        "64 workers, 200": Row(_same(64, 0.06), 200),
        "6 connections, 16": Row(_same(_MANY, 0.1, most_inside=6), 16),
        "6 connections, others wait, 16": Row(_same(6, 0.1), 16),
        "10/s burst 20 refuses, 8": Row(
            lambda _chance: LoadedServer(_MANY, 0.03, limit=Bucket(10, 20)), 8
        ),
        "20/s delays, 8": Row(_same(1, 0.05, visitors_apart=True), 8),
        "4 times slower after 3 s, 16": Row(
            _same(4, 0.06, crowd=8, most_inside=24, slower=_slower_from_3), 16
        ),
        "slower from 3 to 20 s, 16": Row(
            _same(16, 0.06, crowd=32, slower=_slower_for_a_while), 16
        ),
        "4 workers to 10 s, then 64, 32": Row(lambda _chance: Growing(4), 32),
    }
    return rows


def _slower_from_3(now: float) -> float:
    return 4.0 if now > 3 else 1.0


def _slower_for_a_while(now: float) -> float:
    return 6.0 if 3 < now < 20 else 1.0


HEALTHY = _healthy()
ROWS = HEALTHY | _others()


GATES = {
    "healthy 30 ms, 8": (0.95, 1.1),
    "healthy 30 ms, 64": (0.95, 1.1),
    "16 workers, 8": (0.95, 1.4),
    "64 workers, 64": (0.95, 1.1),
    "log-normal 1.0, 32": (0.9, 1.1),
    "another's bursts 3 times, 8": (0.95, 1.1),
    "one thread 60 ms, 8": (0.95, 5.0),
    "4 workers, 64": (9.0, 2.0),
    "thrashing, 32": (5.0, 2.2),
    "6 connections, 16": (0.98, 1.1),
    "10/s burst 20 refuses, 8": (0.98, 1.1),
}
"""By row: the least share of the ramp's pages a second, and the most times that a
visitor waits as long as in an empty site.
"""


# Figures.


@dataclass
class Figures:
    """What came of a crawl."""

    got: float
    refused: float
    rate: float
    """Pages a second."""
    late_rate: float
    """The same, from page 200 on."""
    wait: float
    """Of a visitor, the median of it in seconds."""
    wait_95: float
    times: float
    """That median, as times what it is in an empty site in the same seconds."""


def figures(row: Row, law: str, seed: int, pages: int) -> Figures:
    crawl = LoadedCrawl(row, pages, seed, LAWS[law])
    result = crawl.run()
    waits = sorted(crawl.waits) or [0.0]
    good = crawl.good_at
    late = 0.0
    if len(good) > _LATE + 20:
        late = (len(good) - _LATE) / (good[-1] - good[_LATE - 1])
    wait = waits[len(waits) // 2]
    return Figures(
        got=result.got,
        refused=result.refused,
        rate=result.rate,
        late_rate=late,
        wait=wait,
        wait_95=waits[int(len(waits) * 0.95)],
        times=wait / _empty_wait(row, min(result.last_good, 200.0)),
    )


def _empty_wait(row: Row, seconds: float) -> float:
    """Return a visitor's median wait where nobody crawls, in as many seconds."""
    alone = Row(row.server, 1)
    crawl = LoadedCrawl(alone, 1, 0, Stock)
    crawl.scenario = replace(crawl.scenario, most_seconds=max(2.0, seconds))
    crawl.result.pages = 10**9
    crawl.queue.clear()
    crawl.run()
    return sorted(crawl.waits)[len(crawl.waits) // 2]


def medians(row: Row, law: str, seeds: range, pages: int) -> Figures:
    runs = [figures(row, law, seed, pages) for seed in seeds]
    return Figures(
        **{name: median(vars(run)[name] for run in runs) for name in vars(runs[0])}
    )


def share(row: Row, law: str, seeds: range, pages: int) -> float:
    """Return a law's pages a second as a share of those of the package without it."""
    return median(
        figures(row, law, seed, pages).rate / figures(row, "ramp", seed, pages).rate
        for seed in seeds
    )


_HEADS = {
    "stock": "stock",
    "auto": "AutoThrottle",
    "tuned": "tuned",
    "ramp": "fixed",
    "law": "measured",
}
"""Of the table, by law."""


def write_table(seeds: range, pages: int) -> None:
    """Write all rows with their goals; print how many reach them."""
    rows = [_table_row(name, seeds, pages) for name in ROWS]
    with _TABLE.open("w", encoding="utf-8", newline="") as file:
        written = csv.writer(file, lineterminator="\n")
        written.writerow(["site; requests at once", *_HEADS.values(), "goals"])
        written.writerows(rows)
    quotes.write_pages()
    met = sum(row[-1] == "met" for row in rows)
    print(f"goals met: {met} of {len(rows)}")


def _table_row(name: str, seeds: range, pages: int) -> list[str]:
    row = ROWS[name]
    laws = {law: medians(row, law, seeds, pages) for law in _HEADS}
    missed = [
        *_missed_speed(name, laws, seeds, pages),
        *_missed_wait(laws["law"]),
    ]
    site, _, number = name.rpartition(", ")
    return [
        f"{site}; {number}",
        *(_cell(one, pages) for one in laws.values()),
        ", ".join(missed) or "met",
    ]


def _missed_speed(
    name: str, laws: dict[str, Figures], seeds: range, pages: int
) -> list[str]:
    if name in HEALTHY:
        least = 0.95 if ROWS[name].in_flight <= 16 else 0.9
        reached = share(ROWS[name], "law", seeds, pages)
        return [f"{reached:.0%} of fixed"] if reached < least else []
    best = max(one.late_rate for one in laws.values() if one.got == pages)
    reached = laws["law"].late_rate / best
    return [f"{reached:.0%} of the best"] if reached < 0.9 else []


def _missed_wait(figures: Figures) -> list[str]:
    return [f"a wait of {figures.times:.1f}"] if figures.times > 3.0 else []


def _cell(figures: Figures, pages: int) -> str:
    if figures.got < pages:
        return f"{figures.got:.0f} of {pages} pages"
    rate = f"{figures.rate:.0f}" if figures.rate >= 20 else f"{figures.rate:.1f}"
    times = f"{figures.times:.0f}" if figures.times >= 20 else f"{figures.times:.1f}"
    return f"{rate}; {times}"


def hold_to_gates(pages: int) -> None:
    """Print eleven rows beside their gates; exit with 1 if one does not hold."""
    failed = []
    for name, (least, most) in GATES.items():
        law, ramp = (figures(ROWS[name], one, 0, pages) for one in ("law", "ramp"))
        of_ramp = law.rate / ramp.rate
        times = law.times
        word = ""
        if of_ramp < least or times > most:
            word = "FAILS"
            failed.append(name)
        print(
            f"{name:32} {of_ramp:6.2f}  gate {least:5.2f}"
            f"  {times:5.1f}x  gate {most:4.1f}x  {word}".rstrip()
        )
    if failed:
        sys.exit(f"outside of the gates: {', '.join(failed)}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("row", nargs="*")
    parser.add_argument("--gate", action="store_true")
    parser.add_argument("--table", action="store_true", help="write docs/bearable.csv")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--pages", type=int, default=800)
    parser.add_argument("--law", action="append", choices=LAWS)
    options = parser.parse_args()
    if options.gate:
        hold_to_gates(options.pages)
        return
    seeds = range(options.seeds)
    if options.table:
        write_table(seeds, options.pages)
        return
    print(
        f"  {'site, in flight':32} {'law':6} got  refused pages/s    late"
        "  wait ms   95th  times  share"
    )
    for name, row in ROWS.items():
        if options.row and not any(name.startswith(one) for one in options.row):
            continue
        for law in options.law or LAWS:
            one = medians(row, law, seeds, options.pages)
            of_off = share(row, law, seeds, options.pages)
            print(
                f"{'h' if name in HEALTHY else ' '} {name:32} {law:6} {one.got:4.0f}"
                f" {one.refused:7.0f} {one.rate:7.1f} {one.late_rate:7.1f}"
                f" {1000 * one.wait:8.0f} {1000 * one.wait_95:6.0f} {one.times:5.1f}x"
                f" {of_off:6.0%}",
                flush=True,
            )


if __name__ == "__main__":
    main()
