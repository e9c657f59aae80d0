"""Whether it is the site that refuses, a section of it, or a page.

(politeness/faults.py)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from flights import Page, flight_to, times_alone

from scrapy_mandelbot.politeness.faults import (
    MOST_REFUSED_URLS,
    MOST_SECTIONS,
    Faults,
    sections_of,
)
from scrapy_mandelbot.politeness.flight import NEVER
from scrapy_mandelbot.politeness.pause import PauseEffect
from scrapy_mandelbot.politeness.pause_policy import PausePolicy, Refusal
from scrapy_mandelbot.politeness.site_state import Site

if TYPE_CHECKING:
    from scrapy_mandelbot.politeness.flight import Flight

LAW = PausePolicy(first=1)
SITE = Site("https://example.com", LAW)
ONE, OTHER = "/one", "/other"


@pytest.fixture
def parts() -> Faults:
    return Faults(LAW, good=40)


def sent(path: str, tick: int) -> Flight:
    flight = flight_to(SITE, path)
    flight.tick, flight.sent_at = tick, float(tick)
    return flight


def due_at(parts: Faults, now: float) -> float:
    """Return when the next request for the shelf may be sent."""
    return parts.aside["/shelf/"].pause.due(now)


def refused(
    parts: Faults,
    path: str,
    tick: int,
    *,
    now: float = 1000.0,
    retry_after: float | None = None,
) -> str:
    """Return what the refusal is taken for."""
    flight = sent(path, tick)
    section = parts.of(flight.request)
    url = parts.refused(
        flight, path.encode(), Refusal(now, "503", retry_after), section
    )
    return "a section" if section else "a page" if url.is_alone else "the site"


def answered(parts: Faults, path: str, tick: int, now: float = 1000.0) -> list[str]:
    return [
        section.path for section in parts.answered(sent(path, tick), path.encode(), now)
    ]


def answered_well(parts: Faults, times: int) -> None:
    for _ in range(times):
        answered(parts, OTHER, 0)


def suspects(parts: Faults, share: float = 0.0) -> list[str]:
    return [section.path for section in parts.suspects(share)]


def set_aside(parts: Faults, path: str, now: float = 1000.0) -> None:
    """Set the section with this path aside, which is suspected."""
    (section,) = (one for one in parts.suspects(0.0) if one.path == path)
    parts.put_aside(section, Refusal(now, "503"))


def refuse_shelf(parts: Faults, begin: int = 0, path: str = "/shelf/") -> None:
    for tick in range(begin, begin + 3):
        refused(parts, f"{path}{tick}", tick)


# Sections.


@pytest.mark.parametrize(
    ("url", "sections"),
    [
        ("https://example.com/a/b/c?d=1", ["/a/", "/a/b/", "/a/b/c?"]),
        ("https://example.com/a/b/", ["/a/", "/a/b/"]),
        ("https://example.com/a", []),
        ("https://example.com/", []),
        ("https://example.com", []),
        ("https://example.com?q=/a/b/", []),
        ("https://example.com/?q=1", []),
        ("https://example.com/a?q=/b/c/", ["/a?"]),
        ("https://example.com/a/b#/c/d/", ["/a/"]),
        ("https://example.com//a//b", ["//", "//a/", "//a//"]),
        ("/a/b", ["/a/"]),
        ("", []),
        ("https://example.com" + "/x" * 20, ["/x" * n + "/" for n in range(1, 9)]),
        ("https://example.com/" + "x" * 600 + "/y", []),
        ("https://example.com/a/" + "x" * 600 + "/y?q", ["/a/"]),
    ],
)
def test_the_sections_of_a_url(url, sections):
    """The paths above it, outermost first, down to its query: a bounded number."""
    assert list(sections_of(url)) == sections


def may_go_at(parts: Faults) -> float:
    """Return when the first page may go again, if it is remembered at all."""
    refused = parts.urls.get(ONE.encode())
    return 0.0 if refused is None else refused.may_go_at


def test_three_pages_in_a_row_are_a_section(parts):
    """If a page elsewhere, sent later than all of them, was answered well."""
    answered(parts, OTHER, 0)
    refuse_shelf(parts, 1)
    assert suspects(parts) == [], "it may as well be the site"
    answered(parts, OTHER, 2)
    assert suspects(parts) == [], "that was sent before the last of them"
    answered(parts, OTHER, 4)
    assert suspects(parts) == ["/shelf/"]


def test_two_pages_are_none(parts):
    """Nor is one page that is refused again and again."""
    for tick in range(1, 9):
        refused(parts, f"/shelf/{tick % 2}", tick)
    answered(parts, OTHER, 20)
    assert suspects(parts) == []


def test_a_section_that_has_answered_since_is_none(parts):
    """Only what was refused since is counted."""
    refuse_shelf(parts)
    answered(parts, "/shelf/9", 5)
    answered(parts, OTHER, 6)
    assert suspects(parts) == []
    refused(parts, "/shelf/7", 4)
    assert suspects(parts) == [], "it was sent before"


def test_where_chance_refuses_much_it_takes_more_pages(parts):
    """As many as make it unlikely that it was chance: five at a half."""
    for tick in range(1, 6):
        refused(parts, f"/shelf/{tick}", tick)
        answered(parts, OTHER, tick + 1)
        assert suspects(parts, 0.5) == (["/shelf/"] if tick == 5 else [])


def test_of_sections_within_each_other_the_outermost_counts(parts):
    """It is set aside with those within it; one beside it is not."""
    refuse_shelf(parts, 1, "/shelf/in/deeper/")
    refuse_shelf(parts, 4, "/shelves/")
    answered(parts, OTHER, 9)
    assert sorted(suspects(parts)) == ["/shelf/", "/shelves/"]
    set_aside(parts, "/shelf/")
    assert [one.path for one in parts.aside.values()] == ["/shelf/"]
    section = parts.of(Page("https://example.com/shelf/in/deeper/1"))
    assert section.path == "/shelf/"
    assert suspects(parts) == ["/shelves/"]


def test_an_outer_section_that_has_answered_is_not_set_aside_for_an_inner_one(parts):
    """The rest of it goes on."""
    refuse_shelf(parts, 1, "/shelf/in/")
    answered(parts, "/shelf/well", 5)
    assert suspects(parts) == ["/shelf/in/"]
    set_aside(parts, "/shelf/in/")
    assert parts.of(Page("https://example.com/shelf/well")) is None


def test_a_section_set_aside_has_one_probe_and_a_pause_of_its_own(parts):
    """It is asked at once, then waits 3, 9 ... s; others that were under way say
    nothing.
    """
    refuse_shelf(parts)
    answered(parts, OTHER, 5)
    set_aside(parts, "/shelf/", 1000.0)
    assert due_at(parts, 1000.0) == 1000
    assert refused(parts, "/shelf/8", 4) == "a section"
    at, waits = 1000.0, []
    for number in range(3):
        probe = sent(f"/shelf/{number}", 10 + number)
        parts.let_pass(probe, at)
        late = sent("/shelf/7", 6)
        parts.let_pass(late, at)
        assert parts.probe_refused(late, Refusal(at, "503")) is None
        assert parts.probe_refused(probe, Refusal(at, "503")) is PauseEffect.SECTION
        waits.append(due_at(parts, at) - at)
        at = due_at(parts, at)
    assert waits == [3, 9, 27]


def test_a_probe_that_told_nothing_makes_room_for_another(parts):
    """At once; the end of any other request does not."""
    refuse_shelf(parts)
    answered(parts, OTHER, 5)
    set_aside(parts, "/shelf/")
    probe = sent("/shelf/1", 10)
    parts.let_pass(probe, 1001)
    assert due_at(parts, 1001) > 10**9
    assert not sent("/shelf/2", 10).settle(1002)
    assert probe.settle(1002)
    assert not probe.settle(1002), "it is settled once"
    assert due_at(parts, 1002) == 1002


def test_a_good_probe_ends_it(parts):
    """Nothing of the section is left: three more pages set it aside again."""
    refuse_shelf(parts)
    answered(parts, OTHER, 5)
    set_aside(parts, "/shelf/")
    probe = sent("/shelf/1", 10)
    parts.let_pass(probe, 1001)
    assert parts.answered(probe, b"/shelf/1", 1002)[0].path == "/shelf/"
    assert parts.aside == {}
    assert not parts.is_suspect(Page("https://example.com/shelf/2"))


def resumed(parts: Faults, *, good: int = 1) -> None:
    """Set the shelf aside, and let so many of its pages be answered well."""
    refuse_shelf(parts)
    answered(parts, OTHER, 5)
    set_aside(parts, "/shelf/")
    probe = sent("/shelf/well", 10)
    parts.let_pass(probe, 1001)
    parts.answered(probe, b"/shelf/well", 1002)
    for number in range(1, good):
        answered(parts, f"/shelf/well{number}", 10)


def test_a_section_that_refuses_some_pages_and_others_not_is_no_probe(parts):
    """As soon as chance explains several in a row, after it was set aside and well."""
    page = Page("https://example.com/shelf/new")
    resumed(parts)
    mixed = []
    for number in range(3):
        mixed.append(parts.is_mixed(page))
        refused(parts, f"/shelf/sick{number}", 20 + 2 * number)
        answered(parts, "/shelf/well", 21 + 2 * number)
    assert mixed == [False, False, False]
    refused(parts, "/shelf/sick3", 30)
    refused(parts, "/shelf/sick4", 31)
    assert parts.is_mixed(page)
    assert parts.is_suspect(page)
    assert parts.is_suspect(page, well={"/shelf/"}), "one of its pages proves nothing"
    assert not parts.is_mixed(Page("https://example.com/desk/new"))


def test_a_page_that_is_refused_again_makes_no_section_mixed(parts):
    """It is one page."""
    resumed(parts)
    for tick in range(20, 40):
        refused(parts, "/shelf/sick", tick)
    assert not parts.is_mixed(Page("https://example.com/shelf/new"))


@pytest.mark.parametrize(("good", "pages"), [(1, None), (2, None), (3, 6), (10, 3)])
def test_a_section_that_was_well_after_its_pause_is_set_aside_again(parts, good, pages):
    """As soon as its own good answers are so many that it is no chance."""
    resumed(parts, good=good)
    aside_after = None
    for number in range(40):
        refused(parts, f"/shelf/sick{number}", 20 + number)
        parts.good_at = 21 + number  # elsewhere
        if suspects(parts):
            aside_after = number + 1
            break
    assert aside_after == pages


def test_only_so_many_sections_that_were_set_aside_are_remembered(parts):
    """Those that were set aside last."""
    for number in range(MOST_SECTIONS + 5):
        refuse_shelf(parts, 20 * number, f"/{number}/")
        answered(parts, OTHER, 20 * number + 5)
        set_aside(parts, f"/{number}/")
        probe = sent(f"/{number}/well", 20 * number + 6)
        parts.let_pass(probe, 1001)
        parts.answered(probe, b"/%d/well" % number, 1002)
        for page in range(3):
            refused(parts, f"/{number}/{page}", 20 * number + 7 + page)
    are_mixed = [
        parts.is_mixed(Page(f"https://example.com/{number}/new"))
        for number in range(MOST_SECTIONS + 5)
    ]
    assert are_mixed == [False] * 5 + [True] * MOST_SECTIONS


def test_fifty_final_attempts_follow_six_failed_probes_of_a_section(parts):
    """Some six minutes; after fifty more that were refused it is over."""
    refuse_shelf(parts)
    answered(parts, OTHER, 5)
    set_aside(parts, "/shelf/")
    (section,) = parts.aside.values()
    told = []
    at = 1000.0
    for number in range(56):
        at = due_at(parts, at)
        probe = sent(f"/shelf/{number}", 10 + number)
        parts.let_pass(probe, at)
        told.append(parts.probe_refused(probe, Refusal(at, "503")))
        assert bool(section.pause.final_attempts) == (6 <= number + 1 < 56)
        assert number != 5 or at == 1363
    assert told == [PauseEffect.SECTION] * 6 + [None] * 49 + [PauseEffect.SECTION]
    assert section.pause.is_given_up
    assert section.decide(at) is NEVER


# Pages.


def test_others_were_answered_well_since_it_was_sent(parts):
    """Then the page is to blame, but for its first refusal, and is tried later: 1, 3, 9
    s.
    """
    assert refused(parts, ONE, 10) == "the site"
    assert may_go_at(parts) == 0
    answered(parts, OTHER, 11)
    for times, pause in enumerate([1, 3, 9, 27, 81], start=2):
        assert refused(parts, ONE, 10 + times) == "a page"
        assert times_alone(parts, ONE.encode()) == times
        assert may_go_at(parts) == 1000 + pause


def test_its_flight_is_told_when_it_may_go_and_when_it_was_tried_enough(parts):
    """No more than the law of a part has tries, the site's own refusal apart."""
    flights = []
    for number in range(2 + LAW.of_a_part.tries):
        flights.append(sent(ONE, 10 + 2 * number))
        parts.refused(flights[-1], ONE.encode(), Refusal(1000.0, "503"), None)
        answered(parts, OTHER, 11 + 2 * number)
    assert [one.not_before for one in flights[:4]] == [0, 1001, 1003, 1009]
    assert [one.is_refused_alone for one in flights] == [False] * (len(flights) - 1) + [
        True
    ]


