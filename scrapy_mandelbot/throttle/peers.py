"""What crawls of the same sites exchange: pauses, and turns at a crawl delay.

Crawls of one process exchange them at once, whatever their stores. Those of several
processes share a file: each looks for new pauses four times a second, and takes a turn
by storing when the next one is. What was received is not published again.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from scrapy_mandelbot import events
from scrapy_mandelbot.politeness.pause_policy import Refusal
from scrapy_mandelbot.store.memory import Recent

if TYPE_CHECKING:
    from scrapy_mandelbot.clock import Timers
    from scrapy_mandelbot.politeness.pause_policy import LeftPause
    from scrapy_mandelbot.politeness.site_state import Site
    from scrapy_mandelbot.store import Store
    from scrapy_mandelbot.throttle.in_flight import InFlight
    from scrapy_mandelbot.throttle.site_map import Sites

_MOST_KNOWN = 50_000  # sites, as many as may be in trouble
GIVES_WAY = 1.0
"""Seconds for which a crawl lets another one send the first request."""
_LOOK_AFTER = 0.25  # seconds, for what other processes have written
_CLAIM_AFTER = 0.02  # seconds, at least, until a turn is claimed again
_PROBES_FOR = 5.0  # seconds for which others wait for a probe if this crawl dies
_HELD_FOR = 15.0  # seconds for which others wait for the answer of a turn, at most
_CLOCKS_DIFFER = 1.0  # seconds, at most, where they are right


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
        emit: Callable[..., None],
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
        self._known: Recent[LeftPause] = Recent(_MOST_KNOWN)
        """Pauses that are not over: the crawl's own, and those of peers."""
        self._of_peers: Recent[LeftPause] = Recent(_MOST_KNOWN)
        """Of those, the ones that a peer published and has not ended."""
        self._turns: Recent[float] = Recent(_MOST_KNOWN)
        """When the next turns are, as far as that was read or written."""
        self._probed: set[Site] = set()
        """Sites that this crawl probes while other processes wait for the answer."""
        self._random = random.Random()  # noqa: S311 -- parts crawls in time, guards nothing

    def begin(self) -> None:
        """Restore what the previous run left, and subscribe to what peers publish."""
        now = self._now()
        for name, kept in self.store.get_pauses().items():
            if kept.until <= now:
                self.put_pause(name, None)
                continue
            self._known.put(name, kept, 1)
            self.take_over(
                name, kept, source="stored by a previous run or another crawl"
            )
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
        if self.store.is_shared:
            self._timers.set(self, now + _LOOK_AFTER, self._look)

    def close(self) -> None:
        """Receive nothing more."""
        _IN_THIS_PROCESS.discard(self)

    def take_over(
        self, name: str, left: LeftPause, *, source: str, is_newest: bool = False
    ) -> None:
        """Restore the pause of a site that the previous run or another worker left.

        A pause that has ended meanwhile still ends with a probe; a known one stays as
        it is, but lasts at least as long as the other where `is_newest`. `source` names
        in the log who left it.
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
            self._emit(events.RESTORED, site, source=source)

    def put_pause(self, key: str, pause: LeftPause | None) -> None:
        """Store and publish a pause of this crawl, or its end."""
        self._of_peers.discard(key)
        if pause is None:
            self._known.discard(key)
        else:
            self._known.put(key, pause, 1)
        self.store.put_pause(key, pause)
        for other in self._others():
            other.hear_pause(key, pause)

    def put_turn(self, name: str, due: float, *, is_held: bool = False) -> float:
        """Store and publish when the next turn of a site is.

        Returns:
            When the crawl may take it itself: somewhat later, where another one waits
            for it.
        """
        self._turns.put(name, due, 1)
        is_wanted = not is_held and self.store.put_turn(name, due)
        is_awaited = False
        for other in self._others():
            if other.hear_turn(name, due):
                is_awaited = True
        if is_awaited:
            return due + GIVES_WAY / 10  # they know at once
        if not is_wanted:
            return due
        # Not the first to ask for the turn after the next one, either.
        return due + 2 * _gives_way(due - self._now())

    def hear_pause(self, name: str, pause: LeftPause | None) -> None:
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
        was_open = site.pause.is_passable
        refusal = Refusal(now, pause.reason, pause.until - now + GIVES_WAY)
        is_longer = site.pause_as_peer(refusal)
        self._sites.note_trouble(site)
        if is_longer and not was_open:
            self._timers.set(site, site.pause.until)
        elif is_longer:
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

    # A store that crawls of other processes use, too.

    def _look(self, _: Peers) -> None:
        """Apply the pauses that they have written."""
        for key, pause in self.store.changed_pauses().items():
            if pause is None or pause != self._known.get(key):
                self.hear_pause(key, pause)
        for site in list(self._probed):
            if site.pause.probe is None:
                self._probed.discard(site)
            else:
                self._hold_for_probe(site)
        self._timers.set(self, self._now() + _LOOK_AFTER, self._look)

    def claim_turn(self, site: Site) -> float:
        """Take the turn of a site; return until when another crawl has it, or 0."""
        now = self._now()
        delay = site.pacer.due_after(now) - now
        held_for = max(delay, _HELD_FOR)
        taken = self.store.claim_turn(
            site.name,
            held_for=held_for,
            longest_wait=held_for + _CLOCKS_DIFFER,
            gives_way=_gives_way(delay),
        )
        # It may end sooner; asked within the delay, this crawl knows when it does.
        again_after = max(min(_LOOK_AFTER, delay), delay / 4, _CLAIM_AFTER)
        return min(taken, now + again_after * self._random.uniform(0.7, 0.9))

    def note_probe(self, site: Site) -> None:
        """Let the others wait for what comes of the probe that this crawl sends.

        Those of other processes wait until its answer, however long it takes.
        """
        if self.store.is_shared:
            self._probed.add(site)
        self._hold_for_probe(site)

    def _hold_for_probe(self, site: Site) -> None:
        pause = self._known.get(site.name)
        until = self._now() + _PROBES_FOR
        if pause is not None and pause.until < until - _PROBES_FOR / 2:
            self.put_pause(site.name, pause._replace(until=until))

    def _others(self) -> Iterator[Peers]:
        for other in list(_IN_THIS_PROCESS):
            if other is not self:
                yield other


def _gives_way(delay: float) -> float:
    """Return the seconds of a turn in which only who was the first to ask may go."""
    return min(GIVES_WAY / 4, max(0.0, delay / 4))
