"""What is told of a crawl: one table of events, each with its log line, its stats and its signal.

The README's tables of stats and signals are checked against this one. Text of the web is made
harmless and short here, so that no caller has to think of it.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot import signals
from scrapy_mandelbot.shown import shown

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Event:
    """Something that happens in a crawl, and is told."""

    text: str = ""
    """Of its log line, with the names of its values; ``""``: there is none."""
    level: int = logging.INFO
    stats: tuple[str, ...] = ()
    """Each grows by one."""
    sums: tuple[tuple[str, str], ...] = ()
    """Stats that grow by one of its values, and the name of that."""
    signal: object | None = None
    heard: tuple[str, ...] = ()
    """The values that come with the signal, by name."""


PAUSED = Event(
    "Paused %(where)s until %(until)s: %(reason)s (%(waiting)d requests in the queue)",
    stats=("mandelbot/pause/count",),
    signal=signals.site_paused,
    heard=("site", "until", "reason"),
)
HELD = Event(
    PAUSED.text,
    stats=("mandelbot/pause/count", "mandelbot/pause/held"),
    signal=signals.site_paused,
    heard=PAUSED.heard,
)
SHUT = Event(
    PAUSED.text,
    stats=("mandelbot/pace/shut",),
    signal=signals.site_paused,
    heard=PAUSED.heard,
)
RESTORED = Event(
    "Still pausing %(where)s until %(until)s, as a former run found: %(reason)s",
    stats=("mandelbot/pause/restored",),
)
PROLONGED = Event(
    "Still pausing %(where)s until %(until)s: %(reason)s (%(tries)d failed tries)",
    stats=("mandelbot/pause/prolonged",),
)
SET_ASIDE = Event(
    "Set aside for %(seconds).1f s, as %(where)s answers all others: %(reason)s",
    logging.DEBUG,
    stats=("mandelbot/pause/set_aside",),
)
RESUMED = Event(
    "Resumed %(where)s after %(paused_for).1f s (%(waiting)d requests in the queue)",
    stats=("mandelbot/pause/resumed",),
    sums=(("mandelbot/pause/seconds", "paused_for"),),
    signal=signals.site_resumed,
    heard=("site", "paused_for"),
)
OPENED = Event(RESUMED.text, signal=signals.site_resumed, heard=RESUMED.heard)
GIVEN_UP = Event(
    "Gave up %(where)s after %(tries)d failed tries in %(paused_for).0f s: %(reason)s"
    " (%(waiting)d requests in the queue: %(fate)s)",
    logging.WARNING,
    stats=("mandelbot/pause/given_up",),
)
BOUNCED = Event(stats=("mandelbot/pause/bounced",))
WAITED = Event(stats=("mandelbot/pause/waited",))
EVICTED = Event(sums=(("mandelbot/pause/evicted", "count"),))
HANDED_ON = Event(stats=("mandelbot/pause/handed_on",))

PACE = Event(
    "Pace of %(where)s: %(pace)s (%(source)s)",
    stats=("mandelbot/pace/sites",),
)
PACE_CAPPED = Event(
    "%(where)s asks for %(asked)g s between requests: it gets MANDELBOT_PACE_MAX_DELAY,"
    " %(longest)g s",
    logging.WARNING,
    stats=("mandelbot/pace/capped",),
)
PACE_UNREADABLE = Event(
    "The robots.txt of %(where)s asks for a pace that cannot be read, and is ignored, in"
    " line %(lines)s",
    logging.WARNING,
    sums=(("mandelbot/pace/unreadable", "count"),),
)
TURN_WAITED = Event(stats=("mandelbot/pace/waited",), sums=(("mandelbot/pace/seconds", "seconds"),))
TURN_RESTORED = Event(stats=("mandelbot/pace/restored",))
TURN_MISSED = Event(stats=("mandelbot/pace/sent_back",))

EVENTS = {name: value for name, value in vars().items() if isinstance(value, Event)}
"""All of them, by name."""


class Events:
    """Tells log, stats and signal handlers of a crawl what happens."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    def tell(self, event: Event, **values: Any) -> None:
        """Tell of an event.

        Args:
            event: which one.
            values: its values by name; those that end in ``until`` are seconds since the epoch.
        """
        inc_value = self._crawler.stats.inc_value
        for stat in event.stats:
            inc_value(stat)
        for stat, name in event.sums:
            inc_value(stat, values[name])
        if event.text and logger.isEnabledFor(event.level):
            logger.log(
                event.level,
                event.text,
                {name: _loggable(name, value) for name, value in values.items()},
                extra={"spider": self._crawler.spider},
            )
        if event.signal is not None:
            heard = {name: _heard(name, values[name]) for name in event.heard}
            self._crawler.signals.send_catch_log(event.signal, **heard, spider=self._crawler.spider)


def _loggable(name: str, value: Any) -> Any:
    if name == "until":
        return clock_time(value)
    return value if isinstance(value, (int, float)) else shown(str(value))


def _heard(name: str, value: Any) -> Any:
    if name == "until":
        return moment(value)
    return shown(value) if name == "reason" else value


def moment(seconds: float) -> datetime:
    """Return a time, given in seconds since the epoch; the last there is for an endless one."""
    try:
        return datetime.fromtimestamp(seconds, tz=timezone.utc)
    except (OverflowError, OSError, ValueError):  # an operator's "for ever"
        return datetime.max.replace(tzinfo=timezone.utc)


def clock_time(seconds: float) -> str:
    """Return a time for a log line."""
    return moment(seconds).strftime("%Y-%m-%d %H:%M:%S UTC")
