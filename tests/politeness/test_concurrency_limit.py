"""A site gets as many requests at once as the project states, after a short start."""

from __future__ import annotations

from sys import maxsize

import pytest

from scrapy_mandelbot.politeness.concurrency_limit import (
    FIRST,
    HALF,
    ConcurrencyLimit,
)


def test_a_site_that_nothing_is_known_of_gets_sixteen_at_once():
    assert ConcurrencyLimit.BEGINNING.bound == FIRST == 16
    assert ConcurrencyLimit.STATED.bound == maxsize


def test_half_of_the_first_answers_end_the_start():
    limit = ConcurrencyLimit.BEGINNING.own()
    limit.full(HALF - 1, 0.0, 200)
    assert limit.bound == FIRST
    limit.full(HALF, 0.0, 200)
    assert limit.bound >= 200


def test_a_site_that_refuses_at_the_start_gets_one_more_with_each_answer():
    """It has a limit, so not all that the project states go at the same moment."""
    limit = ConcurrencyLimit.BEGINNING.own()
    limit.refused(16, begins_pause=True)
    for answers in (3, 8, 40):
        limit.full(answers, 0.0, 200)
        assert limit.bound == FIRST + answers


@pytest.mark.parametrize(
    "shared", [ConcurrencyLimit.BEGINNING, ConcurrencyLimit.STATED]
)
def test_the_limit_of_many_sites_is_never_changed(shared):
    before = shared.bound
    own = shared.own()
    own.refused(7, begins_pause=True)
    own.full(100, 0.0, 64)
    assert shared.is_shared
    assert not own.is_shared
    assert own.own() is own
    assert shared.bound == before
    assert shared.connections is None


def test_nothing_is_found_while_no_request_is_refused():
    limit = ConcurrencyLimit.BEGINNING.own()
    assert not any(limit.full(answers, 0.0, 64) for answers in range(100))
    assert limit.found(64) is None
