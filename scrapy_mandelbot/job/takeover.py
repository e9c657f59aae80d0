"""Takes over, once, what Scrapy's own scheduler has left in a JOBDIR, or a damaged file of ours."""

from __future__ import annotations

import json
import logging
import marshal
import mmap
import pickle
import re
import shutil
import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from zlib import crc32

from scrapy.utils.request import request_from_dict

from scrapy_mandelbot.job.job_file import PAGE, CorruptError, as_ours, connect, is_as_written
from scrapy_mandelbot.job.requests import fingerprint_number, outline
from scrapy_mandelbot.job.site_states import site_of_line
from scrapy_mandelbot.job.sqlite_job import CLEAN, SqliteJob
from scrapy_mandelbot.robots.formatting import counted, shown
from scrapy_mandelbot.robots.origins import site_of
from scrapy_mandelbot.store.sqlite_file import readable_rows, rows_from_both_ends, transaction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from scrapy import Request, Spider

QUEUE, SEEN = "requests.queue", "requests.seen"
_QUEUE_NAME = re.compile(r"-?\d+s?")  # a priority; those of start requests end in an s
_SIZE = 4  # octets of a length, and of the number of records at the begin of a LIFO queue
_TORN = 100_000  # octets at an end that may be a part of a record
_HEX_LINE = re.compile(rb"[0-9a-f]{2,}\r?\n")


@dataclass
class ScrapyJobDir:
    """What was found beside the requests."""

    was_closed: bool = True
    """Whether the run that left it wrote all of it: if not, what was in flight is nowhere."""
    unreadable: list[str] = field(default_factory=list)
    """What could not be read: files, or parts of them."""


def read_queues(folder: Path, left: ScrapyJobDir) -> Iterator[bytes]:
    """Yield each request as Scrapy has written it, those of a queue in the order of their pushes.

    Args:
        folder: of the queues.
        left: told what is found beside them.
    """
    if not folder.exists():
        return
    if not (folder / "active.json").exists():
        left.was_closed = False
    for path in sorted(folder.rglob("*")):
        if not _QUEUE_NAME.fullmatch(path.name):
            continue
        try:
            if path.is_dir():
                yield from _read_first_first(path, left)
            elif path.read_bytes()[:16] == b"SQLite format 3\0":
                yield from _read_sqlite(path)
            else:
                yield from _read_last_first(path, left)
        except (OSError, ValueError, LookupError, TypeError, sqlite3.Error) as error:
            left.unreadable.append(f"{path} ({error})")


def read_request(octets: bytes) -> dict[str, Any]:
    """Return a request in the form of ``Request.to_dict()``.

    Raises:
        Exception: any, as whatever it holds is made.
    """
    try:
        read = pickle.loads(octets)  # noqa: S301 -- the project's own files, as Scrapy reads them
    except pickle.UnpicklingError:
        read = marshal.loads(octets)  # noqa: S302 -- as above
    if not isinstance(read, dict):
        raise TypeError(f"{read!r:.100} is no request")
    return read


def read_seen(path: Path) -> Iterator[bytes]:
    """Yield the fingerprints of a dupe filter, up to where the file breaks off."""
    if not path.exists():
        return
    with path.open("rb") as file:
        is_text = _HEX_LINE.match(file.read(200)) is not None  # before Scrapy 2.17
        file.seek(0)
        if is_text:
            for line in file:
                if _HEX_LINE.fullmatch(line) and not len(line.strip()) % 2:
                    yield bytes.fromhex(line.decode())
            return
        while len(size := file.read(2)) == 2:  # noqa: PLR2004 -- octets of a length
            fingerprint = file.read(int.from_bytes(size, "big"))
            if len(fingerprint) == int.from_bytes(size, "big"):
                yield fingerprint


def _read_last_first(path: Path, left: ScrapyJobDir) -> Iterator[bytes]:
    """Read a queue whose lengths stand behind the records: from its end."""
    if path.stat().st_size <= _SIZE:
        return
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as octets:
        end = len(octets)
        for torn in range(min(_TORN, end - _SIZE)):
            records = _records_from_end(octets, end - torn)
            if records is not None:
                break
        else:
            left.unreadable.append(str(path))
            return
        if torn:
            left.unreadable.append(f"the end of {path}")
        if len(records) != int.from_bytes(octets[:_SIZE], "big"):
            left.was_closed = False  # the number is written when the queue is closed
        for begin, size in reversed(records):
            yield octets[begin : begin + size]


def _records_from_end(octets: mmap.mmap, end: int) -> list[tuple[int, int]] | None:
    """Return where records begin and how long they are, the last first; None: none end there."""
    records = []
    while end > _SIZE:
        size = int.from_bytes(octets[end - _SIZE : end], "big")
        end -= _SIZE + size
        if end < _SIZE or not size:
            return None
        records.append((end, size))
    return records if end == _SIZE else None


