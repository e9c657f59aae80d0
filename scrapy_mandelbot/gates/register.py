"""The gates of a crawl that are not simply open, and when each lets somebody through.

A gate's name is its site; with MANDELBOT_PAUSE_PER_PROXY, its site and a proxy. A gate of which
nothing is known has no entry, and is open: of a million sites only those in trouble cost anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING
from weakref import WeakSet

from scrapy_mandelbot import engine
from scrapy_mandelbot.gates.proxies import site_of_gate
from scrapy_mandelbot.politeness import Gate, GateState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_mandelbot.politeness import PauseLaw
    from scrapy_mandelbot.stores import Store


@dataclass
class Entry:
    """A gate, and who is on the way through it."""

    gate: Gate
    scout: Request | None = None
    """The one request on its way while nobody knows the site's rules."""
    probe: Request | None = None
    """The one request that asks a paused site whether it is well."""
    may_pass: WeakSet[Request] = field(default_factory=WeakSet)
    """Requests that have had their turn, and were not handed out by this gate."""
    last_refusal: Response | None = None
    last_refused: bytes | None = None
    """The request that was refused last, by fingerprint."""

    @property
    def is_plain(self) -> bool:
        """Whether nothing would be lost by forgetting the gate."""
        is_open = self.gate.state is GateState.OPEN and not self.gate.is_held
        return is_open and self.scout is None

    @property
    def has_given_up(self) -> bool:
        """Whether nobody is let through in this run."""
        return self.gate.state is GateState.GIVEN_UP

    def is_passable(self, now: float) -> bool:
        """Return whether the gate lets requests through, be it at a pace."""
        is_open = self.gate.state in {GateState.OPEN, GateState.RECOVERING}
        return is_open and self.gate.held_until <= now


class Register:
    """The gates by name."""

    def __init__(self, crawler: Crawler, law: PauseLaw, now: Callable[[], float]) -> None:
        self._crawler = crawler
        self._law = law
        self._now = now
        self._entries: dict[str, Entry] = {}
        self._ways: dict[str, set[str]] = {}

    def get(self, gate: str) -> Entry | None:
        """Return the entry of a gate; None: it is open."""
        return self._entries.get(gate)

    def enter(self, gate: str) -> Entry:
        """Return the entry of a gate, made if need be."""
        entry = self._entries.get(gate)
        if entry is None:
            entry = self._entries[gate] = Entry(Gate(self._law))
            self.note_way(gate)
        return entry

    def look(self, gate: str) -> Entry | None:
        """Return the entry of a gate, having looked whether its own are still on their way.

        Somebody may have swallowed them, and told nobody.
        """
        entry = self._entries.get(gate)
        if entry is None:
            return None
        if entry.scout is not None and not engine.is_under_way(self._crawler, entry.scout):
            entry.scout = None
        if entry.probe is not None and not engine.is_under_way(self._crawler, entry.probe):
            entry.probe = None
            entry.gate.probe_lost(self._now())
        return entry

    def forget_if_plain(self, gate: str) -> None:
        """Forget a gate that is simply open."""
        entry = self._entries.get(gate)
        if entry is not None and entry.is_plain:
            del self._entries[gate]

    def restore(self, store: Store) -> Iterator[tuple[str, Gate]]:
        """Go on with pauses that a former run has left; yield the gates that are still closed."""
        now = self._now()
        for name, pause in store.get_pauses().items():
            gate = self.enter(name).gate
            gate.restore(now, pause.until, pause.reason, pause.failed_probes)
            if gate.state is GateState.CLOSED:
                yield name, gate
            else:
                self.forget_if_plain(name)
                store.put_pause(name, None)

    def shut(self) -> set[str]:
        """Return the gates that let nobody through now: paused, probed, held, or given up."""
        now = self._now()
        shut = {name for name, entry in self._entries.items() if not entry.is_passable(now)}
        return shut | {site for site in self._ways if self.due_elsewhere(site) > now}

    def given_up(self) -> set[str]:
        """Return the gates that let nobody through in this run."""
        return {name for name, entry in self._entries.items() if entry.has_given_up}

    def describe(self, gate: str) -> str:
        """Return how a gate stands, in words."""
        entry = self._entries.get(gate)
        return "all its proxies are shut" if entry is None else repr(entry.gate)

    def due(self, gate: str) -> float:
        """Return when a request may pass the gate; for ever away, if no time is known.

        A time that is past: now.
        """
        entry = self.look(gate)
        own = -inf if entry is None else entry.gate.due(self._now())
        return max(own, self.due_elsewhere(gate))

    def of_site(self, gate: str) -> set[str]:
        """Return the gate, that of its site, and if it is the site's, those by proxy."""
        return {gate, site_of_gate(gate), *self.ways(gate)}

    # The rest is for gates by proxy.

    @property
    def is_by_proxy(self) -> bool:
        """Whether there is any gate by proxy."""
        return bool(self._ways)

    def note_way(self, gate: str) -> None:
        """Note that a site is asked through this gate, if it is one by proxy."""
        site = site_of_gate(gate)
        if gate != site:
            self._ways.setdefault(site, set()).add(gate)

    def ways(self, site: str) -> set[str]:
        """Return the gates by proxy through which the site was asked in this run."""
        return self._ways.get(site, set())

    def due_elsewhere(self, gate: str) -> float:
        """Return when a request may pass as far as other gates of the same site are concerned.

        A gate by proxy: when the operator no longer holds its site. A site that is asked by
        proxies: when the first of their gates is due. Else: always.
        """
        site = site_of_gate(gate)
        if gate != site:
            entry = self._entries.get(site)
            return -inf if entry is None else entry.gate.held_until
        now = self._now()
        ways = [self.look(way) for way in self.ways(site)]
        return min((-inf if way is None else way.gate.due(now) for way in ways), default=-inf)
