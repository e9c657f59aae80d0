"""A store in one SQLite file, for many runs and several processes of one machine.

Every change is written at once: with SQLite's write-ahead log that takes some 50
microseconds. What the file does not take, because it is locked, full, read-only, gone
or corrupt, stays in memory and is written as soon as the file takes it. That costs one
warning, and never makes the crawl wait: after a failure the file is left alone for a
while. Turns alone wait for a file that is locked, for two seconds at most.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from scrapy_mandelbot.store import ANOTHER_PACE, Store, pack, unpack
from scrapy_mandelbot.store import rows as stored
from scrapy_mandelbot.store.memory import LIMIT, Recent
from scrapy_mandelbot.store.sqlite_file import (
    as_text,
    is_locked,
    may_pass,
    open_file,
    transaction,
)

if TYPE_CHECKING:
    from scrapy_mandelbot.politeness.pause_policy import LeftPause
    from scrapy_mandelbot.store import CachedRobots

T = TypeVar("T")

logger = logging.getLogger(__name__)

_TRY_AGAIN_AFTER = 10.0  # seconds, where the file could not be written or read
_BUSY = 0.05  # seconds that the crawl may stand still while another process writes
_CLAIM_AGAIN_AFTER = 0.1  # seconds, where the file was locked
_LOCKED_FOR = 2.0  # seconds; after that this crawl takes turns by what it knows itself
_ONE_CLOCK = 1.0  # seconds that two clocks differ where neither was set
_KEPT_FOR = 60.0  # seconds for which others can read that a pause is over
_MOST_AT_ONCE = 500  # changes read in one turn of the event loop
_OVERHEAD = 500  # bytes that one value costs in memory beside a body
_FORMAT = 2
_SCHEMA = f"""
    CREATE TABLE copies (
        site TEXT PRIMARY KEY,
        body BLOB NOT NULL,
        status INTEGER NOT NULL,
        fetched_at REAL NOT NULL,
        url TEXT NOT NULL,
        etag TEXT,
        last_modified TEXT
    );
    -- The number is that of the change. A pause that is over ends at 0.
    CREATE TABLE pauses (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        site TEXT NOT NULL UNIQUE,
        until REAL NOT NULL,
        reason TEXT NOT NULL,
        failed_probes INTEGER NOT NULL,
        written_at REAL NOT NULL
    );
    CREATE TABLE runs (
        spider TEXT PRIMARY KEY,
        began_at REAL NOT NULL
    );
    -- Who took the last turn, and who was the first to ask for one since.
    CREATE TABLE turns (
        site TEXT PRIMARY KEY,
        due REAL NOT NULL,
        taken_by TEXT,
        wanted_by TEXT
    );
    PRAGMA user_version = {_FORMAT}
