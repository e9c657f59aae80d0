"""The option that prints the table, and the clock of the cells."""

from __future__ import annotations

import pytest
import recorded
import table
from cell import measure
from cells import CELLS
from loop_time import TIME
from resolver import the_resolver  # noqa: F401 - a fixture

ROWS = pytest.StashKey[dict[str, list[str]]]()
STOCK = pytest.StashKey[dict[str, dict]]()
COMES_WITHIN = 0.002
"""Seconds of the machine in which what a socket was given has come."""


def pytest_addoption(parser):
    parser.addoption(
        "--table",
        action="store_true",
        help="print the table of the cells that ran; write it if all of them did",
    )
    parser.addoption(
        "--record-stock",
        action="store_true",
        help="write what stock Scrapy makes of the cells to stock.json",
    )


def pytest_configure(config):
    config.stash[ROWS] = {}
    config.stash[STOCK] = {}


def pytest_terminal_summary(terminalreporter, config):
    if config.getoption("--record-stock", default=False):
        recorded.write(config.stash[STOCK])
    if not config.getoption("--table", default=False):
        return
    measured = config.stash[ROWS]
    rows = [measured[cell.name] for cell in CELLS if cell.name in measured]
    for row in [table.HEADER, *rows]:
        terminalreporter.write_line(" | ".join(row))
    verdicts = [row[4] for row in rows]
    for one in ("better", "same", "worse"):
        terminalreporter.write_line(f"{one}: {verdicts.count(one)}")
    if len(rows) == len(CELLS):
        table.write(rows)


@pytest.fixture(autouse=True)
def no_name_is_looked_up(resolver):
    """The network of a cell says what the resolver would."""


@pytest.fixture
def record_row(request):
    """Keep the row of a cell for the table."""

    def record(cell, stock, ours):
        request.config.stash[ROWS][cell.name] = table.row_of(cell, stock, ours)

    return record


@pytest.fixture
def measure_stock(request, tmp_path):
    """Return what stock Scrapy makes of a cell, from the record where that holds."""
    both_crawl = request.config.option.markexpr == ""

    async def stock(cell):
        found = None if both_crawl else recorded.recorded(cell, cell.make())
        if found is not None:
            return found
        measured = await measure(cell, tmp_path, addon=False)
        request.config.stash[STOCK][cell.name] = recorded.row_of(measured)
        return measured

    return stock


@pytest.fixture
def redis_url(cell, request):
    """Start a Redis for a cell that needs one."""
    if cell.needs != "redis":
        return ""
    return request.getfixturevalue("redis_server").url


@pytest.fixture
def time_is_simulated(cell):
    """Let time pass only where a crawl waits for it: no site of a cell needs any.

    Not where a Redis has a part, which has a clock of its own.
    """
    from twisted.internet import reactor

    if cell.needs == "redis":
        yield
        return

    def no_thread_works() -> bool:
        return not (reactor.threadpool and reactor.threadpool.working)

    with TIME.turned(no_thread_works, COMES_WITHIN if cell.needs else 0.0):
        yield
