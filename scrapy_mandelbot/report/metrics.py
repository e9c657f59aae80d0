"""Measures a crawl, for Prometheus.

``pip install scrapy-mandelbot[metrics]``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, Any

from mandelbot.formatting import without_credentials
from scrapy.exceptions import NotConfigured
from twisted.internet.defer import Deferred

from scrapy_mandelbot import events
from scrapy_mandelbot.job.running_job import RunningJob
from scrapy_mandelbot.report import exporting
from scrapy_mandelbot.report.account import account_of
from scrapy_mandelbot.report.exporting import exported_at
from scrapy_mandelbot.report.filled_path import filled_in
from scrapy_mandelbot.report.judgement import HOW_RUNS_END, RULES
from scrapy_mandelbot.report.measurements import Labels, Measurement, measuring
from scrapy_mandelbot.report.recorder import Recorder
from scrapy_mandelbot.report.summary import CrawlExtension
from scrapy_mandelbot.report.survey import Survey, waiting_elsewhere
from scrapy_mandelbot.settings.values import (
    METRICS_FILE,
    SettingsError,
    is_gateway,
)

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler

    from scrapy_mandelbot.report.exporting import Instruments
    from scrapy_mandelbot.report.measurements import Measurements

_EVERY = 5.0  # seconds
_SHARE = 0.02  # of the crawl's time: many sites are measured less often


class CrawlMetrics(CrawlExtension):
    """Measures a crawl every five seconds for exporters (``MANDELBOT_METRICS``)."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        config = self._crawl.config
        if config.metrics is None:
            raise NotConfigured
        try:
            import prometheus_client  # noqa: F401, PLC0415 -- an extra
        except ImportError:
            raise SettingsError(
                "MANDELBOT_METRICS",
                config.metrics,
                "None, unless scrapy-mandelbot[metrics] is installed",
            ) from None
        self._address = config.metrics
        self._pushing: Thread | None = None
        if self._address.endswith(METRICS_FILE):
            self._address = filled_in("MANDELBOT_METRICS", self._address, crawler)
        recorder = Recorder.of(crawler, watches=True)
        recorder.on_gap = partial(self._note, "mandelbot.request.interval")
        self._record = recorder.record
        for event, name, value in (
            (events.RESUMED, "mandelbot.pause.duration", "paused_for"),
            (events.OPENED, "mandelbot.pause.duration", "paused_for"),
            (events.TURN_WAITED, "mandelbot.turn.duration", "seconds"),
        ):
            self._crawl.events.subscribe(partial(self._on_event, name, value), event)
        self._labels = Labels()
        self._exported: Instruments | None = None
        self.spider = ""
        self.measured: Measurements = {}
        """The last measurement; replaced as a whole, never modified."""

    def spider_opened(self, spider: Spider) -> None:
        """Start to measure."""
        self.spider = spider.name
        if is_gateway(self._address):
            self._address = f"{self._address}#{spider.name}"
        try:
            self._exported = exported_at(self._address)
        except OSError as error:  # address in use: no reason to stop a crawl
            self._crawl.events.emit(
                events.METRICS_NOT_SERVED, where=self._address, error=error
            )
            return
        self._exported.add(self)
        if self._exported.write is not None:
            self._begin_file(self._exported.write)
            return
        if self._exported.push is not None:  # the zeros of this run
            self._measure_now()
            self._send(self._exported.push(), None)
            return
        self._measure()
        self._crawl.events.emit(events.METRICS_SERVED, where=self._exported.url)

    def _begin_file(self, write: Callable[[], None]) -> None:
        """Write the zeros of this run: an unwritable path is noticed at once."""
        self._measure_now()
        try:
            write()
        except OSError as error:
            self._not_written(error)

    def _measure_now(self) -> None:
        for _ in self._measuring():
            pass

    def _not_written(self, error: OSError) -> None:
        self._crawl.events.emit(
            events.METRICS_NOT_WRITTEN, path=self._address, error=error
        )

    def spider_closed(self, reason: str) -> Deferred[None] | None:
        """Measure a last time, without yielding to the loop.

        Returns what the end of the crawl waits for: that a gateway has the values.
        """
        self._steps.cancel()
        if self._exported is None:
            return None
        self._measure_now()
        ended = Measurement(self._crawl.now(), {})
        self.measured["mandelbot.run.ended"].append(ended)
        self.measured["mandelbot.run.reasons"] += self._reasons(reason)
        # a spider may close itself for any other
        known = reason if reason in HOW_RUNS_END else "other"
        why = Measurement(1, {"reason": known})
        self.measured["mandelbot.run.finish_reason"].append(why)
        send = None if self._exported.push is None else self._exported.push()
        try:
            self._exported.remove(self)
        except OSError as error:
            self._not_written(error)
            return None
        if self._exported.write is not None:
            self._crawl.events.emit(events.METRICS_WRITTEN, path=self._address)
        return None if send is None else self._send_last(send)

    def _reasons(self, reason: str) -> list[Measurement]:
        """Return for each rule of the first word whether it holds."""
        account = account_of(self._crawler)
        if account is None:
            return []
        held = account.judged(reason).reasons
        measured = []
        for rule in RULES:
            its = Measurement(int(rule.name in held), {"reason": rule.name})
            measured.append(its)
        return measured

    @property
    def _gateway(self) -> str:
        """The gateway's URL, without credentials."""
        return without_credentials(self._address.partition("#")[0])

    def _send_last(self, send: Callable[[], None]) -> Deferred[None]:
        """Send the last values, and wait for at most `LONGEST_PUSH` seconds."""
        ended: Deferred[None] = Deferred()
        where = self._gateway

        def give_up() -> None:
            error = f"no answer within {exporting.LONGEST_PUSH} s"
            self._crawl.events.emit(events.METRICS_NOT_PUSHED, where=where, error=error)
            ended.callback(None)

        timer = self._crawl.clock.call_later(exporting.LONGEST_PUSH, give_up)

        def sent(error: str) -> None:
            if ended.called:
                return
            timer.cancel()
            if not error:
                self._crawl.events.emit(events.METRICS_PUSHED, where=where)
            ended.callback(None)

        self._send(send, sent)
        return ended

    def _send(
        self, send: Callable[[], None], then: Callable[[str], None] | None
    ) -> None:
        """Send values in a thread, after those that are being sent."""
        before = self._pushing
        call_in_loop = self._crawl.clock.loop()

        def work() -> None:
            if before is not None:
                before.join()
            error = ""
            try:
                send()
            except Exception as failure:  # noqa: BLE001 -- no gateway stops a crawl
                error = str(failure) or type(failure).__name__
            with suppress(RuntimeError):  # the loop has ended
                call_in_loop(self._has_sent, error, then)

        self._pushing = Thread(target=work, name="mandelbot-push", daemon=True)
        self._pushing.start()

    def _has_sent(self, error: str, then: Callable[[str], None] | None) -> None:
        if error:
            where = self._gateway
            self._crawl.events.emit(events.METRICS_NOT_PUSHED, where=where, error=error)
        if then is not None:
            then(error)

    def _measure(self) -> None:
        def again() -> None:
            self._steps.later(max(_EVERY, self._steps.spent / _SHARE), self._measure)

        self._steps.take(self._measuring(), again)

    def _measuring(self) -> Iterator[None]:
        now = self._crawl.now()
        stats = self._crawler.stats
        sites = Survey(self._crawl.throttle, now).snapshots()
        elsewhere = waiting_elsewhere(self._crawler)
        found = yield from measuring(self._record, self._labels, now, sites, elsewhere)
        failures = stats.get_value(events.JOB_NOT_SAVED.stats[0], 0) if stats else 0
        found["mandelbot.job.not_saved"].append(Measurement(failures, {}))
        job = RunningJob.found_in(self._crawler)
        if job is not None:
            found["mandelbot.job.unsaved"].append(Measurement(job.unsaved_for, {}))
            aside = stats.get_value(events.JOB_SET_ASIDE.stats[0], 0) if stats else 0
            found["mandelbot.job.set_aside"].append(Measurement(aside, {}))
        if job is not None and job.workers is not None:
            found["mandelbot.job.workers"].append(Measurement(job.workers, {}))
        is_down = int(self._crawl.throttle.network.is_down(now))
        found["mandelbot.network.down"].append(Measurement(is_down, {}))
        self.measured = found

    def _on_event(self, name: str, value: str, values: Mapping[str, Any]) -> None:
        self._note(name, values["site"], values[value])

    def _note(self, name: str, site: str, seconds: float) -> None:
        if self._exported is not None:
            labels = self._labels.of(site)
            self._exported.note(name, self.spider, labels, seconds)
