"""Sitemaps of all sites share a tenth of a busy event loop, in turns. (clock.py)"""

from __future__ import annotations

import pytest
from clocks import TurnedClock
from twisted.internet.defer import Deferred

from scrapy_mandelbot import clock


class Machine(TurnedClock):
    """A loop with one processor, which others use while a turn is waited for, or do
    not.
    """

    def __init__(self) -> None:
        super().__init__()
        self.spent = 0.0
        self.is_busy = True
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
        if self.is_busy:
            self.spent += seconds
            self.by_others += seconds
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
    machine.is_busy = False
    began = machine.now()
    run(machine, machine.steps("a", *[0.002] * 50))
    assert machine.now() - began == pytest.approx(50 * 0.004, rel=0.1)


def test_what_a_step_raises_goes_to_its_caller_alone(machine):
    def broken():
        yield
        raise ZeroDivisionError

    (failure, done) = run(machine, broken(), machine.steps("a", 0.001))
    assert failure.check(ZeroDivisionError)
    assert done is None
