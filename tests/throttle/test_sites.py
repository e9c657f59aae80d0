"""What is forgotten of sites, and what is kept. (throttle/site_map.py)"""

from __future__ import annotations

import gc
import weakref

import pytest
from flights import flight_to

from scrapy_mandelbot.politeness.pause_policy import PausePolicy, Refusal
from scrapy_mandelbot.throttle.site_map import Sites

pytestmark = pytest.mark.usefixtures("little_to_collect")


@pytest.fixture
def sites() -> Sites:
    return Sites(PausePolicy(first=1, recovers=False))


@pytest.fixture
def few(monkeypatch):
    """Remember three sites, and five in trouble."""
    monkeypatch.setattr("scrapy_mandelbot.throttle.site_map.MOST_SITES", 3)
    monkeypatch.setattr("scrapy_mandelbot.throttle.site_map.MOST_IN_TROUBLE", 5)


def name(number: int) -> str:
    return f"https://site{number}.example"


def pause(sites: Sites, number: int) -> None:
    site = sites.of(name(number))
    site.refused(flight_to(site), b"one", Refusal(100.0, "503"))
    sites.note_trouble(site)


def test_a_site_is_one_object(sites):
    """Whoever asks, and however often."""
    site = sites.of(name(1))
    assert sites.of(name(1)) is site
    assert sites[name(1)] is site
    assert sites.get(name(1)) is site
    assert list(sites) == [name(1)]
    assert len(sites) == 1


def test_a_site_not_heard_of_is_nothing(sites):
    """To look is not to make one."""
    assert sites.get(name(1)) is None
    with pytest.raises(KeyError):
        sites[name(1)]
    assert len(sites) == 0


def test_it_prints_how_a_site_stands(sites):
    """For who looks at a crawl from inside."""
    sites.of(name(1))
    pause(sites, 2)
    assert repr(sites[name(1)]) == "<https://site1.example: open>"
    shown = "paused until 1970-01-01 00:01:41 UTC, 0 failed probes: 503"
    assert repr(sites[name(2)]) == f"<https://site2.example: {shown}>"
    assert repr(sites) == "<2 sites, 1 of them paused, probed or slowed>"


def test_those_that_came_up_last_are_remembered(sites, few):
    """Nothing else need refer to them."""
    for number in (1, 2, 3, 1, 4):
        sites.of(name(number))
    gc.collect()
    assert list(sites) == [name(1), name(3), name(4)]


def test_what_anything_refers_to_is_kept(sites, few):
    """A request in the queue or in flight, a waiter, the alarm."""
    first = sites.of(name(0))
    first.pacer.known_until = 7.0
    for number in range(1, 10):
        sites.of(name(number))
    gc.collect()
    assert len(sites) == 4
    assert sites.of(name(0)) is first
    gone = weakref.ref(first)
    del first
    for number in range(1, 10):
        sites.of(name(number))
    gc.collect()
    assert gone() is None
    assert sites.of(name(0)).pacer.known_until < 0, "it is a site not heard of yet"


def test_a_site_in_trouble_is_kept_until_it_is_well(sites, few):
    """Its pause must not be forgotten while others come up."""
    pause(sites, 0)
    for number in range(1, 10):
        sites.of(name(number))
    gc.collect()
    assert repr(sites[name(0)]).startswith("<https://site0.example: paused")
    assert sites.in_trouble() == [sites[name(0)]]
    site = sites[name(0)]
    probe = flight_to(site)
    site.handed_out(probe, 200.0, as_scout=False)
    site.answered(probe, 200.0, b"")
    sites.note_trouble(site)
    assert sites.in_trouble() == []
    del site, probe
    gc.collect()
    assert sites.get(name(0)) is None


def test_the_number_of_remembered_sites_in_trouble_is_bounded(sites, few):
    """Whoever serves a million names that all answer 503 does not fill the memory."""
    for number in range(20):
        pause(sites, number)
    gc.collect()
    assert len(sites.in_trouble()) == 5
    assert len(sites) == 5
    assert sites.get(name(19)) is not None


def remembered(control) -> int:
    return len(control._estimator._runs)


def test_what_was_learnt_of_few_sites_is_remembered(monkeypatch):
    """Each run takes memory; a site whose runs are forgotten keeps its pause and its
    rate.
    """
    monkeypatch.setattr("scrapy_mandelbot.throttle.site_map.MOST_LEARNT", 2)
    sites = Sites(PausePolicy(first=1, recovers=True))
    runs = {}
    for number in (1, 2, 1, 3):
        pause(sites, number)
        control = sites[name(number)].pause.rate_control
        control.resume(105.0, is_conclusive=True)
        runs[number] = control
    sites.note_trouble(sites[name(1)])
    assert [remembered(runs[number]) for number in (1, 2, 3)] == [2, 0, 1]
    assert not any(sites[name(number)].pause.is_open for number in (1, 2, 3))


def test_what_was_learnt_of_a_healthy_site_is_forgotten_after_an_hour():
    """Once another site is in trouble; a site that refused since then keeps what was
    learnt.
    """
    sites = Sites(PausePolicy(first=1, recovers=True))
    controls = []
    for number, at in ((1, 0.0), (2, 200.0), (3, 3_700.0)):
        pause(sites, number)
        control = sites[name(number)].pause.rate_control
        control.resume(105.0, is_conclusive=True)
        control.ended_at = at
        controls.append(control)
        sites.note_trouble(sites[name(number)])
    assert [remembered(control) for control in controls] == [0, 1, 1]


def test_a_site_that_another_crawl_requests_from_now_on_is_as_never_met(sites):
    site = sites.of(name(1))
    pause(sites, 1)
    sites.forget(site)
    assert sites.in_trouble() == []
    anew = sites.of(name(1))
    assert anew is not site
    assert anew.is_plain
