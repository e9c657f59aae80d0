"""The table of the pause, row by row, and its drawing in the docs."""

from __future__ import annotations

import copy
import re
from itertools import product
from pathlib import Path

import pytest

from scrapy_mandelbot.politeness import TRANSITIONS, Fact, Pause, PauseLaw, PauseState, Refusal

DOCS = Path(__file__).parents[2] / "docs" / "pauses.rst"
NOW = 1000.0
LAWS = {
    "recovers": PauseLaw(first=1, tries=3),
    "does not recover": PauseLaw(first=1, tries=3, recovers=False),
    "one try": PauseLaw(first=1, tries=1),
}
REFUSALS = {
    "no Retry-After": Refusal(NOW, "503"),
    "Retry-After": Refusal(NOW, "503", 30.0),
}
_TO_PROBING = (Fact.REFUSED, Fact.SENT)
WAYS = {
    PauseState.OPEN: (),
    PauseState.PAUSED: (Fact.REFUSED,),
    PauseState.PROBING: _TO_PROBING,
    PauseState.RECOVERING: (*_TO_PROBING, Fact.PROBE_ANSWERED),
    PauseState.GIVEN_UP: (Fact.GIVE_UP,),
}
"""The facts that lead to each state, each a second after the one before."""
WAITS = {"soon": 0.0, "later": 60.0}
"""Seconds between the last of these facts and the one of the case."""


def pause_in(state: PauseState, law: PauseLaw, wait: float) -> Pause | None:
    """Return a pause that has come to a state; None: under this law there is no way."""
    pause = Pause(law)
    begin = NOW - wait - len(WAYS[state])
    for number, fact in enumerate(WAYS[state]):
        pause.take(fact, begin + number, Refusal(begin + number, "503"), good_rate=20.0)
    return pause if pause.state is state else None


CASES = [
    (state, fact, law, refusal, wait)
    for state, fact, law, refusal, wait in product(PauseState, Fact, LAWS, REFUSALS, WAITS)
    if pause_in(state, LAWS[law], WAITS[wait]) is not None
]


def facts_of(pause: Pause) -> dict[str, object]:
    """Return all that is known of a pause, recovery included, to be compared."""
    known = {name: getattr(pause, name) for name in Pause.__slots__}
    recovery = known.pop("recovery")
    return {**known, "recovery": recovery and copy.deepcopy(vars_of(recovery))}


def vars_of(one: object) -> dict[str, object]:
    slots = [name for kind in type(one).__mro__ for name in getattr(kind, "__slots__", ())]
    return {name: getattr(one, name) for name in slots} | getattr(one, "__dict__", {})


def row_for(pause: Pause, fact: Fact, refusal: Refusal):
    """Return the first row of the table whose condition holds; None: there is none."""
    said = type("Said", (), {"now": NOW, "refusal": refusal, "good_rate": 0.0})()
    twin = copy.deepcopy(pause)  # a condition may count an answer
    for row in TRANSITIONS:
        if (row.state, row.fact) == (pause.state, fact) and row.when(twin, said):
            return row
    return None


def test_every_state_is_come_to():
    """By facts alone."""
    assert {state for state, *_ in CASES} == set(PauseState)


@pytest.mark.parametrize(("state", "fact", "law", "refusal", "wait"), CASES)
def test_what_happens_is_the_table(state, fact, law, refusal, wait):
    """The first row whose condition holds is taken; a fact without a row changes nothing.

    What a row tells is its news, or nothing.
    """
    pause = pause_in(state, LAWS[law], WAITS[wait])
    rows = [row for row in TRANSITIONS if (row.state, row.fact) == (state, fact)]
    row = row_for(pause, fact, REFUSALS[refusal])
    before = facts_of(pause)
    news = pause.take(fact, NOW, REFUSALS[refusal])
    if row is None:
        assert news is None
        if not rows:
            assert facts_of(pause) == before
        assert pause.state is state
    else:
        assert pause.state is row.to
        assert news in {row.news, None}


def rows_reached() -> dict[int, set]:
    """Return the rows that the cases take, by number, with the news that they told."""
    reached: dict[int, set] = {}
    for state, fact, law, refusal, wait in CASES:
        pause = pause_in(state, LAWS[law], WAITS[wait])
        row = row_for(pause, fact, REFUSALS[refusal])
        if row is not None:
            news = pause.take(fact, NOW, REFUSALS[refusal])
            reached.setdefault(TRANSITIONS.index(row), set()).add(news)
    return reached


@pytest.mark.parametrize("number", range(len(TRANSITIONS)))
def test_each_row_is_reached_and_tells_its_news(number):
    """No row stands behind one that always holds."""
    row = TRANSITIONS[number]
    assert row.news in rows_reached()[number]


def test_the_docs_draw_the_table():
    """Row for row, in its order; a condition by its name."""
    cells = re.findall(
        r"^   \* - (.+)\n     - (.+)\n     - ?(.*)\n     - (.+)\n     - ?(.*)$",
        DOCS.read_text(),
        flags=re.MULTILINE,
    )
    assert cells[0] == ("State", "Fact", "Condition", "To", "News")
    drawn = [
        (
            row.state.value,
            row.fact.value,
            ""
            if row.when.__name__ == "_always"
            else row.when.__name__.strip("_").replace("_", " "),
            row.to.value,
            "" if row.news is None else row.news.value,
        )
        for row in TRANSITIONS
    ]
    assert cells[1:] == drawn
