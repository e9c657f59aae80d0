"""Tables and numbers as text, for terminals and logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def columns(rows: Sequence[Sequence[object]]) -> list[str]:
    """Return rows as lines, in columns; numbers stand to the right.

    Args:
        rows: the first is the header. None is an empty cell; a column of such is left out.
    """
    kept = [
        number for number in range(len(rows[0])) if any(row[number] is not None for row in rows[1:])
    ]
    cells = [[_cell(row[number]) for number in kept] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    to_right = [any(isinstance(row[number], (int, float)) for row in rows[1:]) for number in kept]
    return [
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, to_right, strict=True)
        ).rstrip()
        for row in cells
    ]


def counted(count: int, what: str) -> str:
    """Return a number with its noun: ``1 site``, ``1,240 requests``."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _cell(cell: object) -> str:
    if cell is None:
        return ""
    if isinstance(cell, float):
        return f"{cell:,.1f}"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)
