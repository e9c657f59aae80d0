"""A file of items that keeps in memory what it cannot write: a full disk loses none.

An exporter writes an item in pieces, and Scrapy drops the item if a write raises. Here
a write that fails is kept, and tried again with the next; only `flush`, which a commit
calls, raises. So the commit fails, no page is acknowledged, and the items are in the
file as soon as there is room. If too much waits, a part is dropped, and the job ends:
the next run crawls its page again.
"""

from __future__ import annotations

import io
import os
from contextlib import suppress
from typing import Any

MOST_HELD = 67_108_864
"""Bytes of all feeds of a crawl that wait for room; a write beyond that raises."""
write_to = os.write
_PIECE = 65_536  # bytes that are collected before they are written


class Held:
    """What all feeds of a crawl hold in memory."""

    def __init__(self) -> None:
        self.total = 0  # bytes


class HeldFile(io.RawIOBase):
    """Writes to a file that is open for appending, in large pieces.

    Closing it leaves the file open: it belongs to a feed's storage.
    """

    def __init__(self, file: io.BufferedWriter, of_all: Held) -> None:
        super().__init__()
        self._file = file
        self._held = bytearray()
        self.of_all = of_all
        """What this file and the others of its crawl hold."""
        self.lost: OSError | None = None
        """Why a part was dropped."""

    @property
    def name(self) -> Any:
        """The path of the file."""
        return self._file.name

    def fileno(self) -> int:
        """Return the file descriptor; what is held is not written to it yet."""
        return self._file.fileno()

    def writable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True: a text encoder asks where it begins."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Write what is held, and return the new position in the file."""
        self.flush()
        return self._file.seek(offset, whence)

    def write(self, part: Any) -> int:
        """Take a part, and write what is held if it is much.

        Raises:
            OSError: it cannot be written, and too much waits.
        """
        if self.of_all.total + len(part) > MOST_HELD:
            try:
                self._write()
            except OSError as error:
                self.lost = error
                raise
        self._held += part
        self.of_all.total += len(part)
        if len(self._held) >= _PIECE:
            with suppress(OSError):
                self._write()
        return len(part)

    def flush(self) -> None:
        """Write all that is held.

        Raises:
            OSError: not all of it can be written.
        """
        if not self._file.closed:
            self._write()

    def _write(self) -> None:
        self._file.flush()
        while self._held:
            written = write_to(self._file.fileno(), self._held)
            del self._held[:written]
            self.of_all.total -= written

    def close(self) -> None:
        """Leave the file open."""
