"""One file for many runs and processes: whatever becomes of it, no harm."""

from __future__ import annotations

import logging
import os
import signal
import sqlite3
import subprocess
import sys
import zlib
from contextlib import closing, suppress

import pytest

from scrapy_mandelbot.politeness.pause_policy import LeftPause
from scrapy_mandelbot.store import LONGEST_BODY, CachedRobots, unpack
from scrapy_mandelbot.store.sqlite import SqliteStore

SITE = "https://example.com"
COPY = CachedRobots(b"User-agent: *\nDisallow: /x\n", 200, 1000.0)


class Clock:
    """Calls what is due when it is turned."""

    def __init__(self):
        self.calls = []

    def later(self, seconds, call):
        entry = [seconds, call]
        self.calls.append(entry)

        class Timer:
            @staticmethod
            def cancel():
                self.calls.remove(entry)

        return Timer()

    def turn(self):
        due, self.calls = self.calls, []
        for _, call in due:
            call()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "copies.db"


@pytest.fixture
def stores():
    opened = []

    def open_store(path, **arguments):
        opened.append(SqliteStore(path, **arguments))
        return opened[-1]

    yield open_store
    for store in opened:
        store.close()


def test_a_copy_outlives_the_run(path, stores):
    """What one run put, the next one finds."""
    first = stores(path)
    first.put_copy(SITE, COPY)
    first.close()
    assert stores(path).get_copy(SITE) == COPY


def test_a_file_is_only_made_when_there_is_something_to_ask(path, stores):
    """A crawl that never asks leaves nothing behind."""
    stores(path).close()
    assert not path.parent.exists()


def test_a_copy_is_written_at_once(path, stores):
    """Another process reads it; no timer is left that would write it later."""
    clock = Clock()
    store = stores(path, later=clock.later)
    store.put_copy(SITE, COPY)
    assert stores(path).get_copy(SITE) == COPY
    assert clock.calls == []
    assert repr(store) == f"<SqliteStore {path}, 0 unsaved>"


def test_closing_saves_and_stops_the_timer(path, stores):
    """Nothing put is lost, nothing is called later."""
    clock = Clock()
    store = stores(path, later=clock.later)
    store.put_copy(SITE, COPY)
    store.close()
    assert clock.calls == []
    assert stores(path).get_copy(SITE) == COPY


def test_a_kill_9_loses_nothing_that_was_put(path):
    """The last change is in the file, and the file is whole."""
    code = (
        "import os, sys\n"
        "from scrapy_mandelbot.store import CachedRobots\n"
        "from scrapy_mandelbot.store.sqlite import SqliteStore\n"
        "store = SqliteStore(sys.argv[1])\n"
        "for number in range(501):\n"
        "    copy = CachedRobots(b'x' * 5000, 200, 1000.0)\n"
        "    store.put_copy(f'http://{number}', copy)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    run = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert run.returncode == -signal.SIGKILL
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert database.execute("SELECT COUNT(*) FROM copies").fetchone() == (501,)


def test_two_processes_share_one_file(path, stores):
    """Each finds what the other saved, and an older copy never takes the place of a
    newer one.
    """
    one, other = stores(path), stores(path)
    one.put_copy(SITE, COPY)
    other.put_copy("http://other", COPY)
    one.save()
    other.save()
    assert one.get_copy("http://other") == COPY
    assert other.get_copy(SITE) == COPY
    newer, older = CachedRobots(b"new", 200, 2001.0), CachedRobots(b"old", 200, 2000.0)
    other.put_copy(SITE, newer)
    one.put_copy(SITE, older)
    other.save()
    one.save()
    assert one.get_copy(SITE) == newer


def test_a_copy_from_the_future_is_replaced(path, stores):
    """The clock that dated it was wrong."""
    store = stores(path)
    store.put_copy(SITE, CachedRobots(b"dated wrongly", 200, 9e9))
    store.save()
    store.put_copy(SITE, COPY)
    store.save()
    assert store.get_copy(SITE) == COPY


def test_copies_that_serve_no_more_are_deleted(path, stores):
    """Once a run, with the first copy that is saved."""
    store = stores(path)
    store.put_copy("http://old", CachedRobots(b"", 200, 100.0))
    store.put_copy("http://new", CachedRobots(b"", 200, 900.0))
    store.close()
    store = stores(path, forget_before=500.0)
    store.put_copy(SITE, COPY)
    store.save()
    assert store.get_copy("http://old") is None
    assert store.get_copy("http://new") is not None


# The format.


def test_the_file_says_which_version_its_format_has(path, stores):
    """And bodies say how they are packed, so that another version can read them."""
    store = stores(path)
    store.put_copy(SITE, COPY)
    store.save()
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (2,)
        (body,) = database.execute("SELECT body FROM copies").fetchone()
    assert unpack(body) == COPY.body


def spoil_version(path):
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA user_version = 99")


def spoil_header(path):
    path.write_bytes(b"this is no database, and long enough to be looked at" * 100)


def spoil_pages(path):
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))


