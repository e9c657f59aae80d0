"""The pace after a pause, against models of servers, on a clock that the tests turn.

The model crawl is the least that obeys a gate: eight requests under way, as many as the gate lets
through, a probe after a pause of a second. tests/crawls/test_nginx.py does it for real.
"""

from __future__ import annotations

import heapq
import random
from dataclasses import dataclass

import pytest

from scrapy_mandelbot.politeness import Gate, GateState, Goodput, PauseLaw, Recovery, Refusal

WINDOW = 8
ROUND_TRIP = 0.004  # seconds


class LeakyBucket:
    """As nginx's limit_req counts: a rate, and a burst beyond it that is not delayed."""

    def __init__(self, rate: float, burst: int) -> None:
        self.rate = rate
        self._burst = burst
        self._excess = 0.0
        self._last: float | None = None

    def answers(self, now: float) -> bool:
        waited = 1e9 if self._last is None else now - self._last
        excess = max(0.0, self._excess - waited * self.rate + 1)
        if self._last is None:
            excess = 0.0
        if excess > self._burst:
            return False
        self._excess, self._last = excess, now
        return True


class Halving(LeakyBucket):
    """A limit that halves after ten seconds."""

    def answers(self, now: float) -> bool:
        if now > 10:
            self.rate = 15.0
        return super().answers(now)


class Flapping:
    """Up for two seconds, down for one."""

    rate = 500.0

    @staticmethod
    def answers(now: float) -> bool:
        return now % 3 < 2


class DownFor:
    """Down between the first second and the eleventh, else without a limit."""

    rate = 2_000.0

    @staticmethod
    def answers(now: float) -> bool:
        return not 0.2 < now < 10.2


@dataclass
class Crawled:
    refused: int
    seconds: float
    paused: float
    gate: Gate


def crawl(server, pages: int, seed: int = 1) -> Crawled:
    """Crawl the pages of a model server, every one of them."""
    chance = random.Random(seed)
    gate = Gate(PauseLaw(first=1, base=1, longest=1, tries=10**6))
    goodput = Goodput()
    now = paused = 0.0
    left, done, refused, number = pages, 0, 0, 0
    answers: list[tuple[float, int, bool, bool]] = []
    while done < pages:
        while left and len(answers) < WINDOW and gate.due(now) <= now:
            is_probe = gate.sent(now)
            left -= 1
            number += 1
            good = server.answers(now + ROUND_TRIP / 2)
            arrives = now + ROUND_TRIP * chance.uniform(0.8, 1.5)
            heapq.heappush(answers, (arrives, number, good, is_probe))
        due = gate.due(now) if left and len(answers) < WINDOW else float("inf")
        if answers and answers[0][0] <= due:
            now, _, good, is_probe = heapq.heappop(answers)
            if good:
                done += 1
                goodput.answered(now)
                if is_probe:
                    gate.probe_answered(now)
                    paused += gate.paused_for(now)
                else:
                    gate.answered(now)
            else:
                refused += 1
                left += 1
                if is_probe:
                    gate.probe_refused(Refusal(now, "503"))
                else:
                    gate.refused(Refusal(now, "503"), goodput.rate(now))
        else:
            now = max(now, due) + 1e-9
    return Crawled(refused, now, paused, gate)


SERVERS = [
    pytest.param(lambda: LeakyBucket(30, 5), 150, 0.07, id="30/s, burst 5, 150 pages"),
    pytest.param(lambda: LeakyBucket(30, 5), 600, 0.02, id="30/s, burst 5, 600 pages"),
    pytest.param(lambda: LeakyBucket(30, 0), 600, 0.025, id="30/s, no burst"),
    pytest.param(lambda: LeakyBucket(5, 0), 100, 0.12, id="5/s, no burst"),
    pytest.param(lambda: LeakyBucket(5, 5), 100, 0.14, id="5/s, burst 5"),
    pytest.param(lambda: LeakyBucket(200, 50), 3000, 0.02, id="200/s, burst 50"),
]


@pytest.mark.parametrize(("server", "pages", "share"), SERVERS)
@pytest.mark.parametrize("seed", range(5))
def test_a_rate_limit_is_crawled_just_below_it(server, pages, share, seed):
    """Few refusals, and the time is at most 1.3 times what the limit allows, pauses and 2 s aside.

    Where a limit has no burst, each refusal is an overstepping by one request, and a hundred pages
    are little time to learn the limit: the share is larger.
    """
    model = server()
    crawled = crawl(model, pages, seed)
    assert crawled.refused <= share * pages
    assert crawled.seconds - crawled.paused <= 1.3 * pages / model.rate + 2


def test_a_limit_that_halves_is_found_again():
    """The pace follows the server down: some refusals, and all pages."""
    crawled = crawl(Halving(30, 5), 600)
    assert crawled.refused <= 0.05 * 600
    assert crawled.gate.recovery.rate == pytest.approx(15, rel=0.4)


def test_a_server_that_flaps_is_crawled_all_the_same():
    """Up 2 s, down 1 s: its pages come at a fair share of what it could serve."""
    crawled = crawl(Flapping(), 2000)
    assert crawled.refused <= 0.1 * 2000
    assert crawled.seconds <= 20 * 2000 / Flapping.rate


@pytest.mark.parametrize("seed", range(3))
def test_a_server_without_a_limit_is_as_open_as_before_soon(seed):
    """Down for ten seconds, then well: some seconds after, nothing holds the crawl back."""
    crawled = crawl(DownFor(), 20_000, seed)
    assert crawled.gate.state is GateState.OPEN
    assert crawled.gate.recovery is None
    free = 20_000 * ROUND_TRIP * 1.15 / WINDOW  # seconds that the crawl takes without an outage
    assert crawled.seconds <= 11 + free + 5


def test_what_was_not_sent_in_time_is_not_caught_up():
    """After a while without work the pace does not allow a burst."""
    recovery = Recovery(10.0)
    recovery.resume(0.0)
    recovery.sent(100.0)
    assert recovery.next_at == pytest.approx(100.1)


def test_goodput_counts_lately():
    """A steady hundred a second is about a hundred; ten seconds later it is none."""
    goodput = Goodput()
    assert goodput.rate(0) == 0
    for number in range(1000):
        goodput.answered(number / 100)
    assert goodput.rate(10) == pytest.approx(100, rel=0.02)
    assert goodput.rate(20) < 0.01


def test_repr_shows_phase_and_rate():
    """For who looks at a crawl from inside."""
    recovery = Recovery(0.0)
    assert repr(recovery) == "<Recovery ramp at 4.0/s>"
    recovery.refused(1.0)
    assert repr(recovery) == "<Recovery cruise at 2.0/s>"


def test_a_gate_recovers_and_opens():
    """After a pause one goes at a time, by its pace, until the pace holds nothing back."""
    gate = Gate(PauseLaw(first=1))
    gate.refused(Refusal(0.0, "503"), 10.0)
    gate.sent(1.0)
    gate.probe_answered(1.0)
    assert gate.state is GateState.RECOVERING
    assert repr(gate) == "<Gate recovering, <Recovery ramp at 10.0/s>>"
    assert gate.due(1.0) > 1.0
    assert gate.due(1.0) == pytest.approx(1.1)
    assert gate.due(1.1) == pytest.approx(1.1)
    gate.sent(1.1)
    assert not gate.answered(1.2)
    assert gate.answered(4.0)
    assert gate.state is GateState.OPEN
