"""Whether it is the site that refuses, or one of its URLs."""

from __future__ import annotations

import pytest

from scrapy_mandelbot.gates.loners import Loners
from scrapy_mandelbot.gates.sites import LatelyWell
from scrapy_mandelbot.politeness import PauseLaw, Refusal

SITE, ONE, OTHER = "https://example.com", b"one", b"other"


@pytest.fixture
def loners() -> Loners:
    return Loners(PauseLaw(first=1))


def refused(loners, which, *, sent_at, good_at, retry_after=None) -> bool:
    return loners.refused(SITE, which, Refusal(1000, "503", retry_after), sent_at, good_at)


def test_others_were_answered_well_since_it_was_sent(loners):
    """Then the URL is to blame, but for its first refusal, and it is tried again a while later."""
    assert not refused(loners, ONE, sent_at=10, good_at=11)
    assert loners.may_go_at(SITE, ONE) == 0
    for times, pause in enumerate([1, 2, 4, 5, 5], start=2):
        assert refused(loners, ONE, sent_at=10 + times, good_at=11)
        assert loners.times_alone(SITE, ONE) == times
        assert loners.may_go_at(SITE, ONE) == 1000 + pause


def test_the_server_says_when(loners):
    """Then the request is tried no sooner, and its site is asked on."""
    refused(loners, ONE, sent_at=10, good_at=11)
    assert refused(loners, ONE, sent_at=14, good_at=13, retry_after=30.0)
    assert loners.may_go_at(SITE, ONE) == 1030


@pytest.mark.parametrize("good_at", [9, None])
def test_nobody_was_answered_since_it_was_sent(loners, good_at):
    """Then it may as well be the site."""
    assert not refused(loners, ONE, sent_at=10, good_at=good_at)
    assert not refused(loners, ONE, sent_at=14, good_at=good_at)
    assert loners.times_alone(SITE, ONE) == 0


def test_another_was_refused_as_well(loners):
    """Then it is the site, until it answers somebody well."""
    refused(loners, ONE, sent_at=10, good_at=9)
    refused(loners, OTHER, sent_at=11, good_at=9)
    assert not refused(loners, ONE, sent_at=13, good_at=12)
    loners.answered(SITE, OTHER)
    assert refused(loners, ONE, sent_at=14, good_at=13)
    assert loners.times_alone(SITE, ONE) == 3


def test_who_was_to_blame_need_not_be_for_ever(loners):
    """A refusal of another request means that the site is in trouble now."""
    refused(loners, ONE, sent_at=10, good_at=11)
    assert refused(loners, ONE, sent_at=12, good_at=13)
    refused(loners, OTHER, sent_at=14, good_at=13)
    assert not refused(loners, ONE, sent_at=15, good_at=13)
    assert loners.times_alone(SITE, ONE) == 0


def test_one_never_refused_has_no_count(loners):
    """Zero."""
    assert loners.times_alone(SITE, ONE) == 0
    assert loners.may_go_at(SITE, ONE) == 0


def test_what_was_answered_or_given_up_is_forgotten(loners):
    """Nothing is left of it."""
    for end in (loners.answered, loners.forget):
        refused(loners, ONE, sent_at=1, good_at=None)
        assert len(loners) == 1
        end(SITE, ONE)
        assert len(loners) == 0
        end(SITE, ONE)


def test_only_so_many_sites_are_remembered(monkeypatch):
    """Those that answered well latest; memory does not grow with the crawl."""
    monkeypatch.setattr("scrapy_mandelbot.gates.sites._REMEMBERED_SITES", 2)
    lately = LatelyWell()
    for tick, site in enumerate(["a", "b", "a", "c"]):
        lately.note(site, now=float(tick), tick=tick)
    assert lately.get("b") is None
    assert lately.get("a").latest == 2
    assert lately.get("c").latest == 3
