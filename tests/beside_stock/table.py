"""The table of the cells: its rows, and their file."""

from __future__ import annotations

import shown
from cell import Cell, Measured, verdict

HEADER = [
    "situation",
    "what happens",
    "stock Scrapy",
    "with the add-on",
    "the add-on is",
    "allowed, and why",
]


def row_of(cell: Cell, stock: Measured, ours: Measured) -> list[str]:
    """Return the row of a cell that was measured."""
    what = "worse" if cell.worse else verdict(stock, ours)
    return [cell.name, cell.about, stock.told(), ours.told(), what, reason(cell)]


def reason(cell: Cell) -> str:
    """Return what the add-on may do more in a cell, and why."""
    if cell.worse:
        return cell.worse
    more = [f"{cell.waits:g} s more"] if cell.waits else []
    more += [f"{cell.requests} requests more"] if cell.requests else []
    return f"{', '.join(more)}: {cell.why}" if more else ""


def write(rows: list[list[str]]) -> None:
    """Write the file, and what docs/compare.rst shows of it."""
    shown.write(shown.WHOLE, [HEADER, *rows])
    shown.write_page()


def read() -> list[list[str]]:
    """Return the rows of the file."""
    return shown.read(shown.WHOLE)
