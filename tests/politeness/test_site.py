"""What holds the requests of a site back, each reason alone and together."""

from __future__ import annotations

import gc
import json
from array import array
from math import inf
from typing import TYPE_CHECKING

import pytest
from flights import Page, admit, flight_to, follow, times_alone
from mandelbot import RobotsTxt

from scrapy_mandelbot.politeness.concurrency_limit import ConcurrencyLimit
from scrapy_mandelbot.politeness.failures import MOST_FAILED_PAGES, Failures
from scrapy_mandelbot.politeness.faults import (
    MOST_REFUSED_URLS,
    MOST_SECTIONS,
    Faults,
    ResumedSection,
)
from scrapy_mandelbot.politeness.flight import GO, NEVER, Purpose, Wait
from scrapy_mandelbot.politeness.pace import Pace
from scrapy_mandelbot.politeness.pause import (
    FORGOTTEN_AFTER,
    Pause,
    PauseEffect,
    PauseState,
)
from scrapy_mandelbot.politeness.pause_policy import (
    LeftPause,
    Mode,
    PausePolicy,
    Refusal,
)
from scrapy_mandelbot.politeness.probe import (
    MOST_LOOKED_THROUGH,
    choose_probe,
    looked_through,
    may_ask_again,
    refused_least,
)
from scrapy_mandelbot.politeness.rate_control import RateControl
from scrapy_mandelbot.politeness.site_state import Site

if TYPE_CHECKING:
    from scrapy_mandelbot.politeness.flight import Flight

LAW = PausePolicy(first=1, tries=2, recovers=False)
PAUSED, NO_TURN = "paused", "no turn"
FOR_A_TIME = {Wait.PAUSE, Wait.TURN}


def waits(site, flight, now):
    """Return what a request waits for that may not leave now."""
    decision = admit(site, flight, now)
    assert decision not in {GO, NEVER}
    return NO_TURN if decision.wait is Wait.TURN else PAUSED


@pytest.fixture
def site() -> Site:
    return Site("https://example.com", LAW)


def serve(site: Site, pages: int = 40) -> None:
    """Answer so many pages well."""
    for number in range(pages):
        flight = hand_out(site, number)
        site.answered(flight, number, b"%d" % number)
        site.ended(flight, number)


def has_given_up(site: Site, fingerprint: bytes, path: str = "/") -> bool:
    flight = flight_to(site, path)
    flight.fingerprint = fingerprint
    return site.has_given_up(flight)


def hand_out(site: Site, now: float, *, scout: bool = False, path: str = "/") -> Flight:
    assert site.due(now) <= now
    flight = flight_to(site, path)
    site.handed_out(flight, now, as_scout=scout)
    return flight


def send(site: Site, flight: Flight, now: float) -> Flight:
    assert admit(site, flight, now) is GO
    site.sent(flight, now)
    return flight


def refuse(
    site: Site, now: float, which: bytes = b"one", path: str = "/", **what
) -> PauseEffect | None:
    """Refuse a request that was sent by no turn, and end it."""
    flight = flight_to(site, path)
    flight.sent_at = now
    effect = site.refused(flight, which, Refusal(now, "503", **what))
    site.ended(flight, now)
    return effect


def test_a_site_that_nothing_is_known_of_may_be_asked_at_once(site):
    """By as many as like, and nothing is kept of them."""
    for _ in range(3):
        flight = send(site, hand_out(site, 100), 100)
        assert site.answered(flight, 101, b"") is None
        assert not site.ended(flight, 101), "no other can have waited for it"
    assert site.is_plain
    assert site.due(101) == 101
    assert not site.is_shut(101)
    assert repr(site) == "<https://example.com: open>"


@pytest.mark.parametrize("pages", [0, 3, 64, 79, 80, 81, 1000])
def test_of_many_good_answers_the_last_64_are_remembered(site, monkeypatch, pages):
    """What a site bore is asked for when it says no for the first time."""
    asked = []
    monkeypatch.setattr(
        Pause, "refused", lambda _, __, ___, recent, **____: asked.append([*recent])
    )
    serve(site, pages)
    held = [one for one in gc.get_referents(site) if isinstance(one, array)]
    assert [len(one) <= 80 for one in held] == [True] * (pages > 0)
    refuse(site, pages)
    assert asked == [[*range(max(0, pages - 64), pages)]]


@pytest.mark.parametrize("pages", [0, 3])
def test_a_robots_txt_counts_before_the_first_page(site, monkeypatch, pages):
    """A limit may count it, too; behind a page it may be long ago."""
    asked = []
    monkeypatch.setattr(
        Pause, "refused", lambda _, __, ___, recent, **____: asked.append([*recent])
    )
    site.rules_asked_at = -1.0
    serve(site, pages)
    refuse(site, pages)
    assert asked == [[*range(pages)] or [-1.0]]


def test_while_its_rules_are_found_out_one_request_is_on_its_way(site):
    """The scout; the others may go when it knows, whatever becomes of it."""
    scout = hand_out(site, 100, scout=True)
    assert site.due(10**9) == inf
    assert list(site.awaited) == [scout]
    assert site.as_text() == "its rules are being found out"
    assert not site.is_shut(100), "it is being asked"
    assert scout.settle(100, Purpose.RULES)
    site.recheck()
    assert site.is_plain
    scout = hand_out(site, 100, scout=True)
    assert site.ended(scout, 101), "the others may go"
    assert site.is_plain


