"""The scheduler of a job that workers share on Redis."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import scrapy.signals

from scrapy_mandelbot import engine
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.fleet.own_sites import OwnSites
from scrapy_mandelbot.fleet.worker import JobWorker
from scrapy_mandelbot.job.job import JobError
from scrapy_mandelbot.job.stored_scheduler import StoredScheduler
from scrapy_mandelbot.scheduling.round_robin import DELAYED, DUE, QueueParts
from scrapy_mandelbot.throttle.in_flight import SitePausedError
from scrapy_mandelbot.throttle.site_map import site_of_request

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

logger = logging.getLogger(__name__)


class SharedJobScheduler(StoredScheduler):
    """Hands out requests of the sites that this worker owns in a job on Redis.

    A new request goes to Redis, which has the fingerprints of all workers, and from
    there to the worker that owns its site.
    """

    keeps_job = False
    _kept_on = "redis"

    def __init__(self, crawler: Crawler, worker: JobWorker) -> None:
        super().__init__(crawler, worker)
        self._worker = worker
        self._throttle = Crawl.of(crawler).throttle

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> SharedJobScheduler:
        """Build it over the job of MANDELBOT_JOB."""
        worker = JobWorker.of(crawler)
        if worker is None:
            raise JobError("SharedJobScheduler needs a Redis as MANDELBOT_JOB")
        return cls(crawler, worker)

    def __len__(self) -> int:
        return len(self._queue)

    def resume(self) -> None:
        self._crawler.signals.connect(self._spider_opened, scrapy.signals.spider_opened)
        worker = self._worker
        worker.storage.on_drop = self._dropped
        soon = self._worker.save_soon
        worker.serve(
            OwnSites(self._crawler, worker.job, worker.storage, self._queue, soon)
        )

    def close(self, reason: str) -> None:  # noqa: ARG002 -- Scrapy's interface
        if self._is_open:
            self._is_open = False
            self._worker.close()
            self._queue.close()

    def has_pending_requests(self) -> bool:
        return len(self._queue) > 0 or self._worker.has_unsaved

    def take(self) -> Request | None:
        request = None
        if self._worker.may_send:
            request = self._queue.pop()
        if request is None:
            self._worker.wants_more()
        else:
            site = self._throttle.flight_of(request).site
            site.tally.accept()  # until then another worker may get it
            self._worker.handed_out(is_plain=site.is_plain)
            if self._queue.counts.round_robin.is_settled:
                # while enough waits here the engine asks for no more
                self._worker.wants_more()
        return request

    def keep(self, request: Request) -> None:
        """Store a new request on Redis; take back one that was handed out."""
        if request in self._unacked or request in self._throttle.in_flight.coming_back:
            self._queue.push(request)
            # As a worker accepts a request when it is handed out: see `take`.
            self._throttle.sites.of_request(request).tally.return_to_queue()
        else:
            line = self._line_of(request)
            if not self._worker.storage.push_new(line, request):
                self._queue.load(line)
                self._count("enqueued", self._unacked.get(request))
        self._worker.pushed()

    def _dropped(self, request: Request) -> None:
        """Count a request that the queue drops as taken: it is counted as dropped."""
        self._throttle.sites.of_request(request).tally.accept()

    def _spider_opened(self) -> None:
        # before what counts requests as sent
        engine.download_by(self._crawler, self._send)

    async def _send(self, download: engine.Download, request: Request) -> Response:
        """Send a request, unless another worker may own its site by now."""
        if request in self._unacked and not self._worker.may_send:
            # it goes back: this process was stopped, or Redis is away
            raise SitePausedError
        return await download(request)

    def _line_of(self, request: Request) -> str:
        slot = engine.slot_key(self._crawler, request)
        section = ""
        if "delay" in request.meta or DUE in request.meta:
            from scrapy_mandelbot.scheduling import delays  # noqa: PLC0415 -- few crawls

            now = self._worker.clock.now()
            if delays.start_delay(request, now):
                section = DELAYED
                delays.sort_by_due(request, now)
        return QueueParts(site_of_request(request), slot, section).name
