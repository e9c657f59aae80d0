"""The gate's table, edge by edge. (politeness/gate.py; Mandelbot, "Temporarily Stop Crawling")"""

from __future__ import annotations

from math import inf

import pytest

from scrapy_mandelbot.politeness import Gate, GateState, PauseLaw, Refusal, Transition

LAW = PauseLaw(first=1, base=60, longest=600, retry_after_longest=86_400, tries=4, recovers=False)


@pytest.fixture
def gate() -> Gate:
    return Gate(LAW)


def closed(gate: Gate, now: float = 100.0, retry_after: float | None = None) -> Gate:
    gate.refused(Refusal(now, "503", retry_after))
    return gate


def probing(gate: Gate, now: float = 101.0) -> Gate:
    assert closed(gate, now - 1).sent(now)
    return gate


def test_an_open_gate_sets_no_limit(gate):
    """A site that is well may be sent as much as the crawl sends."""
    assert gate.due(5) == 5
    assert not gate.sent(5)
    assert repr(gate) == "<Gate open>"


def test_mandelbot_a_refusal_closes(gate):
    """A 503 to any request stops the crawl of the site."""
    assert gate.refused(Refusal(100, "503 for /")) is Transition.PAUSED
    assert gate.state is GateState.CLOSED
    assert gate.due(100.9) == 101
    assert gate.reason == "503 for /"
    assert repr(gate) == "<Gate closed until 101.0, 0 failed probes>"


def test_mandelbot_a_closed_gate_lets_one_through_when_its_time_has_come(gate):
    """The crawl resumes at some later time, with a single request."""
    closed(gate)
    assert gate.due(101) == 101
    assert gate.due(105) == 105
    assert gate.sent(105), "it is the probe"
    assert gate.state is GateState.PROBING


def test_while_a_probe_is_out_nobody_else_goes(gate):
    """There is one probe, not two."""
    probing(gate)
    assert gate.due(10_000) == inf
    assert repr(gate) == "<Gate probing, 0 failed probes>"


def test_a_probe_that_is_answered_opens(gate):
    """A good answer to the probe ends the pause, and it is told how long it was."""
    assert probing(gate).probe_answered(101.5) is Transition.RESUMED
    assert gate.state is GateState.OPEN
    assert gate.paused_for(130.0) == 30.0


@pytest.mark.parametrize(
    ("failed", "pause"), [(1, 60), (2, 120), (3, 240)], ids=["first", "second", "third"]
)
def test_failed_probes_double_the_pause(gate, failed, pause):
    """Only failed probes lengthen the next pause: 60 s, doubling."""
    probing(gate)
    for _ in range(failed):
        gate.sent(10**6)
        assert gate.probe_refused(Refusal(200, "503")) is Transition.PROLONGED
    assert gate.until == 200 + pause
    assert gate.failed_probes == failed


def test_the_pause_grows_no_longer_than_the_longest():
    """However many probes failed, no pause of our own choice is longer than the law's longest."""
    law = PauseLaw(base=60, longest=600, tries=10**6)
    assert law.pause(100_000, Refusal(0, "")) == 600


def test_jitter_spreads_pauses_of_our_own_choice_only():
    """What a server asks for is kept to the second; the rest is spread by up to a tenth."""
    assert LAW.pause(1, Refusal(0, "", None, 0.1)) == pytest.approx(66)
    assert LAW.pause(1, Refusal(0, "", None, -0.1)) == pytest.approx(54)
    assert LAW.pause(1, Refusal(0, "", 30.0, 0.1)) == 30


def test_the_site_is_given_up_after_so_many_failed_probes(gate):
    """The last failed probe gives the site up: nobody is sent any more."""
    probing(gate)
    transitions = []
    for _ in range(LAW.tries):
        gate.sent(10**6)
        transitions.append(gate.probe_refused(Refusal(200, "503")))
    assert transitions == [Transition.PROLONGED] * 3 + [Transition.GAVE_UP]
    assert gate.due(10**9) == inf
    assert repr(gate) == "<Gate given up after 4 failed probes>"


