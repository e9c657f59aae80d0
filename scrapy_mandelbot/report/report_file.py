"""Writes the report on a crawl, also while it runs: a page, and the same as JSON beside it."""

from __future__ import annotations

import atexit
import json
import os
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import NotConfigured

from scrapy_mandelbot import engine
from scrapy_mandelbot.account import account_of
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.events import (
    LEDGER_FAILED,
    LEDGER_WRITTEN,
    REPORT_FAILED,
    REPORT_WRITTEN,
)
from scrapy_mandelbot.report.crawl_page import page_of
from scrapy_mandelbot.report.crawl_report import About, making, report_of
from scrapy_mandelbot.report.recorder import Recorder
from scrapy_mandelbot.report.survey import CrawlExtension, Steps, Survey, status, told
from scrapy_mandelbot.robots.shown import shown
from scrapy_mandelbot.setting_values import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from scrapy.crawler import Crawler


EVERY = 45.0
"""Seconds from one report to the next while the crawl runs."""
_AT_A_TIME = 100  # sites that are looked at without a break: some 15 ms


class CrawlReport(CrawlExtension):
    """Writes ``MANDELBOT_REPORT``: while a crawl runs, about every 45 seconds, and at its end.

    A crawl may end without a word: a second Ctrl-C, ``kill -9``, the machine. What is left then is
    the report of less than a minute before, which says that it is not finished. What cannot be
    written is told as an error, and takes nothing else with it. A file that is there is whole: it
    is written under another name first.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawl = Crawl.of(crawler)
        path = self._crawl.config.report
        if not self._crawl.config.enabled or path is None:
            raise NotConfigured
        self._crawler = crawler
        self._recorder = Recorder.of(crawler, watches=True)
        self._path = Path(_filled_in(path, crawler))
        self._waiting: list[Mapping[str, Any]] = []
        self._steps = Steps(self._crawl.clock, _AT_A_TIME)
        self._writer: Thread | None = None
        self._is_open = False

    def spider_opened(self) -> None:
        """Write the first report now: a path that cannot be written is told at once.

        A person who waits for one page at a terminal gets none.
        """
        if not self._crawl.asks_for_more:
            return
        self._is_open = True
        engine.before_requests_are_left(self._crawler, self._look_what_waits)
        atexit.register(self._broken_off)
        self._begin_draft()

    def spider_closed(self, reason: str) -> None:
        """Write the report for the last time."""
        if self._is_open:
            self._stop()
            if self._write(self._about(reason)):
                self._crawl.events.tell(REPORT_WRITTEN, path=str(self._path))

    def _broken_off(self) -> None:
        """Write what is known as the process ends, and the crawl was not closed: Ctrl-C twice."""
        if self._is_open:
            self._stop()
            with suppress(Exception):  # what the crawl consists of may be half gone
                self._look_what_waits()
            self._write(self._about("broken off", is_finished=False))

    def _stop(self) -> None:
        self._is_open = False
        atexit.unregister(self._broken_off)
        self._steps.cancel()
        if self._writer is not None:
            self._writer.join()  # or it would replace what is written last

    # While the crawl runs.

    def _begin_draft(self) -> None:
        report: dict[str, Any] = {}
        self._steps.take(self._drafting(report), lambda: self._write_draft(report))

    def _drafting(self, report: dict[str, Any]) -> Iterator[None]:
        """Fill in the report as the crawl stands, in steps."""
        standings = Survey(self._crawl.throttle, self._crawl.now()).standings()
        waiting: list[Mapping[str, Any]] = []
        for one in standings:
            if one is not None and one.waiting:
                waiting.append(told(one).as_data())
            yield
        about = self._about("not finished", waiting, is_finished=False)
        try:
            yield from making(report, self._recorder.record, about)
        except Exception as error:  # noqa: BLE001 - a report stops nothing, whatever is wrong with it
            self._failed(error)

    def _write_draft(self, report: dict[str, Any]) -> None:
        """Have it written by a thread: it is some MB, and its disk may be slow."""
        call_in_loop = self._crawl.clock.loop()

        def write() -> None:
            try:
                _put(self._path, report)
            except Exception as error:  # noqa: BLE001 - as above
                with suppress(RuntimeError):  # the loop has ended
                    call_in_loop(self._failed, error)

        if report and (self._writer is None or not self._writer.is_alive()):
            self._writer = Thread(target=write, name="mandelbot-report", daemon=True)
            self._writer.start()
        self._steps.later(EVERY, self._begin_draft)

    # Either way.

    def _about(
        self,
        reason: str,
        waiting: list[Mapping[str, Any]] | None = None,
        *,
        is_finished: bool = True,
    ) -> About:
        spider, agent = self._crawler.spider, self._crawler.settings["USER_AGENT"] or ""
        account = account_of(self._crawler)
        return About(
            "" if spider is None else spider.name,
            str(agent),
            self._crawl.now(),
            reason,
            self._waiting if waiting is None else waiting,
            0 if account is None else account.from_former_run,
            0 if account is None else account.left,
            is_finished,
            self._ledger(),
        )

    def _ledger(self) -> dict[str, Any] | None:
        path = self._crawl.config.ledger
        if path is None:
            return None
        counted = (LEDGER_WRITTEN, LEDGER_FAILED)
        lines, missing = (self._crawler.stats.get_value(one.stats[0], 0) for one in counted)
        return {"path": shown(path), "lines": lines, "missing": missing}

    def _look_what_waits(self) -> None:
        self._waiting = [one.as_data() for one in status(self._crawler).sites if one.waiting]

    def _write(self, about: About) -> bool:
        try:
            _put(self._path, report_of(self._recorder.record, about))
        except Exception as error:  # noqa: BLE001 - as above
            self._failed(error)
            return False
        return True

    def _failed(self, error: Exception) -> None:
        self._crawl.events.tell_error(REPORT_FAILED, error, path=str(self._path), why=str(error))


def _put(path: Path, report: dict[str, Any]) -> None:
    """Write the data, and the page if one is wanted."""
    _replace(path.with_suffix(".json"), _pieces(report))
    if path.suffix == ".html":
        _replace(path, [page_of(report)])


def _pieces(report: dict[str, Any]) -> Iterator[str]:
    """Yield the report as JSON, site by site: no piece holds up the loop for long."""
    mark = "{"
    for name, value in report.items():
        yield f"{mark}{_json(name)}:"
        mark = ","
        if name != "sites":
            yield _json(value)
            continue
        yield "["
        for number, site in enumerate(value):
            yield f"{',' if number else ''}{_json(site)}"
        yield "]"
    yield "}\n"


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _filled_in(path: str, crawler: Crawler) -> str:
    """Return the path with what stands for its placeholders, as feeds have them."""
    if "%" not in path:
        return path
    spider = crawler.spider
    time = datetime.now(timezone.utc).replace(microsecond=0).isoformat().replace(":", "-")
    values = {name: getattr(spider, name, None) for name in dir(spider)} | {"time": time}
    try:
        return path % values
    except (KeyError, TypeError, ValueError):
        takes = (
            "a path with placeholders such as %(name)s and %(time)s, or attributes of the spider"
        )
        raise SettingsError("MANDELBOT_REPORT", path, takes) from None


def _replace(path: Path, pieces: Iterable[str]) -> None:
    """Put a file in the place of another one, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        with draft.open("w", encoding="ascii") as file:
            file.writelines(pieces)
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
