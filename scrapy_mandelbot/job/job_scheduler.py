"""The scheduler of a job that outlasts its process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.job.job import Job, JobError
from scrapy_mandelbot.job.stored_scheduler import StoredScheduler

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler


class JobScheduler(StoredScheduler):
    """Keeps requests, fingerprints and what is in flight in one file in JOBDIR.

    A request leaves the file when it is settled, in one commit with what came of it.
    """

    keeps_job = True
    _kept_on = "disk"

    def __init__(self, crawler: Crawler, job: Job) -> None:
        super().__init__(crawler, job)
        self._job = job

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> JobScheduler:
        """Build it over the job in JOBDIR."""
        job = Job.of(crawler)
        if job is None:
            raise JobError("JobScheduler needs JOBDIR, and to be the SCHEDULER")
        return cls(crawler, job)

    def __len__(self) -> int:
        return len(self._queue) + len(self._job.deliveries.waiting)

    def resume(self) -> None:
        self._job.resume(self._queue.load)
        if self._job.deliveries.waiting:
            Crawl.of(self._crawler).load.has_more = self._may_take_from_last

    def close(self, reason: str) -> None:
        if self._is_open:
            self._is_open = False
            self._queue.close()
            self._job.close(reason)

    @property
    def left_over(self) -> int:
        """How many requests, beside the queue's, this run does not send any more."""
        return self._job.left_over

    def has_pending_requests(self) -> bool:
        return len(self) > 0

    def take(self) -> Request | None:
        request = self._queue.pop()
        if request is None and not (self._unacked or self._storage.is_tired):
            request = self._take_from_last()
        if request is not None:
            self._job.saves.changed()
        return request

    def keep(self, request: Request) -> None:
        self._queue.push(request)
        self._job.saves.changed()
        self._count("enqueued", self._unacked.get(request))

    def _may_take_from_last(self) -> bool:
        """Return whether one of those that had been sent at a death may go now."""
        return bool(self._job.deliveries.waiting) and not self._unacked

    def _take_from_last(self) -> Request | None:
        """Take one of those that had been sent at a death, if any waits."""
        if not self._job.deliveries.waiting:
            return None
        lines = self._job.hand_out_last()
        if not lines:
            return None
        for line in lines:
            self._queue.load(line)
        return self._queue.pop()
