"""The pace after a pause, against models of servers, on a clock that the tests turn.

The model crawl is the least that obeys a pause: one request, then eight under way, as many as the
pace lets through, and a probe after a pause. tests/crawls/test_nginx.py does it for real.
"""

from __future__ import annotations

import heapq
import random
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf

import pytest

from scrapy_mandelbot.politeness import Goodput, Recovery

WINDOW = 8
NEAR, MIDDLING, FAR = 0.001, 0.02, 0.1  # seconds there and back


class LeakyBucket:
    """As nginx's limit_req counts: a rate, and a burst beyond it that is not delayed."""

    def __init__(self, rate: float, burst: int) -> None:
        self.rate = rate
        self._burst = burst
        self._excess = 0.0
        self._last = -inf

    def answers(self, now: float) -> bool:
        excess = max(0.0, self._excess - (now - self._last) * self.rate + 1)
        if self._last == -inf:
            excess = 0.0
        if excess > self._burst:
            return False
        self._excess, self._last = excess, now
        return True


class Changing(LeakyBucket):
    """A limit that is another one after some time."""

    def __init__(self, rate: float, burst: int, *, at: float, to: float) -> None:
        super().__init__(rate, burst)
        self._at = at
        self._to = to

    def answers(self, now: float) -> bool:
        if now > self._at:
            self.rate = self._to
        return super().answers(now)


class Flapping(LeakyBucket):
    """Up for some seconds, down for one, again and again; with a limit while it is up."""

    def __init__(self, rate: float, burst: int, *, up: float) -> None:
        super().__init__(rate, burst)
        self._up = up

    def answers(self, now: float) -> bool:
        return now % (self._up + 1.0) < self._up and super().answers(now)


class DownOnce:
    """Down for ten seconds, else without a limit."""

    @staticmethod
    def answers(now: float) -> bool:
        return not 0.2 < now < 10.2


class Moody:
    """Refuses some at random, however fast they come."""

    def __init__(self, share: float) -> None:
        self._share = share
        self._chance = random.Random(7)

    def answers(self, _now: float) -> bool:
        return self._chance.random() > self._share


@dataclass
class PacedSite:
    """Open, paused for some time, probing, or at a pace."""

    pause: float
    recovery: Recovery | None = None
    is_paused: bool = False
    is_probing: bool = False
    paused: float = 0.0  # seconds, in all
    pauses: list[float] = field(default_factory=list)  # when they began
    _due: float = -inf

    def due(self, now: float) -> float:
        if self.is_probing:
            return inf
        if self.recovery is not None and not self.is_paused:
            return max(now, self.recovery.next_at)
        return max(now, self._due)

    def sent(self, now: float) -> bool:
        if self.is_paused:
            self.is_probing = True
        elif self.recovery is not None:
            self.recovery.sent(now)
        return self.is_paused

    def answered(self, now: float, *, is_probe: bool) -> None:
        if is_probe:
            self.is_paused = self.is_probing = False
            self.paused += now - self.pauses[-1]
            self.recovery.resume(now)
        elif not self.is_paused and self.recovery is not None and self.recovery.answered(now):
            self.recovery = None

    def refused(self, now: float, good_rate: float, *, is_probe: bool) -> None:
        if is_probe:
            self.is_probing = False
            self._due = now + self.pause
        elif not self.is_paused:
            self.is_paused = True
            self._due = now + self.pause
            self.pauses.append(now)
            if self.recovery is None:
                self.recovery = Recovery(good_rate)
            else:
                self.recovery.refused(now)


@dataclass
class Crawled:
    refused: int
    seconds: float
    site: PacedSite

    @property
    def busy(self) -> float:
        """Seconds outside of pauses."""
        return self.seconds - self.site.paused


def crawl(server, pages: int, latency: float, *, pause: float = 1.0, seed: int = 1) -> Crawled:
    """Crawl the pages of a model server, every one of them."""
    chance = random.Random(seed)
    site = PacedSite(pause)
    goodput = Goodput()
    now, left, done, refused, number = 0.0, pages, 0, 0, 0
    answers: list[tuple[float, int, bool, bool]] = []
    while done < pages:
        may_send = left and len(answers) < (WINDOW if done else 1)
        due = site.due(now) if may_send else inf
        if not answers or due <= answers[0][0]:
            now = due
            is_probe = site.sent(now)
            left -= 1
            number += 1
            good = server.answers(now + latency / 2)
            arrives = now + latency * chance.uniform(1.0, 1.2)
            heapq.heappush(answers, (arrives, number, good, is_probe))
            continue
        now, _, good, is_probe = heapq.heappop(answers)
        if good:
            done += 1
            goodput.answered(now)
            site.answered(now, is_probe=is_probe)
        else:
            left += 1
            refused += 1
            site.refused(now, goodput.rate(now), is_probe=is_probe)
    return Crawled(refused, now, site)


