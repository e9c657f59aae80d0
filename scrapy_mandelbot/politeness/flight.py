"""A request in flight: all that is known of it while it is outside of the queue.

What a request needs is looked up once, when it is handed out, and carried here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy_mandelbot.politeness.site import SiteState


_NO_META: Mapping[str, object] = {}


class Flight:
    """A request on its way to its site.

    Args:
        request: which one.
        site: where it goes.
        route: the way it goes: a proxy, where those are told apart, else ``""``.
    """

    __slots__ = (
        "dont_filter",
        "is_from_queue",
        "is_noticed",
        "is_sent",
        "is_waiting",
        "keeps_pauses",
        "meta",
        "not_before",
        "passed",
        "request",
        "route",
        "sent_at",
        "site",
        "slot",
        "tick",
        "waits_since",
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
        self.is_waiting = False
        """Whether it waits, and holds no place of the downloader."""
        self.is_noticed = False
        """Whether its answer has been taken into account."""
        self.not_before = 0.0
        """When it may be sent, as far as its URL alone is refused."""
        self.waits_since: float | None = None
        """Since when it waits for the end of a pause, where it is not from the queue."""
        self.slot = ""
        """The download slot through which it goes, where it is from the queue."""
        self.dont_filter = False
        self.meta: Mapping[str, object] = _NO_META
        """Of the meta keys that the way out changes, those that it had in the queue."""

    def __repr__(self) -> str:
        origin = "from the queue" if self.is_from_queue else "from elsewhere"
        return f"<Flight of {self.request} {origin}>"
