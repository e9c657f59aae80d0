"""Locks the folder of a job: two runs cannot share one."""

from __future__ import annotations

import json
import logging
import os
import socket
import sys
import time
from pathlib import Path
from typing import IO
from weakref import WeakSet

from scrapy_mandelbot.job.job_store import StorageError
from scrapy_mandelbot.time_text import clock_time

LOCK = "job.lock"

logger = logging.getLogger(__name__)

_LONGEST = 10_000  # characters of a lock's file that are read


if sys.platform == "win32":  # pragma: no cover
    import msvcrt

    _BEYOND = 1 << 30  # the byte that is locked: what is written before it can be read

    def _try_lock(file: IO[str]) -> bool:
        """Lock a file unless another process has; OSError: this disk has no locks."""
        file.seek(_BEYOND)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

else:
    import fcntl

    def _try_lock(file: IO[str]) -> bool:
        """Lock a file unless another process has; OSError: this disk has no locks."""
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


class JobInUseError(StorageError):
    """Another run uses the job."""

    ends_run = "job_unreadable"


class JobLock:
    """Held from :meth:`take` until :meth:`release`, or until the process ends.

    A child that the process forks does not hold it: it may outlive the process.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[str] | None = None
        self._known: os.stat_result | None = None  # of the file, where it is taken
        # set when another run has taken it, as its file was removed
        self._lost_to: JobInUseError | None = None

    def take(self) -> None:
        """Take the lock; JobInUseError names the run that has it.

        A disk without locks causes a warning: stock Scrapy runs there, too.
        """
        file = self._path.open("a+", encoding="utf-8", errors="replace")
        try:
            is_free = _try_lock(file)
        except OSError as error:
            logger.warning(
                "%s cannot be locked (%s): two runs in it would not notice each other",
                self._path.parent,
                error,
            )
            is_free = True
        if not is_free:
            file.seek(0)
            message = f"{self._path.parent} is in use by {_holder(file.read(_LONGEST))}"
            file.close()
            raise JobInUseError(message)
        self._file = file
        self._known = os.fstat(file.fileno())
        _held.add(self)
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
        _held.discard(self)
        if self._file is not None:
            self._file.close()
            self._file = None

    def is_held(self) -> bool:
        """Return whether a process has the lock, as far as this one can find out."""
        try:
            file = self._path.open("r+", encoding="utf-8")
        except FileNotFoundError:
            return False
        except OSError:
            return True
        with file:
            try:
                return not _try_lock(file)
            except OSError:  # no locks on this disk
                return False

    def keep(self) -> None:
        """Take the lock anew if its file was removed, before another run takes it.

        JobInUseError: another run was faster, now or before.
        """
        if self._lost_to is not None:
            raise self._lost_to
        assert self._known is not None  # noqa: S101 -- it was taken
        if is_file(self._path, self._known) or self.has_moved():
            return
        self.release()
        try:
            self.take()
        except JobInUseError as error:
            self._lost_to = error
            raise
        logger.warning("%s was removed, and is written again", self._path)

    def has_moved(self) -> bool:
        """Return whether the lock's file is in another place, as with its folder."""
        if self._file is None:
            return False
        known = os.fstat(self._file.fileno())
        return known.st_nlink > 0 and not is_file(self._path, known)


_held: WeakSet[JobLock] = WeakSet()


def _release_in_child() -> None:
    for lock in list(_held):
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_release_in_child)


def is_file(path: Path, known: os.stat_result) -> bool:
    """Return whether a path still leads to a known file."""
    try:
        found = os.stat(path)  # noqa: PTH116 -- at each commit
    except OSError:
        return False
    return (found.st_ino, found.st_dev) == (known.st_ino, known.st_dev)


_NO_HOLDER = (
    ArithmeticError,
    LookupError,
    OSError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What another text leads to."""


def _holder(text: str) -> str:
    """Return which run has the lock, from what it wrote to the file."""
    try:
        about = json.loads(text)
        process = int(about["process"])
        since = clock_time(float(about["since"]))
        host = str(about["host"])[:100]
    except _NO_HOLDER:
        return "another run"
    if host == socket.gethostname() and not _lives(process):
        return f"a process that outlived process {process}, which has ended"
    return f"process {process} on {host!r} since {since}"


def _lives(process: int) -> bool:
    """Return whether a process of this machine lives; True where nobody can say."""
    if sys.platform == "win32":  # pragma: no cover -- signal 0 is Ctrl-C there
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # it is another user's
        return True
    return True
