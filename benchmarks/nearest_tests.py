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

import ast
import json
import os
import resource
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

BEGINS: list[str] = []
"""How the paths of modules begin whose functions are noted."""
RAN: set[tuple[str, int]] = set()
"""Paths and first lines of the functions that the test has run so far."""


def first_line(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the line at which a function, or the first of its decorators, begins."""
    return min(one.lineno for one in (function, *function.decorator_list))


class Noting(ast.NodeTransformer):
    """Lets each function of a module begin with a note that it runs.

    So nothing else of a crawl takes longer, and a loop that runs in a greenlet or a
    thread is seen.
    """

    def __init__(self, path: str) -> None:
        self._path = path

    def visit_FunctionDef(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef
    ) -> ast.AST:
        """Put the note behind the docstring."""
        self.generic_visit(node)
        ran = (self._path, first_line(node))
        note = ast.parse(f"__import__('nearest_tests').RAN.add({ran!r})").body[0]
        for part in ast.walk(note):
            ast.copy_location(part, node.body[0])
        has_docstring = ast.get_docstring(node, clean=False) is not None
        node.body.insert(int(has_docstring), note)
        return node

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815 -- the name ast calls


class Loader(SourceFileLoader):
    """Loads a module whose functions note that they run; never what is compiled."""

    def source_to_code(self, data: Any, path: Any, **_options: Any) -> CodeType:
        """Compile what `Noting` makes of the source."""
        tree = Noting(str(path)).visit(ast.parse(data))
        return compile(tree, path, "exec", dont_inherit=True)

    def path_stats(self, path: Any) -> Mapping[str, Any]:
        """Say that nothing is known of the file: then nothing is read from its cache,
        nor written.
        """
        raise OSError(f"{path} is loaded without a cache")


class Finder(PathFinder):
    """Finds modules whose paths begin as `BEGINS` says, for a `Loader`."""

    @classmethod
    def find_spec(cls, *names: Any) -> ModuleSpec | None:
        """Leave other modules to the finders that follow."""
        spec = super().find_spec(*names)
        if spec is None or not str(spec.origin).startswith(tuple(BEGINS)):
            return None
        spec.loader = Loader(spec.name, str(spec.origin))
        return spec


class Recorder:
    """Notes for each test which functions it ran."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._passed = True
        self._began = 0.0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        """Begin with none."""
        RAN.clear()
        self._passed = True
        self._began = time.process_time()
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the test after its last phase, if it passed."""
        if hasattr(report, "node"):  # of another process, which notes it
            return
        self._passed = self._passed and report.passed
        if report.when != "teardown" or not self._passed or not RAN:
            return
        seconds = time.process_time() - self._began
        ran: dict[str, list[int]] = {}
        for path, line in RAN:
            ran.setdefault(path, []).append(line)
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


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """Find modules from now on: the first conftest.py imports some."""
    begins = os.environ.get("FUNCTIONS_OF")
    if begins:
        BEGINS.extend(json.loads(Path(begins).read_text("utf-8")))
        sys.meta_path.insert(0, Finder)


def pytest_configure(config: pytest.Config) -> None:
    """Do what the environment asks for."""
    most = os.environ.get("MOST_MEMORY")
    if most:
        resource.setrlimit(resource.RLIMIT_DATA, (int(most), int(most)))
    place = os.environ.get("FUNCTIONS_RUN")
    if place:
        config.pluginmanager.register(Recorder(place))
    chosen = os.environ.get("TESTS_WANTED")
    if chosen:
        nodes = json.loads(Path(chosen).read_text("utf-8"))
        config.pluginmanager.register(Chosen(nodes))
