"""A store in one SQLite file, for many runs and several processes of one machine.

It never keeps the crawl waiting: what is put is held in memory and written in one transaction
about once a second, so that a kill -9 loses at most the last second. A file that is locked, full,
read-only, gone or corrupt costs a warning, and the memory of this run.
"""

from __future__ import annotations

import logging
import sqlite3
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from scrapy_mandelbot.stores.memory import MemoryStore
from scrapy_mandelbot.stores.rows import NO_ROW_OF_OURS, as_copy, as_pause, as_turn, read_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy_mandelbot.stores.copies import Copy, KeptPause

logger = logging.getLogger(__name__)

UPGRADES = (
    """
    CREATE TABLE copies (
        site TEXT PRIMARY KEY,
        body BLOB NOT NULL,
        status INTEGER NOT NULL,
        fetched_at REAL NOT NULL,
        url TEXT NOT NULL,
        etag TEXT,
        last_modified TEXT
    )
    """,
    """
    CREATE TABLE pauses (
        site TEXT PRIMARY KEY,
        until REAL NOT NULL,
        reason TEXT NOT NULL,
        failed_probes INTEGER NOT NULL
    )
    """,
    """
    CREATE TABLE runs (
        spider TEXT PRIMARY KEY,
        began_at REAL NOT NULL
    )
    """,
    """
    CREATE TABLE turns (
        site TEXT PRIMARY KEY,
        due REAL NOT NULL
    )
    """,
)
"""What takes a file from each version of its format to the next. The first is version 0: empty."""

_SAVE_AFTER = 1.0  # seconds
_SAVE_SOON = 0.25  # seconds; what other crawls of the file hear of within one
_TRY_AGAIN_AFTER = 10.0  # seconds, where the file could not be written
_BUSY = 0.05  # seconds that the crawl may stand still while another process writes


class Timer(Protocol):
    """What a call that is made later can be stopped by."""

    def cancel(self) -> object:
        """Do not make the call."""


class _UnknownFormatError(sqlite3.DatabaseError):
    """The file was written by a later version of the package."""


