"""The fingerprints that a job has seen, kept so that a new one costs the same among millions.

In one table each new fingerprint, being random, dirties a page of its own: 200 KiB written for a
page with 20 links among a million. So the newest are in a log, in the order in which they came, and
in memory; when they are many they are put in order and merged into the table, slice by slice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

MOST_FRESH = 250_000
"""In the log and in memory, when a merge begins. About 20 MB."""
MERGED, DELETED = 2_000, 20_000
"""Of a merge, what one commit puts into the table, and later takes out of the log."""
PART_EVERY = 500
"""New fingerprints, between parts of a merge: it has ended long before the next one begins."""


class Fingerprints:
    """All that were seen, those included that are not committed yet.

    Its methods raise what SQLite raises; then they are to be called again.
    """

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        rows = database.execute("SELECT fingerprint FROM fresh")
        self._fresh = {fingerprint for (fingerprint,) in rows}
        self._new: list[int] = []
        """Not committed."""
        self._merging: set[int] = set()
        self._to_merge: list[int] = []
        """What is left of those, the greatest first."""
        self._since_part = 0
        self._has_older = database.execute("SELECT 1 FROM seen LIMIT 1").fetchone() is not None
        first, last = database.execute("SELECT min(number), max(number) FROM fresh").fetchone()
        self._log_begins: int = first or 1
        self._log_ends: int = last or 0
        self._merge_ends = 0
        """The number in the log of the last one that is being merged."""

    def __contains__(self, fingerprint: int) -> bool:
        if fingerprint in self._fresh or fingerprint in self._merging:
            return True
        if not self._has_older:
            return False
        query = "SELECT 1 FROM seen WHERE fingerprint = ?"
        return self._database.execute(query, (fingerprint,)).fetchone() is not None

    @property
    def uncommitted(self) -> int:
        """How many are not committed."""
        return len(self._new)

    def add(self, fingerprint: int) -> None:
        """Note one as seen, which was not."""
        self._fresh.add(fingerprint)
        self._new.append(fingerprint)

    def write_all(self, fingerprints: list[int]) -> None:
        """Write many, within the transaction that is open, which is theirs alone."""
        rows = ((one,) for one in sorted(fingerprints))
        self._database.executemany("INSERT OR IGNORE INTO seen VALUES (?)", rows)
        self._has_older = True

    def write(self) -> None:
        """Write what is new, within the transaction that is open, and a part of a merge."""
        if self._new:
            rows = enumerate(self._new, start=self._log_ends + 1)
            self._database.executemany("INSERT INTO fresh VALUES (?, ?)", rows)
        if self._is_part_due and self._to_merge:
            rows_in_order = [(one,) for one in reversed(self._to_merge[-MERGED:])]
            self._database.executemany("INSERT OR IGNORE INTO seen VALUES (?)", rows_in_order)
        elif self._is_part_due:
            delete = "DELETE FROM fresh WHERE number <= ?"
            self._database.execute(delete, (self._deleted_next,))

    def committed(self) -> None:
        """Note that what was written is committed."""
        self._log_ends += len(self._new)
        if self._is_part_due:
            self._since_part = 0
            if self._to_merge:
                del self._to_merge[-MERGED:]
                self._has_older = True
            else:
                self._log_begins = self._deleted_next + 1
                self._merging = set()
        self._since_part += len(self._new)
        self._new = []
        if not self._is_merging and len(self._fresh) >= MOST_FRESH:
            self._merging, self._fresh = self._fresh, set()
            self._to_merge = sorted(self._merging, reverse=True)
            self._merge_ends = self._log_ends

    @property
    def _is_merging(self) -> bool:
        return self._log_begins <= self._merge_ends

    @property
    def _is_part_due(self) -> bool:
        return self._is_merging and self._since_part >= PART_EVERY

    @property
    def _deleted_next(self) -> int:
        return min(self._merge_ends, self._log_begins + DELETED - 1)
