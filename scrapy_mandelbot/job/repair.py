"""``scrapy robots job DIR repair``: replaces a damaged file by what can be read of it.

No run does this: what is lost is for a person to see.
"""

from __future__ import annotations

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
    REPAIRED_FILE,
    CorruptError,
    connect,
    is_as_written,
)
from scrapy_mandelbot.job.job_store import JOB_FILE, StorageError
from scrapy_mandelbot.job.opened_job import Repair
from scrapy_mandelbot.job.opening import look_through, open_job, take_lock
from scrapy_mandelbot.job.outline import outline
from scrapy_mandelbot.job.site_states import site_of_line
from scrapy_mandelbot.job.sqlite_job import CLEAN, SqliteJob
from scrapy_mandelbot.store.sqlite_file import transaction

_DAMAGED = f"{JOB_FILE}.damaged-"
_COPY = "job.damaged"  # of the damaged file, while it is read
_PARTS = "", "-wal", "-shm"
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


def repair(folder: Path) -> Repair | None:
    """Replace a damaged file by what can be read of it; None: it is whole.

    StorageError: a run has the job, or nothing can be read. Then nothing is changed. A
    repair that was killed is done again.
    """
    lock = take_lock(folder)
    try:
        path = folder / JOB_FILE
        new = folder / REPAIRED_FILE
        if not path.exists() and new.exists():  # killed between the last two steps
            return _put_in_place(folder, None)
        if _is_whole(folder):
            return None
        salvage = _salvage(path, new)
        if salvage is None:
            raise StorageError(
                f"nothing can be read of {path}; it stays as it is. Delete the folder"
                " to begin anew"
            )
        return _put_in_place(folder, salvage)
    finally:
        lock.release()


def _is_whole(folder: Path) -> bool:
    try:
        job = open_job(folder)
        look_through(job)
    except CorruptError:
        return False
    job.close()
    return True


def _put_in_place(folder: Path, salvage: _Salvage | None) -> Repair:
    """Set the damaged file aside, with its log, and give the new one its name."""
    aside = folder / f"{_DAMAGED}{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}"
    _move(folder / JOB_FILE, aside)
    (folder / REPAIRED_FILE).rename(folder / JOB_FILE)
    if salvage is None:
        job = SqliteJob(folder / JOB_FILE)
        waiting = sum(job.lengths().values())
        seen = job.count_seen()
        job.close()
        return Repair(aside, waiting, seen, None)
    lost = len(salvage.known - salvage.kept)
    return Repair(aside, len(salvage.kept), salvage.seen, lost or None)


def _move(path: Path, to: Path) -> None:
    for part in _PARTS:
        if Path(f"{path}{part}").exists():
            Path(f"{path}{part}").rename(f"{to}{part}")


def _remove(path: Path) -> None:
    for part in _PARTS:
        Path(f"{path}{part}").unlink(missing_ok=True)


def _salvage(damaged: Path, new: Path) -> _Salvage | None:
    """Write what can be read of a damaged file to a new one; None: nothing can."""
    copy = new.with_name(_COPY)
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
    if has_any:
        return salvage
    _remove(new)
    return None


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