def spoil_folder(path):
    for file in path.parent.iterdir():
        file.unlink()
    path.parent.rmdir()
    path.parent.write_text("a file where the folder should be")


def spoil_into_a_folder(path):
    path.unlink()
    path.mkdir()


SPOILERS = [spoil_version, spoil_header, spoil_pages, spoil_folder, spoil_into_a_folder]


@pytest.mark.parametrize("spoil", SPOILERS)
def test_a_file_beyond_use_costs_a_warning_and_the_memory_of_this_run(
    path, stores, caplog, spoil
):
    """Corrupt, of another version, no file at all: one warning, and the run goes on."""
    store = stores(path)
    for number in range(200):
        store.put_copy(f"http://{number}", CachedRobots(os.urandom(100), 200, 1000.0))
    store.close()
    spoil(path)

    store = stores(path, later=Clock().later)
    assert store.get_copy("http://7") is None
    store.put_copy(SITE, COPY)
    store.save()
    assert store.get_copy(SITE) == COPY
    store.close()

    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage().startswith(
        "What is known of sites is kept in the memory of this run"
    )
    assert str(path) in record.getMessage()


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("body", b"\x01damaged"),
        ("body", b"\x01" + zlib.compress(b"breaks off")[:-1]),
        ("body", b"\x01" + zlib.compress(bytes(LONGEST_BODY + 1))),
        ("body", bytes(LONGEST_BODY + 2)),
        ("body", "text"),
        ("fetched_at", "soon"),
    ],
    ids=["damaged", "breaks off", "a bomb", "too long", "a text", "no time"],
)
def test_a_damaged_copy_is_fetched_again(path, stores, column, value):
    """The site is asked again; the others' copies serve."""
    store = stores(path)
    store.put_copy(SITE, COPY)
    store.put_copy("http://other", COPY)
    store.close()
    with closing(sqlite3.connect(path)) as database:
        database.execute(
            f"UPDATE copies SET {column} = ? WHERE site = ?", (value, SITE)
        )
        database.commit()
    store = stores(path)
    assert store.get_copy(SITE) is None
    assert store.get_copy("http://other") == COPY
    store.put_copy(SITE, COPY)
    store.save()
    assert store.get_copy(SITE) == COPY


def test_a_locked_file_is_written_when_the_lock_is_gone(path, stores, caplog):
    """One warning; nothing is lost, nobody waits, and it is tried again later."""
    clock = Clock()
    store = stores(path, later=clock.later)
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA journal_mode = DELETE")
        other.execute("BEGIN EXCLUSIVE")
        assert store.get_copy(SITE) is None
        store.put_copy(SITE, COPY)
        clock.turn()
        assert store.get_copy(SITE) == COPY
        assert [seconds for seconds, _ in clock.calls] == [10.0]
        other.rollback()
    clock.turn()
    assert clock.calls == []
    assert stores(path).get_copy(SITE) == COPY
    (record,) = caplog.records
    assert "database is locked" in record.getMessage()


@pytest.mark.parametrize(
    ("pragma", "words"),
    [("PRAGMA max_page_count = 1", "full"), ("PRAGMA query_only = 1", "readonly")],
)
def test_a_full_or_read_only_file_is_still_read(path, stores, caplog, pragma, words):
    """New copies stay in memory; one warning says why."""
    store = stores(path)
    store.put_copy(SITE, COPY)
    store.save()
    store.database.execute(pragma)
    for number in range(100):
        store.put_copy(f"http://{number}", CachedRobots(os.urandom(1000), 200, 1000.0))
    store.save()
    store.save()
    assert store.get_copy(SITE) == COPY
    assert len(store.get_copy("http://99").body) == 1000
    (record,) = caplog.records
    assert words in record.getMessage()


def test_a_file_that_is_deleted_during_the_run_harms_nobody(path, stores):
    """The run goes on with what it holds open."""
    store = stores(path)
    store.put_copy(SITE, COPY)
    store.save()
    for file in path.parent.iterdir():
        file.unlink()
    store.put_copy("http://other", COPY)
    store.save()
    assert store.get_copy(SITE) == COPY
    assert store.get_copy("http://other") == COPY


