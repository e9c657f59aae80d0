"""A limit of so many a minute, by what comes from pause to pause."""

from __future__ import annotations

import pytest

from scrapy_mandelbot.politeness.slow_limit_estimator import SlowLimitEstimator


def spans(
    limit: SlowLimitEstimator,
    *given: tuple[float, int],
    begin: float = 0.0,
    asked: float = 4,
) -> float:
    """Answer so many pages in so many seconds, each time until the next refusal."""
    now = begin
    for seconds, goods in given:
        for _ in range(goods):
            limit.good()
        now += seconds
        limit.refused(now)
        limit.judge(asked)
    return now


@pytest.fixture
def known() -> SlowLimitEstimator:
    """One page in ten seconds, found out in four spans after the first refusal."""
    limit = SlowLimitEstimator()
    spans(limit, (1, 50), (20, 2), (20, 2), (20, 2), (20, 2))
    return limit


def test_what_came_from_refusal_to_refusal_is_the_limit(known):
    """Whatever came before the first one: the bucket was not full then."""
    assert known.rate == pytest.approx(0.1)
    assert known.pause == pytest.approx(20), "two requests come free"


def test_three_spans_are_too_few():
    """They may be chance."""
    limit = SlowLimitEstimator()
    spans(limit, (1, 50), (20, 2), (20, 2), (20, 2))
    assert limit.rate == limit.pause == 0


@pytest.mark.parametrize("outage", range(4))
def test_an_outage_is_no_slow_limit(outage):
    """Of the spans of a site that bears much one is long; the others tell."""
    limit = SlowLimitEstimator()
    spans(
        limit,
        (1, 50),
        *[(600, 30) if number == outage else (5, 200) for number in range(4)],
    )
    assert limit.rate == 0


def test_the_last_pauses_tell_most():
    """Without a burst what comes free in too long a pause is lost: the first ones say
    too little.

    The last two alone say nothing yet: a page more or less is half as much again.
    """
    limit = SlowLimitEstimator()
    spans(limit, (1, 1), (14, 1), (9, 1), (8, 1), (7, 1))
    assert limit.rate == pytest.approx(3 / 24)


def test_a_good_span_between_others_counts_but_for_a_page():
    """Where it is one of many, which one is the best is chance as well."""
    limit = SlowLimitEstimator()
    spans(limit, (1, 1), (20, 1), (20, 1), (10, 3), (40, 1), (40, 1))
    assert limit.rate == pytest.approx(2 / 10)


def test_it_is_asked_a_little_below_and_then_ever_faster(known):
    """So a limit that is higher than it was thought to be is found; as soon as little
    told it.
    """
    assert known.pace(0) == pytest.approx(0.097)
    assert known.pace(2) == pytest.approx(0.1), "two came in the last span"
    assert known.pace(0) < known.pace(1) < known.pace(4) < known.pace(8)
    assert known.pace(8) > 0.2


@pytest.mark.parametrize("goods", [20, 50])
def test_what_many_requests_told_is_trusted_for_twenty(known, goods):
    """No estimate is trusted for longer."""
    spans(known, (10 * goods, goods), begin=81, asked=0.11)
    assert known.pace(0) == pytest.approx(0.097)
    assert known.pace(20) == pytest.approx(0.1)
    assert known.pace(10) < 0.099 < known.pace(19)


def test_a_refusal_above_the_rate_confirms_it(known):
    """As often as may be."""
    spans(known, *[(200, 20)] * 9, begin=81, asked=0.11)
    assert known.rate == pytest.approx(0.1)


def test_two_refusals_at_the_rate_disprove_it(known):
    """Then it is something else that is refused, and the next time it takes eight
    spans.
    """
    now = spans(known, (20, 2), begin=81, asked=0.1)
    assert known.rate > 0
    now = spans(known, (20, 2), begin=now, asked=0.1)
    assert known.rate == 0
    now = spans(known, *[(20, 2)] * 7, begin=now)
    assert known.rate == 0
    spans(known, (20, 2), begin=now)
    assert known.rate == pytest.approx(0.1)


def test_no_time_between_refusals():
    """With a clock that stands still or goes back, there is no slow limit."""
    limit = SlowLimitEstimator()
    spans(limit, (0, 1), (0, 1), (-5, 1), (0, 1), (0, 1))
    assert limit.rate == 0
