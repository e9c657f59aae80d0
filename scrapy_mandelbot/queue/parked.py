"""Requests that were taken out of a project's own scheduler, kept in memory in its order."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy import Request


class ParkedRequests:
    """A :class:`RequestStorage`: in each line by priority, then as they were taken first.

    What comes back keeps its place: it is in front of what was taken after it.
    """

    def __init__(self) -> None:
        self.lengths: dict[str, int] = {}
        """How many requests each line has, of those that have any."""
        self._heaps: dict[str, list[tuple[int, int, Request]]] = {}
        self._numbers: WeakKeyDictionary[Request, int] = WeakKeyDictionary()
        self._next_number = count()
        self._total = 0

    def __len__(self) -> int:
        return self._total

    def __contains__(self, name: str) -> bool:
        return name in self.lengths

    def __iter__(self) -> Iterator[str]:
        return iter(self.lengths)

    def length(self, name: str) -> int:
        """Return how many requests the line has."""
        return self.lengths.get(name, 0)

    def restore(self, name: str, priorities: Iterable[int]) -> None:
        """Do nothing: nothing outlasts the run."""

    def push(self, name: str, request: Request) -> None:
        """Add a request to a line, in its place."""
        number = self._numbers.get(request)
        if number is None:
            number = self._numbers[request] = next(self._next_number)
        heappush(self._heaps.setdefault(name, []), (-request.priority, number, request))
        self.lengths[name] = self.lengths.get(name, 0) + 1
        self._total += 1

    def put_at_hand(self, name: str, request: Request) -> None:
        """Add a request that was taken, in its place."""
        self.push(name, request)

    def put_back(self, name: str, requests: list[Request]) -> None:
        """Put requests that were taken back where they were."""
        for request in requests:
            self.push(name, request)

    def pop(self, name: str) -> Request | None:
        """Take the next request of a line."""
        heap = self._heaps[name]
        _, _, request = heappop(heap)
        self._total -= 1
        if heap:
            self.lengths[name] -= 1
        else:
            del self.lengths[name], self._heaps[name]
        return request

    def peek(self, name: str) -> Request | None:
        """Return what :meth:`pop` would, and leave it."""
        return self._heaps[name][0][2]

    def drop(self, request: Request) -> None:
        """Do nothing: what was taken is not kept."""

    def put_down(self) -> list[Request]:
        """Return what is left: the next run does not find it here."""
        return [request for heap in self._heaps.values() for _, _, request in sorted(heap)]

    def close(self) -> dict[str, list[int]]:
        """Forget all."""
        self.lengths.clear()
        self._heaps.clear()
        self._total = 0
        return {}
