"""The one alarm of a crawl: it rings for each site when that may be asked, or be resumed."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from itertools import count
from math import inf, isfinite
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_mandelbot.clock import Call, Clock
    from scrapy_mandelbot.politeness import SiteState


_FEW = 1_000  # times that were set and are of no use, before they are dropped


class Alarm:
    """A time for each site, and one timer for the first of them.

    Args:
        clock: of the crawl.
        ring: called with a site at its time. It may ring too soon, never too late: whoever is
            called looks at the site and sets the alarm again.
    """

    def __init__(self, clock: Clock, ring: Callable[[SiteState], None]) -> None:
        self._clock = clock
        self._ring = ring
        self._heap: list[tuple[float, int, SiteState]] = []
        self._order = count()
        self._useless = 0
        self._timer: Call | None = None
        self._timer_at = inf

    def __len__(self) -> int:
        return len(self._heap)

    def set(self, site: SiteState, at: float) -> None:
        """Have it ring for a site at a time, if it does not ring sooner; never, at no finite one.

        A site is kept as long as the alarm is to ring for it.
        """
        if at >= site.alarm_at or not isfinite(at):
            return
        is_set = site.alarm_at != inf
        site.alarm_at = at
        heappush(self._heap, (at, next(self._order), site))
        if is_set:  # what it was set to before is of no use any more
            self._useless += 1
            if self._useless > max(_FEW, len(self._heap) / 2):
                self._drop_useless()
        if at < self._timer_at:
            self._set_timer()

    def close(self) -> None:
        """Cancel all."""
        self._heap.clear()
        self._set_timer()

    def _drop_useless(self) -> None:
        self._heap = [entry for entry in self._heap if entry[0] == entry[2].alarm_at]
        heapify(self._heap)
        self._useless = 0

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._timer_at = None, inf
        if self._heap:
            self._timer_at = self._heap[0][0]
            seconds = max(0.0, self._timer_at - self._clock.now())
            self._timer = self._clock.call_later(seconds, self._wake)

    def _wake(self) -> None:
        self._timer, self._timer_at = None, inf
        now = self._clock.now()  # the loop's clock may be a hair ahead
        while self._heap and self._heap[0][0] <= now:
            at, _, site = heappop(self._heap)
            if site.alarm_at == at:
                site.alarm_at = inf
                self._ring(site)
            else:  # it has rung for it sooner
                self._useless = max(0, self._useless - 1)
        if self._timer is None:
            self._set_timer()
