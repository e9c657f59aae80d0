"""Requests that came back and are not to be sent before a time of their own.

They are in memory. When the crawl ends before their time has come, they are given back.
"""

from __future__ import annotations

from collections import Counter
from heapq import heapify, heappop, heappush
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator

    from scrapy import Request

    from scrapy_mandelbot.clock import Call, Clock
    from scrapy_mandelbot.queue.round_robin import Line


class Delayed:
    """The delayed requests, by the line that they belong to.

    Args:
        clock: of the crawl.
        come_back: called with the line and the request when its time has come.
    """

    def __init__(self, clock: Clock, come_back: Callable[[Line, Request], None]) -> None:
        self._clock = clock
        self._come_back = come_back
        self._heap: list[tuple[float, int, Line, Request]] = []
        self._order = count()
        self._lengths: Counter[Line] = Counter()
        self._timer: Call | None = None

    def __len__(self) -> int:
        return len(self._heap)

    def length(self, line: Line) -> int:
        """Return how many requests of that line are delayed."""
        return self._lengths.get(line, 0)

    def __iter__(self) -> Iterator[tuple[Line, float]]:
        """Yield the line of each that is there now, and when its time has come."""
        return ((line, at) for at, _, line, _ in tuple(self._heap))

    def put(self, line: Line, request: Request, at: float) -> None:
        """Delay a request until then."""
        heappush(self._heap, (at, next(self._order), line, request))
        self._lengths[line] += 1
        self._set_timer()

    def drain(self) -> Iterator[tuple[Line, Request]]:
        """Take out all, whether their time has come or not."""
        while self._heap:
            yield self._take()
        self._set_timer()

    def take(self, lines: Container[Line]) -> list[tuple[Line, Request]]:
        """Take out those of some lines, whether their time has come or not."""
        taken = sorted(entry for entry in self._heap if entry[2] in lines)
        if taken:
            self._heap = [entry for entry in self._heap if entry[2] not in lines]
            heapify(self._heap)
            for _, _, line, _ in taken:
                self._lengths.pop(line, None)
            self._set_timer()
        return [(line, request) for _, _, line, request in taken]

    def _take(self) -> tuple[Line, Request]:
        _, _, line, request = heappop(self._heap)
        self._lengths[line] -= 1
        if not self._lengths[line]:
            del self._lengths[line]
        return line, request

    def _wake(self) -> None:
        self._timer = None
        while self._heap and self._heap[0][0] <= self._clock.now():
            self._come_back(*self._take())
        self._set_timer()

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._heap:
            seconds = max(0.0, self._heap[0][0] - self._clock.now())
            self._timer = self._clock.call_later(seconds, self._wake)
