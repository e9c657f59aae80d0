"""Opens the job of a folder, for a run or a command that changes it.

A damaged file stays as it is: ``scrapy robots job DIR repair`` reads what can be read.
"""

from __future__ import annotations

import logging
from pathlib import Path

from scrapy_mandelbot.job.job_file import AS_OURS, REPAIRED_FILE, CorruptError
from scrapy_mandelbot.job.job_lock import LOCK, JobInUseError, JobLock
from scrapy_mandelbot.job.job_store import JOB_FILE, StorageError
from scrapy_mandelbot.job.sqlite_job import SqliteJob
from scrapy_mandelbot.store.sqlite_file import network_disk

logger = logging.getLogger(__name__)

_QUICKLY = 128 * 1024 * 1024  # bytes of a file that is checked at each start: 0.3 s


def open_locked(folder: Path, *, is_synced: bool) -> tuple[JobLock, SqliteJob]:
    """Lock and open a folder's job; the text of a StorageError is for the log.

    CorruptError: its file is damaged. Nothing was changed.
    """
    lock = take_lock(folder)
    try:
        job = open_job(folder, is_synced=is_synced)
    except CorruptError:
        lock.release()
        raise
    except (StorageError, OSError) as error:
        lock.release()
        raise StorageError(f"{folder / JOB_FILE} cannot be opened: {error}") from error
    if (disk := network_disk(folder)) is not None:
        logger.warning(
            "JOBDIR is on a disk of the network (%s): SQLite's locks are unreliable"
            " there, and the job may be lost. Use a local disk, or MANDELBOT_JOB ="
            " 'redis://…'",
            disk,
        )
    return lock, job


def take_lock(folder: Path) -> JobLock:
    """Lock a folder; StorageError: another run has it, or it cannot be written."""
    lock = JobLock(folder / LOCK)
    try:
        lock.take()
    except JobInUseError as error:
        raise StorageError(f"{error}: two runs cannot share a JOBDIR") from None
    except OSError as error:
        lock.release()
        raise StorageError(f"JOBDIR cannot be written: {error}") from error
    return lock


def open_job(folder: Path, *, is_synced: bool = False) -> SqliteJob:
    """Open the job of a folder; CorruptError: its file is damaged."""
    path = folder / JOB_FILE
    if not path.exists() and (folder / REPAIRED_FILE).exists():
        raise CorruptError("its repair was interrupted")
    is_small = path.exists() and path.stat().st_size <= _QUICKLY
    job = SqliteJob(path, is_synced=is_synced)
    if is_small:
        look_through(job)
    return job


def look_through(job: SqliteJob) -> None:
    """Read the whole file; CorruptError: it is damaged, and closed."""
    try:
        with AS_OURS:
            ((found,),) = job.database.execute("PRAGMA integrity_check(1)")
    except CorruptError as error:
        found = str(error)
    if found != "ok":
        job.close()
        raise CorruptError(found)
