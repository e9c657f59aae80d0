"""The rows of the table that docs/compare.rst shows: where the add-on differs.

Usage: python tests/beside_stock/shown.py

Writes the page's table, and its sentence that counts the rows, from the whole table.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

WHOLE = Path(__file__).parent / "table.csv"
SHOWN = Path(__file__).parents[2] / "docs" / "beside_stock.csv"
PAGE = SHOWN.with_name("compare.rst")
COUNTED = re.compile(r"In \d+ of\s\d+ situations")


def shown(rows: list[list[str]]) -> list[list[str]]:
    """Return the rows of the page, with the verdict first, below a header."""
    header = ["it is", "situation", "stock Scrapy", "with the add-on", "allowed, why"]
    return [header, *(_shown(row) for row in rows if row[4] != "same")]


def _shown(row: list[str]) -> list[str]:
    name, about, stock, ours, verdict, allowed = row
    return [verdict, f"{name}: {about}", stock, ours, allowed]


def read(file: Path) -> list[list[str]]:
    """Return the rows of a table, without its header."""
    with file.open(newline="") as opened:
        return list(csv.reader(opened))[1:]


def write(file: Path, rows: list[list[str]]) -> None:
    """Write a table."""
    with file.open("w", newline="") as opened:
        csv.writer(opened, lineterminator="\n").writerows(rows)


def write_page() -> None:
    """Write what the page shows of the whole table.

    Raises:
        ValueError: if the page has no sentence that counts the rows.
    """
    rows = read(WHOLE)
    write(SHOWN, shown(rows))
    text, found = COUNTED.subn(counted(rows), PAGE.read_text("utf-8"))
    if found != 1:
        raise ValueError(f"{PAGE.name} counts the situations {found} times")
    PAGE.write_text(text, "utf-8")


def counted(rows: list[list[str]]) -> str:
    """Return in how many situations the add-on does as stock Scrapy, as text."""
    same = sum(row[4] == "same" for row in rows)
    return f"In {same} of\n{len(rows)} situations"


if __name__ == "__main__":
    write_page()
