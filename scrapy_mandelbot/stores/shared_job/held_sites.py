"""What a worker holds of the sites that are its own: requests that it may hand out."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

FIRST = 4
"""Requests that are claimed of a site that is new to a worker."""
_FEWEST = 2
MOST_HELD = 32
"""Requests that are claimed of a site at a time."""
_SOON, _LATE = 1.0, 10.0  # seconds in which that many were handed out


class HeldSite:
    """A site that is this worker's.

    It claims as many requests at a time as it hands out in some seconds, so that others wait where
    each worker can have them; and the next ones before the last ones are gone.
    """

    __slots__ = ("asked", "batch", "has_more", "name", "numbers", "said", "waiting", "when")

    def __init__(self, name: str, now: float) -> None:
        self.name = name
        self.numbers: set[int] = set()
        """Of requests that are claimed, whether they wait here or were handed out."""
        self.waiting = 0
        """Requests that are claimed, and may be handed out."""
        self.batch = FIRST
        self.when = now
        """When requests were claimed last."""
        self.asked = 0
        """How many are being claimed."""
        self.has_more = True
        """Whether more wait than were claimed, as far as that is known."""
        self.said: tuple[bytes, str] = b"", "0"
        """What its next owner is to know, as it was said last."""

    @property
    def is_low(self) -> bool:
        """Whether more are to be claimed."""
        return not self.waiting or (self.has_more and self.waiting <= self.batch // 4)

    @property
    def is_dry(self) -> bool:
        """Whether nothing of it waits, here or there, as far as that is known."""
        return not self.waiting and not self.has_more and not self.asked

    def ask(self, now: float) -> int:
        """Return how many requests to claim; they are on their way from now on."""
        passed, self.when = now - self.when, now
        if self.has_more and passed < _SOON:
            self.batch = min(2 * self.batch, MOST_HELD)
        elif passed > _LATE:
            self.batch = max(self.batch // 2, _FEWEST)
        self.asked = max(1, self.batch - self.waiting)
        return self.asked

    def arrived(self, count: int) -> None:
        """Note how many requests came of those that were to be claimed."""
        self.has_more = count >= self.asked
        self.asked = 0


class HeldLines:
    """Claimed requests by line, each in its order."""

    def __init__(self) -> None:
        self._lines: dict[str, list[tuple[tuple[int, int, int], int, bytes]]] = {}

    def lengths(self) -> dict[str, int]:
        """Return how many there are of each line that has any."""
        return {line: len(heap) for line, heap in self._lines.items()}

    def numbers(self) -> Iterator[int]:
        """Yield the numbers of all."""
        for heap in self._lines.values():
            for _, number, _ in heap:
                yield number

    def add(self, line: str, place: tuple[int, int, int], number: int, body: bytes) -> None:
        """Have a request wait."""
        heappush(self._lines.setdefault(line, []), (place, number, body))

    def take(self, line: str) -> tuple[int, bytes] | None:
        """Take the next one of a line: its number and body."""
        heap = self._lines.get(line)
        if heap is None:
            return None
        _, number, body = heappop(heap)
        if not heap:
            del self._lines[line]
        return number, body

    def drop(self, line: str) -> None:
        """Take out all of a line."""
        self._lines.pop(line, None)
