"""How the time of a function grows: at n, 2n, 4n, by processor time, the least of some runs.

Cores are shared and clocks vary: what passes at once is believed, what fails is measured again and
again, and only the least of each counts. Small inputs are first, so that a quadratic function is
seen before it takes minutes.
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

MOST_GROWTH = 2.6  # a doubling; over two of them, because caches and pages make steps
MEASURABLE = 0.001  # seconds; below, a time says nothing of growth
ENOUGH = 0.004  # seconds at 4n; where it is less, n is larger
STARTS = (25_000, 64_000)  # bytes
ATTEMPTS = 5
SHARED = 2  # times the bound: a core that others use at the same time is slower
HOPELESS = 10  # times the bound: not measured again


def complaint(row: Row, shape: str) -> str | None:
    """Return what is wrong with how a row's function grows on a shape; None: nothing is."""
    wrong = None
    for start in STARTS:
        sizes = (start, 2 * start, 4 * start)
        least: dict[int, float] = {}
        for _ in range(ATTEMPTS):
            for size in sizes:
                seconds = seconds_of(row, shape, size)
                least[size] = min(seconds, least.get(size, seconds))
                wrong = _too_long(row, size, least[size])
                if wrong and least[size] > HOPELESS * row.bound * size / 100_000:
                    return wrong
            wrong = _complaint(row, least)
            if wrong is None:
                break
        if wrong or least[sizes[-1]] >= ENOUGH:
            return wrong
    return wrong


def _complaint(row: Row, least: dict[int, float]) -> str | None:
    wrong = next(filter(None, (_too_long(row, size, least[size]) for size in least)), None)
    first, *_, last = least.values()
    if not wrong and first > MEASURABLE and last > MOST_GROWTH**2 * first:
        wrong = f"{last / first:.1f} times as long for four times as much"
    times = (f"{1000 * least[size]:.1f} ms at {size // 1000} KB" for size in least)
    return wrong and f"{wrong}: {', '.join(times)}"


def _too_long(row: Row, size: int, seconds: float) -> str | None:
    if seconds <= SHARED * row.bound * size / 100_000:
        return None
    return f"{1000 * seconds:.0f} ms at {size // 1000} KB, {1000 * row.bound:.0f} ms for 100 KB"


def seconds_of(row: Row, shape: str, size: int) -> float:
    """Return the processor time that one call takes, nothing being remembered of others."""
    given = _input(row.shapes[shape], size)
    if row.prepare is not None:
        given = row.prepare(given)
    _forget()
    gc.collect(0)
    gc.disable()
    try:
        start = time.process_time()
        row.run(given)
        return time.process_time() - start
    finally:
        gc.enable()


@functools.lru_cache(maxsize=12)  # the next row mostly has the same shape
def _input(make: Callable[[int], Any], size: int) -> Any:
    return make(size)


def _forget() -> None:
    """Empty what the package remembers by what it was given: the second time is no measure."""
    for cache in _caches():
        cache.cache_clear()


@functools.cache
def _caches() -> tuple[functools._lru_cache_wrapper, ...]:
    modules = [
        module for name, module in sys.modules.items() if name.startswith("scrapy_mandelbot")
    ]
    found = {id(value): value for module in modules for value in vars(module).values()}
    return tuple(
        value
        for value in found.values()
        if isinstance(value, functools._lru_cache_wrapper) and value.__name__ != "grammar_of"
    )
