"""The schedulers: of a job that outlasts its process, and around one that is not Scrapy's."""

from __future__ import annotations

import logging
from math import inf
from typing import TYPE_CHECKING, Any

from scrapy.core.scheduler import BaseScheduler
from scrapy.dupefilters import RFPDupeFilter
from scrapy.utils.misc import build_from_crawler

from scrapy_mandelbot import engine
from scrapy_mandelbot.config import SettingsError
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.jobs import Job, JobError
from scrapy_mandelbot.jobs.shared import JobWorker
from scrapy_mandelbot.queue import ParkedRequests, SiteQueue
from scrapy_mandelbot.queue.names import queue_name
from scrapy_mandelbot.shown import shown
from scrapy_mandelbot.stores.job import CannotKeepError
from scrapy_mandelbot.throttle import key_of, site_of_request

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from twisted.internet.defer import Deferred

    from scrapy_mandelbot.jobs.running import RunningJob

logger = logging.getLogger(__name__)

PARKED = 100
"""Requests of sites that have to wait which are held, taken out of the project's scheduler.

They are in memory: a process that dies takes them along. More go back, behind all others.
"""
MOST_PARKED = 1_000
"""As many are held where none can go back behind others. Then other sites have to wait as well."""

_TAKEN_AT_ONCE = 50
"""Requests that are taken and have to wait in a turn of the loop: each may be a round trip."""
_FAILURES = 3
"""In a row, when requests are given back: a server that is gone may take half a minute for each."""
_NAMED = 10  # of the requests that are lost

_AROUND = 10  # requests in a row that went back before; then there are no others, it seems
_LOOK_AGAIN = 1.0  # seconds
_BEHIND = 1_000_000_000  # of priority; more each time, so that the others of their kind get by

_MARK = "mandelbot_unfiltered"
"""Meta key of a request given back: its ``dont_filter`` is ours, to be taken off again."""
_WENT_BACK = "mandelbot_went_back"
"""Meta key of a request given back behind all others: its own priority, and how often it went."""


