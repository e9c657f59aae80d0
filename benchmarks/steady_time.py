"""Time that goes on with what a program does, not with how fast the machine does it.

Crawls that are counted take as long as the machine is slow: under valgrind, beside others, for
minutes. What is done each second or minute of them (Scrapy throws away unused download slots, and
looks into its scheduler) would be counted with them, more in one run than in the next.
"""

from __future__ import annotations

import selectors
import time
from collections import deque
from itertools import count, islice

_STEP = 1e-4  # seconds that pass with each look at the clock


def install() -> None:
    """Be the time of this process. Call it before anything takes a clock from `time`.

    A look at it costs as little as one at the machine's. A wait ends at once, and has taken its
    time.
    """
    moments = count(round(time.time()), _STEP)
    time.time = time.monotonic = time.perf_counter = moments.__next__
    del time.clock_gettime  # who would take it takes `time.monotonic` instead
    select = selectors.DefaultSelector.select

    def wait(selector: selectors.DefaultSelector, timeout: float | None = None) -> list:
        events = select(selector, None if timeout is None else 0)
        if not events and timeout:
            deque(islice(moments, int(timeout / _STEP) + 1), maxlen=0)
        return events

    selectors.DefaultSelector.select = wait
