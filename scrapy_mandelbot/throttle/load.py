"""What waits in the queues, as part of what Scrapy calls its load.

Scrapy takes a request from its scheduler while the downloader has a place, whether the
site can be asked now or not: ``needs_backout()`` is true as soon as there are as many
requests as places. A ``SiteQueue`` keeps a request until its site can be asked. The
places stay free, and a spider that yields while ``needs_backout()`` is false would read
a list of any length. So requests in the queues count, too, by one rule:

- those that may go, or wait for their turn, each take a place;
- those of paused sites, or with a delay of their own, take places from the thousandth
  on: a crawl gets by them to other sites, and a pause does not read an endless list.
  Where they alone hold a crawl back, twice as many are read every five seconds, up to
  ``MOST_PAUSED``: a list that is sorted by site may have more of one;
- those that are left to the next run take none.

``needs_backout()`` is false while a request may be handed out: the engine asks it, too.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING

from scrapy_mandelbot import engine

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_mandelbot.throttle.throttle import Throttle

PAUSED = 1_000
"""Requests of paused sites that take no place, at first."""
MOST_PAUSED = 32_000
"""The same, at last. In memory they take some 50 MB."""
_LOOKS_AGAIN = 5.0  # seconds, as the engine's heartbeat


class Load:
    """Counts the requests in the queues wherever Scrapy's load is asked for."""

    def __init__(
        self,
        crawler: Crawler,
        throttle: Throttle,
        *,
        leaves_paused: bool,
        only_waits: Callable[[], None],
    ) -> None:
        self._crawler = crawler
        self._throttle = throttle
        self._only_waits = only_waits
        self._in_flight = throttle.in_flight
        self.counts: list[engine.WaitingInQueue] = []
        """What waits in each queue."""
        self._least_for_free: float = inf if leaves_paused else PAUSED
        self.paused_for_free = self._least_for_free
        """Requests of paused sites that take no place. A run that leaves such sites to
        the next one ends when it has read ``start()``.
        """
        self.has_more: Callable[[], bool] | None = None
        """Returns whether a scheduler may have one to hand out that is in no queue."""
        self._is_enough: Callable[[], bool] = bool
        self.is_watched = False
        """Whether the queues will be looked at again although nothing has changed."""

    def add(self, counts: engine.WaitingInQueue) -> None:
        """Count what waits in a queue, too."""
        if not self.counts:
            self._is_enough = engine.count_as_load(self._crawler, self)
        self.counts.append(counts)

    def watch(self) -> None:
        """Look at the queues again in a while.

        Not every change is noticed: a middleware may swallow a request, and whether
        silent sites hang is a matter of time.
        """
        self.is_watched = True
        at = self._throttle.now() + _LOOKS_AGAIN
        self._throttle.timers.set(self, at, self._look_again)

    def _look_again(self, _: Load) -> None:
        self.is_watched = False
        may_go = False
        for queue in self._in_flight.queues:
            if queue.settle():
                may_go = True
        if may_go or self._reads_on():
            engine.wake(self._crawler)
        elif self._is_enough() and not self._in_flight.flights:
            self._only_waits()

    def _reads_on(self) -> bool:
        """Take places for fewer paused requests, if they alone take the last ones.

        Returns whether more are read.
        """
        paused = sum(one.paused.total for one in self.counts)
        if paused <= self._least_for_free:
            self.paused_for_free = self._least_for_free
            return False
        if paused < self.paused_for_free or not self._is_enough():
            return False
        before = self.paused_for_free
        self.paused_for_free = min(2 * before, MOST_PAUSED)
        if self._is_enough():  # others wait, too
            self.paused_for_free = before
            return False
        return True
