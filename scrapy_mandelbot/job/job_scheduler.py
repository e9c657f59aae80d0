"""The scheduler of a job that outlasts its process."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy.core.scheduler import BaseScheduler
from scrapy.dupefilters import RFPDupeFilter

from scrapy_mandelbot import engine
from scrapy_mandelbot.job.job import Job, JobError
from scrapy_mandelbot.job.job_store import StorageError
from scrapy_mandelbot.scheduling.site_queue import SiteQueue
from scrapy_mandelbot.settings.values import fail_cleanly

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler

    from scrapy_mandelbot.job.job_storage import JobStorage
    from scrapy_mandelbot.job.running_job import RunningJob

logger = logging.getLogger(__name__)


class JobDupeFilter(RFPDupeFilter):
    """Scrapy's filter, with the fingerprints in the job."""

    def __init__(self, crawler: Crawler, job: RunningJob) -> None:
        super().__init__(
            None,
            crawler.settings.getbool("DUPEFILTER_DEBUG"),
            fingerprinter=crawler.request_fingerprinter,
        )
        self._job = job

    def request_seen(self, request: Request) -> bool:
        try:
            return self._job.storage.has_seen(request)
        except StorageError as error:
            self._job.failed(error)
            return False


class JobScheduler(BaseScheduler):
    """Keeps requests, fingerprints and what is in flight in one file in JOBDIR.

    A request leaves the file when it is settled, in one commit with what came of it.
    Neither :meth:`enqueue_request` nor :meth:`next_request` raises: Scrapy would lose
    other requests of the same callback, or wait for ever.
    """

    keeps_job = True
    _kept_on = "disk"

    def __init__(self, crawler: Crawler, job: Job) -> None:
        self._job = job
        self._serve(crawler, job)

    def _serve(self, crawler: Crawler, running: RunningJob) -> None:
        self._crawler = crawler
        self._running = running
        self._stats = crawler.stats
        self._is_open = False
        self.df = JobDupeFilter(crawler, running)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> JobScheduler:
        """Build it over the job in JOBDIR."""
        job = Job.of(crawler)
        if job is None:
            raise JobError("JobScheduler needs JOBDIR, and to be the SCHEDULER")
        return cls(crawler, job)

    def __len__(self) -> int:
        return len(self._queue) + len(self._job.deliveries.waiting)

    def open(self, spider: Spider) -> None:
        """Take up what a previous run has left."""
        self._spider = spider
        try:
            with fail_cleanly(self._crawler):
                engine.on_settled(self._crawler, self.finish_request)
                self._storage: JobStorage = self._running.begin(spider)
                self._unacked = self._storage.unacked
                self._queue = SiteQueue.over(self._crawler, self._storage)
                self.resume()
        except BaseException:
            self._running.release()
            raise
        self._is_open = True

    def resume(self) -> None:
        self._job.take_over(self._queue.push)
        self._job.sites.restore(self._storage)

    def close(self, reason: str) -> None:
        if self._is_open:
            self._is_open = False
            self._queue.close()
            self._job.close(reason)

    def has_pending_requests(self) -> bool:
        return len(self) > 0

    def enqueue_request(self, request: Request) -> bool:
        try:
            one = self._unacked.get(request)
            if not request.dont_filter and self.df.request_seen(request):
                self.df.log(request, self._spider)
                return False
            if one is not None:
                one.has_come_back = True
                one.is_out = False
            self.keep(request)
        except Exception as error:  # noqa: BLE001 -- see above
            self._running.erred(f"Error while {request} was kept", error)
            return False
        return True

    def next_request(self) -> Request | None:
        try:
            request = self.take()
            if request is not None:
                one = self._unacked[request]
                one.is_out = True
                self._count(
                    "dequeued", "memory" if one.number is None else self._kept_on
                )
            elif self._storage.is_tired:
                self._storage.is_tired = False
                self._running.save_soon()
                engine.wake(self._crawler)
        except Exception as error:  # noqa: BLE001 -- see above
            self._running.erred("Error while the next request was looked for", error)
            return None
        return request

    def finish_request(self, request: Request) -> None:
        self._running.acknowledged(request)

    def take(self) -> Request | None:
        is_overdue = self._job.has_overdue
        request = None if is_overdue else self._queue.pop()
        is_due = is_overdue or not (self._unacked or self._storage.is_tired)
        if request is None and is_due and self._job.deliveries.waiting:
            for line in self._job.hand_out_last(alone=is_overdue):
                self._queue.load(line)
            request = self._queue.pop()
        if request is not None:
            self._job.saves.changed()
        return request

    def keep(self, request: Request) -> None:
        self._queue.push(request)
        self._job.saves.changed()
        one = self._unacked.get(request)
        is_in_memory = one is not None and one.number is None
        self._count("enqueued", "memory" if is_in_memory else self._kept_on)

    def _count(self, what: str, where: str) -> None:
        self._stats.inc_value(f"scheduler/{what}/{where}")
        self._stats.inc_value(f"scheduler/{what}")
