"""Requests that wait in download slots while their site closes: they go back, and are not sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_mandelbot import engine

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.crawler import Crawler


class SitePausedError(Exception):
    """Ends the wait in a download slot of a request whose site has closed meanwhile."""


def evict_waiting(crawler: Crawler, is_meant: Callable[[Request], bool]) -> None:
    """End the wait in download slots of the requests that are meant, and that keep pauses."""
    evicted = engine.evict_waiting(
        crawler,
        lambda waiting: is_meant(waiting) and not waiting.meta.get("dont_pause"),
        SitePausedError(),
    )
    if evicted:
        crawler.stats.inc_value("mandelbot/pause/evicted", evicted)