"""
_PAUSE = "SELECT site, until, reason, failed_probes FROM pauses"
_CHANGED_PAUSE = "SELECT site, until, reason, failed_probes, written_at FROM pauses"
# A pause that was written later than now is shorter by that: the clock was set back.
_MEND_CLOCK = (
    "UPDATE pauses SET until = until - (written_at - :now), written_at = :now"
    " WHERE written_at > :now + :one_clock AND until > 0"
)
_TURN = "SELECT due, taken_by, wanted_by FROM turns WHERE site = ?"
_TAKE_TURN = "INSERT OR REPLACE INTO turns (site, due, taken_by) VALUES (?, ?, ?)"
# Another process may have taken a turn since. What is later by much was dated by a
# wrong clock.
_PUT_TURN = (
    "INSERT INTO turns (site, due, taken_by) VALUES (?, ?, ?) ON CONFLICT (site)"
    " DO UPDATE SET due = excluded.due, taken_by = excluded.taken_by"
    " WHERE turns.taken_by = excluded.taken_by OR turns.due < excluded.due"
    " OR turns.due > excluded.due + ?"
)
_WRITES = {
    "copy": (
        "INSERT INTO copies VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (site) DO"
        " UPDATE SET body = excluded.body, status = excluded.status, fetched_at ="
        " excluded.fetched_at, url = excluded.url, etag = excluded.etag,"
        " last_modified = excluded.last_modified WHERE copies.fetched_at <="
        " excluded.fetched_at OR copies.fetched_at > excluded.fetched_at + 60"
    ),
    "no copy": "DELETE FROM copies WHERE site = ?",
    "pause": (
        "INSERT OR REPLACE INTO pauses (site, until, reason, failed_probes, written_at)"
        " VALUES (?, ?, ?, ?, ?)"
    ),
    "turn": _PUT_TURN,
    "run": "INSERT OR REPLACE INTO runs VALUES (?, ?)",
}


class Timer(Protocol):
    """The handle of a scheduled call, which cancels it."""

    def cancel(self) -> object:
        """Do not make the call."""


class SqliteStore(Store):
    """Copies, pauses, turns and the last runs in a file.

    The file is opened when it is first needed. `later` calls a function after some
    seconds. Without it, what the file has not taken is written with the next change, by
    :meth:`save` or by :meth:`close`. Copies and turns from before the moment
    `forget_before` are deleted.
    """

    is_shared = True

    def __init__(
        self,
        path: str | Path,
        later: Callable[[float, Callable[[], None]], Timer] | None = None,
        forget_before: float = 0.0,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._path = Path(path)
        self._call_later = later
        self._forget_before = forget_before
        self._now = now
        self._token = os.urandom(8).hex()  # who this crawl is, to the others
        # What the file has not taken, by kind and name: a value, and the values of its
        # row; bounded like a memory store.
        self._unsaved: Recent[tuple[Any, tuple[Any, ...]]] = Recent(LIMIT)
        self._last_change = 0
        self._version: int | None = None  # SQLite's count of others' writes
        self._retry_timer: Timer | None = None
        # Moments, in seconds since the epoch.
        self._not_written_before = -inf
        self._not_read_before = -inf
        self._not_claimed_before = -inf
        self._locked_since = inf  # inf: the file took the last turn
        self.database: sqlite3.Connection | None = None
        self._is_usable = True
        self._is_closed = False
        self._is_complained_of = False

    def __repr__(self) -> str:
        return f"<SqliteStore {self._path}, {len(self._unsaved)} unsaved>"

    def get_copy(self, site: str) -> CachedRobots | None:
        """Return the site's copy, however old: another process may have saved it."""
        name = as_text(site)
        unsaved = self._unsaved.get(f"copy {name}")
        if unsaved is not None:
            kept: CachedRobots | None = unsaved[0]
            return kept and kept._replace(body=unpack(kept.body))
        rows = self._rows(stored.COPY_OF, name)
        try:
            return stored.as_copy(rows[0]) if rows else None
        except stored.NO_ROW_OF_OURS as error:
            logger.debug(
                "The copy of %s in %s cannot be read: %s", site, self._path, error
            )
            return None

    def put_copy(self, site: str, copy: CachedRobots) -> None:
        packed = copy._replace(body=pack(copy.body))
        self._put("copy", site, packed, stored.as_row(packed), len(packed.body))

    def copies(self) -> Iterator[tuple[str, CachedRobots]]:
        rows = self._rows("SELECT site FROM copies")
        saved = {site for (site,) in rows if isinstance(site, str)}
        for site in sorted(saved | self._unsaved_of("copy").keys()):
            copy = self.get_copy(site)
            if copy is not None:
                yield site, copy

    def drop_copy(self, site: str) -> None:
        self._put("copy", site, None, ())

    def get_pauses(self, after: float = -inf) -> dict[str, LeftPause]:
        self._mend_clock()
        rows = self._rows("SELECT IFNULL(MAX(number), 0) FROM pauses")
        self._last_change = rows[0][0] if rows else 0
        pauses = self._read_pauses(f"{_PAUSE} WHERE until > 0")
        pauses |= self._unsaved_of("pause")
        return {
            site: pause
            for site, pause in pauses.items()
            if pause is not None and pause.until > after
        }

    def changed_pauses(self) -> dict[str, LeftPause | None]:
        if self.database is None:  # no file is opened for this
            return {}
        versions = self._rows("PRAGMA data_version")
        if not versions or versions[0][0] == self._version:
            return {}
        query = "SELECT MAX(number) FROM (SELECT number FROM pauses WHERE number > ?"
        before = self._last_change
        numbers = self._rows(f"{query} ORDER BY number LIMIT {_MOST_AT_ONCE})", before)
        if not numbers:  # the file could not be read
            return {}
        last = numbers[0][0]
        if last is None:
            self._version = versions[0][0]
            return {}
        self._last_change = last
        where = "WHERE number > ? AND number <= ?"
        rows = self._rows(f"{_CHANGED_PAUSE} {where}", before, last)
        read = partial(stored.as_changed_pause, now=self._now(), one_clock=_ONE_CLOCK)
        return dict(stored.read_rows(rows, read, self._path))

    def put_pause(self, site: str, pause: LeftPause | None) -> None:
        row: tuple[Any, ...] = 0.0, "", 0
        if pause is not None:
            row = pause.until, as_text(pause.reason), pause.failed_probes
        self._put("pause", site, pause, (*row, self._now()))

    def get_turns(self, after: float) -> dict[str, float]:
        rows = self._rows("SELECT site, due FROM turns WHERE due > ?", after)
        turns = dict(stored.read_rows(rows, stored.as_turn, self._path))
        turns |= self._unsaved_of("turn")
        return {site: due for site, due in turns.items() if due > after}

    def put_turn(self, site: str, due: float) -> bool:
        self._put("turn", site, due, (due, self._token, ANOTHER_PACE))
        query = "SELECT 1 FROM turns WHERE site = ? AND wanted_by <> ?"
        return bool(self._rows(query, as_text(site), self._token))

    def claim_turn(
        self, site: str, *, held_for: float, longest_wait: float, gives_way: float
    ) -> float:
        now = self._now()
        if now < self._not_claimed_before:
            return self._claim_again_at(now)
        name = as_text(site)
        self._unsaved.discard(f"turn {name}")  # the one before this one
        try:
            taken = self._claim_turn(name, now, held_for, longest_wait, gives_way)
        except sqlite3.Error as error:
            return self._not_claimed(error, now)
        self._locked_since = inf
        return taken

    def _claim_turn(
        self,
        name: str,
        now: float,
        held_for: float,
        longest_wait: float,
        gives_way: float,
    ) -> float:
        database = self._open()
        if database is None:
            return 0.0
        with transaction(database):
            row = database.execute(_TURN, (name,)).fetchone()
            if row is not None:
                due, taken_by, wanted_by = row
                is_wanted = wanted_by not in {None, self._token}
                if not is_wanted:
                    gives_way = 0.0
                left = stored.seconds_until(due, now, gives_way)
                if not is_wanted and taken_by == self._token:
                    left = 0.0
                if 0.0 < left <= longest_wait:
                    if not is_wanted:
                        query = "UPDATE turns SET wanted_by = ? WHERE site = ?"
                        database.execute(query, (self._token, name))
                    return now + left
            database.execute(_TAKE_TURN, (name, now + held_for, self._token))
            return 0.0

    def _not_claimed(self, error: sqlite3.Error, now: float) -> float:
        """Return when to claim a turn again after an error; 0: this crawl takes it."""
        if is_locked(error):
            self._locked_since = min(self._locked_since, now)
            if now - self._locked_since < _LOCKED_FOR:
                self._not_claimed_before = now + _CLAIM_AGAIN_AFTER
                return self._not_claimed_before
        self._complain(error)
        self._not_claimed_before = now + _TRY_AGAIN_AFTER
        return 0.0

    def _claim_again_at(self, now: float) -> float:
        if self._not_claimed_before - now <= _CLAIM_AGAIN_AFTER:
            return self._not_claimed_before
        return 0.0

    def get_run(self, spider: str) -> float | None:
        name = as_text(spider)
        unsaved = self._unsaved.get(f"run {name}")
        if unsaved is not None:
            return float(unsaved[0])
        query = "SELECT began_at FROM runs WHERE spider = ?"
        for (began_at,) in self._rows(query, name):
            with suppress(*stored.NO_ROW_OF_OURS):
                return float(began_at)
        return None

    def put_run(self, spider: str, began_at: float) -> None:
        self._put("run", spider, began_at, (began_at,))

    def save(self) -> None:
        """Try to write what the file has not taken so far; the rest stays."""
        self._not_written_before = -inf
        self._not_read_before = -inf
        self._write()

    def close(self) -> None:
        self._is_closed = True
        if self._retry_timer is not None:
            self._retry_timer.cancel()
            self._retry_timer = None
        if self._unsaved:
            self.save()
        self._is_usable = False
        self._release()

    # Writing.

    def _put(
        self, kind: str, name: str, value: Any, row: tuple[Any, ...], size: int = 0
    ) -> None:
        self._unsaved.put(f"{kind} {as_text(name)}", (value, row), size + _OVERHEAD)
        self._write()

    def _unsaved_of(self, kind: str) -> dict[str, Any]:
        start = f"{kind} "
        return {
            key.removeprefix(start): value
            for key, (value, _) in self._unsaved.items()
            if key.startswith(start)
        }

    def _write(self) -> None:
        """Write what is unsaved in one transaction."""
        now = self._now()
        if now < self._not_written_before:
            return
        try:
            database = self._open()
            if database is None:
                return
            with transaction(database):
                self._forget(database, now)
                for key, (value, row) in self._unsaved.items():
                    kind, _, name = key.partition(" ")
                    if kind == "copy" and value is None:
                        kind = "no copy"
                    database.execute(_WRITES[kind], (name, *row))
        except sqlite3.Error as error:
            self._complain(error)
            self._not_written_before = now + _TRY_AGAIN_AFTER
            self._write_later()
            return
        self._forget_before = 0.0
        self._unsaved.clear()
        if self._retry_timer is not None:
            self._retry_timer.cancel()
            self._retry_timer = None

    def _forget(self, database: sqlite3.Connection, now: float) -> None:
        """Delete what is of no use, once a run."""
        if not self._forget_before:
            return
        before = (self._forget_before,)
        database.execute("DELETE FROM copies WHERE fetched_at < ?", before)
        database.execute("DELETE FROM turns WHERE due < ?", before)
        over = "DELETE FROM pauses WHERE until = 0 AND written_at < ?"
        database.execute(over, (now - _KEPT_FOR,))

    def _write_later(self) -> None:
        if self._call_later is None or self._is_closed or not self._is_usable:
            return
        if self._retry_timer is not None:
            self._retry_timer.cancel()
        self._retry_timer = self._call_later(_TRY_AGAIN_AFTER, self._write_again)

    def _write_again(self) -> None:
        self._retry_timer = None
        self.save()

    # Reading.

    def _mend_clock(self) -> None:
        """Shorten stored pauses by as much as the clock was set back since."""
        now = self._now()
        query = "SELECT 1 FROM pauses WHERE written_at > ? AND until > 0 LIMIT 1"
        if not self._rows(query, now + _ONE_CLOCK) or self.database is None:
            return
        with suppress(sqlite3.Error):  # a file that is only read keeps its pauses
            self.database.execute(_MEND_CLOCK, {"now": now, "one_clock": _ONE_CLOCK})

    def _read_pauses(self, query: str, *values: object) -> dict[str, LeftPause | None]:
        rows = self._rows(query, *values)
        return dict(stored.read_rows(rows, stored.as_site_pause, self._path))

    def _rows(self, query: str, *values: object) -> list[stored.Row]:
        return self._tried(
            lambda database: database.execute(query, values).fetchall(), []
        )

    def _tried(self, call: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        if self._now() < self._not_read_before:
            return otherwise
        try:
            database = self._open()
            return otherwise if database is None else call(database)
        except sqlite3.Error as error:
            self._not_read_before = self._now() + _TRY_AGAIN_AFTER  # waiting costs
            self._complain(error)
            return otherwise

    def _open(self) -> sqlite3.Connection | None:
        """None: the file is unusable."""
        if self.database is None and self._is_usable:
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise sqlite3.OperationalError(str(error)) from error
            self.database = open_file(self._path, _SCHEMA, _is_new, busy=_BUSY)
        return self.database

    def _release(self) -> None:
        if self.database is not None:
            with suppress(sqlite3.Error):
                self.database.close()
            self.database = None

    def _complain(self, error: sqlite3.Error) -> None:
        """Log a problem once; close a file that time will not mend."""
        is_passing = may_pass(error)
        if not is_passing:
            self._is_usable = False
            self._release()
        if self._is_complained_of:
            return
        self._is_complained_of = True
        end = " until their file can be used again" if is_passing else ""
        logger.warning(
            "What is known of sites is kept in the memory of this run only%s: %s: %s",
            end,
            self._path,
            error,
        )


def _is_new(database: sqlite3.Connection) -> bool:
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version not in {0, _FORMAT}:
        raise sqlite3.DatabaseError(f"written by another version (format {version})")
    return not version