class ParkingScheduler(BaseScheduler):
    """Hands out what the project's scheduler does, in its order, and passes by sites that wait.

    To see what comes after a request of such a site it has to take it: that is parked until its
    site may be asked, and of more than a few those that come later go back, at a priority behind
    all others. It takes no other request before the engine can send it, so that what other
    processes share stays where it is. What is parked when the spider closes is given back.
    """

    def __init__(self, crawler: Crawler, inner: Any) -> None:
        self.inner = inner
        """The project's own scheduler."""
        self._crawler = crawler
        self._in_flight = Crawl.of(crawler).throttle.in_flight
        self._now = Crawl.of(crawler).now
        self._parked = SiteQueue.over(crawler, ParkedRequests())
        self._lets_pass = True
        """Whether what goes back to the project's scheduler lets others pass."""
        self._went_last = ""
        self._around = 0
        self._rests_until = -inf

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> ParkingScheduler:
        """Build it around the scheduler of MANDELBOT_INNER_SCHEDULER.

        Raises:
            SettingsError: there is none, or it is no scheduler.
        """
        inner = Crawl.of(crawler).config.inner_scheduler
        if inner is None or not issubclass(inner, BaseScheduler):
            raise SettingsError("MANDELBOT_INNER_SCHEDULER", inner, "a scheduler class")
        return cls(crawler, build_from_crawler(inner, crawler))

    def __len__(self) -> int:
        # One that cannot count them says whether there are any.
        has_length = hasattr(self.inner, "__len__")
        left = len(self.inner) if has_length else bool(self.inner.has_pending_requests())
        return len(self._parked) + left

    def __getattr__(self, name: str) -> Any:
        """Be as the project's scheduler in all else: its own components may ask for it."""
        return getattr(self.inner, name)

    def open(self, spider: Spider) -> Deferred[None] | None:
        """Open the project's scheduler, if it wants to be opened."""
        return self._call("open", spider)

    def close(self, reason: str) -> Deferred[None] | None:
        """Give back what is parked, and close the project's scheduler, whatever came of that."""
        lost = self._give_all_back()
        if lost:
            logger.warning(
                "%(count)d requests that were parked are lost, as %(scheduler)s does not take them"
                " back: %(requests)s%(more)s",
                {
                    "count": len(lost),
                    "scheduler": type(self.inner).__name__,
                    "requests": ", ".join(shown(str(request)) for request in lost[:_NAMED]),
                    "more": ", …" if len(lost) > _NAMED else "",
                },
                extra={"spider": self._crawler.spider},
            )
        return self._call("close", reason)

    def has_pending_requests(self) -> bool:
        """Return whether anything is left to do."""
        return bool(len(self._parked)) or bool(self.inner.has_pending_requests())

    def enqueue_request(self, request: Request) -> bool:
        """Park a request that comes back; hand the others to the project's scheduler."""
        if self._in_flight.is_coming_back(request):
            self._parked.push(request)
            return True
        self._rests_until = -inf
        return bool(self.inner.enqueue_request(request))

    @property
    def only_waits(self) -> bool:
        """Whether all that it gets from the project's scheduler has gone back before, and waits."""
        return self._around >= _AROUND

    def next_request(self) -> Request | None:
        """Return the next request of a site that may be asked now, or None.

        Raises:
            Exception: what the project's scheduler raises, as without this one; nothing is lost.
        """
        request = self._parked.pop()
        left = _TAKEN_AT_ONCE
        while request is None and self._may_take():
            if not left:
                engine.wake(self._crawler)
                return None
            left -= 1
            taken = self.inner.next_request()
            if taken is None:
                return None
            times = _as_it_was(taken)
            if self._goes_back(taken, times):
                if not times:
                    continue
                self._around += 1
                if self._around % _AROUND == 0:
                    self._rests_until = self._now() + _LOOK_AGAIN
                    return None
            else:
                self._around = 0
                self._parked.push(taken)
                request = self._parked.pop()
        return request

    def _may_take(self) -> bool:
        """Return whether the engine has room for one more than those that wait for no time.

        Those would be in the downloader without this scheduler, and no more with them.
        """
        held = len(self._parked)
        if held >= MOST_PARKED or self._now() < self._rests_until:
            return False
        room = engine.room(self._crawler)
        return held < room or self._parked.count_ready() < room

    def _goes_back(self, request: Request, times: int) -> bool:
        """Give a request back behind all others, if enough are held that have to wait as well."""
        if not (self._lets_pass and len(self._parked) >= PARKED):
            return False
        if not self._parked.holds_back(request):
            return False
        if times and request.url == self._went_last:  # it came straight out again
            if self.inner.has_pending_requests():  # the last in is the first out, it seems
                self._lets_pass = False
            return False
        own = request.priority
        request.meta[_WENT_BACK] = [own, times + 1]
        request.priority = own - _BEHIND * (times + 1)
        if self._give_back(request):
            self._went_last = request.url
            return True
        self._lets_pass = False
        _as_it_was(request)
        return False

    def _give_back(self, request: Request) -> bool:
        """Give a request back past the dupe filter, which it has passed; return whether it went."""
        if not request.dont_filter:
            request.meta[_MARK] = True
            request.dont_filter = True
        try:
            return bool(self.inner.enqueue_request(request))
        except Exception:
            logger.exception("Error while a parked request was given back: %s", request)
            return False

    def _give_all_back(self) -> list[Request]:
        """Hand what is parked to the project's scheduler; return what it does not take."""
        lost, failures = [], 0
        for request in self._parked.drain():
            if failures == _FAILURES:
                lost.append(request)
                continue
            if self._give_back(request):
                failures = 0
            else:
                failures += 1
                lost.append(request)
        return lost

    def _call(self, name: str, argument: object) -> Deferred[None] | None:
        """Call a method that a scheduler need not have."""
        method = getattr(self.inner, name, None)
        result: Deferred[None] | None = None if method is None else method(argument)
        return result


def _as_it_was(request: Request) -> int:
    """Take off a request what was put on it when it was given back; return how often it went."""
    if request.meta.pop(_MARK, False):
        request.dont_filter = False
    priority, times = request.meta.pop(_WENT_BACK, (request.priority, 0))
    request.priority = priority
    return int(times)


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
        """Return whether a request like it was seen; True never where that cannot be found out."""
        try:
            return self._job.storage.has_seen(request)
        except CannotKeepError as error:
            self._job.failed(error)
            return False


