"""What crawls of the same sites exchange: pauses, and turns at a crawl delay.

Crawls of one process exchange them at once, whatever their stores; a shared store
passes on what crawls of other processes write. What was received is not published
again.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from scrapy_mandelbot import events
from scrapy_mandelbot.politeness.pause_policy import LeftPause, Refusal
from scrapy_mandelbot.store.contract import LiveStore
from scrapy_mandelbot.store.memory import Recent

if TYPE_CHECKING:
    from scrapy_mandelbot.clock import Timers
    from scrapy_mandelbot.politeness.site_state import Site
    from scrapy_mandelbot.store.contract import Store, StoredPause
    from scrapy_mandelbot.throttle.in_flight import InFlight
    from scrapy_mandelbot.throttle.site_map import Sites

_MOST_KNOWN = 50_000  # sites, as many as may be in trouble
GIVES_WAY = 1.0
"""Seconds for which a crawl lets another one send the first request."""
_ONE_MOMENT = 1.0  # seconds; pauses that end within it are one, by two clocks
_CONTENDED_FOR = 600.0  # seconds since another crawl of the store had a turn


_IN_THIS_PROCESS: WeakSet[Peers] = WeakSet()


class Peers:
    """Stores and publishes this crawl's pauses and turns, and applies its peers'."""

    def __init__(  # noqa: PLR0913 -- what it applies news to, and by what
        self,
        store: Store,
        *,
        sites: Sites,
        in_flight: InFlight,
        timers: Timers[Any],
        now: Callable[[], float],
        update: Callable[[Site], None],
        emit: Callable[[events.Event, Site], None],
        is_paced: bool,
    ) -> None:
        self.store = store
        self._sites = sites
        self._in_flight = in_flight
        self._timers = timers
        self._now = now
        self._update = update
        self._emit = emit
        self._is_paced = is_paced
        self._known: Recent[StoredPause] = Recent(_MOST_KNOWN)
        """Pauses that are not over: the crawl's own, and those of peers."""
        self._of_peers: Recent[StoredPause] = Recent(_MOST_KNOWN)
        """Of those, the ones that a peer published and has not ended."""
        self._turns: Recent[float] = Recent(_MOST_KNOWN)
        """When the next turns are, as far as that was read or written."""
        self._contended: Recent[float] = Recent(_MOST_KNOWN)
        """Sites that a peer on the same store crawls, and until when that is assumed.
        """
        self._announced: Recent[float] = Recent(_MOST_KNOWN)
        """Sites for which it announced waiting requests, and until when that holds."""
        self._random = random.Random()  # noqa: S311 -- parts crawls in time, guards nothing

    def begin(self) -> None:
        """Restore what the previous run left, and subscribe to what peers publish."""
        now = self._now()
        for name, kept in self.store.get_pauses().items():
            if kept.until <= now:
                self.put_pause(name, None)
                continue
            self._known.put(name, kept, 1)
            self.take_over(name, LeftPause(kept.until, kept.reason, kept.failed_probes))
        for name, due in self.store.get_turns(now).items():
            site = self._sites.of(name)
            site.pacer.resumes_at = due
            self._timers.set(site, due)  # and keep the site until then
        _IN_THIS_PROCESS.add(self)
        for other in self._others():
            for key, pause in list(other._known.items()):  # noqa: SLF001 -- one of its kind
                self.hear_pause(key, pause)
            for name, due in list(other._turns.items()):  # noqa: SLF001
                self.hear_turn(name, due)
        if isinstance(self.store, LiveStore):
            self.store.listen(self)

    def close(self) -> None:
        """Receive nothing more."""
        _IN_THIS_PROCESS.discard(self)

    def take_over(self, name: str, left: LeftPause, *, is_newest: bool = False) -> None:
        """Restore the pause of a site that the previous run or another worker left.

        A pause that has ended meanwhile still ends with a probe; a known one stays as
        it is, but lasts at least as long as the other where `is_newest`.
        """
        now = self._now()
        site = self._sites.of(name)
        is_news = left.until > now and not left.section and site.pause.is_open
        site.restore(now, left)
        if is_newest and left.until > now and not left.section:
            site.pause_as_peer(Refusal(now, left.reason, left.until - now))
        self._sites.note_trouble(site)
        if is_news:
            self._timers.set(site, site.pause.until)
            self._emit(events.RESTORED, site)

    def put_pause(self, key: str, pause: StoredPause | None) -> None:
        """Store and publish a pause of this crawl, or its end."""
        self._of_peers.discard(key)
        if pause is None:
            self._known.discard(key)
        else:
            self._known.put(key, pause, 1)
        self.store.put_pause(key, pause)
        for other in self._others():
            other.hear_pause(key, pause)

    def put_turn(self, name: str, due: float) -> float:
        """Store and publish when the next turn of a site is.

        Returns:
            When the crawl may take it itself: somewhat later, where another one waits
            for it.
        """
        now = self._now()
        self._turns.put(name, due, 1)
        self.store.put_turn(name, due)
        waits = [other.hear_turn(name, due) for other in self._others()]
        if any(waits):
            return due + GIVES_WAY / 10  # they know at once
        if (self._contended.get(name) or 0.0) <= now:
            return due
        # With leases no two send at one time.
        return due + _share(due - now) + self._spread(due - now)

    def _spread(self, seconds: float) -> float:
        """Spread crawls over time, so that each gets its turn."""
        return self._random.uniform(0.0, _share(seconds))

    def hear_pause(self, name: str, pause: StoredPause | None) -> None:
        """Pause a site as a peer did, which sends the first request afterwards.

        None: resume it.
        """
        now = self._now()
        if pause is None:
            self._known.discard(name)
            known = self._of_peers.get(name)
            self._of_peers.discard(name)
            site = self._sites.get(name)
            if site is None or not known:
                return
            if site.pause.until <= known.until + 2 * GIVES_WAY:
                site.pause.be_due(now)  # the peer has found it well
                self._update(site)
            return
        if pause.until <= now:
            return
        self._known.put(name, pause, 1)
        self._of_peers.put(name, pause, 1)
        site = self._sites.of(name)
        is_news = site.pause_as_peer(
            Refusal(now, pause.reason, pause.until - now + GIVES_WAY)
        )
        self._sites.note_trouble(site)
        if is_news:
            self._in_flight.evict(site)
            self._emit(events.PAUSED_BY_PEER, site)
            self._timers.set(site, site.pause.until)

    def hear_turn(self, name: str, due: float) -> bool:
        """Wait for the next turn of a site; return whether a request waits for it."""
        self._turns.put(name, max(due, self._turns.get(name) or 0.0), 1)
        if not self._is_paced:
            return False
        site = self._sites.of(name)
        site.pacer.postpone(due)
        self._timers.set(site, due)
        return self._in_flight.waiting(site) > 0

    # Called by a store, with what other processes write.

    def pause_stored(self, key: str, pause: StoredPause | None) -> None:
        """Receive a pause of a crawl in another process, or its end."""
        if pause is None or pause != self._known.get(key):
            self.hear_pause(key, pause)

    def turn_stored(self, name: str, due: float) -> None:
        """Receive the next turn of a site: a crawl in another process has taken one."""
        if not isfinite(due) or due <= (self._turns.get(name) or 0.0):
            return
        now = self._now()
        if (self._contended.get(name) or 0.0) > now:
            due += self._spread(due - now)
        if not self.hear_turn(name, due):
            return
        if (self._announced.get(name) or 0.0) > now:
            return
        if isinstance(self.store, LiveStore):
            self._announced.put(name, now + _CONTENDED_FOR / 2, 1)
            self._contended.put(name, now + _CONTENDED_FOR, 1)
            self.store.announce_waiting(name)

    def waiting_stored(self, name: str) -> None:
        """Note that requests of another process wait for turns of a site, too."""
        self._contended.put(name, self._now() + _CONTENDED_FOR, 1)

    def all_stored(
        self, pauses: Mapping[str, StoredPause], turns: Mapping[str, float]
    ) -> None:
        """Receive all that the store holds, and restore what it has lost.

        A pause that is not there is not over: the server may have begun anew. Nor is
        one that is shorter there: it may be a replica that was behind.
        """
        now = self._now()
        lost = set()
        for key, pause in list(self._known.items()):
            if pause.until > now and self._of_peers.get(key) is None:
                stored = pauses.get(key)
                if stored is None or stored.until < pause.until - _ONE_MOMENT:
                    lost.add(key)
                    self.store.put_pause(key, pause)
        for key, pause in pauses.items():
            if key not in lost:
                self.pause_stored(key, pause)
        for name, due in turns.items():
            self.turn_stored(name, due)

    def _others(self) -> Iterator[Peers]:
        for other in list(_IN_THIS_PROCESS):
            if other is not self:
                yield other


def _share(seconds: float) -> float:
    """Let a peer of this process go first."""
    return min(GIVES_WAY / 10, max(0.0, seconds / 10))
