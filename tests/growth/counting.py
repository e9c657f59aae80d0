"""What a reader costs, counted: bytecodes, turns of the loop, and memory.

The figures are the same on any machine, with any other work on it. What is written in C
(`json`, `zlib`) is not counted as bytecodes; what it makes is, as memory, and its time
is measured by the rows of `test_growth.py`.
"""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from growth.measuring import forget

if TYPE_CHECKING:
    from collections.abc import Callable


class Cost(NamedTuple):
    """What reading one input took."""

    bytecodes: int
    turns: int
    longest: int
    """Bytecodes of the longest turn."""
    memory: int
    """Bytes at the peak, without the input."""
    functions: frozenset[tuple[str, str]]
    """File and name of each function that ran."""


class _Counter:
    """Counts the bytecodes of all functions while it is on."""

    def __init__(self) -> None:
        self.bytecodes = 0
        self.functions: set[tuple[str, str]] = set()

    def __call__(self, frame, event, _argument):
        if event == "call":
            self.functions.add((frame.f_code.co_filename, frame.f_code.co_name))
            frame.f_trace_opcodes = True
            frame.f_trace_lines = False
        elif event == "opcode":
            self.bytecodes += 1
        return self


def cost_of(read: Callable[[bytes], object], given: bytes) -> Cost:
    """Count what reading an input takes; a reader in turns returns an iterator."""
    counter = _Counter()
    turns = []
    forget()
    before = sys.gettrace()
    gc.disable()
    sys.settrace(counter)
    try:
        steps = read(given)
        turns.append(counter.bytecodes)
        if isinstance(steps, Iterator):
            turns.extend(counter.bytecodes for _ in steps)
    finally:
        sys.settrace(before)
        gc.enable()
    longest = max(b - a for a, b in zip([0, *turns], turns, strict=False))
    memory = _memory_of(read, given)
    functions = frozenset(counter.functions)
    return Cost(counter.bytecodes, len(turns), longest, memory, functions)


def _memory_of(read: Callable[[bytes], object], given: bytes) -> int:
    forget()
    # what is garbage stays, each time: not where a collection happens to come
    gc.disable()
    tracemalloc.start()
    try:
        steps = read(given)
        if isinstance(steps, Iterator):
            for _ in steps:
                pass
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        gc.enable()
