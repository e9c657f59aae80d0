"""Log line, stats and signal of each event in the table."""

from __future__ import annotations

import ast
import logging
import re
from collections import Counter
from datetime import datetime, timezone
from itertools import chain
from types import SimpleNamespace

import pytest
from support.package_source import NODES

from scrapy_mandelbot import signals
from scrapy_mandelbot.events import (
    EVENTS,
    FORBIDDEN,
    PAUSED,
    RESUMED,
    SITEMAP_READ,
)
from scrapy_mandelbot.events.emitter import Events
from scrapy_mandelbot.politeness.tally import End
from scrapy_mandelbot.time_text import clock_time, moment

LOGGER = "scrapy_mandelbot.events"
SPIDER = SimpleNamespace(name="spider")
VALUES: dict[str, object] = {
    "missing": 3,
    **dict.fromkeys(map(str, End), 2),
    "taken_in": 40,
    "from_former_run": 6,
    "lost": 6,
    "since": 1_800_000_000.0,
    "until": 1_800_000_000.0,
    "next": 1_800_000_000.0,
    "end": 1_800_000_000.0,
    "rate": 1.5,
    "borne": 160.0,
    "waiting": 14,
    "tries": 3,
    "seconds": 1.5,
    "paused_for": 2.5,
    "count": 4,
    "asked": 90.0,
    "longest": 60.0,
    "most": 10,
    "size": 20,
    "sites": 3,
    "entries": 7,
    "wanted": 5,
    "older": 2,
    "pages": 6,
    "noindex": True,
    "nofollow": True,
    "unavailable": True,
    "allowed": True,
    "disallowed": True,
    "unknown": True,
    "terms": True,
    "status": 402,
}
"""Those that are numbers; the others are text."""


TIMES = {"since", "until", "next", "end"}


class World:
    """A crawler as far as events see it."""

    def __init__(self) -> None:
        self.stats: Counter[str] = Counter()
        self.signals: list[tuple[object, dict[str, object]]] = []
        crawler = SimpleNamespace(spider=SPIDER)
        crawler.stats = SimpleNamespace(inc_value=self._inc)
        crawler.signals = SimpleNamespace(send_catch_log=self._hear)
        events = Events(crawler)
        self.emit, self.count = events.emit, events.count

    def _inc(self, stat: str, count: float = 1) -> None:
        self.stats[stat] += count

    def _hear(self, signal: object, **values: object) -> None:
        self.signals.append((signal, values))


@pytest.fixture
def world(caplog) -> World:
    caplog.set_level(logging.DEBUG, LOGGER)
    return World()


def names_of(event) -> set[str]:
    """Return the names of an event's values."""
    in_text = re.findall(r"%\((\w+)\)", event.text)
    counted = (name for _, name in (*event.sums, *event.families))
    return {*in_text, *counted, *event.signal_values}


def values_of(event) -> dict[str, object]:
    return {name: VALUES.get(name, f"the {name}") for name in names_of(event)}


@pytest.mark.parametrize("name", EVENTS)
def test_each_event_has_its_log_line_stats_and_signal(world, caplog, name):
    """As its row says, and nothing else."""
    event, values = EVENTS[name], values_of(EVENTS[name])
    world.emit(event, **values)
    assert len(caplog.records) == bool(event.text)
    for record in caplog.records:
        assert record.levelno == event.level
        assert record.spider is SPIDER
        for value in re.findall(r"%\((\w+)\)s", event.text):
            is_time = value in TIMES
            expected = "2027-01-15 08:00:00 UTC" if is_time else str(values[value])
            assert expected in record.getMessage()
    counted = Counter(event.stats)
    for stat, value in event.sums:
        counted[stat] += values[value]
    counted.update(f"{beginning}{values[value]}" for beginning, value in event.families)
    assert world.stats == counted
    assert [signal for signal, _ in world.signals] == [event.signal] * (
        event.signal is not None
    )
    for _, sent in world.signals:
        assert set(sent) == {*event.signal_values, "spider"}


@pytest.mark.parametrize("name", EVENTS)
def test_a_line_has_the_singular_of_one_thing(world, caplog, name):
    """One request is queued, and not 1 requests; of two it speaks in the plural."""
    event = EVENTS[name]
    are_numbers = {
        key for key, value in VALUES.items() if isinstance(value, (int, float))
    }
    for number, wrong in (
        (1, r"\b1 \w+s\b(?! of)"),
        (2, r"\b2 (request|entry|byte|site|line)\b"),
    ):
        values = values_of(event)
        values.update(
            dict.fromkeys(are_numbers & values.keys() - TIMES - {"most"}, number)
        )
        world.emit(event, level=logging.ERROR, **values)
        assert not any(re.search(wrong, line) for line in caplog.messages), (
            caplog.messages
        )


