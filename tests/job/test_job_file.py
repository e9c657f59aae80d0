"""What a job's file does beyond what every place does: it outlasts its process, and a
full disk.
"""

from __future__ import annotations

import errno
import json
import os
import random
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
from memory_job import MemoryJob

from scrapy_mandelbot.job import fingerprints
from scrapy_mandelbot.job.job_file import (
    ConflictError,
    CorruptError,
    connect_to_read,
)
from scrapy_mandelbot.job.job_lock import JobInUseError, JobLock
from scrapy_mandelbot.job.job_store import Place, StorageError
from scrapy_mandelbot.job.sqlite_job import SqliteJob
from scrapy_mandelbot.job.unacked import PendingChildren

LIFO = Place(0, 0, is_last_first=True)
LINE = "https://example.com"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "job.sqlite"


def test_committed_requests_outlive_the_run(path):
    """Requests that wait and those that were claimed, in their order; fingerprints and
    state.
    """
    job = SqliteJob(path)
    for n in range(100):
        job.push(LINE, LIFO, b"%d" % n)
    claimed = [job.claim(LINE) for _ in range(90)]
    job.see(-5)
    job.states.put("feeds", b"x")
    job.commit()
    job.acknowledge(claimed[0].number)
    job.push(LINE, LIFO, b"after the commit")
    job.database.close()  # as a kill does

    job = SqliteJob(path)
    assert job.lengths() == {LINE: 100}
    assert [job.claim(LINE).body for _ in range(100)] == [
        b"%d" % n for n in range(99, -1, -1)
    ]
    assert job.has_seen(-5)
    assert job.states.get("feeds") == b"x"
    job.close()


def test_claimed_rows_wait_again_in_the_next_run(path):
    """More than a claim steps over, committed in between."""
    job = SqliteJob(path)
    for n in range(300):
        job.push(LINE, LIFO, b"%d" % n)
    job.commit()
    claimed = []
    for _ in range(200):
        claimed.append(job.claim(LINE))
        job.commit()
    assert all(len(line.hidden) < 100 for line in job.lines.values())
    job.acknowledge(claimed[0].number)
    job.commit()
    job.close()
    job = SqliteJob(path)
    assert job.lengths() == {LINE: 299}
    assert job.claim(LINE).body == b"298"
    job.close()


def test_numbers_and_order_continue_over_runs(path):
    """What is pushed in the second run is newer than what was put back in the first."""
    job = SqliteJob(path)
    first = job.push(LINE, LIFO, b"1")
    for _ in range(5):
        job.put_back(job.claim(LINE).number, LINE, LIFO, b"1")
    job.commit()
    job.close()
    job = SqliteJob(path)
    assert job.push(LINE, LIFO, b"2") > first
    assert [job.claim(LINE).body for _ in range(2)] == [b"2", b"1"]
    job.close()


def test_children_are_left_until_they_are_forgotten(path):
    """As often as they were counted; those of a parent end with it."""
    job = SqliteJob(path)
    parent = job.push(LINE, LIFO, b"parent")
    for fingerprint in (7, 7, -3):
        job.push_child("http://child", LIFO, b"", fingerprint, parent)
        job.push_child("http://child", LIFO, b"", fingerprint, 0)
    job.commit()
    job.push_child("http://child", LIFO, b"", 7, 0)
    job.commit()
    job.close()

    job = SqliteJob(path)
    left = PendingChildren(job.children_left(parent))
    assert [left.take(7), left.take(7), left.take(7), left.take(-3), left.take(1)] == [
        True,
        True,
        False,
        True,
        False,
    ]
    assert len(PendingChildren(job.children_left(0))) == 4
    assert job.claim(LINE).number == parent
    job.acknowledge(parent)
    job.forget_children(0)
    job.commit()
    job.close()
    job = SqliteJob(path)
    assert not len(PendingChildren(job.children_left(parent)))
    assert not len(PendingChildren(job.children_left(0)))
    job.close()


def test_a_full_disk_loses_nothing(path):
    """Commits fail and say so; what was done is asked for all the same, and written in
    the end.
    """
    job = SqliteJob(path)
    for n in range(10):
        job.push(LINE, LIFO, b"%d" % n)
    job.see(1)
    job.commit()
    (pages,) = job.database.execute("PRAGMA page_count").fetchone()
    job.database.execute(f"PRAGMA max_page_count = {pages}")
    done = job.claim(LINE)
    job.acknowledge(done.number)
    for n in range(50):
        job.push(LINE, LIFO, b"%d" % n + b"x" * 1000)
    job.see(2)
    for _ in range(3):
        with pytest.raises(StorageError, match="full"):
            job.commit()
    assert job.has_seen(1)
    assert job.has_seen(2)
    assert job.claim(LINE).body.startswith(b"49x")
    assert job.uncommitted > 50
    assert job.uncommitted_bytes > 50_000
    job.database.execute("PRAGMA max_page_count = 1073741823")
    job.commit()
    assert job.uncommitted == 0
    job.close()
    job = SqliteJob(path)
    assert job.lengths() == {LINE: 59}
    assert job.has_seen(2)
    job.close()


