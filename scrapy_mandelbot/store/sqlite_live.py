"""What crawls that share a store's file write for each other: leases, and news of changes.

All of this is written within one transaction of the store, which no other process's
comes between.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from math import inf, isfinite
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from scrapy_mandelbot.store.contract import ANOTHER_PACE, Lease
from scrapy_mandelbot.store.memory import MemoryStore
from scrapy_mandelbot.store.rows import (
    COPY_OF,
    NO_ROW_OF_OURS,
    as_copy,
    as_pause,
    as_turn,
)
from scrapy_mandelbot.store.sqlite_file import as_text, transaction

if TYPE_CHECKING:
    from scrapy_mandelbot.store.contract import CachedRobots, Listener, StoredPause

PAUSE = "pause"
TURN = "turn"
WAITS = "waits"
# seconds; clocks of two processes that differ by less are taken for one
_ONE_CLOCK = 1.0
# seconds for which news is kept; who has not looked for longer reads all there is
KEPT_FOR = 60.0
READ_AT_ONCE = 500  # news per turn of the event loop


def add_news(
    database: sqlite3.Connection,
    writer: str,
    now: float,
    kind: str,
    sites: Iterable[str],
) -> None:
    database.executemany(
        "INSERT INTO news (told_at, teller, kind, site) VALUES (?, ?, ?, ?)",
        [(now, writer, kind, site) for site in sites],
    )


def forget_old(database: sqlite3.Connection, now: float) -> None:
    """Delete leases that are over, and old news but for the last, so that a gap can be seen."""
    database.execute("DELETE FROM leases WHERE until < ?", (now,))
    database.execute(
        "DELETE FROM news WHERE (told_at < ? OR told_at > ?)"
        " AND number < (SELECT MAX(number) FROM news)",
        (now - KEPT_FOR, now + KEPT_FOR),
    )


def mend_clock(database: sqlite3.Connection, now: float) -> None:
    """Shorten pauses and turns by as much as the clock was set back.

    The latest news then has a later time than now.
    """
    row = database.execute(
        "SELECT told_at FROM news ORDER BY number DESC LIMIT 1"
    ).fetchone()
    set_back = 0.0 if row is None else _seconds_until(row[0], now)
    if set_back > _ONE_CLOCK:
        with transaction(database):
            database.execute("UPDATE pauses SET until = until - ?", (set_back,))
            database.execute("UPDATE turns SET due = due - ?", (set_back,))
            database.execute("UPDATE news SET told_at = ?", (now,))


class Timer(Protocol):
    """The handle of a scheduled call, which cancels it."""

    def cancel(self) -> object:
        """Do not make the call."""


class ChangeFeed:
    """Reads the news that other crawls have written since the last time, and notifies a listener.

    `reader`: the name under which this crawl writes. `read_all` returns all pauses and
    turns.
    """

    def __init__(
        self,
        listener: Listener,
        reader: str,
        read_all: Callable[[], tuple[Mapping[str, StoredPause], Mapping[str, float]]],
    ) -> None:
        self._listener = listener
        self._reader = reader
        self._read_all = read_all
        self._last = -inf  # number of the last news that was read
        # SQLite's count of others' writes; None: read on
        self._version: int | None = None

    def read(self, database: sqlite3.Connection) -> None:
        """Pass new messages to the listener."""
        (version,) = database.execute("PRAGMA data_version").fetchone()
        if version == self._version:
            return
        first, last = database.execute(
            "SELECT IFNULL(MIN(number), 0), IFNULL(MAX(number), 0) FROM news"
        ).fetchone()
        if first > self._last + 1:  # at first, or some of it is forgotten
            self._last = last
            self._version = version
            self._listener.all_stored(*self._read_all())
            return
        rows = database.execute(_NEWS, (self._last, last, READ_AT_ONCE)).fetchall()
        if rows:
            self._last = rows[-1][0]
        self._version = version if len(rows) < READ_AT_ONCE else None
        for _, writer, kind, site, *values in rows:
            if writer != self._reader and isinstance(site, str):
                self._pass_on(kind, site, values)

    def _pass_on(self, kind: str, site: str, values: list[Any]) -> None:
        *pause, due = values
        try:
            kept = as_pause((site, *pause))[1] if pause[0] is not None else None
            moment = as_turn((site, due))[1] if due is not None else -inf
        except NO_ROW_OF_OURS:
            return  # something else has written it
        if kind == PAUSE:
            self._listener.pause_stored(site, kept)
        elif kind == TURN and due is not None:
            self._listener.turn_stored(site, moment)
        elif kind == WAITS:
            self._listener.waiting_stored(site)


_NEWS = """
    SELECT number, teller, kind, news.site, until, reason, failed_probes, due FROM news
    LEFT JOIN pauses ON kind = 'pause' AND pauses.site = news.site
    LEFT JOIN turns ON kind = 'turn' AND turns.site = news.site
    WHERE number > ? AND number <= ? ORDER BY number LIMIT ?
