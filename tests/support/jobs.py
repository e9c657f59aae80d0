"""A spider that ``scrapy`` runs with JOBDIR in separate processes, again and again."""

from __future__ import annotations

import json
import time
from collections import Counter
from typing import TYPE_CHECKING

from twisted.internet.threads import deferToThread

from scrapy_mandelbot.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path

    from forked import Forked
    from twisted.internet.defer import Deferred

    from scrapy_mandelbot.politeness.pause_policy import LeftPause

SPIDER = """
import os
import signal
import time
from pathlib import Path

import scrapy

class Spider(scrapy.Spider):
    name = "job"
    custom_settings = {
        "ADDONS": {"scrapy_mandelbot.Addon": 500},
        "TELNETCONSOLE_ENABLED": False,
        "DOWNLOAD_DELAY": 0,
    }

    def parse(self, response):
        yield {"url": response.url}
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link, self.parse)
"""
INTERRUPTED = """
    def site_paused(self, site, until, reason):
        if not Path("interrupted").exists():
            Path("interrupted").write_text(str(time.monotonic()))
            os.kill(os.getpid(), signal.{signal})
"""


class Job:
    """A job in a folder of its own."""

    def __init__(self, folder: Path, forked: Forked) -> None:
        self._folder = folder
        self._forked = forked

    def run(
        self,
        start_urls: list[str],
        *settings: str,
        paused: str = "",
        spider: str = SPIDER,
    ) -> Deferred[tuple[str, float]]:
        """Run the spider to its end.

        Args:
            paused: the name of a signal that the process gets when a site is paused.

        Returns:
            Its log, and the seconds that it took to end after the interrupt.
        """
        return deferToThread(self._run, start_urls, settings, paused, spider)

    def items(self) -> Counter[str]:
        """Return how many items all runs have made of each URL."""
        lines = (self._folder / "items.jsonl").read_text().splitlines()
        return Counter(json.loads(line)["url"] for line in lines)

    def pauses(self) -> dict[str, LeftPause]:
        """Return the pauses that the last run has left."""
        store = SqliteStore(self._folder / "job" / "mandelbot.db")
        try:
            return store.get_pauses()
        finally:
            store.close()

    def _run(self, start_urls, settings, paused, spider) -> tuple[str, float]:
        if paused:
            spider += INTERRUPTED.format(signal=paused)
        (self._folder / "spider.py").write_text(
            f"{spider}\n    start_urls = {start_urls}\n"
        )
        command = ["scrapy", "runspider", "spider.py", "-o", "items.jsonl"]
        for setting in ("JOBDIR=job", *settings):
            command += ["-s", setting]
        log = self._forked.program(self._folder, *command).stderr.decode()
        if not paused:
            return log, 0.0
        interrupted_at = float((self._folder / "interrupted").read_text())
        return log, time.monotonic() - interrupted_at
