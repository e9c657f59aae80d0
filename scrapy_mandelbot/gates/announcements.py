"""What the world hears of gates: a log line, a stat and a signal for each thing that happens."""

from __future__ import annotations

import logging
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot import signals
from scrapy_mandelbot.gates.proxies import shown, site_of_gate
from scrapy_mandelbot.stores import Pause

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy.crawler import Crawler

    from scrapy_mandelbot.politeness import Gate, Pace
    from scrapy_mandelbot.stores import Store

logger = logging.getLogger(__name__)

_NAMED = 5  # of the lines that cannot be read


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
        self._store.put_pause(name, None)
        self._crawler.stats.inc_value("mandelbot/pause/resumed")
        self._crawler.stats.inc_value("mandelbot/pause/seconds", paused_for)  # type: ignore[arg-type]  # any number
        self._tell_resumed(name, paused_for)

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

    def pace(self, site: str, pace: Pace) -> None:
        """Tell at which pace the site is asked from now on."""
        self._log(
            logging.INFO,
            "Pace of %(site)s: %(pace)s (%(source)s)",
            site,
            pace=pace,
            source=pace.source,
        )
        self._crawler.stats.inc_value("mandelbot/pace/sites")
        if pace.asked > pace.longest:
            self._log(
                logging.WARNING,
                "%(site)s asks for %(asked)g s between requests: it gets MANDELBOT_PACE_MAX_DELAY,"
                " %(longest)g s",
                site,
                asked=pace.asked,
                longest=pace.longest,
            )
            self._crawler.stats.inc_value("mandelbot/pace/capped")

    def unreadable(self, site: str, lines: Sequence[int]) -> None:
        """Tell that the site's robots.txt asks for a pace in a way that nobody understands."""
        self._log(
            logging.WARNING,
            "The robots.txt of %(site)s asks for a pace that cannot be read, and is ignored, in"
            " line %(lines)s",
            site,
            lines=", ".join(map(str, lines[:_NAMED])),
        )
        self._crawler.stats.inc_value("mandelbot/pace/unreadable", len(lines))

    def waited(self, seconds: float) -> None:
        """Count that a request was sent at its turn, for which it had to wait."""
        self._crawler.stats.inc_value("mandelbot/pace/waited")
        self._crawler.stats.inc_value("mandelbot/pace/seconds", seconds)  # type: ignore[arg-type]  # any number

    def next_turn(self, site: str, due: float) -> None:
        """Tell the next run when the site may be asked again."""
        self._store.put_turn(site, due)

    def turn_restored(self) -> None:
        """Count a site that a former run has asked so lately that it is not asked yet."""
        self._crawler.stats.inc_value("mandelbot/pace/restored")

    def shut(self, site: str, until: float, reason: str) -> None:
        """Tell that the site is not to be asked at this time of the day."""
        self._tell_paused(site, until, reason)
        self._crawler.stats.inc_value("mandelbot/pace/shut")

    def opened(self, site: str, shut_for: float) -> None:
        """Tell that the site may be asked again, as its time has come."""
        self._tell_resumed(site, shut_for)

    def _paused(self, name: str, pause: Pause) -> None:
        self._store.put_pause(name, pause)
        self._crawler.stats.inc_value("mandelbot/pause/count")
        self._tell_paused(name, pause.until, pause.reason)

    def _tell_paused(self, name: str, until: float, reason: str) -> None:
        self._log(
            logging.INFO,
            "Paused %(site)s until %(until)s: %(reason)s (%(waiting)d requests in the queue)",
            name,
            until=_clock_time(until),
            reason=reason,
        )
        self._send(signals.site_paused, name, until=_moment(until), reason=reason)

    def _tell_resumed(self, name: str, paused_for: float) -> None:
        self._log(
            logging.INFO,
            "Resumed %(site)s after %(seconds).1f s (%(waiting)d requests in the queue)",
            name,
            seconds=paused_for,
        )
        self._send(signals.site_resumed, name, paused_for=paused_for)

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
