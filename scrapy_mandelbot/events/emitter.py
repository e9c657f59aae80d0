"""Tells of what happens in a crawl: in its log, its stats and by its signals.

``events/__init__.py`` has the table of events. Text of the web is made harmless and short here, so
that no caller has to think of it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.robots.formatting import clock_time, counted, moment, printable, shown

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger("scrapy_mandelbot.events")


@dataclass(frozen=True, eq=False)
class Event:
    """Something that happens in a crawl, and is told."""

    text: str = ""
    """Of its log line, with the names of its values; ``""``: there is none."""
    level: int = logging.INFO
    stats: tuple[str, ...] = ()
    """Each grows by one."""
    sums: tuple[tuple[str, str], ...] = ()
    """Stats that grow by one of its values, and the name of that; by 0 none does."""
    families: tuple[tuple[str, str], ...] = ()
    """Stats that grow by one and are named after a value: how each begins, and the name of that."""
    signal: object | None = None
    signal_values: tuple[str, ...] = ()
    """The values that come with the signal, by name."""

    @cached_property
    def in_text(self) -> tuple[str, ...]:
        """The values that its log line has, by name."""
        return tuple(re.findall(r"%\((\w+)\)", self.text))


class Events:
    """Tells log, stats and signal handlers of a crawl what happens."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._subscribers: dict[Event, list[Callable[[Mapping[str, Any]], None]]] = {}
        self._places: set[tuple[str, int]] = set()
        """Files and lines of which an error was told; as many as the code has that raise."""

    def subscribe(self, call: Callable[[Mapping[str, Any]], None], *events: Event) -> None:
        """Have the values of such events told to a callable that raises nothing, before the log."""
        for event in events:
            self._subscribers.setdefault(event, []).append(call)

    def emit_error(self, event: Event, error: BaseException, **values: Any) -> None:
        """Tell of an error with its traceback, once a run for each place that raises one."""
        place = _place_of(error)
        if place in self._places:
            self.count(event, **values)
            return
        self._places.add(place)
        self.emit(event, exc_info=(type(error), error, error.__traceback__), **values)

    def emit(
        self, event: Event, *, exc_info: Any = None, level: int | None = None, **values: Any
    ) -> None:
        """Tell of an event, at its own level if none is given.

        `exc_info` is of an error that belongs to it, as ``logging`` takes it. Of its values
        ``since``, ``until``, ``next`` and ``end`` are seconds since the epoch.
        """
        self.count(event, **values)
        texts: dict[str, Any] = {}
        level = event.level if level is None else level
        if event.text and logger.isEnabledFor(level) and _is_wanted(level):
            texts = {name: _loggable(name, values[name]) for name in event.in_text}
            parameters = (texts,) if texts else ()
            extra = {"spider": self._crawler.spider}
            logger.log(level, event.text, *parameters, exc_info=exc_info, extra=extra)
        if event.signal is not None:
            sent = {name: values[name] for name in event.signal_values}
            if "reason" in sent:
                sent["reason"] = texts["reason"] if texts else shown(sent["reason"])
            if "until" in sent:
                sent["until"] = moment(sent["until"])
            self._crawler.signals.send_catch_log(event.signal, **sent, spider=self._crawler.spider)

    def count(self, event: Event, **values: Any) -> None:
        """Count an event of which no line and no signal tells, or not this time."""
        inc_value = self._crawler.stats.inc_value
        for stat in event.stats:
            inc_value(stat)
        for stat, name in event.sums:
            if values[name]:
                inc_value(stat, values[name])
        for beginning, name in event.families:
            inc_value(f"{beginning}{values[name]}")
        for call in self._subscribers.get(event, ()):
            call(values)


def _is_wanted(level: int) -> bool:
    """Return whether any handler takes a record of this level: Scrapy's loggers take each."""
    one: logging.Logger | None = logger
    while one is not None:
        for handler in one.handlers:
            if level >= handler.level:
                return True
        one = one.parent if one.propagate else None
    return level >= logging.WARNING  # for who has set up nothing, as logging does


def _place_of(error: BaseException) -> tuple[str, int]:
    traceback = error.__traceback__
    if traceback is None:
        return type(error).__qualname__, 0
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback.tb_frame.f_code.co_filename, traceback.tb_lineno


_TIMES = frozenset({"since", "until", "next", "end"})
_COUNTED = {
    "waiting": ("request",),
    "tries": ("failed probe",),
    "entries": ("entry", "entries"),
    "size": ("byte",),
    "sites": ("site",),
}
_WHOLE = frozenset({"request", "verdict"})
"""Of the crawl's own words, and what its operator searches for: they are not cut."""


def _loggable(name: str, value: Any) -> Any:
    if name in _TIMES:
        return clock_time(value)
    if name in _COUNTED:
        return counted(value, *_COUNTED[name])
    if name in _WHOLE:
        return printable(str(value))
    return value if isinstance(value, (int, float)) else shown(str(value))
