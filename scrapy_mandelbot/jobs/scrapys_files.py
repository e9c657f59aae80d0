"""The files in which Scrapy keeps a job, as far as they can be read, a killed run's too.

Source: queuelib 1.10, ``queue.py``; Scrapy 2.19, ``pqueues.py``, ``squeues.py`` and
``dupefilters.py``.
"""

from __future__ import annotations

import json
import marshal
import mmap
import pickle
import re
import sqlite3
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

QUEUE, SEEN = "requests.queue", "requests.seen"
_QUEUE_NAME = re.compile(r"-?\d+s?")  # a priority; those of start requests end in an s
_SIZE = 4  # octets of a length, and of the number of records at the begin of a LIFO queue
_TORN = 100_000  # octets at an end that may be a part of a record
_HEX_LINE = re.compile(rb"[0-9a-f]{2,}\r?\n")


@dataclass
class Left:
    """What was found beside the requests."""

    was_closed: bool = True
    """Whether the run that left it wrote all of it: if not, what was in flight is nowhere."""
    unreadable: list[str] = field(default_factory=list)
    """What could not be read: files, or parts of them."""


def read_queues(folder: Path, left: Left) -> Iterator[bytes]:
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


def _read_last_first(path: Path, left: Left) -> Iterator[bytes]:
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


def _read_first_first(folder: Path, left: Left) -> Iterator[bytes]:
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
    database = sqlite3.connect(path)
    try:
        for (item,) in database.execute("SELECT item FROM queue ORDER BY id"):
            yield bytes(item)
    finally:
        database.close()
