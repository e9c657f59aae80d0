"""What counts as noticed in ``benchmarks/mutants.py``, which breaks lines and runs
tests.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import mutants  # noqa: E402 -- not a package

pytestmark = pytest.mark.slow

MODULE = "scrapy_mandelbot/counting.py"
WHOLE = "def next_of(number):\n    return number + 1\n"
OTHER = WHOLE.replace("+ 1", "+ 2")
LOOP = "def next_of(number):\n    while True:\n        pass\n"
WAITS = "import time\n\ndef next_of(number):\n    time.sleep(600)\n"
DIES = "import os\n\ndef next_of(number):\n    os._exit(9)\n"
GROWS = "def next_of(number):\n    return bytes(8 * 2**30)\n"
NO_MODULE = "raise RuntimeError('not today')\n"
IMPORTS = "from scrapy_mandelbot.counting import next_of\n\n"
SEES_IT = IMPORTS + "def test_next():\n    assert next_of(1) == 2\n"
RUNS_IT = IMPORTS + "def test_next():\n    next_of(1)\n"
FAILS = "def test_fails():\n    assert False\n"
NO_FIXTURE = "def test_fails(nothing_has_this_name):\n    pass\n"
NEXT = "tests/test_next.py::test_next"
FAILING = "tests/test_fails.py::test_fails"


class Case(NamedTuple):
    """A line, the tests that run for it, and what it is to be called."""

    broken: str
    tests: dict[str, str]
    """Texts by node."""
    word: str
    why: str
    whole: str = WHOLE


ENDS = mutants.Bound(60.0, idle=60.0)
HANGS = mutants.Bound(1.0, idle=3.0)

CASES = {
    "a test fails": Case(OTHER, {NEXT: SEES_IT}, mutants.NOTICED, f"FAILED {NEXT}"),
    "no test fails": Case(OTHER, {NEXT: RUNS_IT}, mutants.UNNOTICED, ""),
    "no test runs it": Case(OTHER, {}, mutants.UNNOTICED, "no test runs it"),
    "no import": Case(NO_MODULE, {NEXT: RUNS_IT}, mutants.NOTICED, "ERROR tests"),
    "no import, whole or broken": Case(
        NO_MODULE, {NEXT: RUNS_IT}, mutants.UNJUDGED, "unbroken: ERROR tests", NO_MODULE
    ),
    "the process dies": Case(DIES, {NEXT: RUNS_IT}, mutants.NOTICED, ""),
    "the process dies, whole or broken": Case(
        DIES, {NEXT: RUNS_IT}, mutants.UNJUDGED, "unbroken: ", DIES
    ),
    "it takes all memory": Case(
        GROWS, {NEXT: RUNS_IT}, mutants.NOTICED, f"FAILED {NEXT} - MemoryError"
    ),
    "a loop": Case(LOOP, {NEXT: RUNS_IT}, mutants.NOTICED, "no end: 1 s"),
    "a loop, whole or broken": Case(
        LOOP, {NEXT: RUNS_IT}, mutants.UNJUDGED, "unbroken: no end", LOOP
    ),
    "it waits": Case(WAITS, {NEXT: RUNS_IT}, mutants.NOTICED, "no end: 1 s"),
    "a test fails anyway, no other": Case(
        OTHER, {FAILING: FAILS}, mutants.UNJUDGED, f"unbroken: FAILED {FAILING}"
    ),
    "a fixture is never there": Case(
        OTHER, {FAILING: NO_FIXTURE}, mutants.UNJUDGED, f"unbroken: ERROR {FAILING}"
    ),
    "a test fails anyway, another sees it": Case(
        OTHER,
        {FAILING: FAILS, NEXT: SEES_IT},
        mutants.NOTICED,
        f"FAILED {NEXT}",
    ),
    "a test fails anyway, another sees nothing": Case(
        OTHER, {FAILING: FAILS, NEXT: RUNS_IT}, mutants.UNJUDGED, "unbroken: FAILED"
    ),
    "its tests are gone": Case(
        OTHER, {NEXT: FAILS}, mutants.UNJUDGED, mutants.NONE_FOUND
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_counts_as_noticed(name, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # it begins at once
    monkeypatch.setenv("PYTEST_PLUGINS", "xdist.plugin")
    case = CASES[name]
    place = tmp_path / MODULE
    for folder in (place.parent, tmp_path / "tests", tmp_path / "benchmarks"):
        folder.mkdir()
    (tmp_path / "pytest.ini").touch()
    shutil.copy(BENCHMARKS / "nearest_tests.py", tmp_path / "benchmarks")
    place.write_text(case.whole)
    for node, text in case.tests.items():
        (tmp_path / node.partition("::")[0]).write_text(text)
    chosen = [mutants.Test(node, 0.1, {}) for node in case.tests]
    mutant = mutants.Mutant(MODULE, 2, "way", "before", "after", case.broken)
    bound = HANGS if "no end" in case.why else ENDS
    verdict = mutants.judged(mutant, chosen, tmp_path, bound)
    assert verdict.word == case.word, verdict
    assert verdict.why.startswith(case.why)
    assert place.read_text() == case.whole


def test_a_bound_is_a_multiple_of_what_was_recorded():
    tests = [mutants.Test("a", 10.0, {}), mutants.Test("b", 2.5, {})]
    assert mutants.Bound.of(tests) == (mutants.START + mutants.TIMES * 12.5, 120.0)


def test_lines_that_could_not_be_judged_fail_the_run(monkeypatch, capsys):
    mutant = mutants.Mutant(MODULE, 2, "way", "before", "after", OTHER)
    verdicts = [mutants.Verdict(mutants.NOTICED, "FAILED a test")] * 40
    words = []
    monkeypatch.setattr(mutants, "mutants", lambda _seed, number: [mutant] * number)
    monkeypatch.setattr(mutants, "copy_of", lambda folder: folder)
    monkeypatch.setattr(mutants, "nearest_tests_of", lambda _copy: [])
    monkeypatch.setattr(mutants, "looked_at", lambda *_, **__: words.pop())
    words += verdicts
    mutants.main("1", "40", "38")
    assert "40 of 40 noticed, 0 could not be judged" in capsys.readouterr().out
    for word, count in ((mutants.UNNOTICED, 3), (mutants.UNJUDGED, 1)):
        words += [mutants.Verdict(word, "")] * count + verdicts[count:]
        with pytest.raises(SystemExit):
            mutants.main("1", "40", "38")


def test_a_line_is_judged_by_the_tests_of_its_function_or_of_its_module():
    """A line outside of functions runs before any test does."""
    path = f"{mutants.PACKAGE}/throttle/health_check.py"
    lines = (mutants.ROOT / path).read_text("utf-8").splitlines()
    function = next(n for n, one in enumerate(lines, 1) if "def request(" in one)
    outside = next(n for n, one in enumerate(lines, 1) if one.startswith("_WAY |="))
    tests = [
        mutants.Test("tests/throttle/test_a.py::test_it", 2.0, {path: {function}}),
        mutants.Test("tests/crawls/test_b.py::test_it", 1.0, {path: {function + 30}}),
        mutants.Test("tests/throttle/test_c.py::test_it", 1.0, {"other.py": {9}}),
    ]

    def nearest(line):
        mutant = mutants.Mutant(path, line, "", "", "", "")
        return [one.node for one in mutants.nearest(mutant, tests)]

    assert nearest(function + 5) == ["tests/throttle/test_a.py::test_it"]
    assert nearest(outside) == [
        "tests/throttle/test_a.py::test_it",
        "tests/crawls/test_b.py::test_it",
    ]


def test_what_tests_run_is_recorded_anew_only_after_a_file_changed(
    tmp_path, monkeypatch
):
    copy = tmp_path / "copy"
    copy.mkdir()
    module = copy / "module.py"
    module.write_text(WHOLE)
    found = [mutants.Test(NEXT, 1.5, {MODULE: frozenset({1, 7})})]
    times = []

    def record(_copy):
        times.append(len(times))
        return found

    monkeypatch.setattr(mutants, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(mutants, "recorded", record)
    for _ in range(2):
        assert mutants.nearest_tests_of(copy) == found
    assert len(times) == 1
    module.write_text(OTHER)
    assert mutants.nearest_tests_of(copy) == found
    assert len(times) == 2
    assert len(list((tmp_path / "kept").iterdir())) == 1


COUNTING = """from functools import cache

