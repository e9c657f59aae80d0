"""Reports the events of a crawl to its log, stats, signals and subscribers.

``events/__init__.py`` has the table of events. Text from the web is escaped and
shortened here, so that no caller has to do it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from mandelbot.formatting import counted, printable, shown

from scrapy_mandelbot.time_text import clock_time, moment

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_mandelbot.events import Event

logger = logging.getLogger("scrapy_mandelbot.events")


class Events:
    """Reports the events of one crawl."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._subscribers: dict[Event, list[Callable[[Mapping[str, Any]], None]]] = {}
        self._places: set[tuple[str, int]] = set()
        """Files and lines whose errors have been logged: bounded by the places that
        raise.
        """

    def subscribe(
        self, call: Callable[[Mapping[str, Any]], None], *events: Event
    ) -> None:
        """Call a function, which may not raise, with the values of each such event."""
        for event in events:
            self._subscribers.setdefault(event, []).append(call)

    def emit_error(self, event: Event, error: BaseException, **values: Any) -> None:
        """Emit an error with its traceback, once a run for each line that raises."""
        place = _place_of(error)
        if place in self._places:
            self.count(event, **values)
            return
        self._places.add(place)
        self.emit(event, exc_info=(type(error), error, error.__traceback__), **values)

    def emit(
        self,
        event: Event,
        *,
        exc_info: Any = None,
        level: int | None = None,
        **values: Any,
    ) -> None:
        """Log and count an event, and send its signal.

        Args:
            event: a row of the table.
            exc_info: the error behind the event, as ``logging`` takes it.
            level: of the log line; None: the event's own.
            values: by name; ``since``, ``until`` and ``next`` are seconds
                since the epoch. A ``partial`` is called where the line is written.
        """
        self.count(event, **values)
        if level is None:
            level = event.level
        if event.text and logger.isEnabledFor(level) and has_handler(logger, level):
            texts = {name: _loggable(name, values[name]) for name in event.in_text}
            parameters = (texts,) if texts else ()
            extra = {"spider": self._crawler.spider}
            logger.log(level, event.text, *parameters, exc_info=exc_info, extra=extra)
        if event.signal is not None:
            sent: dict[str, Any] = {}
            for name in event.signal_values:
                sent[name] = values[name]
            if "reason" in sent:
                sent["reason"] = shown(str(sent["reason"]))
            if "until" in sent:
                sent["until"] = moment(sent["until"])
            self._crawler.signals.send_catch_log(
                event.signal, **sent, spider=self._crawler.spider
            )

    @cached_property
    def _inc_value(self) -> Callable[..., None]:
        # there are no stats before the crawl begins
        return self._crawler.stats.inc_value

    def count(self, event: Event, **values: Any) -> None:
        """Count an event and call its subscribers, without a log line or a signal."""
        inc_value = self._inc_value
        for stat in event.stats:
            inc_value(stat)
        for stat, name in event.sums:
            if values[name]:
                inc_value(stat, values[name])
        for beginning, name in event.families:
            inc_value(f"{beginning}{values[name]}")
        for call in self._subscribers.get(event, ()):
            call(values)


def has_handler(log: logging.Logger | None, level: int) -> bool:
    """Whether a line of this level goes anywhere: Scrapy's loggers take all levels."""
    while log is not None:
        for handler in log.handlers:
            if level >= handler.level:
                return True
        log = log.parent if log.propagate else None
    return level >= logging.WARNING  # logging's last resort, without any handler


def _place_of(error: BaseException) -> tuple[str, int]:
    traceback = error.__traceback__
    if traceback is None:
        return type(error).__qualname__, 0
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback.tb_frame.f_code.co_filename, traceback.tb_lineno


_TIMES = frozenset({"since", "until", "next"})
_COUNTED = {
    "waiting": ("request",),
    "tries": ("failed probe",),
    "entries": ("entry", "entries"),
    "size": ("byte",),
    "sites": ("site",),
}
_UNCUT = frozenset({"request", "verdict"})
"""Values that operators search for, and that the crawl itself wrote: they are not
shortened.
"""


def _loggable(name: str, value: Any) -> Any:
    if isinstance(value, partial):
        value = value()
    if name in _TIMES:
        return clock_time(value)
    if name in _COUNTED:
        return counted(value, *_COUNTED[name])
    if name in _UNCUT:
        return printable(str(value))
    if isinstance(value, (int, float)):
        return value
    return shown(str(value))
