"""One file, several crawls of one machine: turns and pauses, by a turned clock."""

from __future__ import annotations

import logging
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress

import pytest

from scrapy_mandelbot.politeness.pause_policy import LeftPause
from scrapy_mandelbot.store import CachedRobots
from scrapy_mandelbot.store.sqlite import _MOST_AT_ONCE, SqliteStore

SITE, OTHER = "https://example.com", "https://other.example"
HELD_FOR = 15.0
TERMS = {"held_for": HELD_FOR, "longest_wait": 16.0, "gives_way": 0.5}
COPY = CachedRobots(b"User-agent: *\nDisallow: /x\n", 200, 1000.0)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.db"


@pytest.fixture
def open_store(path, clock):
    opened = []

    def open_one(now=clock.now):
        opened.append(SqliteStore(path, clock.call_later, now=now))
        return opened[-1]

    yield open_one
    for store in opened:
        store.close()
    clock.assert_nothing_left()


def claim(store, site=SITE):
    """Return the seconds until the turn is to be claimed again; 0: it is taken."""
    now = store._now()
    taken = store.claim_turn(site, **TERMS)
    return taken and taken - now


def test_one_of_two_crawls_has_the_turn(open_store, clock):
    """Until its answer, and for the delay from then on."""
    one, other = open_store(), open_store()
    assert claim(one) == 0
    clock.turn(1)
    assert claim(other) == pytest.approx(14)
    one.put_turn(SITE, clock.now() + 5)
    assert claim(other) == pytest.approx(5)
    clock.turn(5)
    assert claim(other) == 0
    assert claim(one) == pytest.approx(15)


def test_who_had_the_turn_is_told_who_waits_for_it(open_store, clock):
    """And no more of that when the one that waited has had it."""
    one, other = open_store(), open_store()
    claim(one)
    assert not one.put_turn(SITE, clock.now() + 5)
    claim(other)
    assert one.put_turn(SITE, clock.now() + 5)
    clock.turn(5)
    assert claim(other) == 0
    assert not other.put_turn(SITE, clock.now() + 5)


def test_the_first_to_ask_has_the_next_turn(open_store, clock):
    """The others, and who had the last one, leave it that for half a second."""
    one, first, second = open_store(), open_store(), open_store()
    claim(one)
    assert claim(first) == pytest.approx(15)
    assert claim(second) == pytest.approx(15.5)
    one.put_turn(SITE, clock.now() + 5)
    clock.turn(5)
    assert claim(second) == claim(one) == pytest.approx(0.5)
    assert claim(first) == 0
    assert claim(second) == pytest.approx(15)


def test_who_asked_and_does_not_come_loses_the_turn(open_store, clock):
    """It was killed, or has no request left."""
    one, gone, other = open_store(), open_store(), open_store()
    claim(one)
    claim(gone)
    one.put_turn(SITE, clock.now() + 5)
    clock.turn(5.4)
    assert claim(other) == pytest.approx(0.1)
    clock.turn(0.1)
    assert claim(other) == 0


def test_an_answer_that_comes_after_the_hold_takes_no_turn_back(open_store, clock):
    """Another crawl has it by then."""
    one, other = open_store(), open_store()
    claim(one)
    clock.turn(HELD_FOR + 1)
    assert claim(other) == 0
    one.put_turn(SITE, clock.now() + 5)
    assert claim(one) == pytest.approx(HELD_FOR)