class Counter:
    def __init__(self):
        \"\"\"Begin with none.\"\"\"
        self.number = 0

    @property
    def next_one(self):
        return self.number + 1

@cache
def next_of(number):
    return [one + 1 for one in (number,)][0]

async def waits():
    return next_of(1)

def nobody_calls_it():
    return next_of(1)
"""
"""Functions begin at lines 4, 8, 12, 16 and 19."""


def test_functions_that_a_test_runs_are_recorded(tmp_path, monkeypatch):
    """Also those of a module that the first conftest.py imports."""
    monkeypatch.setattr(mutants, "NEAREST", {"throttle": (["throttle"], ())})
    monkeypatch.setattr(mutants, "FOLDERS", ["throttle"])
    (tmp_path / "pytest.ini").touch()
    package = tmp_path / "scrapy_mandelbot/throttle"
    tests = tmp_path / "tests/throttle"
    for folder in (package, tests, tmp_path / "tests/crawls", tmp_path / "benchmarks"):
        folder.mkdir(parents=True)
    shutil.copy(BENCHMARKS / "nearest_tests.py", tmp_path / "benchmarks")
    (package.parent / "__init__.py").touch()
    (package / "__init__.py").touch()
    (package / "counting.py").write_text(COUNTING)
    imports = "from scrapy_mandelbot.throttle import counting\n"
    (tmp_path / "tests/conftest.py").write_text(imports)
    (tests / "test_next.py").write_text(
        f"{imports}import asyncio\n\n"
        "def test_counter():\n    assert counting.Counter().next_one == 1\n\n"
        "def test_waits():\n    assert asyncio.run(counting.waits()) == 2\n\n"
        "def test_fails():\n    assert counting.nobody_calls_it() == 1\n"
    )
    found = {one.node.partition("::")[2]: one.ran for one in mutants.recorded(tmp_path)}
    path = "scrapy_mandelbot/throttle/counting.py"
    assert found == {
        "test_counter": {path: frozenset({4, 8})},
        "test_waits": {path: frozenset({12, 16})},
    }
    lines = [mutants.function_of(package / "counting.py", one) for one in (6, 9, 14, 2)]
    assert lines == [4, 8, 12, 0]
