"""When a job is committed, what is done where that fails, and what is made of a run that died."""

from __future__ import annotations

import json
import logging
import pickle
import sys
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.clock import Soonest
from scrapy_mandelbot.job.job_file import CorruptError
from scrapy_mandelbot.job.job_store import CannotKeepError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from scrapy import Spider

    from scrapy_mandelbot.clock import Clock
    from scrapy_mandelbot.job.job import Job
    from scrapy_mandelbot.job.sqlite_job import SqliteJob

    Seconds = Callable[[], float]

logger = logging.getLogger(__name__)

_STATE = "spider.state"
_SHARE = 20
"""How many times as long as a pickling took must pass before the next: 8 ms for 200,000 entries."""


class SpiderState:
    """What Scrapy's extension of that name keeps at a clean end, kept at commits.

    Args:
        spider: whose state it is.
        store: where it is kept.
        now: returns seconds, by a clock that only goes forward.
        busy: returns seconds of processor time: a machine that stands still makes no state large.
    """

    def __init__(self, spider: Spider, store: SqliteJob, now: Seconds, busy: Seconds) -> None:
        self._spider: Any = spider
        self._store = store
        self._now = now
        self._busy = busy
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
        if (not state and self._kept is None) or (self._now() < self._not_before and not is_last):
            return
        began = self._busy()
        try:
            pickled = pickle.dumps(state, protocol=4)
        except Exception as error:  # noqa: BLE001 -- whatever a project's objects raise
            if not self._is_complained_of:
                self._is_complained_of = True
                logger.warning("spider.state is not kept over a crash: %r", error)
            return
        self._not_before = self._now() + _SHARE * (self._busy() - began)
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


class Commits:
    """Commits a job: at the end of the turn of the loop in which something was settled.

    So pages that are settled together are committed together, and a kill finds nothing uncommitted
    but what is under way.

    Args:
        store: what is committed.
        clock: of the crawl.
        job: asked to prepare a commit, and told of those that fail.
        is_synced: whether a commit waits for the disk: then many pages share one.
    """

    def __init__(self, store: SqliteJob, clock: Clock, job: Job, *, is_synced: bool) -> None:
        self._store = store
        self._clock = clock
        self._job = job
        self._soon = _GROUP if is_synced else 0.0
        self._timer = Soonest(clock, self.now)
        self._changes = 0
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
        elif not self._timer.is_set:
            self._set_timer(_LATER)

    def now(self) -> Exception | None:
        """Commit; return why that failed, if it did."""
        self._timer.cancel()
        self._changes = 0
        try:
            self._job.prepare()
            self._store.commit()
        except (CannotKeepError, OSError, ValueError) as error:  # the last: a feed that is closed
            return self._note(error)
        if self._error is not None:
            self._error = None
            self._job.not_saved(None)
        return None

    def at_once(self) -> None:
        """Commit, unless that has failed: then it is tried again from time to time."""
        if self._error is None:
            self.now()

    def close(self) -> None:
        """Make no commit any more but by :meth:`now`."""
        self._is_closed = True
        self._timer.cancel()

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
        self._timer.within(seconds)


CLAIMED = "claimed"
"""In the job's state: the numbers of the requests that were in flight at the last commit."""
DEATHS = "deaths"
"""In the job's state: by number, in how many deaths a request was in flight."""
ASIDE = "aside"
"""In the job's state: why requests are set aside, and their numbers."""
_MORE = 1.1  # times as many are set aside, when that is written again
FEW = 8
"""As many go out at a time that were in flight at a death."""


class Deliveries:
    """Counts by request in how many deaths it was in flight, and withholds those that have any.

    A page may kill the process whose callback reads it, in each run anew. Which one it was cannot
    be told from the others in flight, so all of them wait until nothing else is left to do. Then
    few are handed out at a time, and alone those that another death would set aside.

    Args:
        store: the job, just opened.
        limit: deaths after which a request is set aside.
        has_died: whether the last run was not closed.
    """

    def __init__(self, store: SqliteJob, limit: int, *, has_died: bool) -> None:
        self._store = store
        self._limit = limit
        deaths = _read_deaths(store.get_state(DEATHS))
        if has_died:
            for number in json.loads(store.get_state(CLAIMED) or b"[]"):
                deaths[number] = deaths.get(number, 0) + 1
        self._deaths: dict[int, int] = {}
        self.lines: dict[int, str] = {}
        """Of those that are withheld: the lines."""
        for number, times in deaths.items():
            line = store.withhold(number)
            if line is not None:
                self._deaths[number], self.lines[number] = times, line
        self.waiting = sorted(
            (number for number, times in self._deaths.items() if times < limit),
            key=lambda number: (self._deaths[number], number),
            reverse=True,
        )
        """Those that are to be handed out, the last one first."""
        self.aside = {
            number: f"{times} runs have died with it"
            for number, times in self._deaths.items()
            if times >= limit
        }
        """Those that are not, and why."""
        self.in_flight: set[int] = set()
        """Those that the last commit has as in flight."""
        store.put_state(DEATHS, _written(self._deaths))
        self.write_aside()

    def __len__(self) -> int:
        return len(self.waiting)

    def take(self) -> list[tuple[int, str]]:
        """Return numbers and lines of those that go out next, where nothing is in flight."""
        deaths = self._deaths[self.waiting[-1]]
        most = FEW if deaths + 1 < self._limit else 1
        taken = [one for one in reversed(self.waiting[-most:]) if self._deaths[one] == deaths]
        del self.waiting[-len(taken) :]
        return [(number, self.lines.pop(number)) for number in taken]

    def set_aside(self, number: int, why: str) -> None:
        """Have a request that was claimed be set aside, as long as this run goes on."""
        self.aside[number] = sys.intern(why)

    def keep(self, in_flight: set[int]) -> None:
        """Have the next commit hold the numbers of what is in flight."""
        self.in_flight = in_flight
        self._store.put_state(CLAIMED, json.dumps(list(in_flight)).encode())
        if len(self.aside) > _MORE * self._aside_written:  # there may be a million
            self.write_aside()

    def write_aside(self) -> None:
        """Have the next commit hold the numbers of what is set aside."""
        self._aside_written = len(self.aside)
        self._store.put_state(ASIDE, _by_reason(self.aside))


def read_aside(kept: bytes | None) -> dict[int, str]:
    """Return why requests are set aside, by number."""
    reasons = json.loads(kept or b"{}")
    return {number: why for why, numbers in reasons.items() for number in numbers}


def _by_reason(aside: Mapping[int, str]) -> bytes | None:
    reasons: dict[str, list[int]] = {}
    for number, why in aside.items():
        reasons.setdefault(why, []).append(number)
    return _written(reasons)


def _read_deaths(kept: bytes | None) -> dict[int, int]:
    return {int(number): times for number, times in json.loads(kept or b"{}").items()}


def bring_back(store: SqliteJob, is_wanted: Callable[[str], bool]) -> list[str]:
    """Have the next run hand out requests that are set aside, of some lines; return their lines."""
    deaths, aside = _read_deaths(store.get_state(DEATHS)), read_aside(store.get_state(ASIDE))
    lines = []
    for number in list(aside):
        line = store.line_of(number)
        if line is None or is_wanted(line):
            deaths.pop(number, None)
            del aside[number]
            lines += [] if line is None else [line]
    store.put_state(DEATHS, _written(deaths))
    store.put_state(ASIDE, _by_reason(aside))
    return lines


def _written(values: Mapping[Any, object]) -> bytes | None:
    return json.dumps(values).encode() if values else None
