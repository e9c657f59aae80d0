"""The queues of a crawl, as its gates see them: Scrapy has one in memory and one on disk."""

from __future__ import annotations

from typing import Protocol


class Queue(Protocol):
    """What the gates need of a queue that hands out requests."""

    def waiting(self, gate: str) -> int:
        """Return how many requests in the queue have to pass this gate."""

    def slot_changed(self, slot: str) -> None:
        """Note that a request was handed out to a download slot, or has left it."""

    def gate_changed(self, gate: str) -> None:
        """Note that a gate which was shut may let requests through, perhaps."""


class Queues:
    """All queues of a crawl, told and asked as one."""

    def __init__(self) -> None:
        self._queues: list[Queue] = []

    def __len__(self) -> int:
        return len(self._queues)

    def add(self, queue: Queue) -> None:
        """Let a queue hear when a site or slot that had to wait may be asked again."""
        self._queues.append(queue)

    def waiting(self, gate: str) -> int:
        """Return how many requests in the queues have to pass this gate."""
        return sum(queue.waiting(gate) for queue in self._queues)

    def slot_changed(self, slot: str) -> None:
        """Tell them that a request was handed out to a download slot, or has left it."""
        for queue in self._queues:
            queue.slot_changed(slot)

    def gate_changed(self, gate: str) -> None:
        """Tell them that a gate which was shut may let requests through, perhaps."""
        for queue in self._queues:
            queue.gate_changed(gate)