def test_paused_by_hand_nothing_is_sent(site):
    """Neither what is handed out nor what was; when it is over it is told how long it
    was.
    """
    flight = hand_out(site, 80)
    site.hold(90, until=500)
    assert site.due(100) == 500
    assert waits(site, flight, 100) is PAUSED
    assert site.is_shut(100)
    assert site.as_text(now=100) == "held until 1970-01-01 00:08:20 UTC"
    assert site.end_hold(499) is None
    assert site.end_hold(501) == 411
    assert site.end_hold(502) is None
    assert site.is_plain


def test_a_hold_may_be_ended_by_hand(site):
    """At once; a hold that is set again counts from the first."""
    site.hold(90, until=500)
    site.hold(100, until=600)
    site.release(110)
    assert site.due(110) == 110
    assert site.end_hold(110) == 20


def test_paused_one_request_asks_whether_it_is_over(site):
    """The first that is handed out then, or that comes from elsewhere."""
    late = hand_out(site, 99)
    assert refuse(site, 100) is PauseEffect.PAUSED
    assert site.due(100) == 101
    assert waits(site, late, 100) is PAUSED
    assert waits(site, late, 101) is PAUSED, "it goes back to the queue"
    probe = hand_out(site, 101)
    assert probe is site.pause.probe
    assert site.due(10**9) == inf
    other = flight_to(site)
    assert waits(site, other, 10**9) is PAUSED
    send(site, probe, 101)
    assert site.answered(probe, 102, b"") is PauseEffect.RESUMED
    assert site.is_plain
    assert admit(site, other, 102) is GO


def test_a_request_from_elsewhere_may_be_the_probe(site):
    """A file of a media pipeline, at a site that no request of the queue waits for."""
    refuse(site, 100)
    flight = flight_to(site)
    assert waits(site, flight, 100.5) is PAUSED
    assert admit(site, flight, 101) is GO
    assert flight is site.pause.probe
    assert admit(site, flight, 101) is GO, "it has its turn"


def test_a_request_with_dont_pause_is_sent_during_a_pause(site):
    """With ``dont_pause``; it is no probe. A pace holds it back in any case."""
    refuse(site, 100)
    flight = flight_to(site)
    flight.keeps_pauses = False
    assert admit(site, flight, 100) is GO
    assert flight is not site.pause.probe
    assert site.due(101) == 101
    follow(site, Pace(5.0), inf, 101)
    assert site.due(101) == 105, "its last answer was at 100"
    other = flight_to(site)
    other.keeps_pauses = False
    assert waits(site, other, 101) is NO_TURN


def test_at_a_pace_there_is_a_turn_at_a_time(site):
    """The next is when the answer has ended and the delay is over."""
    assert follow(site, Pace(5.0), inf, 100)
    first = hand_out(site, 100)
    assert site.due(100) == inf
    assert waits(site, flight_to(site), 100) is NO_TURN
    send(site, first, 100)
    assert site.ended(first, 102)
    assert site.due(102) == 107
    assert site.pacer.due_after(102) == 107
    assert not site.is_shut(102), "it is asked, if slowly"
    assert not follow(site, Pace(5.0), inf, 103), "the same is no news"


def test_outside_of_its_visit_time_it_is_shut_once_a_request_waits(site):
    """And it is told once when it opens, and once that it has."""
    visits = RobotsTxt.parse(b"User-agent: *\nVisit-time: 0100-0500\n").visit_times("x")
    follow(site, Pace(visits=visits), inf, 0)
    assert not site.is_shut(0)
    assert site.pacer.note_wait(0) == 3600
    assert site.pacer.note_wait(10) is None
    assert site.is_shut(10)
    assert site.pacer.end_shut(3599) is None
    assert site.pacer.end_shut(3600) == 3600
    assert site.pacer.end_shut(3600) is None
    assert not site.is_shut(3600)


def test_who_waits_for_a_time_is_told_from_who_waits_for_another(site):
    """Turns and pauses hold requests back; a site whose rules are being found out does
    not.
    """
    assert site.decide(100).wait not in FOR_A_TIME
    scout = hand_out(site, 100, scout=True)
    assert site.due(100) == inf
    assert site.decide(100).wait not in FOR_A_TIME
    scout.settle(102, Purpose.RULES)
    site.recheck()
    follow(site, Pace(5.0), inf, 102)
    flight = send(site, hand_out(site, 103), 103)
    assert site.decide(104).wait in FOR_A_TIME
    site.ended(flight, 104)
    assert site.decide(105).wait in FOR_A_TIME
    assert site.decide(110, section="/none-is-set-aside/").wait not in FOR_A_TIME
    refuse(site, 110, retry_after=30)
    assert site.decide(139).wait in FOR_A_TIME
    assert site.decide(141).wait not in FOR_A_TIME


def test_what_a_former_run_left_of_a_turn_is_waited_for(site):
    """It waits until the pace is known again, and no longer by a shorter delay."""
    site.pacer.resumes_at = 160.0
    assert site.pacer.restore(longest=60.0, now=100)
    site.recheck()
    assert site.due(100) == 160
    assert not site.pacer.restore(longest=60.0, now=100)
    follow(site, Pace(5.0), inf, 100)
    assert site.due(100) == 105


