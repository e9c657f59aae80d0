"""Opens the file of a job; a damaged one is replaced by what can be read of it."""

from __future__ import annotations

import logging
import shutil
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from zlib import crc32

from mandelbot.origins import site_of

from scrapy_mandelbot.job.job_file import (
    AS_OURS,
    PAGE,
    CorruptError,
    connect,
    is_as_written,
)
from scrapy_mandelbot.job.job_lock import LOCK, JobInUseError, JobLock
from scrapy_mandelbot.job.job_store import JOB_FILE, StorageError
from scrapy_mandelbot.job.outline import outline
from scrapy_mandelbot.job.site_states import site_of_line
from scrapy_mandelbot.job.sqlite_job import CLEAN, SqliteJob
from scrapy_mandelbot.store.sqlite_file import network_disk, transaction

logger = logging.getLogger(__name__)

FILE = JOB_FILE
# state: no run has finished since requests may have been lost with a file
SALVAGED = "salvaged"
_BROKEN = f"{FILE}.corrupt-"
_READ = f"{FILE}.salvaged-"
_PARTS = "", "-wal", "-shm"
_QUICKLY = 128 * 1024 * 1024  # bytes of a file that is checked at each start: 0.3 s
_LINES = "SELECT line, name FROM lines WHERE line >= ? ORDER BY line"
_REQUESTS = "SELECT * FROM requests WHERE number >= ? ORDER BY number"
_INDEX = (
    "SELECT number FROM requests INDEXED BY requests_in_order"
    " ORDER BY line {0}, priority {0}, band {0}, position {0}"
)
_STATES = "SELECT name, value, checksum FROM state ORDER BY name {0}"
_NUMBERS = {  # tables of numbers: how they are read, and written
    "SELECT * FROM seen WHERE fingerprint >= ? ORDER BY fingerprint": "seen VALUES (?)",
    "SELECT * FROM fresh WHERE number >= ? ORDER BY number": "fresh VALUES (?, ?)",
    "SELECT * FROM children WHERE parent >= ? ORDER BY parent": (
        "children VALUES (?, ?, ?)"
    ),
}


def open_locked(folder: Path, *, is_synced: bool) -> tuple[JobLock, SqliteJob]:
    """Lock and open a folder's job; the text of a StorageError is for the log."""
    lock = JobLock(folder / LOCK)
    try:
        lock.take()
    except JobInUseError as error:
        raise StorageError(f"{error}: two runs cannot share a JOBDIR") from None
    except OSError as error:
        raise StorageError(f"JOBDIR cannot be written: {error}") from error
    try:
        job = open_job(folder, is_synced=is_synced)
    except (StorageError, OSError) as error:
        lock.release()
        if isinstance(error, CorruptError):
            why = f"{error}. The next run starts empty."
        else:
            why = f"{folder / FILE} cannot be opened: {error}"
        raise StorageError(why) from error
    if (disk := network_disk(folder)) is not None:
        logger.warning(
            "JOBDIR is on a disk of the network (%s): SQLite's locks are unreliable"
            " there, and the job may be lost. Use a local disk, or MANDELBOT_JOB ="
            " 'redis://…'",
            disk,
        )
    return lock, job


def open_job(folder: Path, *, is_synced: bool = False) -> SqliteJob:
    """Open the job of a folder; a damaged file is replaced by what can be read of it.

    CorruptError: nothing can be read. The file is set aside, and the next run starts
    empty.
    """
    path = folder / FILE
    try:
        left = sorted(folder.glob(f"{_BROKEN}*[0-9]"))
        if left and not path.exists() and not _salvage(left[-1], path):
            names = ", ".join(map(str, left))
            logger.warning("The job starts empty: its file was damaged: %s", names)
        is_small = path.exists() and path.stat().st_size <= _QUICKLY
        job = SqliteJob(path, is_synced=is_synced)
        if is_small:
            _look_through(job)
    except CorruptError as error:
        aside = set_aside(folder)
        if not _salvage(aside, path):
            raise CorruptError(
                f"{path} is damaged ({error}), now set aside as {aside}"
            ) from error
        job = SqliteJob(path, is_synced=is_synced)
    return job


def set_aside(folder: Path) -> Path:
    aside = folder / f"{_BROKEN}{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}"
    _move(folder / FILE, aside)
    logger.error("%s is damaged and was set aside as %s", folder / FILE, aside)
    return aside


def _move(path: Path, to: Path) -> None:
    for part in _PARTS:
        if Path(f"{path}{part}").exists():
            Path(f"{path}{part}").rename(f"{to}{part}")


def _remove(path: Path) -> None:
    for part in _PARTS:
        Path(f"{path}{part}").unlink(missing_ok=True)


def _look_through(job: SqliteJob) -> None:
    try:
        with AS_OURS:
            ((found,),) = job.database.execute("PRAGMA integrity_check(1)")
    except CorruptError as error:
        found = str(error)
    if found != "ok":
        job.close()
        raise CorruptError(found)


