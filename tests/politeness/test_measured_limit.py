"""A limit on requests in flight: fewer only where they are answered in line."""

from __future__ import annotations

import heapq
import random

import pytest

from scrapy_mandelbot.politeness.concurrency_limit import FIRST, HALF
from scrapy_mandelbot.politeness.measured_limit import MeasuredLimit, Phase, _Burst

MOST = [1, 2, 3, 4, 8, 16, 17, 64, 200]


class Site:
    """Has workers, which take a page of the queue each, for so many seconds."""

    def __init__(self, workers, seconds, most):
        self.workers = workers
        self.seconds = seconds
        self.most = most
        self.limit = MeasuredLimit(most)
        self.answers = 0
        self.now = 1_000.0
        self.bounds = []
        self._ends = []
        self._in_flight = []  # when it ends, when it was sent, and at how many
        self._fill()

    def _fill(self):
        while len(self._in_flight) < min(self.limit.bound, self.most):
            self._send()
            if len(self._in_flight) >= min(self.limit.bound, self.most):
                self.limit.full(self.answers, self.now, self.most)

    def _send(self):
        ends = [end for end in self._ends if end > self.now]
        self._ends = ends
        begins = self.now
        if len(ends) >= self.workers:
            begins = sorted(ends)[-self.workers]
        end = begins + self.seconds()
        ends.append(end)
        heapq.heappush(self._in_flight, (end, self.now, len(self._in_flight) + 1))

    def crawl(self, answers):
        for _ in range(answers):
            end, sent_at, at_once = heapq.heappop(self._in_flight)
            self.now = end
            self.answers += 1
            if self.limit.takes_times:
                self.limit.note(at_once, sent_at, self.now)
            self._fill()
            self.bounds.append(self.limit.bound)
        return self

    def mean(self, answers):
        return sum(self.bounds[-answers:]) / answers


def of(seconds):
    return lambda: seconds


def by_chance(kind):
    chance = random.Random(kind)
    return {
        "uniform": lambda: chance.uniform(0.05, 3.0),
        "exponential": lambda: chance.expovariate(2.0),
        "log-normal": lambda: chance.lognormvariate(-2.0, 1.5),
        "two kinds": lambda: 2.0 if chance.random() < 0.3 else 0.01,
        "by size": lambda: 2.718 ** chance.uniform(-4.6, 1.1),
    }[kind]


@pytest.mark.parametrize("most", MOST)
@pytest.mark.parametrize("seconds", [0.0, 0.03, 2.0])
def test_a_site_that_bears_all_gets_what_the_project_states_after_the_start(
    most, seconds
):
    site = Site(999, of(seconds), most).crawl(1_000)
    assert min(site.bounds) == min(FIRST, most)
    assert min(site.bounds[HALF:]) == most


@pytest.mark.parametrize("most", [8, 16, 64])
@pytest.mark.parametrize(
    "kind", ["uniform", "exponential", "log-normal", "two kinds", "by size"]
)
def test_pages_that_differ_are_no_proof(most, kind):
    site = Site(999, by_chance(kind), most).crawl(3_000)
    assert min(site.bounds[HALF:]) == most


@pytest.mark.parametrize("most", [8, 16, 64])
@pytest.mark.parametrize("workers", [1, 2, 4])
def test_a_site_of_few_workers_gets_few_requests(most, workers):
    site = Site(workers, of(0.06), most).crawl(1_000)
    if most > 2 * workers:
        assert workers <= site.mean(600) <= 4 * workers + 2
    else:
        assert min(site.bounds) >= workers


@pytest.mark.parametrize("most", MOST)
@pytest.mark.parametrize("workers", [1, 3, 16])
def test_the_limit_never_exceeds_what_the_project_allows(most, workers):
    site = Site(workers, of(0.06), most).crawl(2_000)
    assert max(site.bounds) <= most
    assert min(site.bounds) >= 1


@pytest.mark.parametrize("seconds", [0.04, 0.3, 1.5])
@pytest.mark.parametrize("most", [8, 16])
def test_a_number_that_was_enough_in_one_part_is_not_kept_in_the_next(most, seconds):
    """One page at a time, and then all at once: the number is back in three seconds
    and four answers.
    """
    site = Site(1, of(0.04), most).crawl(400)
    assert site.bounds[-1] < most
    site.workers, site.seconds = 999, of(seconds)
    changed = site.now
    while site.limit.bound < most or site.limit.phase is Phase.MORE:
        site.crawl(1)
    assert site.now <= changed + 3.0 + 4 * seconds


def test_a_site_that_becomes_slow_later_is_crawled_as_the_project_states():
    """Nothing was sent together since, so there is no proof."""
    site = Site(4, of(0.06), 16).crawl(400)
    site.seconds = of(0.24)
    site.crawl(600)
    assert site.mean(200) == 16


def test_a_refusal_ends_a_look_where_it_began():
    site = Site(1, of(0.06), 16).crawl(40)
    while site.limit.phase is not Phase.MORE:
        site.crawl(1)
    looked_at = site.limit.bound
    site.limit.refused(1, begins_pause=True)
    assert site.limit.bound < looked_at
    assert site.limit.phase is Phase.FEWER


def test_a_number_that_the_project_lowers_or_raises_is_followed_at_once():
    site = Site(999, of(0.1), 64).crawl(400)
    site.most = 4
    site.crawl(80)
    assert site.limit.bound == 4


@pytest.mark.parametrize("step", [0.0, -1.0, 1e9])
def test_a_clock_that_stands_still_or_jumps_does_no_harm(step):
    limit = MeasuredLimit(16)
    now = 0.0
    for answers in range(8, 3_000):
        now += 0.01 if answers % 7 else step
        if limit.takes_times:
            limit.note(answers % 16 + 1, now - 0.1, now)
        limit.full(answers, now, 16)
        assert 1 <= limit.bound <= 16


def test_of_a_small_burst_each_answer_is_looked_at():
    """Each second one is in line, and the others come at once."""
    burst = _Burst(0, began=None, since=0.0)
    burst.times = [(place, float(place)) for place in range(1, 25)]
    assert burst.are_in_line()
    for place in range(6, 20, 2):
        burst.times[place - 1] = (place, 0.1)
    assert not burst.are_in_line()