@pytest.mark.parametrize("held", [None, 500.0])
@pytest.mark.parametrize("paused", [None, 400.0])
@pytest.mark.parametrize("delay", [None, 300.0])
def test_of_several_reasons_the_longest_counts(site, held, paused, delay):
    """Each holds back alone, and none ends another."""
    due = [0.0]
    if delay:
        follow(site, Pace(delay), inf, 0)
        site.ended(send(site, hand_out(site, 0), 0), 0)
        due.append(delay)
    if paused:
        refuse(site, 0, retry_after=paused)
        due.append(paused)
    if held:
        site.hold(0, held)
        due.append(held)
    assert site.due(0) == max(due)
    flight = flight_to(site)
    if max(due):
        assert admit(site, flight, max(due) - 1) is not GO
    assert site.due(max(due)) == max(due)
    assert admit(site, flight, max(due)) is GO


def test_the_scout_of_a_paused_site_is_its_probe(site):
    """One request tells both; it takes no turn before the rules are known."""
    refuse(site, 100)
    scout = hand_out(site, 101, scout=True)
    assert scout is site.pause.probe
    assert set(site.awaited) == {scout}
    assert site.ended(scout, 102)
    assert site.due(102) == 102, "another probe may go at once"
    assert not site.awaited


def test_a_url_that_alone_is_refused_waits_alone(site):
    """Its site is asked on: others were answered well since."""
    serve(site)
    assert refuse(site, 100) is PauseEffect.PAUSED
    probe = hand_out(site, 101)
    site.answered(probe, 102, b"other")
    site.ended(probe, 102)
    assert refuse(site, 103) is PauseEffect.SET_ASIDE
    assert site.due(103) == 103
    assert site.may_go_at(b"one")[0] == 104
    assert times_alone(site.faults, b"one") == 2
    assert site.may_go_at(b"other")[0] == 0
    assert site.is_plain
    site.faults.forget(b"one")
    assert times_alone(site.faults, b"one") == 0
    assert site.may_go_at(b"one")[0] == 0


def test_a_refusal_that_names_a_time_holds_the_whole_site(site):
    """Whoever asked: a page that alone is refused, or one of a section that is set
    aside.
    """
    serve(site)
    refuse(site, 100)
    probe = hand_out(site, 101, path="/other")
    site.answered(probe, 102, b"other")
    site.ended(probe, 102)
    assert refuse(site, 103, retry_after=9.0) is PauseEffect.PAUSED
    assert site.due(103) == 112
    assert times_alone(site.faults, b"one") == 2


def set_shelf_aside(site: Site) -> PauseEffect | None:
    """Refuse three pages of a section that were in flight together, and no other."""
    pages = [flight_to(site, f"/shelf/{number}") for number in range(3)]
    for page in pages:
        site.handed_out(page, 100, as_scout=False)
    for number, page in enumerate(pages):
        site.refused(page, b"%d" % number, Refusal(100.0, "503"))
        site.ended(page, 100)
    probe = hand_out(site, 110, path="/other")
    effect = site.answered(probe, 111, b"other")
    site.ended(probe, 111)
    return effect


def test_a_section_alone_is_set_aside(site):
    """Its pages were refused one after the other, and another was answered well that
    went later.
    """
    assert set_shelf_aside(site) is PauseEffect.RESUMED
    (section,) = site.faults.aside.values()
    assert section.path == "/shelf/"
    assert site.faults.of(Page(site.name + "/shelf/9")) is section
    assert site.faults.of(Page(site.name + "/other")) is None
    assert site.due(111) == 111, "the site is well"
    assert not site.is_plain, "its requests are looked at"
    assert site.due(111, "/shelf/") == 111, (
        "it is asked at once whether it is the section"
    )
    assert site.due(111, "/unheard/") == 111

    probe = hand_out(site, 112, path="/shelf/9")
    assert section.pause.probe is probe
    assert site.due(112, "/shelf/") == inf
    assert list(site.awaited) == [probe], "others wait for its end"
    assert site.due(112) == 112, "its probe is the section's and not the site's"
    assert site.answered(probe, 113, b"9") is PauseEffect.SECTION
    assert site.faults.aside == {}
    assert site.is_plain


def test_the_refusals_of_a_section_set_aside_are_nobody_elses_business(site):
    """Its own probes lengthen its own pause, until final attempts are left."""
    set_shelf_aside(site)
    told = []
    for _ in range(2):
        at = site.due(112, "/shelf/")
        probe = hand_out(site, at, path="/shelf/9")
        told.append(site.refused(probe, b"9", Refusal(at, "503")))
        site.ended(probe, at)
        assert site.due(at) == at
    assert told == [PauseEffect.SECTION] * 2
    assert site.faults.aside["/shelf/"].pause.final_attempts == 50
    at = site.due(112, "/shelf/")
    assert has_given_up(site, b"9", "/shelf/9")
    assert not has_given_up(site, b"10", "/shelf/10")
    assert not has_given_up(site, b"other", "/other")


