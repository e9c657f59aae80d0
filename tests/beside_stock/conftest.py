"""The option that prints the table, and the clock of the cells."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from cell import Cell, Measured, verdict

from scrapy_mandelbot.testing import TIME

PAGE = Path(__file__).parents[2] / "docs" / "beside_stock.csv"
HEADER = (
    ["situation", "the site, and the crawl"]
    + ["stock Scrapy", "with the add-on"]
    + ["", "what it may do more, and why"]
)
ROWS = pytest.StashKey[dict[str, list[str]]]()


def pytest_addoption(parser):
    parser.addoption(
        "--table",
        action="store_true",
        help="write docs/beside_stock.csv, and print it, from the cells that ran",
    )


def pytest_configure(config):
    config.stash[ROWS] = {}


def pytest_terminal_summary(terminalreporter, config):
    if not config.getoption("--table", default=False):
        return
    rows = config.stash[ROWS]
    with PAGE.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        writer.writerows(rows.values())
    for row in [HEADER, *rows.values()]:
        terminalreporter.write_line(" | ".join(row))
    verdicts = [row[4] for row in rows.values()]
    for one in ("better", "same", "worse"):
        terminalreporter.write_line(f"{one}: {verdicts.count(one)}")


@pytest.fixture
def record_row(request):
    """Keep the row of a cell for the table."""

    def record(cell: Cell, stock: Measured, ours: Measured) -> None:
        request.config.stash[ROWS][cell.name] = row_of(cell, stock, ours)

    return record


def row_of(cell: Cell, stock: Measured, ours: Measured) -> list[str]:
    what = "worse" if cell.worse else verdict(stock, ours)
    allowed = []
    if cell.waits:
        allowed.append(f"{cell.waits:g} s")
    if cell.requests:
        allowed.append(f"{cell.requests} requests")
    reason = cell.worse or ": ".join(filter(None, [", ".join(allowed), cell.why]))
    return [cell.name, cell.about, stock.told(), ours.told(), what, reason]


@pytest.fixture
def time_is_simulated():
    """Let time pass only where a crawl waits for it: no site of a cell needs any."""
    from twisted.internet import reactor

    def no_thread_works() -> bool:
        return not (reactor.threadpool and reactor.threadpool.working)

    with TIME.turned(no_thread_works):
        yield
