"""Lets one crawl at a time fetch a file, of all crawls that share a store.

The others wait for the file, or use the last good copy. The crawl that fetches holds a lease: if it
dies, the others wait no longer than that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_mandelbot.politeness.outcome import is_fresh
from scrapy_mandelbot.store.contract import Lease

if TYPE_CHECKING:
    from scrapy_mandelbot.clock import Clock
    from scrapy_mandelbot.store.contract import CachedRobots, LiveStore

_FIRST_LOOK = 0.05  # seconds until the first look whether the file is stored
_LAST_LOOK = 0.5  # seconds
_IN_VAIN_FOR = 0.25
"""Seconds for which no other crawl requests a file that was unavailable.

Within them, the other crawls receive the reason: the pause of the site.
"""


class SharedResult(NamedTuple):
    """The stored copy of a file, and which crawl fetches the file."""

    copy: CachedRobots | None
    """It may be stale while another crawl fetches the file."""
    is_ours: bool = False
    """Whether this crawl fetches the file, and then calls :meth:`SharedFetches.end`."""
    left: float = 0.0
    """Seconds until the lease of another crawl expires."""


class SharedFetches:
    """Acquires leases for fetches from a shared store.

    `timeout` is that of one request, in seconds; a lease leaves time for redirects. A crawl that is
    closing does not wait.
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
        """Return the copy of a file, or the lease to fetch it; wait while another crawl fetches.

        A copy is fresh for `fresh_for` seconds. `may_serve` returns whether a stale copy may be
        used while another crawl fetches the file.
        """
        copy, left = await self._find(key, fresh_for, self._lease_for)
        look_after = _FIRST_LOOK
        while True:
            if copy is not None and is_fresh(self._clock.now(), copy.fetched_at, fresh_for):
                return SharedResult(copy)
            if look_after == _FIRST_LOOK and not left:
                return SharedResult(copy, is_ours=True)
            if not left or self._is_closing() or (copy is not None and may_serve(copy)):
                return SharedResult(copy, left=left)
            await self._sleep(min(look_after, left))
            look_after = min(2 * look_after, _LAST_LOOK)
            copy, left = await self._find(key, fresh_for, 0.0)

    def end(self, key: str, keep_for: float = _IN_VAIN_FOR) -> None:
        """Release the lease: other crawls may fetch the file after `keep_for` seconds."""
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