ODD = ["x'00ff'", "'a text'", "1e999", "-1", "NULL", "CAST(x'ff' AS TEXT)"]
TABLES = {
    "copies": ["body", "status", "fetched_at", "url", "etag", "last_modified", "site"],
    "pauses": ["until", "reason", "failed_probes", "site"],
    "turns": ["due", "site"],
    "runs": ["began_at", "spider"],
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize(
    ("table", "column"),
    [(table, column) for table, columns in TABLES.items() for column in columns],
)
def test_a_row_that_something_else_wrote_costs_that_row(
    path, stores, table, column, odd
):
    """Whatever stands in a column, the row beside it is read, and nothing raises."""
    first = stores(path)
    for name in ("http://a", "http://b"):
        first.put_copy(name, COPY)
        first.put_pause(name, LeftPause(2000.0, "503", 2))
        first.put_turn(name, 3000.0)
        first.put_run(name, 1.0)
    first.close()
    key = "spider" if table == "runs" else "site"
    no_null = suppress(sqlite3.IntegrityError)  # where a column takes none
    with closing(sqlite3.connect(path)) as database, no_null, database:
        database.execute(
            f"UPDATE {table} SET {column} = {odd} WHERE {key} = 'http://a'"
        )
    store = stores(path)
    assert dict(store.copies())["http://b"] == store.get_copy("http://b") == COPY
    assert store.get_copy("http://a") is None or isinstance(
        store.get_copy("http://a"), CachedRobots
    )
    pauses, turns = store.get_pauses(), store.get_turns(0.0)
    assert pauses["http://b"] == LeftPause(2000.0, "503", 2)
    assert turns["http://b"] == 3000.0
    assert all(isinstance(due, float) and due < 1e9 for due in turns.values())
    assert all(
        isinstance(one.until, float) and one.until < 1e9 for one in pauses.values()
    )
    assert store.get_run("http://b") == 1.0
    assert store.get_run("http://a") in {None, 1.0, -1.0, float("inf")}


def test_a_run_that_cannot_be_read_is_none(path, stores, caplog):
    """As one that there never was; the log does not mention it."""
    caplog.set_level(logging.DEBUG)
    store = stores(path)
    assert store.get_run("links") is None
    assert not caplog.messages
    store.close()
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("INSERT INTO runs VALUES ('links', 'x')")
    assert stores(path).get_run("links") is None
    assert not caplog.messages


def test_a_locked_file_is_tried_once_in_ten_seconds(tmp_path, clock):
    """Each try makes the crawl wait for up to 50 ms: 100 changes, one try."""
    store = SqliteStore(tmp_path / "store.db", clock.call_later, now=clock.now)
    store.get_turns(0.0)
    tries = []
    store.database.set_trace_callback(tries.append)
    with closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        for number in range(100):
            store.put_turn(f"http://{number}", clock.now() + 50)
        assert tries.count("BEGIN IMMEDIATE") == 1
        other.execute("ROLLBACK")
    clock.turn(10.1)
    assert tries.count("BEGIN IMMEDIATE") == 2
    assert len(SqliteStore(tmp_path / "store.db").get_turns(0.0)) == 100
    store.close()
    clock.assert_nothing_left()


def test_what_a_file_does_not_take_is_bounded_in_memory(tmp_path, monkeypatch):
    """Of more sites than fit, the copies not used for longest are fetched again."""
    monkeypatch.setattr("scrapy_mandelbot.store.sqlite.LIMIT", 10_000)
    (tmp_path / "store.db").write_bytes(b"no database at all" * 100)
    store = SqliteStore(tmp_path / "store.db")
    for number in range(100):
        store.put_copy(f"http://{number}", COPY)
    assert store.get_copy("http://0") is None
    assert store.get_copy("http://99") == COPY
    store.close()


def test_a_pause_is_no_longer_where_the_clock_was_set_back(path, stores):
    """By a day between two runs; in the run after the next it is still no longer."""
    first = stores(path, now=lambda: 100_000.0)
    first.put_pause("http://a", LeftPause(100_060.0, "503"))
    first.close()
    second = stores(path, now=lambda: 13_600.0)
    assert second.get_pauses() == {"http://a": LeftPause(13_660.0, "503")}
    second.close()
    third = stores(path, now=lambda: 13_610.0)
    assert third.get_pauses() == {"http://a": LeftPause(13_660.0, "503")}
