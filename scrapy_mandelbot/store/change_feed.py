"""What a crawl learns from the others that share a store's file.

Each writer adds a row to the table of news; each reader remembers the last number that
it has read.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from math import inf
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.store.rows import NO_ROW_OF_OURS, as_pause, as_turn
from scrapy_mandelbot.store.sqlite_file import transaction
from scrapy_mandelbot.store.sqlite_leases import seconds_until
from scrapy_mandelbot.store.sqlite_tables import PAUSE, TURN, WAITS

if TYPE_CHECKING:
    from scrapy_mandelbot.store.contract import Listener, StoredPause

# seconds; clocks of two processes that differ by less are taken for one
_ONE_CLOCK = 1.0
READ_AT_ONCE = 500  # news per turn of the event loop

_NEWS = """
    SELECT number, teller, kind, news.site, until, reason, failed_probes, due FROM news
    LEFT JOIN pauses ON kind = 'pause' AND pauses.site = news.site
    LEFT JOIN turns ON kind = 'turn' AND turns.site = news.site
    WHERE number > ? AND number <= ? ORDER BY number LIMIT ?
"""


class ChangeFeed:
    """Reads the news of other crawls since the last time, and notifies a listener.

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


def mend_clock(database: sqlite3.Connection, now: float) -> None:
    """Shorten pauses and turns by as much as the clock was set back.

    The latest news then has a later time than now.
    """
    row = database.execute(
        "SELECT told_at FROM news ORDER BY number DESC LIMIT 1"
    ).fetchone()
    set_back = 0.0 if row is None else seconds_until(row[0], now)
    if set_back > _ONE_CLOCK:
        with transaction(database):
            database.execute("UPDATE pauses SET until = until - ?", (set_back,))
            database.execute("UPDATE turns SET due = due - ?", (set_back,))
            database.execute("UPDATE news SET told_at = ?", (now,))
