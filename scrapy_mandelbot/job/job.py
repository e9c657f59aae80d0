"""The job of a crawl: its file, who gave which request, and what is told of it."""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import scrapy.signals
from scrapy.exceptions import CloseSpider
from scrapy.utils.job import job_dir
from scrapy.utils.misc import load_object

from scrapy_mandelbot import engine, events
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.job import feeds
from scrapy_mandelbot.job.commits import Commits, Deliveries, SpiderState
from scrapy_mandelbot.job.feeds import Feeds
from scrapy_mandelbot.job.job_file import CorruptError, HeldError, JobLock
from scrapy_mandelbot.job.job_storage import JobStorage, Unacked
from scrapy_mandelbot.job.job_store import START, CannotKeepError
from scrapy_mandelbot.job.requests import LineOrder, RequestForm
from scrapy_mandelbot.job.site_states import KeptSites
from scrapy_mandelbot.job.sqlite_job import CLEAN, SqliteJob
from scrapy_mandelbot.job.takeover import FILE, open_job, set_aside, take_over
from scrapy_mandelbot.robots.formatting import counted
from scrapy_mandelbot.store.sqlite_file import network_disk

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)

_NAMED = 10  # requests that cannot be written down
_SET_ASIDE = "job_set_aside"
"""The reason with which a run ends that has done all but what is set aside."""


