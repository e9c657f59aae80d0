"""What waits in a site queue, by what it waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_mandelbot.politeness.flight import Wait
from scrapy_mandelbot.scheduling.round_robin import Apart

if TYPE_CHECKING:
    from scrapy_mandelbot.scheduling.round_robin import RoundRobin, SubQueue
    from scrapy_mandelbot.scheduling.storage import RequestStorage

_PAUSES = frozenset({Wait.PAUSE, Wait.ROBOTS})


class QueueCounts:
    """The requests of a site queue, as Scrapy would count them.

    All that wait are in the storage. Those of a sub-queue are counted apart from when
    it steps out because of its site, until it is looked at again.
    """

    def __init__(self, storage: RequestStorage, round_robin: RoundRobin) -> None:
        self.storage = storage
        self.round_robin = round_robin
        self.paused = Apart()
        """Those whose site or section is paused, or waits behind silent ones."""
        self.left = Apart()
        """Those that are not sent in this run: they are left to the next one."""

    def note(self, queue: SubQueue, wait: Wait | None, now: float) -> None:
        """Count the requests of a sub-queue by what it waits for.

        A site that recovers from a pause, or has a crawl delay, is not paused: they
        wait for their turn.
        """
        length = self.storage.length(queue.name)
        if wait is Wait.NOTHING:
            self.left.put(queue, length)
        elif wait in _PAUSES or queue.site.is_shut(now):
            self.paused.put(queue, length)
        elif queue.apart is not None:
            queue.apart.drop(queue)

    def note_silent(self, queue: SubQueue) -> None:
        """Count the requests of a sub-queue that waits behind other silent sites."""
        self.paused.put(queue, self.storage.length(queue.name))
