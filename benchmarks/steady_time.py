"""Time that goes on with what a program does, not with how fast the machine does it.

Crawls that are counted take as long as the machine is slow: under valgrind, beside
others, for minutes. What is done each second or minute of them (Scrapy throws away
unused download slots, and looks into its scheduler) would be counted with them, more in
one run than in the next.
"""

from __future__ import annotations

import gc
import selectors
import sys
import time
from collections import deque
from collections.abc import Callable
from itertools import count, islice

_STEP = 1e-4  # seconds that pass with each look at the clock
_CALL = 6e-8  # seconds that a call of a function takes, and as many its return
_LONG = 0.02  # seconds of a call in C that no loaded machine makes of a short one
_FRESH = 2e-4  # seconds for which a look at the processor's time will do
_BEGAN = 1_800_000_000


def install_calls() -> Callable[[], None]:
    """Be the time of this process, in which a call of a function takes so long,
    whatever it does. Call it before anything takes a clock from `time`.

    So a crawl takes as long on each machine, beside any other work. A call of a
    function in C that takes the processor for long (to decompress a file) takes that
    time. No garbage is collected. A wait ends at once, and has taken its time.

    Returns:
        What starts this time. Until it is called time stands still.
    """
    spent = waited = began_call = looked = used = 0.0

    def called(_frame: object, event: str, _what: object) -> None:
        nonlocal spent, began_call, looked, used
        spent += _CALL
        if event == "c_call":
            began_call = clock()
            # The clock is read without asking the kernel, and the processor's is not.
            if began_call - looked > _FRESH:
                looked = began_call
                used = processor()
        elif event == "c_return" and clock() - began_call > _LONG:
            took = processor() - used
            if took > _LONG:
                spent += took
            # it may be within another
            began_call = looked = clock()
            used = processor()

    def pass_by(seconds: float) -> None:
        nonlocal waited
        waited += seconds

    began = time.time()
    clock = time.perf_counter
    processor = time.thread_time
    time.time = time.monotonic = time.perf_counter = lambda: began + waited + spent
    time.thread_time = time.process_time = lambda: spent
    del time.clock_gettime
    _end_waits(pass_by)
    gc.disable()
    return lambda: sys.setprofile(called)


def install() -> None:
    """Be the time of this process. Call it before anything takes a clock from `time`.

    A look at it costs as little as one at the machine's. A wait ends at once, and has
    taken its time.
    """
    moments = count(_BEGAN, _STEP)
    time.time = time.monotonic = time.perf_counter = moments.__next__
    del time.clock_gettime  # who would take it takes `time.monotonic` instead
    _end_waits(
        lambda seconds: deque(islice(moments, int(seconds / _STEP) + 1), maxlen=0)
    )


def _end_waits(pass_by: Callable[[float], object]) -> None:
    """Let a wait for the network or a timer end at once, and its seconds pass by."""
    select = selectors.DefaultSelector.select

    def wait(selector: selectors.DefaultSelector, timeout: float | None = None) -> list:
        events = select(selector, None if timeout is None else 0)
        if not events and timeout:
            pass_by(timeout)
        return events

    selectors.DefaultSelector.select = wait
