"""What the world hears of gates: a log line, a stat and a signal for each thing that happens."""

from __future__ import annotations

import logging
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot import signals
from scrapy_mandelbot.gates.proxies import shown, site_of_gate
from scrapy_mandelbot.stores import Pause

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler

    from scrapy_mandelbot.politeness import Gate
    from scrapy_mandelbot.stores import Store

logger = logging.getLogger(__name__)


class Announcements:
    """Tells log, stats and signal handlers of a crawl what its gates do, and its next run."""

    def __init__(self, crawler: Crawler, store: Store, waiting: Callable[[str], int]) -> None:
        self._crawler = crawler
        self._store = store
        self._waiting = waiting

    def paused(self, name: str, gate: Gate) -> None:
        """Tell that the site is left alone from now on."""
        self._paused(name, Pause(gate.until, gate.reason, gate.failed_probes))

    def held(self, name: str, until: float, reason: str) -> None:
        """Tell that the operator has the site left alone from now on."""
        self._paused(name, Pause(until, reason))
        self._crawler.stats.inc_value("mandelbot/pause/held")

    def restored(self, name: str, gate: Gate) -> None:
        """Tell that the site is left alone since a former run."""
        self._log(
            logging.INFO,
            "Still pausing %(site)s until %(until)s, as a former run found: %(reason)s",
            name,
            until=_clock_time(gate.until),
            reason=gate.reason,
        )
        self._crawler.stats.inc_value("mandelbot/pause/restored")

    def prolonged(self, name: str, gate: Gate) -> None:
        """Tell that the site is left alone for longer than was said."""
        self._log(
            logging.INFO,
            "Still pausing %(site)s until %(until)s: %(reason)s (%(tries)d failed tries)",
            name,
            until=_clock_time(gate.until),
            reason=gate.reason,
            tries=gate.failed_probes,
        )
        self._store.put_pause(name, Pause(gate.until, gate.reason, gate.failed_probes))
        self._crawler.stats.inc_value("mandelbot/pause/prolonged")

    def set_aside(self, name: str, seconds: float, reason: str) -> None:
        """Tell that a request is tried later, as it alone is refused, and its site is well."""
        self._log(
            logging.DEBUG,
            "Set aside for %(seconds).1f s, as %(site)s answers all others: %(reason)s",
            name,
            seconds=seconds,
            reason=reason,
        )
        self._crawler.stats.inc_value("mandelbot/pause/set_aside")

    def resumed(self, name: str, paused_for: float) -> None:
        """Tell that the site answers again, ``paused_for`` seconds after it stopped to."""
        self._log(
            logging.INFO,
            "Resumed %(site)s after %(seconds).1f s (%(waiting)d requests in the queue)",
            name,
            seconds=paused_for,
        )
        self._store.put_pause(name, None)
        self._crawler.stats.inc_value("mandelbot/pause/resumed")
        self._crawler.stats.inc_value("mandelbot/pause/seconds", paused_for)  # type: ignore[arg-type]  # any number
        self._send(signals.site_resumed, name, paused_for=paused_for)

    def given_up(self, name: str, gate: Gate, paused_for: float, *, kept: bool) -> None:
        """Tell that the site is not asked again in this run."""
        self._log(
            logging.WARNING,
            "Gave up %(site)s after %(tries)d failed tries in %(seconds).0f s: %(reason)s"
            " (%(waiting)d requests in the queue: %(fate)s)",
            name,
            tries=gate.failed_probes,
            seconds=paused_for,
            reason=gate.reason,
            fate="kept for the next run" if kept else "they fail",
        )
        self._crawler.stats.inc_value("mandelbot/pause/given_up")

    def _paused(self, name: str, pause: Pause) -> None:
        self._log(
            logging.INFO,
            "Paused %(site)s until %(until)s: %(reason)s (%(waiting)d requests in the queue)",
            name,
            until=_clock_time(pause.until),
            reason=pause.reason,
        )
        self._store.put_pause(name, pause)
        self._crawler.stats.inc_value("mandelbot/pause/count")
        self._send(signals.site_paused, name, until=_moment(pause.until), reason=pause.reason)

    def _send(self, signal: object, name: str, **arguments: Any) -> None:
        arguments = {"site": site_of_gate(name), **arguments, "spider": self._crawler.spider}
        self._crawler.signals.send_catch_log(signal, **arguments)

    def _log(self, level: int, message: str, name: str, **values: object) -> None:
        values = {"site": shown(name), "waiting": self._waiting(name), **values}
        logger.log(level, message, values, extra={"spider": self._crawler.spider})


def _moment(seconds: float) -> datetime:
    try:
        return datetime.fromtimestamp(seconds, tz=timezone.utc)
    except (OverflowError, OSError, ValueError):  # an operator's "for ever"
        return datetime.max.replace(tzinfo=timezone.utc)


def _clock_time(seconds: float) -> str:
    return _moment(seconds).strftime("%Y-%m-%d %H:%M:%S UTC")
