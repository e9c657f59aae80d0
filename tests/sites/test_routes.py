"""The routes to a site, and how each is paused. (sites/routes.py)"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

import pytest
from flights import flight_to

from scrapy_mandelbot.sites.pause import News
from scrapy_mandelbot.sites.pause_law import PauseLaw, Refusal
from scrapy_mandelbot.sites.routes import MOST_ROUTES, Routes
from scrapy_mandelbot.sites.site import Site

if TYPE_CHECKING:
    from scrapy_mandelbot.sites.flight import Flight

LAW = PauseLaw(first=1, tries=2, recovers=False)
SITE = Site("https://example.com", LAW)
A, B = "http://a.test:3128", "http://b.test:3128"


@pytest.fixture
def routes() -> Routes:
    return Routes(LAW)


def by(route: str, *, from_queue: bool = False) -> Flight:
    flight = flight_to(SITE, route=route)
    if from_queue:
        flight.is_from_queue, flight.passed = True, route
    return flight


def refuse(
    routes: Routes,
    flight: Flight,
    now: float = 100.0,
    retry_after: float | None = None,
    *,
    has_served: bool = False,
) -> News | None:
    refusal = Refusal(now, "503", retry_after)
    return routes.refused(flight, refusal, (), has_served=has_served)


def probe(routes: Routes, route: str, now: float) -> Flight:
    flight = by(route, from_queue=True)
    routes.let_pass(flight, now)
    assert flight in routes.probes()
    return flight


def test_a_route_never_in_trouble_holds_nothing_back(routes):
    """And costs nothing: there is none."""
    assert routes.due("", 5) == routes.due(A, 5) == 5
    assert not routes.is_shut("")
    assert not routes.is_shut_for(by(A))
    assert routes.pause(A) is None
    assert routes.answered(by(A), 5) is None
    assert routes.is_plain


def test_one_proxy_is_paused_and_the_others_are_not(routes):
    """A 503 through one of several proxies may mean the proxy."""
    routes.use(B)
    assert refuse(routes, by(A)) is News.PAUSED
    assert routes.due(A, 100) == 101
    assert routes.due(B, 100) == 100
    assert routes.is_shut(A)
    assert not routes.is_shut(B)
    assert routes.is_shut_for(by(A))
    assert not routes.is_shut_for(by(B))


def test_who_has_no_proxy_yet_waits_only_while_all_are_shut(routes):
    """One that is open is enough: it may be given that one."""
    routes.use(B)
    refuse(routes, by(A))
    assert routes.due("", 100) == 100
    assert not routes.is_shut("")
    refuse(routes, by(B), 100.5)
    assert routes.due("", 100.5) == 101
    assert routes.is_shut("")


def test_one_probe_goes_by_each_route(routes):
    """The request that is let pass first; its answer counts, and no other's."""
    refuse(routes, by(A))
    refuse(routes, by(B))
    first, second = probe(routes, A, 101), probe(routes, B, 101)
    assert set(routes.probes()) == {first, second}
    assert routes.due(A, 101) == inf
    assert not routes.is_shut_for(first)
    assert routes.is_shut_for(by(A, from_queue=True))
    assert routes.answered(by(A), 102) is None
    assert routes.answered(first, 102) is News.RESUMED
    assert set(routes.probes()) == {second}
    assert refuse(routes, second, 102) is News.PROLONGED
    assert routes.due(B, 102) == 105


def test_a_probe_that_ended_without_a_word_makes_room_for_another(routes):
    """At once; the end of any other request does not."""
    refuse(routes, by(""))
    first = probe(routes, "", 101)
    routes.ended(by(""), 102)
    assert routes.due("", 102) == inf
    routes.ended(first, 102)
    assert routes.due("", 102) == 102
    assert list(routes.probes()) == []


def test_who_was_handed_out_before_goes_back_and_who_was_not_may_take_its_turn(routes):
    """A request of the queue is the queue's again; one from elsewhere may be the probe."""
    refuse(routes, by(""))
    assert not routes.may_take_turn(by("", from_queue=True), 101)
    assert not routes.may_take_turn(by(""), 100.9)
    assert routes.may_take_turn(by(""), 101)


