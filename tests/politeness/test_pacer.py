"""Whose turn it is at a site with a pace. (politeness/flight.py)"""

from __future__ import annotations

from math import inf

import pytest
from mandelbot import RobotsTxt

from scrapy_mandelbot.politeness.flight import Flight
from scrapy_mandelbot.politeness.pace import Pace
from scrapy_mandelbot.politeness.pacer import Pacer
from scrapy_mandelbot.politeness.pause_policy import PausePolicy
from scrapy_mandelbot.politeness.site_state import Site

SITE = Site("https://example.com", PausePolicy())


@pytest.fixture
def turns() -> Pacer:
    return at(Pace(5.0))


def at(pace: Pace) -> Pacer:
    turns = Pacer()
    assert turns.follow(pace, inf, 0)
    return turns


def flight() -> Flight:
    return Flight("request", SITE)


def end(turns: Pacer, one: Flight, now: float) -> bool:
    """Note the end of a request, as its site does; return whether others may go."""
    turns.ended(one, now)
    return one.settle(now)


def send(turns: Pacer, now: float) -> Flight:
    """Send a request whose turn it is, as a site does."""
    one = flight()
    assert turns.has_turn(one, now)
    turns.let_pass(one)
    one.is_sent = True
    turns.sent(now)
    return one


def test_the_first_turn_is_at_once(turns):
    """Nothing was asked before."""
    assert turns.due(100) == 100
    assert turns.is_idle(100)


def test_a_turn_that_is_not_used_yet_is_the_only_one(turns):
    """Who has it may be sent, and is asked as often as one likes; the next time is not
    known.
    """
    first, second = flight(), flight()
    turns.let_pass(first)
    turns.let_pass(first)
    assert turns.has_turn(first, 100)
    assert not turns.has_turn(second, 100)
    assert turns.due(100) == inf
    assert not turns.is_idle(100)


def test_the_next_turn_comes_when_the_answer_has_ended_and_the_delay_is_over(turns):
    """A delay runs from the end of one answer to the next request."""
    first = send(turns, 100)
    end(turns, first, 102)
    assert turns.due(102) == 107
    assert not turns.is_idle(106.9)
    assert turns.is_idle(107)


def test_a_turn_that_was_not_used_is_the_next_ones(turns):
    """Forbidden, cached, sent back: it never reached the site, and costs no delay."""
    one = flight()
    turns.let_pass(one)
    end(turns, one, 100)
    assert turns.due(100) == 100


def test_the_end_of_another_request_frees_no_turn(turns):
    """One that came by no turn: an answer from the cache, or one that was late."""
    late = send(turns, 100)
    assert turns.due(101) == 115, "by then the server has it"
    second = send(turns, 116)
    end(turns, late, 117)
    assert turns.turn is second
    assert turns.due(117) == 131


def test_within_times_without_a_delay_every_request_has_its_turn():
    """And the last answer counts when the delay begins."""
    robots = RobotsTxt.parse(b"User-agent: *\nRequest-rate: 1/10 0100-0459\n")
    turns = at(Pace(rates=robots.request_rates("x")))
    first, second = send(turns, 3590), send(turns, 3591)
    end(turns, second, 3594)
    end(turns, first, 3596)
    assert turns.due(3597) == 3597
    assert turns.due(3600) == 3606


def test_a_site_without_a_pace_has_no_turns_to_wait_for():
    """Nor one whose file asks for none any longer."""
    turns, one = Pacer(), flight()
    turns.let_pass(one)
    turns.sent(100)
    assert not end(turns, one, 101)
    assert turns.note_wait(101) is None
    assert turns.end_wait(102) is turns.end_shut(102) is None
    assert turns.due(102) == turns.due_after(102) == 102
    assert not turns.is_needed(102)
    assert turns.is_idle(102)
    turns.postpone(150)
    assert turns.due(103) == 103, "its pace is not known yet"
    assert turns.follow(Pace(5.0), inf, 104)
    assert turns.due(104) == 109, "that long it takes at most, whatever was left"
    assert turns.follow(Pace(), inf, 150)
    assert not turns.is_on
    assert repr(turns) == "<Pacer no pace>"
    assert turns.due(150) == 150


def test_a_window_of_a_quota_ends_as_its_first_answer_says():
    """Seconds are told as whole ones, rounded up: later answers tell of a time that is
    too late.
    """
    turns = Pacer()
    for number in range(3):
        turns.note_quota(flight(), 2 - number, 4.0, 10 + 0.3 * number)
    assert turns.due(10.7) == 14
    turns.note_quota(flight(), 0, 9.0, 10.8)
    assert turns.due(11) == 19.8, "that is another window"