def test_a_probe_comes_from_elsewhere_than_what_was_refused(site):
    """One that was never refused, of no section that is suspected.

    None where there is none.
    """
    assert looked_through(site) == 1
    assert choose_probe(site, [Page(site.name + "/any")], lambda _: b"any") == 0
    refuse(site, 100, b"1", path="/shelf/1")
    assert looked_through(site) > 1
    pages = [
        Page(site.name + path) for path in ("/shelf/2", "/one", "/shelf/3", "/shelf/4")
    ]

    def fingerprint_of(page: Page) -> bytes:
        return page.url.encode()

    assert choose_probe(site, pages, fingerprint_of) == 1
    assert choose_probe(site, pages[2:], fingerprint_of) is None
    assert choose_probe(site, pages[1:2], lambda _: b"1") is None, (
        "it was refused itself"
    )


def test_with_each_failed_probe_more_are_looked_through(site):
    """Up to some hundreds, however many have failed."""
    site = Site(site.name, PausePolicy(tries=10**6, recovers=False))
    refuse(site, 100, b"1", path="/shelf/1")
    looked_at, at = [looked_through(site)], 101.0
    for number in range(30):
        at = site.due(at)
        probe = hand_out(site, at, path=f"/{number}")
        assert looked_through(site) == 1, "one is on its way"
        site.refused(probe, b"%d" % number, Refusal(at, "503"))
        site.ended(probe, at)
        looked_at.append(looked_through(site))
    assert looked_at[:3] == [64, 128, 256]
    assert set(looked_at[3:]) == {MOST_LOOKED_THROUGH}


def test_the_next_probe_comes_from_where_the_last_good_one_did(site):
    """Where the first of a queue are dead, they are not asked again and again."""
    site = Site(site.name, PausePolicy(recovers=False))
    pages = [Page(f"{site.name}/{number}") for number in range(100)]

    def chosen() -> int | None:
        return choose_probe(site, pages, lambda page: page.url.encode())

    refuse(site, 100, b"1", path="/shelf/1")
    before = chosen()
    probe = hand_out(site, 101)
    site.refused(probe, b"dead", Refusal(101, "503"))
    after = chosen()
    assert after != before
    site.answered(hand_out(site, 110), 110, b"good")
    refuse(site, 120, b"2", path="/shelf/2")
    assert chosen() == after


def test_after_three_that_failed_a_good_page_is_asked_for_again():
    """It says whether the site is down, or these were dead pages.

    Then others are tried again.
    """
    site = Site("https://example.com", PausePolicy())
    pages = [Page(f"{site.name}/{number}") for number in range(100)]
    site.answered(hand_out(site, 99, path="/good"), 99, b"good")
    refuse(site, 100, b"1")
    asked_again = []
    at = 100.0
    for number in range(6):
        asked_again.append(
            choose_probe(site, pages, lambda page: page.url.encode()) is None
        )
        at = site.due(at)
        site.refused(hand_out(site, at), b"%d" % number, Refusal(at, "503"))
    assert asked_again == [False, False, False, True, False, False]


@pytest.mark.parametrize("mode", [Mode.LIMIT, Mode.SLOW])
def test_a_site_that_counts_is_asked_for_nothing_twice(mode):
    """Its quota is for pages that are not there yet."""
    site = Site("https://example.com", PausePolicy())
    site.answered(hand_out(site, 99, path="/good"), 99, b"good")
    refuse(site, 100, b"1")
    assert may_ask_again(site)
    site.pause.rate_control.mode = mode
    assert not may_ask_again(site)


def test_a_page_is_well_though_what_was_sent_later_was_answered_sooner(site):
    """By an error, for example, before any page was well."""
    page, error = hand_out(site, 100, path="/1"), hand_out(site, 100, path="/2")
    site.answered(error, 101, b"", is_page=False)
    assert site.well_url == ""
    site.answered(page, 102, b"")
    assert site.well_url == site.name + "/1"


def test_a_page_that_was_answered_well_is_known(site):
    """The one that was sent last, to be asked again; none of a site that never
    answered.
    """
    assert site.well_url == ""
    first, second = hand_out(site, 100, path="/1"), hand_out(site, 100, path="/2")
    site.answered(second, 101, b"")
    site.answered(first, 102, b"")
    assert site.well_url == site.name + "/2"


@pytest.mark.parametrize(
    ("has_headers", "meta", "are_kept"),
    [
        (True, {}, True),
        (False, {"depth": 1}, False),
        (False, {"proxy": "http://proxy.example"}, True),
    ],
)
def test_the_headers_of_a_good_page_are_kept_only_if_the_next_request_needs_them(
    site, has_headers, meta, are_kept
):
    """The middlewares give a request theirs once more, but a proxy its password only
    with the first.
    """
    flight = hand_out(site, 100)
    flight.has_headers = has_headers
    flight.request.headers = {"Accept": "text/html"}
    flight.request.meta = meta
    site.answered(flight, 101, b"")
    assert site.well_way == (flight.request.headers if are_kept else {}, meta)


def test_what_was_refused_lets_others_go_first(site):
    """For as long as a first pause takes, after the pause; with its site, not alone."""
    refuse(site, 100)
    assert times_alone(site.faults, b"one") == 0
    assert site.may_go_at(b"one")[0] == 102
    assert site.may_go_at(b"other")[0] == 0


