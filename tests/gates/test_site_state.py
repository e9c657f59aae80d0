"""Whether it is the site that refuses, or one of its URLs."""

from __future__ import annotations

import pytest

from scrapy_mandelbot.gates.sites import GoodAnswers, LatelyWell, SiteState
from scrapy_mandelbot.politeness import Gate, PauseLaw

ONE, OTHER = b"one", b"other"


@pytest.fixture
def state() -> SiteState:
    return SiteState(Gate(PauseLaw()))


def good(tick: int) -> GoodAnswers:
    return GoodAnswers(latest=tick)


def test_others_answered_well_since_it_was_sent(state):
    """Then the URL is to blame, as often as it was refused."""
    state.note_refusal(ONE, sent_at=10)
    state.note_refusal(ONE, sent_at=14)
    assert state.times_alone(ONE, good(11)) == 2


def test_nobody_was_answered_since_it_was_sent(state):
    """Then it may as well be the site."""
    state.note_refusal(ONE, sent_at=10)
    assert state.times_alone(ONE, good(9)) == 0
    assert state.times_alone(ONE, None) == 0


def test_another_was_refused_as_well(state):
    """Then it is the site, until it answers somebody well."""
    state.note_refusal(ONE, sent_at=10)
    state.note_refusal(OTHER, sent_at=11)
    assert state.times_alone(ONE, good(12)) == 0
    state.note_good_answer(OTHER)
    state.note_refusal(ONE, sent_at=14)
    assert state.times_alone(ONE, good(13)) == 2


def test_one_never_refused_has_no_count(state):
    """Zero."""
    assert state.times_alone(ONE, good(1)) == 0


def test_what_was_answered_or_given_up_is_forgotten(state):
    """Then nothing is lost by forgetting the site."""
    assert state.is_plain
    state.note_refusal(ONE, sent_at=1)
    assert not state.is_plain
    state.note_good_answer(ONE)
    assert state.is_plain
    state.note_refusal(ONE, sent_at=1)
    state.forget_refusals(ONE)
    assert state.is_plain


def test_only_so_many_sites_are_remembered(monkeypatch):
    """Those that answered well latest; memory does not grow with the crawl."""
    monkeypatch.setattr("scrapy_mandelbot.gates.sites._REMEMBERED_SITES", 2)
    lately = LatelyWell()
    for tick, site in enumerate(["a", "b", "a", "c"]):
        lately.note(site, now=float(tick), tick=tick)
    assert lately.get("b") is None
    assert lately.get("a").latest == 2
    assert lately.get("c").latest == 3