"""


# seconds; a lease taken that far ahead was dated by a wrong clock
_ANOTHER_CLOCK = 60.0
_DUE = {
    Lease.PROBE: "SELECT until FROM pauses WHERE site = ?",
    Lease.TURN: "SELECT due FROM turns WHERE site = ?",
}


def lease_name(lease: Lease, site: str) -> str:
    return f"{lease.value}:{site}"


class LeaseRequest(NamedTuple):
    """A crawl's request for a lease, when no pause or turn holds it back."""

    lease: Lease
    key: str
    lease_for: float
    answer: Callable[..., None]
    longest_wait: float

    @property
    def name(self) -> str:
        return lease_name(self.lease, self.key)

    def try_to_claim(
        self, database: sqlite3.Connection, owner: str, now: float
    ) -> tuple[float]:
        """Return the seconds after which to ask again; 0: the owner has the lease."""
        row = database.execute(_DUE[self.lease], (self.key,)).fetchone()
        left = 0.0 if row is None else _seconds_until(row[0], now)
        if left > self.longest_wait:
            left = 0.0
        return (
            left or LeaseTable(database, owner, now).take(self.name, self.lease_for),
        )


class FetchClaim(NamedTuple):
    """A crawl's request to fetch a site's robots.txt, of which there is no fresh copy."""

    site: str
    fresh_since: float
    lease_for: float
    answer: Callable[..., None]

    @property
    def name(self) -> str:
        return lease_name(Lease.FETCH, self.site)

    def try_to_claim(
        self, database: sqlite3.Connection, owner: str, now: float
    ) -> tuple[CachedRobots | None, float]:
        """Return the copy, and the seconds for which another has the lease; 0: the owner has it."""
        row = database.execute(COPY_OF, (self.site,)).fetchone()
        copy = None
        if row is not None:
            try:
                copy = as_copy(row)
            except NO_ROW_OF_OURS:
                pass  # it is fetched anew
            else:
                if copy.fetched_at > self.fresh_since:
                    return copy, 0.0
        return copy, LeaseTable(database, owner, now).take(self.name, self.lease_for)


class LeaseTable(NamedTuple):
    """The leases of a file, within a transaction; a lease ends by the machine's clock at last."""

    database: sqlite3.Connection
    owner: str
    now: float

    def take(self, name: str, lease_for: float) -> float:
        """Take a lease; return for how many seconds another has it instead."""
        whose, left = self.held_by(name)
        if left > 0 and whose != self.owner:
            return left
        values = name, self.owner, self.now, self.now + lease_for
        self.database.execute(
            "INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?)", values
        )
        return 0.0

    def held_by(self, name: str) -> tuple[Any, float]:
        """Return the owner of a lease, and for how many seconds yet."""
        query = "SELECT owner, taken_at, until FROM leases WHERE name = ?"
        row = self.database.execute(query, (name,)).fetchone()
        if row is None or _seconds_until(row[1], self.now) > _ANOTHER_CLOCK:
            return None, 0.0
        return row[0], _seconds_until(row[2], self.now)

    def release(self, name: str, keep_for: float) -> None:
        """Give a lease back that the owner has, or end it after some seconds."""
        if keep_for > 0:
            query = (
                "UPDATE leases SET taken_at = ?, until = ? WHERE name = ? AND owner = ?"
            )
            self.database.execute(
                query, (self.now, self.now + keep_for, name, self.owner)
            )
        else:
            query = "DELETE FROM leases WHERE name = ? AND owner = ?"
            self.database.execute(query, (name, self.owner))


