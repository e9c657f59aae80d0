"""What the world hears of gates: a log line, a stat and a signal for each thing that happens."""

from __future__ import annotations

import logging
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot import signals
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

    def paused(self, site: str, gate: Gate) -> None:
        """Tell that the site is left alone from now on."""
        until = datetime.fromtimestamp(gate.until, tz=timezone.utc)
        self._log(
            logging.INFO,
            "Paused %(site)s until %(until)s: %(reason)s (%(waiting)d requests in the queue)",
            site=site,
            until=_clock_time(until),
            reason=gate.reason,
        )
        self._keep(site, gate)
        self._crawler.stats.inc_value("mandelbot/pause/count")
        self._send(signals.site_paused, site=site, until=until, reason=gate.reason)

    def restored(self, site: str, gate: Gate) -> None:
        """Tell that the site is left alone since a former run."""
        self._log(
            logging.INFO,
            "Still pausing %(site)s until %(until)s, as a former run found: %(reason)s",
            site=site,
            until=_clock_time(datetime.fromtimestamp(gate.until, tz=timezone.utc)),
            reason=gate.reason,
        )
        self._crawler.stats.inc_value("mandelbot/pause/restored")

    def prolonged(self, site: str, gate: Gate) -> None:
        """Tell that the site is left alone for longer than was said."""
        self._log(
            logging.INFO,
            "Still pausing %(site)s until %(until)s: %(reason)s (%(tries)d failed tries)",
            site=site,
            until=_clock_time(datetime.fromtimestamp(gate.until, tz=timezone.utc)),
            reason=gate.reason,
            tries=gate.failed_probes,
        )
        self._keep(site, gate)
        self._crawler.stats.inc_value("mandelbot/pause/prolonged")

    def resumed(self, site: str, paused_for: float) -> None:
        """Tell that the site answers again, ``paused_for`` seconds after it stopped to."""
        self._log(
            logging.INFO,
            "Resumed %(site)s after %(seconds).1f s (%(waiting)d requests in the queue)",
            site=site,
            seconds=paused_for,
        )
        self._store.put_pause(site, None)
        self._crawler.stats.inc_value("mandelbot/pause/resumed")
        self._crawler.stats.inc_value("mandelbot/pause/seconds", paused_for)  # type: ignore[arg-type]  # any number
        self._send(signals.site_resumed, site=site, paused_for=paused_for)

    def given_up(self, site: str, gate: Gate, paused_for: float, *, kept: bool) -> None:
        """Tell that the site is not asked again in this run."""
        self._log(
            logging.WARNING,
            "Gave up %(site)s after %(tries)d failed tries in %(seconds).0f s: %(reason)s"
            " (%(waiting)d requests in the queue: %(fate)s)",
            site=site,
            tries=gate.failed_probes,
            seconds=paused_for,
            reason=gate.reason,
            fate="kept for the next run" if kept else "they fail",
        )
        self._crawler.stats.inc_value("mandelbot/pause/given_up")

    def _keep(self, site: str, gate: Gate) -> None:
        self._store.put_pause(site, Pause(gate.until, gate.reason, gate.failed_probes))

    def _send(self, signal: object, **arguments: Any) -> None:
        self._crawler.signals.send_catch_log(signal, spider=self._crawler.spider, **arguments)

    def _log(self, level: int, message: str, *, site: str, **values: object) -> None:
        values = {"site": site, "waiting": self._waiting(site), **values}
        logger.log(level, message, values, extra={"spider": self._crawler.spider})


def _clock_time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%S UTC")