@pytest.mark.parametrize("event", ["refused", "probe_answered", "probe_refused", "probe_lost"])
def test_given_up_is_for_good(gate, event):
    """No late answer opens a site that was given up."""
    probing(gate)
    for _ in range(LAW.tries):
        gate.sent(10**6)
        gate.probe_refused(Refusal(200, "503"))
    news = Refusal(300, "late") if event.endswith("refused") else 300
    assert getattr(gate, event)(news) is None
    assert gate.state is GateState.GIVEN_UP


def test_late_refusals_of_the_burst_change_nothing(gate):
    """Sixteen 503s to sixteen requests under way are one pause, not sixteen."""
    closed(gate)
    assert gate.refused(Refusal(100.2, "late")) is None
    assert (gate.until, gate.failed_probes) == (101, 0)


def test_a_late_refusal_with_a_longer_retry_after_extends_the_pause(gate):
    """The burst is one pause, and the longest time that the server named holds."""
    closed(gate)
    assert gate.refused(Refusal(100.2, "late", 30.0)) is Transition.PROLONGED
    assert gate.until == pytest.approx(130.2)
    assert gate.refused(Refusal(100.3, "late", 5.0)) is None
    assert gate.until == pytest.approx(130.2)


def test_a_refusal_while_probing_is_late(gate):
    """The probe decides; who was sent before it has no say."""
    assert probing(gate).refused(Refusal(102, "late", 500.0)) is None
    assert gate.state is GateState.PROBING


def test_a_lost_probe_makes_room_for_another_at_once(gate):
    """A probe that ends without a word of the site, dropped or forbidden, proves nothing."""
    probing(gate).probe_lost(105)
    assert gate.due(105) == 105
    assert gate.failed_probes == 0


def test_a_request_that_alone_is_refused_is_set_aside():
    """A URL that alone answers 503 is tried again after 1, 2, 4, 5 s, or when the server says."""
    assert [LAW.pause_of_one(times, None) for times in range(1, 7)] == [1, 2, 4, 5, 5, 5]
    assert LAW.pause_of_one(3, 7.0) == 7
    assert LAW.pause_of_one(3, 10.0**9) == 86_400


def test_the_operator_may_hold_it_in_any_state(gate):
    """Nothing is sent before the hold ends; then the gate is in the state that it has come to."""
    gate.hold(90, until=500)
    assert gate.due(100) == 500
    assert repr(gate) == "<Gate open, held until 500.0>"
    closed(gate, 100)
    assert gate.due(101) == 500
    assert gate.end_hold(499) is None
    assert gate.end_hold(501) == 411
    assert gate.end_hold(502) is None
    assert (gate.state, gate.due(502)) == (GateState.CLOSED, 502)


def test_the_operator_may_end_a_pause(gate):
    """Then the probe goes at once; an open gate stays as it is."""
    gate.end_pause(50)
    assert gate.state is GateState.OPEN
    closed(gate, 100, retry_after=1000.0).end_pause(200)
    assert gate.due(200) == 200
    assert gate.sent(200), "it is the probe"


def test_retry_after_is_kept_and_capped(gate):
    """The server says when, up to a day."""
    closed(gate, 100, retry_after=90.0)
    assert gate.until == 190
    assert LAW.pause(0, Refusal(0, "", 10.0**9)) == 86_400


def test_the_next_pause_starts_from_the_first_again(gate):
    """A site that was open in between starts afresh."""
    probing(gate)
    gate.probe_refused(Refusal(200, "503"))
    gate.sent(10**6)
    gate.probe_answered(290)
    closed(gate, 300)
    assert (gate.until, gate.failed_probes) == (301, 0)


@pytest.mark.parametrize("state", ["open", "closed"])
def test_news_of_a_probe_that_is_none_changes_nothing(gate, state):
    """Answers are only a probe's while the gate is probing."""
    if state == "closed":
        closed(gate)
    assert gate.probe_answered(200) is None
    assert gate.probe_refused(Refusal(200, "503")) is None
    gate.probe_lost(200)
    assert gate.state is GateState(state)
