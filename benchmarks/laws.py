"""Simulates crawls of sites that refuse, by the law of this package and by others: no
clock, no sockets, so that an hour of pauses takes a second and a seed gives the same
figures anywhere.

A crawl has a queue of pages, so many requests in flight, and a millisecond of processor
time for each. A server answers each request well or with a 503, half a latency after it
was sent. The laws:

fixed       the package's states of sites (``scrapy_mandelbot.politeness``)
measured    the same, with ``MANDELBOT_CONCURRENCY = "measured"``
together    the same, of several names on one address, with ``MANDELBOT_TOGETHER``
stock       asks again at once, twice, and then fails
second      a pause of a second at each refusal, then all at once

Prints for each scenario the median of the seeds and the worst: pages got of those that
can be got, how many of those and of dead ones failed that were never sent, refusals
until the last good page in a hundred pages, seconds until that, pages a second, their
share of the allowed rate or how many times as long as need be it took (x), the longest
time without a request, requests sent too early, and when the crawl ended.

Usage::

    python benchmarks/laws.py [--seeds 20] [--law fixed] [scenario ...]
"""

from __future__ import annotations

import argparse
import heapq
import random
import sys
from dataclasses import dataclass
from functools import partial
from itertools import count
from math import inf
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parent))

from simulated_queue import (
    MeasuredSiteAndQueue,
    QueueOfHosts,
    QueueOfNames,
    SiteAndQueue,
)
from simulated_scenarios import FAILURE, SCENARIOS, SILENCE, Scenario

if TYPE_CHECKING:
    from collections.abc import Callable

_PROCESSOR = 0.001  # seconds a request
_LATE = 0.0005  # seconds, of a timer
_LATE_WHEN_BUSY = 0.005
_JITTER = 0.2  # of the latency
_RUNS = 3.0  # times as long as it is held up, on a busy machine


@dataclass
class Result:
    """What came of one simulated crawl."""

    pages: int
    gettable: int
    got: int = 0
    refused: int = 0
    refused_by_then: int = 0
    """Until the last good page: what is dead is asked on after that."""
    failed_unsent: int = 0
    """Pages that are there, and failed without having been sent."""
    dead_unsent: int = 0
    """Dead pages that failed so: of a section that was given up no more than fifty are
    sent.
    """
    half_at: float = 0.0
    """When half of the pages that can be got had come."""
    last_good: float = 0.0
    ended: float = 0.0
    early: int = 0
    longest_silence: float = 0.0

    @property
    def rate(self) -> float:
        """Pages a second until the last good one."""
        return self.got / self.last_good if self.last_good else 0.0

    @property
    def refused_share(self) -> float:
        """Refusals for each page, until the last good one."""
        return self.refused_by_then / self.pages


