"""The thread in which a worker calls Redis, and what a worker leaves of a site."""

from __future__ import annotations

import threading
from math import inf
from queue import SimpleQueue

import pytest

from scrapy_mandelbot.fleet.server import LONGEST_SILENCE, Link
from scrapy_mandelbot.job.job_store import CannotKeepError
from scrapy_mandelbot.job.site_states import ENDLESS, is_calm, left_of, read_left
from scrapy_mandelbot.robots.pace import Pace
from scrapy_mandelbot.sites.pause import PauseLaw, Refusal
from scrapy_mandelbot.throttle.in_flight import RequestInFlight
from scrapy_mandelbot.throttle.site_map import CrawledSite

PATIENCE = 10  # seconds; no test takes them


@pytest.fixture
def link():
    """Make links whose crawl's thread is a queue of calls; each ends with its test."""
    made = []

    def make(renew=lambda: None, every=1000.0, now=lambda: 0.0) -> tuple[Link, SimpleQueue]:
        calls = SimpleQueue()
        one = Link(renew, every, lambda *call: calls.put(call), now)
        made.append(one)
        return one, calls

    yield make
    for one in made:
        one.close()
        one.thread.join(PATIENCE)
        assert not one.thread.is_alive()


def test_a_call_is_answered_in_the_crawls_thread(link):
    """Its result or CannotKeepError, whatever it raised; the thread goes on."""
    one, calls = link()
    answers = []

    def fails():
        raise CannotKeepError("no")

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
    assert isinstance(broken, CannotKeepError)
    assert "bug" in str(broken)
    assert thread != threading.get_ident()


def test_who_waits_gets_the_answer_or_the_error(link):
    """Also where there is none in time."""
    one, _ = link()
    assert one.call_and_wait(lambda: 7, PATIENCE) == 7
    go_on = threading.Event()
    with pytest.raises(CannotKeepError, match="does not answer"):
        one.call_and_wait(go_on.wait, 0.01)
    go_on.set()


def test_a_lease_is_renewed_while_the_crawl_is_silent(link):
    """Not for ever: a crawl that does nothing for ten minutes is as good as dead."""
    renewed = threading.Semaphore(0)
    time = [0.0]
    one, _ = link(renewed.release, 0.001, lambda: time[0])
    assert renewed.acquire(timeout=PATIENCE)
    time[0] = LONGEST_SILENCE + 1
    one.call_and_wait(lambda: None, PATIENCE)  # it has said something
    assert renewed.acquire(timeout=PATIENCE)
    time[0] *= 3
    one._asked_at = 0.0
    one._calls.put((lambda: None, lambda _: None))
    while renewed.acquire(blocking=False):
        pass
    assert not renewed.acquire(timeout=0.05)


def refused(site: CrawledSite, now: float, retry_after: float | None = None) -> None:
    flight = RequestInFlight(None, site)
    flight.request = type("Page", (), {"url": f"{site.name}/page", "method": "GET"})()
    site.hand_out(flight, now, as_scout=False)
    site.refused(flight, b"page", Refusal(now, "503", retry_after, 0.0))


def test_a_pause_is_left_to_the_next_owner():
    """Until when, by the server's clock, why, and how many probes have failed."""
    site = CrawledSite("https://example.com", PauseLaw())
    assert left_of(site, 100.0, 50.0, 0.0) == (b"", "0")
    refused(site, 100.0, 30.0)
    left = left_of(site, 110.0, 50.0, 0.0)
    assert left.milliseconds == "20000"
    assert not is_calm(site)
    (pause,) = read_left(left.state, 70.0)
    assert (pause.route, pause.until, pause.reason, pause.failed_probes) == ("", 110.0, "503", 0)


def test_a_pace_and_a_delay_hold_for_the_next_owner():
    """The longer one; a site that is given up waits for the next run."""
    site = CrawledSite("https://example.com", PauseLaw())
    site.keep_to(Pace(5.0), inf, 100.0)
    assert left_of(site, 100.0, 0.0, 0.0) == (b"", "5000")
    assert left_of(site, 100.0, 0.0, 8.0) == (b"", "8000")
    assert is_calm(site)
    site.give_up(100.0, "enough")
    assert left_of(site, 100.0, 0.0, 0.0).milliseconds == ENDLESS


@pytest.mark.parametrize("state", [b"", b"{", b"7", b'[["a"]]', b'[["", null, "", 0]]', b"\xff"])
def test_what_cannot_be_read_is_nothing(state):
    """The server holds the site back as long as its owner has said."""
    assert read_left(state, 0.0) == []