def _salvage(damaged: Path, path: Path) -> bool:
    """Write what can be read of a damaged file to a new one; return if any.

    A run killed meanwhile starts over.
    """
    new = path.with_name("job.salvage")
    copy = path.with_name("job.damaged")
    _remove(new)
    _remove(copy)
    with AS_OURS, closing(connect(new, is_synced=False)) as into:
        into.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        salvage = _Salvage(into)
        for part in ("", "-wal"):
            if Path(f"{damaged}{part}").exists():
                shutil.copyfile(f"{damaged}{part}", f"{copy}{part}")
        _renew_first_page(copy, new)
        with (
            closing(sqlite3.connect(copy, isolation_level=None)) as source,
            transaction(into),
        ):
            source.text_factory = bytes
            salvage.copy(source)
            has_any = salvage.end()
        _remove(copy)
    if not has_any:
        _remove(new)
        return False
    new.rename(path)
    _move(damaged, damaged.with_name(damaged.name.replace(_BROKEN, _READ)))
    lost = len(salvage.known - salvage.kept)
    loss = "How many requests are lost is unknown"
    if lost:
        loss = f"At least {lost} requests are lost"
    logger.error(
        "Salvaged from the damaged file: %d waiting requests and %d fingerprints. %s",
        len(salvage.kept),
        salvage.seen,
        loss,
    )
    return True


def _renew_first_page(path: Path, new: Path) -> None:
    """Replace the first page by a new file's: its tables start at the same pages."""
    with path.open("r+b") as file, new.open("rb") as other:
        page = bytearray(other.read(PAGE))
        page[28:32] = (path.stat().st_size // PAGE).to_bytes(4, "big")
        file.write(page)


class _Salvage:
    """Copies what can be read."""

    def __init__(self, into: sqlite3.Connection) -> None:
        self._into = into
        self._lines: dict[str, int] = {}
        self.kept: set[int] = set()  # numbers of the requests that are copied
        self.known: set[int] = set()  # of those that existed, as far as known
        self.seen = 0

    def copy(self, source: sqlite3.Connection) -> None:
        self.known.update(number for (number,) in rows_from_both_ends(source, _INDEX))
        names = dict(readable_rows(source, _LINES))
        for row in readable_rows(source, _REQUESTS):
            self.known.add(row[0])
            self._copy_request(row, names)
        for query, table in _NUMBERS.items():
            rows = (
                row
                for row in readable_rows(source, query)
                if {*map(type, row)} == {int}
            )
            self._into.executemany(f"INSERT OR IGNORE INTO {table}", rows)
        for name, value, checksum in rows_from_both_ends(source, _STATES):
            if isinstance(name, bytes) and is_as_written(value, checksum, crc32(name)):
                state = (
                    name.decode("utf-8", "backslashreplace"),
                    value,
                    crc32(value, crc32(name)),
                )
                self._into.execute(
                    "INSERT OR IGNORE INTO state VALUES (?, ?, ?)", state
                )

    def end(self) -> bool:
        """Write what the requests are of; return whether there is anything."""
        names = ((number, name) for name, number in self._lines.items())
        self._into.executemany("INSERT INTO lines VALUES (?, ?)", names)
        self._into.execute("DELETE FROM state WHERE name = ?", (CLEAN,))
        values = SALVAGED, b"1", crc32(b"1", crc32(SALVAGED.encode()))
        self._into.execute("INSERT OR REPLACE INTO state VALUES (?, ?, ?)", values)
        counts = "SELECT (SELECT count(*) FROM seen) + (SELECT count(*) FROM fresh)"
        (self.seen,) = self._into.execute(counts).fetchone()
        return bool(self.kept or self.seen)

    def _copy_request(self, row: tuple[Any, ...], names: Mapping[int, bytes]) -> None:
        number, line, *place, body, checksum = row
        if number in self.kept or not is_as_written(body, checksum, number):
            return
        about = outline(body)
        if about is None or {*map(type, (line, *place))} != {int}:
            return
        site = site_of(urlsplit(about["url"]))
        name = bytes(names.get(abs(line)) or b"").decode("utf-8", "backslashreplace")
        if site_of_line(name) != site:  # its name is damaged, or the number of the line
            name = site
        of_line = self._lines.setdefault(name, len(self._lines) + 1)
        values = number, of_line, *place, body, crc32(body, number)
        self._into.execute("INSERT INTO requests VALUES (?, ?, ?, ?, ?, ?, ?)", values)
        self.kept.add(number)


_LEAST = -(1 << 63)
_GREATEST = (1 << 63) - 1


def readable_rows(
    database: sqlite3.Connection, query: str
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a damaged file, and skip those that cannot be read.

    The query selects rows from an integer key on, ordered by it.
    """
    at: int | None = _LEAST
    while at is not None:
        try:
            for row in database.execute(query, (at,)):
                if isinstance(row[0], int):
                    yield row
                    at = min(max(at, row[0] + 1), _GREATEST)
        except sqlite3.DatabaseError:  # noqa: PERF203 -- each goes on behind what is broken
            at = _next_readable(database, query, at)
        else:
            return


def _next_readable(database: sqlite3.Connection, query: str, broken: int) -> int | None:
    # The least readable key above a broken one.

    def can(key: int) -> bool:
        with suppress(sqlite3.DatabaseError):
            database.execute(query, (key,)).fetchone()
            return True
        return False

    step = 1
    while broken + step <= _GREATEST and not can(broken + step):
        step *= 2
    if broken + step > _GREATEST:
        return None
    low = broken + step // 2
    high = broken + step
    while high - low > 1:
        middle = (low + high) // 2
        if can(middle):
            high = middle
        else:
            low = middle
    return high


def rows_from_both_ends(
    database: sqlite3.Connection, query: str
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a damaged file from the start, or else from the end.

    The query has ``{0}`` for the direction.
    """
    for direction in ("ASC", "DESC"):
        with suppress(sqlite3.DatabaseError):
            yield from database.execute(query.format(direction))
            return