class SqliteStore:
    """Copies, pauses, turns and the last runs in a file.

    The file is opened when it is first asked for, and tried again later where it was locked.

    Args:
        path: of the file, which need not exist, nor its folder.
        later: calls a function after some seconds. Without it only :meth:`save` and
            :meth:`close` write.
        forget_before: copies and turns that are older than this moment are deleted, in seconds
            since the epoch.
    """

    def __init__(
        self,
        path: str | Path,
        later: Callable[[float, Callable[[], None]], Timer] | None = None,
        forget_before: float = 0.0,
    ) -> None:
        self._path = Path(path)
        self._later = later
        self._forget_before = forget_before
        self._unsaved = MemoryStore()
        self._unsaved_pauses: dict[str, KeptPause | None] = {}
        self._unsaved_runs: dict[str, float] = {}
        self._timer: Timer | None = None
        self._saves_later = False
        """Whether the timer is one that may be set sooner."""
        self._version_known: int | None = None
        """Of the file, as SQLite counts what others have written."""
        self._database: sqlite3.Connection | None = None
        self._is_usable = True
        self._is_readable = True
        self._is_complained_of = False

    def __repr__(self) -> str:
        return f"<SqliteStore {self._path}, {len(self._unsaved)} unsaved>"

    def get_copy(self, site: str) -> Copy | None:
        """Return the site's copy, however old: another process may have saved it."""
        copy = self._unsaved.get_copy(site)
        if copy is not None or not self._is_readable:
            return copy
        try:
            database = self._open()
            if database is None:
                return None
            row = database.execute(f"{_COPIES} WHERE site = ?", (_text(site),)).fetchone()
            return None if row is None else as_copy(row)
        except sqlite3.Error as error:
            self._is_readable = False  # until the next time that it is saved: waiting costs
            self._complain(error)
        except NO_ROW_OF_OURS as error:
            logger.debug("The copy of %s in %s cannot be read: %s", site, self._path, error)
        return None

    def put_copy(self, site: str, copy: Copy) -> None:
        """Keep the site's copy in place of an older one; it is saved about a second later."""
        self._unsaved.put_copy(site, copy)
        self._set_timer(_SAVE_AFTER)

    def copies(self) -> Iterator[tuple[str, Copy]]:
        """Iterate over all sites and their copies, in the order of the sites."""
        unsaved = {_text(site): copy for site, copy in self._unsaved.copies()}
        for site in sorted({*self._saved_sites(), *unsaved}):
            copy = unsaved.get(site) or self.get_copy(site)
            if copy is not None:
                yield site, copy

    def drop_copy(self, site: str) -> None:
        """Forget the site's copy, in the file at once."""
        self._unsaved.drop_copy(site)
        try:
            database = self._open()
            if database is not None:
                database.execute("DELETE FROM copies WHERE site = ?", (_text(site),))
        except sqlite3.Error as error:
            self._complain(error)

    def _saved_sites(self) -> list[str]:
        try:
            database = self._open()
            rows = database.execute("SELECT site FROM copies") if database is not None else ()
            return [site for (site,) in rows if isinstance(site, str)]
        except sqlite3.Error as error:
            self._complain(error)
            return []

    is_shared = True
    """Other processes may write into the file meanwhile."""

    def has_news(self) -> bool:
        """Return whether another crawl has written into it since this was asked last.

        A file that is not open, as it cannot be, is not opened for this.
        """
        if self._database is None:
            return False
        try:
            (version,) = self._database.execute("PRAGMA data_version").fetchone()
        except sqlite3.Error as error:
            self._complain(error)
            return False
        known, self._version_known = self._version_known, version
        return known is not None and bool(version != known)

    def get_pauses(self, after: float = -inf) -> dict[str, KeptPause]:
        """Return the pauses that end after a moment, those that other processes have saved too."""
        pauses: dict[str, KeptPause | None] = {}
        try:
            database = self._open()
            if database is not None:
                query = "SELECT site, until, reason, failed_probes FROM pauses WHERE until > ?"
                rows = database.execute(query, (after,))
                pauses = dict(read_rows(rows, as_pause, self._path))
        except sqlite3.Error as error:
            self._complain(error)
        pauses.update(self._unsaved_pauses)
        return {
            site: pause
            for site, pause in pauses.items()
            if pause is not None and pause.until > after
        }

    def put_pause(self, site: str, pause: KeptPause | None) -> None:
        """Keep the site's pause, or that it is over; it is saved a quarter of a second later."""
        self._unsaved_pauses[_text(site)] = pause
        self._save_soon()

    def get_turns(self, after: float) -> dict[str, float]:
        """Return when sites with a pace may next be asked, of those that may not before then."""
        turns: dict[str, float] = {}
        try:
            database = self._open()
            if database is not None:
                query = "SELECT site, due FROM turns WHERE due > ?"
                turns = dict(read_rows(database.execute(query, (after,)), as_turn, self._path))
        except sqlite3.Error as error:
            self._complain(error)
        return turns | self._unsaved.get_turns(after)

    def put_turn(self, site: str, due: float) -> None:
        """Keep when a site with a pace may next be asked; saved a quarter of a second later."""
        self._unsaved.put_turn(_text(site), due)
        self._save_soon()

    def get_run(self, spider: str) -> float | None:
        """Return when the spider's last run that finished began, in seconds since the epoch."""
        began_at = self._unsaved_runs.get(_text(spider))
        try:
            database = self._open()
            if database is not None and began_at is None:
                query = "SELECT began_at FROM runs WHERE spider = ?"
                row = database.execute(query, (_text(spider),)).fetchone()
                began_at = None if row is None else float(row[0])
        except sqlite3.Error as error:
            self._complain(error)
        except NO_ROW_OF_OURS as error:
            logger.debug("The last run of %s in %s cannot be read: %s", spider, self._path, error)
        return began_at

    def put_run(self, spider: str, began_at: float) -> None:
        """Keep when a run of the spider began that has finished; saved about a second later."""
        self._unsaved_runs[_text(spider)] = began_at
        self._set_timer(_SAVE_AFTER)

    def save(self) -> None:
        """Write what is not yet in the file, all at once. What cannot be written stays."""
        rows = [
            (
                _text(site),
                one.body,
                one.status,
                one.fetched_at,
                _text(one.url),
                one.etag and _text(one.etag),
                one.last_modified and _text(one.last_modified),
            )
            for site, one in self._unsaved.packed_copies()
        ]
        self._is_readable = True
        try:
            database = self._open()
            if database is None:
                return
            with _transaction(database):
                if self._forget_before:
                    before = (self._forget_before,)
                    database.execute("DELETE FROM copies WHERE fetched_at < ?", before)
                    database.execute("DELETE FROM turns WHERE due < ?", before)
                # What another process has saved meanwhile may be a little newer. What is newer by
                # over a minute was dated by a wrong clock.
                database.executemany(
                    "INSERT INTO copies VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (site) DO UPDATE"
                    " SET body = excluded.body, status = excluded.status,"
                    " fetched_at = excluded.fetched_at, url = excluded.url,"
                    " etag = excluded.etag, last_modified = excluded.last_modified"
                    " WHERE copies.fetched_at <= excluded.fetched_at"
                    " OR copies.fetched_at > excluded.fetched_at + 60",
                    rows,
                )
                database.executemany(
                    "INSERT OR REPLACE INTO pauses VALUES (?, ?, ?, ?)",
                    [
                        (site, one.until, _text(one.reason), one.failed_probes)
                        for site, one in self._unsaved_pauses.items()
                        if one is not None
                    ],
                )
                over = [(site,) for site, one in self._unsaved_pauses.items() if one is None]
                database.executemany("DELETE FROM pauses WHERE site = ?", over)
                turns = self._unsaved.get_turns(-inf)
                database.executemany("INSERT OR REPLACE INTO turns VALUES (?, ?)", turns.items())
                runs = self._unsaved_runs.items()
                database.executemany("INSERT OR REPLACE INTO runs VALUES (?, ?)", runs)
        except sqlite3.Error as error:
            self._complain(error)
        else:
            self._forget_before = 0.0
            self._unsaved.close()
            self._unsaved_pauses.clear()
            self._unsaved_runs.clear()

    def close(self) -> None:
        """Save what is not saved, and close the file."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._has_unsaved:
            self.save()
        self._is_usable = False
        self._let_go()

    def _save_soon(self) -> None:
        """Have it saved before other crawls look for it, if it is to be saved anyway."""
        if self._timer is not None and self._saves_later:
            self._timer.cancel()
            self._timer = None
        self._set_timer(min(_SAVE_SOON, _SAVE_AFTER))

    def _set_timer(self, seconds: float) -> None:
        if self._timer is None and self._later is not None and self._is_usable:
            self._timer = self._later(seconds, self._on_time)
            self._saves_later = seconds == _SAVE_AFTER > _SAVE_SOON

    def _on_time(self) -> None:
        self._timer = None
        self.save()
        if self._has_unsaved:
            self._set_timer(_TRY_AGAIN_AFTER)

    @property
    def _has_unsaved(self) -> bool:
        unsaved = self._unsaved_pauses or self._unsaved_runs or self._unsaved.get_turns(-inf)
        return bool(len(self._unsaved) or unsaved)

    def _open(self) -> sqlite3.Connection | None:
        """Return the open file, or None where it is beyond use.

        Raises:
            sqlite3.Error: it cannot be opened now.
        """
        if self._database is None and self._is_usable:
            self._database = _connect(self._path)
        return self._database

    def _let_go(self) -> None:
        if self._database is not None:
            with suppress(sqlite3.Error):
                self._database.close()
            self._database = None

    def _complain(self, error: sqlite3.Error) -> None:
        """Say once what is wrong; let go of a file that time will not mend."""
        # SQLite reports by OperationalError what may pass: locked, full, read-only.
        may_pass = isinstance(error, sqlite3.OperationalError)
        if not may_pass:
            self._is_usable = False
            self._let_go()
        if not self._is_complained_of:
            self._is_complained_of = True
            logger.warning(
                "What is known of sites is kept in the memory of this run only%s: %s: %s",
                " until their file can be used again" if may_pass else "",
                self._path,
                error,
            )


_COPIES = "SELECT body, status, fetched_at, url, etag, last_modified FROM copies"


def _connect(path: Path) -> sqlite3.Connection:
    """Open the file in the newest version of its format.

    Raises:
        sqlite3.Error: it cannot be opened, or is none of ours.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise sqlite3.OperationalError(str(error)) from error
    # One thread uses it at a time, though `scrapy shell` may set it up in another.
    database = sqlite3.connect(path, timeout=_BUSY, isolation_level=None, check_same_thread=False)
    # What is no UTF-8 was not written here; it must not hide the rows beside it.
    database.text_factory = lambda octets: octets.decode("utf-8", "backslashreplace")
    try:
        # Readers and the writer do not wait for each other, and no commit waits for the disk.
        with suppress(sqlite3.OperationalError):  # a read-only file stays in the mode it has
            database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        if _version(database) != len(UPGRADES):
            with _transaction(database):
                for upgrade in UPGRADES[_version(database) :]:
                    database.execute(upgrade)
                database.execute(f"PRAGMA user_version = {len(UPGRADES)}")
    except sqlite3.Error:
        database.close()
        raise
    return database


def _version(database: sqlite3.Connection) -> int:
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version > len(UPGRADES):
        raise _UnknownFormatError(f"written by a later version (format {version})")
    return int(version)


@contextmanager
def _transaction(database: sqlite3.Connection) -> Iterator[None]:
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            database.execute("ROLLBACK")
        raise


def _text(site: str) -> str:
    # A site comes from a URL, and what is no UTF-8 there is none here.
    return site.encode("utf-8", "backslashreplace").decode()