def _read_first_first(folder: Path, left: ScrapyJobDir) -> Iterator[bytes]:
    """Read a queue of chunks, whose lengths stand before the records."""
    chunks = sorted(folder.glob("q*"))
    number, offset = 0, 0
    try:
        number, _, offset = json.loads((folder / "info.json").read_text())["tail"]
    except FileNotFoundError:
        left.was_closed = False  # where it has been read to is written when the queue is closed
    for chunk in chunks:
        if int(chunk.name[1:]) < number:
            continue
        with chunk.open("rb") as file:
            file.seek(offset if int(chunk.name[1:]) == number else 0)
            while len(size := file.read(_SIZE)) == _SIZE:
                record = file.read(int.from_bytes(size, "big"))
                if len(record) < int.from_bytes(size, "big"):
                    left.unreadable.append(f"the end of {chunk}")
                    break
                yield record


def _read_sqlite(path: Path) -> Iterator[bytes]:
    with closing(sqlite3.connect(path)) as database:
        for (item,) in database.execute("SELECT item FROM queue ORDER BY id"):
            yield bytes(item)


logger = logging.getLogger(__name__)

_STATE, _ALL = "taken over", b"all"
_SLICE = 2_000  # requests a commit
_MANY = 500_000  # fingerprints a commit
_NAMED = 10


def take_over(
    folder: Path, store: SqliteJob, spider: Spider, push: Callable[[Request], None]
) -> None:
    """Have the job hold what Scrapy's files hold, and put those aside.

    A run that is killed within goes on with it the next time, and takes nothing twice.

    Args:
        folder: JOBDIR.
        store: the job.
        spider: whose methods the callbacks are.
        push: adds a request to the job.

    Raises:
        CannotKeepError: the job cannot be written.
        OSError: Scrapy's files cannot be read, or put aside.
    """
    if not (folder / QUEUE).exists() and not (folder / SEEN).exists():
        return
    before = store.get_state(_STATE) or b"0"
    if before != _ALL:
        _take_over(folder, store, spider, push, int(before))
    for name in (QUEUE, SEEN):
        if (folder / name).exists():
            (folder / name).rename(_aside(folder / name))
    store.put_state(_STATE, None)
    store.commit()


def _take_over(
    folder: Path, store: SqliteJob, spider: Spider, push: Callable[[Request], None], done: int
) -> None:
    seen = map(fingerprint_number, read_seen(folder / SEEN))
    known = 0
    while many := list(islice(seen, _MANY)):
        store.see_all(many)
        known += len(many)
    left, number, taken = ScrapyJobDir(), 0, 0
    for number, octets in enumerate(read_queues(folder / QUEUE, left), start=1):
        if number <= done:
            continue
        try:
            push(request_from_dict(read_request(octets), spider=spider))
        except Exception as error:  # noqa: BLE001 -- whatever a changed spider leads to
            left.unreadable.append(f"request {number} ({shown(repr(error))})")
        else:
            taken += 1
        if not number % _SLICE:
            store.put_state(_STATE, str(number).encode())
            store.commit()
    store.put_state(_STATE, _ALL)
    store.commit()
    requests, marks = counted(taken, "request"), counted(known, "fingerprint")
    logger.info("Took over a job of Scrapy's: %s queued, %s", requests, marks)
    if not left.was_closed:
        logger.warning(
            "The run that left %s did not close it. What was in flight then is written nowhere: it"
            " is lost, and of the %d fingerprints it cannot be said which are of those.",
            folder,
            known,
        )
    if left.unreadable:
        logger.warning(
            "%d parts of a job of Scrapy's cannot be read, and are kept beside it: %s%s",
            len(left.unreadable),
            ", ".join(left.unreadable[:_NAMED]),
            ", …" if len(left.unreadable) > _NAMED else "",
        )


def _aside(path: Path) -> Path:
    aside = Path(f"{path}.taken-over")
    if aside.exists():
        aside = Path(f"{aside}-{time.time():.0f}")
    return aside


FILE = "job.sqlite"
_BROKEN, _READ = f"{FILE}.corrupt-", f"{FILE}.salvaged-"
_PARTS = "", "-wal", "-shm"
_QUICKLY = 128 * 1024 * 1024
"""Bytes of a file that is looked through when it is opened: that takes 0.3 s."""
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
    "SELECT * FROM children WHERE parent >= ? ORDER BY parent": "children VALUES (?, ?, ?)",
}