def test_the_server_says_when(parts):
    """Then the page is tried no sooner."""
    refused(parts, ONE, 10)
    answered(parts, OTHER, 11)
    refused(parts, ONE, 12, retry_after=30.0)
    assert may_go_at(parts) == 1030


@pytest.mark.parametrize("good_at", [9, None])
def test_nothing_was_answered_since_it_was_sent(parts, good_at):
    """Then it may as well be the site."""
    if good_at:
        answered(parts, OTHER, good_at)
    assert refused(parts, ONE, 10) == "the site"
    assert refused(parts, ONE, 14) == "the site"
    assert times_alone(parts, ONE.encode()) == 0


def test_where_much_is_refused_a_page_is_not_to_blame_for_that(parts):
    """As at a limit, or by chance: of more than half of all, five in a row are no
    wonder.
    """
    for number in range(60):
        refused(parts, f"/limited{number}", 5)
    answered(parts, OTHER, 6)
    blames = []
    for tick in range(10, 24, 2):
        blames.append(refused(parts, ONE, tick))
        answered(parts, OTHER, tick + 1)
    assert blames[:5] == ["the site"] * 5
    assert blames[-1] == "a page"


def test_with_its_site_a_page_waits_no_longer_than_a_first_pause(parts):
    """However often a site that is down refuses it."""
    for tick in range(100):
        refused(parts, ONE, tick)
    assert may_go_at(parts) == 1001


