"""What crawls tell each other of the sites that they both ask: pauses, and turns at a pace.

Those of one process tell each other at once, whatever their stores; those that share a store are
told by it what the others have written. Nothing that was heard is told again.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import TYPE_CHECKING
from weakref import WeakSet

from scrapy_mandelbot import events
from scrapy_mandelbot.politeness.pause_law import LeftPause, Refusal
from scrapy_mandelbot.store.contract import LiveStore
from scrapy_mandelbot.store.memory import Recent

if TYPE_CHECKING:
    from scrapy_mandelbot.clock import Clock
    from scrapy_mandelbot.store.contract import Store, StoredPause
    from scrapy_mandelbot.throttle.throttle import Throttle

_MOST_KNOWN = 50_000  # sites, as many as may be in trouble
GIVES_WAY = 1.0
"""Seconds for which a crawl leaves it to another one to be the first to ask again."""
_ONE_MOMENT = 1.0  # seconds; pauses that end within it are one, by two clocks
_CONTENDED_FOR = 600.0  # seconds since another crawl of the store had a turn


_IN_THIS_PROCESS: WeakSet[Neighbours] = WeakSet()


class Neighbours:
    """Writes down what the crawl knows of sites, and hears what others do."""

    _hearer: OtherCrawls
    """Who hears of others, once the crawl has begun."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self.store = store
        self._clock = clock
        self._known: Recent[StoredPause] = Recent(_MOST_KNOWN)
        """Pauses that are not over: the crawl's own, and those that it has heard of."""
        self._heard: Recent[StoredPause] = Recent(_MOST_KNOWN)
        """Of those, the ones that another crawl has told of and not ended."""
        self._turns: Recent[float] = Recent(_MOST_KNOWN)
        """When the next turns are, as far as that was read or written."""
        self._contended: Recent[float] = Recent(_MOST_KNOWN)
        """Sites that another crawl of the store asks, and until when that is supposed."""
        self._told_waiting: Recent[float] = Recent(_MOST_KNOWN)
        """Sites of which it has told that requests wait for turns, and until when that holds."""
        self._random = random.Random()  # noqa: S311 -- parts crawls in time, guards nothing

    def begin(self, hearer: OtherCrawls) -> None:
        """Have a crawl hear of others from now on, and of what those of this process know."""
        self._hearer = hearer
        _IN_THIS_PROCESS.add(self)
        for other in self._others():
            for key, pause in list(other._known.items()):  # noqa: SLF001 -- one of its kind
                self.hear_pause(key, pause)
            for name, due in list(other._turns.items()):  # noqa: SLF001
                self.hear_turn(name, due)
        if isinstance(self.store, LiveStore):
            self.store.listen(self)

    def close(self) -> None:
        """Hear of no one any more."""
        _IN_THIS_PROCESS.discard(self)

    def know_pause(self, key: str, pause: StoredPause) -> None:
        """Note a pause that the store has from a former run."""
        self._known.put(key, pause, 1)

    def put_pause(self, key: str, pause: StoredPause | None) -> None:
        """Write down a pause of the crawl's own, or that it is over, and tell the others."""
        self._heard.discard(key)
        if pause is None:
            self._known.discard(key)
        else:
            self._known.put(key, pause, 1)
        self.store.put_pause(key, pause)
        for other in self._others():
            other.hear_pause(key, pause)

    def put_turn(self, name: str, due: float) -> float:
        """Write down when the next turn of a site is, and tell the others.

        Returns:
            When the crawl may take it itself: somewhat later, where another one waits for it.
        """
        now = self._clock.now()
        self._turns.put(name, due, 1)
        self.store.put_turn(name, due)
        waits = [other.hear_turn(name, due) for other in self._others()]
        if any(waits):
            return due + GIVES_WAY / 10  # they hear of it at once
        if (self._contended.get(name) or 0.0) <= now:
            return due
        # By leases no two ask at one time.
        return due + _share(due - now) + self._spread(due - now)

    def _spread(self, seconds: float) -> float:
        """Return seconds by which crawls ask one after the other, so that each gets its turn."""
        return self._random.uniform(0.0, _share(seconds))

    def hear_pause(self, key: str, pause: StoredPause | None) -> None:
        """Hear of a pause of another crawl, or that it is over."""
        if pause is None:
            self._known.discard(key)
            heard = self._heard.get(key)
            self._heard.discard(key)
            if heard is not None:
                self._hearer.hear_end(key, heard)
        elif pause.until > self._clock.now():
            self._known.put(key, pause, 1)
            self._heard.put(key, pause, 1)
            self._hearer.hear_pause(key, pause)

    def hear_turn(self, name: str, due: float) -> bool:
        """Hear of the next turn of a site; return whether a request waits for it."""
        self._turns.put(name, max(due, self._turns.get(name) or 0.0), 1)
        return self._hearer.hear_turn(name, due)

    # Told by a store that tells what other processes write.

    def pause_stored(self, key: str, pause: StoredPause | None) -> None:
        """Hear of a pause of a crawl of another process, or that it is over."""
        if pause is None or pause != self._known.get(key):
            self.hear_pause(key, pause)

    def turn_stored(self, name: str, due: float) -> None:
        """Hear when a site may next be asked, as a crawl of another process has asked it."""
        if not isfinite(due) or due <= (self._turns.get(name) or 0.0):
            return
        now = self._clock.now()
        is_contended = (self._contended.get(name) or 0.0) > now
        if not self.hear_turn(name, due + self._spread(due - now) if is_contended else due):
            return
        if (self._told_waiting.get(name) or 0.0) <= now and isinstance(self.store, LiveStore):
            self._told_waiting.put(name, now + _CONTENDED_FOR / 2, 1)
            self._contended.put(name, now + _CONTENDED_FOR, 1)
            self.store.announce_waiting(name)

    def waiting_stored(self, name: str) -> None:
        """Hear that requests of another process wait for turns of a site too."""
        self._contended.put(name, self._clock.now() + _CONTENDED_FOR, 1)

    def all_stored(self, pauses: Mapping[str, StoredPause], turns: Mapping[str, float]) -> None:
        """Hear of all that there is in the store, and have it know what it has lost.

        A pause that is not there is not over: the server may have begun anew. Nor is one that is
        shorter there: it may be a replica that was behind.
        """
        now = self._clock.now()
        lost = set()
        for key, pause in list(self._known.items()):
            if pause.until > now and self._heard.get(key) is None:
                stored = pauses.get(key)
                if stored is None or stored.until < pause.until - _ONE_MOMENT:
                    lost.add(key)
                    self.store.put_pause(key, pause)
        for key, pause in pauses.items():
            if key not in lost:
                self.pause_stored(key, pause)
        for name, due in turns.items():
            self.turn_stored(name, due)

    def _others(self) -> Iterator[Neighbours]:
        for other in list(_IN_THIS_PROCESS):
            if other is not self:
                yield other


