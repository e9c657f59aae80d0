"""Requests that came back and are not to be sent before a time of their own.

They are in memory. When the crawl ends before their time has come, they are given back.
"""

from __future__ import annotations

from collections import Counter
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import call_later

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy import Request
    from scrapy.utils.asyncio import CallLaterResult


class Aside:
    """The requests set aside, by the name of their queue.

    Args:
        now: returns seconds since the epoch.
        come_back: called with the name and the request when its time has come.
    """

    def __init__(self, now: Callable[[], float], come_back: Callable[[str, Request], None]) -> None:
        self._now = now
        self._come_back = come_back
        self._heap: list[tuple[float, int, str, Request]] = []
        self._order = count()
        self._lengths: Counter[str] = Counter()
        self._alarm: CallLaterResult | None = None

    def __len__(self) -> int:
        return len(self._heap)

    def length(self, name: str) -> int:
        """Return how many requests of that name are set aside."""
        return self._lengths[name]

    def put(self, name: str, request: Request, at: float) -> None:
        """Set a request aside until then."""
        heappush(self._heap, (at, next(self._order), name, request))
        self._lengths[name] += 1
        self._set_alarm()

    def drain(self) -> Iterator[tuple[str, Request]]:
        """Take out all, whether their time has come or not."""
        while self._heap:
            yield self._take()
        self._set_alarm()

    def _take(self) -> tuple[str, Request]:
        _, _, name, request = heappop(self._heap)
        self._lengths[name] -= 1
        if not self._lengths[name]:
            del self._lengths[name]
        return name, request

    def _ring(self) -> None:
        self._alarm = None
        while self._heap and self._heap[0][0] <= self._now():
            self._come_back(*self._take())
        self._set_alarm()

    def _set_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if self._heap:
            self._alarm = call_later(max(0.0, self._heap[0][0] - self._now()), self._ring)
