"""One file, several crawls of one machine: leases, and what is heard of, by a turned
clock.
"""

from __future__ import annotations

import logging
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from math import inf

import pytest

from scrapy_mandelbot.store.change_feed import READ_AT_ONCE
from scrapy_mandelbot.store.contract import CachedRobots, Lease, StoredPause
from scrapy_mandelbot.store.sqlite import SqliteStore
from scrapy_mandelbot.store.sqlite_tables import KEPT_FOR

SITE, OTHER = "https://example.com", "https://other.example"
COPY = CachedRobots(b"User-agent: *\nDisallow: /x\n", 200, 1000.0)


class Listener:
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.heard = []

    def pause_stored(self, key, pause) -> None:
        self.heard.append(("pause", key, pause))

    def turn_stored(self, name, due) -> None:
        self.heard.append(("turn", name, due))

    def waiting_stored(self, name) -> None:
        self.heard.append(("waits", name))

    def all_stored(self, pauses, turns) -> None:
        self.heard.append(("all", dict(pauses), dict(turns)))

    def new(self) -> list:
        heard, self.heard = self.heard, []
        return heard


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.db"


@pytest.fixture
def open_store(path, clock):
    opened = []

    def open_one():
        opened.append(SqliteStore(path, clock.call_later, now=clock.now))
        return opened[-1]

    yield open_one
    for store in opened:
        store.close()
    clock.assert_nothing_left()


def claim(store, key=SITE, lease=Lease.PROBE, lease_for=10.0, longest_wait=inf):
    """Return the answer, or None where it is still to come."""
    answers = []
    store.claim(lease, key, lease_for, answers.append, longest_wait)
    return answers[0] if answers else None


def find(store, fresh_since, lease_for=10.0):
    answers = []
    store.find_copy(
        SITE, fresh_since, lease_for, lambda *answer: answers.append(answer)
    )
    return answers[0] if answers else None


@pytest.mark.slow
def test_the_lease_of_a_process_that_was_killed_ends(open_store, path, clock):
    """Nobody gives it back, and others have it when its time is over, by the machine's
    clock.
    """
    code = (
        "import os, sys\n"
        "from scrapy_mandelbot.store.contract import Lease\n"
        "from scrapy_mandelbot.store.sqlite import SqliteStore\n"
        "store = SqliteStore(sys.argv[1], now=lambda: float(sys.argv[2]))\n"
        "die = lambda seconds: os.kill(os.getpid(), 9)\n"
        "store.claim(Lease.PROBE, 'https://example.com', 15.0, die)\n"
    )
    command = [sys.executable, "-c", code, str(path), str(clock.now())]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    store = open_store()
    assert claim(store) == pytest.approx(15)
    clock.turn(15.1)
    assert claim(store) == 0


def test_a_lease_that_a_wrong_clock_has_dated_is_none(open_store, clock):
    """It would hold all up for as long as that clock was ahead."""
    one, other = open_store(), open_store()
    assert claim(one) == 0
    clock.shift(-3_600)
    assert claim(other) == 0


def test_the_next_turn_is_written_with_the_release(open_store, clock):
    """In one transaction, so that no other has the lease before it knows."""
    one, other = open_store(), open_store()
    assert claim(one, lease=Lease.TURN) == 0
    one.put_turn(SITE, clock.now() + 5)
    one.release(Lease.TURN, SITE)
    clock.turn(0.06)
    assert claim(other, lease=Lease.TURN) == pytest.approx(4.94)
    clock.turn(5)
    assert claim(other, lease=Lease.TURN) == 0


def test_changes_reach_others_within_a_third_of_a_second(open_store, clock):
    """Within a third of a second, once, in order; who has written it does not."""
    one, other = open_store(), open_store()
    own, listener = Listener(), Listener()
    one.put_turn(OTHER, clock.now() + 50)
    one.save()
    other.get_turns(0.0)
    one.listen(own)
    other.listen(listener)
    assert own.new() == listener.new() == [("all", {}, {OTHER: clock.now() + 50})]
    pause = StoredPause(clock.now() + 100, "503", 2)
    one.put_pause(SITE, pause)
    clock.turn(0.31)
    one.put_turn(OTHER, clock.now() + 60)
    one.announce_waiting(OTHER)
    clock.turn(0.31)
    told = [
        ("pause", SITE, pause),
        ("turn", OTHER, clock.now() - 0.31 + 60),
        ("waits", OTHER),
    ]
    assert listener.new() == told
    one.put_pause(SITE, None)
    clock.turn(10)
    assert listener.new() == [("pause", SITE, None)]
    assert own.new() == []


