"""Opens, writes and salvages files of SQLite: the store's and the job's."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_LASTING_FAULTS = ("malformed", "not a database", "no such table", "no such column")


@contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """Write everything within at once, or nothing."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        # SQLite has rolled back by itself where the disk is full
        with suppress(sqlite3.Error):
            database.execute("ROLLBACK")
        raise


def check_is_regular(path: Path) -> None:
    """Raise OperationalError for a pipe or a device: opening it may wait for ever."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise sqlite3.OperationalError(f"{path} is not a regular file")


def open_file(  # noqa: PLR0913 -- all that files differ in
    path: Path,
    schema: str,
    is_new: Callable[[sqlite3.Connection], bool],
    *,
    busy: float,
    is_synced: bool = False,
    page_size: int | None = None,
) -> sqlite3.Connection:
    """Open a file, and create its tables where it is new.

    `schema` creates its tables and sets its ``user_version``. `is_new` returns whether
    the file has no tables yet, and raises for another program's file, or one in another
    version of the format. `busy`: seconds that the crawl may stand still while another
    process writes. `is_synced`: a commit is on the disk when it returns, and outlasts a
    power cut.
    """
    check_is_regular(path)
    # One thread uses it at a time, though `scrapy shell` may set it up in another.
    database = sqlite3.connect(
        path, timeout=busy, isolation_level=None, check_same_thread=False
    )
    # What is no UTF-8 was not written here; it must not hide the rows beside it.
    database.text_factory = lambda octets: octets.decode("utf-8", "backslashreplace")
    try:
        if page_size is not None:
            database.execute(f"PRAGMA page_size = {page_size}")
        # Readers and the writer do not wait for each other.
        # a read-only file stays in the mode it has
        with suppress(sqlite3.OperationalError):
            database.execute("PRAGMA journal_mode = WAL")
        database.execute(f"PRAGMA synchronous = {'FULL' if is_synced else 'NORMAL'}")
        if is_new(database):
            with transaction(database):
                if is_new(database):  # another process may have made them meanwhile
                    for statement in schema.split(";"):
                        database.execute(statement)
    except BaseException:
        database.close()
        raise
    return database


_FUSE = tuple(
    f"fuse.{one}" for one in ("sshfs", "s3fs", "gcsfuse", "glusterfs", "ceph", "rclone")
)
_OF_NETWORKS = (
    "nfs",
    "cifs",
    "smb",
    "9p",
    "ceph",
    "glusterfs",
    "lustre",
    "afs",
    "vboxsf",
    *_FUSE,
)


def network_disk(path: Path, mounts: Path = Path("/proc/self/mountinfo")) -> str | None:
    """Return the type of a path's network file system; None: it is local, or unknown.

    Locks, and the memory that SQLite's connections share, may not hold there.
    """
    found = 0
    of = ""
    with suppress(OSError, ValueError):
        wanted = path.resolve()
        for line in mounts.read_text("utf-8", "replace").splitlines():
            about, _, rest = line.partition(" - ")
            if not rest:
                continue
            point = about.split()[4].replace("\\040", " ")
            if wanted.is_relative_to(point) and len(point) >= found:
                found = len(point)
                of = rest.split()[0]
    if of.startswith(_OF_NETWORKS):
        return of
    return None


def may_pass(error: sqlite3.Error) -> bool:
    """Return whether the problem may pass: the file is locked, full or read-only."""
    is_lasting = any(fault in str(error) for fault in _LASTING_FAULTS)
    return isinstance(error, sqlite3.OperationalError) and not is_lasting


def is_locked(error: sqlite3.Error) -> bool:
    """Return whether another process was writing for as long as this one waited."""
    return isinstance(error, sqlite3.OperationalError) and "locked" in str(error)


def as_text(name: str) -> str:
    """Return a name as the file can hold it: of a URL, it may be no UTF-8."""
    return name.encode("utf-8", "backslashreplace").decode()