def _share(seconds: float) -> float:
    """Return as little of a wait as lets another crawl ask first that hears of it at once."""
    return min(GIVES_WAY / 10, max(0.0, seconds / 10))


class OtherCrawls:
    """Has sites left alone as former runs, other workers and other crawls do, or did."""

    def __init__(self, throttle: Throttle, neighbours: Neighbours, clock: Clock) -> None:
        self._throttle = throttle
        self._neighbours = neighbours
        self._now = clock.now

    def begin(self) -> None:
        """Go on with what a former run has left, and hear of others from now on."""
        now, throttle = self._now(), self._throttle
        for name, kept in self._neighbours.store.get_pauses().items():
            if kept.until <= now:
                self._neighbours.put_pause(name, None)
                continue
            self._neighbours.know_pause(name, kept)
            self.take_over(name, LeftPause(kept.until, kept.reason, kept.failed_probes))
        for name, due in self._neighbours.store.get_turns(now).items():
            site = throttle.sites.of(name)
            site.turns.resumes_at = due
            throttle.alarm.set(site, due)  # and keep the site until then
        self._neighbours.begin(self)

    def take_over(self, name: str, left: LeftPause, *, is_newest: bool = False) -> None:
        """Go on with a pause that a former run, or another worker, has left of a site.

        One that is over by now ends with a probe all the same; one that is known goes on as it is,
        and where the other is the newest of the site for as long as that one says, too.
        """
        throttle, now = self._throttle, self._now()
        site = throttle.sites.of(name)
        is_news = left.until > now and not left.section and site.pause.is_open
        site.go_on(now, left)
        if is_newest and left.until > now and not left.section:
            site.overhear(Refusal(now, left.reason, left.until - now))
        throttle.sites.note_trouble(site)
        if is_news:
            throttle.alarm.set(site, site.pause.until)
            throttle.reports.tell(events.RESTORED, site)

    def hear_pause(self, name: str, pause: StoredPause) -> None:
        """Leave a site alone, as another crawl does; that one is the first to ask it again."""
        throttle, now = self._throttle, self._now()
        site = throttle.sites.of(name)
        refusal = Refusal(now, pause.reason, max(0.0, pause.until - now) + GIVES_WAY)
        is_news = site.overhear(refusal)
        throttle.sites.note_trouble(site)
        if is_news:
            throttle.in_flight.evict(site)
            throttle.reports.tell(events.OVERHEARD, site)
            throttle.alarm.set(site, site.pause.until)

    def hear_end(self, name: str, pause: StoredPause) -> None:
        """Ask a site again that was left alone for another crawl, which has found it well."""
        site = self._throttle.sites.get(name)
        if site is None or site.pause.until > pause.until + 2 * GIVES_WAY:
            return
        site.pause.be_due(self._now())
        self._throttle.update(site)

    def hear_turn(self, name: str, due: float) -> bool:
        """Leave a site alone until its next turn, and return whether a request waits for that."""
        throttle = self._throttle
        if not throttle.is_paced:
            return False
        site = throttle.sites.of(name)
        site.turns.hold(due)
        throttle.alarm.set(site, due)
        return throttle.queues.waiting(site) > 0