def refusals_at_most(pages: int, latency: float) -> int:
    """Return how many are few: the eight under way when the limit is met first, and then some.

    The further the server, the more are under way whenever it says no.
    """
    return round(WINDOW + (0.01 if latency < FAR else 0.02) * pages + (6 if latency < FAR else 8))


@pytest.mark.parametrize("latency", [NEAR, MIDDLING, FAR])
@pytest.mark.parametrize("burst", [0, 5, 20])
@pytest.mark.parametrize("rate", [2, 5, 30, 200, 1000])
def test_a_rate_limit_is_crawled_just_below_it(rate, burst, latency):
    """Few refusals, and a time of at most 1.3 times what limit and latency allow, and two seconds.

    The time is that outside pauses, of which there is one for each time that the limit is met. A
    slow limit takes longer to learn.
    """
    for pages in (150, 600, 2000):
        crawled = crawl(LeakyBucket(rate, burst), pages, latency)
        assert crawled.refused <= refusals_at_most(pages, latency)
        least = max(pages / rate, pages * 1.1 * latency / WINDOW)
        assert crawled.busy <= (1.3 if rate >= 5 else 1.4) * least + 2


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("burst", [0, 5])
@pytest.mark.parametrize(("rate", "pages"), [(5, 600), (30, 600), (30, 2000), (200, 2000)])
def test_two_of_a_hundred_are_refused_and_less_in_the_long_run(rate, burst, pages, seed):
    """A near server: at most 2.3 % of 600 pages, 1 % of 2,000, and more than 75 % of the rate."""
    crawled = crawl(LeakyBucket(rate, burst), pages, NEAR, seed=seed)
    assert crawled.refused <= (0.023 if pages == 600 else 0.01) * pages
    assert pages / (crawled.busy) > 0.75 * rate


