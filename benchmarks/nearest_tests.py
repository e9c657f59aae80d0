"""A plugin of pytest: which functions each test runs, and a run of given tests.

``mutants.py`` loads it with ``-p nearest_tests``. The environment names files of JSON,
and a number:

``FUNCTIONS_OF``: how the paths of modules begin. ``FUNCTIONS_RUN`` plus the process's
    number gets a row for each test that passed: its node, its seconds of the processor,
    and the first lines of the functions of these modules that it ran, by path.
``TESTS_WANTED``: nodes of tests. No others run, and these in this order.
``MOST_MEMORY``, a number: bytes that each process may have.

Functions of other processes are not seen.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Generator, Sequence
from pathlib import Path
from types import CodeType, FrameType

import pytest


class Recorder:
    """Notes for each test which functions it ran.

    It traces all the time, and not by test: the loop of a crawl runs in a greenlet that
    was made before. Which lines ran would take ten times as long to know.
    """

    def __init__(self, begins: Sequence[str], place: str) -> None:
        self._begins = tuple(begins)
        self._is_wanted: dict[CodeType, bool] = {}
        self._place = place
        self._ran: set[CodeType] = set()
        self._passed = True
        self._began = 0.0
        sys.settrace(self._called)

    def _called(self, frame: FrameType, _event: str, _value: object) -> None:
        code = frame.f_code
        if code not in self._is_wanted:
            self._is_wanted[code] = code.co_filename.startswith(self._begins)
        if self._is_wanted[code]:
            self._ran.add(code)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        """Begin with none; a test may have taken the trace for itself."""
        self._ran.clear()
        self._passed = True
        sys.settrace(self._called)
        self._began = time.process_time()
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the test after its last phase, if it passed."""
        if hasattr(report, "node"):  # of another process, which notes it
            return
        self._passed = self._passed and report.passed
        if report.when != "teardown" or not self._passed or not self._ran:
            return
        seconds = time.process_time() - self._began
        ran: dict[str, list[int]] = {}
        for code in self._ran:
            ran.setdefault(code.co_filename, []).append(code.co_firstlineno)
        row = json.dumps([report.nodeid, round(seconds, 3), ran])
        with Path(f"{self._place}{os.getpid()}").open("a", encoding="utf-8") as file:
            file.write(row + "\n")


class Chosen:
    """Runs the tests that are wanted, in their order."""

    def __init__(self, nodes: Sequence[str]) -> None:
        self._order = {node: number for number, node in enumerate(nodes)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Deselect the others."""
        others = [one for one in items if one.nodeid not in self._order]
        config.hook.pytest_deselected(items=others)
        items[:] = [one for one in items if one.nodeid in self._order]
        items.sort(key=lambda one: self._order[one.nodeid])


def pytest_configure(config: pytest.Config) -> None:
    """Do what the environment asks for."""
    most = os.environ.get("MOST_MEMORY")
    if most:
        resource.setrlimit(resource.RLIMIT_DATA, (int(most), int(most)))
    begins = os.environ.get("FUNCTIONS_OF")
    if begins:
        names = json.loads(Path(begins).read_text("utf-8"))
        config.pluginmanager.register(Recorder(names, os.environ["FUNCTIONS_RUN"]))
    chosen = os.environ.get("TESTS_WANTED")
    if chosen:
        nodes = json.loads(Path(chosen).read_text("utf-8"))
        config.pluginmanager.register(Chosen(nodes))
