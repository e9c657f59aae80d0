"""The fingerprints of a job in a file."""

from __future__ import annotations

import sqlite3

from scrapy_mandelbot.job.job_file import AS_OURS

MOST_FRESH = 250_000  # in the log and in memory, when a merge begins: about 20 MB
# of a merge, what a commit inserts, and later deletes
MERGED = 2_000
DELETED = 20_000
PART_EVERY = 500  # new fingerprints between parts of a merge: it ends before the next


class Fingerprints:
    """All that were seen, those included that are not committed yet.

    In one table each new fingerprint, being random, dirties a page of its own: 200 KiB
    written for a page with 20 links among a million. So the newest are in a log, in the
    order in which they came, and in memory; when they are many they are put in order
    and merged into the table, slice by slice. Its methods raise what SQLite raises;
    then they are to be called again. To look for one, as for each link, raises
    StorageError.
    """

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        rows = database.execute("SELECT fingerprint FROM fresh")
        self._fresh = {fingerprint for (fingerprint,) in rows}
        self.new: list[int] = []  # not committed
        self._merging: set[int] = set()
        self._to_merge: list[int] = []  # what is left of those, the greatest first
        self._since_part = 0
        self.has_older = (
            database.execute("SELECT 1 FROM seen LIMIT 1").fetchone() is not None
        )
        first, last = database.execute(
            "SELECT min(number), max(number) FROM fresh"
        ).fetchone()
        self._log_begins: int = first or 1
        self._log_ends: int = last or 0
        # the number in the log of the last one that is being merged
        self._merge_ends = 0

    def __contains__(self, fingerprint: int) -> bool:
        if fingerprint in self._fresh or fingerprint in self._merging:
            return True
        if not self.has_older:
            return False
        query = "SELECT 1 FROM seen WHERE fingerprint = ?"
        with AS_OURS:
            row = self._database.execute(query, (fingerprint,)).fetchone()
        return row is not None

    def __len__(self) -> int:
        """Return how many there are; after a kill within a merge, a few more."""
        (merged,) = self._database.execute("SELECT count(*) FROM seen").fetchone()
        return int(merged) + len(self._fresh) + len(self._to_merge)

    def add(self, fingerprint: int) -> None:
        self._fresh.add(fingerprint)
        self.new.append(fingerprint)

    def write(self) -> None:
        """Write what is new and a part of a merge, within the open transaction."""
        if self.new:
            rows = enumerate(self.new, start=self._log_ends + 1)
            self._database.executemany("INSERT INTO fresh VALUES (?, ?)", rows)
        if self._is_part_due and self._to_merge:
            rows_in_order = zip(reversed(self._to_merge[-MERGED:]))
            self._database.executemany(
                "INSERT OR IGNORE INTO seen VALUES (?)", rows_in_order
            )
        elif self._is_part_due:
            delete = "DELETE FROM fresh WHERE number <= ?"
            self._database.execute(delete, (self._deleted_next,))

    def committed(self) -> None:
        self._log_ends += len(self.new)
        if self._is_part_due:
            self._since_part = 0
            if self._to_merge:
                del self._to_merge[-MERGED:]
                self.has_older = True
            else:
                self._log_begins = self._deleted_next + 1
                self._merging = set()
        self._since_part += len(self.new)
        self.new = []
        if not self._is_merging and len(self._fresh) >= MOST_FRESH:
            self._merging = self._fresh
            self._fresh = set()
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
