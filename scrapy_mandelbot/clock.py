"""The clock and the timers of a crawl: arguments, so that tests turn time."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from heapq import heapify, heappop, heappush
from itertools import count, islice
from math import inf, isfinite
from operator import itemgetter
from time import thread_time
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from scrapy.utils.asyncio import call_later, is_asyncio_available
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred, execute

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


T = TypeVar("T")
AT_A_TIME = 500
"""Steps between two breaks; looking at that many sites takes some milliseconds."""
_BREAK = 0.02  # seconds, in which the crawl's own work is done
LATE = 1.0
"""Seconds by which a timer may be late. One that is later was held up, by the crawl's
own work or as the machine slept: answers that came meanwhile could not be read.
"""


def _elapsed() -> Callable[[], float]:
    """Choose a clock that never goes back.

    If possible, one that runs while the machine sleeps.
    """
    try:
        time.clock_gettime(time.CLOCK_BOOTTIME)
    except (AttributeError, OSError):  # not Linux
        return time.monotonic
    return partial(time.clock_gettime, time.CLOCK_BOOTTIME)


elapsed = _elapsed()


class Call(Protocol):
    """A scheduled call."""

    def cancel(self) -> object:
        """Cancel the call."""


class Clock:
    """Seconds since the epoch that only go forward, and calls at a later time."""

    def __init__(self) -> None:
        self._offset = time.time() - elapsed()

    @classmethod
    def of(cls, _crawler: Crawler) -> Clock:
        """Return a new one for a crawler; tests have another made."""
        return cls()

    @cached_property
    def share(self) -> LoopShare:
        """Runs all long work of the crawl."""
        return LoopShare(self)

    def now(self) -> float:
        """Return seconds since the epoch; the clock is never set during a crawl."""
        return self._offset + elapsed()

    def call_later(
        self, seconds: float, call: Callable[..., object], *arguments: Any
    ) -> Call:
        """Call a function after so many seconds, on Scrapy's loop or reactor."""
        return call_later(seconds, call, *arguments)

    def loop(self) -> Callable[..., object]:
        """Return a function that any thread may call to run another in this loop."""
        if is_asyncio_available():
            return asyncio.get_event_loop().call_soon_threadsafe
        from twisted.internet import reactor  # noqa: PLC0415 -- its import installs one

        return reactor.callFromThread  # type: ignore[no-any-return]


# seconds; a loop's timer stands still while the machine sleeps, now() not
_LONGEST_TIMER = 60.0
_FEW = 1_000  # entries of the heap that no longer ring, before they are removed


