"""The ledger on disk: a file that lines are appended to, and copies by hash in a folder beside it.

Each line is one write, so that a process that is killed leaves whole lines, but perhaps the last:
the next run mends that. Copies are written under another name first: one that is there is whole.
"""

from __future__ import annotations

import logging
import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.robots.formatting import counted
from scrapy_mandelbot.robots.preferences.ledger import NO_LINE, digest_of, line_of, read_line

if TYPE_CHECKING:
    from collections.abc import Iterator

logger = logging.getLogger(__name__)

_BLOCK = 65_536  # bytes read at a time, backwards


class LedgerFile:
    """A ledger that is appended to. Holds nothing in memory but the hash of its last line.

    Processes may share it, but on Windows.

    Raises:
        OSError: from any method, as the disk has it.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.lines = 0
        """How many it has."""
        self.head = NO_LINE
        """The hash of the last one."""
        self._size = 0
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            with self._alone():
                torn = mend(self._file)
                self._look_at_end()
        except OSError:
            os.close(self._file)
            raise
        if torn:
            logger.warning(
                "Took away %s of the last line of %s, which was broken off",
                counted(torn, "byte"),
                self.path,
            )

    def write(self, entry: dict[str, Any]) -> None:
        """Append a line, all of it or nothing."""
        with self._alone():
            if os.fstat(self._file).st_size != self._size:  # another process has written
                self._look_at_end()
            line = line_of(entry, self.lines + 1, self.head)
            written = os.write(self._file, line)
            if written != len(line):  # the disk is full: half a line is none
                os.ftruncate(self._file, self._size)
                raise OSError(f"{self.path}: {written} of {len(line)} bytes could be written")
            self._size += written
            self.lines += 1
            self.head = digest_of(line[:-1])

    def _look_at_end(self) -> None:
        """Find out the number and the hash of the last line."""
        self._size = os.fstat(self._file).st_size
        if not self._size:
            self.lines, self.head = 0, NO_LINE
            return
        start = _last_line(self._file, self._size - 1)
        os.lseek(self._file, start, os.SEEK_SET)
        line = b""
        while piece := os.read(self._file, _BLOCK):
            line += piece
        self.head = digest_of(line[:-1])
        number = (read_line(line) or {}).get("number")
        # Lines of version 1 have no number.
        self.lines = number if isinstance(number, int) else sum(1 for _ in lines_of(self.path))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Have no other process write at the same time."""
        if sys.platform == "win32":  # pragma: no cover
            yield
            return
        import fcntl  # noqa: PLC0415 - not there on Windows

        fcntl.flock(self._file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def keep(self, body: bytes) -> str:
        """Keep a copy, if it is not there yet, and return its SHA-256."""
        digest = digest_of(body)
        place = copy_path(self.path, digest)
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            draft = place.with_name(f"{place.name}.{os.getpid()}")
            draft.write_bytes(body)
            draft.replace(place)
        return digest

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)


def copy_path(ledger: Path, digest: str) -> Path:
    """Return where the copy of that SHA-256 is: ``ledger.jsonl.copies/ab/ab12…``."""
    return ledger.with_name(f"{ledger.name}.copies") / digest[:2] / digest


def kept_copy(ledger: Path, digest: str) -> bytes | None:
    """Return the copy of that SHA-256; None: there is none, or the digest is none."""
    if len(digest) != 64 or not digest.isalnum():  # noqa: PLR2004 - as SHA-256 is written
        return None
    try:
        return copy_path(ledger, digest).read_bytes()
    except FileNotFoundError:
        return None


def lines_of(ledger: Path) -> Iterator[bytes]:
    """Yield the lines of a ledger, without their ends."""
    with ledger.open("rb") as file:
        for line in file:
            yield line.rstrip(b"\n")


def mend(file: int) -> int:
    """Take a torn last line away, or end it where only its end is missing; return its bytes."""
    size = os.fstat(file).st_size
    start = _last_line(file, size)
    if start == size:
        return 0
    os.lseek(file, start, os.SEEK_SET)
    last = b""
    while piece := os.read(file, _BLOCK):
        last += piece
    if read_line(last) is not None:
        os.write(file, b"\n")
        return 0
    os.ftruncate(file, start)
    return size - start


def _last_line(file: int, size: int) -> int:
    """Return where the line begins that the file ends within; its size: it ends after one."""
    end = size
    while end:
        start = max(0, end - _BLOCK)
        os.lseek(file, start, os.SEEK_SET)
        newline = os.read(file, end - start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0