def _seconds_until(moment: Any, now: float) -> float:
    # 0 where it is over or no time at all.
    try:
        left = float(moment) - now
    except NO_ROW_OF_OURS:
        return 0.0
    return max(0.0, left) if isfinite(left) else 0.0


class Unsaved:
    """Held in memory until it is written, all in one transaction."""

    def __init__(self) -> None:
        self.memory = MemoryStore()  # copies and turns
        self.pauses: dict[str, StoredPause | None] = {}  # none: it is over
        self.runs: dict[str, float] = {}
        self.waits: set[str] = set()  # sites whose turns this crawl waits for
        # by name of the lease: seconds for which it is kept
        self.releases: dict[str, float] = {}

    def __bool__(self) -> bool:
        turns = self.memory.get_turns(-inf)
        return any(
            (len(self.memory), turns, self.pauses, self.runs, self.waits, self.releases)
        )

    def write(self, database: sqlite3.Connection, owner: str, now: float) -> None:
        """Write all of it; within a transaction."""
        self._write_copies(database)
        self._write_pauses(database)
        turns = self.memory.get_turns(-inf)
        # Another process may have asked since, and written when it did.
        database.executemany(
            "INSERT INTO turns VALUES (?, ?) ON CONFLICT (site) DO UPDATE"
            " SET due = excluded.due WHERE turns.due < excluded.due"
            " OR turns.due > excluded.due + ?",
            [(site, due, ANOTHER_PACE) for site, due in turns.items()],
        )
        database.executemany(
            "INSERT OR REPLACE INTO runs VALUES (?, ?)", self.runs.items()
        )
        for kind, sites in (PAUSE, self.pauses), (TURN, turns), (WAITS, self.waits):
            if sites:
                add_news(database, owner, now, kind, sites)
        # Last, though at once: the next holder of a lease follows what was written.
        leases = LeaseTable(database, owner, now)
        for name, keep_for in self.releases.items():
            leases.release(name, keep_for)

    def _write_copies(self, database: sqlite3.Connection) -> None:
        rows = [
            (
                as_text(site),
                one.body,
                one.status,
                one.fetched_at,
                as_text(one.url),
                one.etag and as_text(one.etag),
                one.last_modified and as_text(one.last_modified),
            )
            for site, one in self.memory.packed.items()
        ]
        # What another process has saved meanwhile may be a little newer. What is newer
        # by over a minute was dated by a wrong clock.
        database.executemany(
            "INSERT INTO copies VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (site) DO"
            " UPDATE SET body = excluded.body, status = excluded.status, fetched_at ="
            " excluded.fetched_at, url = excluded.url, etag = excluded.etag,"
            " last_modified = excluded.last_modified WHERE copies.fetched_at <="
            " excluded.fetched_at OR copies.fetched_at > excluded.fetched_at + 60",
            rows,
        )

    def _write_pauses(self, database: sqlite3.Connection) -> None:
        database.executemany(
            "INSERT OR REPLACE INTO pauses VALUES (?, ?, ?, ?)",
            [
                (site, one.until, as_text(one.reason), one.failed_probes)
                for site, one in self.pauses.items()
                if one is not None
            ],
        )
        over = [(site,) for site, one in self.pauses.items() if one is None]
        database.executemany("DELETE FROM pauses WHERE site = ?", over)
