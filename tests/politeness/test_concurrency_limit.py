"""A limit on requests in flight follows what a site bears: its pages a second."""

from __future__ import annotations

import random
from math import inf

import pytest

from scrapy_mandelbot.politeness.concurrency_limit import (
    FIRST,
    ConcurrencyLimit,
    Phase,
)

MOST = [1, 2, 3, 4, 8, 16, 17, 64, 200]


def none() -> float:
    """Return when the oldest request in flight was sent: just now."""
    return inf


class Site:
    """Answers so many requests a second, by how many are in flight and by the time."""

    def __init__(self, rate, most, limit=None):
        self.rate = rate
        self.most = most
        self.limit = limit or ConcurrencyLimit(most)
        self.answers = 0
        self.now = 1_000.0
        self.bounds = []
        self.oldest = none

    def crawl(self, answers):
        for _ in range(answers):
            in_flight = min(self.limit.bound, self.most)
            self.now += 1 / self.rate(in_flight, self.now - 1_000.0)
            self.answers += 1
            self.limit.full(self.answers, self.now, self.most, self.oldest)
            self.bounds.append(self.limit.bound)
        return self

    def mean(self, answers):
        return sum(self.bounds[-answers:]) / answers


def healthy(in_flight, _now):
    return 10.0 * in_flight


class SiteByRoundTrips(Site):
    """Answers together all that its workers make at once."""

    def __init__(self, most, number):
        super().__init__(None, most)
        self.number = number

    def crawl(self, answers):
        end = self.answers + answers
        self.limit.full(self.answers, self.now, self.most, none)
        while self.answers < end:
            in_flight = min(self.limit.bound, self.most)
            self.now += 0.1
            for _ in range(min(in_flight, self.number)):
                self.answers += 1
                self.now += 0.0001
                self.limit.full(self.answers, self.now, self.most, none)
                self.bounds.append(self.limit.bound)
        return self


def workers(number, *, thrash=0.0):
    def rate(in_flight, _now):
        beyond = max(0, in_flight - number)
        return 10.0 * min(in_flight, number) / (1 + thrash * beyond)

    return rate


@pytest.mark.parametrize("most", MOST)
def test_a_healthy_site_gets_what_the_project_allows(most):
    site = Site(healthy, most).crawl(300)
    assert site.limit.bound == most
    site.crawl(2_000)
    assert site.mean(2_000) >= 0.95 * most, "it is hardly ever tried with fewer"


@pytest.mark.parametrize("most", MOST)
@pytest.mark.parametrize("number", [1, 3, 4, 16, 64])
@pytest.mark.parametrize("thrash", [0.0, 0.2])
def test_the_limit_never_exceeds_what_the_project_allows(most, number, thrash):
    site = Site(workers(number, thrash=thrash), most).crawl(2_000)
    assert max(site.bounds) <= most
    assert min(site.bounds) >= 1


@pytest.mark.parametrize("most", [8, 16, 64, 200])
@pytest.mark.parametrize("number", [1, 2, 4])
@pytest.mark.parametrize("thrash", [0.0, 0.2])
def test_a_site_of_few_workers_is_not_asked_for_more_than_they_can_make(
    most, number, thrash
):
    site = Site(workers(number, thrash=thrash), most).crawl(1_000)
    assert 0.9 * number <= site.mean(400) <= 2.5 * number


@pytest.mark.parametrize(
    ("number", "bounds"), [(200, [8, 32, 64]), (4, [8, 16]), (6, [8, 16])]
)
def test_four_times_as_many_are_next_only_where_the_first_answers_came_together(
    number, bounds
):
    """With fewer workers than requests, some answers wait for others."""
    site = SiteByRoundTrips(64, number).crawl(100)
    assert list(dict.fromkeys(site.bounds))[: len(bounds)] == bounds


def test_a_healthy_site_gets_64_at_once_from_the_third_round_trip_on():
    site = SiteByRoundTrips(64, 200).crawl(41)
    assert site.limit.bound == 64


def test_more_are_tried_again_when_a_site_grows():
    site = Site(
        lambda in_flight, now: workers(4 if now < 10 else 64)(in_flight, now), 32
    )
    site.crawl(2_500)
    assert site.limit.bound == 32


def test_fewer_are_tried_when_a_site_becomes_slow():
    site = Site(
        lambda in_flight, now: workers(16 if now < 10 else 2)(in_flight, now), 16
    )
    site.crawl(1_500)
    assert site.limit.bound == 16
    site.crawl(1_000)
    assert site.limit.bound <= 4


def test_pages_that_differ_widely_are_crawled_as_the_project_has_it():
    """The time of a batch says nothing there, so nothing is tried with fewer."""
    chance = random.Random(1)
    site = Site(
        lambda in_flight, _now: in_flight * chance.choice([0.2, 100.0, 100.0, 100.0]),
        16,
    )
    site.crawl(3_000)
    assert site.mean(2_900) >= 0.9 * 16


def test_one_clear_failure_to_grow_is_measured_once_more():
    """The first pages to come back are fast ones; the next look slow beside them."""
    rates = iter([100.0] * 16 + [10.0] * 16)
    site = Site(lambda in_flight, _now: next(rates, 20.0 * in_flight), 64)
    site.crawl(400)
    assert site.limit.bound == 64


