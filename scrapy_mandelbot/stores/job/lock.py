"""One run at a time in a job: a lock on a file that ends with the process that holds it."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

if sys.platform == "win32":  # pragma: no cover
    import msvcrt

    _BEYOND = 1 << 30  # the byte that is locked: what is written before it can be read

    def _try_lock(file: IO[str]) -> None:
        file.seek(_BEYOND)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _try_lock(file: IO[str]) -> None:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)


class HeldError(Exception):
    """Another run holds the job."""


class JobLock:
    """Held from :meth:`take` until :meth:`release`, or until the process is no more."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[str] | None = None

    def take(self) -> None:
        """Take the lock.

        Raises:
            HeldError: another run has it; the message says which.
            OSError: the file cannot be written.
        """
        file = self._path.open("a+", encoding="utf-8")
        try:
            _try_lock(file)
        except OSError:
            file.seek(0)
            message = f"{self._path.parent} is in use by {_holder(file.read())}"
            file.close()
            raise HeldError(message) from None
        self._file = file
        about = {"process": os.getpid(), "host": socket.gethostname(), "since": time.time()}
        file.seek(0)
        file.truncate()
        file.write(json.dumps(about) + "\n")
        file.flush()

    def release(self) -> None:
        """Let another run have it."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def is_held(self) -> bool:
        """Return whether some run has it now."""
        try:
            with self._path.open("r+", encoding="utf-8") as file:
                _try_lock(file)
        except FileNotFoundError:
            return False
        except OSError:
            return True
        return False


def _holder(text: str) -> str:
    """Return in words who holds a lock, given what was written into its file."""
    try:
        about = json.loads(text)
        since = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(float(about["since"])))
        return f"process {int(about['process'])} on {str(about['host'])[:100]!r} since {since}"
    except (ValueError, LookupError, TypeError, OverflowError, OSError):
        return "another run"
