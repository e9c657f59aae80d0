"""A site that refuses what is above a number of requests at once serves that number."""

from __future__ import annotations

import random
from math import inf

import pytest

from scrapy_mandelbot.politeness.concurrency_limit import ConcurrencyLimit
from scrapy_mandelbot.politeness.connection_limit import ConnectionLimit
from scrapy_mandelbot.politeness.measured_limit import MeasuredLimit, Phase


def served(limit, *numbers, times=1):
    for _ in range(times):
        for number in numbers:
            limit.served(number)


def guessed(most=6):
    """Return a limit that two pauses have shown, which a rate explains as well."""
    limit = ConnectionLimit()
    limit.refused(most + 2, begins_pause=True)
    served(limit, *range(1, most + 1), times=4)
    limit.refused(most + 1, begins_pause=True)
    return limit


def found(most=6):
    """Return a limit that is known: no rate explains it."""
    limit = guessed(most)
    limit.is_guess = False
    return limit


@pytest.mark.parametrize("most", [1, 2, 6, 20, 64])
def test_two_pauses_at_about_the_same_number_show_the_limit(most):
    limit = ConnectionLimit()
    limit.refused(most + 1, begins_pause=True)
    served(limit, *range(1, most + 1), times=12)
    assert limit.most == inf, "once may be anything"
    limit.refused(most + 1, begins_pause=True)
    assert limit.most == most


def test_the_others_of_a_burst_are_the_same_pause():
    """An outage refuses all that is in flight, one after another."""
    limit = ConnectionLimit()
    served(limit, 8, times=20)
    limit.refused(8, begins_pause=True)
    for at_once in (7, 8, 6):
        limit.refused(at_once, begins_pause=False)
    assert limit.most == inf


def test_of_a_burst_the_number_is_what_was_not_refused():
    """The first to be refused finds all others in flight, those above it as well."""
    limit = ConnectionLimit()
    limit.refused(16, begins_pause=True)
    for at_once in (15, 14, 13, 12, 12, 13, 14, 15, 16):
        limit.refused(at_once, begins_pause=False)
    served(limit, *range(1, 7), times=3)
    limit.refused(7, begins_pause=True)
    assert limit.most == 6


def test_a_rate_limit_is_none():
    """Requests are served at the numbers at which others are refused."""
    limit = ConnectionLimit()
    for _ in range(6):
        limit.refused(3, begins_pause=True)
        served(limit, 2, 3, 4, times=10)
    assert limit.most == inf


def test_what_is_refused_at_one_request_is_refused_for_another_reason():
    """A dead page, or an outage: nothing is below one."""
    limit = ConnectionLimit()
    for _ in range(6):
        limit.refused(1, begins_pause=True)
    assert limit.most == inf


def test_chance_is_none():
    """Nearly all requests are sent with as many in flight as may be."""
    chance = random.Random(3)
    numbers = [*range(1, 9), 8, 8, 8, 8, 8, 8, 8, 8, 8, 8]
    limit = ConnectionLimit()
    for _ in range(3_000):
        if chance.random() < 0.05:
            limit.refused(chance.choice(numbers), begins_pause=True)
        else:
            limit.served(chance.choice(numbers))
        assert limit.most == inf


def test_a_third_pause_at_that_number_makes_a_guess_known():
    limit = guessed()
    assert limit.is_guess
    served(limit, *range(1, 7), times=4)
    limit.refused(7, begins_pause=True)
    assert not limit.is_guess
    assert limit.most == 6


def test_one_pause_for_another_reason_ends_a_guess():
    """A rate limit refuses at a few in flight once it is asked steadily."""
    limit = guessed()
    served(limit, 2, times=30)
    limit.refused(2, begins_pause=True)
    assert limit.most == inf
    assert not limit.is_guess


def test_one_pause_for_another_reason_does_not_end_the_limit_and_two_do():
    limit = found()
    served(limit, 4, 5, 6, times=30)
    limit.refused(3, begins_pause=True)
    assert limit.most == 6
    served(limit, 4, 5, 6, times=30)
    limit.refused(2, begins_pause=True)
    assert limit.most == inf


