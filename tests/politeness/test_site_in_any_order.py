"""Whatever happens to a site in whatever order, by a clock that the machine turns."""

from __future__ import annotations

import json
from math import inf, isfinite
from typing import TYPE_CHECKING

from examples import examples
from flights import admit, assert_untouched, flight_to, follow
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from scrapy_mandelbot.politeness.flight import GO, Purpose, Wait
from scrapy_mandelbot.politeness.pace import Pace
from scrapy_mandelbot.politeness.pause_policy import LeftPause, PausePolicy, Refusal
from scrapy_mandelbot.politeness.site_state import Site

if TYPE_CHECKING:
    from scrapy_mandelbot.politeness.flight import Flight

NUMBERS = st.integers(0, 10**6)
PATHS = st.sampled_from(
    ["/shelf/1", "/shelf/2", "/shelf/3", "/shelf/in/1", "/other", "/?q"]
)


class AnyOrder(RuleBasedStateMachine):
    """The simplest glue around a site: what queue and middlewares do."""

    @initialize(recovers=st.booleans(), tries=st.sampled_from([2, 1000]))
    def begin(self, *, recovers: bool, tries: int) -> None:
        policy = PausePolicy(first=1, longest=30, tries=tries, recovers=recovers)
        self.site, self.policy = Site("https://example.com", policy), policy
        self.now = 1000.0
        self.flights: list[Flight] = []
        self.scouts: set[Flight] = set()
        self.probes: set[Flight] = set()

    def passed(self, flight: Flight, *, is_probe: bool) -> None:
        """Note that a flight was let pass, perhaps as the probe."""
        if is_probe:
            self.probes.add(flight)
            assert flight is self.site.pause.probe

    def has_ended(self, flight: Flight) -> None:
        self.site.ended(flight, self.now)
        self.scouts.discard(flight)
        self.probes.discard(flight)

    def take(self, number: int) -> tuple[Flight, bytes]:
        flight = self.flights.pop(number % len(self.flights))
        return flight, flight.request.url.encode()

    @rule(seconds=st.sampled_from([0.0, 0.1, 1.0, 5.0, 61.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        self.site.end_hold(self.now)

    @rule(path=PATHS, as_scout=st.booleans())
    def the_queue_hands_one_out(self, *, path: str, as_scout: bool) -> None:
        """It may be sent at once: what the queue is told and what the way out is,
        agree.
        """
        if self.site.pause.is_given_up or self.site.due(self.now) > self.now:
            return
        if self.site.scout is not None:
            raise AssertionError("a site whose rules are being found out is due")
        flight = flight_to(self.site, path)
        is_probe = self.site.pause.awaits_probe
        section = self.site.faults.of(flight.request)
        if section is not None and section.decide(self.now).wait is Wait.PAUSE:
            return
        self.site.handed_out(flight, self.now, as_scout=as_scout)
        self.flights.append(flight)
        self.passed(flight, is_probe=is_probe)
        if as_scout:
            self.scouts.add(flight)
        else:
            assert admit(self.site, flight, self.now) is GO
            self.site.sent(flight, self.now)

    @rule(path=PATHS)
    def one_comes_from_elsewhere(self, path: str) -> None:
        """It goes when the site is due, and no sooner."""
        due = self.site.due(self.now)
        is_probe = self.site.pause.awaits_probe
        flight = flight_to(self.site, path)
        admission = admit(self.site, flight, self.now)
        if self.site.scout is None:
            assert (admission is GO) == (due <= self.now)
        if admission is GO:
            self.site.sent(flight, self.now)
            self.flights.append(flight)
            self.passed(flight, is_probe=is_probe)

    @precondition(lambda self: self.flights)
    @rule(number=NUMBERS)
    def it_is_answered_well(self, number: int) -> None:
        flight, url = self.take(number)
        self.site.answered(flight, self.now, url)
        self.has_ended(flight)

    @precondition(lambda self: self.flights)
    @rule(number=NUMBERS, retry_after=st.sampled_from([None, 0.0, 2.0, 20.0]))
    def it_is_refused(self, number: int, retry_after: float | None) -> None:
        flight, url = self.take(number)
        self.site.refused(flight, url, Refusal(self.now, "503", retry_after))
        self.has_ended(flight)
        assert self.site.may_go_at(url)[0] <= self.now + 32

    @precondition(lambda self: self.flights)
    @rule(number=NUMBERS)
    def it_ends_without_an_answer(self, number: int) -> None:
        flight, _ = self.take(number)
        self.has_ended(flight)

    @rule()
    def the_rules_are_known(self) -> None:
        if self.site.scout is not None:
            self.site.scout.settle(self.now, Purpose.RULES)
            self.site.recheck()
        self.scouts.clear()

    @rule(seconds=st.sampled_from([0.5, 10.0]))
    def it_is_paused_by_hand(self, seconds: float) -> None:
        self.site.hold(self.now, self.now + seconds)

    @rule()
    def its_pause_is_ended_by_hand(self) -> None:
        if self.site.held_until > self.now:
            self.site.release(self.now)
            self.site.end_hold(self.now)
        self.site.pause.be_due(self.now)

    @rule(delay=st.sampled_from([0.0, 3.0, 20.0]))
    def its_pace_is_learnt(self, delay: float) -> None:
        follow(self.site, Pace(delay), inf, self.now)

    @rule(seconds=st.sampled_from([-5.0, 0.5, 20.0]), section=st.booleans())
    def a_former_run_has_left_a_pause(self, seconds: float, *, section: bool) -> None:
        """Or the worker who had the site before: it may be over by now."""
        left = LeftPause(self.now + seconds, "503", 1, "/shelf/" if section else "")
        if not (
            section
            and any("/shelf/" in one.path for one in self.site.faults.aside.values())
        ):
            self.site.restore(self.now, left)

    @rule(retry_after=st.sampled_from([None, 20.0]))
    def another_crawl_was_refused(self, retry_after: float | None) -> None:
        self.site.pause_as_peer(Refusal(self.now, "503", retry_after))

    @invariant()
    def what_all_sites_share_is_empty(self) -> None:
        assert_untouched()

    @invariant()
    def there_is_one_probe_and_one_scout(self) -> None:
        assert len(self.probes) <= 1
        assert len(self.scouts) <= 1

    @invariant()
    def nothing_is_due_in_the_past(self) -> None:
        assert self.site.due(self.now) >= self.now
        if self.site.is_plain:
            assert self.site.due(self.now) == self.now

    @invariant()
    def it_waits_for_a_time_or_for_a_flight(self) -> None:
        """Who waits for ever waits for a request that is under way, or the site is
        given up.
        """
        if not isfinite(self.site.due(self.now)) and not self.site.pause.is_given_up:
            assert set(self.flights) & set(self.site.awaited)

    @invariant()
    def a_section_set_aside_waits_for_a_time_or_for_its_probe(self) -> None:
        """And none is within another."""
        paths = [section.path for section in self.site.faults.aside.values()]
        for section in self.site.faults.aside.values():
            assert repr(section)
            assert (
                section.pause.is_given_up
                or isfinite(section.pause.due(self.now))
                or section.pause.probe in self.flights
            )
            assert not [
                one for one in paths if one != section.path and one in section.path
            ]

    @invariant()
    def it_can_be_printed_and_written_down(self) -> None:
        assert repr(self.site)
        for pause in self.site.left():
            assert json.loads(json.dumps(pause)) == list(pause)
            assert pause.until < inf

    @invariant()
    def the_next_run_sets_the_same_sections_aside(self) -> None:
        again, left = Site(self.site.name, self.policy), list(self.site.left())
        for one in left:
            again.restore(self.now, one)
        paths = [one.section for one in left if one.section]
        assert [section.path for section in again.faults.aside.values()] == paths
        pauses = [section.pause for section in again.faults.aside.values()]
        assert all(isfinite(pause.due(self.now)) for pause in pauses)

    def teardown(self) -> None:
        """When all has ended and time has passed, the site is plain or slowed."""
        if not hasattr(self, "site"):
            return
        while self.flights:
            self.it_ends_without_an_answer(0)
        site = self.site
        self.now += 10_000
        site.end_hold(self.now)
        if site.pause.is_given_up:
            return
        for _ in range(3):
            if site.pause.is_passable:
                break
            self.now = site.due(self.now)
            assert isfinite(self.now)
            flight = flight_to(site, "/other")
            site.handed_out(flight, self.now, as_scout=False)
            assert admit(site, flight, self.now) is GO
            site.sent(flight, self.now)
            self.now += 0.5
            site.answered(flight, self.now, b"")
            site.ended(flight, self.now)
        for section in list(site.faults.aside.values()):
            self.now += 100
            flight = flight_to(site, f"{section.path}9")
            site.handed_out(flight, self.now, as_scout=False)
            was_over = section.pause.is_given_up
            site.answered(flight, self.now, b"9")
            site.ended(flight, self.now)
            assert was_over == (section in list(site.faults.aside.values()))
        assert site.pause.is_passable
        assert list(site.awaited) == []
        assert not site.is_shut(self.now)
        is_slowed = not site.pause.is_open or site.pacer.is_on
        has_sections = any(True for _ in site.faults.aside.values())
        assert site.is_plain or is_slowed or has_sections
        assert site.due(self.now) <= self.now + 20


AnyOrder.TestCase.settings = settings(
    max_examples=examples(150), stateful_step_count=40, deadline=None
)


class TestAnyOrder(AnyOrder.TestCase):
    """No two probes, no two scouts, nothing before it is due, and in the end all is
    well.
    """
