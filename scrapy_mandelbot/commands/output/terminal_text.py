"""Text for a terminal: as wide as that is, in colours or without, and harmless.

What comes from the web is made printable first: a control character in a robots.txt could do
anything to a terminal.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence

from scrapy_mandelbot.robots.formatting import columns, printable


def is_url(source: str) -> bool:
    """Return whether what names a robots.txt is a URL: anything else is a file."""
    return source.lower().startswith(("http://", "https://"))


WIDTH = 80
"""Columns, where nothing says how many there are."""

_COLOURS = {"error": "31;1", "warning": "33", "note": "36", "good": "32", "strong": "1", "dim": "2"}


class TerminalStyle:
    """Colours, or none, and the columns there are."""

    def __init__(self, *, colours: bool, width: int = WIDTH) -> None:
        self._colours = colours
        self.width = width

    def __call__(self, kind: str, text: str) -> str:
        """Return the text in the colour for its kind."""
        return f"\x1b[{_COLOURS[kind]}m{text}\x1b[0m" if self._colours and text else text


PLAIN = TerminalStyle(colours=False)


def cut(text: str, width: int) -> str:
    """Return a text that fits, shown."""
    text = printable(text)
    return text if len(text) <= width else f"{text[: width - 1]}…"


def wrapped(text: str, indent: int = 0, first: str | None = None, *, width: int = WIDTH) -> str:
    """Return a text in lines of at most so many columns; what has no space in it is not broken."""
    return textwrap.fill(
        printable(text),
        width,
        initial_indent=" " * indent if first is None else first,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def table_lines(
    rows: Sequence[Sequence[str]],
    paint: TerminalStyle,
    right: frozenset[int] = frozenset(),
    colours: Mapping[int, Mapping[str, str]] | None = None,
) -> list[str]:
    """Return rows as lines, the first as their head; `colours`: of the words of a column."""
    top, *aligned = columns(rows, right)
    lines = [paint("dim", "  ".join(top))]
    for row, cells in zip(rows[1:], aligned, strict=True):
        for place, kinds in (colours or {}).items():
            word = row[place]
            if word in kinds:
                cells[place] = cells[place].replace(word, paint(kinds[word], word), 1)
        lines.append("  ".join(cells))
    return lines


def joined(lines: Iterable[str]) -> str:
    """Return lines as a text, without white space at their ends."""
    return "".join(f"{line.rstrip()}\n" for line in lines)