def test_each_request_gets_one_final_attempt(site):
    """Not what was refused twice; a limit may have refused it once."""
    site.answered(hand_out(site, 99), 99, b"")
    refuse(site, 100)
    for _ in range(2):
        at = site.due(100)
        probe = hand_out(site, at)
        site.refused(probe, b"two", Refusal(at, "503"))
        site.ended(probe, at)
    assert not site.pause.is_given_up
    assert has_given_up(site, b"two")
    for page in (b"one", b"never sent"):
        assert not has_given_up(site, page)
        at = site.due(at)
        last = hand_out(site, at)
        site.refused(last, page, Refusal(at, "503"))
        site.ended(last, at)
        assert has_given_up(site, page)
    assert not site.pause.is_given_up


def test_of_those_that_were_refused_the_one_of_longest_ago_is_the_probe(site):
    """One that was never refused comes first, also among final attempts."""
    pages = [Page(f"{site.name}/{number}") for number in range(3)]
    site.answered(hand_out(site, 99), 99, b"")
    refuse(site, 100, b"2")
    for number in (0, 1):
        at = site.due(100)
        probe = hand_out(site, at)
        site.refused(probe, b"%d" % number, Refusal(at, "503"))
        site.ended(probe, at)
    assert looked_through(site) > 1
    assert site.pause.final_attempts

    def fingerprint_of(page):
        return page.url.rpartition("/")[2].encode()

    assert refused_least(site, pages, fingerprint_of) == 2
    assert refused_least(site, [*pages, Page(f"{site.name}/new")], fingerprint_of) == 3


def test_of_those_that_were_refused_the_one_refused_least_is_the_probe(site):
    """A limit refused it once; those refused more often may be dead pages."""
    at = 100.0
    for page in (b"dead", b"dead", b"good"):
        refuse(site, at, page)
        at = site.due(at)
    assert site.faults.times(b"dead") == 2
    pages = [Page(f"{site.name}/{name}") for name in ("dead", "good")]
    assert refused_least(site, pages, lambda page: page.url[-4:].encode()) == 1


def test_a_site_that_is_well_for_long_is_as_if_it_never_refused(site):
    """Its refusals are forgotten, and its answers are looked at no more."""
    refuse(site, 100)
    for now in (101, 102 + FORGOTTEN_AFTER):
        assert site.has_refused
        flight = hand_out(site, now)
        site.answered(flight, now, b"")
        site.ended(flight, now)
    assert not site.has_refused
    assert site.pause is Pause.NONE
    assert site.is_plain


def test_who_comes_from_elsewhere_takes_its_turn_at_the_rate_of_a_recovery():
    """Who comes from the queue was handed out at it, and goes."""
    site = Site("https://example.com", PausePolicy(first=1))
    refuse(site, 100)
    site.answered(hand_out(site, 101), 101, b"")
    assert site.pause.state is PauseState.RECOVERING
    due = site.due(101)
    assert due > 101
    other = flight_to(site)
    assert waits(site, other, 101) is PAUSED
    handed_out = hand_out(site, due)
    assert admit(site, handed_out, due) is GO
    assert waits(site, other, due) is PAUSED
    assert admit(site, other, site.due(due)) is GO
    assert admit(site, other, due) is GO, "it has had its turn"


def test_the_share_that_a_site_refuses_by_chance_is_known():
    """None, before the site was well again."""
    site = Site("https://example.com", PausePolicy(first=1))
    refuse(site, 100)
    assert site.pause.share == 0
    site.answered(hand_out(site, 101), 101, b"")
    assert 0 < site.pause.share < 1


def test_a_pause_that_is_reset_is_as_at_first(site):
    """It holds nothing back, waits for no probe, and begins with the first of all
    pauses.
    """
    refuse(site, 100)
    hand_out(site, 101)
    site.pause.reset()
    site.recheck()
    assert site.is_plain
    assert site.pause.probe is None
    assert refuse(site, 102) is PauseEffect.PAUSED
    assert site.due(102) == 103


def test_given_up_it_is_asked_no_more(site):
    """By hand, or as its probes have failed."""
    refuse(site, 100)
    assert site.give_up("the crawl ends")
    assert site.pause.is_given_up
    assert site.due(10**9) == inf
    assert site.is_shut(10**9)
    assert not site.give_up("again")


def fail(site, path, now, *, is_stated=False, **more):
    """Let a request fail as with a 502, and return what its site says."""
    flight = flight_to(site, path)
    site.handed_out(flight, now, as_scout=False)
    refusal = Refusal(now, "502", is_outage=True, is_stated=is_stated)
    return site.failed(flight, path.encode(), refusal, **more)


def probe_in_vain(site, now, *, is_stated):
    """Let probes fail until the site is given up; return when, and how many failed."""
    while not site.pause.is_given_up:
        now = site.due(now)
        probe = flight_to(site, "/")
        site.handed_out(probe, now, as_scout=False)
        refusal = Refusal(now, "no", is_outage=True, is_stated=is_stated)
        site.failed(probe, b"/", refusal, is_check=True)
        site.ended(probe, now)
    return now, site.pause.failed_probes


