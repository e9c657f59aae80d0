"""Requests delayed until a time of their own."""

from __future__ import annotations

import pytest
from scrapy import Request

from scrapy_mandelbot.clock import Timers
from scrapy_mandelbot.politeness.pause_policy import PausePolicy
from scrapy_mandelbot.politeness.site_state import Site
from scrapy_mandelbot.scheduling.round_robin import QueueParts, SubQueue

SITE = Site("http://a.test", PausePolicy())
LATE, SOON = (
    SubQueue(SITE, QueueParts(one, "", one, is_ours=False)) for one in ("late", "soon")
)


@pytest.fixture
def back() -> list[tuple[str, str]]:
    return []


@pytest.fixture
def delayed(clock, back) -> Timers:
    return Timers(clock, lambda one: back.append((one[0].name, one[1].url)))


def test_each_comes_back_at_its_time(clock, delayed, back):
    """Those whose time comes first come first, whoever was put there first; one timer
    is set.
    """
    delayed.set((LATE, Request("http://a.test/late")), clock.now() + 30)
    delayed.set((SOON, Request("http://a.test/soon")), clock.now() + 10)
    delayed.set((SOON, Request("http://a.test/same")), clock.now() + 10)
    assert len(delayed) == 3
    assert len(clock.calls) == 1
    clock.turn(9)
    assert back == []
    clock.turn(6)
    assert back == [("soon", "http://a.test/soon"), ("soon", "http://a.test/same")]
    assert len(delayed) == 1
    clock.turn(15)
    assert back[2:] == [("late", "http://a.test/late")]
    assert len(delayed) == 0
    clock.assert_nothing_left()


def test_a_timer_that_rings_too_soon_is_set_again(clock, delayed, back):
    """The loop's clock may be a hair ahead of ours."""
    delayed.set((SOON, Request("http://a.test/")), clock.now() + 10)
    clock.ring_early()
    assert back == []
    assert len(clock.calls) == 1
    clock.turn(10)
    assert back == [("soon", "http://a.test/")]


def test_all_can_be_taken_out_before_their_time(clock, delayed, back):
    """At the end of a crawl; no timer is left."""
    for number in range(3):
        delayed.set(
            (SOON, Request(f"http://a.test/{number}")), clock.now() + 100 - number
        )
    assert [request.url[-1] for _, request in delayed.take()] == ["2", "1", "0"]
    assert (len(delayed), back) == (0, [])
    clock.assert_nothing_left()
