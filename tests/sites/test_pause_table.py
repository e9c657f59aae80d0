"""The table of the pause, row by row, and its drawing in the docs."""

from __future__ import annotations

import copy
import pickle
import re
from functools import cache
from itertools import product
from pathlib import Path

import pytest

from scrapy_mandelbot.sites.pause import Pause, PauseLaw, Refusal
from scrapy_mandelbot.sites.pause_table import TRANSITIONS, Fact, PauseState

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
_FAIL = (Fact.SENT, Fact.PROBE_REFUSED)
_TO_PROBING = (Fact.REFUSED, Fact.SENT)
WAYS = {
    "open": (PauseState.OPEN, ()),
    "paused": (PauseState.PAUSED, (Fact.REFUSED,)),
    "probing": (PauseState.PROBING, _TO_PROBING),
    "recovering": (PauseState.RECOVERING, (*_TO_PROBING, Fact.PROBE_ANSWERED)),
    "once each": (PauseState.ONCE_EACH, (Fact.REFUSED, *_FAIL)),
    "first once": (PauseState.LAST_PROBING, (Fact.REFUSED, *_FAIL, Fact.SENT)),
    "fiftieth once": (PauseState.LAST_PROBING, (Fact.REFUSED, *50 * _FAIL, Fact.SENT)),
    "given up": (PauseState.GIVEN_UP, (Fact.GIVE_UP,)),
}
"""Each state, and the facts that lead to it, each a second after the one before."""
WAITS = {"soon": 0.0, "later": 60.0}
"""Seconds between the last of these facts and the one of the case."""
SERVED = {"served": True, "never served": False}


def pause_in(way: str, law: PauseLaw, wait: float) -> Pause | None:
    """Return a pause that has come to a state; None: under this law that is no way to it."""
    pause = Pause(law)
    state, facts = WAYS[way]
    begin = NOW - wait - len(facts)
    for number, fact in enumerate(facts):
        pause.take(fact, begin + number, Refusal(begin + number, "503"), has_served=True)
    return pause if pause.state is state else None


CASES = [
    (way, fact, law, refusal, wait, served)
    for way, fact, law, refusal, wait, served in product(WAYS, Fact, LAWS, REFUSALS, WAITS, SERVED)
    if pause_in(way, LAWS[law], WAITS[wait]) is not None
]


def row_for(pause: Pause, fact: Fact, refusal: Refusal, *, has_served: bool):
    """Return the first row of the table whose condition holds; None: there is none."""
    said = type("Said", (), {"now": NOW, "refusal": refusal, "has_served": has_served})()
    twin = copy.deepcopy(pause)  # a condition may count an answer
    for row in TRANSITIONS:
        if (row.state, row.fact) != (pause.state, fact):
            continue
        if row.when is None or row.when(twin, said):
            return row
    return None


def test_every_state_is_come_to():
    """By facts alone."""
    assert {WAYS[way][0] for way, *_ in CASES} == set(PauseState)


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case)))
def test_what_happens_is_the_table(case):
    """The first row whose condition holds is taken; a fact without a row changes nothing.

    What a row tells is its news, or nothing.
    """
    way, fact, law, refusal, wait, served = case
    pause = pause_in(way, LAWS[law], WAITS[wait])
    state, has_served = pause.state, SERVED[served]
    rows = [row for row in TRANSITIONS if (row.state, row.fact) == (state, fact)]
    row = row_for(pause, fact, REFUSALS[refusal], has_served=has_served)
    before = pickle.dumps(pause)
    news = pause.take(fact, NOW, REFUSALS[refusal], has_served=has_served)
    if row is None:
        assert news is None
        if not rows:
            assert pickle.dumps(pause) == before
        assert pause.state is state
    else:
        assert pause.state is row.to
        assert news in {row.news, None}


@cache
def rows_reached() -> dict[int, set]:
    """Return the rows that the cases take, by number, with the news that they told."""
    reached: dict[int, set] = {}
    for way, fact, law, refusal, wait, served in CASES:
        pause = pause_in(way, LAWS[law], WAITS[wait])
        has_served = SERVED[served]
        row = row_for(pause, fact, REFUSALS[refusal], has_served=has_served)
        if row is not None:
            news = pause.take(fact, NOW, REFUSALS[refusal], has_served=has_served)
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
            "" if row.when is None else row.when.__name__.strip("_").replace("_", " "),
            row.to.value,
            "" if row.news is None else row.news.value,
        )
        for row in TRANSITIONS
    ]
    assert cells[1:] == drawn