def trying(phase):
    """Return a site in the middle of a trial, and the number it began with."""
    number = 4 if phase is Phase.FEWER else 64
    site = Site(workers(number), 8 if phase is Phase.FEWER else 16)
    site.crawl(1)
    before = site.limit.bound
    for _ in range(3_000):
        if site.limit.phase is phase:
            return site, before
        before = site.limit.bound
        site.crawl(1)
    pytest.fail("no such trial")


def test_a_refusal_ends_a_trial_of_fewer_where_it_began():
    site, before = trying(Phase.FEWER)
    assert site.limit.bound < before
    site.limit.refused(1, begins_pause=True)
    assert site.limit.bound == before
    assert site.limit.phase is Phase.RESTING


def test_a_refusal_ends_a_trial_of_more_where_it_began():
    site = Site(
        lambda in_flight, now: workers(4 if now < 10 else 9)(in_flight, now), 16
    )
    while site.limit.phase is not Phase.MORE or site.now < 1_010:
        site.crawl(1)
    tried = site.limit.bound
    site.limit.refused(1, begins_pause=True)
    assert site.limit.bound < tried
    assert site.limit.phase is Phase.RESTING


def test_a_refusal_ends_the_start_and_no_more_are_tried_at_once():
    site = Site(healthy, 64).crawl(20)
    bound = site.limit.bound
    assert site.limit.phase is Phase.STARTING
    site.limit.refused(1, begins_pause=True)
    assert site.limit.phase is Phase.RESTING
    assert site.limit.bound == bound


def test_nothing_is_learned_while_something_else_holds_requests_back():
    """A spider that takes its time: the bound is reached once in a hundred answers."""
    site, before = trying(Phase.FEWER)
    limit = site.limit
    for _ in range(50):
        site.answers += 100
        site.now += 100.0
        limit.full(site.answers, site.now, site.most, none)
    assert limit.bound == before


def test_a_number_that_the_project_lowers_is_followed_at_once():
    site = Site(healthy, 64).crawl(400)
    site.most = 4
    site.crawl(1)
    assert site.limit.bound == 4
    site.crawl(500)
    assert site.limit.bound == 4


def test_a_number_that_the_project_raises_is_followed():
    site = Site(healthy, 8).crawl(400)
    site.most = 32
    site.crawl(2_500)
    assert site.limit.bound == 32


@pytest.mark.parametrize("step", [0.0, -1.0, 1e9])
def test_a_clock_that_stands_still_or_jumps_does_no_harm(step):
    limit = ConcurrencyLimit(16)
    now = 0.0
    for answers in range(8, 3_000):
        now += 0.01 if answers % 7 else step
        limit.full(answers, now, 16, none)
        assert 1 <= limit.bound <= 16


def test_answers_that_take_no_time_are_crawled_as_the_project_has_it():
    limit = ConcurrencyLimit(16)
    for answers in range(8, 3_000):
        limit.full(answers, 5.0, 16, none)
    assert limit.bound >= FIRST


def test_a_hostile_site_holds_the_crawl_at_one_request_at_the_least():
    """It answers the slower the more are in flight."""
    site = Site(lambda in_flight, _now: 10.0 / in_flight, 64).crawl(3_000)
    assert site.limit.bound == 1
    site.rate = healthy
    site.crawl(6_000)
    assert site.limit.bound == 64, "and when it stops that, all of it is undone"


def at_the_begin() -> float:
    """Return when the oldest request in flight was sent: before all others."""
    return 1_000.0


@pytest.mark.parametrize("most", MOST)
def test_fewer_are_not_tried_while_a_request_from_before_is_on_its_way(most):
    """Too few of the pages that take long have been seen, whatever the rate is."""
    site = Site(workers(1), most)
    site.oldest = at_the_begin
    site.crawl(2_000)
    assert min(site.bounds) == min(FIRST, most)
    assert site.limit.bound == most


def test_fewer_are_tried_soon_after_it_has_come():
    """The rest was no longer for its sake."""
    site = Site(workers(1), 8)
    site.oldest = at_the_begin
    site.crawl(600)
    site.oldest = none
    site.crawl(100)
    assert site.limit.bound < 8


def test_a_trial_of_fewer_waits_for_a_request_from_before_and_then_ends():
    """In favour of the greater number."""
    site, before = trying(Phase.FEWER)
    site.oldest = at_the_begin
    tried = before // 2
    site.crawl(4 * FIRST)
    assert site.limit.bound == tried
    site.crawl(8 * FIRST)
    assert site.limit.bound == before
    assert site.limit.phase is Phase.RESTING


@pytest.mark.parametrize("seconds", [0.05, 1.0, 10.0])
def test_trials_of_fewer_take_a_twentieth_of_the_time_and_two_seconds(seconds):
    """Of a site that bears all: at each moment, as a crawl may end at any."""
    site = Site(lambda in_flight, _now: in_flight / seconds, 8)
    spent = 0.0
    for _ in range(4_000):
        before = site.now
        bound = min(site.limit.bound, site.most)
        site.crawl(1)
        spent += (site.now - before) * (1 - bound / site.most)
        assert spent <= 0.06 * (site.now - 1_000.0) + 2.0
    assert spent, "fewer have been tried"


def test_a_trial_that_found_fewer_to_be_enough_has_cost_nothing():
    """So the next one may begin at once."""
    site = Site(lambda in_flight, _now: min(in_flight, 1) / 0.06, 8).crawl(200)
    assert site.limit.bound == 1
