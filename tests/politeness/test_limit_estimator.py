"""Whether being refused depends on how much a site was asked before."""

from __future__ import annotations

import random
import tracemalloc
from itertools import product
from math import isfinite

import pytest

from scrapy_mandelbot.politeness.limit_estimator import RATES, LimitEstimator

SEEDS = range(5)


def read_limit(
    ladder: LimitEstimator, rate: float, burst: float, seed: int, runs: int = 6
) -> None:
    """Read runs against a bucket, each at another rate above its own, each to the first
    refusal.
    """
    chance = random.Random(seed)
    level, now, last = 0.0, 100.0, 0.0
    for _ in range(runs):
        good: list[float] = []
        asked = rate * chance.uniform(1.05, 1.5)
        while True:
            now += chance.uniform(0.8, 1.2) / asked
            level = max(0.0, level - (now - last) * rate)
            last = now
            if level + 1 > burst + 1:
                break
            level += 1
            good.append(now)
        ladder.read(good, [now])
        now += 1.0


def read_chance(ladder: LimitEstimator, share: float, seed: int, runs: int = 6) -> None:
    """Read runs that end by chance, each at some rate."""
    chance = random.Random(seed)
    now = 100.0
    for _ in range(runs):
        good: list[float] = []
        asked = chance.uniform(20, 160)
        while True:
            now += chance.uniform(0.8, 1.2) / asked
            if chance.random() < share:
                break
            good.append(now)
        ladder.read(good, [now])
        now += 1.0


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("rate", "burst"), [(5, 5), (30, 5), (30, 20), (200, 20)])
def test_a_limit_is_found(rate, burst, seed):
    """With evidence, at a rate that is right by a third."""
    ladder = LimitEstimator()
    read_limit(ladder, rate, burst, seed)
    reading = ladder.reading()
    assert reading.evidence > 3
    assert rate / 1.5 < reading.rate < 1.35 * rate


def test_what_was_borne_at_once_is_the_burst():
    """Whatever the rate is."""
    ladder = LimitEstimator()
    for begin in (0.0, 10.0, 20.0):
        ladder.read([begin] * 6, [begin] * 2)
    assert ladder.reading().burst == pytest.approx(6)


@pytest.mark.parametrize("rate", [1, 30, 200])
def test_rates_that_are_left_out_are_no_limit(rate):
    """Each rate has the value that it would have if all were computed."""
    ladder = LimitEstimator()
    read_limit(ladder, rate, 5, 0)
    values = ladder.values()
    assert 0.0 in values
    assert values == [ladder.value(number) for number in range(len(RATES))]


def test_a_bucket_that_ran_empty_stays_empty():
    """That of each rate, too, which a run need not look at."""
    ladder = LimitEstimator()
    ladder.read([0.0] * 6, [])
    for number in range(1, 9):
        ladder.read([1000.0 * number], [])
    ladder.read([8000.0], [8000.0])
    assert ladder.reading().burst == pytest.approx(2)


@pytest.mark.parametrize("share", [0.01, 0.05, 0.2])
def test_chance_is_no_limit(share):
    """Of twenty seeds the evidence for a limit is small in the middle, and strong in
    few.
    """
    found = []
    for seed in range(20):
        ladder = LimitEstimator()
        read_chance(ladder, share, seed)
        found.append(ladder.reading().evidence)
    assert sorted(found)[10] < 3
    assert sum(evidence > 5 for evidence in found) <= 2


def test_where_nothing_was_refused_there_is_no_evidence():
    """Nor where nothing was read."""
    ladder = LimitEstimator()
    assert abs(ladder.reading().evidence) < 1
    ladder.read([number / 10 for number in range(100)], [])
    assert ladder.reading().evidence < 1
    assert not ladder.explains_last(10.0)


def test_a_limit_that_has_moved_is_seen():
    """Only the last runs are judged."""
    ladder = LimitEstimator()
    read_limit(ladder, 200, 5, 1, runs=20)
    read_limit(ladder, 20, 5, 2, runs=8)
    assert 10 < ladder.reading().rate < 30


def test_the_share_that_chance_refuses_beside_a_limit_is_known():
    """What came where the bucket was not full; it is never nothing, nor all."""
    ladder = LimitEstimator()
    read_limit(ladder, 30, 5, 1)
    assert 0 < ladder.share_below(30) < 0.1
    share = ladder.share_below(30)
    ladder.read([1000.0 + number for number in range(20)], [1030.0])
    assert ladder.share_below(30) > share


@pytest.mark.parametrize(
    ("good", "refused"),
    [
        ([], []),
        ([], [1.0]),
        ([1.0], []),
        ([1.0] * 50, [1.0] * 50),
        ([5.0, 1.0, 3.0], [4.0, 2.0]),
        ([1e12], [-1e12]),
        ([0.0], [1e300]),
    ],
)
def test_whatever_the_times_are_the_numbers_are_finite(good, refused):
    """All at once, in any order, far apart, or none."""
    ladder = LimitEstimator()
    for _ in range(3):
        ladder.read(good, refused, more=7)
        reading = ladder.reading()
        assert all(map(isfinite, reading))
        assert RATES[0] <= reading.rate <= RATES[-1]
        for rate in (1e-9, 1.0, 1e9):
            assert 0 < ladder.share_below(rate) <= 1
            assert ladder.explains_last(rate) in {True, False}


def test_what_is_kept_is_bounded():
    """However many runs there were, and however many refusals each had."""
    ladder = LimitEstimator()
    for number in range(30):
        ladder.read([float(number)], [float(number)] * 500)
    assert len(ladder._runs) == 8
    assert sum(len(run.numbers) for run in ladder._runs) <= 8 * 6 * 2 * len(RATES)


def test_a_site_in_trouble_costs_few_kilobytes():
    """Buckets that are no usable limit, and those that never filled, are not stored."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        ladders = [LimitEstimator() for _ in range(5)]
        for ladder, run in product(ladders, range(12)):
            good, refused = (
                [run * 100 + i * 0.1 for i in range(40)],
                [run * 100 + 4 + i * 0.01 for i in range(10)],
            )
            ladder.read(good, refused)
        assert (tracemalloc.get_traced_memory()[0] - before) / len(ladders) < 6 * 1024
    finally:
        tracemalloc.stop()


def test_the_share_below_a_rate_is_a_half_where_nothing_is_known():
    """Krichevsky and Trofimov's estimate: half a refusal of one request is given."""
    assert LimitEstimator().share_below(1.0) == 0.5


def test_what_a_copy_reads_leaves_no_trace():
    """It says what the estimator would have said."""
    ladder = LimitEstimator()
    read_limit(ladder, 30, 5, 0)
    before = ladder.reading()
    copy = ladder.copy()
    assert copy.reading() == before
    read_limit(copy, 90, 5, 1)
    assert copy.reading() != before
    assert ladder.reading() == before
    read_limit(ladder, 90, 5, 1)
    assert ladder.reading() == copy.reading()
