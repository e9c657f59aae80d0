"""Measured requests at once where a site, or the clock, is as bad as it can be.

Whole crawls of the simulation in ``benchmarks/bearable.py``, which reads no clock.
"""

from __future__ import annotations

import sys
from functools import cache
from math import inf
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import bearable
from bearable import HEALTHY, ROWS, Law, LoadedCrawl, LoadedServer, Ramp, Row, Stock

DAY = 86_400.0
OF_STOCK = [
    one
    for one in HEALTHY
    if one.startswith(("400 locked", "10 ms to", "healthy 2", "16"))
]


def seeds(pages):
    """Return the seeds of crawls of so many pages: fewer where one takes long."""
    return range(7 if pages <= 100 else 2)


def crawled(row, law=Law, pages=1_600):
    crawl = LoadedCrawl(row, pages, 0, law)
    crawl.run()
    return crawl


@cache
def healthy(name, pages, seed, law):
    """Return what came of a crawl of a healthy site."""
    return LoadedCrawl(HEALTHY[name], pages, seed, law).run()


def bound(crawl):
    return crawl.law.site.concurrency.bound


def wait(crawl):
    """Return a visitor's median wait, in seconds."""
    return sorted(crawl.waits)[len(crawl.waits) // 2]


# Sites that bear all, whose pages differ.


@pytest.mark.parametrize("name", HEALTHY)
@pytest.mark.parametrize("pages", [50, 100, 400])
def test_no_crawl_of_a_healthy_site_takes_a_tenth_and_two_seconds_longer(name, pages):
    """Whatever pages come first, and in each of the crawls, not in most of them."""
    for seed in seeds(pages):
        measured = healthy(name, pages, seed, Law)
        fixed = healthy(name, pages, seed, Ramp)
        assert measured.got == fixed.got == pages
        assert measured.last_good <= 1.1 * fixed.last_good + 2.0


@pytest.mark.parametrize("name", OF_STOCK)
@pytest.mark.parametrize("pages", [100, 500, 800])
def test_no_crawl_of_a_site_that_bears_all_is_much_slower_than_with_stock_scrapy(
    name, pages
):
    """Pages behind a lock, then such as are made at once; a number stated for pages
    that take long; long pages first; pages of all lengths. The start takes the time of
    one answer, where more than sixteen are stated.
    """
    start = 2.0 if name.startswith("healthy 2") else 0.0
    for seed in seeds(pages):
        measured = healthy(name, pages, seed, Law)
        stock = healthy(name, pages, seed, Stock)
        assert measured.got == stock.got == pages
        assert measured.last_good <= 1.05 * stock.last_good + 1.0 + start


# Answers that take no time.


@pytest.mark.parametrize("network", [0.0, 0.01])
@pytest.mark.parametrize("processor", [0.0, 0.001])
def test_answers_of_no_time_are_crawled_as_the_project_has_it(
    network, processor, monkeypatch
):
    """Where the crawl itself is the slowest part, too."""
    monkeypatch.setattr(bearable, "_NETWORK", network)
    monkeypatch.setattr(bearable, "_PROCESSOR", processor)
    row = Row(lambda _: LoadedServer(service=0.0), 16)
    measured, fixed = crawled(row), crawled(row, Ramp)
    assert measured.result.got == 1_600
    assert measured.result.last_good <= 1.02 * fixed.result.last_good
    assert bound(measured) >= 8


# Clocks that jump.


class JumpingLaw(Law):
    """Its limit reads a clock that is set by so many seconds at these times."""

    jumps: tuple[tuple[float, float], ...] = ()

    def _look_at_limit(self, flight, now):
        super()._look_at_limit(flight, self._by_clock(now))

    def _by_clock(self, now):
        return now + sum(by for at, by in self.jumps if at <= now)


JUMPS = {
    "a day forth": ((1.0, DAY),),
    "a day back": ((1.0, -DAY),),
    "a day forth, twice a second": tuple((at / 2, DAY) for at in range(1, 40)),
    "back and forth": tuple((at / 2, (-1) ** at * DAY) for at in range(1, 40)),
}


@pytest.mark.parametrize("jumps", JUMPS.values(), ids=JUMPS)
@pytest.mark.parametrize(
    "name",
    ["healthy 30 ms, 16", "log-normal 1.0, 32", "16 workers, 8", "4 workers, 16"],
)
def test_a_clock_that_jumps_makes_no_crawl_much_slower(name, jumps):
    """As where the machine sleeps. Nothing is known while it does, and then the number
    is the project's.
    """
    law = type("Jumping", (JumpingLaw,), {"jumps": jumps})
    measured, fixed = crawled(ROWS[name], law), crawled(ROWS[name], Ramp)
    assert measured.result.got == 1_600
    assert measured.result.rate >= 0.9 * fixed.result.rate
    assert wait(measured) <= 1.1 * wait(fixed)


def test_a_site_gets_as_many_as_the_project_states_after_the_machine_has_slept():
    law = type("Jumping", (JumpingLaw,), {"jumps": JUMPS["a day forth"]})
    assert bound(crawled(ROWS["4 workers, 16"], law)) == 16


# Sites that change.


class AlternatingServer(LoadedServer):
    """Has four workers for ten seconds, and sixty-four for the next ten."""

    def seconds(self, url, now):
        self.workers = 64 if now % 20 >= 10 else 4
        return super().seconds(url, now)


@pytest.mark.parametrize("most", [8, 16, 32])
def test_a_site_that_changes_every_ten_seconds_is_not_crawled_much_more_slowly(most):
    """Each change begins a trial, and a visitor waits less meanwhile."""
    row = Row(lambda _: AlternatingServer(service=0.06, crowd=8), most)
    measured, fixed = crawled(row, pages=4_000), crawled(row, Ramp, pages=4_000)
    assert measured.result.got == 4_000
    assert measured.result.rate >= 0.8 * fixed.result.rate
    assert wait(measured) <= wait(fixed)


# Hostile sites.


class KeepingAtOne(LoadedServer):
    """Answers fast to one request at a time, and slower to each one more: until a time,
    in seconds.
    """

    until = inf

    def seconds(self, url, now):
        if now >= self.until or self.inside <= 1:
            return 0.03
        return 0.045 * self.inside


@pytest.mark.parametrize("most", [2, 8, 16, 64])
def test_the_worst_that_a_site_can_do_is_one_request_at_a_time(most):
    """No page is sent twice, and as soon as it ends that, the crawl grows again: within
    some two thousand answers (docs/limits.rst).
    """
    server = KeepingAtOne()
    server.until = 60.0
    crawl = LoadedCrawl(Row(lambda _: server, most), 8_000, 0, Law)
    bounds = []
    answered = crawl.law.answered

    def note(told, url, now):
        answered(told, url, now)
        bounds.append((now, bound(crawl)))

    crawl.law.answered = note
    crawl.run()
    assert crawl.result.got == len(bounds) == 8_000
    assert crawl.result.refused == 0
    meanwhile = [number for at, number in bounds if at < 60.0]
    later = [number for at, number in bounds if at >= 60.0]
    assert min(meanwhile) >= 1
    # one request at a time is as fast as the site lets it be
    assert len(meanwhile) >= 60 / 0.06
    # or half of it, where the crawl itself takes no more pages a second
    enough = most // 2 if most > 16 else most
    assert next(at for at, one in enumerate(later) if one >= enough) <= 3_000
