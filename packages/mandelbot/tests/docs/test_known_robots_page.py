"""docs/command.rst lists the robots whose choice of a group is documented."""

from __future__ import annotations

from pathlib import Path

from mandelbot.robotstxt.known_robots import FALLBACKS, IGNORE_STAR

PAGE = Path(__file__).parents[2] / "docs" / "command.rst"


def test_both_tables_are_those_of_the_code():
    """Each with its source and date."""
    lines = PAGE.read_text("utf-8")
    assert lines.count("\nrobot ") == 2
    before, after = lines.split("These robots obey only groups that name them")
    after = after.partition("A robot is known by")[0]
    listed = [
        tuple(cell.strip("`") for cell in line.split())
        for line in before.splitlines()
        if line.startswith("``") and "https://" in line
    ]
    assert listed == [tuple(one) for one in FALLBACKS]
    ignoring = [
        tuple(cell.strip("`") for cell in line.split())
        for line in after.splitlines()
        if line.startswith("``") and "https://" in line
    ]
    assert ignoring == [tuple(one) for one in IGNORE_STAR]
