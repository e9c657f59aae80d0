"""A job in a file: when it is committed, and what happens while commits fail."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import scrapy.signals
from mandelbot.formatting import counted
from scrapy.exceptions import CloseSpider
from scrapy.utils.job import job_dir
from scrapy.utils.misc import load_object

from scrapy_mandelbot import engine, events
from scrapy_mandelbot.clock import Timers
from scrapy_mandelbot.job import feeds
from scrapy_mandelbot.job.cookies import JobCookies, forget_cookies, watch_cookies
from scrapy_mandelbot.job.deliveries import Deliveries
from scrapy_mandelbot.job.job_file import CorruptError, GoneError, damage_text
from scrapy_mandelbot.job.job_lock import is_file
from scrapy_mandelbot.job.job_storage import JobStorage
from scrapy_mandelbot.job.job_store import OWN_START, START, StorageError
from scrapy_mandelbot.job.opening import open_locked
from scrapy_mandelbot.job.running_job import RunningJob
from scrapy_mandelbot.job.saves import Saves
from scrapy_mandelbot.job.site_states import (
    StoredSites,
    section_of_line,
    site_of_line,
)
from scrapy_mandelbot.job.spider_state import SpiderState
from scrapy_mandelbot.job.unacked import exception_of
from scrapy_mandelbot.politeness.flight import OUTLASTS_RUN

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings
    from typing_extensions import Self

    from scrapy_mandelbot.job.start_requests import SkippedStarts
    from scrapy_mandelbot.job.unacked import Unacked

    Seconds = Callable[[], float]

logger = logging.getLogger(__name__)

_SET_ASIDE = "job_set_aside"  # finish reason: all is done but what is set aside
# seconds between two looks whether a request is sent that waited at the last commit
_LOOK_AGAIN = 1.0
_FINISHED = "finished"  # that the last run has finished
_SPIDER = "spider"  # the name of the spider whose requests the job has


class JobError(ValueError):
    """The crawl cannot start: its job cannot be stored."""

    is_logged = False


def keeps_job(settings: BaseSettings) -> bool:
    return bool(getattr(load_object(settings["SCHEDULER"]), "keeps_job", False))


class Job(RunningJob):
    """The state that JobScheduler and JobMiddleware of one crawler share."""

    # Made by begin(), when the spider is there.
    _state: SpiderState
    _feeds: feeds.Feeds

    kind = "JOBDIR"
    for_a_new_crawl = "a new JOBDIR"

    def __init__(self, crawler: Crawler, folder: Path) -> None:
        super().__init__(crawler)
        self.folder = folder
        self._is_synced = self._crawl.config.job_sync == "full"
        try:
            self._lock, self.store = open_locked(folder, is_synced=self._is_synced)
        except CorruptError as error:
            raise JobError(damage_text(folder, error)) from error
        except StorageError as error:
            raise JobError(str(error)) from error
        self._file = self.store.path.stat()
        self._was_closed = self.store.is_clean
        limit = self._crawl.config.job_deliveries
        self.deliveries = Deliveries(self.store, limit, has_died=not self._was_closed)
        try:
            self._take_over(crawler.spider)
        except JobError:
            self.store.close()
            self._lock.release()
            raise
        soon = _GROUP if self._is_synced else 0.0
        self.saves = Saves(self, self.store, self._save, soon)
        self._looks: Timers[Job] = Timers(self.clock, Job._look_for_sent)
        self._before_commits: list[Callable[[], None]] = []
        self._goes_on = False  # whether the previous run did not finish
        self._cookies: JobCookies | None = None
        # Numbers of a previous run's requests of start() that this run's yielded, too.
        self._met_starts: set[int] = set()
        self._load_line: Callable[[str], None] = lambda _: None
        self.sites = StoredSites(self, self._crawl, self.save_soon)
        self._crawl.job = self

    @classmethod
    def open(cls, crawler: Crawler) -> Self | None:
        folder = job_dir(crawler.settings)
        if folder is None or not keeps_job(crawler.settings):
            return None
        return cls(crawler, Path(folder))

    def begin(self, spider: Spider) -> JobStorage:
        self.storage = JobStorage.of(self._crawler, spider, self.store, self)
        self._state = SpiderState(self.storage, self, self.clock.now, time.thread_time)
        try:
            files = feeds.read_stored(self.store.states.with_prefix(feeds.IN_JOB))
            files = feeds.cut(files, self.folder, has_died=not self._was_closed)
        except (OSError, ValueError, StorageError) as error:
            raise JobError(
                "Feeds cannot be cut back to the last commit of the previous run:"
                f" {error}"
            ) from error
        has_run = bool(self.store.last_of_former_run or files)
        self._goes_on = has_run and not self.store.states.get(_FINISHED)
        self._feeds = feeds.Feeds(
            self._crawler,
            self.folder,
            files,
            is_synced=self._is_synced,
            goes_on=self._goes_on,
        )
        self.store.is_clean = False
        self._crawler.signals.connect(
            self._spider_opened, signal=scrapy.signals.spider_opened
        )
        self._crawler.signals.connect(
            self._spider_idle, signal=scrapy.signals.spider_idle
        )
        waiting = len(self.storage) + len(self.deliveries.waiting)
        if has_run and not (self._goes_on or waiting):
            self._report_if_finished()
        if waiting:
            how = "was closed" if self._was_closed else "died"
            named = len({*self.storage, *self.deliveries.lines.values()})
            lines = counted(named, "site or section", "sites or sections")
            self._emit(events.JOB_RESUMED, waiting=waiting, lines=lines, how=how)
        for number, why in self.deliveries.aside.items():
            otherwise = f"<request {number} of {self.deliveries.lines[number]}>"
            body = b""
            with suppress(StorageError):
                body = self.store.read(number)
            self.report_aside(self.storage.form.shown(body, otherwise), why)
        return self.storage

    def _take_over(self, spider: Spider | None) -> None:
        """Note whose requests these are; JobError: another spider's are left."""
        if spider is None:  # as in `scrapy shell`
            return
        name = self._crawl.config.job_name or str(spider.name)
        before = (self.store.states.get(_SPIDER) or b"").decode()
        left = sum(self.store.lengths().values()) + len(self.deliveries.lines)
        if left and before not in {"", name}:
            option = f"MANDELBOT_JOB_OPTIONS = {{'name': {before!r}}}"
            raise JobError(
                f"{self.folder} holds {counted(left, 'request')} of the spider"
                f" {before!r}, and this is {name!r}: give each spider a JOBDIR of its"
                f" own. If it was renamed, {option} continues the job"
            )
        self.store.states.put(_SPIDER, name.encode())

    def resume(self, load: Callable[[str], None]) -> None:
        """Restore what is stored beside requests; `load` adds a line to the queue."""
        self._load_line = load
        self.sites.restore(self.storage, self.storage.unacked)
        self.cookie_watch = watch_cookies(self._crawler)
        if self.cookie_watch is not None:
            self._cookies = JobCookies(self, self.cookie_watch)
            self._cookies.restore()

    # Called by the middleware.

    def gives(self, parent: Unacked, request: Request) -> bool:
        """Record a request's parent; return whether no earlier run yielded it."""
        self._given[request] = parent
        if not request.dont_filter:
            return True  # its fingerprint says
        try:
            number = self.storage.number_of(request)
            if parent is self.own_start:
                is_new = not self._meet_start(request, number)
            else:
                is_new = not parent.gave_before(number, self.store.children_left)
        except StorageError as error:
            self.failed(error)
            return True
        if not is_new:
            self._emit(events.JOB_PASSED_OVER)
        return is_new

    def will_filter(self, request: Request, skipped: SkippedStarts) -> bool:
        if request.dont_filter or not self._goes_on:
            return False
        try:
            is_seen = self.storage.has_seen(request)
        except StorageError as error:
            self.failed(error)
            return False
        return skipped.filters(self.storage.number_of(request), is_seen=is_seen)

    def begins(self, request: Request | None) -> None:
        one = self.unacked_of(request)
        if one is None or one.number is None:
            return
        if one.number in self.deliveries.sent:
            return
        if self.saves.error is None:  # else the timer tries again
            self.saves.now()

    def _meet_start(self, request: Request, fingerprint: int) -> bool:
        """Meet a request of start(); return whether a previous one left it in the job.

        One that had been sent at a death is sent at once: others of its kind wait until
        all else is done, but pages may depend on this one, as on a login.
        """
        number = self.store.waiting_start(fingerprint)
        if number is None or number in self._met_starts:
            return False
        self._met_starts.add(number)
        body = self.store.read(number)
        if not self.storage.form.is_same(body, request):
            return False  # as with another token
        why = self.deliveries.aside.get(number)
        if why is not None:  # where its callback raised, another call may do better
            return not exception_of(why)
        if number not in self.deliveries.waiting:
            return True
        line = self.deliveries.take_one(number)
        if self.storage.bring_back(line, number, body) is None:
            return False
        self._load_line(line)
        engine.wake(self._crawler)
        return True

    # Called by the scheduler.

    def hand_out_last(self) -> list[str]:
        """Put some that had been sent at a death at hand; return their lines."""
        lines = []
        for number, line in self.deliveries.take(self._is_over):
            body = self.store.read(number)
            if self.storage.bring_back(line, number, body) is not None:
                lines.append(line)
        return lines

    @property
    def left_over(self) -> int:
        """How many requests that had been sent at a death this run leaves."""
        waiting = self.deliveries.waiting
        lines = {self.deliveries.lines[number] for number in waiting}
        return len(waiting) if all(map(self._is_over, lines)) else 0

    def _is_over(self, line: str) -> bool:
        site = self._crawl.sites.of(site_of_line(line))
        decision = site.decide(self._crawl.now(), section=section_of_line(line))
        return decision.wait in OUTLASTS_RUN

    def set_aside(self, number: int, why: str, exception: str = "") -> None:  # noqa: ARG002 -- it is in why
        self.deliveries.aside[number] = sys.intern(why)

    def close(self, reason: str) -> None:
        self.saves.close()
        self.report_leftovers()
        is_done = reason in {"finished", _SET_ASIDE} and not self.store.lengths()
        if is_done:  # start() is asked again by the next run
            self.store.forget_children(START)
            self.store.forget_children(OWN_START)
        self._feeds.has_finished = is_done and reason == "finished"
        self.store.states.put(_FINISHED, self._finish())
        self.store.is_clean = True
        self.deliveries.write_aside()
        self._state.save(is_last=True)
        if self._cookies is not None:
            self._cookies.close(is_finished=self._feeds.has_finished)
        elif self._feeds.has_finished:  # an earlier run may have stored some
            forget_cookies(self)
        error = self.saves.now()
        self._looks.take()
        if error is not None and not isinstance(error, CorruptError):
            self.end_not_saved(error)
        self.store.close()
        self._lock.release()

    def _finish(self) -> bytes | None:
        """Return when the job finished and how many requests it knows, as stored."""
        if not self._feeds.has_finished:
            return None
        seen = 0
        with suppress(StorageError):
            seen = self.store.count_seen()
        return f"{self._crawl.now():.0f} {seen}".encode()

    def _report_if_finished(self) -> None:
        with suppress(ValueError):
            when, seen = (self.store.states.get(_FINISHED) or b"").decode().split()
            self.report_finished(float(when), int(seen))

    def release(self) -> None:
        """Close the file as of the last commit, for another run."""
        self.saves.close()
        self._looks.take()
        self.store.close()
        self._lock.release()

    def _save(self) -> Exception | None:
        try:
            for name, value in self._feeds.flush().items():
                self.store.states.put(name, value)
            self._state.save()
            for call in self._before_commits:
                call()
            unsent = self._crawl.throttle.in_flight.unsent()
            self.deliveries.keep(self.storage.sent(unsent))
            self._look_after_file()
            self.store.commit()
        # the last: a feed that is closed
        except (StorageError, OSError, ValueError) as error:
            return self.saves.failed(error)
        if self.saves.error is not None:
            self.saves.succeeded()
        if unsent:
            self._look_soon()
        return None

    def _look_after_file(self) -> None:
        """Raise GoneError if nothing that is written to the file now is kept.

        JobInUseError: its lock was removed, and another run has the job.
        """
        if not is_file(self.store.path, self._file):
            if self._lock.has_moved():  # and the file with it: SQLite has both open
                return
            raise GoneError(f"{self.store.path} was removed or replaced")
        self._lock.keep()

    def failed(self, error: StorageError) -> None:
        if isinstance(error, CorruptError):
            error = CorruptError(damage_text(self.folder, error))
        super().failed(error)

    def _look_soon(self) -> None:
        self._looks.set(self, self.clock.now() + _LOOK_AGAIN)

    def _look_for_sent(self) -> None:
        """Save that a request is sent which waited: its download may kill the process.

        Nothing else reports that it leaves its download slot.
        """
        unsent = self._crawl.throttle.in_flight.unsent()
        if self.storage.sent(unsent) <= self.deliveries.sent:
            if unsent:
                self._look_soon()
        elif self.saves.error is None:  # else the timer tries again
            self.saves.now()

    def kept(self, prefix: str) -> dict[str, bytes]:
        """Return the values of previous runs whose names begin so.

        Empty where they cannot be read: then the spider is closed.
        """
        try:
            return self.store.states.with_prefix(prefix)
        except StorageError as error:
            self.failed(error)
            return {}

    def put(self, name: str, value: bytes | None) -> None:
        self.store.states.put(name, value)

    def before_commits(self, call: Callable[[], None]) -> None:
        self._before_commits.append(call)

    def save_soon(self) -> None:
        self.saves.acknowledged()
        if self.deliveries.waiting and not self.storage.unacked:
            engine.wake(self._crawler)

    def _spider_idle(self) -> None:
        """End a run that left or lost something with a reason that says so."""
        if self.saves.error is not None and self.saves.now() is not None:
            raise CloseSpider("job_not_saved")
        if self.store.lengths():
            return
        if self.deliveries.aside:
            raise CloseSpider(_SET_ASIDE)

    def _spider_opened(self) -> None:
        if not self._was_closed or not self._crawl.config.job_pickles:
            self._state.restore()
        self.begin_feeds(self._feeds)
        self.saves.now()


_GROUP = 0.1  # seconds, where each commit waits for the disk
