"""conformance/linters.py: what this library finds is what its page says."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "conformance"
PAGE = (FOLDER / "README.rst").read_text("utf-8")
LINTERS = runpy.run_path(str(FOLDER / "linters.py"))
NOTES = {"an unknown field", "a star in a name"}
"""Faults that ``check`` reports as notes."""


def test_each_fault_but_two_is_found():
    faults = LINTERS["FAULTS"]
    reports = LINTERS["of_mandelbot"]([one.body for one in faults.values()])
    missed = {
        name
        for (name, fault), found in zip(faults.items(), reports, strict=True)
        if not LINTERS["finds"](fault, found)
    }
    assert missed == NOTES
    row = re.search(r"^mandelbot 0\.1\.0 +(\d+) +(\d+)$", PAGE, re.MULTILINE)
    assert row.groups() == (str(len(faults) - len(missed)), "0")
    assert f"Faults found of {len(faults)} files" in PAGE


def test_no_sound_file_is_reported():
    sound = LINTERS["SOUND"]
    reports = LINTERS["of_mandelbot"]([*sound.values()])
    assert [name for name, found in zip(sound, reports, strict=True) if found] == []
    assert f"for {len(sound)} sound files" in PAGE
