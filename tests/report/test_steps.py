"""Work that takes long is done a little at a time."""

from __future__ import annotations

import pytest
from clocks import TurnedClock

from scrapy_mandelbot.clock import AT_A_TIME, CooperativeIterator


class Work:
    """So much to do; notes how much of it was done in each turn of the loop."""

    def __init__(self, clock: TurnedClock, amount: int) -> None:
        self._clock = clock
        self._amount = amount
        self.by_turn: dict[float, int] = {}
        self.done = 0

    def __iter__(self):
        for _ in range(self._amount):
            now = self._clock.now()
            self.by_turn[now] = self.by_turn.get(now, 0) + 1
            yield

    def end(self) -> None:
        self.done += 1


@pytest.fixture
def clock() -> TurnedClock:
    return TurnedClock()


def test_a_short_job_ends_in_one_slice(clock):
    """Nothing is set for later."""
    work = Work(clock, AT_A_TIME - 1)
    CooperativeIterator(clock).take(iter(work), work.end)
    assert (len(work.by_turn), work.done) == (1, 1)
    clock.assert_nothing_left()


@pytest.mark.parametrize("times", [1, 2, 4])
def test_a_long_job_takes_slices_of_equal_size(clock, times):
    """However much there is; the end comes once, after the last part."""
    work = Work(clock, times * AT_A_TIME)
    CooperativeIterator(clock).take(iter(work), work.end)
    assert work.done == 0
    clock.turn(60)
    assert list(work.by_turn.values()) == [AT_A_TIME] * times
    assert work.done == 1
    clock.assert_nothing_left()


def test_a_job_in_steps_can_be_cancelled(clock):
    """The rest is not done, and no end comes."""
    work = Work(clock, 10 * AT_A_TIME)
    steps = CooperativeIterator(clock)
    steps.take(iter(work), work.end)
    steps.cancel()
    steps.cancel()
    clock.assert_nothing_left()
    assert (sum(work.by_turn.values()), work.done) == (AT_A_TIME, 0)


def test_the_time_between_slices_is_not_counted(clock):
    """Only the time of the work counts as spent."""
    work = Work(clock, 3 * AT_A_TIME)
    steps = CooperativeIterator(clock)
    steps.take(iter(work), work.end)
    clock.turn(60)
    assert steps.spent == 0.0, "by a clock that stands still meanwhile"