@pytest.mark.parametrize(
    ("mode", "may_guess"), [(None, True), (Mode.CHANCE, False), (Mode.RAMP, True)]
)
def test_a_number_in_flight_may_be_a_limit_unless_chance_refuses(
    monkeypatch, mode, may_guess
):
    """What is refused whatever the rate is refused at any number, too."""
    told = []

    def refused(_limit, _at_once, *, begins_pause, may_guess):
        told.append((begins_pause, may_guess))
        return False

    monkeypatch.setattr(ConcurrencyLimit, "refused", refused)
    site = Site("https://example.com", PausePolicy(recovers=mode is not None))
    if mode is not None:
        refuse(site, 1)
        well(site, "/", site.due(1))
        site.pause.rate_control.mode = mode
    flight = flight_to(site, "/page")
    flight.at_once = 8
    flight.sent_at = 100
    site.refused(flight, b"page", Refusal(100, "503"))
    assert (site.pause.rate_control is None) == (mode is None)
    assert told == [(True, may_guess)]


@pytest.mark.parametrize(
    ("is_stated", "tries", "seconds"), [(False, 6, 364), (True, 9, 6_880)]
)
def test_an_outage_that_nobody_stated_is_given_up_sooner(is_stated, tries, seconds):
    """A server that says 502 to all runs, and nobody says that it will be well. One
    that does not answer may be off, or cut off.
    """
    site = Site("https://example.com", PausePolicy(asks_once=False))
    well(site, "/", 0)
    for path in ("/one", "/two"):
        fail(site, path, 1)
    fail(site, "/", 2, is_check=True, is_stated=is_stated)
    assert not site.is_plain
    assert probe_in_vain(site, 2, is_stated=is_stated) == (2 + seconds, tries)


@pytest.mark.parametrize(
    ("answered_at", "due"), [(2.3, 3), (3.2, 3.2)], ids=["quick", "slow"]
)
def test_an_outage_that_nobody_stated_is_probed_a_moment_after_it_began(
    answered_at, due
):
    """A proxy says 502 while its server is restarted, and may say so late."""
    site = Site("https://example.com", PausePolicy())
    well(site, "/", 0)
    for path in ("/one", "/two"):
        fail(site, path, 1)
    fail(site, "/", 2, is_check=True)
    assert site.due(2) == 2.25
    probe = flight_to(site, "/")
    site.handed_out(probe, 2.25, as_scout=False)
    refusal = Refusal(answered_at, "502", is_outage=True, is_stated=False)
    site.failed(probe, b"/", refusal, is_check=True)
    site.ended(probe, answered_at)
    assert site.due(answered_at) == due
    assert site.pause.failed_probes == 0  # it lengthens no pause


def test_what_fails_before_a_pause_has_a_good_page_probe_though_a_limit_counts():
    """The pages that wait may be those that take the site down."""
    site = Site("https://example.com", PausePolicy())
    well(site, "/", 0)
    refuse(site, 1)
    well(site, "/", site.due(1))
    fail(site, "/one", 4)
    site.pause.rate_control.mode = Mode.LIMIT
    assert not may_ask_again(site)  # it is not paused
    fail(site, "/", 5, is_check=True)
    assert not site.pause.is_passable
    assert may_ask_again(site)


@pytest.mark.parametrize(("waited", "is_asked"), [(1, False), (10, True)])
def test_a_limit_that_does_not_explain_a_failed_probe_counts_no_health_check(
    monkeypatch, waited, is_asked
):
    """Its bucket is empty after so long a silence."""
    site = Site("https://example.com", PausePolicy(first=waited))
    well(site, "/", 0)
    refuse(site, 1)
    site.pause.rate_control.mode = Mode.LIMIT
    monkeypatch.setattr(
        RateControl, "may_be_full_after", lambda _, seconds: seconds <= 3 * 2
    )
    assert not may_ask_again(site), "no probe failed"
    at = site.due(1)
    probe = flight_to(site, "/new")
    site.handed_out(probe, at, as_scout=False)
    site.refused(probe, b"/new", Refusal(at, "503"))
    assert may_ask_again(site) == is_asked


def test_refusals_of_a_section_that_refuses_by_page_are_of_no_rate(monkeypatch):
    """They pause their site all the same."""
    site = Site("https://example.com", PausePolicy())
    well(site, "/", 0)
    refuse(site, 1, b"/shelf/1", "/shelf/1")
    well(site, "/", site.due(1))
    heard = []
    site.faults.resumed["/shelf/"] = ResumedSection()
    monkeypatch.setattr(Faults, "is_mixed", lambda _, page: "/shelf/" in page.url)
    for name in ("refused", "interrupted"):
        monkeypatch.setattr(RateControl, name, lambda *_, name=name: heard.append(name))
    assert refuse(site, 5, b"/shelf/2", "/shelf/2") is PauseEffect.PAUSED
    assert heard == ["interrupted"]
    refuse(site, 5, b"/desk", "/desk")
    assert heard == ["interrupted", "refused"]


def test_a_503_is_not_probed_before_the_first_pause_is_over():
    site = Site("https://example.com", PausePolicy())
    well(site, "/", 0)
    refuse(site, 2)
    assert site.due(2) == 3


