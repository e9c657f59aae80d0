"""The budget of a site: what it counts, and what it lets go."""

from __future__ import annotations

from math import inf

import pytest

from scrapy_mandelbot.politeness.budget import Budget, BudgetLimits, Spent
from scrapy_mandelbot.politeness.flight import EXEMPT, GO, NEVER, Flight, Wait
from scrapy_mandelbot.politeness.pause_policy import PausePolicy
from scrapy_mandelbot.politeness.site_with_budget import SiteWithBudget


def site_with(**limits):
    site = SiteWithBudget("https://example.com", PausePolicy())
    site.budget = Budget(BudgetLimits(**limits))
    site.recheck()
    return site


def hand_out(site, name=""):
    flight = Flight(name or object(), site)
    site.handed_out(flight, 0.0, as_scout=False)
    site.budget.hand_out(flight)
    site.recheck()
    return flight


def test_requests_in_flight_count_as_pages():
    """The last one is handed out, no further one; the queue waits for an end."""
    site = site_with(pages=2)
    assert site.is_plain
    first = hand_out(site)
    assert site.is_plain
    hand_out(site)
    assert not site.is_plain
    assert site.decide(0.0).wait is Wait.BUDGET
    assert site.decide(0.0, section=EXEMPT) is GO
    assert site.decide(0.0, first) is GO, "it was handed out within the budget"


def test_what_ends_without_a_page_lets_another_go():
    """Whatever its end was: a redirect, an error, a request that was sent back."""
    site = site_with(pages=1)
    flight = hand_out(site)
    assert site.ended(flight, 1.0)
    assert site.is_plain
    assert site.decide(1.0) is GO


def test_pages_use_it_up():
    """Then nothing more goes in this run, but for requests that it exempts."""
    site = site_with(pages=1)
    flight = hand_out(site)
    site.budget.answered(flight, is_page=True, size=10)
    site.ended(flight, 1.0)
    assert site.decide(1.0) is NEVER
    assert site.decide(1.0, section=EXEMPT) is GO
    late = Flight("late", site)
    site.budget.hand_out(late)
    site.budget.answered(late, is_page=True, size=0)
    assert site.budget.pages == 1, "it was not handed out within the budget"


def test_bytes_count_whatever_was_answered():
    """Also those of an error, and of a request that is no page."""
    site = site_with(bytes=100)
    elsewhere = Flight("an image", site)
    site.budget.answered(elsewhere, is_page=False, size=60)
    assert not site.budget.is_reached
    site.budget.answered(hand_out(site), is_page=False, size=40)
    assert site.budget.is_reached
    assert site.budget.as_text() == "100 of 100 bytes"


def test_seconds_stand_still_while_the_site_is_paused():
    """And between two runs: what was used up is given to the next one."""
    budget = Budget(BudgetLimits(seconds=10))
    assert budget.run(100.0) == 110.0
    budget.stop(104.0)
    assert budget.spent(1000.0).seconds == 4.0
    assert budget.run(1000.0) == 1006.0
    assert budget.spent(1003.0).seconds == 7.0
    again = Budget(BudgetLimits(seconds=10), budget.spent(1003.0))
    assert not again.is_reached
    assert again.run(5000.0) == 5003.0
    assert Budget(BudgetLimits(pages=1)).run(0.0) == inf


def test_a_clock_that_goes_back_gives_no_seconds_back():
    budget = Budget(BudgetLimits(seconds=10))
    budget.run(100.0)
    budget.stop(104.0)
    budget.run(200.0)
    assert budget.spent(150.0).seconds == 4.0
    budget.stop(150.0)
    assert budget.spent(1000.0).seconds == 4.0


def test_what_a_job_has_not_settled_is_not_used_up():
    """The next run sends it anew, and counts it."""
    budget = Budget(BudgetLimits(pages=10), takes_account=True)
    site = site_with(pages=10)
    site.budget = budget
    for name in ("one", "two", "three"):
        budget.answered(hand_out(site, name), is_page=True, size=5)
    assert budget.settled(0.0, {"two", "three"}) == Spent(1, 5, 0.0)
    assert budget.settled(0.0, {"three"}) == Spent(2, 10, 0.0)
    assert budget.has_unsettled
    assert budget.settled(0.0, set()) == Spent(3, 15, 0.0)
    assert not budget.has_unsettled


@pytest.mark.parametrize(
    ("limits", "is_reached"),
    [
        ({"pages": 5}, True),
        ({"pages": 6}, False),
        ({"bytes": 50}, True),
        ({"seconds": 2.0}, True),
        ({"seconds": 2.5}, False),
        ({}, False),
    ],
)
def test_a_second_stage_has_what_is_left_of_a_larger_budget(limits, is_reached):
    """Or nothing, with the same one."""
    budget = Budget(BudgetLimits(**limits), Spent(5, 50, 2.0))
    assert budget.is_reached is is_reached
