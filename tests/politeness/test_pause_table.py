"""The table of the pause, row by row, and its drawing in the docs."""

from __future__ import annotations

from itertools import product
from pathlib import Path

from pause_facts import Fact

from scrapy_mandelbot.politeness.pause import TABLE, Pause, PauseState
from scrapy_mandelbot.politeness.pause_policy import PausePolicy, Refusal

DESIGN = Path(__file__).parents[2] / "docs" / "design.rst"
CONDITIONS = "   :header: State; Fact; Condition; To; Effect\n"
NOW = 1000.0
LAWS = {
    "recovers": PausePolicy(first=1, tries=3),
    "does not recover": PausePolicy(first=1, tries=3, recovers=False),
    "one try": PausePolicy(first=1, tries=1),
}
REFUSALS = {
    "no Retry-After": Refusal(NOW, "503"),
    "Retry-After": Refusal(NOW, "503", 30.0),
}
ANY_OTHER = [one.value for one in PauseState if one is not PauseState.GIVEN_UP]
_FAIL = (Fact.SENT, Fact.PROBE_REFUSED)
_TO_PROBING = (Fact.REFUSED, Fact.SENT)
WAYS = {
    "open": (PauseState.OPEN, ()),
    "paused": (PauseState.PAUSED, (Fact.REFUSED,)),
    "probing": (PauseState.PROBING, _TO_PROBING),
    "recovering": (PauseState.RECOVERING, (*_TO_PROBING, Fact.PROBE_ANSWERED)),
    "attempts left": (PauseState.LAST_ATTEMPTS, (Fact.REFUSED, *_FAIL)),
    "first attempt": (PauseState.LAST_ATTEMPTS, (Fact.REFUSED, *_FAIL, Fact.SENT)),
    "last attempt": (PauseState.LAST_ATTEMPTS, (Fact.REFUSED, *50 * _FAIL, Fact.SENT)),
    "given up": (PauseState.GIVEN_UP, (Fact.GIVE_UP,)),
}
"""Each state, and the facts that lead to it, each a second after the one before."""
WAITS = {"soon": 0.0, "later": 60.0}
"""Seconds between the last of these facts and the one of the case."""
SERVED = {"served": True, "never served": False}


def pause_in(way: str, policy: PausePolicy, wait: float) -> Pause | None:
    """Return a pause that has come to a state.

    None: under this law that is no way to it.
    """
    pause = Pause(policy)
    state, facts = WAYS[way]
    begin = NOW - wait - len(facts)
    for number, fact in enumerate(facts):
        pause.take(
            fact, begin + number, Refusal(begin + number, "503"), has_served=True
        )
    return pause if pause.state is state else None


CASES = [
    (way, fact, policy, refusal, wait, served)
    for way, fact, policy, refusal, wait, served in product(
        WAYS, Fact, LAWS, REFUSALS, WAITS, SERVED
    )
    if pause_in(way, LAWS[policy], WAITS[wait]) is not None
]


def test_every_state_is_come_to():
    """By facts alone."""
    assert {WAYS[way][0] for way, *_ in CASES} == set(PauseState)


def test_the_docs_say_what_happens():
    """Whatever a fact does to a pause in any state is a row of the table there, no
    more.
    """
    _, _, table = DESIGN.read_text().partition(f"{CONDITIONS}   :delim: ;\n\n")
    table = table.partition("\n\n")[0]
    cells = [
        [cell.strip() for cell in row.split(";")] for row in table.strip().split("\n")
    ]
    assert cells[-1] == ["any other", "give up", "", "given up", "gave up"]
    cells[-1:] = [[state, *cells[-1][1:]] for state in ANY_OTHER]
    drawn = {(state, fact, to, effect) for state, fact, _, to, effect in cells}
    changes = {row[:3] for row in drawn}
    seen = set()
    for way, fact, policy, refusal, wait, served in CASES:
        pause = pause_in(way, LAWS[policy], WAITS[wait])
        state, before = (
            pause.state,
            (pause.until, pause.rate_control and pause.rate_control.next_at),
        )
        effect = pause.take(fact, NOW, REFUSALS[refusal], has_served=SERVED[served])
        row = (state.value, fact.value, pause.state.value)
        after = (pause.until, pause.rate_control and pause.rate_control.next_at)
        if effect is not None:
            seen.add((*row, effect.value))
        elif pause.state is not state or before != after:
            assert row in changes
            seen.update(drawn & {(*row, "")})
    assert seen == drawn


def test_the_design_shows_the_table_of_the_code():
    """Row by row, states of one row joined."""
    table = DESIGN.read_text().partition("   :header: State; Fact; To; Effect\n")[2]
    lines = table.partition("\n\n")[2].partition("\n\n")[0].split("\n")
    shown = set()
    for line in lines:
        states, fact, to, effect = (cell.strip() for cell in line.split(";"))
        if states == "any other":
            states = ", ".join(ANY_OTHER)
        shown |= {(state, fact, to, effect) for state in states.split(", ")}
    assert shown == {
        (state.value, fact.value, to.value, "" if effect is None else effect.value)
        for (state, fact), (to, effect) in TABLE.items()
    }
