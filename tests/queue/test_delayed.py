"""Requests set aside until a time of their own."""

from __future__ import annotations

import pytest
from scrapy import Request

from scrapy_mandelbot.pqueues.aside import Aside


class Clock:
    """Time that the test turns, and the one alarm that is set."""

    def __init__(self) -> None:
        self.now = 100.0
        self.alarms: dict[object, tuple[float, object]] = {}

    def call_later(self, delay, function):
        clock = self

        class Call:
            def cancel(self) -> None:
                del clock.alarms[self]

        call = Call()
        self.alarms[call] = (self.now + delay, function)
        return call

    def turn_to(self, now: float) -> None:
        self.now = now
        for call, (at, function) in list(self.alarms.items()):
            if at <= now:
                del self.alarms[call]
                function()


@pytest.fixture
def clock(monkeypatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("scrapy_mandelbot.pqueues.aside.call_later", clock.call_later)
    return clock


@pytest.fixture
def back() -> list[tuple[str, str]]:
    return []


@pytest.fixture
def aside(clock, back) -> Aside:
    return Aside(lambda: clock.now, lambda name, request: back.append((name, request.url)))


def test_each_comes_back_at_its_time(clock, aside, back):
    """Those whose time comes first come first, whoever was put there first; one alarm is set."""
    aside.put("late", Request("http://a.test/late"), 130)
    aside.put("soon", Request("http://a.test/soon"), 110)
    aside.put("soon", Request("http://a.test/same"), 110)
    assert (len(aside), aside.length("soon"), aside.length("late")) == (3, 2, 1)
    assert len(clock.alarms) == 1
    clock.turn_to(109)
    assert back == []
    clock.turn_to(115)
    assert back == [("soon", "http://a.test/soon"), ("soon", "http://a.test/same")]
    assert (len(aside), aside.length("soon"), aside.length("late")) == (1, 0, 1)
    clock.turn_to(130)
    assert back[2:] == [("late", "http://a.test/late")]
    assert not clock.alarms
    assert not aside._lengths


def test_an_alarm_that_rings_too_soon_is_set_again(clock, aside, back):
    """The loop's clock may be a hair ahead of ours."""
    aside.put("a", Request("http://a.test/"), 110)
    (call,) = clock.alarms
    _, ring = clock.alarms.pop(call)
    ring()
    assert back == []
    assert len(clock.alarms) == 1
    clock.turn_to(110)
    assert back == [("a", "http://a.test/")]


def test_all_can_be_taken_out_before_their_time(clock, aside, back):
    """At the end of a crawl; no alarm is left."""
    for number in range(3):
        aside.put("a", Request(f"http://a.test/{number}"), 200 - number)
    assert [request.url[-1] for _, request in aside.drain()] == ["2", "1", "0"]
    assert (len(aside), back, clock.alarms) == (0, [], {})
