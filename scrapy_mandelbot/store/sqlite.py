"""A store in one SQLite file, for many runs and several processes of one machine.

Every change is written at once: with SQLite's write-ahead log that takes some 50
microseconds. What the file does not take, because it is locked, full, read-only, gone
or corrupt, stays in memory and is written as soon as the file takes it. That costs one
warning, and never makes the crawl wait: after a failure the file is left alone for a
while. Leases, which keep crawls out of each other's way, are asked for in the same
transactions.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from scrapy_mandelbot.store import rows as stored
from scrapy_mandelbot.store import sqlite_tables as tables
from scrapy_mandelbot.store.change_feed import ChangeFeed, mend_clock
from scrapy_mandelbot.store.contract import Lease, LiveStore
from scrapy_mandelbot.store.memory import LIMIT, Recent
from scrapy_mandelbot.store.sqlite_file import (
    as_text,
    is_locked,
    may_pass,
    transaction,
)
from scrapy_mandelbot.store.sqlite_leases import (
    FetchClaim,
    LeaseRequest,
    LeaseTable,
    lease_name,
)

if TYPE_CHECKING:
    from scrapy_mandelbot.store.contract import CachedRobots, Listener, StoredPause

T = TypeVar("T")

logger = logging.getLogger(__name__)

_TRY_AGAIN_AFTER = 10.0  # seconds, where the file could not be written or read
_ASK_AGAIN_AFTER = 0.1  # seconds, where it was locked and somebody waits
_LOCKED_FOR = 2.0  # seconds; after that this crawl follows only what it knows itself
_LOOK_AFTER = 0.25  # seconds, for what others have written
_FORGET_AFTER = 30.0  # seconds, for leases and news that are over


def _key(table: str, name: str) -> str:
    return f"{table} {name}"


class Timer(Protocol):
    """The handle of a scheduled call, which cancels it."""

    def cancel(self) -> object:
        """Do not make the call."""


class SqliteStore(LiveStore):
    """Copies, pauses, turns, leases and the last runs in a file.

    The file is opened when it is first needed. `later` calls a function after some
    seconds. Without it, what the file has not taken is written with the next change, by
    :meth:`save` or by :meth:`close`, and changes of others are not seen. Copies and
    turns from before the moment `forget_before` are deleted.
    """

    def __init__(
        self,
        path: str | Path,
        later: Callable[[float, Callable[[], None]], Timer] | None = None,
        forget_before: float = 0.0,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._path = Path(path)
        self._later = later
        self._forget_before = forget_before
        self._now = now
        self._token = os.urandom(8).hex()  # who this crawl is, to the others
        # What the file has not taken, by table and name; bounded like a memory store.
        self._unsaved: Recent[Any] = Recent(LIMIT)
        self._asked: list[LeaseRequest | FetchClaim] = []  # not answered yet
        self._held: set[str] = set()  # names of leases that this crawl has
        self._news: ChangeFeed | None = None
        self._retry: Timer | None = None
        self.look_timer: Timer | None = None
        # Moments, in seconds since the epoch.
        self._not_written_before = -inf
        self._not_read_before = -inf
        self._locked_since = inf
        self._forgets_at = -inf
        self.database: sqlite3.Connection | None = None
        self._is_usable = True
        self._is_closed = False
        self._is_complained_of = False

    def __repr__(self) -> str:
        return f"<SqliteStore {self._path}, {len(self._unsaved)} unsaved>"

    def get_copy(self, site: str) -> CachedRobots | None:
        """Return the site's copy, however old: another process may have saved it."""
        name = as_text(site)
        key = _key(tables.COPY, name)
        if key in self._unsaved:
            kept: CachedRobots | None = self._unsaved.get(key)
            return kept and kept._replace(body=stored.unpack(kept.body))
        rows = self._rows(stored.COPY_OF, name)
        try:
            return stored.as_copy(rows[0]) if rows else None
        except stored.NO_ROW_OF_OURS as error:
            logger.debug(
                "The copy of %s in %s cannot be read: %s", site, self._path, error
            )
            return None

    def put_copy(self, site: str, copy: CachedRobots) -> None:
        packed = copy._replace(body=stored.pack(copy.body))
        self._put(tables.COPY, site, packed, len(packed.body))

    def copies(self) -> Iterator[tuple[str, CachedRobots]]:
        rows = self._rows("SELECT site FROM copies")
        saved = {site for (site,) in rows if isinstance(site, str)}
        for site in sorted(saved | self._unsaved_of(tables.COPY).keys()):
            copy = self.get_copy(site)
            if copy is not None:
                yield site, copy

    def drop_copy(self, site: str) -> None:
        self._put(tables.COPY, site, None)

    def find_copy(
        self,
        site: str,
        fresh_since: float,
        lease_for: float,
        then: Callable[[CachedRobots | None, float], None],
    ) -> None:
        name = as_text(site)
        # The lease first: whoever gives it back has written the copy by then.
        left = 0.0 if lease_for else self._seconds_leased(Lease.FETCH, name)
        copy = self.get_copy(site)
        if copy is not None and copy.fetched_at > fresh_since:
            then(copy, 0.0)
        elif not lease_for:
            then(copy, left)
        else:
            self._request(FetchClaim(name, fresh_since, lease_for, then))

    def get_pauses(self, after: float = -inf) -> dict[str, StoredPause]:
        self._tried(lambda database: mend_clock(database, self._now()), None)
        query = "SELECT site, until, reason, failed_probes FROM pauses WHERE until > ?"
        rows = self._rows(query, after)
        pauses = dict(stored.read_rows(rows, stored.as_pause, self._path))
        pauses |= self._unsaved_of(tables.PAUSE)
        return {
            site: pause
            for site, pause in pauses.items()
            if pause is not None and pause.until > after
        }

    def put_pause(self, site: str, pause: StoredPause | None) -> None:
        self._put(tables.PAUSE, site, pause)

    def get_turns(self, after: float) -> dict[str, float]:
        rows = self._rows("SELECT site, due FROM turns WHERE due > ?", after)
        turns = dict(stored.read_rows(rows, stored.as_turn, self._path))
        turns |= self._unsaved_of(tables.TURN)
        return {site: due for site, due in turns.items() if due > after}

    def put_turn(self, site: str, due: float) -> None:
        self._put(tables.TURN, site, due)

    def announce_waiting(self, site: str) -> None:
        self._put(tables.WAITS, site, None)

    def claim(
        self,
        lease: Lease,
        key: str,
        lease_for: float,
        then: Callable[[float], None],
        longest_wait: float = inf,
    ) -> None:
        self._request(LeaseRequest(lease, as_text(key), lease_for, then, longest_wait))

    def release(self, lease: Lease, key: str, keep_for: float = 0.0) -> None:
        name = lease_name(lease, as_text(key))
        if name in self._held:
            self._held.discard(name)
            self._put(tables.RELEASE, name, keep_for)

    def listen(self, listener: Listener) -> None:
        if self._later is None:
            return
        self._news = ChangeFeed(listener, self._token, self._read_all)
        self.look()

    def get_run(self, spider: str) -> float | None:
        name = as_text(spider)
        unsaved: float | None = self._unsaved.get(_key(tables.RUN, name))
        if unsaved is not None:
            return unsaved
        query = "SELECT began_at FROM runs WHERE spider = ?"
        for (began_at,) in self._rows(query, name):
            with suppress(*stored.NO_ROW_OF_OURS):
                return float(began_at)
        return None

    def put_run(self, spider: str, began_at: float) -> None:
        self._put(tables.RUN, spider, began_at)

    def save(self) -> None:
        """Try to write what the file has not taken so far; the rest stays."""
        self._not_written_before = -inf
        self._not_read_before = -inf
        self._write()

    def close(self) -> None:
        self._is_closed = True
        for timer in filter(None, (self._retry, self.look_timer)):
            timer.cancel()
        self._retry = None
        self.look_timer = None
        self._asked.clear()
        if self._unsaved:
            self.save()
        self._is_usable = False
        self._release()

    # Writing.

    def _put(self, table: str, name: str, value: Any, size: int = 0) -> None:
        self._unsaved.put(_key(table, as_text(name)), value, size + tables.OVERHEAD)
        self._write()

    def _request(self, question: LeaseRequest | FetchClaim) -> None:
        if not self._is_closed:
            self._asked.append(question)
            self._write()

    def _unsaved_of(self, table: str) -> dict[str, Any]:
        start = _key(table, "")
        return {
            key.removeprefix(start): value
            for key, value in self._unsaved.items()
            if key.startswith(start)
        }

    def _write(self) -> None:
        """Write what is unsaved, and answer what is asked, in one transaction."""
        now = self._now()
        if now < self._not_written_before:
            if not self._is_locked_shortly(now):
                self._answer_alone()
            return
        try:
            database = self._open()
            answers = [] if database is None else self._exchange(database, now)
        except sqlite3.Error as error:
            self._failed(error, now)
            return
        if database is None:
            self._answer_alone()
            return
        if now >= self._forgets_at:
            self._forgets_at = now + _FORGET_AFTER
        self._forget_before = 0.0
        self._locked_since = inf
        self._unsaved.clear()
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None
        asked = self._asked
        self._asked = []
        for question, answer in zip(asked, answers, strict=True):
            if not answer[-1]:
                self._held.add(question.name)
            question.answer(*answer)

    def _exchange(
        self, database: sqlite3.Connection, now: float
    ) -> list[tuple[Any, ...]]:
        with transaction(database):
            if self._forget_before:
                tables.forget_sites(database, self._forget_before)
            if now >= self._forgets_at:
                tables.forget_live(database, now)
            for key, value in self._unsaved.items():
                table, _, name = key.partition(" ")
                tables.WRITES[table](database, name, value, self._token, now)
            return [
                question.try_to_claim(database, self._token, now)
                for question in self._asked
            ]

    def _failed(self, error: sqlite3.Error, now: float) -> None:
        """Try again soon if another process was writing, else go on alone."""
        is_awaited = bool(self._asked or self._unsaved_of(tables.RELEASE))
        if is_locked(error) and is_awaited and self._later and not self._is_closed:
            self._locked_since = min(self._locked_since, now)
            if self._is_locked_shortly(now):
                self._write_within(_ASK_AGAIN_AFTER, now)
                return
        self._complain(error)
        self._write_within(_TRY_AGAIN_AFTER, now)
        self._answer_alone()

    def _is_locked_shortly(self, now: float) -> bool:
        return 0 <= now - self._locked_since < _LOCKED_FOR

    def _write_within(self, seconds: float, now: float) -> None:
        self._not_written_before = now + seconds
        if self._later is None or self._is_closed or not self._is_usable:
            return
        if self._retry is not None:
            self._retry.cancel()
        self._retry = self._later(seconds, self._write_again)

    def _write_again(self) -> None:
        self._retry = None
        self.save()

    def _answer_alone(self) -> None:
        """Answer as if no other crawl used the file: it cannot be used now."""
        asked = self._asked
        self._asked = []
        for question in asked:
            if isinstance(question, FetchClaim):
                question.answer(self.get_copy(question.site), 0.0)
            else:
                question.answer(0.0)

    # Reading.

    def look(self) -> None:
        """Read what other crawls have written, again every quarter of a second."""
        if self._later is None or not self._is_usable:
            return
        self.look_timer = self._later(_LOOK_AFTER, self.look)
        if not (self._news and self.database):  # no file is opened for this
            return
        try:
            self._news.read(self.database)
        except sqlite3.Error as error:
            self._complain(error)

    def _read_all(self) -> tuple[dict[str, StoredPause], dict[str, float]]:
        now = self._now()
        return self.get_pauses(now), self.get_turns(now)

    def _seconds_leased(self, lease: Lease, site: str) -> float:
        name = lease_name(lease, site)
        now = self._now()
        return self._tried(
            lambda database: LeaseTable(database, "", now).held_by(name)[1], 0.0
        )

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
            self.database = tables.connect(self._path)
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
        logger.warning(
            "What is known of sites is kept in the memory of this run only%s: %s: %s",
            " until their file can be used again" if is_passing else "",
            self._path,
            error,
        )
