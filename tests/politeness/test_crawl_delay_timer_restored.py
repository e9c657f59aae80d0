"""When a site may be asked that a former run has asked last; times are seconds since
the epoch.
"""

from __future__ import annotations

from math import inf

import pytest
from crawl_delays import CrawlDelayTimer
from hypothesis import given
from hypothesis import strategies as st
from mandelbot import RobotsTxt

from scrapy_mandelbot.politeness.pace import Pace
from scrapy_mandelbot.politeness.pacer import Pacer

MIDNIGHT = 20_000 * 86_400.0
DELAYS = st.floats(0, 3600)


def restored(pace: Pace, not_before: float, now: float) -> CrawlDelayTimer:
    return CrawlDelayTimer(pace, not_before=not_before, now=now)


@pytest.mark.parametrize(
    ("not_before", "due"),
    [
        (-inf, 0),
        (-100, 0),
        (0, 0),
        (40, 40),
        (60, 60),
        (61, 60),
        (86_400, 60),
        (inf, 60),
    ],
)
def test_the_wait_that_is_left_is_waited_out(not_before, due):
    """And no more than the pace asks for now."""
    timer = restored(Pace(60), MIDNIGHT + not_before, MIDNIGHT)
    assert timer.due(MIDNIGHT) == MIDNIGHT + due
    assert timer.due(MIDNIGHT + 100) == MIDNIGHT + 100


def test_another_pace_is_all_that_counts_from_then_on():
    """A shorter one ends the wait sooner; a longer one makes none longer."""
    timer = restored(Pace(60), MIDNIGHT + 50, MIDNIGHT)
    timer.follow(Pace(3600), MIDNIGHT)
    assert timer.due(MIDNIGHT) == MIDNIGHT + 50
    timer.follow(Pace(5), MIDNIGHT)
    assert timer.due(MIDNIGHT) == MIDNIGHT + 5
    timer.follow(Pace(), MIDNIGHT)
    assert timer.due(MIDNIGHT) == MIDNIGHT


def test_a_pace_that_asks_for_nothing_is_free_when_the_wait_is_over():
    """Not before: a former run knew of another one."""
    pacer = Pacer()
    pacer.resumes_at = MIDNIGHT + 10
    assert pacer.restore(60, MIDNIGHT)
    assert pacer.is_needed(MIDNIGHT + 9)
    assert not pacer.is_needed(MIDNIGHT + 10)


def test_a_wait_ends_within_visit_times():
    """It is over at one o'clock: so is the time for visits."""
    robots = RobotsTxt.parse(b"User-agent: *\nVisit-time: 0000-0059\n")
    pace = Pace(7200, visits=robots.visit_times("x"))
    timer = restored(pace, MIDNIGHT + 3600, MIDNIGHT)
    assert timer.due(MIDNIGHT) == MIDNIGHT + 86_400


def test_when_the_next_may_come_after_an_answer():
    """The delay in force now, from now on; the rule of thumb uses the last answer."""
    assert CrawlDelayTimer(Pace(60)).due_after(MIDNIGHT) == MIDNIGHT + 60
    assert CrawlDelayTimer(Pace()).due_after(MIDNIGHT) == MIDNIGHT
    by_thumb = CrawlDelayTimer(Pace(by_fetch_time=True, longest=60))
    by_thumb.sent(MIDNIGHT)
    by_thumb.answered(MIDNIGHT + 20)
    assert by_thumb.due_after(MIDNIGHT + 20) == MIDNIGHT + 60


@given(DELAYS, DELAYS, st.floats(-(10**6), 10**6), st.floats(0, 10**6))
def test_no_wait_is_longer_than_the_pace_asks_for(former, delay, since, seconds):
    """Whatever a former run has kept, and however the clock was set since."""
    now = MIDNIGHT + seconds
    timer = restored(Pace(delay), now + since + former, now)
    assert now <= timer.due(now) <= now + delay
