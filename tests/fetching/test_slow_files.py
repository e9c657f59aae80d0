"""A robots.txt counts as slow after a time in which the crawl could read its answer."""

from __future__ import annotations

import pytest
from clocks import TurnedClock
from crawlers import get_crawler
from scrapy import Request

from scrapy_mandelbot import engine
from scrapy_mandelbot.fetching.slow_files import SlowFiles

SITE = "https://example.com"


class Emitter:
    """Notes what is emitted."""

    def __init__(self):
        self.emitted = []

    def emit(self, event, **values):
        self.emitted.append(values)


@pytest.fixture
def places(monkeypatch):
    """How many places the downloader has beside its own."""
    found = []
    monkeypatch.setattr(engine, "add_place", lambda *_: found.append(1) or 1)
    monkeypatch.setattr(engine, "drop_places", lambda _, count: found.pop())
    return found


@pytest.fixture
def clock():
    return TurnedClock()


@pytest.fixture
def told():
    return Emitter()


@pytest.fixture
def slow(clock, told):
    crawler = get_crawler(settings_dict={"CONCURRENT_REQUESTS": 2})
    return SlowFiles(crawler, clock, told, 10.0)


def test_a_file_that_comes_in_time_is_not_slow(slow, clock, places, told):
    with slow.watched(SITE, Request(SITE), 180.0):
        clock.turn(9.9)
        assert not told.emitted
    clock.turn(100)
    assert not told.emitted
    assert not places


def test_a_slow_file_holds_no_place_until_it_comes(slow, clock, places, told):
    """The site is named once."""
    noted = []
    slow.note = noted.append
    request = Request(SITE)
    with slow.watched(SITE, request, 180.0):
        clock.turn(100)
        assert told.emitted == [{"site": SITE, "seconds": 10.0, "most": 180.0}]
        assert places == [1]
        assert noted == [request]
    assert not places


def test_only_as_many_as_there_are_places_get_one_of_their_own(
    slow, clock, places, told
):
    """Each is named in the log."""
    watches = [slow.watched(SITE, Request(SITE), 180.0) for _ in range(3)]
    for one in watches:
        one.__enter__()
    clock.turn(11)
    assert len(told.emitted) == 3
    assert len(places) == 2
    for one in watches:
        one.__exit__(None, None, None)
    assert not places


def test_a_deadline_that_is_not_longer_needs_no_watch(slow, clock, places, told):
    """The request itself ends then."""
    with slow.watched(SITE, Request(SITE), 10.0):
        clock.turn(100)
    assert not told.emitted
    assert not places
