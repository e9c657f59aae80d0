"""The tables of a store's file: how they are made, written and cleared.

Each function here is called within a transaction of the store.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.store.contract import ANOTHER_PACE
from scrapy_mandelbot.store.sqlite_file import as_text, open_file
from scrapy_mandelbot.store.sqlite_leases import LeaseTable

if TYPE_CHECKING:
    from scrapy_mandelbot.store.contract import CachedRobots, StoredPause

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
# seconds for which news is kept; a crawl that has not looked for longer reads all
# pauses and turns
KEPT_FOR = 60.0

COPY = "copy"
PAUSE = "pause"
TURN = "turn"
WAITS = "waits"  # a crawl waits for turns of a site; only news
RUN = "run"
RELEASE = "release"  # of a lease

OVERHEAD = 500  # bytes that one value costs in memory beside a body


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


def forget_sites(database: sqlite3.Connection, before: float) -> None:
    """Delete copies and turns that are older than a moment."""
    database.execute("DELETE FROM copies WHERE fetched_at < ?", (before,))
    database.execute("DELETE FROM turns WHERE due < ?", (before,))


def forget_live(database: sqlite3.Connection, now: float) -> None:
    """Delete expired leases and old news.

    The last news stays, so that a reader sees a gap.
    """
    database.execute("DELETE FROM leases WHERE until < ?", (now,))
    database.execute(
        "DELETE FROM news WHERE (told_at < ? OR told_at > ?)"
        " AND number < (SELECT MAX(number) FROM news)",
        (now - KEPT_FOR, now + KEPT_FOR),
    )


def _write_copy(
    database: sqlite3.Connection,
    site: str,
    packed: CachedRobots | None,
    writer: str,  # noqa: ARG001 -- as its neighbours
    now: float,  # noqa: ARG001 -- as its neighbours
) -> None:
    if packed is None:
        database.execute("DELETE FROM copies WHERE site = ?", (site,))
        return
    row = (
        site,
        packed.body,
        packed.status,
        packed.fetched_at,
        as_text(packed.url),
        packed.etag and as_text(packed.etag),
        packed.last_modified and as_text(packed.last_modified),
    )
    # What another process has saved meanwhile may be a little newer. What is newer
    # by over a minute was dated by a wrong clock.
    database.execute(
        "INSERT INTO copies VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (site) DO"
        " UPDATE SET body = excluded.body, status = excluded.status, fetched_at ="
        " excluded.fetched_at, url = excluded.url, etag = excluded.etag,"
        " last_modified = excluded.last_modified WHERE copies.fetched_at <="
        " excluded.fetched_at OR copies.fetched_at > excluded.fetched_at + 60",
        row,
    )


def _write_pause(
    database: sqlite3.Connection,
    site: str,
    pause: StoredPause | None,
    writer: str,
    now: float,
) -> None:
    if pause is None:
        database.execute("DELETE FROM pauses WHERE site = ?", (site,))
    else:
        row = site, pause.until, as_text(pause.reason), pause.failed_probes
        database.execute("INSERT OR REPLACE INTO pauses VALUES (?, ?, ?, ?)", row)
    _add_news(database, PAUSE, site, writer, now)


def _write_turn(
    database: sqlite3.Connection, site: str, due: float, writer: str, now: float
) -> None:
    # Another process may have asked since, and written when it did.
    database.execute(
        "INSERT INTO turns VALUES (?, ?) ON CONFLICT (site) DO UPDATE"
        " SET due = excluded.due WHERE turns.due < excluded.due"
        " OR turns.due > excluded.due + ?",
        (site, due, ANOTHER_PACE),
    )
    _add_news(database, TURN, site, writer, now)


def _write_waits(
    database: sqlite3.Connection,
    site: str,
    value: None,  # noqa: ARG001 -- as its neighbours
    writer: str,
    now: float,
) -> None:
    _add_news(database, WAITS, site, writer, now)


def _write_run(
    database: sqlite3.Connection,
    spider: str,
    began_at: float,
    writer: str,  # noqa: ARG001 -- as its neighbours
    now: float,  # noqa: ARG001 -- as its neighbours
) -> None:
    database.execute("INSERT OR REPLACE INTO runs VALUES (?, ?)", (spider, began_at))


def _write_release(
    database: sqlite3.Connection,
    lease: str,
    keep_for: float,
    writer: str,
    now: float,
) -> None:
    LeaseTable(database, writer, now).release(lease, keep_for)


def _add_news(
    database: sqlite3.Connection, kind: str, site: str, writer: str, now: float
) -> None:
    database.execute(
        "INSERT INTO news (told_at, teller, kind, site) VALUES (?, ?, ?, ?)",
        (now, writer, kind, site),
    )


WRITES: dict[str, Callable[[sqlite3.Connection, str, Any, str, float], None]] = {
    COPY: _write_copy,
    PAUSE: _write_pause,
    TURN: _write_turn,
    WAITS: _write_waits,
    RUN: _write_run,
    RELEASE: _write_release,
}
"""How a value is written, by what it is: connection, name, value, writer, now."""
