"""What crawls with a job have in common, whether it is in a file or on Redis."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections import Counter
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import scrapy.signals
from mandelbot.formatting import counted

from scrapy_mandelbot import engine, events
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.job.feeds import Feeds
from scrapy_mandelbot.job.job_store import OWN_START, START, StorageError
from scrapy_mandelbot.job.unacked import Unacked
from scrapy_mandelbot.settings.values import fail_cleanly
from scrapy_mandelbot.time_text import clock_time

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self

    from scrapy_mandelbot.job.cookies import CookieWatch
    from scrapy_mandelbot.job.job_storage import JobStorage
    from scrapy_mandelbot.job.start_requests import SkippedStarts


logger = logging.getLogger(__name__)

_ATTRIBUTE = "_scrapy_mandelbot_job"
_NAMED = 10  # requests that cannot be written down, or are set aside


class RunningJob(ABC):
    """Tracks which callback yielded a request; reports what cannot be stored."""

    storage: JobStorage  # where its requests are kept, once the spider is there
    workers: int | None = None  # of a job that they share, as far as known
    kind: str  # of a job, as a log line names it
    for_a_new_crawl: str  # what to use, or to run, in place of a job that has finished

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._crawl = Crawl.of(crawler)
        self.clock = self._crawl.clock
        self._emit = self._crawl.events.emit
        # They stand for start() as a parent: Scrapy's default, and the spider's own.
        self.start = Unacked(START)
        self.own_start = Unacked(OWN_START)
        self.cookie_watch: CookieWatch | None = None  # made with the queue
        self._given: WeakKeyDictionary[Request, Unacked] = WeakKeyDictionary()
        # returns the parent of a new request; None: unknown
        self.given_by = self._given.get
        self._broken: Exception | None = None  # why the spider was closed
        # since when it cannot be saved, in seconds since the epoch
        self._unsaved_since: float | None = None
        self._counts: Counter[events.Event] = Counter()
        self.feeds: Feeds | None = None
        if self._crawl.config.job_errors == "keep":
            crawler.signals.connect(self._has_raised, scrapy.signals.spider_error)

    @classmethod
    def of(cls, crawler: Crawler) -> Self | None:
        """Return the crawler's job, opened on first use.

        None: it has none of this kind.
        """
        job = vars(crawler).get(_ATTRIBUTE)
        if not isinstance(job, cls):
            with fail_cleanly(crawler):
                job = cls.open(crawler)
            if job is not None:
                setattr(crawler, _ATTRIBUTE, job)
        return job

    @staticmethod
    def found_in(crawler: Crawler) -> RunningJob | None:
        """Return the crawler's job if it is open."""
        job = vars(crawler).get(_ATTRIBUTE)
        return job if isinstance(job, RunningJob) else None

    @classmethod
    @abstractmethod
    def open(cls, crawler: Crawler) -> Self | None:
        """Open the job that the settings name; None: they name none of this kind."""

    def _has_raised(self, failure: Any, response: Response, spider: Spider) -> None:
        one = self.unacked_of(response.request)
        if one is not None:
            self.report_aside(response.request, one.fail(failure, spider))

    def report_aside(self, request: object, why: str) -> None:
        self._emit_first(_NAMED, events.JOB_SET_ASIDE, request=request, reason=why)

    @abstractmethod
    def set_aside(self, number: int, why: str, exception: str = "") -> None:
        """Set a claimed request aside: unreadable, or its callback raised."""

    def called(self, request: Request | None) -> Unacked | None:
        one = self.unacked_of(request)
        if one is not None:
            one.has_called = True
        return one

    def unacked_of(self, request: Request | None) -> Unacked | None:
        """Return the entry of a request that was claimed, or is in memory only."""
        return None if request is None else self.storage.unacked.get(request)

    def acknowledged(self, request: Request) -> None:
        try:
            if self.cookie_watch is not None:
                self.cookie_watch.touched(request)
            if self.storage.acknowledged(request):
                self.save_soon()
        except Exception as error:  # noqa: BLE001 -- an error of ours
            self.erred(f"Error while {request} was settled", error)

    def will_filter(self, request: Request, skipped: SkippedStarts) -> bool:  # noqa: ARG002 -- of a job in a file
        """Return whether an earlier run has sent a start request that is filtered."""
        return False

    def report_finished(self, at: float, requests: int) -> None:
        """Say why this run requests so little: start requests, and what is new.

        `at`: seconds since the epoch at which the job finished. `requests`: how many
        it knows.
        """
        self._emit(
            events.JOB_HAD_FINISHED,
            job=self.kind,
            when=clock_time(at),
            requests=counted(requests, "request"),
            instead=self.for_a_new_crawl,
        )

    def skipped(self, starts: SkippedStarts) -> None:
        """Report the requests of start() that this run does not send."""
        if starts.count:
            requests = counted(starts.count, "request")
            self._emit(events.JOB_START_SKIPPED, requests=requests, named=str(starts))

    @abstractmethod
    def begin(self, spider: Spider) -> JobStorage:
        """Return the storage of its requests, for a spider that begins."""

    @abstractmethod
    def release(self) -> None:
        """Give the job back: another run may have it."""

    @abstractmethod
    def save_soon(self) -> None:
        """Commit what has changed within the interval of commits."""

    def unwritable(self, request: Request, error: Exception) -> None:
        self._emit_first(_NAMED, events.JOB_IN_MEMORY, request=request, error=error)

    def unreadable(self, line: str, number: int, error: Exception) -> None:
        self._emit_first(1, events.JOB_REQUEST_UNREADABLE, line=line, error=repr(error))
        self.set_aside(number, f"it cannot be read: {error!r:.200}")

    def _emit_first(self, most: int, event: events.Event, **values: Any) -> None:
        self._counts[event] += 1
        if self._counts[event] <= most:
            self._emit(event, **values)
        else:
            self._crawl.events.count(event)

    def begin_feeds(self, feeds: Feeds | None = None) -> None:
        self.feeds = feeds or Feeds(self._crawler)
        self.feeds.begin()
        for uri, why in self.feeds.not_kept():
            self._emit(events.JOB_FEED_NOT_KEPT, uri=uri, reason=why)

    def report_leftovers(self) -> None:
        left = sum(one.number is None for one in self.storage.unacked.values())
        if left:
            self._emit(events.JOB_LEFT_IN_MEMORY, waiting=left)
        unread = self._counts[events.JOB_REQUEST_UNREADABLE]
        if unread > 1:
            logger.warning("%d requests of the job could not be restored", unread)

    def erred(self, what: str, error: Exception) -> None:
        logger.error(what, exc_info=error)
        self.failed(StorageError(repr(error)))

    def failed(self, error: StorageError) -> None:
        """Close the spider: the job cannot be read, or an internal error occurred."""
        self._break(error, events.JOB_UNREADABLE, "job_unreadable")

    @property
    def unsaved_for(self) -> float:
        """For how many seconds it could not be saved; 0: it is saved."""
        if self._unsaved_since is None:
            return 0.0
        return max(0.0, self.clock.now() - self._unsaved_since)

    def not_saved(self, error: Exception | None) -> None:
        """Report that it cannot be saved for now; None: it is saved again."""
        self._unsaved_since = self.clock.now() if error else None
        event = events.JOB_NOT_SAVED if error else events.JOB_SAVED_AGAIN
        self._emit(event, error=error)

    def give_up(self, error: Exception) -> None:
        """Close the spider: too much is unsaved."""
        self._break(error, events.JOB_GIVEN_UP, "job_not_saved")

    def end_not_saved(self, error: Exception) -> None:
        """Fail the crawl as it closes: the next run repeats what is not saved."""
        reason = "job_not_saved" if self._broken is None else ""
        engine.fail(
            self._crawler, reason, lambda: self._emit(events.JOB_LOST, error=error)
        )

    def _break(self, error: Exception, event: events.Event, reason: str) -> None:
        if self._broken is None:
            self._broken = error
            self._emit(event, error=error)
            engine.close_spider(self._crawler, reason)
