"""The thread in which a worker calls Redis."""

from __future__ import annotations

import threading
from queue import SimpleQueue

import pytest

from scrapy_mandelbot.fleet.link import LONGEST_SILENCE, Link
from scrapy_mandelbot.job.job_store import StorageError

PATIENCE = 10  # seconds; no test takes them


@pytest.fixture
def link():
    """Make links whose crawl's thread is a queue of calls; each ends with its test."""
    made = []

    def make(
        renew=lambda: None, every=1000.0, now=lambda: 0.0
    ) -> tuple[Link, SimpleQueue]:
        calls = SimpleQueue()
        one = Link(renew, every, lambda *call: calls.put(call), now)
        made.append(one)
        return one, calls

    yield make
    for one in made:
        one.thread.end(lambda: None, PATIENCE)
        assert not one.thread.thread.is_alive()


def test_a_call_is_answered_in_the_crawls_thread(link):
    """Its result or StorageError, whatever it raised; the thread goes on."""
    one, calls = link()
    answers = []

    def fails():
        raise StorageError("no")

    def breaks():
        raise KeyError("bug")

    for call in (lambda: 1, fails, breaks, threading.get_ident):
        one.call(call, answers.append)
    for _ in range(4):
        answered, result = calls.get(timeout=PATIENCE)
        answered(result)
    first, failed, broken, thread = answers
    assert first == 1
    assert str(failed) == "no"
    assert isinstance(broken, StorageError)
    assert "bug" in str(broken)
    assert thread != threading.get_ident()


def test_a_waiting_call_returns_the_result_or_raises(link):
    """Also where there is none in time."""
    one, _ = link()
    assert one.call_and_wait(lambda: 7, PATIENCE) == 7
    go_on = threading.Event()
    with pytest.raises(StorageError, match="does not answer"):
        one.call_and_wait(go_on.wait, 0.01)
    go_on.set()


def test_a_lease_is_renewed_while_the_crawl_is_silent(link):
    """Not for ever: a crawl that does nothing for ten minutes is as good as dead."""
    renewed = threading.Semaphore(0)
    time = [0.0]
    one, _ = link(renewed.release, 0.001, lambda: time[0])
    one.call_and_wait(lambda: None, PATIENCE)
    assert renewed.acquire(timeout=PATIENCE)
    time[0] = LONGEST_SILENCE + 1
    one.call_and_wait(lambda: None, PATIENCE)  # it has said something
    assert renewed.acquire(timeout=PATIENCE)
    time[0] *= 3
    one._asked_at = 0.0
    one.thread.put(lambda: None)
    while renewed.acquire(blocking=False):
        pass
    assert not renewed.acquire(timeout=0.05)
