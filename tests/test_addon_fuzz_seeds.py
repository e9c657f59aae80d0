"""The add-on's fuzz targets, without a fuzzer: on their seeds."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

FUZZ = Path(__file__).parents[1] / "fuzz"
TARGETS = runpy.run_path(str(FUZZ / "addon_invariants.py"))["TARGETS"]


@pytest.mark.parametrize("name", TARGETS)
def test_all_holds_for_the_seeds(name):
    """A target takes each of its seeds, as it is and cut in half."""
    promise, seeds, _ = TARGETS[name]
    for seed in seeds:
        promise(seed)
        promise(seed[: len(seed) // 2])
