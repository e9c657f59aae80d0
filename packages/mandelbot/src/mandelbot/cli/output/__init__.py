"""What the command prints: parsed files as plain data, and as text for a terminal.

Pure, but for :class:`Terminal`: no Scrapy, no network, no file, no clock. The data are
what ``--format json`` prints, and ``docs/command.rst`` describes them: what is there
keeps its name and meaning.

Text is as wide as a terminal, in colours or without. What comes from the web is made
printable first: a control character in a robots.txt could do anything to a terminal.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import TextIO

from mandelbot.formatting import columns, printable, shown


def is_url(source: str) -> bool:
    """Return whether what names a robots.txt is a URL: anything else is a file."""
    return source.lower().startswith(("http://", "https://"))


WIDTH = 80
"""Columns, where nothing says how many there are."""

_COLOURS = {
    "error": "31;1",
    "warning": "33",
    "note": "36",
    "good": "32",
    "strong": "1",
    "dim": "2",
}
_COLOURS |= {
    "allowed": "32",
    "forbidden": "31;1",
    "disallowed": "31;1",
    "unknown": "33",
}


class TerminalStyle:
    """Colours, or none, and the columns there are."""

    def __init__(self, *, colours: bool, width: int = WIDTH) -> None:
        self._colours = colours
        self.width = width

    def __call__(self, kind: str, text: str) -> str:
        """Return the text in the colour for its kind."""
        if self._colours and text:
            return f"\x1b[{_COLOURS[kind]}m{text}\x1b[0m"
        return text

    def wrapped(self, text: str, indent: int = 0, first: str | None = None) -> str:
        """Return a text in lines that fit; what has no space in it is not broken."""
        return textwrap.fill(
            printable(text),
            self.width,
            initial_indent=" " * indent if first is None else first,
            subsequent_indent=" " * indent,
            break_long_words=False,
            break_on_hyphens=False,
        )

    def table(
        self,
        rows: Sequence[Sequence[str]],
        right: frozenset[int] = frozenset(),
        kinds: Mapping[int, str] | None = None,
    ) -> list[str]:
        """Return rows as lines, the first as their head.

        `kinds`: of the cells of a column; empty: each cell is the name of its kind.
        """
        top, *aligned = columns(rows, right)
        lines = [self("dim", "  ".join(top))]
        for row, cells in zip(rows[1:], aligned, strict=True):
            for place, kind in (kinds or {}).items():
                if row[place]:
                    painted = self(kind or row[place], row[place])
                    cells[place] = cells[place].replace(row[place], painted, 1)
            lines.append("  ".join(cells))
        return lines


def cut(text: str, width: int) -> str:
    """Return a text that fits, shown."""
    text = printable(text)
    if len(text) <= width:
        return text
    return f"{text[: width - 1]}…"


def joined(lines: Iterable[str]) -> str:
    """Return lines as a text, without white space at their ends."""
    return "".join(f"{line.rstrip()}\n" for line in lines)


_CLEAR_LINE = "\r\x1b[K"
_LONGEST = 400  # characters of a message
# columns of text on a screen
_NARROWEST = 40
_WIDEST = 100
_DIGITS = 4  # of COLUMNS


class UnavailableError(Exception):
    """Ends a verb: what it needs is not available; the message is the line to print."""


def width_of(
    out: TextIO | None, environ: Mapping[str, str], widest: int = _WIDEST
) -> int:
    """Return the columns that COLUMNS or the terminal has, within what can be read.

    Args:
        out: the stream of the terminal; None, or no terminal: 80 columns.
        environ: the environment.
        widest: columns that are used at most, unless COLUMNS asks for more.
    """
    wanted = environ.get("COLUMNS", "")
    if wanted.isdecimal() and wanted.isascii() and int(wanted[:_DIGITS]):
        return max(_NARROWEST, int(wanted[:_DIGITS]))
    if out is None:
        return WIDTH
    try:
        return min(max(_NARROWEST, os.get_terminal_size(out.fileno()).columns), widest)
    except (OSError, ValueError):  # no terminal
        return WIDTH


class RewrittenLine:
    """A line of a terminal in which each text replaces the one before."""

    def __init__(self, out: TextIO, environ: Mapping[str, str]) -> None:
        self._out = out
        self._environ = environ
        self._is_terminal = out.isatty() and environ.get("TERM") != "dumb"
        self._has_text = False

    @property
    def width(self) -> int:
        """The characters of a text; one more would begin a new line."""
        return width_of(self._out, self._environ) - 1

    def show(self, text: str) -> None:
        """Show a text, if a person may be watching."""
        if self._is_terminal:
            _write(self._out, f"{_CLEAR_LINE}{shown(text, self.width)}")
            self._has_text = True

    def clear(self) -> None:
        """Remove the text."""
        if self._has_text:
            _write(self._out, _CLEAR_LINE)
            self._has_text = False


class Terminal:
    """Standard output and standard error."""

    def __init__(
        self,
        out: TextIO,
        err: TextIO,
        environ: Mapping[str, str] | None = None,
        program: str = "mandelbot",
    ) -> None:
        environ = os.environ if environ is None else environ
        self._out = out
        self._err = err
        self._program = program
        self.is_screen = out.isatty()
        colours = self.is_screen and environ.get("TERM") != "dumb"
        if environ.get("FORCE_COLOR", "0") not in {"", "0"}:  # force-color.org
            colours = True
        if environ.get("NO_COLOR"):  # no-color.org
            colours = False
        self.paint = TerminalStyle(colours=colours, width=width_of(out, environ))
        self._line = RewrittenLine(err, environ)

    def write(self, text: str, *, is_file: bool = False) -> None:
        """Write a report.

        In a pipe a file is UTF-8, whatever the locale: robots read it.
        """
        self._line.clear()
        if self.is_screen or not is_file:
            octets = None
        else:
            octets = getattr(self._out, "buffer", None)
        if octets is not None:
            self._out.flush()
            octets.write(text.encode())
            octets.flush()
        else:
            _write(self._out, text)

    def message(self, message: str) -> None:
        """Write a line to standard error."""
        self._line.clear()
        _write(self._err, f"{self._program}: {shown(message, _LONGEST)}\n")

    def progress(self, doing: str) -> None:
        """Show progress in one line, if a person may be watching."""
        self._line.show(doing)


def _write(stream: TextIO, text: str) -> None:
    """A terminal or pipe that is not UTF-8 gets escapes for what it cannot show."""
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()