class Crawl:
    """A crawl of one site.

    Args:
        scenario: the server, and how it is asked.
        seed: of all chance.
        law: makes what says when to send what.
    """

    def __init__(self, scenario: Scenario, seed: int, law: Callable[..., Any]) -> None:
        self.scenario = scenario
        self.random = random.Random(seed)
        self.server = scenario.server(self.random)
        self.queue: list[str] = list(scenario.urls)
        self.law = law(self)
        self.now = 0.0
        self._events: list[tuple[float, int, Callable[[], None], bool]] = []
        self._order = count()
        self._in_flight = 0
        self._free_at = 0.0
        self._wakes_at = inf
        self._held_up_from = self._held_up_to = 0.0
        self._sent: set[str] = set()
        self._got_again: set[str] = set()
        self._sent_at = 0.0
        gettable = sum(not self.server.is_dead(url) for url in scenario.urls)
        self.result = Result(len(scenario.urls), gettable)

    @property
    def in_flight(self) -> int:
        """How many requests are in flight."""
        return self._in_flight

    def run(self) -> Result:
        if self.scenario.asks_rules:
            self.server.answer(0.0, "/robots.txt")
            self.now = self._sent_at = self.scenario.latency
            self.law.rules_read(0.0)
        self._go_on()
        while self._events:
            at, _, what, is_ours = heapq.heappop(self._events)
            if at > self.scenario.most_seconds:
                break
            self.now = at
            if not is_ours:
                what()
            elif self._runs_at(at) > at:
                self.at(self._runs_at(at), what)
            else:
                what()
                self._go_on()
        self.result.ended = self.now
        return self.result

    def put_back(self, url: str) -> None:
        """Take back a request that was refused: it is the next of its queue, as in
        Scrapy.
        """
        self.queue.insert(0, url)

    def fail(self, url: str) -> None:
        if url in self._sent:
            return
        if self.server.is_dead(url):
            self.result.dead_unsent += 1
        else:
            self.result.failed_unsent += 1

    def at(self, when: float, what: Callable[[], None]) -> None:
        """Do something then, or as soon as the crawl runs."""
        heapq.heappush(self._events, (when, next(self._order), what, True))

    def send_again(self, url: str) -> None:
        """Request a page that answered well again, as a health check."""
        self._got_again.add(url)
        self._send(url)

    def is_again(self, url: str) -> bool:
        """Return whether the page answered well before."""
        return url in self._got_again

    def _runs_at(self, now: float) -> float:
        """Return when the crawl runs next: a busy machine holds all of it up, timers
        and answers.

        Never of an earlier time than before.
        """
        mean = self.scenario.held_up
        if not mean:
            return now
        while self._held_up_to <= now:
            self._held_up_from = self._held_up_to + self.random.expovariate(
                1 / (_RUNS * mean)
            )
            self._held_up_to = self._held_up_from + self.random.uniform(0, 2 * mean)
        return now if now < self._held_up_from else self._held_up_to

    def _go_on(self) -> None:
        while self.queue and self._in_flight < self.scenario.in_flight:
            if self._free_at > self.now:
                self._wake(self._free_at)
                return
            due = self.law.due(self.now)
            if due == inf:
                return
            if due > self.now:
                late = _LATE_WHEN_BUSY if self.scenario.is_busy else _LATE
                self._wake(due + self.random.uniform(0, 2 * late))
                return
            url = self.law.take(self.now)
            if url is not None:
                self._send(url)

    def _wake(self, when: float) -> None:
        if self.now < self._wakes_at <= when:
            return
        self._wakes_at = when

        def awake() -> None:
            if self._wakes_at == when:
                self._wakes_at = inf

        self.at(when, awake)

    def _send(self, url: str) -> None:
        result = self.result
        scenario = self.scenario
        self._free_at = self.now + _PROCESSOR
        self._in_flight += 1
        self._sent.add(url)
        latency = scenario.latency * self.random.uniform(1 - _JITTER, 1 + _JITTER)
        flight = self.law.sent(url, self.now)

        def leaves() -> None:
            result.longest_silence = max(
                result.longest_silence, self.now - self._sent_at
            )
            self._sent_at = self.now
            self.law.left(flight, url, self.now)
            result.early += self.server.is_early(self.now)
            heapq.heappush(
                self._events,
                (self.now + latency / 2, next(self._order), reaches, False),
            )

        def reaches() -> None:
            answer = self.server.answer(self.now, url)
            if answer == SILENCE:
                self.at(self.now + scenario.timeout, times_out)
            else:
                self.at(self.now + latency / 2, lambda: comes_back(answer))

        def times_out() -> None:
            self._in_flight -= 1
            self.law.timed_out(flight, url)

        def comes_back(answer: float | None) -> None:
            self.server.left(self.now)
            self._in_flight -= 1
            self._tell(flight, url, answer)

        # what is handed out goes through middlewares and to a socket
        if scenario.held_up:
            self.at(self._free_at, leaves)
        else:
            leaves()

    def _tell(self, flight: Any, url: str, answer: float | None) -> None:
        """Tell the law what came back for a request."""
        result = self.result
        if answer is None:
            if url not in self._got_again:
                result.got += 1
                if 2 * result.got <= result.gettable:
                    result.half_at = self.now
                result.last_good = self.now
                result.refused_by_then = result.refused
            self.law.answered(flight, url, self.now)
            return
        result.refused += 1
        if answer == FAILURE:
            self.law.failed(flight, url, self.now)
        else:
            self.law.refused(flight, url, self.now, answer or None)


def fixed(
    crawl: Crawl,
    *,
    together: bool = False,
    queue: type[SiteAndQueue] = SiteAndQueue,
) -> SiteAndQueue | QueueOfNames:
    """The package's state of a site, with the simplest queue around it."""
    if crawl.scenario.timeout:
        return QueueOfHosts(crawl, queue=queue)
    if crawl.scenario.names > 1:
        return QueueOfNames(crawl, together=together, queue=queue)
    return queue(crawl)


