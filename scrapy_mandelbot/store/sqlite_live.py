"""Leases in a store's file: what one crawl of a machine may do at a time, of all that share it.

A lease ends by the machine's clock where nobody gives it back. All of this is done within one
transaction of the store, which no other process's comes between.
"""

from __future__ import annotations

from math import inf, isfinite
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from scrapy_mandelbot.store.contract import Lease
from scrapy_mandelbot.store.rows import COPY_OF, NO_ROW_OF_OURS, as_copy, as_pause, as_turn
from scrapy_mandelbot.store.sqlite_file import transaction

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Mapping

    from scrapy_mandelbot.store.contract import Copy, KeptPause, Listener

PAUSE, TURN, WAITS = "pause", "turn", "waits"
_ONE_CLOCK = 1.0  # seconds; clocks of two processes that differ by less are taken for one
KEPT_FOR = 60.0  # seconds for which news is kept; who has not looked for longer reads all there is
READ_AT_ONCE = 500  # as many as are heard of in one turn of the loop


def tell(
    database: sqlite3.Connection, teller: str, now: float, kind: str, sites: Iterable[str]
) -> None:
    database.executemany(
        "INSERT INTO news (told_at, teller, kind, site) VALUES (?, ?, ?, ?)",
        [(now, teller, kind, site) for site in sites],
    )


def forget_old(database: sqlite3.Connection, now: float) -> None:
    """Delete what everybody has heard of; the last of it stays, so that a gap can be seen."""
    database.execute(
        "DELETE FROM news WHERE (told_at < ? OR told_at > ?)"
        " AND number < (SELECT MAX(number) FROM news)",
        (now - KEPT_FOR, now + KEPT_FOR),
    )


def mend_clock(database: sqlite3.Connection, now: float) -> None:
    """Have pauses and turns last no longer than they were to, where the clock was set back.

    It is known by what was told last: at a later time than it is now.
    """
    row = database.execute("SELECT told_at FROM news ORDER BY number DESC LIMIT 1").fetchone()
    set_back = 0.0 if row is None else _seconds_until(row[0], now)
    if set_back > _ONE_CLOCK:
        with transaction(database):
            database.execute("UPDATE pauses SET until = until - ?", (set_back,))
            database.execute("UPDATE turns SET due = due - ?", (set_back,))
            database.execute("UPDATE news SET told_at = ?", (now,))


class Timer(Protocol):
    """What a call that is made later can be stopped by."""

    def cancel(self) -> object:
        """Do not make the call."""


class ChangeFeed:
    """Reads what other crawls have told since it was read last, and has a listener hear of it.

    `reader`: the name by which this crawl tells. `read_all` returns all pauses and turns there are.
    """

    def __init__(
        self,
        listener: Listener,
        reader: str,
        read_all: Callable[[], tuple[Mapping[str, KeptPause], Mapping[str, float]]],
    ) -> None:
        self._listener = listener
        self._reader = reader
        self._read_all = read_all
        self._last = -inf  # number of the last news that was read
        self._version: int | None = None
        """Of the file, as SQLite counts what others have written; None: there is more to read."""

    def read(self, database: sqlite3.Connection) -> None:
        """Pass what is new to the listener."""
        (version,) = database.execute("PRAGMA data_version").fetchone()
        if version == self._version:
            return
        first, last = database.execute(
            "SELECT IFNULL(MIN(number), 0), IFNULL(MAX(number), 0) FROM news"
        ).fetchone()
        if first > self._last + 1:  # at first, or some of it is forgotten
            self._last, self._version = last, version
            self._listener.hear_all_stored(*self._read_all())
            return
        rows = database.execute(_NEWS, (self._last, last, READ_AT_ONCE)).fetchall()
        if rows:
            self._last = rows[-1][0]
        self._version = version if len(rows) < READ_AT_ONCE else None
        for _, teller, kind, site, *values in rows:
            if teller != self._reader and isinstance(site, str):
                self._hear(kind, site, values)

    def _hear(self, kind: str, site: str, values: list[Any]) -> None:
        *pause, due = values
        try:
            kept = as_pause((site, *pause))[1] if pause[0] is not None else None
            moment = as_turn((site, due))[1] if due is not None else -inf
        except NO_ROW_OF_OURS:
            return  # something else has written it
        if kind == PAUSE:
            self._listener.hear_stored_pause(site, kept)
        elif kind == TURN and due is not None:
            self._listener.hear_stored_turn(site, moment)
        elif kind == WAITS:
            self._listener.hear_stored_waiting(site)


