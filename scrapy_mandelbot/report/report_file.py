"""Writes the report on a crawl when it has ended: a page, and the same as JSON beside it."""

from __future__ import annotations

import json
import os
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scrapy.signals
from scrapy.exceptions import NotConfigured

from scrapy_mandelbot import engine
from scrapy_mandelbot.config import SettingsError
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.events import REPORT_FAILED, REPORT_WRITTEN
from scrapy_mandelbot.report.crawl_page import page_of
from scrapy_mandelbot.report.crawl_report import About, report_of
from scrapy_mandelbot.report.recorder import Recorder
from scrapy_mandelbot.report.survey import status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy import Spider
    from scrapy.crawler import Crawler


class CrawlReport:
    """Writes ``MANDELBOT_REPORT`` at the end of a crawl.

    What cannot be written is told as an error, and takes nothing else with it. A file that is there
    is whole: it is written under another name first.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawl = Crawl.of(crawler)
        told = self._crawl.config.report
        if not self._crawl.config.enabled or told is None:
            raise NotConfigured
        self._crawler = crawler
        self._recorder = Recorder.of(crawler, watches=True)
        self._path = Path(_filled_in(told, crawler))
        self._waiting: list[Mapping[str, Any]] = []

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> CrawlReport:
        """Build the extension.

        Raises:
            SettingsError: the path has a placeholder that the spider has no value for.
        """
        extension = cls(crawler)
        crawler.signals.connect(extension.spider_opened, signal=scrapy.signals.spider_opened)
        crawler.signals.connect(extension.spider_closed, signal=scrapy.signals.spider_closed)
        return extension

    def spider_opened(self) -> None:
        """Make the folder now: who has to be told that it cannot be made is told at once."""
        engine.before_requests_are_left(self._crawler, self._look_what_waits)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            self._crawl.events.tell(REPORT_FAILED, path=str(self._path), why=str(error))

    def spider_closed(self, spider: Spider, reason: str) -> None:
        """Write the report. A person who waits for one page at a terminal gets none."""
        if not self._crawl.asks_for_more:
            return
        agent = self._crawler.settings["USER_AGENT"] or ""
        about = About(spider.name, str(agent), self._crawl.now(), reason, self._waiting)
        try:
            self._write(report_of(self._recorder.record, about))
        except Exception as error:  # noqa: BLE001 - a report stops nothing, whatever is wrong with it
            self._crawl.events.tell_error(
                REPORT_FAILED, error, path=str(self._path), why=str(error)
            )
        else:
            self._crawl.events.tell(REPORT_WRITTEN, path=str(self._path))

    def _look_what_waits(self) -> None:
        found = status(self._crawler)
        self._waiting = [one.as_data() for one in found.sites if one.waiting]

    def _write(self, report: dict[str, Any]) -> None:
        data = json.dumps(report, separators=(",", ":"), allow_nan=False) + "\n"
        _replace(self._path.with_suffix(".json"), data)
        if self._path.suffix == ".html":
            _replace(self._path, page_of(report))


def _filled_in(path: str, crawler: Crawler) -> str:
    """Return the path with what stands for its placeholders, as feeds have them.

    Raises:
        SettingsError: there is nothing that does.
    """
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


def _replace(path: Path, text: str) -> None:
    """Put a file in the place of another one, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        draft.write_text(text, encoding="ascii")
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
