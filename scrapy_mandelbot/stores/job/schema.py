"""The file of a job: its tables, its versions, how it is opened and what SQLite says of it."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

from scrapy_mandelbot.stores.job.contract import CannotKeepError
from scrapy_mandelbot.stores.sqlite_file import upgrade

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LAST_CHARACTER = "\U0010ffff"
APPLICATION = 0x4D414A42
"""What tells the file from others of SQLite: "MAJB"."""

UPGRADES = (
    f"""
    PRAGMA application_id = {APPLICATION};
    -- Lines have names, and rows the numbers of their lines.
    CREATE TABLE lines (line INTEGER PRIMARY KEY, name TEXT NOT NULL);
    -- A line below zero: the row was claimed for long, and stands aside of the line above zero.
    CREATE TABLE requests (
        number INTEGER PRIMARY KEY,
        line INTEGER NOT NULL,
        priority INTEGER NOT NULL,
        band INTEGER NOT NULL,
        position INTEGER NOT NULL,
        body BLOB NOT NULL
    );
    CREATE INDEX requests_in_order ON requests (line, priority, band, position);
    -- Fingerprints in order, and those that came last in the order in which they came.
    CREATE TABLE seen (fingerprint INTEGER PRIMARY KEY);
    CREATE TABLE fresh (number INTEGER PRIMARY KEY, fingerprint INTEGER NOT NULL);
    -- What start() (parent 0) and callbacks that have not ended gave with dont_filter.
    CREATE TABLE children (
        parent INTEGER NOT NULL,
        fingerprint INTEGER NOT NULL,
        times INTEGER NOT NULL,
        PRIMARY KEY (parent, fingerprint)
    ) WITHOUT ROWID;
    CREATE TABLE state (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
    """,
)
"""What takes a file from each version of its format to the next. The first is version 0: empty."""

_PAGE = 2048  # octets: a commit writes whole pages, and few octets of most
_BUSY = 2.0  # seconds; none but `scrapy robots job` looks into the file of a run
_LASTING_FAULTS = ("malformed", "not a database", "no such table", "no such column")


class CorruptError(CannotKeepError):
    """The file is broken, or none of a job: time will not mend it."""


def connect(path: Path, *, is_synced: bool) -> sqlite3.Connection:
    """Open the file in the newest version of its format.

    Args:
        path: of the file, which need not exist.
        is_synced: whether a commit is on the disk when it returns, and outlasts a power cut.

    Raises:
        CorruptError: it is broken, or none of ours.
        CannotKeepError: it cannot be opened.
    """
    with as_ours():
        # One thread uses it at a time, though `scrapy shell` may set it up in another.
        database = sqlite3.connect(
            path, timeout=_BUSY, isolation_level=None, check_same_thread=False
        )
    try:
        with as_ours():
            database.execute(f"PRAGMA page_size = {_PAGE}")
            database.execute("PRAGMA journal_mode = WAL")
            database.execute(f"PRAGMA synchronous = {'FULL' if is_synced else 'NORMAL'}")
            upgrade(database, UPGRADES, lambda: _version(database, path))
    except CannotKeepError:
        database.close()
        raise
    return database


def connect_to_read(path: Path) -> sqlite3.Connection:
    """Open the file to read it, while a run may have it.

    Raises:
        CorruptError: it is broken, or none of ours.
        CannotKeepError: it cannot be opened.
    """
    with as_ours():
        database = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=ro", timeout=_BUSY, isolation_level=None, uri=True
        )
    try:
        with as_ours():
            is_newest = _version(database, path) == len(UPGRADES)
    except CannotKeepError:
        database.close()
        raise
    if not is_newest:
        database.close()
        raise CannotKeepError(f"{path} is of an older format: the next run upgrades it")
    return database


def read_states(database: sqlite3.Connection, prefix: str) -> dict[str, bytes]:
    """Return what is kept under names that begin so, by name."""
    query = "SELECT name, value FROM state WHERE name BETWEEN ? AND ?"
    rows = database.execute(query, (prefix, prefix + _LAST_CHARACTER))
    return {name: bytes(value) for name, value in rows}


def _version(database: sqlite3.Connection, path: Path) -> int:
    (application,) = database.execute("PRAGMA application_id").fetchone()
    (version,) = database.execute("PRAGMA user_version").fetchone()
    (tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application != APPLICATION and (application or version or tables):
        raise CorruptError(f"{path} is no file of a job")
    if version > len(UPGRADES):
        raise CannotKeepError(f"{path} was written by a later version (format {version})")
    return int(version)


@contextmanager
def as_ours() -> Iterator[None]:
    """Have errors of SQLite be ours: those that may pass, and those that will not."""
    try:
        yield
    except sqlite3.Error as error:
        raise our_error(error) from error


def our_error(error: sqlite3.Error) -> CannotKeepError:
    """Return what is raised for an error of SQLite."""
    # SQLite reports by OperationalError what may pass: locked, full, read-only.
    is_lasting = not isinstance(error, sqlite3.OperationalError) or any(
        fault in str(error) for fault in _LASTING_FAULTS
    )
    return (CorruptError if is_lasting else CannotKeepError)(str(error))