def test_a_site_that_was_out_for_a_moment_gets_as_much_as_before():
    rates = RateControl(number / 20 for number in range(20))
    rates.refused(1.0, 1.0)
    rates.resume(1.3, is_conclusive=True)
    assert rates.rate == 4
    rates.resume_at_once(1.3)
    assert rates.rate == pytest.approx(20, rel=0.1)


def begin_outage(failures, *pages):
    for page in pages:
        failures.failed(page, 1, 2, 0.0)
        failures.pages[page].spent += 1
    failures.site_is_out()


def test_the_page_that_failed_first_is_forgiven_once_if_others_began_outages():
    """A page that alone takes its site down began all of its outages."""
    failures = Failures()
    begin_outage(failures, b"first", b"beside")
    assert failures.take_owed(b"first") == 0
    assert failures.take_owed(b"beside") == 1
    failures.answered(b"well", 3)
    begin_outage(failures, b"another", b"first")
    assert failures.take_owed(b"another") == 1
    failures.answered(b"well", 3)
    begin_outage(failures, b"another")
    assert failures.take_owed(b"another") == 0


def test_pages_that_fail_once_each_repeat_nothing():
    failures = Failures()
    for page in (b"one", b"two", b"three"):
        failures.failed(page, 5, 5, 0.0)
        failures.failed(page + b" later", 6, 6, 0.0)
    assert failures.continue_to_come
    assert not failures.are_repeated
    failures.failed(b"one", 7, 7, 0.0)
    assert failures.are_repeated


def test_an_outage_in_which_a_probe_is_told_to_come_back_is_waited_for(site):
    site = Site("https://example.com", PausePolicy(asks_once=False))
    well(site, "/", 0)
    for path in ("/one", "/two"):
        fail(site, path, 1)
    fail(site, "/", 2, is_check=True, is_stated=False)
    now = site.due(2)
    probe = flight_to(site, "/")
    site.handed_out(probe, now, as_scout=False)
    site.refused(probe, b"/", Refusal(now, "503", is_outage=True))
    site.ended(probe, now)
    assert probe_in_vain(site, now, is_stated=False)[1] == 9


def well(site, path, now):
    flight = flight_to(site, path)
    site.handed_out(flight, now, as_scout=False)
    site.answered(flight, now, path.encode())


def test_connections_are_suspected_while_pages_that_failed_are_mended(site):
    """One for each failure, sixteen at first, and two more for each that is mended."""
    well(site, "/", 100)
    for number in range(17):
        assert site.suspected_connections == 1
        fail(site, f"/{number}", 101)
        well(site, "/", 101)
    assert site.suspected_connections == 0
    well(site, "/0", 102)
    assert site.suspected_connections == 1
    for number in (1, 2):
        fail(site, f"/{number}", 103)
    assert site.suspected_connections == 0


def test_all_connections_are_suspected_where_a_probe_failed(site):
    """No request is in flight, and each may lead to what is out."""
    well(site, "/", 100)
    refuse(site, 101)
    assert site.suspected_connections == 1
    at = site.due(101)
    probe = flight_to(site, "/new")
    site.handed_out(probe, at, as_scout=False)
    site.refused(probe, b"/new", Refusal(at, "503"))
    assert site.suspected_connections > 1_000


def test_failures_are_the_pages_until_a_page_fails_that_was_well(site):
    """Several in doubt have it asked for; none, before the site ever answered."""
    assert fail(site, "/one", 99) == (False, None)
    well(site, "/", 100)
    assert fail(site, "/one", 101) == (False, None)
    assert fail(site, "/one", 102) == (False, None), "it is one page"
    assert fail(site, "/two", 103) == (False, PauseEffect.DOUBTED)
    assert site.is_plain
    assert fail(site, "/", 104, is_check=True) == (True, PauseEffect.PAUSED)
    assert site.failures.take_owed(b"/one") == 0, "it may be why"
    assert site.failures.take_owed(b"/two") == 1
    late = site.failed(flight_to(site), b"/three", Refusal(104.5, "502"))
    assert late == (True, None), "it is paused"


def test_a_good_answer_clears_the_site_and_it_takes_more_to_doubt_it_again(site):
    well(site, "/", 100)
    fail(site, "/one", 101)
    assert fail(site, "/two", 101) == (False, PauseEffect.DOUBTED)
    well(site, "/three", 102)
    assert fail(site, "/one", 103) == (False, None), "it is known to fail"
    assert fail(site, "/two", 103) == (False, None)
    for number in range(3):
        assert fail(site, f"/{number}", 104) == (False, None)
    assert fail(site, "/last", 104) == (False, PauseEffect.DOUBTED), "it is the fourth"
    assert site.is_plain


def test_it_is_written_down_as_plain_data(site):
    """What another run or worker has to know, and nothing of a site that is well."""
    assert not list(site.left())
    refuse(site, 100)
    (left,) = (LeftPause(*one) for one in json.loads(json.dumps(list(site.left()))))
    assert left == LeftPause(101, "503", 0)
    again = Site(site.name, LAW)
    again.restore(100.5, left)
    assert again.due(100.5) == 101