class Stock:
    """Scrapy's RetryMiddleware."""

    def __init__(self, crawl: Crawl) -> None:
        self.crawl = crawl
        self.times: dict[str, int] = {}

    def due(self, now: float) -> float:
        return now

    def take(self, _now: float) -> str | None:
        return self.crawl.queue.pop(0)

    def rules_read(self, sent: float) -> None:
        """Note that its robots.txt has come, which was asked for then."""

    def sent(self, url: str, now: float) -> Any:
        """Note that it is sent."""

    def left(self, flight: Any, url: str, now: float) -> None:
        """Note that it leaves."""

    def answered(self, _told: Any, url: str, now: float) -> None:
        """Note a good answer."""

    def refused(
        self, _told: Any, url: str, _now: float, _retry_after: float | None
    ) -> None:
        self.times[url] = self.times.get(url, 0) + 1
        if self.times[url] > 2:
            self.crawl.fail(url)
        else:
            self.crawl.queue.append(url)

    def failed(self, told: Any, url: str, now: float) -> None:
        """Note a failure, which costs a retry, too."""
        Stock.refused(self, told, url, now, None)

    def timed_out(self, flight: Any, url: str) -> None:
        """Note that there was no answer, which costs a retry, too."""
        Stock.refused(self, flight, url, self.crawl.now, None)


class Second(Stock):
    """A second for each refusal, or what the server asks for."""

    until = 0.0

    def due(self, now: float) -> float:
        return max(now, self.until)

    def refused(
        self, _told: Any, url: str, now: float, retry_after: float | None
    ) -> None:
        self.until = max(self.until, now + (retry_after or 1.0))
        self.crawl.put_back(url)


LAWS: dict[str, Callable[..., Any]] = {
    "fixed": fixed,
    "measured": partial(fixed, queue=MeasuredSiteAndQueue),
    "together": partial(fixed, together=True),
    "stock": Stock,
    "second": Second,
}


def results(scenario: Scenario, law: str, seeds: range) -> list[Result]:
    """Return what came of the crawls with these seeds."""
    return [Crawl(scenario, seed, LAWS[law]).run() for seed in seeds]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("scenario", nargs="*")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--law", action="append", choices=sorted(LAWS))
    options = parser.parse_args()
    heads = (f"{head:>{width}}" for head, width in HEADS)
    print(f"{'scenario':26} {'law':10} {' '.join(heads)}")
    for name, scenario in SCENARIOS.items():
        if options.scenario and not any(
            name.startswith(one) for one in options.scenario
        ):
            continue
        for law in options.law or ["fixed"]:
            some = results(scenario, law, range(options.seeds))
            print(f"{name:26} {law:10} {line(scenario, some)}", flush=True)


HEADS = (
    *(
        ("got", 11),
        ("worst", 5),
        ("unsent", 6),
        ("dead", 5),
        ("refused %", 10),
        ("worst", 6),
    ),
    *(("s", 8), ("worst", 8), ("pages/s", 8), ("10th", 6), ("worst", 6), ("share", 6)),
    *(("silent", 7), ("early", 5), ("ended", 7)),
)


def line(scenario: Scenario, some: list[Result]) -> str:
    """Return all that came of crawls by a law."""

    def of(what: str, pick: Callable[..., float] = median) -> float:
        return pick(getattr(one, what) for one in some)

    share = f"{of('rate') / scenario.allowed:6.0%}" if scenario.allowed else "     -"
    if scenario.ideal:
        share = f"{of('last_good') / scenario.ideal:5.2f}x"
    tenth = sorted(one.rate for one in some)[len(some) // 10]
    return (
        f"{of('got'):5.0f}/{some[0].gettable:5} {of('got', min):5.0f}"
        f" {of('failed_unsent', max):6.0f} {of('dead_unsent', max):5.0f}"
        f" {100 * of('refused_share'):10.1f} {100 * of('refused_share', max):6.1f}"
        f" {of('last_good'):8.1f} {of('last_good', max):8.1f}"
        f" {of('rate'):8.2f} {tenth:6.2f} {of('rate', min):6.2f} {share}"
        f" {of('longest_silence'):7.1f} {of('early'):5.0f} {of('ended'):7.0f}"
    )


def seconds_for_all(result: Result) -> float:
    """Return the seconds of a crawl, as many times more as it lost pages."""
    return result.last_good * result.gettable / max(1, result.got)


if __name__ == "__main__":
    main()
