"""How the time of a function grows: at n and 4n, by processor time, the least of some
runs.

Cores are shared and clocks vary: what passes at once is believed, what fails is
measured again and again, and only the least of each counts. Small inputs are first, so
that a quadratic function is seen before it takes minutes; where one says that a larger
is needed, what is between is left out.
"""

from __future__ import annotations

import functools
import gc
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from growth import Row

# a doubling; taken over two of them, because caches and pages make steps
MOST_GROWTH = 2.6
MEASURABLE = 0.001  # seconds; below, a time says nothing of growth
ENOUGH = 0.004  # seconds at 4n; where it is less, n is larger
STARTS = (25_000, 64_000)  # bytes
ATTEMPTS = 5
SHARED = 4  # times the bound: cores that others use at the same time are slower
HOPELESS = 10  # times the bound: not measured again, nor at a larger size


def complaint(row: Row, shape: str) -> str | None:
    """Return what is wrong with how a row's function grows on a shape.

    None: nothing is.
    """
    start, larger = STARTS
    if seconds_of(row, shape, start) >= ENOUGH / 4:
        least = _least(row, shape, start)
        wrong = judged(row, least)
        if not wrong and max(least.values()) >= ENOUGH:
            return None
        # not a step that caches make
        if wrong and max(least.values()) > SHARED * row.bound:
            return wrong
    at_last = seconds_of(row, shape, 4 * larger)
    if at_last <= MEASURABLE * MOST_GROWTH**2 and not _too_long(
        row, 4 * larger, at_last
    ):
        return None  # whatever less took
    wrong = judged(row, _least(row, shape, larger, at_last))
    # Memory that the system hands out anew from some size on is a step: no one larger
    # has it again.
    return wrong and judged(row, _least(row, shape, 4 * larger))


def _least(
    row: Row, shape: str, start: int, at_last: float | None = None
) -> dict[int, float]:
    """Return the least seconds at n and 4n, measured again if the machine was busy.

    `at_last`: what 4n has taken, if that is measured. At n the first time may be that
    of what is loaded late: it would hide growth.
    """
    least: dict[int, float] = {}
    for _ in range(ATTEMPTS):
        for size in (start, 4 * start):
            if at_last is not None and size > start:
                seconds = at_last
                at_last = None
            else:
                seconds = seconds_of(row, shape, size)
            least[size] = min(seconds, least.get(size, seconds))
            if least[size] > HOPELESS * row.bound * size / 100_000:
                return least
        if judged(row, least) is None:
            break
    return least


def judged(row: Row, least: dict[int, float]) -> str | None:
    """Return what is wrong with the least seconds at n and 4n; None: nothing is.

    A time that is too short to be measured counts as the shortest that is not.
    """
    wrong = next(
        filter(None, (_too_long(row, size, least[size]) for size in least)), None
    )
    first = max(min(least.values()), MEASURABLE)
    last = max(least.values())
    if not wrong and last > MOST_GROWTH**2 * first:
        wrong = f"{last / first:.1f} times as long for four times as much"
    times = (f"{1000 * least[size]:.1f} ms at {size // 1000} KB" for size in least)
    return wrong and f"{wrong}: {', '.join(times)}"


def _too_long(row: Row, size: int, seconds: float) -> str | None:
    if seconds <= SHARED * row.bound * size / 100_000:
        return None
    return (
        f"{1000 * seconds:.0f} ms at {size // 1000} KB, {1000 * row.bound:.0f} ms for"
        " 100 KB"
    )


def seconds_of(row: Row, shape: str, size: int) -> float:
    """Return the processor time that one call takes, nothing being remembered of
    others.
    """
    given = _input(row.shapes[shape], size)
    if row.prepare is not None:
        given = row.prepare(given)
    forget()
    gc.collect(0)
    gc.disable()
    try:
        start = time.process_time()
        row.run(given)
        return time.process_time() - start
    finally:
        gc.enable()


@functools.lru_cache(maxsize=512)  # the next row mostly has the same shapes
def _input(make: Callable[[int], Any], size: int) -> Any:
    return make(size)


def forget() -> None:
    """Empty what the package remembers by what it was given: the second time is no
    measure.
    """
    for cache in _caches():
        cache.cache_clear()


@functools.cache
def _caches() -> tuple[functools._lru_cache_wrapper, ...]:
    modules = [
        module
        for name, module in sys.modules.items()
        if name.startswith(("mandelbot", "scrapy_mandelbot"))
    ]
    found = {id(value): value for module in modules for value in vars(module).values()}
    return tuple(
        value
        for value in found.values()
        if isinstance(value, functools._lru_cache_wrapper)
        and value.__name__ != "grammar_of"
    )
