"""What a job in a file and one that workers share have alike, while a crawl goes on."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy_mandelbot import engine, events
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.jobs.in_hand import InHand
from scrapy_mandelbot.stores.job import CannotKeepError
from scrapy_mandelbot.stores.job.contract import START

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_mandelbot.jobs.storage import JobStorage

logger = logging.getLogger(__name__)

_NAMED = 10  # requests that cannot be written down


class RunningJob:
    """Knows who gave which request, and tells of what cannot be kept."""

    storage: JobStorage
    """Where its requests are kept, once the spider is there."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._crawl = Crawl.of(crawler)
        self.clock = self._crawl.clock
        self._tell = self._crawl.events.tell
        self.start = InHand(START)
        """Stands for start() as the one who gives requests."""
        self._given: WeakKeyDictionary[Request, InHand] = WeakKeyDictionary()
        self._broken: CannotKeepError | None = None
        """Why the spider was closed."""
        self._named = 0

    # Told by the middleware.

    def called(self, request: Request | None) -> InHand | None:
        """Return what stands for a request whose callback is called; None: it is none of ours."""
        one = None if request is None else self.storage.in_hand.get(request)
        if one is not None:
            one.has_called = True
        return one

    # Told by the scheduler.

    def settled(self, request: Request) -> None:
        """Note that nothing is left to do for a request. Never raises."""
        try:
            if self.storage.settled(request):
                self._save_soon()
        except Exception as error:
            logger.exception("Error while a request was settled: %s", request)
            self.failed(CannotKeepError(repr(error)))

    def _save_soon(self) -> None:
        """Have kept for good that a request is settled."""
        raise NotImplementedError

    # Told by the storage: what cannot be kept as it should.

    def unwritable(self, request: Request, error: Exception) -> None:
        """Name a request that is in memory only, as it cannot be written down."""
        self._named += 1
        if self._named <= _NAMED:
            self._tell(events.JOB_IN_MEMORY, request=request, error=error)
        else:
            self._crawl.events.count(events.JOB_IN_MEMORY)

    def unreadable(self, line: str, error: Exception) -> None:
        """Tell of a request that was kept, and cannot be made again."""
        self._tell(events.JOB_REQUEST_UNREADABLE, line=line, error=repr(error))

    def failed(self, error: CannotKeepError) -> None:
        """Close the spider, as the job cannot be read, or something went wrong that must not."""
        if self._broken is None:
            self._broken = error
            self._tell(events.JOB_UNREADABLE, error=error)
            engine.close_spider(self._crawler, "job_unreadable")
