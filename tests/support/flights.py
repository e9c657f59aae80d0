"""Requests on their way, as the states of sites see them: a request has a URL, and no
more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_mandelbot.politeness.faults import Faults
from scrapy_mandelbot.politeness.flight import GO, Decision, Flight
from scrapy_mandelbot.politeness.pause import Pause

if TYPE_CHECKING:
    from scrapy_mandelbot.politeness.pace import Pace
    from scrapy_mandelbot.politeness.site_state import Site


class Page:
    """A request."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.method = "GET"
        self.headers: dict[str, list[str]] = {}
        self.meta: dict[str, object] = {}


def assert_untouched() -> None:
    """Say whether anything was written to what stands for all that a site has nothing
    to say of.
    """
    assert len(Faults.NONE) == 0
    assert repr(Pause.NONE) == "<Pause: open>"
    assert Pause.NONE.probe is Pause.NONE.rate_control is None
    assert Pause.NONE.due(7) == 7
    assert not Faults.NONE.aside
    assert Faults.NONE.good_at == -1


def flight_to(site: Site, path: str = "/") -> Flight:
    """Return a request for a page of a site that is on its way."""
    flight = Flight(Page(site.name + path), site)
    flight.tick = site.ticks
    return flight


def admit(site: Site, flight: Flight, now: float) -> Decision:
    """Decide on a request that is about to leave; if it goes, it has taken its turn."""
    decision = site.decide(now, flight)
    if decision is GO:
        site.let_pass(flight, now)
    return decision


def follow(site: Site, pace: Pace, until: float, now: float) -> bool:
    """Let a site follow a pace; return whether that is news."""
    is_news = site.pacer.follow(pace, until, now)
    site.recheck()
    return is_news


def times_alone(sections: Faults, fingerprint: bytes) -> int:
    """Return how often a request was refused, if its page is to blame; 0: it is not."""
    one = sections.urls.get(fingerprint)
    return one.times if one is not None and one.is_alone else 0