def test_news_is_read_in_slices(open_store, clock):
    """The loop goes on between; all of it is heard of in the end."""
    one, other = open_store(), open_store()
    other.get_turns(0.0)
    other.listen(listener := Listener())
    listener.new()
    for number in range(READ_AT_ONCE + 10):
        one.put_turn(f"http://{number}", clock.now() + 500)
    one.save()
    clock.turn(0.25)
    assert len(listener.new()) == READ_AT_ONCE
    clock.turn(0.25)
    assert len(listener.new()) == 10


def test_a_late_reader_gets_all_pauses_and_turns(open_store, path, clock):
    """Old news and ended leases are forgotten: the file does not grow."""
    one, other = open_store(), open_store()
    other.get_turns(0.0)
    other.listen(listener := Listener())
    listener.new()
    other.look_timer.cancel()  # its machine sleeps
    for number in range(3):
        claim(one, key=f"http://{number}")
        one.put_turn(SITE, clock.now() + 1000)
        one.save()
        clock.turn(KEPT_FOR + 1)
    one.put_turn(SITE, clock.now() + 2000)
    one.save()
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT COUNT(*) FROM leases").fetchone() == (0,)
        assert database.execute("SELECT COUNT(*) FROM news").fetchone() <= (2,)
    other.look()
    assert listener.new() == [("all", {}, {SITE: clock.now() + 2000})]


def test_a_briefly_locked_file_is_retried(open_store, path, clock, caplog):
    """The answer comes when it can; no warning."""
    store = open_store()
    store.get_turns(0.0)
    answers = []
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("BEGIN IMMEDIATE")
        store.claim(Lease.PROBE, SITE, 10.0, answers.append)
        clock.turn(0.5)
        assert answers == []
        database.execute("ROLLBACK")
    clock.turn(0.11)
    assert answers == [0]
    assert claim(open_store()) > 0
    assert not caplog.records


def test_a_crawl_continues_without_a_file_locked_for_long(
    open_store, path, clock, caplog
):
    """Each goes by what it knows itself, with one warning, and asks no more for ten
    seconds.
    """
    store = open_store()
    store.get_turns(0.0)
    answers = []
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("BEGIN IMMEDIATE")
        store.claim(Lease.PROBE, SITE, 10.0, answers.append)
        clock.turn(2.2)
        assert answers == [0]
        assert claim(store, key=OTHER) == 0
        database.execute("ROLLBACK")
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert claim(open_store()) == 0  # nobody has it
    clock.turn(11)
    assert claim(store) == 0


@pytest.mark.parametrize(
    "pragma", ["PRAGMA query_only = 1", "PRAGMA max_page_count = 1"]
)
def test_a_file_that_takes_nothing_keeps_nobody_waiting(open_store, pragma):
    """Read-only or full: each goes by what it knows itself, and by what can be read."""
    store = open_store()
    store.put_copy(SITE, COPY)
    store.save()
    store.database.execute(pragma)
    for number in range(200):
        assert claim(store, key=f"http://{number}" * 50) == 0
    assert find(store, 5000.0) == (COPY, 0)


ODD = ["x'00ff'", "'a text'", "1e999", "-1", "CAST(x'ff' AS TEXT)"]


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("column", ["owner", "taken_at", "until"])
def test_a_lease_that_something_else_wrote_holds_nobody_up(
    open_store, path, odd, column
):
    """It may be no lease; it never raises."""
    one, other = open_store(), open_store()
    claim(one)
    with (
        closing(sqlite3.connect(path)) as database,
        suppress(sqlite3.IntegrityError),
        database,
    ):
        database.execute(f"UPDATE leases SET {column} = {odd}")
    assert 0 <= claim(other) <= 10


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("column", ["told_at", "teller", "kind", "site"])
def test_news_of_other_programs_is_skipped(open_store, path, clock, odd, column):
    """What comes after it is heard of."""
    one, other = open_store(), open_store()
    other.get_turns(0.0)
    other.listen(listener := Listener())
    one.put_turn(SITE, clock.now() + 5)
    one.save()
    with (
        closing(sqlite3.connect(path)) as database,
        suppress(sqlite3.IntegrityError),
        database,
    ):
        database.execute(f"UPDATE news SET {column} = {odd}")
    one.put_turn(OTHER, clock.now() + 5)
    one.save()
    clock.turn(0.3)
    assert listener.new()[-1] == ("turn", OTHER, clock.now() - 0.3 + 5)
