"""A store in one SQLite file, for many runs and several processes of one machine.

It never keeps the crawl waiting: what is put is held in memory and written in one
transaction, pauses and turns within a tenth of a second, the rest about once a second,
so that a kill -9 loses at most the last second. Leases, which keep crawls out of each
other's way, are requested in such a transaction too, and answered at once, or soon
where another process is writing. A file that is locked, full, read-only, gone or
corrupt costs a warning, and the memory of this run.
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
from typing import TYPE_CHECKING, TypeVar

from scrapy_mandelbot.store import rows as stored
from scrapy_mandelbot.store import sqlite_live as live
from scrapy_mandelbot.store.contract import Lease, LiveStore
from scrapy_mandelbot.store.sqlite_file import (
    as_text,
    is_locked,
    may_pass,
    open_file,
    transaction,
)

if TYPE_CHECKING:
    from scrapy_mandelbot.store.contract import CachedRobots, Listener, StoredPause

T = TypeVar("T")

logger = logging.getLogger(__name__)

_SAVE_AFTER = 1.0  # seconds
_SAVE_SOON = 0.05  # seconds; changes that other crawls wait for
_TRY_AGAIN_AFTER = 10.0  # seconds, where the file could not be written
_ASK_AGAIN_AFTER = 0.1  # seconds, where it was locked
_LOCKED_FOR = 2.0  # seconds; after that this crawl follows only what it knows itself
_LOOK_AFTER = 0.25  # seconds, for what others have written
_FORGET_AFTER = 30.0  # seconds, for leases and news that are over


class SqliteStore(LiveStore):
    """Copies, pauses, turns, leases and the last runs in a file.

    The file is opened when it is first needed, and tried again later where it was
    locked. `later` calls a function after some seconds. Without it only :meth:`save`
    and :meth:`close` write, questions are answered at once, and changes of others are
    not seen. Copies and turns from before the moment `forget_before` are deleted.
    """

    def __init__(
        self,
        path: str | Path,
        later: Callable[[float, Callable[[], None]], live.Timer] | None = None,
        forget_before: float = 0.0,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._path = Path(path)
        self._later = later
        self._forget_before = forget_before
        self._now = now
        self._token = os.urandom(8).hex()  # who this crawl is, to the others
        self._unsaved = live.Unsaved()
        self._save_timer: live.Timer | None = None
        self._saves_at = inf  # when that timer is due
        # not answered yet
        self._questions: list[live.LeaseRequest | live.FetchClaim] = []
        self._held: set[str] = set()  # names of leases that this crawl has
        self._news: live.ChangeFeed | None = None
        self.look_timer: live.Timer | None = None
        self._forgets_at = -inf
        self._locked_since = inf
        # when the file is asked again, where it could not be asked
        self._alone_until = -inf
        self.database: sqlite3.Connection | None = None
        self._is_usable = self._is_readable = True
        self._is_closed = False
        self._is_complained_of = False

    def __repr__(self) -> str:
        return f"<SqliteStore {self._path}, {len(self._unsaved.memory)} unsaved>"

    def get_copy(self, site: str) -> CachedRobots | None:
        """Return the site's copy, however old: another process may have saved it."""
        copy = self._unsaved.memory.get_copy(site)
        if copy is not None or not self._is_readable:
            return copy
        try:
            database = self._open()
            if database is None:
                return None
            row = database.execute(stored.COPY_OF, (as_text(site),)).fetchone()
            return None if row is None else stored.as_copy(row)
        except sqlite3.Error as error:
            # until the next time that it is saved: waiting costs
            self._is_readable = False
            self._complain(error)
        except stored.NO_ROW_OF_OURS as error:
            logger.debug(
                "The copy of %s in %s cannot be read: %s", site, self._path, error
            )
        return None

    def put_copy(self, site: str, copy: CachedRobots) -> None:
        self._unsaved.memory.put_copy(site, copy)
        self._save_within(_SAVE_AFTER)

    def copies(self) -> Iterator[tuple[str, CachedRobots]]:
        unsaved = {as_text(site): copy for site, copy in self._unsaved.memory.copies()}
        saved = {
            site
            for (site,) in self._rows("SELECT site FROM copies")
            if isinstance(site, str)
        }
        for site in sorted({*saved, *unsaved}):
            copy = unsaved.get(site) or self.get_copy(site)
            if copy is not None:
                yield site, copy

    def drop_copy(self, site: str) -> None:
        self._unsaved.memory.drop_copy(site)
        self._rows("DELETE FROM copies WHERE site = ?", as_text(site))

    def find_copy(
        self,
        site: str,
        fresh_since: float,
        lease_for: float,
        then: Callable[[CachedRobots | None, float], None],
    ) -> None:
        question = live.FetchClaim(as_text(site), fresh_since, lease_for, then)
        # The lease first: whoever gives it back has written the copy by then.
        left = 0.0
        name = question.name
        now = self._now()
        if self._is_readable and not lease_for:
            left = self._tried(
                lambda file: live.LeaseTable(file, "", now).held_by(name)[1], 0.0
            )
        copy = self.get_copy(site)
        if copy is not None and copy.fetched_at > fresh_since:
            then(copy, 0.0)
        elif not lease_for:
            then(copy, left)
        else:
            self._enqueue(question)

    def get_pauses(self, after: float = -inf) -> dict[str, StoredPause]:
        self._tried(lambda database: live.mend_clock(database, self._now()), None)
        query = "SELECT site, until, reason, failed_probes FROM pauses WHERE until > ?"
        pauses: dict[str, StoredPause | None] = dict(
            stored.read_rows(self._rows(query, after), stored.as_pause, self._path)
        )
        pauses.update(self._unsaved.pauses)
        return {
            site: pause
            for site, pause in pauses.items()
            if pause is not None and pause.until > after
        }

    def put_pause(self, site: str, pause: StoredPause | None) -> None:
        self._unsaved.pauses[as_text(site)] = pause
        self._save_within(_SAVE_SOON)

    def get_turns(self, after: float) -> dict[str, float]:
        rows = self._rows("SELECT site, due FROM turns WHERE due > ?", after)
        turns = dict(stored.read_rows(rows, stored.as_turn, self._path))
        return turns | self._unsaved.memory.get_turns(after)

    def put_turn(self, site: str, due: float) -> None:
        self._unsaved.memory.put_turn(as_text(site), due)
        self._save_within(_SAVE_SOON)

    def announce_waiting(self, site: str) -> None:
        self._unsaved.waits.add(as_text(site))
        self._save_within(_SAVE_SOON)

    def claim(
        self,
        lease: Lease,
        key: str,
        lease_for: float,
        then: Callable[[float], None],
        longest_wait: float = inf,
    ) -> None:
        self._enqueue(
            live.LeaseRequest(lease, as_text(key), lease_for, then, longest_wait)
        )

    def release(self, lease: Lease, key: str, keep_for: float = 0.0) -> None:
        name = live.lease_name(lease, as_text(key))
        if name in self._held:
            self._held.discard(name)
            self._unsaved.releases[name] = keep_for
            self._save_within(_SAVE_SOON)

    def listen(self, listener: Listener) -> None:
        if self._later is None:
            return
        self._news = live.ChangeFeed(listener, self._token, self._read_all)
        self.look()

    def get_run(self, spider: str) -> float | None:
        name = as_text(spider)
        if name in self._unsaved.runs:
            return self._unsaved.runs[name]
        for (began_at,) in self._rows(
            "SELECT began_at FROM runs WHERE spider = ?", name
        ):
            with suppress(*stored.NO_ROW_OF_OURS):
                return float(began_at)
        return None

    def put_run(self, spider: str, began_at: float) -> None:
        self._unsaved.runs[as_text(spider)] = began_at
        self._save_within(_SAVE_AFTER)

    def save(self) -> None:
        """Write what is not yet in the file, all at once.

        What cannot be written stays.
        """
        self._is_readable = True
        try:
            database = self._open()
            if database is not None:
                self._exchange(database)
        except sqlite3.Error as error:
            self._failed(error)
        if not self._is_usable:
            self._answer_alone()

    def close(self) -> None:
        self._is_closed = True
        for timer in filter(None, (self._save_timer, self.look_timer)):
            timer.cancel()
        self._save_timer = self.look_timer = None
        self._questions.clear()
        if self._unsaved:
            self.save()
        self._is_usable = False
        self._release()

    def _exchange(self, database: sqlite3.Connection) -> None:
        """Write all changes, answer all questions, and deliver the answers."""
        now = self._now()
        with transaction(database):
            if self._forget_before:
                before = (self._forget_before,)
                database.execute("DELETE FROM copies WHERE fetched_at < ?", before)
                database.execute("DELETE FROM turns WHERE due < ?", before)
            if now >= self._forgets_at:
                live.forget_old(database, now)
            self._unsaved.write(database, self._token, now)
            answers = [
                one.try_to_claim(database, self._token, now) for one in self._questions
            ]
        if now >= self._forgets_at:
            self._forgets_at = now + _FORGET_AFTER
        self._forget_before = 0.0
        self._locked_since = inf
        self._alone_until = -inf
        self._unsaved = live.Unsaved()
        if self._save_timer is not None:
            self._save_timer.cancel()
            self._save_timer = None
        questions = self._questions
        self._questions = []
        for question, answer in zip(questions, answers, strict=True):
            if not answer[-1]:
                self._held.add(question.name)
            question.answer(*answer)

    def _failed(self, error: sqlite3.Error) -> None:
        """Try again soon where another process was writing, else go on without the file."""
        now = self._now()
        is_waited_for = (
            bool(self._questions or self._unsaved.releases) and not self._is_closed
        )
        if is_locked(error) and is_waited_for and self._later is not None:
            self._locked_since = min(self._locked_since, now)
            if now - self._locked_since < _LOCKED_FOR:
                return
        self._complain(error)
        self._alone_until = now + _TRY_AGAIN_AFTER
        self._answer_alone()

    def _answer_alone(self) -> None:
        questions = self._questions
        self._questions = []
        for question in questions:
            if isinstance(question, live.FetchClaim):
                question.answer(self.get_copy(question.site), 0.0)
            else:
                question.answer(0.0)

    def _enqueue(self, question: live.LeaseRequest | live.FetchClaim) -> None:
        if self._is_closed:
            return
        self._questions.append(question)
        if self._now() < self._alone_until:
            self._answer_alone()
        else:
            self.save()
        if self._questions:
            self._save_within(_ASK_AGAIN_AFTER)

    def _save_within(self, seconds: float) -> None:
        at = self._now() + seconds
        if self._later is None or not self._is_usable:
            return
        if self._save_timer is not None:
            if self._saves_at <= at:
                return
            self._save_timer.cancel()
        self._saves_at = at
        self._save_timer = self._later(seconds, self._save_on_time)

    def _save_on_time(self) -> None:
        self._save_timer = None
        self.save()
        if self._unsaved or self._questions:
            is_soon = 0 <= self._now() - self._locked_since < _LOCKED_FOR
            self._save_within(_ASK_AGAIN_AFTER if is_soon else _TRY_AGAIN_AFTER)

    def look(self) -> None:
        """Read what other crawls have written, and again a quarter of a second later."""
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

    def _rows(self, query: str, *values: object) -> list[stored.Row]:
        return self._tried(
            lambda database: database.execute(query, values).fetchall(), []
        )

    def _tried(self, call: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        try:
            database = self._open()
            return otherwise if database is None else call(database)
        except sqlite3.Error as error:
            self._complain(error)
            return otherwise

    def _open(self) -> sqlite3.Connection | None:
        """None: the file is unusable."""
        if self.database is None and self._is_usable:
            self.database = connect(self._path)
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
        if not self._is_complained_of:
            self._is_complained_of = True
            logger.warning(
                "What is known of sites is kept in the memory of this run only%s:"
                " %s: %s",
                " until their file can be used again" if is_passing else "",
                self._path,
                error,
            )


_FORMAT = 1
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
    CREATE TABLE pauses (
        site TEXT PRIMARY KEY,
        until REAL NOT NULL,
        reason TEXT NOT NULL,
        failed_probes INTEGER NOT NULL
    );
    CREATE TABLE runs (
        spider TEXT PRIMARY KEY,
        began_at REAL NOT NULL
    );
    CREATE TABLE turns (
        site TEXT PRIMARY KEY,
        due REAL NOT NULL
    );
    CREATE TABLE leases (
        name TEXT PRIMARY KEY,
        owner TEXT NOT NULL,
        taken_at REAL NOT NULL,
        until REAL NOT NULL
    );
    CREATE TABLE news (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        told_at REAL NOT NULL,
        teller TEXT NOT NULL,
        kind TEXT NOT NULL,
        site TEXT NOT NULL
    );
    PRAGMA user_version = {_FORMAT}
"""

_BUSY = 0.05  # seconds that the crawl may stand still while another process writes


def connect(path: Path) -> sqlite3.Connection:
    """Open the file, and create its tables where it is new."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise sqlite3.OperationalError(str(error)) from error
    return open_file(path, _SCHEMA, _is_new, busy=_BUSY)


def _is_new(database: sqlite3.Connection) -> bool:
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version not in {0, _FORMAT}:
        raise sqlite3.DatabaseError(f"written by another version (format {version})")
    return not version
