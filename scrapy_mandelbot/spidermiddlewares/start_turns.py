"""Lets a crawl go on while a long ``start()`` is read.

The engine lets the loop have a turn after each request of ``start()``, but not while
``needs_backout()`` is true: it then reads all at once, and no page comes meanwhile.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, cast

from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_mandelbot.crawl import Crawl

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


_AT_A_TIME = 5  # requests; a turn takes about as long as to read two


class StartTurns:
    """Gives the loop a turn every few start requests where the engine gives none."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        if not Crawl.of(crawler).config.enabled:
            raise NotConfigured

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> StartTurns:
        """Build the middleware."""
        return cls(crawler)

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Pass all on."""
        engine = cast("Any", self._crawler.engine)
        without_a_turn = 0
        async for one in start:
            yield one
            if not engine.needs_backout():
                without_a_turn = 0
                continue
            without_a_turn += 1
            if without_a_turn == _AT_A_TIME:
                without_a_turn = 0
                turn: Deferred[None] = Deferred()
                call_later(0, turn.callback, None)
                await maybe_deferred_to_future(turn)
