"""Turns are taken by activity, and those who must wait are not asked again."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_mandelbot.pqueues.turns import Turns


@pytest.fixture
def activity() -> Counter:
    return Counter()


@pytest.fixture
def turns(activity) -> Turns:
    turns = Turns(lambda slot: activity[slot])
    for name in "abc":
        turns.join(name, f"slot {name}")
    return turns


def take(turns: Turns, activity: Counter) -> str | None:
    name = turns.first()
    if name is not None:
        slot = turns._slots[name]
        turns.take(name)
        activity[slot] += 1
        turns.slot_changed(slot)
    return name


def test_round_robin_among_equals(turns, activity):
    """Everyone once before anyone twice."""
    assert [take(turns, activity) for _ in range(7)] == list("abcabca")


def test_the_least_active_first(turns, activity):
    """A slot that has become free is next."""
    for _ in range(6):
        take(turns, activity)
    activity["slot b"] = 0
    turns.slot_changed("slot b")
    assert [take(turns, activity) for _ in range(3)] == list("bba")


def test_who_steps_out_is_not_asked(turns, activity):
    """Until somebody says that it may stand again."""
    turns.step_out("a")
    assert [take(turns, activity) for _ in range(4)] == list("bcbc")
    turns.may_stand(["a", "b"])
    assert take(turns, activity) == "a"


def test_nobody_in_line(turns):
    """There is no turn."""
    for name in "abc":
        turns.step_out(name)
    assert turns.first() is None
    for name in "abc":
        turns.leave(name)
    assert turns.first() is None
    assert "a" not in turns


def test_names_of_one_slot_share_its_activity(turns, activity):
    """Sites that go through one download slot count together, and take turns in it."""
    turns.join("d", "slot a")
    assert [take(turns, activity) for _ in range(8)] == list("abcdbcab")


@given(st.lists(st.tuples(st.sampled_from("jlsow"), st.integers(0, 5), st.integers(0, 3))))
def test_the_first_is_always_a_least_active_one_in_line(steps):
    """Whatever happens in whatever order: the first is in line, and nobody in line is less active.

    The model is a dict that is searched whole.
    """
    activity: Counter = Counter()
    turns = Turns(lambda slot: activity[slot])
    model: dict[str, bool] = {}  # name -> stands in line
    for step, number, value in steps:
        name, slot = f"name {number}", f"slot {number % 3}"
        if step == "j" and name not in model:
            turns.join(name, slot)
            model[name] = True
        elif step == "l" and name in model:
            turns.leave(name)
            del model[name]
        elif step == "s":
            activity[slot] = value
            turns.slot_changed(slot)
            model.update({one: True for one in model if int(one[5:]) % 3 == number % 3})
        elif step == "o" and name in model:
            turns.step_out(name)
            model[name] = False
        elif step == "w" and name in model:
            turns.may_stand([name])
            model[name] = True
        standing = {one: activity[f"slot {int(one[5:]) % 3}"] for one in model if model[one]}
        first = turns.first()
        if not standing:
            assert first is None
        else:
            assert standing[first] == min(standing.values())