class JobScheduler(BaseScheduler):
    """Keeps requests, fingerprints and what is in flight in one file in JOBDIR.

    A request leaves the file when it is settled, in one commit with what came of it. Neither
    :meth:`enqueue_request` nor :meth:`next_request` raises: Scrapy would lose other requests of the
    same callback, or wait for ever.
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
        """Build it over the job in JOBDIR.

        Raises:
            JobError: there is no JOBDIR, another run holds it, or it cannot be read or written.
        """
        job = Job.of(crawler)
        if job is None:
            raise JobError("JobScheduler needs JOBDIR, and to be the SCHEDULER")
        return cls(crawler, job)

    def __len__(self) -> int:
        return len(self._queue)

    def open(self, spider: Spider) -> None:
        """Take up what a former run has left.

        Raises:
            JobError: it cannot be taken up.
            RuntimeError: Scrapy does not say when a request is settled.
        """
        self._spider = spider
        try:
            engine.on_settled(self._crawler, self.finish_request)
            storage = self._job.begin(spider)
            self._in_hand = storage.in_hand
            self._queue = SiteQueue.over(self._crawler, storage)
            self._job.take_over(spider, self._queue.push)
            self._job.sites.restore(storage)
        except BaseException:
            self._job.let_go()
            raise
        self._is_open = True

    def close(self, reason: str) -> None:
        """Commit what is left, and let go of the file."""
        if self._is_open:
            self._is_open = False
            self._queue.close()
            self._job.close(reason)

    def has_pending_requests(self) -> bool:
        """Return whether anything is left to do."""
        return len(self._queue) > 0

    def enqueue_request(self, request: Request) -> bool:
        """Keep a request, or take back one that is sent back; return whether it was new."""
        try:
            return self._enqueue(request)
        except Exception as error:  # see above
            logger.exception("Error while a request was kept: %s", request)
            self._running.failed(CannotKeepError(repr(error)))
            return False

    def next_request(self) -> Request | None:
        """Return the next request of a site that may be asked now, or None."""
        try:
            request = self._next()
            if request is not None:
                is_in_memory = self._in_hand[request].number is None
                self._count("dequeued", "memory" if is_in_memory else self._kept_on)
        except Exception as error:  # see above
            logger.exception("Error while the next request was looked for")
            self._running.failed(CannotKeepError(repr(error)))
            return None
        return request

    def finish_request(self, request: Request) -> None:
        """Note that nothing is left to do for a request."""
        self._running.settled(request)

    def _next(self) -> Request | None:
        return self._queue.pop()

    def _enqueue(self, request: Request) -> bool:
        one = self._in_hand.get(request)
        if not request.dont_filter and self.df.request_seen(request):
            self.df.log(request, self._spider)
            return False
        if one is not None:
            one.has_come_back = True
        self._keep(request)
        return True

    def _keep(self, request: Request) -> None:
        self._queue.push(request)
        self._job.commits.changed()
        one = self._in_hand.get(request)
        is_in_memory = one is not None and one.number is None
        self._count("enqueued", "memory" if is_in_memory else self._kept_on)

    def _count(self, what: str, where: str) -> None:
        self._stats.inc_value(f"scheduler/{what}/{where}")
        self._stats.inc_value(f"scheduler/{what}")


class SharedJobScheduler(JobScheduler):
    """Hands out the requests of those sites of a job on Redis that are this worker's.

    What is new goes to Redis, where every worker's fingerprints are, and comes from there to the
    worker that has its site.
    """

    keeps_job = False
    _kept_on = "redis"

    def __init__(self, crawler: Crawler, worker: JobWorker) -> None:
        self._worker = worker
        self._throttle = Crawl.of(crawler).throttle
        self._serve(crawler, worker)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> SharedJobScheduler:
        """Build it over the job of MANDELBOT_JOB.

        Raises:
            JobError: MANDELBOT_JOB is no Redis, or that cannot be reached.
        """
        worker = JobWorker.of(crawler)
        if worker is None:
            raise JobError("SharedJobScheduler needs a Redis as MANDELBOT_JOB")
        return cls(crawler, worker)

    def open(self, spider: Spider) -> None:
        """Take the first sites.

        Raises:
            RuntimeError: Scrapy does not say when a request is settled.
        """
        self._spider = spider
        try:
            engine.on_settled(self._crawler, self.finish_request)
            self._storage = self._worker.begin(spider)
            self._in_hand = self._storage.in_hand
            self._queue = SiteQueue.over(self._crawler, self._storage)
            self._worker.serve(self._queue)
        except BaseException:
            self._worker.let_go()
            raise
        self._is_open = True

    def close(self, reason: str) -> None:  # noqa: ARG002 -- Scrapy's interface
        """Say what is left to be said, and have all else be other workers'."""
        if self._is_open:
            self._is_open = False
            self._worker.close()
            self._queue.close()

    def has_pending_requests(self) -> bool:
        """Return whether anything is left to do for this worker."""
        return len(self._queue) > 0 or self._worker.has_something_to_say

    def _next(self) -> Request | None:
        """Take the next request of a site that is this worker's and may be asked now."""
        request = self._queue.pop() if self._worker.may_send else None
        if request is None:
            self._worker.hungry()
        else:
            self._worker.handed_out(self._throttle.flight_of(request).site)
        return request

    def _keep(self, request: Request) -> None:
        if request in self._in_hand or self._throttle.in_flight.is_coming_back(request):
            self._queue.push(request)
        elif not self._storage.push_new(self._line_of(request), request):
            self._queue.rouse(self._line_of(request))
            self._count("enqueued", "memory")
        self._worker.pushed()

    def _line_of(self, request: Request) -> str:
        key = key_of(site_of_request(request), self._throttle.route_of(request))
        return queue_name(key, engine.slot_key(self._crawler, request))
