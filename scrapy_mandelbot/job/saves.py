"""When a job is saved, in a file or on Redis, and what happens while that fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from scrapy_mandelbot.clock import Timers
from scrapy_mandelbot.job.job_store import StorageError

if TYPE_CHECKING:
    from scrapy_mandelbot.clock import Clock
    from scrapy_mandelbot.job.job_store import JobStore

    Seconds = Callable[[], float]


# requests after which a save no longer waits: start() may yield to no one
AT_ONCE = 1_000
MOST_OPERATIONS = 100_000
MOST_BYTES = 67_108_864
"""Held in memory while nothing can be written; beyond that the spider is closed."""
_LATER = 1.0  # seconds, where nothing was acknowledged
_TRY_AGAIN = 10.0  # seconds


class SavedJob(Protocol):
    """What the saves of a job report to it."""

    clock: Clock

    def failed(self, error: StorageError) -> None:
        """The job cannot be read."""

    def give_up(self, error: Exception) -> None:
        """Too much is unsaved."""

    def not_saved(self, error: Exception | None) -> None:
        """A save failed; None: it is saved again."""


class Saves:
    """Decides when a job is saved, and what happens while that fails.

    A save follows `soon` seconds after an acknowledgement; 0 is the end of this turn of
    the event loop, so pages acknowledged together are saved together, and a kill finds
    nothing unsaved but what is in progress. After a failure it is retried every `again`
    seconds.
    """

    def __init__(
        self,
        job: SavedJob,
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
        self._is_due = False  # a save follows an acknowledgement
        self.error: Exception | None = None  # why the last save failed
        self._is_closed = False

    def acknowledged(self) -> None:
        if not self._is_due:  # as for the first of a turn's pages
            self._is_due = True
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
            if self.error is not None:
                seconds = max(seconds, self._again)
            self._timers.set(self, self._job.clock.now() + seconds)

    def now(self) -> Exception | None:
        self._timers.drop(self)
        self._changes = 0
        self._is_due = False
        return self._save()

    def failed(self, error: Exception) -> Exception:
        was_well = self.error is None
        self.error = error
        if isinstance(error, StorageError) and error.ends_run == "job_unreadable":
            self._job.failed(error)
        elif isinstance(error, StorageError) and error.ends_run:
            self._job.give_up(error)
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
            self._job.give_up(StorageError(f"too much of it is in memory ({error})"))
