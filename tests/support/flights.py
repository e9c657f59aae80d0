"""Requests on their way, as the states of sites see them: a request has a URL, and no more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_mandelbot.politeness.flight import Flight
from scrapy_mandelbot.politeness.pacing import NO_METRONOME
from scrapy_mandelbot.politeness.pause import NO_PAUSE
from scrapy_mandelbot.politeness.sections import NO_SECTIONS

if TYPE_CHECKING:
    from scrapy_mandelbot.politeness.sections import Sections
    from scrapy_mandelbot.politeness.site_state import Site


class Page:
    """A request."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.method = "GET"
        self.headers: dict[str, list[str]] = {}
        self.meta: dict[str, object] = {}


def assert_untouched() -> None:
    """Say whether anything was written to what stands for all that a site has nothing to say of."""
    assert len(NO_SECTIONS) == 0
    assert repr(NO_PAUSE) == "<Pause: open>"
    assert NO_PAUSE.probe is NO_PAUSE.recovery is None
    assert NO_PAUSE.due(7) == 7
    assert not NO_SECTIONS.has_any_aside
    assert NO_SECTIONS.good_at == -1
    assert repr(NO_METRONOME) == "<Metronome no pace>"
    assert NO_METRONOME.due_after(7) == NO_METRONOME.due(7) == 7


def flight_to(site: Site, path: str = "/") -> Flight:
    """Return a request for a page of a site that is on its way."""
    return Flight(Page(site.name + path), site)


def times_alone(sections: Sections, fingerprint: bytes) -> int:
    """Return how often a request was refused, if its page is to blame; 0: it is not."""
    one = sections.refused_url(fingerprint)
    return one.times if one is not None and one.is_alone else 0
