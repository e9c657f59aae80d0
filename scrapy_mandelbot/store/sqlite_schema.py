"""The tables of a store in a SQLite file, and how it is opened."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from scrapy_mandelbot.store.sqlite_file import open_file

if TYPE_CHECKING:
    from pathlib import Path

UPGRADES = (
    """
    CREATE TABLE copies (
        site TEXT PRIMARY KEY,
        body BLOB NOT NULL,
        status INTEGER NOT NULL,
        fetched_at REAL NOT NULL,
        url TEXT NOT NULL,
        etag TEXT,
        last_modified TEXT
    )
    """,
    """
    CREATE TABLE pauses (
        site TEXT PRIMARY KEY,
        until REAL NOT NULL,
        reason TEXT NOT NULL,
        failed_probes INTEGER NOT NULL
    )
    """,
    """
    CREATE TABLE runs (
        spider TEXT PRIMARY KEY,
        began_at REAL NOT NULL
    )
    """,
    """
    CREATE TABLE turns (
        site TEXT PRIMARY KEY,
        due REAL NOT NULL
    )
    """,
    """
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
    )
    """,
)
"""What takes a file from each version of its format to the next. The first is version 0: empty."""

_BUSY = 0.05  # seconds that the crawl may stand still while another process writes


class _UnknownFormatError(sqlite3.DatabaseError):
    """The file was written by a later version of the package."""


def connect(path: Path) -> sqlite3.Connection:
    """Open the file in the newest version of its format."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise sqlite3.OperationalError(str(error)) from error
    return open_file(path, UPGRADES, _version, busy=_BUSY)


def is_locked(error: sqlite3.Error) -> bool:
    """Return whether another process was writing for as long as this one waited."""
    return isinstance(error, sqlite3.OperationalError) and "locked" in str(error)


def as_text(name: str) -> str:
    """Return a name as the file can hold it: of a URL, it may be no UTF-8."""
    return name.encode("utf-8", "backslashreplace").decode()


def _version(database: sqlite3.Connection) -> int:
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version > len(UPGRADES):
        raise _UnknownFormatError(f"written by a later version (format {version})")
    return int(version)