def test_one_more_is_tried_after_long_and_the_next_time_after_longer():
    limit = found()
    waits = []
    for _ in range(6):
        answers = 0
        while limit.most == 6:
            limit.served(6)
            answers += 1
        waits.append(answers)
        assert limit.most == 7
        limit.refused(7, begins_pause=True)
        assert limit.most == 6
    assert waits == sorted(waits)
    assert waits[0] == 6 * 200
    assert waits[-1] == 16 * waits[0]


def test_a_pause_at_a_smaller_number_does_not_defer_the_next_try():
    """It was no answer to one more: the site serves fewer than before."""
    limit = found()
    served(limit, 1, 2, 3, 4, times=12)
    limit.refused(5, begins_pause=True)
    assert limit.most == 4
    served(limit, 4, times=4 * 200 - 1)
    assert limit.most == 4
    served(limit, 4)
    assert limit.most == 5


def test_a_site_that_serves_more_than_before_gets_more():
    limit = found()
    served(limit, 6, times=12_000)
    assert limit.most > 8


LIMITS = [ConcurrencyLimit, lambda: MeasuredLimit(16)]
BOTH = pytest.mark.parametrize("new", LIMITS, ids=["fixed", "measured"])


@BOTH
def test_the_limit_holds_for_the_requests_at_once(new):
    limit = new()
    assert not limit.refused(8, begins_pause=True)
    for number in (1, 2, 3, 4, 5, 6) * 3:
        limit.served(number)
    assert limit.refused(7, begins_pause=True), "it may be why that one was refused"
    assert not limit.refused(6, begins_pause=False), "and of this one it is not"
    assert limit.bound == 6
    assert limit.found(16) is None, "a guess is not reported"
    limit.confirm_guess()
    assert limit.found(16) == 6
    assert limit.found(6) is None, "the project allows no more"
    answers, now = 8, 0.0
    for _ in range(2_000):
        answers += 1
        now += 0.01
        limit.full(answers, now, 16)
        assert limit.bound <= 6
    assert getattr(limit, "phase", None) is not Phase.TOGETHER


def with_guess(limit: ConcurrencyLimit) -> ConcurrencyLimit:
    """Return a limit after two pauses at about the same number of requests."""
    limit.refused(8, begins_pause=True)
    for number in (1, 2, 3, 4, 5, 6) * 3:
        limit.served(number)
    limit.refused(7, begins_pause=True)
    return limit


@BOTH
def test_a_guess_that_was_wrong_leaves_as_many_at_once_as_before(new):
    limit = with_guess(new())
    assert limit.is_guess
    assert limit.bound == 6
    for _ in range(30):
        limit.served(2)
    limit.refused(2, begins_pause=True)
    assert limit.bound >= 16
    assert limit.found(16) is None


@BOTH
def test_a_guess_is_no_news(new):
    """It is in force, but whether the number is why requests were refused is open."""
    limit = with_guess(new())
    assert not any(limit.full(answers, answers / 100, 16) for answers in range(8, 100))
    limit.confirm_guess()
    assert any(limit.full(answers, answers / 100, 16) for answers in range(100, 200))


def test_where_refusals_come_by_chance_no_number_is_guessed():
    """Dead pages among a rate's refusals begin pauses at any number."""
    limit = ConnectionLimit()
    limit.refused(7, begins_pause=True)
    served(limit, *range(1, 7), times=12)
    limit.refused(7, begins_pause=True, may_guess=False)
    assert limit.most == inf
    known = found()
    served(known, *range(1, 7), times=12)
    known.refused(7, begins_pause=True, may_guess=False)
    assert known.most == 6, "what is known stays"


@pytest.mark.parametrize(
    ("below", "above", "most"),
    [(12, 0, 6), (11, 0, inf), (100, 2, 6), (100, 3, inf)],
)
def test_each_run_serves_enough_below_the_number_and_hardly_anything_above(
    below, above, most
):
    """Either alone shows that it is no limit of connections."""
    limit = ConnectionLimit()
    for _ in range(2):
        served(limit, 7, times=above)
        served(limit, 3, times=below)
        limit.refused(7, begins_pause=True)
    assert limit.most == most
