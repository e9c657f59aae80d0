"""Requests that came back and are not to be sent before a time of their own.

They are in memory. When the crawl ends before their time has come, they are given back.
"""

from __future__ import annotations

from collections import Counter
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy import Request

    from scrapy_mandelbot.clock import Call, Clock


class Delayed:
    """The delayed requests, by the name of their queue.

    Args:
        clock: of the crawl.
        come_back: called with the name and the request when its time has come.
    """

    def __init__(self, clock: Clock, come_back: Callable[[str, Request], None]) -> None:
        self._clock = clock
        self._come_back = come_back
        self._heap: list[tuple[float, int, str, Request]] = []
        self._order = count()
        self._lengths: Counter[str] = Counter()
        self._timer: Call | None = None

    def __len__(self) -> int:
        return len(self._heap)

    def length(self, name: str) -> int:
        """Return how many requests of that name are delayed."""
        return self._lengths[name]

    def put(self, name: str, request: Request, at: float) -> None:
        """Delay a request until then."""
        heappush(self._heap, (at, next(self._order), name, request))
        self._lengths[name] += 1
        self._set_timer()

    def drain(self) -> Iterator[tuple[str, Request]]:
        """Take out all, whether their time has come or not."""
        while self._heap:
            yield self._take()
        self._set_timer()

    def _take(self) -> tuple[str, Request]:
        _, _, name, request = heappop(self._heap)
        self._lengths[name] -= 1
        if not self._lengths[name]:
            del self._lengths[name]
        return name, request

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