def test_an_empty_line_is_deleted(path):
    """A crawl may come by a million sites."""
    job = SqliteJob(path)
    for n in range(50):
        job.push(f"http://site{n}", LIFO, b"")
        if n % 2:
            job.commit()
        job.acknowledge(job.claim(f"http://site{n}").number)
        job.commit()
    assert not job.lines
    assert job.database.execute("SELECT count(*) FROM lines").fetchone() == (0,)
    assert job.database.execute("SELECT count(*) FROM requests").fetchone() == (0,)
    job.close()


@pytest.fixture
def merges_often(monkeypatch):
    monkeypatch.setattr(fingerprints, "MOST_FRESH", 100)
    monkeypatch.setattr(fingerprints, "MERGED", 7)
    monkeypatch.setattr(fingerprints, "DELETED", 30)
    monkeypatch.setattr(fingerprints, "PART_EVERY", 3)


@pytest.mark.usefixtures("merges_often")
def test_merging_loses_no_fingerprint(path):
    """Whenever it is killed, all that were committed are seen, and no other."""
    chance = random.Random(3)
    known: set[int] = set()
    job = SqliteJob(path)
    for _ in range(600):
        for _ in range(chance.randrange(8)):
            fingerprint = chance.randrange(-(2**63), 2**63)
            job.see(fingerprint)
            known.add(fingerprint)
        job.commit()
        if not chance.randrange(80):
            job.database.close()
            job = SqliteJob(path)
        assert not known or job.has_seen(chance.choice(sorted(known)))
    assert all(map(job.has_seen, known))
    assert not any(job.has_seen(chance.randrange(-(2**63), 2**63)) for _ in range(1000))
    (merged,) = job.database.execute("SELECT count(*) FROM seen").fetchone()
    (logged,) = job.database.execute("SELECT count(*) FROM fresh").fetchone()
    assert merged >= len(known) / 2
    assert logged < len(known)
    job.close()


@pytest.mark.parametrize("seed", range(5))
def test_random_operations_have_the_effect_of_a_store_in_memory(path, seed):
    """In any order of operations, commits, failures and restarts at which nothing is
    pending.
    """
    chance = random.Random(seed)
    reference, job = MemoryJob(), SqliteJob(path)
    claimed: list[tuple[int, int, bytes]] = []
    for step in range(3000):
        line = f"http://site{chance.randrange(6)}"
        place = Place(
            chance.randrange(3), chance.randrange(2), bool(chance.randrange(2))
        )
        deed = chance.randrange(12)
        if deed < 4:
            body = b"%d" % step
            reference.push(line, place, body)
            job.push(line, place, body)
        elif deed < 7:
            one, other = reference.claim(line), job.claim(line)
            assert (one is None) == (other is None)
            if one is not None:
                assert one.body == other.body
                claimed.append((one.number, other.number, one.body))
        elif deed < 9 and claimed:
            in_reference, in_job, _ = claimed.pop(chance.randrange(len(claimed)))
            reference.acknowledge(in_reference)
            job.acknowledge(in_job)
        elif deed == 9 and claimed:
            in_reference, in_job, body = claimed.pop(chance.randrange(len(claimed)))
            reference.put_back(in_reference, line, place, body)
            job.put_back(in_job, line, place, body)
        elif deed == 10:
            job.commit()
        elif deed == 11 and not claimed:
            job.commit()
            job.close()
            job = SqliteJob(path)
        assert reference.lengths() == job.lengths()
    job.close()


def test_a_corrupt_file_is_an_error(path):
    """So is a file that is none of SQLite, one of another program, and one of another
    version.
    """
    path.write_bytes(b"no database at all, but long enough to look at" * 100)
    with pytest.raises(CorruptError):
        SqliteJob(path)
    path.unlink()
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE other (x)")
    database.close()
    with pytest.raises(CorruptError, match="no file of a job"):
        SqliteJob(path)
    path.unlink()
    job = SqliteJob(path)
    job.database.execute("PRAGMA user_version = 99")
    job.close()
    with pytest.raises(StorageError, match=r"another version \(format 99\)") as error:
        SqliteJob(path)
    assert not isinstance(error.value, CorruptError)


def test_damage_within_a_run_is_reported(path):
    """A claim of what cannot be read raises; it never returns nothing."""
    job = SqliteJob(path)
    for n in range(2000):
        job.push(LINE, LIFO, b"%d" % n + b"x" * 500)
    job.commit()
    job.close()
    octets = bytearray(path.read_bytes())
    octets[4096 * 3 :] = b"\xff" * (len(octets) - 4096 * 3)
    path.write_bytes(bytes(octets))
    with pytest.raises(CorruptError):
        _read_all(path)


def _read_all(path) -> None:
    job = SqliteJob(path)
    try:
        while job.claim(LINE):
            pass
    finally:
        job.close()


