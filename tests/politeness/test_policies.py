"""Crawls of simulated servers that refuse, by the law as it is: bounds for each kind of
server.

By seeds and servers that the law was not tuned on. `python benchmarks/laws.py` prints
the figures.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from statistics import median
from typing import NamedTuple

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from laws import Result, results, seconds_for_all
from simulated_scenarios import SCENARIOS

from scrapy_mandelbot.politeness import (
    bot_blocks,
    faults,
    limit_estimator,
    pacer,
    pause,
    pause_policy,
    probe,
    rate_control,
    slow_limit_estimator,
)
from scrapy_mandelbot.throttle import in_flight

FEW = range(1000, 1003)
SEVERAL_GROUPS = "5 dead of 5,000, flat"
MANY = range(1100, 1120)


class Bound(NamedTuple):
    """What a crawl takes, at most."""

    seconds: float
    """Until the last good page, in the median of the seeds."""
    worst: float
    """The same, with nine seeds of ten; four times the median with any."""
    refused: float
    """Refusals in a hundred pages, in the median."""


BOUNDS = {
    "22 dead, path": Bound(5, 8, 6),
    "22 dead, flat": Bound(30, 40, 90),
    "111 dead, path": Bound(10, 15, 6),
    "111 dead, by turns": Bound(10, 15, 6),
    "111 dead, flat": Bound(85, 95, 60),
    "300 dead, flat": Bound(1200, 2000, 80),
    "111 dead, flat, 30/5": Bound(280, 350, 95),
    "30 dead first": Bound(10, 15, 6),
    "dead behind 30/s": Bound(20, 30, 16),
    "dead and 5 % chance": Bound(30, 90, 8),
    "chance 1 %": Bound(2000 / 50, 2000 / 35, 1.5),
    "chance 5 %": Bound(1000 / 13.5, 1000 / 11, 6.5),
    "chance 20 %": Bound(400 / 2.8, 400 / 1.3, 28),
    "30/5 and 1 % chance": Bound(600 / 15, 600 / 9, 3),
    "down 2 s": Bound(10, 12, 3),
    "down 30 s": Bound(8 + 1.5 * 30, 60, 4),
    "down 60 s": Bound(80, 85, 5.5),
    # of which 5 are the probes of its first minutes
    "down 600 s": Bound(8 + 2 * 600, 1500, 9),
    "down, names the time": Bound(40, 45, 3),
    "flapping 10, 5": Bound(120, 180, 2),
    "ban that doubles": Bound(200, 400, 30),
    "30/5, 1 ms": Bound(600 / 24, 600 / 20, 1),
    "30/5, 20 ms": Bound(600 / 22, 600 / 12.5, 2),
    "30/0, 5 ms": Bound(600 / 23.5, 600 / 22.5, 2),
    "30/0, nginx": Bound(600 / 24.5, 600 / 23.5, 1.67),
    "30/0, nginx, busy": Bound(600 / 22.5, 600 / 21.5, 1.67),
    "30/0, nginx, held up": Bound(600 / 24, 600 / 23, 1.67),
    "12/3, 2 ms": Bound(300 / 10.5, 300 / 10.5, 2),
    "100/5, 2 ms": Bound(1500 / 78, 1500 / 78, 0.5),
    "200/5, busy": Bound(2000 / 135, 2000 / 110, 1),
    "5/5, 1 ms": Bound(12.5, 14, 6),
    "200/0, 1 ms": Bound(2000 / 85, 2000 / 70, 0.5),
    "200/0, held up": Bound(2000 / 45, 2000 / 38, 1),
    "100 per 60 s, named": Bound(260, 280, 6),
    "30 to 15 a second": Bound(50, 55, 4.5),
    # Slow limits: what the limit makes of it, and a twentieth; half as much more
    # without a burst.
    "30/min, burst 5": Bound(1.05 * 388, 1.1 * 388, 10),
    "20/min, burst 10": Bound(1.05 * 567, 1.1 * 567, 10),
    "10/min, burst 5": Bound(1.05 * 864, 1.1 * 864, 15),
    "10/min": Bound(1.46 * 894, 1.5 * 894, 17),
    "10/min, 20 pages": Bound(1.65 * 120, 1.7 * 120, 105),
    "20/min, burst 10, 50 pages": Bound(1.08 * 120, 1.15 * 120, 35),
    "6/min, burst 5": Bound(1.05 * 940, 1.1 * 940, 22),
    "1/min, burst 5": Bound(1.05 * 4440, 1.1 * 4440, 32),
    "1,000/h, burst 50": Bound(1.05 * 716, 1.1 * 716, 9),
    "10 to 30 a minute": Bound(1.15 * 2788, 1.2 * 2788, 6),
    "30/min with 5 dead": Bound(1.24 * 278, 1.38 * 278, 85),
    "30/min, section of 30 dead": Bound(1.2 * 228, 1.3 * 228, 40),
    # Servers that the law was not tuned on.
    "45/min, burst 3": Bound(1.05 * 155, 1.1 * 155, 18),
    "15/min, burst 2": Bound(1.08 * 388, 1.15 * 388, 22),
    "3/min, burst 10": Bound(1.1 * 980, 1.15 * 980, 40),
    "500/h, burst 20": Bound(1.05 * 713, 1.1 * 713, 20),
    "2 at once, 64 in flight": Bound(1000 / 30, 1000 / 15, 3),
    "30/5, 64 in flight": Bound(600 / 19, 600 / 12, 6),
    "2/2, 20 ms": Bound(36, 45, 16),
    "12/3, 20 ms": Bound(40, 70, 8),
    "70/10, 20 ms": Bound(22, 40, 3),
    "chance 3 %": Bound(60, 90, 4.5),
    "chance 15 %": Bound(105, 220, 24),
}


@cache
def crawled(name: str, seeds: range) -> list[Result]:
    return results(SCENARIOS[name], "fixed", seeds)


def hold(name: str, seeds: range) -> None:
    bound, some = BOUNDS[name], crawled(name, seeds)
    assert [one.got for one in some] == [one.gettable for one in some], (
        "every page that is there"
    )
    assert {one.failed_unsent for one in some} == {0}, (
        "nothing fails that was never sent"
    )
    for one in some:
        most = max(0, one.pages - one.gettable - 50)
        assert one.dead_unsent <= most, "of a section that was given up fifty are sent"
    seconds = sorted(one.last_good for one in some)
    assert median(seconds) <= bound.seconds
    assert seconds[len(some) * 9 // 10] <= bound.worst
    assert seconds[-1] <= 4 * bound.seconds
    assert median(100 * one.refused_share for one in some) <= bound.refused


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (number % 3 > 0))
        for number, name in enumerate(BOUNDS)
    ],
)
def test_all_pages_come_in_time(name):
    """All that can be had, none failed unsent, in bounds of time and of refusals."""
    hold(name, FEW)


@pytest.mark.thorough
@pytest.mark.parametrize("name", BOUNDS)
def test_all_pages_come_in_time_by_many_seeds(name):
    """The same for twenty seeds."""
    hold(name, MANY)


@pytest.mark.parametrize(
    "name",
    [
        "30/5 and 5 % chance",
        "3 at once",
        "8/min",
        "12/min with 3 dead",
        "10 in a minute",
        "20 in any minute",
        "5 in any minute",
        "30/5 and 60/min",
        "2 at once, 64 in flight",
        "30/5, 64 in flight",
        "200/0, held up",
        "20 names, 60/min",
    ],
)
def test_all_pages_come(name):
    """Where it takes its time, too: nothing is lost, and nothing fails that was never
    sent.
    """
    for one in crawled(name, FEW):
        assert one.got == one.gettable
        assert one.failed_unsent == 0


# Seconds until the last good page, at most, with 4, 5 and 6 in flight.
FEW_IN_FLIGHT = {
    "22 dead, path": (6, 6, 6),
    "22 dead, flat": (30, 40, 40),
    "111 dead, path": (6, 6, 6),
    "111 dead, by turns": (15, 15, 15),
    "111 dead, flat": (110, 100, 95),
    "30 dead first": (6, 6, 6),
    "5 dead of 5,000, flat": (85, 75, 65),
    "111 dead, inner path": (6, 6, 6),
    "111 dead, inner query": (6, 6, 6),
    "300 dead, flat": (1800, 1800, 1400),
}


@pytest.mark.parametrize(
    ("name", "most", "seconds"),
    [
        pytest.param(
            name,
            most,
            seconds,
            marks=[pytest.mark.slow] * (name not in {"22 dead, flat", SEVERAL_GROUPS}),
        )
        for name, each in FEW_IN_FLIGHT.items()
        for most, seconds in zip((4, 5, 6), each, strict=True)
    ],
)
def test_dead_pages_are_no_limit_however_few_are_in_flight(name, most, seconds):
    """They may be refused in several groups, as by a bucket that is full."""
    for one in crawled(f"{name}, {most} in flight", FEW):
        assert one.got == one.gettable
        assert one.last_good <= seconds


GOT = {
    "section, 1 in 2 is well": 240,
    "section, 1 in 3 is well": 207,
    "section, 1 in 5 is well": 180,
    "section, 1 in 10 is well": 160,
    "section, 1 in 20 is well": 150,
    "section, 1 in 50 is well": 141,
    "down 7,000 s": 400,
}
"""Pages of a site that is in part dead, or down for hours, with any seed."""
BETWEEN = {"section, 1 in 5 is well", "section, 1 in 20 is well"}
"""Sections beside which another one notices the same."""


def _sections(names):
    return [
        pytest.param(name, marks=[pytest.mark.slow] * (name in BETWEEN))
        for name in names
    ]


@pytest.mark.parametrize("name", _sections(GOT))
def test_a_section_that_fails_at_random_loses_few_pages(name):
    """Its final attempts find what is well in it."""
    for one in crawled(name, FEW):
        assert one.got >= GOT[name]
        assert one.failed_unsent <= 3


@pytest.mark.parametrize("name", _sections(name for name in GOT if "section" in name))
def test_a_section_that_fails_at_random_takes_no_hours(name):
    """What it refuses is no probe of its site, and no rate, once it is mixed."""
    for one in crawled(name, FEW):
        assert one.last_good <= 900
        assert one.ended <= 2_000


def never_served(self, *refusal, has_served, refused=pause.Pause.refused):
    """Refuse as a site does that never served: there are no final attempts."""
    return refused(self, *refusal)


def test_final_attempts_are_worth_a_tenth_of_such_a_section(monkeypatch):
    """Without them, one page in eight is lost."""
    name = "section, 1 in 10 is well"
    with_them = crawled(name, FEW)
    monkeypatch.setattr(pause.Pause, "refused", never_served)
    without = results(SCENARIOS[name], "fixed", FEW)
    for one, other in zip(with_them, without, strict=True):
        assert one.got >= other.got + 19


def test_a_limit_that_fails_what_it_refuses_is_found():
    """So failures say something of a rate, too, though outages may look like one."""
    for one in crawled("5/5, as failures", FEW):
        assert one.got == 100
    for one in crawled("5 of 100 crash, 0.3 s", FEW):
        assert one.got >= one.gettable - 3
        assert one.last_good <= 20


def test_good_pages_that_a_limit_refused_are_found_among_many_dead():
    """The probe is the page refused least often; any other takes ten times as long."""
    some = crawled("60 dead, flat, 40/5", FEW)
    assert all(one.got >= one.gettable - 1 for one in some)
    assert median(one.last_good for one in some) <= 150


def test_a_quota_that_is_stated_is_kept(monkeypatch):
    """Nothing is refused; by its refusals alone it would take longer, too."""
    name = "20 in 4 s, stated"
    monkeypatch.setattr(pacer.Pacer, "note_quota", lambda *_: None)
    without = results(SCENARIOS[name], "fixed", FEW)
    monkeypatch.undo()
    for one, other in zip(crawled(name, FEW), without, strict=True):
        assert (one.got, one.refused) == (200, 0)
        assert one.last_good < 45
        assert other.refused > 5


def test_a_section_that_challenges_robots_gets_twenty_requests_at_most(monkeypatch):
    """Without the detector, all its pages are requested in vain."""
    name = "500 challenged, path"
    monkeypatch.setattr(bot_blocks, "_MARKED", 10**6)
    without = results(SCENARIOS[name], "fixed", FEW)
    monkeypatch.undo()
    for one, other in zip(crawled(name, FEW), without, strict=True):
        assert one.got == one.gettable == 120
        assert one.refused <= 20
        assert other.refused == 500


@pytest.mark.slow
def test_hosts_that_hang_leave_half_of_the_places_to_those_that_answer(monkeypatch):
    """Half of the pages come in 57 % of the time, and the crawl ends as it would."""
    name = "300 of 400 hosts hang"
    monkeypatch.setattr(in_flight.Unresponsive, "check_enough", lambda _: False)
    without = results(SCENARIOS[name], "fixed", FEW)
    monkeypatch.undo()
    for one, other in zip(crawled(name, FEW), without, strict=True):
        assert one.got == other.got == one.gettable
        assert one.half_at < 0.6 * other.half_at
        assert one.ended <= 1.05 * other.ended


@pytest.mark.parametrize("name", ["down, names the time", "100 per 60 s, named"])
def test_none_is_sent_before_a_time_that_was_named(name):
    """Not one, with any seed."""
    assert {one.early for one in crawled(name, FEW)} == {0}


def test_a_crawl_is_the_same_each_time():
    """A seed decides all of it: no clock, no chance of its own."""
    once, again = (
        results(SCENARIOS["chance 5 %"], "fixed", range(1000, 1001)) for _ in range(2)
    )
    assert once == again


NEEDED_BY = [
    # limit_estimator.py
    (limit_estimator, "_RUNS", 2, "30 to 15 a second"),
    (limit_estimator, "_REFUSED", 100, "2 at once, 64 in flight"),
    (limit_estimator, "_LIKELY", 0.5, "12/3, 2 ms"),
    (limit_estimator, "_LONG", 1e9, "chance 3 %"),
    (limit_estimator, "_SELDOM", 0.0, "chance 3 %"),
    (limit_estimator, "_LONGEST", 1e9, "22 dead, flat"),
    # rate_control.py
    (rate_control, "_RAMP_FROM", 0.5, "111 dead, path"),
    (rate_control, "_GROWTH", 1.05, "111 dead, path"),
    (rate_control, "_LATELY", 0.1, "30/5, 20 ms"),
    (rate_control, "_AHEAD", 1e9, "200/5, 1 ms"),
    (rate_control, "_PLATEAU", 0.0, "30/5, 1 ms"),
    (rate_control, "_IS_LIMIT", 1e9, "30/5, 1 ms"),
    (rate_control, "CONCLUSIVE", 0, "down, names the time"),
    (rate_control, "_TIGHT", 0.0, "200/0, held up"),
    (rate_control, "_CLIMB", 1.0, "12/3, 2 ms"),
    (rate_control, "_SLOW_CLIMB", 0.005, "30/0, nginx"),
    (rate_control, "_SLOWEST_CLIMB", 0.005, "30/0, nginx"),
    (rate_control, "_TRUST", 1e9, "30 to 60 a second"),
    (rate_control, "BY_CHANCE", 2.0, "chance 20 %"),
    (rate_control, "MOST_BY_CHANCE", 0, "chance 20 %"),
    (rate_control, "_OTHERS_FIRST", 0, "111 dead, flat, 30/5"),
    (slow_limit_estimator, "_SLOW", 0.0, "30/min, burst 5"),
    (slow_limit_estimator, "_SPANS", 1, "10/min"),
    (slow_limit_estimator, "BELOW", 1.0, "6/min, burst 5"),
    (slow_limit_estimator, "_TRUSTED", 1e9, "10 to 30 a minute"),
    (slow_limit_estimator, "CONCLUSIVE", 100, "111 dead, flat"),
    # faults.py, pause.py, probe.py
    (faults, "_SUSPICIOUS", 100, "111 dead, path"),
    (faults, "BY_CHANCE", 0.0, "30/min, section of 30 dead"),
    (faults, "_DEEPEST", 1, "111 dead, inner path"),
    (faults, "_DEEPEST", 1, "111 dead, inner query"),
    (faults, "BY_CHANCE", 0.0, "5 dead of 5,000, flat"),
    (pause_policy, "_REMEMBERED", 0.0, "ban that doubles"),
    (pause_policy, "_GROWTH", 2.0, "ban that doubles"),
    (pause_policy, "_BRIEF", 1.0, "5 of 100 crash, 0.3 s"),
    (pause_policy, "_BRIEFEST", 1.0, "200/0, held up"),
    (probe, "_LOOKED_THROUGH", 1, "22 dead, path"),
    (probe, "MOST_BY_CHANCE", -1, "300 dead, flat"),
    (probe, "_GOLDEN", 0.0, "111 dead, flat"),
]
LONG_ROWS = {"10/min", "300 dead, flat"}
"""Hours of a crawl, without a constant, which take a fifth of this module's time.

Other tests notice these constants, too.
"""


def _parameter(number, needed):
    module, constant, _, row = needed
    marks = [pytest.mark.thorough] * (number % 4 > 0)
    if row in LONG_ROWS:
        marks.append(pytest.mark.slow)
    name = module.__name__.rpartition(".")[2]
    return pytest.param(*needed, id=f"{name}.{constant}", marks=marks)


@pytest.mark.parametrize(
    ("module", "constant", "value", "row"),
    [_parameter(number, needed) for number, needed in enumerate(NEEDED_BY)],
)
def test_each_constant_has_a_row_that_needs_it(
    monkeypatch, module, constant, value, row
):
    """Set off, it costs that row a tenth: of its time, or of its refusals; or it loses
    pages.
    """
    before = crawled(row, FEW)
    monkeypatch.setattr(module, constant, value)
    without = results(SCENARIOS[row], "fixed", FEW)
    seconds = median(map(seconds_for_all, without)) / median(
        map(seconds_for_all, before)
    )
    refused = median(one.refused for one in without) / median(
        one.refused for one in before
    )
    assert max(seconds, refused) > 1.1 or any(one.got < one.gettable for one in without)
