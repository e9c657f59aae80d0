"""Numbers, tables and untrusted text, formatted for people.

Untrusted text comes from robots.txt, headers and pages, and its author chooses what it
contains: control characters that move the cursor, overrides that reverse the direction
of a line, a rule of half a megabyte, a password in a URL. It is printed escaped and
shortened.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

LONGEST = 200
"""Characters of one untrusted text in a log line."""

_LOOKED_AT = 4  # times the length that is shown
_CREDENTIALS = re.compile(r"(//)[^/?#\s]*@")


def printable(text: str) -> str:
    """Return the text with tabs as spaces and other unprintable characters escaped."""
    if text.isprintable():
        return text
    return "".join(map(_printable_sign, text.replace("\t", " ")))


def _printable_sign(sign: str) -> str:
    if sign.isprintable():
        return sign
    return sign.encode("unicode_escape").decode()


def shown(text: str, longest: int = LONGEST) -> str:
    """Return text for a log: printable, no credentials in URLs, at most `longest`.

    The cost does not grow with the length of the text.
    """
    start = text[: _LOOKED_AT * longest]  # credentials may be cut in two
    if "@" in start:
        start = without_credentials(start)
    start = printable(start)
    if len(start) <= longest:
        return start
    return f"{start[: longest - 1]}…"


def without_credentials(text: str) -> str:
    """Return the text without the user and password of the URLs in it."""
    return _CREDENTIALS.sub(r"\1", text)


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun: ``1 site``, ``1,240 requests``."""
    noun = one
    if number != 1:
        noun = many or f"{one}s"
    return f"{number:,} {noun}"


def number(value: float | None) -> str:
    """Return ``1,240.052``: at most three decimals; empty for None."""
    if value is None:
        return ""
    return f"{value:,.3f}".rstrip("0").rstrip(".")


def columns(
    rows: Sequence[Sequence[object]], right: frozenset[int] = frozenset()
) -> list[list[str]]:
    """Return the cells of a table as text, padded so that columns are aligned.

    The first row is the header. None is an empty cell; a column of empty cells is left
    out. Columns of numbers and those in `right` are aligned right; otherwise the last
    column is not padded.
    """
    used = [
        place
        for place in range(len(rows[0]))
        if any(row[place] is not None for row in rows[1:] or rows)
    ]
    aligned = []
    for place in used:
        cells = [_cell(row[place]) for row in rows]
        width = max(map(len, cells))
        if place in right or any(
            isinstance(row[place], (int, float)) for row in rows[1:]
        ):
            cells = [one.rjust(width) for one in cells]
        elif place != used[-1]:
            cells = [one.ljust(width) for one in cells]
        aligned.append(cells)
    return [list(row) for row in zip(*aligned, strict=True)]


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.1f}"
    if isinstance(value, int):
        return f"{value:,}"
    return printable(str(value))
