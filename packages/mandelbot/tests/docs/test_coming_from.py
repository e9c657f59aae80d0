"""docs/coming_from.rst lists what the drop-in for Protego reads otherwise."""

from __future__ import annotations

import csv
from pathlib import Path

from test_protego import DIFFERENT

PAGE = Path(__file__).parents[2] / "docs" / "coming_from.rst"


def test_each_difference_that_is_tested_has_its_row():
    """And the table has a row for each."""
    table = (
        PAGE.read_text("utf-8")
        .partition("\nProtego\n")[2]
        .partition(":delim: ;\n\n")[2]
    )
    lines = [line.strip() for line in table.partition("\n\n")[0].splitlines()]
    rows = [
        cells[0] for cells in csv.reader(lines, delimiter=";", skipinitialspace=True)
    ]
    plain = [row.replace("``", "") for row in rows]
    missing = [name for name in DIFFERENT if not any(name in row for row in plain)]
    assert missing == []
    decided = [
        row for row in plain if not row.startswith(("Visit-time", "Request-rate"))
    ]
    untested = [row for row in decided if not any(name in row for name in DIFFERENT)]
    assert untested == []
