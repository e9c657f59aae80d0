"""The tables of a store in a SQLite file, and how it is opened."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from scrapy_mandelbot.store.sqlite_file import open_file

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
    """Open the file, and create its tables where it is new."""
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
