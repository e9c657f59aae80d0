"""Reports as rows: for spreadsheets, and for programs that read line by line.

What comes from the web is made printable, and no cell begins as a formula does: a spreadsheet
would run it (OWASP, "CSV Injection").
"""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.shown import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_FORMULAS = ("=", "+", "-", "@")


def csv_text(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return rows as RFC 4180 has them, but for line ends: LF alone. None is an empty cell."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(head)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return out.getvalue()


def _cell(value: object) -> str:
    if value is None:
        return ""
    text = printable(str(value))
    return f"'{text}" if text.startswith(_FORMULAS) else text


def json_lines(objects: Iterable[dict[str, Any]]) -> str:
    """Return objects, one a line."""
    return "".join(f"{json.dumps(one)}\n" for one in objects)
