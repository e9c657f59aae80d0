"""What was done to a job since its last commit, as the least that has to be written.

A request that came and went between two commits is not written at all. Nothing here is
forgotten before a commit has succeeded: SQLite forgets a whole transaction where the
disk is full.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sized
from dataclasses import dataclass, field
from heapq import heappush
from typing import Any, NamedTuple
from zlib import crc32

from scrapy_mandelbot.job.job_store import OWN_START

_FIRST = (
    "SELECT priority, band, position, number FROM requests WHERE line = ?"
    " ORDER BY priority, band, position LIMIT ?"
)
_NEXT = (
    "SELECT priority, band, position, number FROM requests WHERE line = ?"
    " AND (priority, band, position) > (?, ?, ?) ORDER BY priority, band, position"
)
_COUNT_CHILD = (
    "INSERT INTO children VALUES (?, ?, ?)"
    " ON CONFLICT (parent, fingerprint) DO UPDATE SET times = times + excluded.times"
)
MOST_HIDDEN = 64  # claimed rows that a claim steps over; more are moved out of its way


# Of most lines, of which a job may have a million; replaced before anything is added.
_NO_ROWS: set[int] = set()
_NO_FRESH: list[tuple[tuple[int, int, int], int]] = []


class LineIndex:
    """A line: which of its rows may be claimed, and which are not written yet."""

    __slots__ = (
        "_passed",
        "fresh",
        "hidden",
        "in_file",
        "name",
        "number",
        "rows",
        "waiting",
    )

    def __init__(self, number: int, name: str, in_file: int = 0) -> None:
        self.number = number
        self.name = name
        self.in_file = in_file  # how many rows in the file may be claimed
        self.rows = in_file  # how many it has in all, those that are claimed too
        self.waiting = in_file  # how many may be claimed
        # rows in the file that stand here, and may not be claimed
        self.hidden = _NO_ROWS
        # a heap of rows that are not written: place and number
        self.fresh = _NO_FRESH
        # rows up to here are claimed; None: look
        self._passed: tuple[int, int, int] | None = None

    def add(self, row: RequestRow) -> None:
        if not self.fresh:
            self.fresh = []
        heappush(self.fresh, (row[2:5], row.number))
        self.rows += 1
        self.waiting += 1

    def written(self) -> None:
        self.fresh = _NO_FRESH
        self._passed = None

    def hide(self, number: int) -> None:
        """Step over a row in the file from now on."""
        if not self.hidden:
            self.hidden = set()
        self.hidden.add(number)

    def unhide(self, number: int) -> None:
        """Forget a row that is no longer in the file, or that may be claimed again."""
        self.hidden.discard(number)
        if not self.hidden:
            self.hidden = _NO_ROWS

    def first_in_file(
        self, database: sqlite3.Connection
    ) -> tuple[tuple[int, int, int], int] | None:
        if not self.in_file:
            return None
        if self._passed is None:
            rows = database.execute(_FIRST, (self.number, len(self.hidden) + 1))
        else:
            rows = database.execute(_NEXT, (self.number, *self._passed))
        for priority, band, position, number in rows:
            if number not in self.hidden:
                return (priority, band, position), number
            if len(self.hidden) > MOST_HIDDEN:
                self._passed = priority, band, position
        self.waiting -= self.in_file  # what the file has is believed
        self.rows -= self.in_file
        self.in_file = 0
        return None

    def take_in_file(self, number: int) -> bool:
        """Claim a row; return whether it must move out of the way of the next claim."""
        self.hide(number)
        self.in_file -= 1
        self.waiting -= 1
        return len(self.hidden) > MOST_HIDDEN


class RequestRow(NamedTuple):
    """A request as it is written: a row of the table."""

    number: int
    line: int
    priority: int
    band: int
    position: int
    body: bytes


@dataclass
class Pending:
    """Rows and marks that wait for a commit."""

    # to be written: new, or put back
    rows: dict[int, RequestRow] = field(default_factory=dict)
    # to be deleted before others are written
    gone: set[int] = field(default_factory=set)
    aside: set[int] = field(default_factory=set)  # claimed for long: they stand aside
    lines: dict[int, str] = field(default_factory=dict)  # new ones
    lines_gone: set[int] = field(default_factory=set)
    children: dict[int, dict[int, int]] = field(default_factory=dict)
    """By parent, how many times it gave a fingerprint."""
    parents_gone: set[int] = field(default_factory=set)
    """Whose children are to be forgotten, before others are written."""
    own_starts: dict[int, int] = field(default_factory=dict)
    """By fingerprint, the numbers of what a spider's own start() gave."""
    size: int = 0  # bytes of the bodies of rows, as they were added

    def __len__(self) -> int:
        parts: list[Sized] = [
            self.rows,
            self.gone,
            self.aside,
            self.lines,
            self.lines_gone,
            self.own_starts,
        ]
        parts += self.parents_gone, *self.children.values()
        return sum(map(len, parts))

    def write(self, database: sqlite3.Connection) -> None:
        children: list[tuple[int, int, int]] = []
        for parent, counts in self.children.items():
            children += [(parent, *child) for child in sorted(counts.items())]
        statements: list[tuple[str, Collection[Any]]] = [
            ("INSERT INTO lines VALUES (?, ?)", self.lines.items()),
            ("DELETE FROM lines WHERE line = ?", [*zip(self.lines_gone)]),
            ("DELETE FROM requests WHERE number = ?", [*zip(self.gone)]),
            (
                "INSERT INTO requests VALUES (?, ?, ?, ?, ?, ?, ?)",
                [(*row, crc32(row.body, row.number)) for row in self.rows.values()],
            ),
            (
                "UPDATE requests SET line = -line WHERE number = ? AND line > 0",
                [*zip(self.aside)],
            ),
            ("DELETE FROM children WHERE parent = ?", [*zip(self.parents_gone)]),
            (_COUNT_CHILD, children),
            (
                "INSERT OR REPLACE INTO children VALUES (?, ?, ?)",
                [(OWN_START, *one) for one in self.own_starts.items()],
            ),
        ]
        for statement, rows in statements:
            if rows:
                database.executemany(statement, rows)
