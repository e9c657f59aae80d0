"""A job in a file: when it is committed, and what happens while commits fail."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scrapy.signals
from mandelbot.formatting import counted
from scrapy.exceptions import CloseSpider
from scrapy.utils.job import job_dir
from scrapy.utils.misc import load_object

from scrapy_mandelbot import engine, events
from scrapy_mandelbot.clock import Timers
from scrapy_mandelbot.job import feeds, salvage
from scrapy_mandelbot.job.deliveries import Deliveries
from scrapy_mandelbot.job.job_file import CorruptError
from scrapy_mandelbot.job.job_storage import JobStorage, RunningJob
from scrapy_mandelbot.job.job_store import StorageError
from scrapy_mandelbot.job.site_states import StoredSites
from scrapy_mandelbot.job.takeover import take_over

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings
    from typing_extensions import Self

    from scrapy_mandelbot.job.deliveries import Unacked
    from scrapy_mandelbot.job.job_store import JobStore

    Seconds = Callable[[], float]

logger = logging.getLogger(__name__)

_SET_ASIDE = "job_set_aside"  # finish reason: all is done but what is set aside
# all is done but what may have been lost with a damaged file
_SALVAGED = "job_salvaged"


# seconds until what was in flight at a death no longer waits for the others
_OVERDUE = 600.0
_FINISHED = "finished"  # that the last run has finished


class JobError(ValueError):
    """The crawl cannot start: its job cannot be stored."""

    is_logged = False


def keeps_job(settings: BaseSettings) -> bool:
    return bool(getattr(load_object(settings["SCHEDULER"]), "keeps_job", False))


class Job(RunningJob):
    """The state that JobScheduler and JobMiddleware of one crawler share."""

    def __init__(self, crawler: Crawler, folder: Path) -> None:
        super().__init__(crawler)
        self.folder = folder
        self._is_synced = self._crawl.config.job_sync == "full"
        try:
            self._lock, self.store = salvage.open_locked(
                folder, is_synced=self._is_synced
            )
        except StorageError as error:
            raise JobError(str(error)) from error
        self._was_closed = self.store.is_clean
        self._is_salvaged = bool(self.store.get_state(salvage.SALVAGED))
        limit = self._crawl.config.job_deliveries
        self.deliveries = Deliveries(self.store, limit, has_died=not self._was_closed)
        soon = _GROUP if self._is_synced else 0.0
        self.saves = Saves(self, self.store, self._save, soon)
        self._overdue_at = self.clock.now() + _OVERDUE
        # Of those that were in flight at a death, the last to be handed out, and their
        # lines.
        self._tried: dict[Request | None, str] = {}
        self._before_commits: list[Callable[[], None]] = []
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
            files = feeds.read_stored(self.store.get_states(feeds.IN_JOB))
            feeds.cut(files, self.folder, has_died=not self._was_closed)
        except (OSError, ValueError, StorageError) as error:
            raise JobError(
                "Feeds cannot be cut back to the last commit of the previous run:"
                f" {error}"
            ) from error
        has_run = bool(self.store.last_of_former_run or files)
        goes_on = has_run and not self.store.get_state(_FINISHED)
        self._feeds = feeds.Feeds(
            self._crawler,
            self.folder,
            files,
            is_synced=self._is_synced,
            goes_on=goes_on,
        )
        self.store.is_clean = False
        self._crawler.signals.connect(
            self._spider_opened, signal=scrapy.signals.spider_opened
        )
        self._crawler.signals.connect(
            self._spider_idle, signal=scrapy.signals.spider_idle
        )
        waiting = len(self.storage) + len(self.deliveries.waiting)
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

    def take_over(self, push: Callable[[Request], None]) -> None:
        self.storage.is_taking_over = True
        try:
            take_over(self.folder, self.store, self.storage.form, push)
        except (OSError, StorageError) as error:
            raise JobError(f"{self.folder} cannot be taken over: {error}") from error
        self.storage.is_taking_over = False

    # Called by the middleware.

    def gives(self, parent: Unacked, request: Request) -> bool:
        """Record the parent of a request; return whether it is new, not yielded before a crash."""
        self._given[request] = parent
        if not request.dont_filter:
            return True  # its fingerprint says
        try:
            number = self.storage.number_of(request)
            if not parent.gave_before(number, self.store.children_left):
                return True
        except StorageError as error:
            self.failed(error)
            return True
        self._emit(events.JOB_PASSED_OVER)
        return False

    def begins(self, request: Request | None) -> None:
        one = None if request is None else self.storage.unacked.get(request)
        if one is None or one.number is None or one.number in self.deliveries.in_flight:
            return
        if self.saves.error is None:  # else the timer tries again
            self.saves.now()

    # Called by the scheduler.

    @property
    def has_overdue(self) -> bool:
        """Whether one that was in flight at a death may go beside others: none such is out."""
        has_any = self.deliveries.waiting and self.clock.now() >= self._overdue_at
        return bool(has_any) and self.storage.unacked.keys().isdisjoint(self._tried)

    def hand_out_last(self, *, alone: bool) -> list[str]:
        taken = self.deliveries.take(alone=alone)
        bring_back = self.storage.bring_back
        read = self.store.read
        self._tried = {bring_back(line, one, read(one)): line for one, line in taken}
        self._tried.pop(None, None)  # unreadable ones
        return [*self._tried.values()]

    def set_aside(self, number: int, why: str, exception: str = "") -> None:  # noqa: ARG002 -- it is in why
        self.deliveries.aside[number] = sys.intern(why)

    def close(self, reason: str) -> None:
        self.saves.close()
        self.report_leftovers()
        is_done = (
            reason in {"finished", _SET_ASIDE, _SALVAGED} and not self.store.lengths()
        )
        if is_done:  # start() is asked again by the next run
            self.store.forget_children(self.start.number or 0)
        if is_done and self._is_salvaged:
            self.store.put_state(salvage.SALVAGED, None)
            engine.fail(self._crawler, "", lambda: self._emit(events.JOB_SALVAGED))
        self._feeds.has_finished = is_done and reason == "finished"
        self.store.put_state(_FINISHED, b"1" if self._feeds.has_finished else None)
        self.store.is_clean = True
        self.deliveries.write_aside()
        self._state.save(is_last=True)
        error = self.saves.now()
        if error is not None and not isinstance(error, CorruptError):
            self.end_not_saved(error)
        self.store.close()
        if isinstance(error or self._broken, CorruptError):
            salvage.set_aside(self.folder)
        self._lock.release()

    def release(self) -> None:
        """Close the file as of the last commit, for another run."""
        self.saves.close()
        self.store.close()
        self._lock.release()

    def _save(self) -> Exception | None:
        try:
            for name, value in self._feeds.flush().items():
                self.store.put_state(name, value)
            self._state.save()
            for call in self._before_commits:
                call()
            self.deliveries.keep(self.storage.in_flight())
            self.store.commit()
        # the last: a feed that is closed
        except (StorageError, OSError, ValueError) as error:
            return self.saves.failed(error)
        if self.saves.error is not None:
            self.saves.succeeded()
        return None

    def kept(self, prefix: str) -> dict[str, bytes]:
        """Return the values of previous runs whose names begin so.

        Empty where they cannot be read: then the spider is closed.
        """
        try:
            return self.store.get_states(prefix)
        except StorageError as error:
            self.failed(error)
            return {}

    def put(self, name: str, value: bytes | None) -> None:
        self.store.put_state(name, value)

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
        if (self._is_salvaged or self.deliveries.aside) and not self.store.lengths():
            raise CloseSpider(_SALVAGED if self._is_salvaged else _SET_ASIDE)

    def _spider_opened(self) -> None:
        if not self._was_closed or not self._crawl.config.job_pickles:
            self._state.restore()
        self.begin_feeds(self._feeds)
        self.saves.now()


_STATE = "spider.state"
_SHARE = 20
"""Pause between picklings, in multiples of the last one: 8 ms for 200,000 entries."""


class SpiderState:
    """Stores ``spider.state`` at commits.

    Scrapy's extension does so at a clean end only. `busy` returns seconds of processor
    time, which a suspended machine does not add to.
    """

    def __init__(
        self, storage: JobStorage, job: Job, now: Seconds, busy: Seconds
    ) -> None:
        self._form = storage.form
        self._spider: Any = storage.form.spider
        self._job = job
        self._now = now
        self._busy = busy
        self._kept: bytes | None = None
        self._not_before = 0.0
        self._is_complained_of = False

    def restore(self) -> None:
        """Restore the state of a run that died.

        Scrapy has restored that of an earlier one.
        """
        kept = self._job.kept(_STATE).get(_STATE)
        if kept is None:
            return
        try:
            self._spider.state = self._form.load(kept)
        except Exception as error:  # noqa: BLE001 -- whatever a changed spider leads to
            logger.warning(
                "spider.state of the previous run cannot be restored: %r", error
            )

    def save(self, *, is_last: bool = False) -> None:
        """Add the state to the next commit if it has changed and pickling is cheap enough."""
        state = getattr(self._spider, "state", None)
        if (not state and self._kept is None) or (
            self._now() < self._not_before and not is_last
        ):
            return
        began = self._busy()
        try:
            pickled = self._form.dump(state)
        except Exception as error:  # noqa: BLE001 -- whatever a project's objects raise
            if not self._is_complained_of:
                self._is_complained_of = True
                logger.warning(
                    "spider.state does not survive a crash: it cannot be pickled: %r",
                    error,
                )
            return
        self._not_before = self._now() + _SHARE * (self._busy() - began)
        if pickled != self._kept:
            self._kept = pickled
            self._job.put(_STATE, pickled)


# requests after which a save no longer waits: start() may yield to no one
AT_ONCE = 1_000
MOST_OPERATIONS = 100_000
MOST_BYTES = 67_108_864
"""Held in memory while nothing can be written; beyond that the spider is closed."""
_LATER = 1.0  # seconds, where nothing was acknowledged
_GROUP = 0.1  # seconds, where each commit waits for the disk
_TRY_AGAIN = 10.0  # seconds


class Saves:
    """Decides when a job is saved, in a file or on Redis, and what happens while that fails.

    A save follows `soon` seconds after an acknowledgement; 0 is the end of this turn of
    the event loop, so pages acknowledged together are saved together, and a kill finds
    nothing unsaved but what is in progress. After a failure it is retried every `again`
    seconds.
    """

    def __init__(
        self,
        job: RunningJob,
        store: JobStore,
        save: Callable[[], Exception | None],
        soon: float = 0.0,
        again: float = _TRY_AGAIN,
    ) -> None:
        self._job = job
        self._store = store
        self._save = save
        self._soon = soon
        self._again = again
        self._timers: Timers[Saves] = Timers(job.clock, Saves.now)
        self._changes = 0
        self.error: Exception | None = None  # why the last save failed
        self._is_closed = False

    def acknowledged(self) -> None:
        self.within(self._soon)

    def changed(self) -> None:
        """Save soon: something changed, though nothing was acknowledged."""
        self._changes += 1
        if self.error is not None:
            self._give_up_if_too_much(self.error)
        elif self._changes >= AT_ONCE:
            self.now()
        elif self._changes == 1:
            self.within(_LATER)

    def within(self, seconds: float) -> None:
        if not self._is_closed:
            wait = seconds if self.error is None else max(seconds, self._again)
            self._timers.set(self, self._job.clock.now() + wait)

    def now(self) -> Exception | None:
        self._timers.drop(self)
        self._changes = 0
        return self._save()

    def failed(self, error: Exception) -> Exception:
        was_well = self.error is None
        self.error = error
        if isinstance(error, CorruptError):
            self._job.failed(error)
        elif was_well:
            self._job.not_saved(error)
        self._give_up_if_too_much(error)
        self.within(self._again)
        return error

    def succeeded(self) -> None:
        self.error = None
        self._job.not_saved(None)

    def close(self) -> None:
        """Stop saving, except by :meth:`now`."""
        self._is_closed = True
        self._timers.drop(self)

    def _give_up_if_too_much(self, error: Exception) -> None:
        store = self._store
        if store.uncommitted > MOST_OPERATIONS or store.uncommitted_bytes > MOST_BYTES:
            self._job.give_up(error)
