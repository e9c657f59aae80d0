"""What is known in memory of one line of a job's file: nothing of each request that waits there."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

    from scrapy_mandelbot.stores.job.pending import Row

MOST_HIDDEN = 64
"""Claimed rows that a claim steps over; when there are more they are moved out of its way."""


class Line:
    """A line: what of it is in the file and may be claimed, and what is not written yet."""

    __slots__ = ("_fresh", "hidden", "in_file", "name", "number", "rows", "waiting")

    def __init__(self, number: int, name: str, in_file: int = 0) -> None:
        self.number = number
        self.name = name
        self.in_file = in_file
        """How many rows in the file may be claimed."""
        self.rows = in_file
        """How many it has in all, those that are claimed too."""
        self.waiting = in_file
        """How many may be claimed."""
        self.hidden: set[int] = set()
        """Numbers of rows in the file that stand here, and may not be claimed."""
        self._fresh: list[tuple[tuple[int, int, int], int]] = []
        """A heap of rows that are not written: place and number."""

    def __repr__(self) -> str:
        return f"<Line {self.name!r}, {self.waiting} of {self.rows} waiting>"

    def add(self, row: Row) -> None:
        """Have a row wait that is not written."""
        heappush(self._fresh, (row.place, row.number))
        self.rows += 1
        self.waiting += 1

    def written(self) -> None:
        """Note that what was not written is."""
        self._fresh.clear()

    def first_fresh(self) -> tuple[tuple[int, int, int], int] | None:
        """Return place and number of the next row that is not written, and leave it."""
        return self._fresh[0] if self._fresh else None

    def take_fresh(self) -> None:
        """Take the next row that is not written."""
        heappop(self._fresh)
        self.waiting -= 1

    def first_in_file(
        self, database: sqlite3.Connection
    ) -> tuple[tuple[int, int, int], int] | None:
        """Return place and number of the next row in the file, and leave it."""
        if not self.in_file:
            return None
        rows = database.execute(
            "SELECT priority, band, position, number FROM requests WHERE line = ?"
            " ORDER BY priority, band, position LIMIT ?",
            (self.number, len(self.hidden) + 1),
        )
        for priority, band, position, number in rows:
            if number not in self.hidden:
                return (priority, band, position), number
        self.waiting -= self.in_file  # what the file has is believed
        self.rows -= self.in_file
        self.in_file = 0
        return None

    def take_in_file(self, number: int) -> None:
        """Take the next row in the file."""
        self.hidden.add(number)
        self.in_file -= 1
        self.waiting -= 1