_NEWS = """
    SELECT number, teller, kind, news.site, until, reason, failed_probes, due FROM news
    LEFT JOIN pauses ON kind = 'pause' AND pauses.site = news.site
    LEFT JOIN turns ON kind = 'turn' AND turns.site = news.site
    WHERE number > ? AND number <= ? ORDER BY number LIMIT ?
"""


_ANOTHER_CLOCK = 60.0  # seconds; a lease taken that far ahead was dated by a wrong clock
_DUE = {
    Lease.PROBE: "SELECT until FROM pauses WHERE site = ?",
    Lease.TURN: "SELECT due FROM turns WHERE site = ?",
}


def lease_name(lease: Lease, site: str) -> str:
    return f"{lease.value}:{site}"


class LeaseRequest(NamedTuple):
    """A crawl asks for a lease, once no pause or turn is to be waited for."""

    lease: Lease
    key: str
    lease_for: float
    answer: Callable[..., None]
    longest_wait: float

    @property
    def name(self) -> str:
        return lease_name(self.lease, self.key)

    def ask(self, database: sqlite3.Connection, owner: str, now: float) -> tuple[float]:
        """Return the seconds after which to ask again; 0: the owner has the lease."""
        row = database.execute(_DUE[self.lease], (self.key,)).fetchone()
        left = 0.0 if row is None else _seconds_until(row[0], now)
        if left > self.longest_wait:
            left = 0.0
        return (left or _take(database, self.name, owner, now, self.lease_for),)

    def unheard(self, _copy: Copy | None) -> tuple[float]:
        """Return what is answered where the file cannot be asked."""
        return (0.0,)


class FetchClaim(NamedTuple):
    """A crawl asks to be the one that fetches a site's robots.txt, where no fresh copy is there."""

    site: str
    fresh_since: float
    lease_for: float
    answer: Callable[..., None]

    @property
    def name(self) -> str:
        return lease_name(Lease.FETCH, self.site)

    def ask(
        self, database: sqlite3.Connection, owner: str, now: float
    ) -> tuple[Copy | None, float]:
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
        return copy, _take(database, self.name, owner, now, self.lease_for)

    def unheard(self, copy: Copy | None) -> tuple[Copy | None, float]:
        """Return what is answered where the file cannot be asked."""
        return copy, 0.0


def release(
    database: sqlite3.Connection, name: str, owner: str, now: float, keep_for: float
) -> None:
    """Give a lease back that the owner has, or have it end after some seconds."""
    if keep_for > 0:
        query = "UPDATE leases SET taken_at = ?, until = ? WHERE name = ? AND owner = ?"
        database.execute(query, (now, now + keep_for, name, owner))
    else:
        database.execute("DELETE FROM leases WHERE name = ? AND owner = ?", (name, owner))


def forget_ended(database: sqlite3.Connection, now: float) -> None:
    database.execute("DELETE FROM leases WHERE until < ?", (now,))


def _take(
    database: sqlite3.Connection, name: str, owner: str, now: float, lease_for: float
) -> float:
    """Have the owner have a lease; return for how many seconds another has it instead."""
    whose, left = held_by(database, name, now)
    if left > 0 and whose != owner:
        return left
    query = "INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?)"
    database.execute(query, (name, owner, now, now + lease_for))
    return 0.0


def held_by(database: sqlite3.Connection, name: str, now: float) -> tuple[Any, float]:
    query = "SELECT owner, taken_at, until FROM leases WHERE name = ?"
    row = database.execute(query, (name,)).fetchone()
    if row is None or _seconds_until(row[1], now) > _ANOTHER_CLOCK:
        return None, 0.0
    return row[0], _seconds_until(row[2], now)


def _seconds_until(moment: Any, now: float) -> float:
    """Return how many seconds are left, 0 where it is over, or no time at all."""
    try:
        left = float(moment) - now
    except NO_ROW_OF_OURS:
        return 0.0
    return max(0.0, left) if isfinite(left) else 0.0