@pytest.mark.parametrize("burst", [0, 5])
def test_a_limit_is_trusted_the_longer_the_more_often_it_was_found(burst):
    """From one time that the limit is met to the next it takes longer and longer."""
    crawled = crawl(LeakyBucket(30, burst), 5000, NEAR)
    between = [b - a for a, b in pairwise(crawled.site.pauses)]
    assert between[-1] > 20
    assert between[-1] > 4 * between[len(between) // 2]


@pytest.mark.parametrize("latency", [NEAR, MIDDLING, FAR])
@pytest.mark.parametrize("pause", [1.0, 5.0])
def test_a_server_that_says_how_long_to_wait(latency, pause):
    """Retry-After makes pauses longer, and room for a burst; the limit is found all the same."""
    crawled = crawl(LeakyBucket(30, 20), 600, latency, pause=pause)
    assert crawled.refused <= refusals_at_most(600, latency)
    assert crawled.busy <= 1.3 * 600 / 30 + 2


@pytest.mark.parametrize("latency", [NEAR, MIDDLING, FAR])
@pytest.mark.parametrize("burst", [0, 5])
def test_a_limit_that_halves_is_found_again(burst, latency):
    """The pace follows the server down: some refusals, and all pages."""
    crawled = crawl(Changing(30, burst, at=10, to=15), 600, latency)
    assert crawled.refused <= 0.045 * 600
    assert crawled.site.recovery.rate == pytest.approx(15, rel=0.3)
    assert crawled.busy <= 1.6 * 600 / 15


@pytest.mark.parametrize("latency", [NEAR, MIDDLING])
def test_a_limit_that_is_lifted_is_used(latency):
    """The pace follows the server up: four times the limit are reached within half a minute."""
    crawled = crawl(Changing(30, 5, at=15, to=120), 3000, latency)
    assert crawled.refused <= 0.02 * 3000
    assert crawled.busy <= 15 + 30 + (3000 - 15 * 30) / 120


@pytest.mark.parametrize("latency", [NEAR, MIDDLING, FAR])
@pytest.mark.parametrize("up", [2.0, 5.0, 20.0])
def test_a_server_that_flaps_is_crawled_all_the_same(up, latency):
    """Up some seconds, down for one: the pages come at half the speed, and do not dry up."""
    crawled = crawl(Flapping(400, 400, up=up), 10_000, latency)
    assert crawled.refused <= 0.08 * 10_000
    least = max(10_000 / 400, 10_000 * 1.1 * latency / WINDOW)
    assert crawled.seconds <= 2.5 * least * (up + 1) / up


@pytest.mark.parametrize("latency", [NEAR, MIDDLING, FAR])
def test_a_server_that_flaps_and_has_a_limit(latency):
    """Refusals of both kinds, and the pace stays a fair share of the limit."""
    crawled = crawl(Flapping(30, 5, up=5), 2000, latency)
    assert crawled.refused <= 0.1 * 2000
    assert crawled.seconds <= 3 * 2000 / 30


@pytest.mark.parametrize("share", [0.01, 0.03])
@pytest.mark.parametrize("latency", [NEAR, MIDDLING, FAR])
def test_refusals_that_have_nothing_to_do_with_the_rate(latency, share):
    """A server that refuses one in so many, at any rate, is not crawled ever more slowly."""
    crawled = crawl(Moody(share), 2000, latency)
    assert crawled.refused <= 2 * share * 2000
    assert 2000 / (crawled.busy) >= 3


@pytest.mark.parametrize("latency", [MIDDLING, FAR])
@pytest.mark.parametrize("seed", range(3))
def test_a_server_without_a_limit_is_as_open_as_before_soon(latency, seed):
    """Down for ten seconds, then well: some seconds after, nothing holds the crawl back."""
    crawled = crawl(DownOnce(), 8_000, latency, seed=seed)
    assert crawled.site.recovery is None
    assert crawled.seconds <= 11 + 8_000 * latency * 1.15 / WINDOW + 4


def recovery_in_cruise(*, rate: float, seconds: float) -> tuple[Recovery, float]:
    """Return a pace whose site has said no after so many seconds at that rate; and the time."""
    recovery = Recovery(rate)
    recovery.resume(0.0)
    now = 0.0
    while now < seconds:
        now += 1.0 / rate
        recovery.sent(now)
        recovery.answered(now)
    recovery.refused(now)
    recovery.resume(now + 1.0)
    return recovery, now + 1.0


def test_a_crawl_that_has_nothing_to_send_learns_nothing():
    """After a minute without work the pace of a limited site is what it was."""
    recovery, now = recovery_in_cruise(rate=20.0, seconds=3.0)
    before = recovery.rate
    recovery.sent(now + 60)
    recovery.answered(now + 60)
    assert recovery.rate == pytest.approx(before, rel=0.01)


def test_a_refusal_at_a_rate_that_is_proven_makes_all_void():
    """A server that refuses less than it has let through has changed, or is down: a ramp begins."""
    recovery, now = recovery_in_cruise(rate=6.0, seconds=3.0)
    for _ in range(60):
        now = recovery.next_at
        recovery.sent(now)
        recovery.answered(now)
    phases = []
    for _ in range(3):
        recovery.refused(now)
        phases.append(repr(recovery).split()[1])
        recovery.resume(now + 1.0)
        now += 1.1
    assert phases == ["cruise", "cruise", "ramp"]
    assert recovery.rate >= 4.0


def test_a_refusal_at_the_very_moment_of_the_probe():
    """No time has passed, so nothing is learnt but that there is a limit; nothing fails."""
    recovery = Recovery(5.0)
    recovery.resume(0.0)
    recovery.refused(0.0)
    recovery.resume(0.0)
    recovery.refused(0.0)
    assert recovery.rate > 0


@pytest.mark.parametrize("burst", [0, 3])
@pytest.mark.parametrize("pause", [1.0, 5.0])
def test_a_limit_far_below_one_a_second(pause, burst):
    """15 requests a minute: even this is learnt, and is not overstepped again and again."""
    crawled = crawl(LeakyBucket(0.25, burst), 300, NEAR, pause=pause)
    assert crawled.refused <= 0.12 * 300
    assert crawled.seconds <= 1.4 * 300 / 0.25


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
    recovery.resume(0.0)
    recovery.refused(0.1)
    assert repr(recovery) == "<Recovery cruise at 0.9/s>"
