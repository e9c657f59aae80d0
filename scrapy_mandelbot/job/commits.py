"""When a job is committed, and what is done where that fails."""

from __future__ import annotations

import logging
import pickle
from typing import TYPE_CHECKING, Any, Protocol

from scrapy_mandelbot.job.job_file import CorruptError
from scrapy_mandelbot.job.job_store import CannotKeepError

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Spider

    from scrapy_mandelbot.clock import Call, Clock
    from scrapy_mandelbot.job.sqlite_job import SqliteJob

logger = logging.getLogger(__name__)

_STATE = "spider.state"
_SHARE = 20
"""A pickling that took so long is not done again before this many times as long has passed: a state
of 200,000 entries takes 8 ms."""


class SpiderState:
    """What Scrapy's extension of that name keeps at a clean end, kept at commits.

    Args:
        spider: whose state it is.
        store: where it is kept.
        now: returns seconds, by a clock that only goes forward.
    """

    def __init__(self, spider: Spider, store: SqliteJob, now: Callable[[], float]) -> None:
        self._spider: Any = spider
        self._store = store
        self._now = now
        self._kept: bytes | None = None
        self._not_before = 0.0
        self._is_complained_of = False

    def restore(self) -> None:
        """Give the spider the state of a run that died; Scrapy has given it that of one before.

        Raises:
            CannotKeepError: what was kept cannot be read.
        """
        kept = self._store.get_state(_STATE)
        if kept is None:
            return
        try:
            self._spider.state = pickle.loads(kept)  # noqa: S301 -- of our own file, as Scrapy does
        except Exception as error:  # noqa: BLE001 -- whatever a changed spider leads to
            logger.warning("spider.state of the last run cannot be read: %r", error)

    def save(self, *, is_last: bool = False) -> None:
        """Have the state in the next commit, where it has changed and is not too costly."""
        state = getattr(self._spider, "state", None)
        began = self._now()
        if (not state and self._kept is None) or (began < self._not_before and not is_last):
            return
        try:
            pickled = pickle.dumps(state, protocol=4)
        except Exception as error:  # noqa: BLE001 -- whatever a project's objects raise
            if not self._is_complained_of:
                self._is_complained_of = True
                logger.warning("spider.state is not kept over a crash: %r", error)
            return
        ended = self._now()
        self._not_before = ended + _SHARE * (ended - began)
        if pickled != self._kept:
            self._kept = pickled
            self._store.put_state(_STATE, pickled)


AT_ONCE = 1_000
"""Requests after which a commit does not wait for a turn of the loop: start() may give none."""
MOST_OPERATIONS = 100_000
MOST_BYTES = 67_108_864
"""What is held in memory while nothing can be written; beyond that it is given up."""
_LATER = 1.0  # seconds, where nothing was settled
_GROUP = 0.1  # seconds, where each commit waits for the disk
_TRY_AGAIN = 10.0  # seconds


class Committed(Protocol):
    """What is asked and told of commits."""

    def prepare(self) -> None:
        """Have in the store what else a commit is to keep.

        Raises:
            OSError: that cannot be had, and nothing is to be committed.
        """

    def not_saved(self, error: Exception) -> None:
        """Tell that a commit has failed, after one that did not."""

    def saved_again(self) -> None:
        """Tell that one has succeeded, after one that failed."""

    def gave_up(self, error: Exception) -> None:
        """Tell, once, that too much is held in memory, or that the file is broken."""


class Commits:
    """Commits a job: at the end of the turn of the loop in which something was settled.

    So pages that are settled together are committed together, and a kill finds nothing uncommitted
    but what is under way.

    Args:
        store: what is committed.
        clock: of the crawl.
        job: asked and told of commits.
        is_synced: whether a commit waits for the disk: then many pages share one.
    """

    def __init__(self, store: SqliteJob, clock: Clock, job: Committed, *, is_synced: bool) -> None:
        self._store = store
        self._clock = clock
        self._job = job
        self._soon = _GROUP if is_synced else 0.0
        self._timer: Call | None = None
        self._changes = 0
        self._at = 0.0
        self._error: Exception | None = None
        self._has_given_up = False
        self._is_closed = False

    def settled(self) -> None:
        """Have a commit made at the end of this turn of the loop, or a little later."""
        self._set_timer(self._soon)

    def changed(self) -> None:
        """Have a commit made before long: something is to be kept, though nothing was settled."""
        self._changes += 1
        if self._error is not None:
            if (
                self._store.uncommitted > MOST_OPERATIONS
                or self._store.uncommitted_bytes > MOST_BYTES
            ):
                self._give_up(self._error)
        elif self._changes >= AT_ONCE:
            self.now()
        elif self._timer is None:
            self._set_timer(_LATER)

    def now(self) -> Exception | None:
        """Commit; return why that failed, if it did."""
        self._cancel()
        self._changes = 0
        try:
            self._job.prepare()
            self._store.commit()
        except (CannotKeepError, OSError, ValueError) as error:  # the last: a feed that is closed
            return self._note(error)
        if self._error is not None:
            self._error = None
            self._job.saved_again()
        return None

    def close(self) -> None:
        """Make no commit any more but by :meth:`now`."""
        self._is_closed = True
        self._cancel()

    def _note(self, error: Exception) -> Exception:
        was_well, self._error = self._error is None, error
        if isinstance(error, CorruptError):
            self._give_up(error)
        elif was_well:
            self._job.not_saved(error)
        self._set_timer(_TRY_AGAIN)
        return error

    def _give_up(self, error: Exception) -> None:
        if not self._has_given_up:
            self._has_given_up = True
            self._job.gave_up(error)

    def _set_timer(self, seconds: float) -> None:
        """Have a commit made after so many seconds, or when one is due before."""
        if self._is_closed or (self._error is not None and seconds != _TRY_AGAIN):
            return
        at = self._clock.now() + seconds
        if self._timer is not None:
            if self._at <= at:
                return
            self._timer.cancel()
        self._at = at
        self._timer = self._clock.call_later(seconds, self._on_time)

    def _on_time(self) -> None:
        self._timer = None
        self.now()

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
