"""Leases: what one crawl at a time may do, of all that share a store.

One crawl probes a paused site, and one crawl at a time sends requests to a site with a
crawl delay. It requests a lease from the store first, and the site waits meanwhile, as
it does for a pause. A lease in use is renewed; it expires where its crawl has died.
Without its store a crawl decides alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.store.contract import Lease, LiveStore

if TYPE_CHECKING:
    from scrapy_mandelbot.clock import Timers
    from scrapy_mandelbot.politeness.site_state import Site
    from scrapy_mandelbot.store.contract import Store

LEASE_FOR = 15.0
"""Seconds after which another crawl may do what one that died was about to do."""
_RENEWED_AFTER = 5.0  # seconds
# seconds; who has a lease gives it back long before it ends
_REQUESTED_AGAIN_AFTER = 1.0
_LOOKED_AT_EACH = 1.0  # seconds, while there is any lease
_CLOCKS_DIFFER = 1.0  # seconds, at most, where they are right
_UNUSED_FOR = 2.0  # seconds that a lease is had without being used


@dataclass(slots=True)
class _RequestedLease:
    """A lease that was requested."""

    site: Site
    lease: Lease
    not_before: float = inf
    """When it may be requested again; ``inf``: the store has not answered yet."""
    renewed_at: float = 0.0
    """When it was requested last."""
    ends_at: float = 0.0
    """Until when this crawl has it at least."""
    used_at: float = 0.0
    """When it was last seen to be of use."""
    was_used: bool = False

    @property
    def is_in_use(self) -> bool:
        """Whether the request that it is for is in flight."""
        if self.lease is Lease.TURN:
            return self.site.pacer.has_unused
        return self.site.pause.probe is not None


class Leases:
    """The leases of one crawl.

    Without a store that lends them, everything may go at once. `look_again` is called
    with a site when its lease was granted or refused.
    """

    def __init__(
        self,
        store: Store,
        timers: Timers[Any],
        now: Callable[[], float],
        look_again: Callable[[Site], None],
    ) -> None:
        self._store: Any = store
        self.are_lent = isinstance(store, LiveStore)
        """Whether the store lends any."""
        self._timers = timers
        self._now = now
        self._look_again = look_again
        self._leases: dict[tuple[Lease, str], _RequestedLease] = {}
        self._requesting: _RequestedLease | None = None
        """The lease that is being requested just now: a store may answer at once."""

    def __len__(self) -> int:
        return len(self._leases)

    def due(self, site: Site, now: float) -> float:
        """Return when the next request may go to a site, as far as that takes a lease.

        Now, if it takes none, or this crawl has it. ``inf``: the store has not answered
        yet; `look_again` is called when it does.
        """
        if not self.are_lent:
            return now
        if site.pause.awaits_probe:
            return self._due(site, Lease.PROBE, now)
        if site.pacer.is_needed(now):
            return self._due(site, Lease.TURN, now)
        return now

    def note_use(self, site: Site) -> None:
        """Note which leases of a site are in use; release those that no longer are."""
        for lease in Lease.PROBE, Lease.TURN:
            claim = self._leases.get((lease, site.name))
            if claim is None or not claim.ends_at:
                continue
            if claim.is_in_use:
                claim.was_used = True
            elif claim.was_used:
                self._release(claim)

    def close(self) -> None:
        """Release every lease."""
        for claim in list(self._leases.values()):
            self._release(claim)
        self._timers.drop(self)

    def _due(self, site: Site, lease: Lease, now: float) -> float:
        claim = self._leases.get((lease, site.name))
        if claim is None or max(claim.ends_at, claim.not_before) <= now:
            claim = _RequestedLease(site, lease)
            self._leases[lease, site.name] = claim
            self._requesting = claim
            self._request(claim)
            self._requesting = None
            self._timers.set(self, claim.renewed_at + _LOOKED_AT_EACH, self._look)
        if claim.ends_at > now:
            return now
        return claim.not_before

    def _request(self, claim: _RequestedLease) -> None:
        """Request a lease, or renew it."""
        now = self._now()
        claim.renewed_at = now
        longest_wait = inf
        # one that is due later belongs to another delay or clock
        if claim.lease is Lease.TURN:
            longest_wait = claim.site.pacer.due_after(now) - now + _CLOCKS_DIFFER
        self._store.claim(
            claim.lease,
            claim.site.name,
            LEASE_FOR,
            partial(self._answered, claim, now),
            longest_wait,
        )

    def _answered(
        self, claim: _RequestedLease, requested_at: float, seconds: float
    ) -> None:
        current = self._leases.get((claim.lease, claim.site.name))
        if current is not claim:
            if current is None and not seconds:  # granted too late
                self._store.release(claim.lease, claim.site.name)
            return
        is_renewed = bool(claim.ends_at)
        now = self._now()
        if not seconds:
            claim.ends_at = requested_at + LEASE_FOR
            claim.not_before = 0.0
            claim.used_at = now
        elif not is_renewed:
            claim.not_before = now + min(seconds, _REQUESTED_AGAIN_AFTER)
        if not is_renewed and claim is not self._requesting:
            self._look_again(claim.site)

    def _release(self, claim: _RequestedLease) -> None:
        del self._leases[claim.lease, claim.site.name]
        if claim.ends_at:
            self._store.release(claim.lease, claim.site.name)

    def _look(self, _: Leases) -> None:
        """Renew the leases in use, and release the others."""
        now = self._now()
        for claim in list(self._leases.values()):
            if claim.not_before == inf:
                continue
            if not claim.ends_at:
                if claim.not_before <= now:
                    del self._leases[claim.lease, claim.site.name]
                continue
            if claim.is_in_use:
                claim.was_used = True
                claim.used_at = now
                if now - claim.renewed_at >= _RENEWED_AFTER:
                    self._request(claim)
            elif claim.was_used or now - claim.used_at >= _UNUSED_FOR:
                self._release(claim)
        if self._leases:
            self._timers.set(self, now + _LOOKED_AT_EACH, self._look)