def open_job(folder: Path, *, is_synced: bool = False) -> SqliteJob:
    """Open the job of a folder; in place of a damaged file, one that has what can be read of it.

    Raises:
        CorruptError: nothing can be read of it. It is set aside, and the next run begins anew.
        CannotKeepError: it cannot be opened.
        OSError: what can be read of it cannot be written.
    """
    path = folder / FILE
    try:
        left = sorted(folder.glob(f"{_BROKEN}*[0-9]"))
        if left and not path.exists() and not _salvage(left[-1], path):
            names = ", ".join(map(str, left))
            logger.warning("The job begins from nothing, as its file was broken: %s", names)
        is_known = path.exists() and path.stat().st_size <= _QUICKLY
        job = SqliteJob(path, is_synced=is_synced)
        if is_known:
            _look_through(job)
    except CorruptError as error:
        aside = set_aside(folder)
        if not _salvage(aside, path):
            raise CorruptError(f"{path} is broken ({error}) and is set aside as {aside}") from error
        job = SqliteJob(path, is_synced=is_synced)
    return job


def set_aside(folder: Path) -> Path:
    """Put a broken file where no run takes it for its own; return where."""
    aside = folder / f"{_BROKEN}{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}"
    _move(folder / FILE, aside)
    logger.error("%s is broken, and is set aside as %s", folder / FILE, aside)
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
        with as_ours():
            ((found,),) = job.database.execute("PRAGMA integrity_check(1)")
    except CorruptError as error:
        found = str(error)
    if found != "ok":
        job.close()
        raise CorruptError(found)


def _salvage(damaged: Path, path: Path) -> bool:
    """Make a new file of what can be read of a damaged one; return whether that is anything.

    A run that is killed within begins with it again.
    """
    new, copy = path.with_name("job.salvage"), path.with_name("job.damaged")
    _remove(new)
    _remove(copy)
    with as_ours(), closing(connect(new, is_synced=False)) as into:
        into.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        salvage = _Salvage(into)
        for part in ("", "-wal"):
            if Path(f"{damaged}{part}").exists():
                shutil.copyfile(f"{damaged}{part}", f"{copy}{part}")
        _renew_first_page(copy, new)
        with closing(sqlite3.connect(copy, isolation_level=None)) as source, transaction(into):
            source.text_factory = bytes
            salvage.copy(source)
            has_any = salvage.end()
        _remove(copy)
    if not has_any:
        _remove(new)
        return False
    new.rename(path)
    _move(damaged, damaged.with_name(damaged.name.replace(_BROKEN, _READ)))
    logger.error(
        "What can be read of the broken file is kept: %d requests that wait, and %d fingerprints."
        " Lost are at least %d requests",
        len(salvage.kept),
        salvage.seen,
        len(salvage.known - salvage.kept),
    )
    return True


def _renew_first_page(path: Path, new: Path) -> None:
    """Give a file the first page of a new one: the tables begin at the same pages in each."""
    with path.open("r+b") as file, new.open("rb") as other:
        page = bytearray(other.read(PAGE))
        page[28:32] = (path.stat().st_size // PAGE).to_bytes(4, "big")
        file.write(page)


class _Salvage:
    """Copies what can be read."""

    def __init__(self, into: sqlite3.Connection) -> None:
        self._into = into
        self._lines: dict[str, int] = {}
        self.kept: set[int] = set()
        """Numbers of the requests that are copied."""
        self.known: set[int] = set()
        """Of those that there were, as far as that can be told."""
        self.seen = 0

    def copy(self, source: sqlite3.Connection) -> None:
        """Copy what a file has that was not there yet."""
        self.known.update(number for (number,) in rows_from_both_ends(source, _INDEX))
        names = dict(readable_rows(source, _LINES))
        for row in readable_rows(source, _REQUESTS):
            self.known.add(row[0])
            self._copy_request(row, names)
        for query, table in _NUMBERS.items():
            rows = (row for row in readable_rows(source, query) if {*map(type, row)} == {int})
            self._into.executemany(f"INSERT OR IGNORE INTO {table}", rows)
        for name, value, checksum in rows_from_both_ends(source, _STATES):
            if isinstance(name, bytes) and is_as_written(value, checksum, crc32(name)):
                state = name.decode("utf-8", "backslashreplace"), value, crc32(value, crc32(name))
                self._into.execute("INSERT OR IGNORE INTO state VALUES (?, ?, ?)", state)

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
        about = outline(body) if is_as_written(body, checksum, number) else None
        if about is None or number in self.kept or {*map(type, (line, *place))} != {int}:
            return
        site = site_of(urlsplit(about["url"]))
        name = bytes(names.get(abs(line)) or b"").decode("utf-8", "backslashreplace")
        if site_of_line(name) != site:  # its name is damaged, or the number of the line
            name = site
        of_line = self._lines.setdefault(name, len(self._lines) + 1)
        values = number, of_line, *place, body, crc32(body, number)
        self._into.execute("INSERT INTO requests VALUES (?, ?, ?, ?, ?, ?, ?)", values)
        self.kept.add(number)
