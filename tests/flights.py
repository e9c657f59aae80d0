"""Requests on their way, as the states of sites see them: a request has a URL, and no more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_mandelbot.sites.flight import Flight

if TYPE_CHECKING:
    from scrapy_mandelbot.sites.site import SiteState


class Page:
    """A request."""

    def __init__(self, url: str) -> None:
        self.url = url


def flight_to(site: SiteState, path: str = "/", route: str = "") -> Flight:
    """Return a request for a page of a site that is on its way."""
    return Flight(Page(site.name + path), site, route)
