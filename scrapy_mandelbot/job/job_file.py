"""The SQLite file of a job: its tables, how it is opened, and its errors."""

from __future__ import annotations

import shlex
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard
from zlib import crc32

from scrapy_mandelbot.job.job_store import JOB_FILE, StorageError
from scrapy_mandelbot.store.sqlite_file import check_is_regular, may_pass, open_file

if TYPE_CHECKING:
    from types import TracebackType

_LAST_CHARACTER = "\U0010ffff"
APPLICATION = 0x4D414A42  # "MAJB", marks the file as a job

FORMAT = 2
"""The number of the form of a job in a file, which counts each change of it."""
_SCHEMA = f"""
    PRAGMA application_id = {APPLICATION};
    PRAGMA user_version = {FORMAT};
    -- Lines have names, and rows the numbers of their lines.
    CREATE TABLE lines (line INTEGER PRIMARY KEY, name TEXT NOT NULL);
    -- A line below zero: the row was claimed for long, out of the way of its line.
    CREATE TABLE requests (
        number INTEGER PRIMARY KEY,
        line INTEGER NOT NULL,
        priority INTEGER NOT NULL,
        band INTEGER NOT NULL,
        position INTEGER NOT NULL,
        body BLOB NOT NULL,
        checksum INTEGER NOT NULL
    );
    CREATE INDEX requests_in_order ON requests (line, priority, band, position);
    -- Fingerprints in order, and those that came last in the order in which they came.
    CREATE TABLE seen (fingerprint INTEGER PRIMARY KEY);
    CREATE TABLE fresh (number INTEGER PRIMARY KEY, fingerprint INTEGER NOT NULL);
    -- What start() (parent 0) and callbacks that have not ended gave with dont_filter.
    -- For a spider's own start() (parent -2), times is the number of the last request.
    CREATE TABLE children (
        parent INTEGER NOT NULL,
        fingerprint INTEGER NOT NULL,
        times INTEGER NOT NULL,
        PRIMARY KEY (parent, fingerprint)
    ) WITHOUT ROWID;
    CREATE TABLE state (
        name TEXT PRIMARY KEY,
        value BLOB NOT NULL,
        checksum INTEGER NOT NULL
    ) WITHOUT ROWID
"""

REPAIRED_FILE = "job.repaired"
"""What a repair writes, until it takes the place of the damaged file."""
PAGE = 2048  # octets: a commit writes whole pages, and few octets of most
_BUSY = 2.0  # seconds; only `scrapy robots job` reads the file during a run


class CorruptError(StorageError):
    """The file is damaged or not a job: retrying does not help."""

    ends_run = "job_unreadable"


class ConflictError(StorageError):
    """Another process has written to the file, which is whole."""

    ends_run = "job_unreadable"


class GoneError(StorageError):
    """The file was removed or replaced: nothing that is written now is kept."""

    ends_run = "job_not_saved"


def connect(path: Path, *, is_synced: bool) -> sqlite3.Connection:
    """Open the file, and create its tables if it is new.

    `is_synced`: a commit is on the disk when it returns, and survives a power cut.
    """
    make_private(path)
    with AS_OURS:
        return open_file(
            path,
            _SCHEMA,
            lambda database: _is_new(database, path),
            busy=_BUSY,
            is_synced=is_synced,
            page_size=PAGE,
        )


def damage_text(folder: Path, error: object) -> str:
    """Return what is wrong with the file of a job, and which command mends it."""
    return (
        f"`scrapy robots job {shlex.quote(str(folder))} repair` keeps what can be read"
        f" of {JOB_FILE}, which is damaged: {error}"
    )


def make_private(path: Path) -> None:
    """Let nobody but the crawl's user read the file: it holds cookies.

    SQLite gives its log the same permissions.
    """
    with suppress(OSError):
        path.touch(mode=0o600)
    for suffix in ("", "-wal", "-shm"):
        with suppress(OSError):
            part = path.with_name(path.name + suffix)
            part.chmod(part.stat().st_mode & 0o700)


def connect_to_read(path: Path) -> sqlite3.Connection:
    """Open the file read-only, even while a run uses it."""
    with AS_OURS:
        check_is_regular(path)
        database = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=ro",
            timeout=_BUSY,
            isolation_level=None,
            uri=True,
        )
        try:
            if _is_new(database, path):
                raise StorageError(f"{path} holds no job yet")  # noqa: TRY301 -- it is closed below
        except BaseException:
            database.close()
            raise
    return database


def name_of_line(name: object) -> str:
    """Return the name of a line as it was read; raise CorruptError if it is no text."""
    if not isinstance(name, str):
        raise CorruptError("the name of a line is no text")
    return name


def read_states(
    database: sqlite3.Connection, prefix: str, last: str = _LAST_CHARACTER
) -> dict[str, bytes]:
    query = "SELECT name, value, checksum FROM state WHERE name BETWEEN ? AND ?"
    rows = database.execute(query, (prefix, prefix + last))
    return {
        name: value
        for name, value, crc in rows
        if is_as_written(value, crc, name_seed(name))
    }


def read_state(database: sqlite3.Connection, name: str) -> bytes | None:
    return read_states(database, name, "").get(name)


def name_seed(name: str) -> int:
    """Return the seed of a value's checksum; the seed of a body is its number."""
    return crc32(name.encode("utf-8", "backslashreplace"))


def is_as_written(body: object, checksum: object, seed: int) -> TypeGuard[bytes]:
    """Return whether a body or value matches its checksum."""
    return isinstance(body, bytes) and checksum == crc32(body, seed)


def _is_new(database: sqlite3.Connection, path: Path) -> bool:
    (application,) = database.execute("PRAGMA application_id").fetchone()
    (version,) = database.execute("PRAGMA user_version").fetchone()
    (tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application != APPLICATION and (application or version or tables):
        raise CorruptError(f"{path} is no file of a job")
    if version not in {0, FORMAT}:
        raise StorageError(f"{path} was written by another version (format {version})")
    return not version


class _AsOurs:
    """Raises an error of SQLite as one of a job.

    Not by ``contextlib``: each claim enters it, and would take much longer.
    """

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, sqlite3.Error):
            raise our_error(error) from error


AS_OURS = _AsOurs()
"""Raises an error of SQLite as a StorageError of its kind."""


def our_error(error: sqlite3.Error) -> StorageError:
    if isinstance(error, sqlite3.IntegrityError):
        return ConflictError(f"another process has written to the job ({error})")
    if may_pass(error):
        return StorageError(str(error))
    return CorruptError(str(error))