def test_one_never_refused_has_no_count(parts):
    """Zero."""
    assert times_alone(parts, ONE.encode()) == 0
    assert may_go_at(parts) == 0
    assert not parts.times(ONE.encode())


def test_what_was_answered_or_given_up_is_forgotten(parts):
    """Nothing is left of it."""
    refused(parts, ONE, 1)
    assert parts.times(ONE.encode())
    answered(parts, ONE, 2)
    assert len(parts) == 0
    refused(parts, ONE, 3)
    for _ in range(2):
        parts.forget(ONE.encode())
        assert len(parts) == 0


# Bounds.


def test_only_so_many_are_remembered(parts):
    """Those that were refused last; one that is forgotten is as if it had not been
    refused.
    """
    for number in range(3 * MOST_REFUSED_URLS):
        refused(parts, f"/{number}", number)
    assert len(parts) == MOST_REFUSED_URLS
    last = 3 * MOST_REFUSED_URLS - 1
    assert parts.times(b"/%d" % last)
    assert not parts.times(b"/0")


def test_only_so_many_sections_are_suspected(parts):
    """Whoever makes up a path for each page; one that is set aside is not forgotten for
    them.
    """
    refuse_shelf(parts)
    answered(parts, OTHER, 5)
    set_aside(parts, "/shelf/")
    for number in range(3 * MOST_SECTIONS):
        refused(parts, f"/{number}/{number}/{number}?q", 6 + number)
    assert len(parts) <= MOST_REFUSED_URLS + MOST_SECTIONS
    assert [one.path for one in parts.aside.values()] == ["/shelf/"]
    assert parts.is_suspect(Page(f"https://example.com/{3 * MOST_SECTIONS - 1}/new"))


def test_sections_that_are_set_aside_are_bounded_as_well(parts):
    """Then no more are suspected, and what is refused is the site's business again."""
    for number in range(MOST_SECTIONS + 10):
        refuse_shelf(parts, 10 * number, f"/{number}/")
        answered(parts, OTHER, 10 * number + 5)
        for section in parts.suspects(0.0):
            parts.put_aside(section, Refusal(1000.0, "503"))
    assert len(parts.aside) == MOST_SECTIONS
    assert refused(parts, f"/{MOST_SECTIONS + 5}/x", 10**6) == "the site"
