"""Who fetches a file, of all crawls that share a store: one of them at a time.

The others wait until it has come, or go by the last good copy. Whoever fetches it has a lease, so
that a crawl that dies meanwhile keeps the others waiting for that long and no longer.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_mandelbot.politeness.outcome import is_fresh
from scrapy_mandelbot.store.contract import Lease

if TYPE_CHECKING:
    from scrapy_mandelbot.clock import Clock
    from scrapy_mandelbot.store.contract import CachedRobots, LiveStore

_FIRST_LOOK = 0.05  # seconds after which it is looked whether the file has come
_LAST_LOOK = 0.5  # seconds
IN_VAIN_FOR = 0.25
"""Seconds for which nobody asks again for a file that could not be had.

The others hear within them why that is: that the site is paused.
"""


class Whose(Enum):
    """Who fetches a file."""

    OURS = "ours"
    """This crawl does, and ends the fetch by :meth:`SharedFetches.end`."""
    NOBODYS = "nobody's"
    """It need not be fetched: another crawl has, lately or just now."""
    ANOTHERS = "another's"
    """Another crawl does, or did so in vain."""


class SharedResult(NamedTuple):
    """What was found of a file, and who fetches it."""

    whose: Whose
    copy: CachedRobots | None
    """However old, where another crawl fetches it."""
    left: float = 0.0
    """Seconds for which another crawl may fetch it yet."""


class SharedFetches:
    """Asks a store that lends leases who fetches a file, which takes `timeout` seconds at most.

    Redirects may take longer. A crawl that is ending waits for nobody any more.
    """

    def __init__(
        self, store: LiveStore, clock: Clock, timeout: float, is_closing: Callable[[], bool]
    ) -> None:
        self._store = store
        self._clock = clock
        self._is_closing = is_closing
        self._lease_for = 10.0 + 2 * timeout

    async def begin(
        self, key: str, fresh_for: float, may_serve: Callable[[CachedRobots], bool]
    ) -> SharedResult:
        """Return who fetches a file, having waited for it where another crawl does.

        A copy need not be fetched again for `fresh_for` seconds. `may_serve` returns whether an old
        one serves while another crawl fetches a new one.
        """
        copy, left = await self._find(key, fresh_for, self._lease_for)
        look_after = _FIRST_LOOK
        while True:
            if copy is not None and is_fresh(self._clock.now(), copy.fetched_at, fresh_for):
                return SharedResult(Whose.NOBODYS, copy)
            if look_after == _FIRST_LOOK and not left:
                return SharedResult(Whose.OURS, copy)
            if not left or self._is_closing() or (copy is not None and may_serve(copy)):
                return SharedResult(Whose.ANOTHERS, copy, left)
            await self._sleep(min(look_after, left))
            look_after = min(2 * look_after, _LAST_LOOK)
            copy, left = await self._find(key, fresh_for, 0.0)

    def end(self, key: str, keep_for: float = 0.0) -> None:
        """Let others fetch a file, at once or after some seconds."""
        self._store.release(Lease.FETCH, key, keep_for)

    async def _find(
        self, key: str, fresh_for: float, lease_for: float
    ) -> tuple[CachedRobots | None, float]:
        found: Deferred[tuple[CachedRobots | None, float]] = Deferred()
        since = self._clock.now() - fresh_for

        def then(copy: CachedRobots | None, left: float) -> None:
            found.callback((copy, left))

        self._store.find_copy(key, since, lease_for, then)
        return await maybe_deferred_to_future(found)

    async def _sleep(self, seconds: float) -> None:
        over: Deferred[None] = Deferred()
        self._clock.call_later(seconds, over.callback, None)
        await maybe_deferred_to_future(over)
