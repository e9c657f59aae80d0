"""Turns are taken by activity, and lines that must wait are not asked again."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_mandelbot.politeness.pause_policy import PausePolicy
from scrapy_mandelbot.politeness.site_state import Site
from scrapy_mandelbot.scheduling.round_robin import QueueParts, RoundRobin, SubQueue


def make_line(name: str, slot: str) -> SubQueue:
    parts = QueueParts(name, slot, is_ours=False)
    return SubQueue(Site(f"https://{name}.example", PausePolicy()), parts)


@pytest.fixture
def activity() -> Counter:
    return Counter()


@pytest.fixture
def lines() -> dict[str, SubQueue]:
    return {name: make_line(name, f"slot {name}") for name in "abc"}


@pytest.fixture
def round_robin(activity, lines) -> RoundRobin:
    round_robin = RoundRobin(lambda slot: activity[slot])
    for line in lines.values():
        round_robin.join(line)
    return round_robin


def first(round_robin: RoundRobin) -> SubQueue | None:
    """Return the line that is next."""
    standing = round_robin.standing
    return next(iter(standing[min(standing)])) if standing else None


def take(round_robin: RoundRobin, activity: Counter) -> str | None:
    line = first(round_robin)
    if line is None:
        return None
    round_robin.take(line)
    activity[line.slot] += 1
    round_robin.slot_changed(line.slot, activity[line.slot])
    return line.name


def test_round_robin_among_equals(round_robin, activity):
    """Every line once before any twice."""
    assert [take(round_robin, activity) for _ in range(7)] == list("abcabca")


def test_the_least_active_first(round_robin, activity):
    """A slot that has become free is next."""
    for _ in range(6):
        take(round_robin, activity)
    activity["slot b"] = 0
    round_robin.slot_changed("slot b", 0)
    assert [take(round_robin, activity) for _ in range(3)] == list("bba")


def test_who_steps_out_is_not_asked(round_robin, activity, lines):
    """Queues that wait for an end are looked at again once a second."""
    round_robin.step_out(lines["a"], until_an_end=True)
    assert [take(round_robin, activity) for _ in range(4)] == list("bcbc")
    assert round_robin.look_again(7.0)
    assert take(round_robin, activity) == "a"
    round_robin.step_out(lines["a"], until_an_end=True)
    assert not round_robin.look_again(7.9)
    assert round_robin.look_again(8.0)
    round_robin.step_out(lines["a"])
    assert not round_robin.look_again(9.0)


def test_a_slot_that_changes_has_its_lines_stand_again(round_robin, activity, lines):
    """One that stepped out because its slot was full, too."""
    round_robin.step_out(lines["a"])
    round_robin.slot_changed("slot a", 0)
    assert lines["a"].activity == 0
    assert [take(round_robin, activity) for _ in range(3)] == list("bca")


def test_a_line_that_moves_nowhere_keeps_its_place(round_robin, activity, lines):
    """One whose slot changes stands behind those that are as active."""
    round_robin.move(lines["a"], lambda _site, slot: slot)
    assert take(round_robin, activity) == "a"
    round_robin.move(lines["b"], lambda _site, _slot: "another slot")
    assert lines["b"].slot == "another slot"
    assert [take(round_robin, activity) for _ in range(2)] == list("cb")


def test_no_line_stands(round_robin, lines):
    """There is no turn."""
    for line in lines.values():
        round_robin.step_out(line)
    assert first(round_robin) is None
    assert sum(map(len, round_robin._by_slot.values())) == 3
    for line in lines.values():
        round_robin.leave(line)
    assert first(round_robin) is None
    assert not round_robin._by_slot
    assert not any(line.has_joined for line in lines.values())


def test_lines_of_one_slot_share_its_activity(round_robin, activity):
    """Sites that go through one download slot count together, and take turns in it."""
    round_robin.join(make_line("d", "slot a"))
    assert [take(round_robin, activity) for _ in range(8)] == list("abcdbcab")


@given(
    st.lists(st.tuples(st.sampled_from("jlsow"), st.integers(0, 5), st.integers(0, 3)))
)
def test_the_first_is_always_a_least_active_one_that_stands(steps):
    """Whatever happens in whatever order: the first stands, and none that stands is
    less active.

    The model is a dict that is searched whole.
    """
    activity: Counter = Counter()
    round_robin = RoundRobin(lambda slot: activity[slot])
    lines = [make_line(f"name{number}", f"slot {number % 3}") for number in range(6)]
    model: dict[SubQueue, bool] = {}  # line -> stands
    waits: set[SubQueue] = set()
    for now, (step, number, value) in enumerate(steps):
        line = lines[number]
        if step == "j" and line not in model:
            round_robin.join(line)
            model[line] = True
        elif step == "l" and line in model:
            round_robin.leave(line)
            del model[line]
            waits.discard(line)
        elif step == "s":
            activity[line.slot] = value
            round_robin.slot_changed(line.slot, value)
            model.update({one: True for one in model if one.slot == line.slot})
        elif step == "o" and line in model:
            round_robin.step_out(line, until_an_end=bool(value))
            model[line] = False
            waits |= {line} if value else set()
        elif step == "w":
            assert round_robin.look_again(now) == bool(waits)
            model.update(dict.fromkeys(waits, True))
            waits.clear()
        standing = {one: activity[one.slot] for one in model if model[one]}
        least = first(round_robin)
        if not standing:
            assert least is None
        else:
            assert standing[least] == min(standing.values())


@pytest.mark.parametrize("count", [2, 3])
def test_a_site_keeps_its_other_queues_when_one_is_dropped(count):
    """They would wait for ever: who changes the site finds its queues there."""
    round_robin = RoundRobin(lambda _: 0)
    site = Site("https://a.example", PausePolicy())
    queues = [
        SubQueue(site, QueueParts(site.name, f"slot {number}", is_ours=False))
        for number in range(count)
    ]
    for one in queues:
        round_robin.add(one)
    round_robin.drop(queues[0])
    assert list(round_robin.of(site)) == queues[1:]
    for one in queues[1:]:
        round_robin.drop(one)
    assert list(round_robin.of(site)) == []
