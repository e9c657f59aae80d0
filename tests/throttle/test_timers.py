"""The one alarm of a crawl, and how long its loop was up, by a clock of the tests."""

from __future__ import annotations

import gc
import weakref
from math import inf, nan

import pytest

from scrapy_mandelbot.clock import LoopUptime, Timers
from scrapy_mandelbot.politeness.pause_policy import PausePolicy
from scrapy_mandelbot.politeness.site_state import Site

pytestmark = pytest.mark.usefixtures("little_to_collect")

LAW = PausePolicy()


def make_site(name: str) -> Site:
    return Site(f"https://{name}.example", LAW)


@pytest.fixture
def rung() -> list[tuple[str, float]]:
    return []


@pytest.fixture
def alarm(clock, rung) -> Timers:
    begin = clock.now()
    return Timers(
        clock, lambda site: rung.append((site.name[8:9], clock.now() - begin))
    )


def test_it_rings_for_each_site_at_its_time(clock, alarm, rung):
    """By one timer, set for the first of them."""
    for name, seconds in (("a", 30), ("b", 10), ("c", 20)):
        alarm.set(make_site(name), clock.now() + seconds)
        assert len(clock.calls) == 1
    assert len(alarm) == 3
    clock.turn(9.9)
    assert rung == []
    clock.turn(50)
    assert rung == [("b", 10), ("c", 20), ("a", 30)]
    assert len(alarm) == 0
    clock.assert_nothing_left()


def test_the_earlier_time_wins(clock, alarm, rung):
    """It may ring too soon, never too late; and for each site once."""
    site = make_site("a")
    alarm.set(site, clock.now() + 10)
    alarm.set(site, clock.now() + 20)
    alarm.set(site, clock.now() + 5)
    clock.turn(100)
    assert rung == [("a", 5)]


def test_it_rings_again_when_it_is_set_again(clock, rung):
    """As by who is called, looks at the site, and finds that it has to wait longer."""
    site, begin = make_site("a"), clock.now()

    def ring(one: Site) -> None:
        rung.append(("a", clock.now() - begin))
        if len(rung) < 3:
            alarm.set(one, clock.now() + 7)

    alarm = Timers(clock, ring)
    alarm.set(site, begin + 1)
    clock.turn(100)
    assert rung == [("a", 1), ("a", 8), ("a", 15)]
    clock.assert_nothing_left()


@pytest.mark.parametrize("at", [inf, nan, -inf])
def test_at_no_time_it_never_rings(clock, alarm, at):
    """Another request has to end first: who notes its end looks at the site."""
    alarm.set(make_site("a"), at)
    assert len(alarm) == 0
    clock.assert_nothing_left()


def test_a_time_that_has_passed_is_now(clock, alarm, rung):
    """In the next turn of the loop, not at once: who sets it is in the middle of
    something.
    """
    alarm.set(make_site("a"), clock.now() - 5)
    assert rung == []
    clock.turn(0)
    assert rung == [("a", 0)]


def test_a_timer_that_rings_too_soon_is_set_again(clock, alarm, rung):
    """The loop's clock may be a hair ahead of ours."""
    alarm.set(make_site("a"), clock.now() + 10)
    clock.ring_early()
    assert rung == []
    clock.turn(10)
    assert rung == [("a", 10)]


def test_twelve_thousand_sites_set_a_timer_only_when_the_first_changes(
    clock, alarm, rung
):
    """A cluster that goes down costs one timer, not one for each site and answer."""
    sites = [make_site(f"a{number}") for number in range(12_000)]
    for number, site in enumerate(sites):
        alarm.set(site, clock.now() + 60 + number)
    assert clock.set == 1
    for number, site in enumerate(sites):
        alarm.set(site, clock.now() + 50 + number)
    assert clock.set == 2
    alarm.set(sites[-1], clock.now() + 1)
    assert clock.set == 3
    clock.turn(10**5)
    assert len(rung) == 12_000
    clock.assert_nothing_left()


def test_a_site_is_kept_until_it_has_rung_and_no_longer(clock, alarm):
    """Nothing else need remember it; the alarm does not for longer than it has to."""
    site = make_site("a")
    gone = weakref.ref(site)
    alarm.set(site, clock.now() + 10)
    del site
    gc.collect()
    assert gone() is not None
    clock.turn(10)
    gc.collect()
    assert gone() is None


def test_closed_it_does_not_ring(clock, alarm, rung):
    """At the end of a crawl no timer is left."""
    alarm.set(make_site("a"), clock.now() + 10)
    alarm.take()
    clock.assert_nothing_left()
    clock.turn(20)
    assert rung == []


def test_it_rings_within_a_minute_of_its_time_though_the_machine_slept(clock):
    """A loop's timers stand still meanwhile; what the pauses go by does not."""
    rung = []
    timers = Timers(clock, rung.append)
    timers.set("over", clock.now() + 3_600)
    assert [at - clock.now() for at, _ in clock.calls.values()] == [60]
    clock.turn(3_600 - 1)
    assert rung == []
    clock.turn(1)
    assert rung == ["over"]


@pytest.fixture
def uptime(clock):
    """Return what measures a loop, watched from now on."""
    found = LoopUptime(Timers(clock, print), clock.now)
    found.watch()
    return found


def test_a_loop_is_up_while_its_timers_are_on_time(clock, uptime):
    began = clock.now()
    clock.turn(3.1)
    assert uptime.since(began) == pytest.approx(3.1)
    assert uptime.since(began + 2) == pytest.approx(1.1)
    assert uptime.since(clock.now()) == 0


@pytest.mark.parametrize("seconds", [0.5, 8.0])
def test_a_loop_that_is_held_up_is_not_up(clock, uptime, seconds):
    """Before the late timer has fired, and after that."""
    began = clock.now()
    clock.turn(1)
    clock.shift(seconds)
    assert uptime.since(began) == pytest.approx(1.25)
    clock.turn(1)
    assert uptime.since(began) == pytest.approx(2.25)
    assert uptime.since(clock.now() - 0.5) == pytest.approx(0.5)


def test_a_loop_that_nobody_watches_is_not_measured(clock, uptime):
    """No timer is left; when it is watched again, the time between is left out."""
    began = clock.now()
    clock.turn(60)
    clock.assert_nothing_left()
    measured = uptime.since(began)
    assert 10 <= measured <= 10.5
    clock.turn(60)
    assert uptime.since(began) == measured
    uptime.watch()
    clock.turn(1)
    assert uptime.since(began) == pytest.approx(measured + 1, abs=0.3)
