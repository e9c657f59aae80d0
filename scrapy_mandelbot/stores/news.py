"""What crawls that share a store's file tell each other: of which sites there is something to read.

Each looks often whether another one has written, which SQLite answers without reading the file.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.stores.rows import NO_ROW_OF_OURS, as_pause, as_turn

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Mapping

    from scrapy_mandelbot.stores.copies import KeptPause
    from scrapy_mandelbot.stores.live import Listener

PAUSE, TURN, WAITS = "pause", "turn", "waits"
KEPT_FOR = 60.0
"""Seconds for which news is kept; who has not looked for longer reads all there is."""
READ_AT_ONCE = 500
"""As many as are heard of in one turn of the loop."""


def tell(
    database: sqlite3.Connection, teller: str, now: float, kind: str, sites: Iterable[str]
) -> None:
    """Have others know that there is something to read of some sites."""
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


class News:
    """Reads what other crawls have told since it was read last.

    Args:
        listener: who hears of it.
        reader: the name by which this crawl tells.
        read_all: returns all pauses and turns that there are.
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
        self._last = -inf
        """Number of the last news that was read."""
        self._version: int | None = None
        """Of the file, as SQLite counts what others have written; None: there is more to read."""

    def read(self, database: sqlite3.Connection) -> None:
        """Have the listener hear of what is new.

        Raises:
            sqlite3.Error: the file cannot be read now.
        """
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
