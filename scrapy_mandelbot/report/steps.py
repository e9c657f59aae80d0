"""Work that takes long done a little at a time, so that the crawl goes on meanwhile."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy_mandelbot.clock import Call, Clock

AT_A_TIME = 500
"""Sites that are looked at without a break: some milliseconds."""
_BREAK = 0.02  # seconds, in which the crawl's own work is done


class Steps:
    """Goes through an iterator with breaks, one at a time.

    Args:
        clock: of the crawl.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._next: Call | None = None
        self.spent = 0.0
        """Seconds that the work took, without the breaks."""

    def take(self, work: Iterator[object], done: Callable[[], None]) -> None:
        """Go through what is to be done; where that is little, at once.

        Args:
            work: that is done by asking for the next of it; what it yields is not looked at.
            done: called at the end, unless it is broken off before.
        """
        self.spent = 0.0
        self._take_some(work, done)

    def cancel(self) -> None:
        """Break it off."""
        if self._next is not None:
            self._next.cancel()
            self._next = None

    def _take_some(self, work: Iterator[object], done: Callable[[], None]) -> None:
        self._next = None
        began = self._clock.now()
        taken = sum(1 for _ in islice(work, AT_A_TIME))
        self.spent += self._clock.now() - began
        if taken < AT_A_TIME:
            done()
        else:
            self._next = self._clock.call_later(_BREAK, self._take_some, work, done)