@pytest.mark.slow
def test_the_turn_of_a_process_that_was_killed_ends(open_store, path, clock):
    """Killed between its claim and its request: the others wait fifteen seconds."""
    code = (
        "import os, sys\n"
        "from scrapy_mandelbot.store.sqlite import SqliteStore\n"
        "now = float(sys.argv[2])\n"
        "store = SqliteStore(sys.argv[1], now=lambda: now)\n"
        "terms = {'held_for': 15, 'longest_wait': 16, 'gives_way': 0.5}\n"
        "assert not store.claim_turn('https://example.com', **terms)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    command = [sys.executable, "-c", code, str(path), str(clock.now())]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    store = open_store()
    assert claim(store) == pytest.approx(HELD_FOR)
    clock.turn(HELD_FOR)
    assert claim(store) == 0


@pytest.mark.parametrize("ahead", [60, 3_000, 100_000])
def test_a_turn_that_a_wrong_clock_has_dated_is_none(open_store, clock, ahead):
    """It would hold all up for as long as that clock was ahead; who comes next writes
    its own.
    """
    one, other, third = open_store(), open_store(), open_store()
    assert claim(one) == 0
    clock.shift(-ahead)
    assert claim(other) == 0
    assert claim(third) == pytest.approx(HELD_FOR)


@pytest.mark.parametrize("odd", ["x'00ff'", "'a text'", "1e999", "-1"])
@pytest.mark.parametrize("column", ["due", "taken_by", "wanted_by"])
def test_a_turn_that_something_else_wrote_holds_nobody_up(
    open_store, path, odd, column
):
    """It may be no moment; it never raises."""
    one, other = open_store(), open_store()
    claim(one)
    with (
        closing(sqlite3.connect(path)) as database,
        suppress(sqlite3.IntegrityError),
        database,
    ):
        database.execute(f"UPDATE turns SET {column} = {odd}")
    assert 0 <= claim(other) <= HELD_FOR + 0.5
    other.put_turn(SITE, 5.0)


def test_a_briefly_locked_file_is_claimed_again(open_store, path, clock, caplog):
    """In a tenth of a second, without a warning; meanwhile no turn is taken."""
    store = open_store()
    store.get_turns(0.0)
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("BEGIN IMMEDIATE")
        assert claim(store) == pytest.approx(0.1)
        assert claim(store, OTHER) == pytest.approx(0.1)
        database.execute("ROLLBACK")
    clock.turn(0.1)
    assert claim(store) == 0
    assert claim(open_store()) > 0
    assert not caplog.records


def test_a_crawl_continues_without_a_file_locked_for_long(
    open_store, path, clock, caplog
):
    """Each goes by what it knows itself, with one warning, and claims no more for ten
    seconds.
    """
    store = open_store()
    store.get_turns(0.0)
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("BEGIN IMMEDIATE")
        for _ in range(19):
            assert claim(store) > 0
            clock.turn(0.11)
        assert claim(store) == claim(store, OTHER) == 0
        database.execute("ROLLBACK")
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert claim(open_store()) == 0
    assert claim(store) == 0
    clock.turn(10.1)
    assert claim(store) > 0


@pytest.mark.parametrize(
    "pragma", ["PRAGMA query_only = 1", "PRAGMA max_page_count = 1"]
)
def test_a_file_that_takes_nothing_keeps_nobody_waiting(open_store, pragma):
    """Read-only or full: each goes by what it knows itself, and by what can be read."""
    store = open_store()
    store.put_copy(SITE, COPY)
    store.put_pause(SITE, LeftPause(store._now() + 90, "503"))
    store.database.execute(pragma)
    for number in range(200):
        assert claim(store, f"http://{number}" * 50) == 0
    assert list(store.get_pauses()) == [SITE]
    assert store.get_copy(SITE) == COPY


def test_a_turn_that_was_not_written_does_not_end_the_next_one(open_store, path, clock):
    """The file takes it ten seconds later, when it is no news."""
    one, other = open_store(), open_store()
    claim(one)
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("BEGIN IMMEDIATE")
        one.put_turn(SITE, clock.now() + 1)
        database.execute("ROLLBACK")
    clock.turn(9)
    assert claim(one) == 0
    clock.turn(2)
    assert claim(other) == pytest.approx(13)


def test_pauses_of_others_are_read_once(open_store, clock):
    """With what this crawl has written itself, which it knows."""
    one, other = open_store(), open_store()
    other.get_pauses()
    pause = LeftPause(clock.now() + 100, "503", 2)
    one.put_pause(SITE, pause)
    assert other.changed_pauses() == {SITE: pause}
    assert other.changed_pauses() == {}
    one.put_pause(SITE, None)
    assert other.changed_pauses() == {SITE: None}


def test_many_pauses_are_read_in_slices(open_store, clock):
    """The loop goes on between."""
    one, other = open_store(), open_store()
    other.get_pauses()
    for number in range(_MOST_AT_ONCE + 10):
        one.put_pause(f"http://{number}", LeftPause(clock.now() + 100, "503"))
    counts = [len(other.changed_pauses()) for _ in range(3)]
    assert counts == [_MOST_AT_ONCE, 10, 0]


def test_a_pause_written_by_another_clock_is_as_long_as_there(open_store, clock):
    """A process that began before the machine's clock was set back by an hour."""
    ahead = open_store(now=lambda: clock.now() + 3_600)
    store = open_store()
    store.get_pauses()
    ahead.put_pause(SITE, LeftPause(clock.now() + 3_600 + 90, "503"))
    assert store.changed_pauses() == {SITE: LeftPause(clock.now() + 90, "503")}
