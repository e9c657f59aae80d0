"""Imports, once, what Scrapy's own scheduler stored in a JOBDIR."""

from __future__ import annotations

import json
import logging
import marshal
import mmap
import pickle
import re
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mandelbot.formatting import counted, shown
from scrapy.utils.request import request_from_dict

from scrapy_mandelbot.job.requests import fingerprint_number, load_plain

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_mandelbot.job.requests import RequestForm
    from scrapy_mandelbot.job.sqlite_job import SqliteJob

QUEUE = "requests.queue"
SEEN = "requests.seen"
_QUEUE_NAME = re.compile(r"-?\d+s?")  # a priority; those of start requests end in an s
# octets of a length, and of the number of records at the begin of a LIFO queue
_SIZE = 4
_TORN = 100_000  # octets at an end that may be a part of a record
_SQLITE = b"SQLite format 3\0"  # how a file of SQLite begins
_HEX_LINE = re.compile(rb"[0-9a-f]{2,}\r?\n")


@dataclass
class ScrapyJobDir:
    """What was found beside the requests."""

    was_closed: bool = True  # else what was in flight is nowhere
    unreadable: list[str] = field(default_factory=list)  # files, or parts of them


def read_queues(folder: Path, left: ScrapyJobDir) -> Iterator[bytes]:
    """Yield each request as Scrapy wrote it, in the order in which it was pushed."""
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
            elif _is_sqlite(path):
                yield from _read_sqlite(path)
            else:
                yield from _read_last_first(path, left)
        except (OSError, ValueError, LookupError, TypeError, sqlite3.Error) as error:
            left.unreadable.append(f"{path} ({error})")


def read_request(octets: bytes, load: Callable[[bytes], Any]) -> dict[str, Any]:
    """Return a request as ``Request.to_dict()`` does; its objects may raise."""
    try:
        read = load(octets)
    except pickle.UnpicklingError:
        if load is load_plain:
            raise
        read = marshal.loads(octets)  # noqa: S302 -- as above
    if not isinstance(read, dict):
        raise TypeError(f"{read!r:.100} is no request")
    return read


def read_seen(path: Path) -> Iterator[bytes]:
    """Yield the fingerprints of a dupe filter, up to where the file is truncated."""
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


def _is_sqlite(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


def _read_sqlite(path: Path) -> Iterator[bytes]:
    """Read a queue of Scrapy 2.19 or newer: its rows are numbered as they were pushed.

    SQLite undoes what a kill has interrupted, in a file beside it.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        for (item,) in database.execute("SELECT item FROM queue ORDER BY id"):
            yield bytes(item)


def _read_last_first(path: Path, left: ScrapyJobDir) -> Iterator[bytes]:
    """Read a queue whose lengths stand behind the records: from its end."""
    if path.stat().st_size <= _SIZE:
        return
    with (
        path.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as octets,
    ):
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
    # Offsets and sizes, the last first; None: no record ends there.
    records = []
    while end > _SIZE:
        size = int.from_bytes(octets[end - _SIZE : end], "big")
        end -= _SIZE + size
        if end < _SIZE or not size:
            return None
        records.append((end, size))
    if end != _SIZE:
        return None
    return records


def _read_first_first(folder: Path, left: ScrapyJobDir) -> Iterator[bytes]:
    """Read a queue of chunks, whose lengths stand before the records."""
    chunks = sorted(folder.glob("q*"))
    number = 0
    offset = 0
    try:
        number, _, offset = json.loads((folder / "info.json").read_text())["tail"]
    except FileNotFoundError:
        # where it has been read to is written when the queue is closed
        left.was_closed = False
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


logger = logging.getLogger(__name__)

_STATE = "taken over"
_ALL = b"all"
_SLICE = 2_000  # requests a commit
_MANY = 500_000  # fingerprints a commit
_NAMED = 10


def take_over(
    folder: Path, store: SqliteJob, form: RequestForm, push: Callable[[Request], None]
) -> None:
    """Push what Scrapy's files in JOBDIR hold into the job, and put those aside.

    After a kill the next run resumes, and takes nothing twice.
    """
    if not (folder / QUEUE).exists() and not (folder / SEEN).exists():
        return
    before = store.states.get(_STATE) or b"0"
    if before != _ALL:
        _take_over(folder, store, form, push, int(before))
    for name in (QUEUE, SEEN):
        if (folder / name).exists():
            (folder / name).rename(_aside(folder / name))
    store.states.put(_STATE, None)
    store.commit()


def _take_over(
    folder: Path,
    store: SqliteJob,
    form: RequestForm,
    push: Callable[[Request], None],
    done: int,
) -> None:
    seen = map(fingerprint_number, read_seen(folder / SEEN))
    known = 0
    while many := list(islice(seen, _MANY)):
        store.see_all(many)
        known += len(many)
    left = ScrapyJobDir()
    number = 0
    taken = 0
    for number, octets in enumerate(read_queues(folder / QUEUE, left), start=1):
        if number <= done:
            continue
        try:
            push(request_from_dict(read_request(octets, form.load), spider=form.spider))
        except Exception as error:  # noqa: BLE001 -- whatever a changed spider leads to
            left.unreadable.append(f"request {number} ({shown(repr(error))})")
        else:
            taken += 1
        if not number % _SLICE:
            store.states.put(_STATE, str(number).encode())
            store.commit()
    store.states.put(_STATE, _ALL)
    store.commit()
    requests = counted(taken, "request")
    marks = counted(known, "fingerprint")
    logger.info("Took over a job of Scrapy's: %s queued, %s", requests, marks)
    if not left.was_closed:
        logger.warning(
            "The run that left %s did not close it. What was in flight then is written"
            " nowhere: it is lost, and of the %d fingerprints it cannot be said which"
            " are of those.",
            folder,
            known,
        )
    if left.unreadable:
        logger.warning(
            "%d parts of a job of Scrapy's cannot be read, and are kept beside it:"
            " %s%s",
            len(left.unreadable),
            ", ".join(left.unreadable[:_NAMED]),
            ", …" if len(left.unreadable) > _NAMED else "",
        )


def _aside(path: Path) -> Path:
    aside = Path(f"{path}.taken-over")
    if aside.exists():
        aside = Path(f"{aside}-{time.time():.0f}")
    return aside
