"""A spider that ``scrapy`` runs with JOBDIR in separate processes, again and again."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
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

LONGEST = 60  # seconds that a run may take
SPIDER = """
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

    def site_paused(self, site, until, reason):
        print("PAUSED", flush=True)
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
        interrupt_at: str | None = None,
        interrupt_by: signal.Signals = signal.SIGINT,
        spider: str = SPIDER,
    ) -> Deferred[tuple[str, float]]:
        """Run the spider to its end, or send it a signal when it prints a line.

        Returns:
            Its log, and the seconds that it took to end after the interrupt.
        """
        interrupt = interrupt_at, interrupt_by
        return deferToThread(self._run, start_urls, settings, interrupt, spider)

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

    def _run(self, start_urls, settings, interrupt, spider) -> tuple[str, float]:
        interrupt_at, interrupt_by = interrupt
        (self._folder / "spider.py").write_text(
            f"{spider}\n    start_urls = {start_urls}\n"
        )
        command = ["scrapy", "runspider", "spider.py", "-o", "items.jsonl"]
        for setting in ("JOBDIR=job", *settings):
            command += ["-s", setting]
        if interrupt_at is None:
            return self._forked.program(self._folder, *command).stderr.decode(), 0.0
        command = [sys.executable, "-m", *command]
        interrupted = 0.0
        log = self._folder / "log.txt"
        with (
            log.open("w") as file,
            subprocess.Popen(
                command,
                cwd=self._folder,
                stdout=subprocess.PIPE,
                stderr=file,
                text=True,
            ) as child,
        ):
            watchdog = threading.Timer(LONGEST, child.kill)
            watchdog.start()
            for line in child.stdout:
                if line.strip() == interrupt_at:
                    child.send_signal(interrupt_by)
                    interrupted = time.monotonic()
                    break
            child.communicate()
            watchdog.cancel()
        return log.read_text(), time.monotonic() - interrupted