@pytest.mark.parametrize("left_by", ["a former run", "another crawl"])
def test_a_restored_pause_ends_with_the_answer_to_its_probe(left_by):
    """Though nothing was refused here."""
    site = Site("https://example.com", PausePolicy(recovers=False))
    if left_by == "a former run":
        site.restore(100, LeftPause(103, "503", 1))
    else:
        site.pause_as_peer(Refusal(100, "503", 3))
    assert site.due(100) == 103
    probe = flight_to(site)
    site.handed_out(probe, 103, as_scout=False)
    assert site.due(103.5) == inf
    assert site.answered(probe, 104, b"") is PauseEffect.RESUMED
    site.ended(probe, 104)
    assert site.pause.state is PauseState.OPEN
    assert site.due(104) == 104


def test_a_section_that_a_former_run_set_aside_stays_so():
    """It alone waits; its probe ends that, or prolongs it as that of any section."""
    site = Site("https://example.com", PausePolicy())
    site.restore(100, LeftPause(130, "503", 2, "/shop/"))
    assert next(site.left()) == LeftPause(130, "503", 2, "/shop/")
    assert site.due(100) == 100
    assert site.due(100, "/shop/") == 130
    page = flight_to(site, "/shop/1")
    assert site.faults.of(page.request).is_reported
    site.handed_out(page, 130, as_scout=False)
    assert site.refused(page, b"1", Refusal(131, "503")) is PauseEffect.SECTION
    assert next(site.left()).failed_probes == 3
    probe = flight_to(site, "/shop/2")
    later = site.due(131, "/shop/")
    site.handed_out(probe, later, as_scout=False)
    assert site.answered(probe, later + 1, b"2") is PauseEffect.SECTION
    assert not list(site.left())


def test_of_a_section_that_is_given_up_nothing_is_left():
    """The next run finds out about it anew."""
    site = Site("https://example.com", PausePolicy(asks_once=False))
    site.restore(100, LeftPause(130, "503", 99, "/shop/"))
    page = flight_to(site, "/shop/1")
    site.handed_out(page, 130, as_scout=False)
    assert site.refused(page, b"1", Refusal(131, "503")) is PauseEffect.SECTION
    assert not list(site.left())


@pytest.mark.parametrize("failed", [9, 10, 99, 10**6])
@pytest.mark.parametrize("is_well", [True, False])
def test_a_pause_restored_with_more_failed_probes_than_tries_gets_one_probe(
    failed, is_well
):
    """Another run may have had more tries; what it left decides nothing before this one
    asked.
    """
    site = Site("https://example.com", PausePolicy(tries=9))
    site.restore(100, LeftPause(130, "503", failed))
    assert not site.pause.is_given_up
    assert 130 <= site.pause.gives_up_at < inf
    probe = flight_to(site)
    site.handed_out(probe, 130, as_scout=False)
    if is_well:
        assert site.answered(probe, 131, b"") is PauseEffect.RESUMED
    else:
        assert site.refused(probe, b"", Refusal(131, "503")) is PauseEffect.GAVE_UP
    assert site.pause.is_given_up is not is_well


@pytest.mark.parametrize("is_well", [True, False])
def test_the_probe_of_a_section_that_ends_after_giving_up_changes_nothing(is_well):
    """It was on its way when the operator gave up; no other request of the section
    follows it.
    """
    site = Site("https://example.com", PausePolicy())
    site.restore(100, LeftPause(130, "503", 1, "/shop/"))
    probe = flight_to(site, "/shop/1")
    site.handed_out(probe, 130, as_scout=False)
    assert [section.path for section in site.faults.give_up("enough")] == ["/shop/"]
    if is_well:
        assert site.answered(probe, 131, b"1") is None
    else:
        assert site.refused(probe, b"1", Refusal(131, "503")) is None
    site.ended(probe, 131)
    assert not site.awaited
    assert site.decide(131, section="/shop/") is NEVER


def test_what_is_left_of_a_site_and_over_by_now_ends_with_a_probe(site):
    """Its own pause as that of a section; one that is known goes on as it is."""
    site.restore(100, LeftPause(90, "503", 1))
    site.restore(100, LeftPause(90, "503", 1, "/a/"))
    for section in "", "/a/":
        site.restore(100, LeftPause(190, "later", 0, section))
    assert [(one.until, one.reason) for one in site.left()] == [(90, "503")] * 2
    assert site.due(100) == site.due(100, "/a/") == 100
    site.handed_out(flight_to(site), 100, as_scout=False)
    assert site.due(100) == inf


def test_sections_that_were_left_are_bounded(site):
    """Whatever a file says that something else wrote; none is waited for longer than
    any.
    """
    for number in range(MOST_SECTIONS + 1):
        site.restore(100, LeftPause(1e300, "503", 0, f"/{number}/"))
    assert len(site.faults.aside) == MOST_SECTIONS
    assert site.due(100, "/0/") < 100 + 1e6


def test_what_is_kept_of_a_site_is_bounded(site):
    """However many of its URLs are refused or silent."""
    site.answered(flight_to(site), 0, b"")
    for number in range(5_000):
        which = b"%d" % number
        site.failed(flight_to(site), which, Refusal(1, "502", is_outage=True))
    assert len(site.failures.doubted) == MOST_FAILED_PAGES
    for number in range(5_000):
        which = b"%d" % number
        refuse(site, 1, which, f"/{number}/{number}/page?{number}")
    assert len(site.faults) == MOST_REFUSED_URLS + MOST_SECTIONS
    assert len(list(site.left())) == 1
