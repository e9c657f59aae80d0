"""What schedulers of a job have in common, whether it is in a file or on Redis."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from scrapy.core.scheduler import BaseScheduler
from scrapy.dupefilters import RFPDupeFilter

from scrapy_mandelbot import engine
from scrapy_mandelbot.job.job_store import StorageError
from scrapy_mandelbot.scheduling.site_queue import SiteQueue
from scrapy_mandelbot.settings.values import fail_cleanly

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler

    from scrapy_mandelbot.job.job_storage import JobStorage
    from scrapy_mandelbot.job.running_job import RunningJob
    from scrapy_mandelbot.job.unacked import Unacked


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


class StoredScheduler(BaseScheduler):
    """Hands out the requests of a job, and reports to it which of them are done.

    Neither :meth:`enqueue_request` nor :meth:`next_request` raises: Scrapy would lose
    other requests of the same callback, or wait for ever.
    """

    keeps_job: ClassVar[bool]  # whether the job is in a file of JOBDIR
    _kept_on: ClassVar[str]  # in the names of Scrapy's stats

    # Made by open(), when the spider is there.
    _spider: Spider
    _storage: JobStorage
    _unacked: dict[Request, Unacked]
    _queue: SiteQueue

    def __init__(self, crawler: Crawler, job: RunningJob) -> None:
        self._crawler = crawler
        self._running = job
        self._stats = crawler.stats
        self._is_open = False
        self.df = JobDupeFilter(crawler, job)

    def open(self, spider: Spider) -> None:
        """Continue the job that a previous run has left."""
        self._spider = spider
        try:
            with fail_cleanly(self._crawler):
                engine.on_settled(self._crawler, self.finish_request)
                self._storage = self._running.begin(spider)
                self._unacked = self._storage.unacked
                self._queue = SiteQueue.over(self._crawler, self._storage)
                self.resume()
        except BaseException:
            self._running.release()
            raise
        self._is_open = True

    @abstractmethod
    def resume(self) -> None:
        """Take up what the job has, once the queue is there."""

    @abstractmethod
    def take(self) -> Request | None:
        """Take the next request that may be sent."""

    @abstractmethod
    def keep(self, request: Request) -> None:
        """Store a request that no filter has dropped."""

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
        except Exception as error:  # noqa: BLE001 -- see the class
            self._running.erred(f"Error while {request} was kept", error)
            return False
        return True

    def next_request(self) -> Request | None:
        try:
            request = self.take()
            if request is not None:
                one = self._unacked[request]
                one.is_out = True
                self._count("dequeued", one)
            elif self._storage.is_tired:
                self._storage.is_tired = False
                self._running.save_soon()
                engine.wake(self._crawler)
        except Exception as error:  # noqa: BLE001 -- see the class
            self._running.erred("Error while the next request was looked for", error)
            return None
        return request

    def finish_request(self, request: Request) -> None:
        self._running.acknowledged(request)

    def _count(self, what: str, one: Unacked | None) -> None:
        is_in_memory = one is not None and one.number is None
        where = "memory" if is_in_memory else self._kept_on
        self._stats.inc_value(f"scheduler/{what}/{where}")
        self._stats.inc_value(f"scheduler/{what}")
