"""Standard output and standard error of a verb."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TextIO

from scrapy_mandelbot.commands.output.terminal_text import WIDTH, TerminalStyle
from scrapy_mandelbot.robots.formatting import shown

_CLEAR_LINE = "\r\x1b[K"
_LONGEST = 400  # characters of a message
_NARROWEST, _WIDEST = 40, 100  # columns of text on a screen
_DIGITS = 4  # of COLUMNS
_WIDTH = 78  # of the line of progress


class UnavailableError(Exception):
    """Ends a verb: what it needs is not available; the message is the line to print."""


def _columns(out: TextIO, environ: Mapping[str, str]) -> int:
    """Return the columns that COLUMNS or the terminal has, within what can be read."""
    wanted = environ.get("COLUMNS", "")
    if wanted.isdecimal() and wanted.isascii() and int(wanted[:_DIGITS]):
        return max(_NARROWEST, int(wanted[:_DIGITS]))
    try:
        return min(max(_NARROWEST, os.get_terminal_size(out.fileno()).columns), _WIDEST)
    except (OSError, ValueError):  # no terminal
        return WIDTH


class Terminal:
    """Standard output and standard error."""

    def __init__(self, out: TextIO, err: TextIO, environ: Mapping[str, str] | None = None) -> None:
        environ = os.environ if environ is None else environ
        self._out, self._err = out, err
        self.is_screen = out.isatty()
        colours = self.is_screen and environ.get("TERM") != "dumb"
        if environ.get("FORCE_COLOR", "0") not in {"", "0"}:  # force-color.org
            colours = True
        if environ.get("NO_COLOR"):  # no-color.org
            colours = False
        self.paint = TerminalStyle(colours=colours, width=_columns(out, environ))
        self._shows_progress = err.isatty() and environ.get("TERM") != "dumb"
        self._has_progress = False

    def write(self, text: str, *, is_file: bool = False) -> None:
        """Write a report. In a pipe a file is UTF-8, whatever the locale: robots read it."""
        self._clear()
        octets = None if self.is_screen or not is_file else getattr(self._out, "buffer", None)
        if octets is not None:
            self._out.flush()
            octets.write(text.encode())
            octets.flush()
            return
        # A terminal or pipe that is not UTF-8 gets escapes for what it cannot show.
        encoding = self._out.encoding or "utf-8"
        self._out.write(text.encode(encoding, "backslashreplace").decode(encoding))
        self._out.flush()

    def message(self, message: str) -> None:
        """Write a line to standard error."""
        self._clear()
        encoding = self._err.encoding or "utf-8"
        line = f"scrapy robots: {shown(message, _LONGEST)}\n"
        self._err.write(line.encode(encoding, "backslashreplace").decode(encoding))
        self._err.flush()

    def progress(self, doing: str) -> None:
        """Show progress in one line, if a person may be watching."""
        if self._shows_progress:
            self._err.write(f"{_CLEAR_LINE}{shown(doing, _WIDTH)}")
            self._err.flush()
            self._has_progress = True

    def _clear(self) -> None:
        if self._has_progress:
            self._err.write(_CLEAR_LINE)
            self._err.flush()
            self._has_progress = False
