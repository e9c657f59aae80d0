"""Time that goes on with what a program does, not with how fast the machine does it.

Crawls that are counted take as long as the machine is slow: under valgrind, beside others, for
minutes. What is done each second or minute of them (Scrapy throws away unused download slots, and
looks into its scheduler) would be counted with them, more in one run than in the next.
"""

from __future__ import annotations

import selectors
import time

_STEP = 2e-5  # seconds that pass with each look at the clock


class SteadyTime:
    """Takes the place of the machine's clocks. A wait ends at once, and has taken its time."""

    def __init__(self) -> None:
        self._now = time.time()

    def install(self) -> None:
        """Be the time of this process. Call it before anything takes a clock from `time`."""
        time.time = time.monotonic = time.perf_counter = self._look
        select = selectors.DefaultSelector.select

        def wait(selector: selectors.DefaultSelector, timeout: float | None = None) -> list:
            events = select(selector, None if timeout is None else 0)
            if not events and timeout:
                self._now += timeout
            return events

        selectors.DefaultSelector.select = wait

    def _look(self) -> float:
        self._now += _STEP
        return self._now
