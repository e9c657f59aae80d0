"""The fuzz targets themselves, without a fuzzer: on their seeds, and on what breaks a
promise.
"""

from __future__ import annotations

import sys
from itertools import chain, product
from pathlib import Path

import pytest

from mandelbot import RobotsTxt

FUZZ = Path(__file__).parents[1] / "fuzz"


@pytest.fixture
def run(monkeypatch):
    """The runner, imported as it imports what it runs."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(FUZZ)])
    import run

    return run


def test_all_holds_for_the_seeds(run):
    """Every target takes each of its seeds, as it is and cut in half."""
    for name, (function, seeds, _) in run.targets().items():
        for seed in seeds:
            for data in (seed, seed[: len(seed) // 2]):
                kind, said = run.broken(function, data)
                assert kind in {"", "slow"}, f"{name} {data!r}: {kind} {said}"


def test_what_does_not_hold_is_told_small(run):
    """A broken promise is a finding with the smallest input that shows it."""

    def promise(data):
        assert b"x" not in data, "an x"

    kind, said = run.broken(promise, b"much before x and after")
    assert kind.startswith("AssertionError at test_fuzz_seeds.py")
    assert said.startswith("an x")
    assert run.smaller(promise, b"much before x and after", kind) == b"x"


def test_the_page_lists_all_targets(run):
    """Each target is in the table of the page, and no other."""
    page = (FUZZ / "README.rst").read_text()
    listed = {
        line.split("``")[1] for line in page.splitlines() if line.startswith("``")
    }
    assert listed == set(run.targets())


def test_another_reading_than_googles_is_noticed(run, monkeypatch):
    """Where the package decides as another dialect, the verdicts' target says so."""
    function, seeds, _ = run.targets()["google-verdicts"]
    parse = RobotsTxt.parse
    monkeypatch.setattr(
        RobotsTxt,
        "parse",
        lambda body, *, dialect, **limits: parse(body, dialect="rep1994"),
    )
    kinds = (
        run.broken(function, seed)[0]
        for seed in chain(seeds, map(bytes, product(range(9), repeat=3)))
    )
    # the first that is noticed is enough
    assert any(
        kind.startswith("AssertionError at verdicts_invariants.py") for kind in kinds
    )
