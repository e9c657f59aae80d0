"""What every place does in which a job is kept."""

from __future__ import annotations

import pytest
from memory_job import MemoryJob
from redis_server import NEEDS_REDIS
from shared_jobs import OneWorker

from scrapy_mandelbot.job.job_store import Place
from scrapy_mandelbot.job.sqlite_job import SqliteJob

LIFO, FIFO = Place(0, 0, is_last_first=True), Place(0, 0, is_last_first=False)
START = Place(0, 1, is_last_first=False)
LINE = "https://example.com"


CHANGES = (
    "push",
    "claim",
    "put_back",
    "acknowledge",
    "see",
    "push_new",
    "push_child",
)


def committing(job: SqliteJob) -> SqliteJob:
    """Let it commit after everything that changes it."""

    def then_commit(change):
        def method(*arguments):
            result = change(*arguments)
            job.commit()
            return result

        return method

    for name in CHANGES:
        setattr(job, name, then_commit(getattr(job, name)))
    return job


IN_FILES = pytest.mark.parametrize(
    "job", ["memory", "sqlite, uncommitted", "sqlite, committed"], indirect=True
)


@pytest.fixture(
    params=[
        "memory",
        "sqlite, uncommitted",
        "sqlite, committed",
        pytest.param("redis", marks=NEEDS_REDIS),
    ]
)
def job(request, tmp_path):
    if request.param == "memory":
        job = MemoryJob()
    elif request.param == "redis":
        job = OneWorker(request.getfixturevalue("redis_server").url)
    elif request.param == "sqlite, committed":
        job = committing(SqliteJob(tmp_path / "job.sqlite"))
    else:
        job = SqliteJob(tmp_path / "job.sqlite")
    yield job
    job.close()


def drain(job, line=LINE) -> list[bytes]:
    bodies = []
    while (kept := job.claim(line)) is not None:
        bodies.append(kept.body)
    return bodies


def test_each_request_is_claimed_once(job):
    """To the byte, and the line is empty then."""
    body = bytes(range(256))
    number = job.push(LINE, LIFO, body)
    assert job.lengths() == {LINE: 1}
    assert job.claim(LINE) == (number, body)
    assert job.claim(LINE) is None
    assert job.lengths() == {}
    assert job.claim("https://nowhere.example") is None


def test_lines_are_kept_apart(job):
    """By their names, whatever a URL held."""
    for line in ("http://a", "http://a mine", "http://\udc80", ""):
        job.push(line, LIFO, line.encode("utf-8", "surrogatepass"))
    for line in ("http://a", "http://a mine", "http://\udc80", ""):
        assert drain(job, line) == [line.encode("utf-8", "surrogatepass")]


@pytest.mark.parametrize(("place", "order"), [(LIFO, b"cba"), (FIFO, b"abc")])
def test_requests_come_in_the_order_of_the_queue_class(job, place, order):
    """Last in, first out; or first in, first out."""
    for body in (b"a", b"b", b"c"):
        job.push(LINE, place, body)
    assert b"".join(drain(job)) == order


def test_priorities_come_first_and_start_requests_behind_the_others(job):
    """A lower number is claimed sooner, whatever its size; among equals start requests
    last.
    """
    job.push(LINE, START, b"start 1")
    job.push(LINE, START, b"start 2")
    job.push(LINE, LIFO, b"page 1")
    job.push(LINE, LIFO, b"page 2")
    job.push(LINE, Place(-(10**30), 0, is_last_first=True), b"urgent")
    job.push(LINE, Place(10**30, 0, is_last_first=True), b"late")
    job.push(LINE, Place(-1, 1, is_last_first=False), b"start, soon")
    assert drain(job) == [
        b"urgent",
        b"start, soon",
        b"page 2",
        b"page 1",
        b"start 1",
        b"start 2",
        b"late",
    ]


def test_a_request_put_back_is_the_newest_of_its_line(job):
    """Under its number, with the body that it has now; in another line where it goes
    there.
    """
    first, second = job.push(LINE, LIFO, b"first"), job.push(LINE, LIFO, b"second")
    assert job.claim(LINE) == (second, b"second")
    assert job.claim(LINE) == (first, b"first")
    job.put_back(second, LINE, LIFO, b"second")
    job.put_back(first, LINE, LIFO, b"first, changed")
    assert job.claim(LINE) == (first, b"first, changed")
    job.put_back(first, "http://other", LIFO, b"elsewhere")
    assert job.lengths() == {LINE: 1, "http://other": 1}
    assert drain(job) == [b"second"]
    assert drain(job, "http://other") == [b"elsewhere"]


def test_acknowledged_requests_are_deleted(job):
    """And its number is given to none after it."""
    numbers = [job.push(LINE, LIFO, b"%d" % n) for n in range(3)]
    for _ in numbers:
        job.acknowledge(job.claim(LINE).number)
    assert job.push(LINE, LIFO, b"next") not in numbers


def test_many_claimed_requests_hide_no_waiting_one(job):
    """A line of a thousand, of which all but one are claimed and a third put back."""
    for n in range(1000):
        job.push(LINE, LIFO, b"%d" % n)
    claimed = [job.claim(LINE) for _ in range(999)]
    assert [kept.body for kept in claimed] == [b"%d" % n for n in range(999, 0, -1)]
    for kept in claimed[::3]:
        job.put_back(kept.number, LINE, LIFO, kept.body)
    assert job.lengths() == {LINE: 334}
    for kept in claimed[1::3]:
        job.acknowledge(kept.number)
    expected = [kept.body for kept in reversed(claimed[::3])]
    assert drain(job) == [*expected, b"0"]


def test_a_stored_fingerprint_is_seen(job):
    """Any number of 64 bits."""
    for fingerprint in (0, 1, -1, 2**63 - 1, -(2**63)):
        assert not job.has_seen(fingerprint)
        job.see(fingerprint)
        assert job.has_seen(fingerprint)
    assert not job.has_seen(2)


@IN_FILES
def test_state_is_kept_by_name(job):
    """The newer in place of the older; None takes it away."""
    assert job.states.get("feeds") is None
    job.states.put("feeds", b"a")
    job.states.put("feeds", b"\x00b")
    job.states.put("other", b"")
    assert job.states.get("feeds") == b"\x00b"
    assert job.states.get("other") == b""
    job.states.put("feeds", None)
    assert job.states.get("feeds") is None


@IN_FILES
def test_states_are_found_by_prefix(job):
    """Committed or not; those that were taken away are not among them."""
    for name in ("site/a", "site/b", "site/c", "site", "sites", "t"):
        job.states.put(name, name.encode())
    job.commit()
    job.states.put("site/b", b"new")
    job.states.put("site/c", None)
    job.states.put("site/\u00e9", b"")
    expected = {"site/a": b"site/a", "site/b": b"new", "site/\u00e9": b""}
    assert job.states.with_prefix("site/") == expected
    job.commit()
    assert job.states.with_prefix("site/") == expected


def test_a_commit_and_a_close_of_nothing_do_nothing(job):
    """And no request is lost where its parent's children are forgotten."""
    job.commit()
    number = job.push(LINE, LIFO, b"parent")
    job.push_child(LINE, LIFO, b"", 7, number)
    job.push_child(LINE, LIFO, b"", 7, 0)
    job.commit()
    job.forget_children(0)
    job.commit()
    assert job.lengths() == {LINE: 3}
    job.close()