def test_a_request_of_the_queue_that_was_given_another_proxy_takes_its_turn_there(routes):
    """It was handed out for a route that is not the one it goes."""
    refuse(routes, by(A))
    flight = by("", from_queue=True)
    flight.route = A
    assert routes.is_shut_for(flight)
    assert not routes.may_take_turn(flight, 100.5)
    assert routes.may_take_turn(flight, 101)


def test_each_proxy_recovers_by_itself():
    """What a site bears by one says nothing of the others."""
    routes = Routes(PauseLaw(first=1))
    routes.use(B)
    refuse(routes, by(A))
    assert routes.answered(probe(routes, A, 101), 101) is News.RESUMED
    assert routes.due(A, 101) == pytest.approx(101.25)
    assert not routes.is_shut(A)
    assert routes.due(B, 101) == 101


def test_what_was_sent_before_a_pause_is_no_news_when_it_is_over(routes):
    """Neither a late refusal nor a late good answer; but a time that the server names is heard."""
    late, later = by(""), by("")
    refuse(routes, by(""))
    assert routes.answered(probe(routes, "", 101), 101) is News.RESUMED
    assert refuse(routes, late, 101.5) is None
    assert routes.due("", 101.5) == 101.5
    assert refuse(routes, later, 101.6, retry_after=9.0) is News.PAUSED
    assert routes.due("", 101.6) == pytest.approx(110.6)


def test_what_was_never_sent_is_sent_once_each_where_the_site_has_served(routes):
    """Each of these asks the site, and none beside it."""
    refuse(routes, by(""), has_served=True)
    refuse(routes, probe(routes, "", 101), 101, has_served=True)
    last = refuse(routes, probe(routes, "", 104), 104, has_served=True)
    assert last is News.ASKS_ONCE_EACH
    assert not routes.has_given_up("")
    assert routes.due("", 104) == 105
    once = probe(routes, "", 105)
    assert routes.due("", 105) == inf
    assert routes.answered(once, 106) is News.RESUMED
    assert routes.is_plain


def test_it_is_known_how_a_site_refuses():
    """The share that is refused by chance: none, before the site was well again."""
    routes = Routes(PauseLaw(first=1))
    refuse(routes, by(""))
    assert routes.share == 0
    routes.answered(probe(routes, "", 101), 101)
    assert 0 < routes.share < 1


def test_a_site_is_given_up_with_the_last_of_its_proxies(routes):
    """Then also by requests that have none."""
    for route in (A, B):
        refuse(routes, by(route))
    assert refuse(routes, probe(routes, A, 101), 101) is News.PROLONGED
    assert refuse(routes, probe(routes, A, 200), 200) is News.GAVE_UP
    assert routes.has_given_up(A)
    assert not routes.has_given_up("")
    assert refuse(routes, probe(routes, B, 201), 201) is News.PROLONGED
    assert refuse(routes, probe(routes, B, 300), 300) is News.GAVE_UP
    assert routes.has_given_up("")


def test_all_are_given_up_by_hand_once(routes):
    """Those that were given up already are not told again; no probe is waited for."""
    refuse(routes, by(A))
    probe(routes, A, 101)
    routes.use(B)
    assert set(routes.give_up("closed")) == {"", A, B}
    assert list(routes.probes()) == []
    assert routes.give_up("closed") == []


def test_what_is_open_can_be_forgotten_but_that_there_are_proxies(routes):
    """A request without a proxy has to know which there are."""
    refuse(routes, by(""))
    assert not routes.is_plain
    routes.answered(probe(routes, "", 101), 101)
    assert routes.is_plain
    routes.use(A)
    assert routes._proxies()
    assert not routes.is_plain


def test_only_so_many_are_told_apart(routes):
    """A project may give every request a proxy of its own."""
    for number in range(3 * MOST_ROUTES):
        routes.use(f"http://p{number}.test:1")
    assert len(routes) == MOST_ROUTES
    assert routes.pause("http://p0.test:1") is None
    assert routes.pause(f"http://p{3 * MOST_ROUTES - 1}.test:1") is not None
