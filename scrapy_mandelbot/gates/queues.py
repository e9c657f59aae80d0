"""The queues of a crawl, as its gates see them: Scrapy has one in memory and one on disk."""

from __future__ import annotations

from typing import Protocol


class Queue(Protocol):
    """What the gates need of a queue that hands out requests."""

    def waiting(self, site: str) -> int:
        """Return how many requests of the site are in the queue."""

    def slot_changed(self, slot: str) -> None:
        """Note that a request was handed out to a download slot, or has left it."""

    def site_changed(self, site: str) -> None:
        """Note that a site which had to wait may be asked, perhaps."""


class Queues:
    """All queues of a crawl, told and asked as one."""

    def __init__(self) -> None:
        self._queues: list[Queue] = []

    def __len__(self) -> int:
        return len(self._queues)

    def add(self, queue: Queue) -> None:
        """Let a queue hear when a site or slot that had to wait may be asked again."""
        self._queues.append(queue)

    def waiting(self, site: str) -> int:
        """Return how many requests of the site are in the queues."""
        return sum(queue.waiting(site) for queue in self._queues)

    def slot_changed(self, slot: str) -> None:
        """Tell them that a request was handed out to a download slot, or has left it."""
        for queue in self._queues:
            queue.slot_changed(slot)

    def site_changed(self, site: str) -> None:
        """Tell them that a site which had to wait may be asked, perhaps."""
        for queue in self._queues:
            queue.site_changed(site)
