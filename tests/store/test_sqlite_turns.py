"""When sites with a pace may next be asked, in a file: for the next run."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from scrapy_mandelbot.store import CachedRobots
from scrapy_mandelbot.store.sqlite import SqliteStore

SITE, OTHER = "https://example.com", "https://other.example"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.db"


def rows(path) -> list[tuple[str, float]]:
    with closing(sqlite3.connect(path)) as database:
        return database.execute("SELECT site, due FROM turns ORDER BY site").fetchall()


def test_turns_outlive_the_run(path):
    """They alone are reason enough to write the file when it is closed."""
    first = SqliteStore(path)
    first.put_turn(SITE, 100.5)
    first.put_turn("http://\udc80", 50.5)
    first.close()
    second = SqliteStore(path)
    assert second.get_turns(60) == {SITE: 100.5}
    assert len(second.get_turns(0)) == 2
    second.close()


def test_saved_values_are_not_written_again(path):
    """Another process may have written a newer one since."""
    store = SqliteStore(path)
    store.put_turn(SITE, 100.0)
    store.save()
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE turns SET due = 200.0")
        database.commit()
    assert store.get_turns(0) == {SITE: 200.0}
    store.put_turn(OTHER, 300.0)
    store.close()
    assert rows(path) == [(SITE, 200.0), (OTHER, 300.0)]


def test_old_turns_are_deleted(path):
    """With the copies of that age, so that the file does not grow without end."""
    first = SqliteStore(path)
    first.put_turn(SITE, 100.0)
    first.put_turn(OTHER, 300.0)
    first.close()
    second = SqliteStore(path, forget_before=200.0)
    second.put_copy(SITE, CachedRobots(b"", 200, 300.0))
    second.close()
    assert rows(path) == [(OTHER, 300.0)]


def test_a_file_that_cannot_be_read_costs_the_memory_of_former_runs(path):
    """What this one puts is there still."""
    path.write_bytes(b"no database at all" * 100)
    store = SqliteStore(path)
    store.put_turn(SITE, 100.0)
    assert store.get_turns(0) == {SITE: 100.0}
    store.close()