class RunningJob:
    """Knows who gave which request, and tells of what cannot be kept."""

    storage: JobStorage
    """Where its requests are kept, once the spider is there."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._crawl = Crawl.of(crawler)
        self.clock = self._crawl.clock
        self._tell = self._crawl.events.tell
        self.start = Unacked(START)
        """Stands for start() as the one who gives requests."""
        self._given: WeakKeyDictionary[Request, Unacked] = WeakKeyDictionary()
        self.given_by = self._given.get
        """Returns what has given a new request; None: nobody knows."""
        self._broken: CannotKeepError | None = None
        """Why the spider was closed."""
        self._named = self._unread = 0

    # Told by the middleware.

    def called(self, request: Request | None) -> Unacked | None:
        """Return what stands for a request whose callback is called; None: it is none of ours."""
        one = None if request is None else self.storage.unacked.get(request)
        if one is not None:
            one.has_called = True
        return one

    # Told by the scheduler.

    def begins(self, request: Request | None) -> None:
        """Have kept for good that the callback of a request is about to run."""

    def settled(self, request: Request) -> None:
        """Note that nothing is left to do for a request. Never raises."""
        try:
            if self.storage.settled(request):
                self.save_soon()
        except Exception as error:
            logger.exception("Error while a request was settled: %s", request)
            self.failed(CannotKeepError(repr(error)))

    def save_soon(self) -> None:
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

    def unreadable(self, line: str, number: int, error: Exception) -> None:  # noqa: ARG002 -- the contract's
        """Tell of a request that was kept, and cannot be made again."""
        self._unread += 1
        if self._unread == 1:
            self._tell(events.JOB_REQUEST_UNREADABLE, line=line, error=repr(error))
        else:
            self._crawl.events.count(events.JOB_REQUEST_UNREADABLE)

    def begin_feeds(self, own: Feeds) -> None:
        """Note where the feeds begin, and name those that a crash can harm."""
        own.begin()
        for uri, why in own.not_kept():
            self._tell(events.JOB_FEED_NOT_KEPT, uri=uri, reason=why)

    def tell_what_is_left(self) -> None:
        """Tell how many requests could not be kept, and how many not be read."""
        left = sum(one.number is None for one in self.storage.unacked.values())
        if left:
            self._tell(events.JOB_LEFT_IN_MEMORY, waiting=left)
        if self._unread > 1:
            logger.warning("%d requests of the job could not be made again", self._unread)

    def failed(self, error: CannotKeepError) -> None:
        """Close the spider, as the job cannot be read, or something went wrong that must not."""
        if self._broken is None:
            self._broken = error
            self._tell(events.JOB_UNREADABLE, error=error)
            engine.close_spider(self._crawler, "job_unreadable")


LOCK = "job.lock"
_FINISHED = "finished"  # that the last run has finished
_ATTRIBUTE = "_scrapy_mandelbot_job"


class JobError(Exception):
    """The crawl cannot begin, as its job cannot be kept."""


def keeps_job(settings: BaseSettings) -> bool:
    """Return whether the scheduler is one that keeps a job of ours."""
    return bool(getattr(load_object(settings["SCHEDULER"]), "keeps_job", False))


class Job(RunningJob):
    """What JobScheduler and JobMiddleware of one crawler share."""

    def __init__(self, crawler: Crawler, folder: Path) -> None:
        super().__init__(crawler)
        self.folder = folder
        self._is_synced = self._crawl.config.job_sync == "full"
        self._lock = JobLock(folder / LOCK)
        self.store = _open(folder, self._lock, is_synced=self._is_synced)
        if (disk := network_disk(folder)) is not None:
            logger.warning(
                "JOBDIR is on a disk of the network (%s): SQLite's locks may not hold there, and a"
                " job may be lost. Use a disk of this machine, or MANDELBOT_JOB = 'redis://…'",
                disk,
            )
        self._was_closed = bool(self.store.get_state(CLEAN))
        limit = self._crawl.config.job_deliveries
        self.deliveries = Deliveries(self.store, limit, has_died=not self._was_closed)
        self.commits = Commits(self.store, self.clock, self, is_synced=self._is_synced)
        self._before_commits: list[Callable[[], None]] = []
        self.sites = KeptSites(self, self._crawl, self.save_soon)
        self._crawl.job = self

    @classmethod
    def of(cls, crawler: Crawler) -> Job | None:
        """Return the crawler's job, opened when first asked for; None: it has none of ours.

        Raises:
            JobError: another run holds it, or it cannot be read or written.
        """
        job: Job | None = vars(crawler).get(_ATTRIBUTE)
        if job is None:
            folder = job_dir(crawler.settings)
            if folder is None or not keeps_job(crawler.settings):
                return None
            job = cls(crawler, Path(folder))
            setattr(crawler, _ATTRIBUTE, job)
        return job

    def begin(self, spider: Spider) -> JobStorage:
        """Return where the requests of the job are kept, when the spider is there.

        Raises:
            JobError: what the last run has left cannot be taken up.
        """
        form = RequestForm(spider, pickles=self._crawl.config.job_pickles)
        order = LineOrder.of(self._crawler.settings)
        fingerprint = self._crawler.request_fingerprinter.fingerprint
        self.storage = JobStorage(self.store, form, order, fingerprint, self)
        self._state = SpiderState(spider, self.store, self.clock.now, time.thread_time)
        try:
            files = feeds.read_kept(self.store.get_states(feeds.IN_JOB))
            feeds.cut(files, self.folder, has_died=not self._was_closed)
        except (OSError, ValueError, CannotKeepError) as error:
            raise JobError(
                f"What the last run wrote to its feeds cannot be cut: {error}"
            ) from error
        has_run = self.store.has_run or bool(files)
        goes_on = has_run and not self.store.get_state(_FINISHED)
        self._feeds = Feeds(
            self._crawler, self.folder, files, is_synced=self._is_synced, goes_on=goes_on
        )
        self.store.put_state(CLEAN, None)
        self._crawler.signals.connect(self._spider_opened, signal=scrapy.signals.spider_opened)
        self._crawler.signals.connect(self._spider_idle, signal=scrapy.signals.spider_idle)
        waiting = len(self.storage) + len(self.deliveries)
        if waiting:
            how = "was closed" if self._was_closed else "died"
            named = len({*self.storage, *self.deliveries.lines.values()})
            lines = counted(named, "site or section", "sites or sections")
            self._tell(events.JOB_RESUMED, waiting=waiting, lines=lines, how=how)
        for number, why in self.deliveries.aside.items():
            otherwise = f"<request {number} of {self.deliveries.lines[number]}>"
            body = b""
            with suppress(CannotKeepError):
                body = self.store.read(number)
            self._tell(events.JOB_SET_ASIDE, request=form.shown(body, otherwise), reason=why)
        return self.storage

    def take_over(self, spider: Spider, push: Callable[[Request], None]) -> None:
        """Have what Scrapy's own scheduler has left in JOBDIR in the job.

        Raises:
            JobError: it cannot be taken over; it is left as it is.
        """
        self.storage.is_taking_over = True
        try:
            take_over(self.folder, self.store, spider, push)
        except (OSError, CannotKeepError) as error:
            raise JobError(f"{self.folder} cannot be taken over: {error}") from error
        self.storage.is_taking_over = False

    # Told by the middleware.

    def gives(self, parent: Unacked, request: Request) -> bool:
        """Note who gives a request; return whether it is new, and was not given before a crash."""
        self._given[request] = parent
        if not request.dont_filter:
            return True  # its fingerprint says
        try:
            number = self.storage.number_of(request)
            if not parent.gave_before(number, self.store.children_left):
                return True
        except CannotKeepError as error:
            self.failed(error)
            return True
        self._tell(events.JOB_PASSED_OVER)
        return False

    def begins(self, request: Request | None) -> None:
        """Have the job know that a request is in flight before its callback runs."""
        one = None if request is None else self.storage.unacked.get(request)
        if one is None or one.number is None or one.number in self.deliveries.in_flight:
            return
        self.commits.at_once()

    # Told by the scheduler.

    def hand_out_last(self) -> list[str]:
        """Have some of those wait that were in flight at a death; return their lines."""
        return [
            line
            for number, line in self.deliveries.take()
            if self.storage.bring_back(line, number, self.store.read(number))
        ]

    def unreadable(self, line: str, number: int, error: Exception) -> None:
        """Set a request aside that was kept, and cannot be made again."""
        super().unreadable(line, number, error)
        self.deliveries.set_aside(number, f"it cannot be read: {error!r:.200}")

    def close(self, reason: str) -> None:
        """Commit what is left, and let go of the file."""
        self.commits.close()
        self.tell_what_is_left()
        is_done = reason in {"finished", _SET_ASIDE} and not self.store.lengths()
        if is_done:  # start() is asked again by the next run
            self.store.forget_children(START)
        self._feeds.has_finished = is_done and reason != _SET_ASIDE
        self.store.put_state(_FINISHED, b"1" if self._feeds.has_finished else None)
        self.store.put_state(CLEAN, b"1")
        self.deliveries.write_aside()
        self._state.save(is_last=True)
        error = self.commits.now()
        if error is not None and not isinstance(error, CorruptError):
            self._tell(events.JOB_LOST, error=error)
        self.store.close()
        if isinstance(error or self._broken, CorruptError):
            set_aside(self.folder)
        self._lock.release()

    def let_go(self) -> None:
        """Leave the file as it is after the last commit, for another run."""
        self.commits.close()
        self.store.close()
        self._lock.release()

    # Asked and told of commits.

    def prepare(self) -> None:
        """Have in the commit what it is to hold beside requests."""
        for name, value in self._feeds.flush().items():
            self.store.put_state(name, value)
        self._state.save()
        for call in self._before_commits:
            call()
        self.deliveries.keep(self.storage.in_flight())

    def not_saved(self, error: Exception | None) -> None:
        """Tell that the job goes on in memory; None: that what was there is saved."""
        self._tell(events.JOB_NOT_SAVED if error else events.JOB_SAVED_AGAIN, error=error)

    def gave_up(self, error: Exception) -> None:
        """Close the spider, as it cannot be saved."""
        if isinstance(error, CorruptError):
            self.failed(error)
        else:
            self._tell(events.JOB_GIVEN_UP, error=error)
            engine.close_spider(self._crawler, "job_not_saved")

    # Told by those who keep something in it beside requests.

    def kept(self, prefix: str) -> dict[str, bytes]:
        """Return what former runs have put under names that begin so, by name.

        Nothing, where it cannot be read: then the crawl closes.
        """
        try:
            return self.store.get_states(prefix)
        except CannotKeepError as error:
            self.failed(error)
            return {}

    def put(self, name: str, value: bytes | None) -> None:
        """Have the next commit keep something under a name; None: nothing."""
        self.store.put_state(name, value)

    def before_commits(self, call: Callable[[], None]) -> None:
        """Have something called before each commit; it must not raise."""
        self._before_commits.append(call)

    # The rest is the job's own.

    def save_soon(self) -> None:
        """Have a commit made at the end of this turn of the loop."""
        self.commits.settled()
        if self.deliveries.waiting and not self.storage.unacked:
            engine.wake(self._crawler)

    def _spider_idle(self) -> None:
        """Have the run not end as finished where requests are set aside."""
        if self.deliveries.aside and not self.store.lengths():
            raise CloseSpider(_SET_ASIDE)

    def _spider_opened(self) -> None:
        if not self._was_closed:
            try:
                self._state.restore()
            except CannotKeepError as error:
                self.failed(error)
        self.begin_feeds(self._feeds)
        for name in feeds.FORMER:
            self.store.put_state(name, None)
        self.commits.now()


def _open(folder: Path, lock: JobLock, *, is_synced: bool) -> SqliteJob:
    try:
        lock.take()
    except HeldError as error:
        raise JobError(f"{error}: two runs cannot share a JOBDIR") from None
    except OSError as error:
        raise JobError(f"JOBDIR cannot be written: {error}") from error
    try:
        return open_job(folder, is_synced=is_synced)
    except CorruptError as error:
        lock.release()
        raise JobError(f"{error}. A run that is started now begins from nothing.") from error
    except (CannotKeepError, OSError) as error:
        lock.release()
        raise JobError(f"{folder / FILE} cannot be opened: {error}") from error
