"""The thread in which a worker calls Redis."""

from __future__ import annotations

import threading
from contextlib import suppress
from queue import SimpleQueue
from types import SimpleNamespace

import pytest

from scrapy_mandelbot.fleet import link as link_module
from scrapy_mandelbot.fleet.job_server import ServerAwayError, ServerRefusedError
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


@pytest.fixture
def time_of_link(monkeypatch):
    """Let what a link sleeps pass at once; return how long it has slept."""
    time = SimpleNamespace(slept=0.0)

    def sleep(seconds: float) -> None:
        time.slept += seconds

    monkeypatch.setattr(link_module.time, "sleep", sleep)
    monkeypatch.setattr(link_module, "elapsed", lambda: time.slept)
    return time


@pytest.mark.parametrize("tries", [1, 2, 30])
def test_a_call_is_made_again_while_the_server_is_away(link, time_of_link, tries):
    """At the start of a crawl: one reset ends no worker."""
    one, _ = link()
    made = []

    def comes_late() -> int:
        made.append(1)
        if len(made) < tries:
            raise ServerAwayError("Connection reset by peer")
        return 7

    assert one.call_until_there(comes_late, 10.0) == 7
    assert len(made) == tries
    assert time_of_link.slept < 10.0


def test_a_server_that_stays_away_is_not_waited_for_any_longer(link, time_of_link):
    one, _ = link()

    def is_away() -> None:
        raise ServerAwayError("Connection refused")

    with pytest.raises(ServerAwayError, match="Connection refused"):
        one.call_until_there(is_away, 10.0)
    assert 9.0 < time_of_link.slept <= 10.0


@pytest.mark.parametrize("kind", [StorageError, ServerRefusedError])
def test_what_a_second_try_does_not_mend_is_not_tried_again(link, time_of_link, kind):
    """Another project's job, a wrong password."""
    one, _ = link()

    def fails() -> None:
        raise kind("no")

    with pytest.raises(kind):
        one.call_until_there(fails, 10.0)
    assert not time_of_link.slept


def test_a_link_knows_since_when_each_call_was_refused(link):
    """A call that got an answer, or that found no server, ends it."""
    time = [0.0]
    one, _ = link(now=lambda: time[0])

    def call(error: StorageError | None) -> float | None:
        time[0] += 1

        def made() -> None:
            if error is not None:
                raise error

        with suppress(StorageError):
            one.call_and_wait(made, PATIENCE)
        return one.refused_since

    refused = ServerRefusedError("NOAUTH")
    assert [call(refused), call(refused)] == [1.0, 1.0]
    assert call(ServerAwayError("Connection refused")) is None
    assert [call(refused), call(refused)] == [4.0, 4.0]
    assert call(StorageError("LOADING")) is None
    assert call(refused) == 7.0
    assert call(None) is None


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