class Timers(Generic[T]):
    """Wakes things at their times, by one timer of the loop for the earliest of them.

    Nothing rings before its time, nor a minute after it, even if the machine slept
    meanwhile. Each thing has one time: an earlier one replaces it, a later one does
    not.

    `ring` is called with each at its time, those of one time in the order in which they
    were set.
    """

    def __init__(self, clock: Clock, ring: Callable[[T], object]) -> None:
        self._clock = clock
        self._ring = ring
        self._heap: list[tuple[float, int, T, Callable[[T], object]]] = []
        self.times: dict[T, float] = {}
        """What is set now, and when it is woken."""
        self._order = count()
        self._timer: Call | None = None
        self._timer_at = inf

    def __len__(self) -> int:
        return len(self.times)

    def __iter__(self) -> Iterator[tuple[float, T]]:
        """Yield each thing that is set now, and its time."""
        return ((at, thing) for thing, at in tuple(self.times.items()))

    def set(
        self, thing: T, at: float, ring: Callable[[T], object] | None = None
    ) -> None:
        """Wake an object at a time, in seconds since the epoch; `inf` sets nothing.

        It is kept alive until then. `ring`, if given, is called instead of the common
        one.
        """
        if at >= self.times.get(thing, inf) or not isfinite(at):
            return
        self.times[thing] = at
        heappush(self._heap, (at, next(self._order), thing, ring or self._ring))
        if len(self._heap) > 2 * len(self.times) + _FEW:
            self._heap = [one for one in self._heap if self.times.get(one[2]) == one[0]]
            heapify(self._heap)
        self._schedule()

    def take(self, is_meant: Callable[[T], bool] | None = None) -> list[T]:
        """Cancel some, by default all; return them, the earliest first."""
        entries = self._heap
        self._heap = []
        if is_meant is not None:
            self._heap = [one for one in entries if not is_meant(one[2])]
            entries = [one for one in entries if is_meant(one[2])]
            heapify(self._heap)
        entries.sort(key=itemgetter(0, 1))
        taken = [one[2] for one in entries if self.times.get(one[2]) == one[0]]
        for thing in taken:
            self.times.pop(thing, None)
        self._schedule()
        return taken

    def drop(self, thing: T) -> None:
        """Cancel a timer, if it is set."""
        if self.times.pop(thing, None) is not None:
            self._schedule()

    def _schedule(self) -> None:
        first = inf
        while self._heap:
            at, _, thing, _ = self._heap[0]
            if self.times.get(thing) == at:
                first = at
                break
            heappop(self._heap)  # it has rung earlier, or was cancelled
        if self._timer_at in {first, -inf}:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        self._timer_at = first
        if self._heap:
            seconds = min(max(0.0, first - self._clock.now()), _LONGEST_TIMER)
            self._timer = self._clock.call_later(seconds, self._wake)

    def _wake(self) -> None:
        # it is set when all have rung
        self._timer = None
        self._timer_at = -inf
        now = self._clock.now()  # the loop's clock may be a hair ahead
        try:
            while self._heap and self._heap[0][0] <= now:
                at, _, thing, ring = heappop(self._heap)
                # else it has rung earlier, or was cancelled
                if self.times.get(thing) == at:
                    del self.times[thing]
                    ring(thing)
        finally:
            self._timer_at = inf
            self._schedule()


_TICK = 0.25  # seconds
_HELD_UP = 0.05  # seconds by which a tick is late that are noted
_MOST_HELD_UP = 256  # ticks that were late, of which is known how late
_WATCHED = 10.0  # seconds; more than between two heartbeats of the engine


class LoopUptime:
    """Measures for how long the event loop has run, while it is watched.

    While a callback blocks the loop, or the machine sleeps, no answer can be read: a
    site is silent only for as long as the loop ran meanwhile.
    """

    def __init__(self, timers: Timers[Any], now: Callable[[], float]) -> None:
        self._timers = timers
        self._now = now
        self._due = inf  # the next tick; inf: the loop is not watched
        self._ticked_at = -inf  # the last one
        self._watched_until = -inf
        # When a tick was late, and the seconds by which it was, or in which nobody
        # watched.
        self._held_up: deque[tuple[float, float]] = deque(maxlen=_MOST_HELD_UP)

    def since(self, began: float) -> float:
        """Return for how many seconds the loop has run since a time, as far as known.

        Time in which nobody watched is left out.
        """
        ran = min(self._now(), self._ticked_at + _TICK) - began
        for at, seconds in self._held_up:
            if at > began:
                ran -= seconds
        return max(0.0, ran)

    def watch(self) -> None:
        """Watch the loop for the next ten seconds."""
        now = self._now()
        self._watched_until = now + _WATCHED
        if self._due == inf:
            self._held_up.append((now, now - self._ticked_at))
            self._set_tick(now)

    def _set_tick(self, now: float) -> None:
        self._ticked_at = now
        self._due = now + _TICK
        self._timers.set(self, self._due, LoopUptime._tick)

    def _tick(self) -> None:
        now = self._now()
        late = now - self._due
        if late > _HELD_UP:
            self._held_up.append((now, late))
        if now < self._watched_until:
            self._set_tick(now)
        else:
            self._ticked_at = now
            self._due = inf


