"""Locks the folder of a job: two runs cannot share one."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from pathlib import Path
from typing import IO

from scrapy_mandelbot.job.job_store import StorageError
from scrapy_mandelbot.time_text import clock_time

LOCK = "job.lock"


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


class JobInUseError(StorageError):
    """Another run uses the job."""


class JobLock:
    """Held from :meth:`take` until :meth:`release`, or until the process ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[str] | None = None

    def take(self) -> None:
        """Take the lock; JobInUseError names the run that has it."""
        file = self._path.open("a+", encoding="utf-8")
        try:
            _try_lock(file)
        except OSError:
            file.seek(0)
            message = f"{self._path.parent} is in use by {_holder(file.read())}"
            file.close()
            raise JobInUseError(message) from None
        self._file = file
        about = {
            "process": os.getpid(),
            "host": socket.gethostname(),
            "since": time.time(),
        }
        file.seek(0)
        file.truncate()
        file.write(json.dumps(about) + "\n")
        file.flush()

    def release(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def is_held(self) -> bool:
        try:
            with self._path.open("r+", encoding="utf-8") as file:
                _try_lock(file)
        except FileNotFoundError:
            return False
        except OSError:
            return True
        return False


def _holder(text: str) -> str:
    try:
        about = json.loads(text)
        since = clock_time(float(about["since"]))
        return (
            f"process {int(about['process'])} on {str(about['host'])[:100]!r} since"
            f" {since}"
        )
    except (ValueError, LookupError, TypeError, OverflowError, OSError):
        return "another run"
