"""Small values by name that a job in a file keeps beside its requests."""

from __future__ import annotations

import sqlite3
from zlib import crc32

from scrapy_mandelbot.job.job_file import AS_OURS, name_seed, read_state, read_states


class NamedStates:
    """Pauses, feeds, cookies, deaths: whatever must be committed with the requests.

    Reads see what was put since the last commit, and raise StorageError where the file
    cannot be read.
    """

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        # not committed; None: to be deleted
        self.new: dict[str, bytes | None] = {}
        self.size = 0  # bytes of those

    def get(self, name: str) -> bytes | None:
        if name in self.new:
            return self.new[name]
        with AS_OURS:
            return read_state(self._database, name)

    def with_prefix(self, prefix: str) -> dict[str, bytes]:
        """Return all whose names begin so."""
        with AS_OURS:
            kept = read_states(self._database, prefix)
        for name, value in self.new.items():
            if not name.startswith(prefix):
                continue
            if value is None:
                kept.pop(name, None)
            else:
                kept[name] = value
        return kept

    def put(self, name: str, value: bytes | None) -> None:
        """Keep a value from the next commit on; None: delete it."""
        self.size += len(value or b"") - len(self.new.get(name) or b"")
        self.new[name] = value

    def write(self) -> None:
        """Write what is new, within the open transaction."""
        gone = [(name,) for name, value in self.new.items() if value is None]
        written = []
        for name, value in self.new.items():
            if value is not None:
                written.append((name, value, crc32(value, name_seed(name))))
        if gone:
            self._database.executemany("DELETE FROM state WHERE name = ?", gone)
        if written:
            self._database.executemany(
                "INSERT OR REPLACE INTO state VALUES (?, ?, ?)", written
            )

    def committed(self) -> None:
        self.new = {}
        self.size = 0