class CooperativeIterator:
    """Runs one iterator in slices, and yields to the event loop between them."""

    def __init__(self, clock: Clock, at_a_time: int | None = None) -> None:
        self._clock = clock
        self._at_a_time = at_a_time or AT_A_TIME
        self._next: Call | None = None
        self.spent = 0.0
        """Seconds that the work took, without the breaks."""

    def take(self, work: Iterator[object], done: Callable[[], None]) -> None:
        """Exhaust an iterator; a short one at once.

        `done` is called at the end, if not cancelled. The items are ignored: the work
        is done by the iterator between them.
        """
        self.spent = 0.0
        self._take_some(work, done)

    def later(self, seconds: float, begin: Callable[[], None]) -> None:
        """Begin again after so many seconds."""
        self._next = self._clock.call_later(seconds, begin)

    def cancel(self) -> None:
        """Stop the work, and do not begin again."""
        if self._next is not None:
            self._next.cancel()
            self._next = None

    def _take_some(self, work: Iterator[object], done: Callable[[], None]) -> None:
        self._next = None
        began = self._clock.now()
        taken = sum(1 for _ in islice(work, self._at_a_time))
        self.spent += self._clock.now() - began
        if taken < self._at_a_time:
            done()
        else:
            self._next = self._clock.call_later(_BREAK, self._take_some, work, done)


# times the processor time of a slice, which others get before the next slice
REST = 9.0
_SLICE = 0.001  # seconds of processor time, a step more or less
# Parts of the time since a slice that others have used the processor: up to the first
# they have nothing to do, up to the second they do not need all of it.
_IDLE = 0.2
_HALF = 0.5


class LoopShare:
    """Runs long work for all sites in slices: a tenth of a busy event loop.

    After a slice others get `REST` times its processor time. They are waited for only
    where they need it: in an idle loop the slices rest for their length, and in one
    that is not busy for `REST` times their length, by the clock. Processor time alone
    would not do, as others that have little to do take long to use that much; nor would
    the clock alone, as other processes may have the processor meanwhile.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waiting: deque[tuple[Iterator[object], Deferred[bool]]] = deque()
        # the last slice; processor time, and time
        self._took = 0.0
        self._ended = 0.0
        self._ended_at = 0.0

    async def run(self, steps: Iterator[object]) -> None:
        """Exhaust an iterator whose steps take about a millisecond each."""
        while await self.turn(steps):
            pass

    async def turn(self, steps: Iterator[object]) -> bool:
        """Take the next steps of an iterator when it is its turn.

        Returns whether it has more.
        """
        turn: Deferred[bool] = Deferred()
        self._waiting.append((steps, turn))
        if len(self._waiting) == 1:
            self._clock.call_later(0, self._take)
        return await maybe_deferred_to_future(turn)

    def _take(self) -> None:
        rest = self._rest()
        if rest > 0.0:
            self._clock.call_later(rest, self._take)
            return
        self._take_slice()
        if self._waiting:
            self._clock.call_later(self._took, self._take)

    def _rest(self) -> float:
        """Return 0.0 if the rest is over, else the seconds until the next look."""
        needed = REST * self._took
        by_others = thread_time() - self._ended
        elapsed = self._clock.now() - self._ended_at
        if by_others >= needed or by_others <= _IDLE * elapsed:
            return 0.0
        if elapsed < needed:
            return max(_SLICE, needed - elapsed)
        if by_others <= _HALF * elapsed:
            return 0.0
        return max(_SLICE, needed - by_others)

    def _take_slice(self) -> None:
        """Take steps of one iterator after the other until the slice is used up."""
        began = thread_time()
        until = began + _SLICE
        while self._waiting:
            steps, turn = self._waiting[0]
            execute(any, (thread_time() > until for _ in steps)).chainDeferred(turn)
            self._waiting.popleft()
            if thread_time() > until:
                break
        self._ended = thread_time()
        self._ended_at = self._clock.now()
        self._took = self._ended - began
