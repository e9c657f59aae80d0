"""Simulates several crawls of one site, and several sites of one download slot.

By the package as it comes and with ``MANDELBOT_CONCURRENCY = "fixed"``. The site, its
visitor and the crawls are those of ``bearable.py``.

crawls  each has as many requests at once as the project allows, and measures by itself:
        as processes with one ``MANDELBOT_STORE`` do, or workers on Redis with an engine
        of their own
slot    one crawl of so many names of the server, whose requests go through one download
        slot

Prints pages a second in all, requests in flight in all (the mean of the second half),
refusals, and a visitor's wait in milliseconds: median and 95th percentile.

Usage::

    python benchmarks/several_crawls.py [--seeds 3] [--pages 1600] [row ...]
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from itertools import product
from math import inf
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

from bearable import ROWS, LoadedCrawl, Row
from simulated_queue import FixedSiteAndQueue, SiteAndQueue

LAWS = {"fixed": FixedSiteAndQueue, "measured": SiteAndQueue}
NAMES = ("healthy 30 ms, 16", "4 workers, 16", "one thread 60 ms, 8", "16 workers, 32")


class Part:
    """One crawl of several, as its law sees it: a queue of its own."""

    def __init__(self, crawl: LoadedCrawl, queue: list[str], most: int) -> None:
        self._crawl = crawl
        self.queue = queue
        self.scenario = replace(crawl.scenario, in_flight=most)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._crawl, name)

    def put_back(self, url: str) -> None:
        self.queue.insert(0, url)


class Several:
    """A law for each crawl, or for each name of a server.

    It stands in for the queue of the crawl that simulates all of them.
    """

    lost = 0

    def __init__(
        self, crawl: LoadedCrawl, number: int, most: int, law: type[SiteAndQueue]
    ) -> None:
        self._most = most
        self._crawl = crawl
        queues = [crawl.queue[at::number] for at in range(number)]
        self._parts = [Part(crawl, queue, most) for queue in queues]
        self._in_flight = [0] * number
        self._laws = [law(part) for part in self._parts]  # type: ignore[arg-type]
        self._place_of = {url: at for at, queue in enumerate(queues) for url in queue}
        self._turn = 0
        crawl.queue = self  # type: ignore[assignment]
        self.in_flight: list[int] = []

    def __len__(self) -> int:
        return sum(len(part.queue) for part in self._parts)

    def _due(self, at: int, now: float) -> float:
        if not self._parts[at].queue or self._in_flight[at] >= self._most:
            return inf
        return self._laws[at].due(now)

    def due(self, now: float) -> float:
        return min(self._due(at, now) for at in range(len(self._laws)))

    def take(self, now: float) -> str | None:
        for _ in self._laws:
            self._turn = (self._turn + 1) % len(self._laws)
            if self._due(self._turn, now) <= now:
                return self._laws[self._turn].take(now)
        return None

    def sent(self, url: str, now: float) -> Any:
        at = self._place_of[url]
        self._in_flight[at] += 1
        self.in_flight.append(sum(self._in_flight))
        return self._laws[at].sent(url, now)

    def left(self, flight: Any, url: str, now: float) -> None:
        self._laws[self._place_of[url]].left(flight, url, now)

    def answered(self, flight: Any, url: str, now: float) -> None:
        at = self._place_of[url]
        self._in_flight[at] -= 1
        self._laws[at].answered(flight, url, now)

    def refused(
        self, flight: Any, url: str, now: float, retry_after: float | None
    ) -> None:
        at = self._place_of[url]
        self._in_flight[at] -= 1
        self._laws[at].refused(flight, url, now, retry_after)


class Figures(NamedTuple):
    """What came of it, all crawls together."""

    rate: float
    """Pages a second."""
    in_flight: float
    """Mean of the second half."""
    refused: float
    wait: float
    """Of a visitor, in seconds."""
    wait_95: float


class Shape(NamedTuple):
    """How many crawls there are, or how many names in the slot of one crawl."""

    name: str
    number: int
    is_one_slot: bool = False


SHAPES = (
    Shape("1 crawl", 1),
    Shape("2 crawls", 2),
    Shape("4 crawls", 4),
    Shape("2 in slot", 2, is_one_slot=True),
    Shape("8 in slot", 8, is_one_slot=True),
)


def figures(row: Row, law: str, shape: Shape, pages: int, seed: int) -> Figures:
    in_all = row.in_flight if shape.is_one_slot else shape.number * row.in_flight
    crawl = LoadedCrawl(
        Row(row.server, in_all),
        pages,
        seed,
        lambda one: Several(one, shape.number, row.in_flight, LAWS[law]),
    )
    result = crawl.run()
    in_flight: list[int] = crawl.law.in_flight
    waits = sorted(crawl.waits)
    return Figures(
        rate=result.rate,
        in_flight=mean(in_flight[len(in_flight) // 2 :]),
        refused=result.refused,
        wait=waits[len(waits) // 2],
        wait_95=waits[int(len(waits) * 0.95)],
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("row", nargs="*", default=NAMES)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--pages", type=int, default=1_600)
    options = parser.parse_args()
    head = "pages/s  in flight  refused  wait ms   95th"
    print(f"{'site, in flight':24} {'what':10} {'law':8} {head}")
    for name, shape, law in product(options.row, SHAPES, LAWS):
        runs = [
            figures(ROWS[name], law, shape, options.pages, seed)
            for seed in range(options.seeds)
        ]
        one = Figures(*map(median, zip(*runs, strict=True)))
        print(
            f"{name:24} {shape.name:10} {law:8} {one.rate:7.1f} {one.in_flight:10.1f}"
            f" {one.refused:8.0f} {1000 * one.wait:8.0f} {1000 * one.wait_95:6.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
