"""A request in flight, as far as its site has to know it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scrapy_mandelbot.sites.site import SiteState


class Flight:
    """A request on its way to its site.

    Args:
        request: which one.
        site: where it goes.
        route: the way it goes: a proxy, where those are told apart, else ``""``.
    """

    __slots__ = (
        "is_from_queue",
        "is_sent",
        "keeps_pauses",
        "passed",
        "request",
        "route",
        "sent_at",
        "site",
        "tick",
    )

    def __init__(self, request: Any, site: SiteState, route: str = "") -> None:
        self.request = request
        self.site = site
        self.route = route
        self.passed: str | None = None
        """The route by which it was handed out, or has had its turn; None: it has not."""
        self.tick = site.ticks
        """When it was handed out, in ticks of its site."""
        self.sent_at = 0.0
        """When it was handed out, or left for its site, in seconds."""
        self.is_from_queue = False
        self.keeps_pauses = True
        """Whether pauses hold it back; a pace does in any case."""
        self.is_sent = False
        """Whether it has left for its site."""

    def __repr__(self) -> str:
        origin = "from the queue" if self.is_from_queue else "from elsewhere"
        return f"<Flight of {self.request} {origin}>"
