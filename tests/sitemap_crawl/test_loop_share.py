"""Sitemaps of all sites share a tenth of a busy event loop, in turns. (clock.py)"""

from __future__ import annotations

import pytest
from clocks import TurnedClock
from twisted.internet.defer import Deferred

from scrapy_mandelbot import clock


class Machine(TurnedClock):
    """A loop with one processor, a part of which others use while a turn is waited for.

    Each call takes them `CALL` seconds of it, too.
    """

    CALL = 0.0

    def __init__(self) -> None:
        super().__init__()
        self.spent = 0.0
        self.load = 1.0
        """What others use of it, of all."""
        self.looks = 0
        self.slices: list[tuple[str, float]] = []
        """The name of each slice, and what others had of the processor since the last
        one.
        """
        self.by_others = 0.0
        self.share = clock.LoopShare(self)

    def steps(self, name: str, *took: float):
        """Take so many seconds of the processor in each step."""
        for seconds in took:
            if self.by_others or not self.slices or self.slices[-1][0] != name:
                self.slices.append((name, self.by_others))
            self.by_others = 0.0
            self.spent += seconds
            self.shift(seconds)
            yield

    def wait(self) -> None:
        """Let time pass until the next call of the loop."""
        seconds = max(0.0, min(self.calls.values())[0] - self.now())
        used = self.load * seconds + self.CALL
        self.spent += used
        self.by_others += used
        self.looks += 1
        self.turn(seconds)


@pytest.fixture
def machine(monkeypatch):
    machine = Machine()
    monkeypatch.setattr(clock, "thread_time", lambda: machine.spent)
    monkeypatch.setattr(clock, "maybe_deferred_to_future", lambda deferred: deferred)
    return machine


def run(machine: Machine, *iterators) -> list[object]:
    """Exhaust iterators side by side; return what comes of each."""
    ends: list[object] = []
    for one in iterators:
        Deferred.fromCoroutine(machine.share.run(one)).addBoth(ends.append)
    while machine.calls:
        machine.wait()
    return ends


def test_others_have_nine_tenths_of_a_busy_loop(machine):
    """From the first slice on; a slice ends with the step that uses it up."""
    run(machine, machine.steps("a", *[0.0004] * 12))
    assert [name for name, _ in machine.slices] == ["a"] * 4
    assert all(others >= 9 * 0.0012 for _, others in machine.slices[1:])
    assert all(others <= 11 * 0.0012 for _, others in machine.slices[1:])


def test_after_a_long_step_others_have_as_much_more(machine):
    run(machine, machine.steps("a", 0.1, 0.001))
    assert machine.slices[1][1] >= 9 * 0.1


def test_sites_take_turns(machine):
    """So one whose sitemaps are costly to read holds no other site's sitemaps up."""
    run(
        machine,
        machine.steps("costly", *[0.01] * 3),
        machine.steps("cheap", *[0.0011] * 3),
    )
    assert [name for name, _ in machine.slices] == ["costly", "cheap"] * 3


def test_in_an_idle_loop_a_slice_rests_for_its_own_length(machine):
    machine.load = 0.0
    began = machine.now()
    run(machine, machine.steps("a", *[0.002] * 50))
    assert machine.now() - began == pytest.approx(50 * 0.004, rel=0.1)


@pytest.mark.parametrize("load", [0.25, 0.3, 0.45])
def test_in_a_loop_that_is_half_idle_the_slices_take_a_tenth_of_the_time(machine, load):
    """Others do not need the rest of it, and would take long to use nine times as
    much.
    """
    machine.load = load
    began = machine.now()
    run(machine, machine.steps("a", *[0.002] * 50))
    assert machine.now() - began == pytest.approx(50 * 0.020, rel=0.1)


@pytest.mark.parametrize("load", [0.0, 0.1, 0.3])
def test_looking_whether_others_are_at_work_is_no_work(machine, load):
    """A look takes some of the processor's time: looks in short intervals would make an
    idle loop a busy one, which is looked at again.
    """
    machine.CALL = 0.0003
    machine.load = load
    began = machine.now()
    run(machine, machine.steps("a", *[0.002] * 50))
    assert machine.now() - began < 1.1 * 50 * 0.020
    assert machine.looks <= 3.1 * 50


def test_a_busy_loop_on_a_busy_machine_has_its_nine_tenths(machine):
    """Other processes have the processor meanwhile: what counts is this one's time."""
    machine.load = 0.6
    run(machine, machine.steps("a", *[0.002] * 20))
    assert all(others >= 9 * 0.002 for _, others in machine.slices[1:])


def test_short_work_for_many_sites_shares_a_slice(machine):
    run(machine, *(machine.steps(f"site {n}", 0.0001) for n in range(40)))
    assert machine.looks <= 2 * 40 * 0.0001 / 0.001


def test_what_a_step_raises_goes_to_its_caller_alone(machine):
    def broken():
        yield
        raise ZeroDivisionError

    (failure, done) = run(machine, broken(), machine.steps("a", 0.001))
    assert failure.check(ZeroDivisionError)
    assert done is None
