"""In which order the tests run where several processes share them.

The slowest modules begin first: what is left for the end, when a process that has
nothing left takes tests of another, is quick. How long a module takes was recorded with
``--record-seconds`` in ``tests/seconds.tsv``; modules that it does not name come first.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from xdist.scheduler import WorkStealingScheduling

if TYPE_CHECKING:
    import pytest

RECORD = "tests/seconds.tsv"
"""Seconds by module, from the folder in which pytest runs."""


def module_of(node_id: str) -> str:
    return node_id.partition("::")[0]


def recorded(root: Path) -> dict[str, float]:
    """Return the seconds by module; none where nothing was recorded."""
    try:
        lines = (root / RECORD).read_text("utf-8").splitlines()
    except FileNotFoundError:
        return {}
    rows = (line.split("\t") for line in lines)
    return {module: float(seconds) for module, seconds in rows}


def dealt(tests: list[str], seconds: dict[str, float], hands: int) -> list[list[int]]:
    """Return for each process the positions of its tests, in their order.

    Modules are dealt to so many processes, the slowest first, each to the process that
    has the fewest seconds so far. So no test that is left for the end takes longer than
    one of the quickest modules.
    """
    modules: dict[str, list[int]] = {}
    for position, node_id in enumerate(tests):
        modules.setdefault(module_of(node_id), []).append(position)

    loads = [0.0] * hands
    piles: list[list[int]] = [[] for _ in range(hands)]
    for module in sorted(modules, key=lambda one: -seconds.get(one, inf)):
        hand = loads.index(min(loads))
        loads[hand] += seconds.get(module, 0.0)
        piles[hand] += modules[module]
    return piles


class SlowFirst(WorkStealingScheduling):
    """Gives out the tests of slow modules first."""

    is_dealt = False

    def check_schedule(self) -> None:
        if self.collection and not self.is_dealt:
            self.is_dealt = True
            seconds = recorded(self.config.rootpath)
            piles = dealt(self.collection, seconds, self.numnodes)
            self.pending[:] = chain.from_iterable(piles)
            for node, pile in zip(self.nodes, piles, strict=False):
                self._send_tests(node, len(pile))
        super().check_schedule()


class Recording:
    """Writes how long each module takes; of those that did not run, what it was."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.seconds: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[module_of(report.nodeid)] += report.duration

    def pytest_sessionfinish(self) -> None:
        rows = [
            f"{module}\t{taken:.1f}\n"
            for module, taken in sorted({**recorded(self.root), **self.seconds}.items())
            if (self.root / module).exists()
        ]
        (self.root / RECORD).write_text("".join(rows), "utf-8")