def test_the_file_can_be_read_while_a_run_uses_it(path):
    """And what is looked at is what was committed."""
    job = SqliteJob(path)
    job.push(LINE, LIFO, b"1")
    job.commit()
    job.push(LINE, LIFO, b"2")
    reader = connect_to_read(path)
    assert reader.execute("SELECT body FROM requests").fetchall() == [(b"1",)]
    reader.close()
    job.close()


def test_two_runs_cannot_share_a_jobdir(tmp_path):
    """The second says who has the job; it is free when that process is gone, however it
    ended.
    """
    hold = (
        "import sys, pathlib; from scrapy_mandelbot.job.job_lock import JobLock;lock ="
        " JobLock(pathlib.Path(sys.argv[1])); lock.take(); print('held',"
        " flush=True);sys.stdin.read()"
    )
    path = tmp_path / "job.lock"
    with subprocess.Popen(
        [sys.executable, "-c", hold, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as child:
        assert child.stdout.readline() == b"held\n"
        lock = JobLock(path)
        assert lock.is_held()
        with pytest.raises(JobInUseError, match=f"in use by process {child.pid} on "):
            lock.take()
        child.kill()
        child.wait()
    assert not lock.is_held()
    lock.take()
    with pytest.raises(JobInUseError):
        JobLock(path).take()
    lock.release()
    lock.take()  # and what was said of the run before is gone
    with pytest.raises(JobInUseError, match=f"in use by process {os.getpid()} on "):
        JobLock(path).take()
    lock.release()
    path.write_text("{}")
    lock.take()
    path.write_text("no json")
    with pytest.raises(JobInUseError, match="another run"):
        JobLock(path).take()
    lock.release()


def test_a_lock_whose_process_has_ended_is_not_called_its(tmp_path):
    """A child that it forked may have outlived it; that process is not named."""
    path = tmp_path / "job.lock"
    holder = JobLock(path)
    holder.take()
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    about = {"process": ended.pid, "host": socket.gethostname(), "since": 0}
    path.write_text(json.dumps(about))
    with pytest.raises(JobInUseError, match=f"outlived process {ended.pid}, which has"):
        JobLock(path).take()
    about["host"] = "another machine"
    path.write_text(json.dumps(about))
    with pytest.raises(JobInUseError, match=f"in use by process {ended.pid} on "):
        JobLock(path).take()
    holder.release()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no process can be forked")
def test_a_forked_child_does_not_hold_the_lock(tmp_path):
    """It may outlive the run that forked it: a pool's worker after kill -9."""
    hold = (
        "import os, sys, pathlib; from scrapy_mandelbot.job.job_lock import JobLock;"
        " lock = JobLock(pathlib.Path(sys.argv[1])); lock.take(); child = os.fork();"
        " child and os._exit(0); print(os.getpid(), flush=True); sys.stdin.read()"
    )
    path = tmp_path / "job.lock"
    with subprocess.Popen(
        [sys.executable, "-c", hold, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as run:
        child = int(run.stdout.readline())
        run.wait()
        os.kill(child, 0)  # it lives
        lock = JobLock(path)
        lock.take()
        lock.release()


def test_a_disk_without_locks_causes_a_warning(tmp_path, monkeypatch, caplog):
    """As some network file systems are; stock Scrapy runs there."""

    def flock(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", flock)
    lock = JobLock(tmp_path / "job.lock")
    lock.take()
    assert not JobLock(tmp_path / "job.lock").is_held()
    lock.release()
    assert "cannot be locked" in caplog.text


def test_a_lock_that_was_removed_is_taken_again(tmp_path, caplog):
    """Before another run takes it; if one was faster, this run has lost it for good."""
    path = tmp_path / "job.lock"
    lock = JobLock(path)
    lock.take()
    lock.keep()
    path.unlink()
    lock.keep()
    assert "was removed, and is written again" in caplog.text
    with pytest.raises(JobInUseError):
        JobLock(path).take()
    path.unlink()
    other = JobLock(path)
    other.take()
    with pytest.raises(JobInUseError):
        lock.keep()
    other.release()
    with pytest.raises(JobInUseError):
        lock.keep()


def test_rows_of_another_process_are_no_damage(path):
    """Two runs that do not know of each other give out the same numbers."""
    first, second = SqliteJob(path), SqliteJob(path)
    for job in (first, second):
        job.push(LINE, LIFO, b"1")
    first.commit()
    with pytest.raises(ConflictError, match="another process has written") as error:
        second.commit()
    assert not isinstance(error.value, CorruptError)
    first.close()
    second.close()


@pytest.mark.parametrize(
    "damage",
    ["DELETE FROM requests WHERE number = 2", "UPDATE requests SET body = 'x' || body"],
)
def test_a_row_that_is_damaged_has_no_body(path, damage):
    """One that an index names and that is gone, and one whose body is not as it was
    written.
    """
    job = SqliteJob(path)
    job.push(LINE, LIFO, b"first")
    job.push(LINE, LIFO, b"second")
    job.commit()
    assert (job.read(1), job.read(2)) == (b"first", b"second")
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute(damage)
    assert job.read(2) == b""
    assert job.read(1) == (b"first" if "DELETE" in damage else b"")
    job.close()
