"""Writes into the pages the figures and tables that commands have printed.

Usage: python benchmarks/quotes.py [--check]

``--check`` writes nothing, and exits with 1 if a page has another figure.

What commands print is kept in ``RESULTS.rst`` and in tables of ``docs/``; the commands
that write those call `write_pages`. A figure that is not found on its page, or that no
command has printed, is an error: a page never keeps an old one.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
ROOT = HERE.parent
RESULTS = HERE / "RESULTS.rst"


class Quote(NamedTuple):
    """A figure that a page quotes."""

    page: str
    before: str
    """The words before the figure, as a pattern."""
    shape: str
    """What a figure looks like, as a pattern."""
    figure: Callable[[str], str]
    """Returns the figure, from the text of the results."""


class Copy(NamedTuple):
    """A table that a page shows as a command prints it."""

    page: str
    command: str
    heading: str
    """How its heading begins."""


def of_line(row: str, column: int, results: str) -> str:
    """Return a figure of a line of the results, as a whole number of times.

    Columns are counted from the right: the last one is 1.
    """
    line = re.search(f"(?m)^ *{re.escape(row)}.*", results)
    if line is None:
        raise ValueError(f"{RESULTS.name} has no line {row!r}")
    return str(round(float(line[0].split()[-column].replace(",", ""))))


def of_text(pattern: str, results: str) -> str:
    """Return what the group of a pattern matches in the results, on one line."""
    found = re.search(pattern, " ".join(results.split()))
    if found is None:
        raise ValueError(f"{RESULTS.name} has no line {pattern!r}")
    return found[1]


def of_table(file: str, row: str, column: str, pattern: str, _results: str) -> str:
    """Return what the group of a pattern matches in a cell of a table of ``docs/``."""
    with (ROOT / "docs" / file).open(newline="", encoding="utf-8") as opened:
        heading, *rows = csv.reader(opened)
    for cells in rows:
        if cells[0] == row:
            found = re.search(pattern, cells[heading.index(column)])
            if found:
                return found[1]
    raise ValueError(f"{file} has no {pattern!r} in {row!r}, {column!r}")


_COMPARE = "docs/compare.rst"
_MEASURED = "docs/measured.rst"
_LIBRARY = "packages/mandelbot/README.rst"
_JOBS = "docs/jobs.rst"
_OUTAGE = "a 503 for five seconds library"
_HUNDRED = "decision, 100 rules"
_TIMES = r"\d+(?= times)"
_RANGE = r"\d+ to \d+"
_KILLED = r"(\d+) of \d+"
_WAIT = r"; ([\d.]+)$"
_killed = partial(partial, of_table, "rivals.csv")
_bears = partial(partial, of_table, "bearable.csv")
QUOTES = (
    Quote(_COMPARE, "With 100 rules it takes ", _TIMES, partial(of_line, _HUNDRED, 2)),
    Quote(
        _COMPARE,
        r"with 1,300 literal rules\s",
        _TIMES,
        partial(of_line, "decision, 1,300 rules", 2),
    ),
    Quote(_LIBRARY, "Protego takes ", _TIMES, partial(of_line, _HUNDRED, 2)),
    Quote(_LIBRARY, "``urllib`` ", _TIMES, partial(of_line, _HUNDRED, 1)),
    Quote(
        _COMPARE,
        r"50 items\sboth times, with ",
        _RANGE,
        partial(of_text, r"50 and 50 items, (\d+ to \d+) refusals"),
    ),
    Quote(
        _COMPARE,
        r"stock Scrapy it got ",
        _RANGE,
        partial(of_text, r"stock Scrapy 50 and (\d+ to \d+),"),
    ),
    Quote(
        _COMPARE,
        r"failing\ssite, with ",
        _RANGE,
        partial(of_text, r"stock Scrapy 50 and \d+ to \d+, (\d+ to \d+) refusals"),
    ),
    Quote(
        _COMPARE,
        "301 pages and ",
        r"\d+\S*\d",
        partial(of_text, rf"{_OUTAGE} .* 301 of 301, (\S+) refusals a limit"),
    ),
    Quote(
        _COMPARE,
        "with stock\nScrapy ",
        r"\d+",
        partial(of_text, rf"{_OUTAGE} (\S+) of 301"),
    ),
    Quote(
        _COMPARE,
        r"with stock\nScrapy \d+ pages and ",
        r"\d+",
        partial(of_text, rf"{_OUTAGE} \S+ of 301, (\S+) refusals"),
    ),
    *(
        quote
        for page, stock, lite, ours in (
            (
                _COMPARE,
                r"default queues get\s",
                "it gets ",
                r"default queues get\s\d+ and\sthe add-on ",
            ),
            (
                _JOBS,
                r"and run again, got ",
                r"default queues,\s",
                r"with these, and\s",
            ),
        )
        for quote in (
            Quote(page, stock, r"\d+", _killed("stock", "kill", _KILLED)),
            Quote(page, lite, r"\d+", _killed("SQLite queues", "kill", _KILLED)),
            Quote(page, ours, r"\d+", _killed("mandelbot", "kill", _KILLED)),
        )
    ),
    Quote(
        "docs/machines.rst",
        r"scrapy-redis kill`` \(",
        r"\d+ of \d+",
        _killed("scrapy-redis", "kill", r"(\d+ of \d+)"),
    ),
    *(
        Quote(_MEASURED, before, r"[\d.]+", _bears(row, column, _WAIT))
        for before, row, column in (
            (r"one thread\swaits ", "one thread 60 ms; 8", "fixed"),
            (r"of four workers ", "4 workers; 8", "fixed"),
            (r"with \*measured\* ", "one thread 60 ms; 8", "measured"),
            (r"with \*measured\* [\d.]+ and ", "4 workers; 8", "measured"),
        )
    ),
)
COPIES = (
    Copy(_COMPARE, "front_door.py --runs 5", "trouble  "),
    Copy(_MEASURED, "requests_at_once.py", "limit  "),
)
PAGES = sorted({one.page for one in (*QUOTES, *COPIES)})


def with_figures(page: str, text: str, results: str) -> str:
    """Return the text of a page with the figures and tables of these results.

    Raises:
        ValueError: if the page or the results have no such figure or table.
    """
    for copy in COPIES:
        if copy.page == page:
            printed = results.partition(f"``python benchmarks/{copy.command}``::\n")[2]
            table = _table(copy.heading, re.sub("(?m)^    ", "", printed))
            text = text.replace(_table(copy.heading, text), table)
    for one in QUOTES:
        if one.page == page:
            text, found = re.subn(
                f"({one.before}){one.shape}", rf"\g<1>{one.figure(results)}", text
            )
            if found != 1:
                raise ValueError(f"{page} has {found} times {one.before!r}, a figure")
    return text


def _table(heading: str, text: str) -> str:
    """Return the table of a text whose heading begins so."""
    border = r"=+(?:  =+)+\n"
    found = re.search(
        rf"(?m)^{border}{re.escape(heading)}.*\n{border}(?:.+\n)+?{border}", text
    )
    if found is None:
        raise ValueError(f"there is no table {heading!r}")
    return found[0]


def changed_pages(results: str) -> dict[str, str]:
    """Return the text of each page that has another figure than these results."""
    changed = {}
    for page in PAGES:
        text = (ROOT / page).read_text("utf-8")
        written = with_figures(page, text, results)
        if written != text:
            changed[page] = written
    return changed


def write_pages(results: str | None = None) -> None:
    """Write the figures into all pages, or into none if one is not found."""
    for page, text in changed_pages(results or RESULTS.read_text("utf-8")).items():
        (ROOT / page).write_text(text, "utf-8")


def main() -> int:
    """Write the pages, or check them."""
    if "--check" not in sys.argv[1:]:
        write_pages()
        return 0
    changed = changed_pages(RESULTS.read_text("utf-8"))
    for page in changed:
        print(f"{page} has a figure that its command did not print")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
