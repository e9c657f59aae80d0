"""What was put into a store and is not in its file yet."""

from __future__ import annotations

import sqlite3
from math import inf
from typing import TYPE_CHECKING

from scrapy_mandelbot.store.contract import ANOTHER_PACE
from scrapy_mandelbot.store.memory import MemoryStore
from scrapy_mandelbot.store.sqlite_file import open_file
from scrapy_mandelbot.store.sqlite_live import PAUSE, TURN, WAITS, release, tell

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy_mandelbot.store.contract import KeptPause

_FORMAT = 1
_SCHEMA = f"""
    CREATE TABLE copies (
        site TEXT PRIMARY KEY,
        body BLOB NOT NULL,
        status INTEGER NOT NULL,
        fetched_at REAL NOT NULL,
        url TEXT NOT NULL,
        etag TEXT,
        last_modified TEXT
    );
    CREATE TABLE pauses (
        site TEXT PRIMARY KEY,
        until REAL NOT NULL,
        reason TEXT NOT NULL,
        failed_probes INTEGER NOT NULL
    );
    CREATE TABLE runs (
        spider TEXT PRIMARY KEY,
        began_at REAL NOT NULL
    );
    CREATE TABLE turns (
        site TEXT PRIMARY KEY,
        due REAL NOT NULL
    );
    CREATE TABLE leases (
        name TEXT PRIMARY KEY,
        owner TEXT NOT NULL,
        taken_at REAL NOT NULL,
        until REAL NOT NULL
    );
    CREATE TABLE news (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        told_at REAL NOT NULL,
        teller TEXT NOT NULL,
        kind TEXT NOT NULL,
        site TEXT NOT NULL
    );
    PRAGMA user_version = {_FORMAT}
"""

_BUSY = 0.05  # seconds that the crawl may stand still while another process writes


class _UnknownFormatError(sqlite3.DatabaseError):
    """The file is in another version of the format."""


def connect(path: Path) -> sqlite3.Connection:
    """Open the file, and create its tables where it is new.

    Raises:
        sqlite3.Error: it cannot be opened, or is in another version of the format.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise sqlite3.OperationalError(str(error)) from error
    return open_file(path, _SCHEMA, _is_new, busy=_BUSY)


def is_locked(error: sqlite3.Error) -> bool:
    """Return whether another process was writing for as long as this one waited."""
    return isinstance(error, sqlite3.OperationalError) and "locked" in str(error)


def as_text(name: str) -> str:
    """Return a name as the file can hold it: of a URL, it may be no UTF-8."""
    return name.encode("utf-8", "backslashreplace").decode()


def _is_new(database: sqlite3.Connection) -> bool:
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version not in {0, _FORMAT}:
        raise _UnknownFormatError(f"written by another version (format {version})")
    return not version


class Unsaved:
    """Held in memory until it is written, all in one transaction."""

    def __init__(self) -> None:
        self.memory = MemoryStore()
        """Copies and turns."""
        self.pauses: dict[str, KeptPause | None] = {}
        """None: it is over."""
        self.runs: dict[str, float] = {}
        self.waits: set[str] = set()
        """Sites with a pace of which others are to know that this crawl waits for turns."""
        self.releases: dict[str, float] = {}
        """Leases that are given back, by name: for how many seconds they are kept."""

    def __bool__(self) -> bool:
        return bool(
            len(self.memory)
            or self.pauses
            or self.runs
            or self.waits
            or self.releases
            or self.memory.get_turns(-inf)
        )

    def write(self, database: sqlite3.Connection, owner: str, now: float) -> None:
        """Write all of it; within a transaction."""
        self._write_copies(database)
        self._write_pauses(database)
        turns = self.memory.get_turns(-inf)
        # Another process may have asked since, and written when it did.
        database.executemany(
            "INSERT INTO turns VALUES (?, ?) ON CONFLICT (site) DO UPDATE"
            " SET due = excluded.due WHERE turns.due < excluded.due"
            " OR turns.due > excluded.due + ?",
            [(site, due, ANOTHER_PACE) for site, due in turns.items()],
        )
        database.executemany("INSERT OR REPLACE INTO runs VALUES (?, ?)", self.runs.items())
        for kind, sites in (PAUSE, self.pauses), (TURN, turns), (WAITS, self.waits):
            if sites:
                tell(database, owner, now, kind, sites)
        # Last, though at once: whoever has a lease next goes by what was written.
        for name, keep_for in self.releases.items():
            release(database, name, owner, now, keep_for)

    def clear(self) -> None:
        """Forget all of it: it is written."""
        self.memory.close()
        self.pauses.clear()
        self.runs.clear()
        self.waits.clear()
        self.releases.clear()

    def _write_copies(self, database: sqlite3.Connection) -> None:
        rows = [
            (
                as_text(site),
                one.body,
                one.status,
                one.fetched_at,
                as_text(one.url),
                one.etag and as_text(one.etag),
                one.last_modified and as_text(one.last_modified),
            )
            for site, one in self.memory.packed_copies()
        ]
        # What another process has saved meanwhile may be a little newer. What is newer by over a
        # minute was dated by a wrong clock.
        database.executemany(
            "INSERT INTO copies VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (site) DO UPDATE"
            " SET body = excluded.body, status = excluded.status,"
            " fetched_at = excluded.fetched_at, url = excluded.url,"
            " etag = excluded.etag, last_modified = excluded.last_modified"
            " WHERE copies.fetched_at <= excluded.fetched_at"
            " OR copies.fetched_at > excluded.fetched_at + 60",
            rows,
        )

    def _write_pauses(self, database: sqlite3.Connection) -> None:
        if not self.pauses:
            return
        database.executemany(
            "INSERT OR REPLACE INTO pauses VALUES (?, ?, ?, ?)",
            [
                (site, one.until, as_text(one.reason), one.failed_probes)
                for site, one in self.pauses.items()
                if one is not None
            ],
        )
        over = [(site,) for site, one in self.pauses.items() if one is None]
        database.executemany("DELETE FROM pauses WHERE site = ?", over)