def test_each_event_has_a_use():
    """Each has a log line, a stat, a signal, or a subscriber in the package."""
    subscribed = {
        getattr(argument, "id", getattr(argument, "attr", ""))
        for call in chain.from_iterable(NODES.values())
        if isinstance(call, ast.Call)
        if getattr(call.func, "id", getattr(call.func, "attr", "")) == "subscribe"
        for argument in call.args
    }
    for name, event in EVENTS.items():
        is_public = (
            event.text or event.stats or event.sums or event.families or event.signal
        )
        assert is_public or name in subscribed, name


@pytest.mark.parametrize("name", EVENTS)
def test_an_event_may_be_counted_alone(world, caplog, name):
    """A frequent event is only counted, as lines would fill the log."""
    event, values = EVENTS[name], values_of(EVENTS[name])
    world.emit(event, **values)
    stats, world.stats, world.signals = world.stats, Counter(), []
    caplog.clear()
    world.count(event, **values)
    assert world.stats == stats
    assert not caplog.records
    assert not world.signals


def test_a_stat_that_grows_by_nothing_is_not_created(world):
    """A sitemap without entries makes no stat of entries."""
    world.count(SITEMAP_READ, entries=0, older=0)
    assert world.stats == {"mandelbot/sitemaps/read": 1}


def test_a_request_is_named_whole(world, caplog):
    """Its URL is what one looks for in the log."""
    request = f"<GET https://a.example/{'a' * 1_000}>"
    world.emit(FORBIDDEN, request=request, file="f", verdict="forbidden")
    assert request in caplog.records[0].getMessage()


def test_signal_handlers_get_plain_values(world):
    """A site, a time with its zone, a reason, seconds."""
    until = VALUES["until"]
    world.emit(
        PAUSED,
        where="x",
        site="https://a.example",
        until=until,
        reason="503",
        waiting=1,
    )
    world.emit(RESUMED, where="x", site="https://a.example", paused_for=2.5, waiting=1)
    when = datetime(2027, 1, 15, 8, tzinfo=timezone.utc)
    site = {"site": "https://a.example", "spider": SPIDER}
    assert world.signals == [
        (signals.site_paused, {**site, "until": when, "reason": "503"}),
        (signals.site_resumed, {**site, "paused_for": 2.5}),
    ]


@pytest.mark.parametrize(
    "nasty", ["\x1b[2J", "\r\nINFO: all is well", "\u202e", "\x00", "\ud800"]
)
def test_text_from_the_web_is_escaped(world, caplog, nasty):
    """In the log line and for signal handlers: no control characters, no line of its
    own.
    """
    reason = f"503 for <GET https://a.example/{nasty}>"
    world.emit(PAUSED, where="w", site="s", until=0.0, reason=reason, waiting=0)
    texts = [caplog.records[0].getMessage(), world.signals[0][1]["reason"]]
    for text in texts:
        assert nasty not in text
        assert "503 for <GET https://a.example/" in text
        assert not [one for one in text if ord(one) < 32 or one in "\x7f\u202e"]
        text.encode()


def test_long_text_from_the_web_is_shortened(world, caplog):
    """A URL may have megabytes."""
    world.emit(PAUSED, where="w", site="s", until=0.0, reason="x" * 10**6, waiting=0)
    assert len(caplog.records[0].getMessage()) < 10_000
    assert len(world.signals[0][1]["reason"]) < 10_000


def test_a_level_that_is_not_logged_costs_no_text(world, caplog):
    """Its stats and its signal are sent all the same."""
    caplog.set_level(logging.ERROR, LOGGER)

    class Text:
        def __str__(self) -> str:
            raise AssertionError("it is read by none")

    world.emit(PAUSED, where=Text(), site="s", until=0.0, reason="503", waiting=0)
    assert world.stats == {"mandelbot/pause/count": 1}
    assert len(world.signals) == 1
    assert not caplog.records


@pytest.mark.parametrize("seconds", [float("inf"), 1e300, 1e15])
def test_an_endless_time_is_the_last_that_there_is(seconds):
    """An operator may pause a site for ever."""
    assert moment(seconds).year == 9999
    assert clock_time(seconds) == "9999-12-31 23:59:59 UTC"
