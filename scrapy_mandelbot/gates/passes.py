"""Whether a request on its way has had its turn to be sent."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from scrapy_mandelbot.gates.proxies import site_of_gate
from scrapy_mandelbot.politeness import GateState

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request

    from scrapy_mandelbot.gates.handouts import Handouts
    from scrapy_mandelbot.gates.register import Entry, Register


class Passes:
    """Who may pass a gate: those that it has handed out, and those that wait until it is due."""

    def __init__(
        self,
        register: Register,
        handouts: Handouts,
        gate_of: Callable[[Request], str],
        now: Callable[[], float],
    ) -> None:
        self._register = register
        self._handouts = handouts
        self._gate_of = gate_of
        self._now = now

    def admits(self, request: Request) -> bool:
        """Return whether the request may be sent now; where it is its turn, it has taken it."""
        gate = self._gate_of(request)
        self._register.note_way(gate)
        if not self.is_shut_for(request):
            return True
        entry = self._register.look(gate)
        if entry is None or self._handouts.gate(request) == gate:
            return False
        now = self._now()
        if max(entry.gate.due(now), self._held_until(gate)) > now:
            return False
        self.let_pass(request, entry)
        return True

    def is_shut_for(self, request: Request) -> bool:
        """Return whether the request has not had its turn to be sent."""
        gate = self._gate_of(request)
        entry, now = self._register.get(gate), self._now()
        if self._held_until(gate) > now:
            return True
        if entry is None or entry.probe is request:
            return False
        if not entry.is_passable(now):
            return True
        if entry.gate.state is GateState.OPEN:
            return False
        # Who comes from the queue was handed out by the pace, the others wait their turn.
        return self._handouts.gate(request) != gate and request not in entry.may_pass

    def is_probe(self, request: Request) -> bool:
        """Return whether the request is the one that asks a paused site whether it is well."""
        entry = self._register.get(self._gate_of(request))
        return entry is not None and entry.probe is request

    def let_pass(self, request: Request, entry: Entry) -> None:
        """Let a request go that this gate has not handed out, its turn having come."""
        if entry.gate.sent(self._now()):
            entry.probe = request
        else:
            entry.may_pass.add(request)

    def _held_until(self, gate: str) -> float:
        """Return when the operator lets the site of a gate by proxy be asked."""
        return -inf if gate == site_of_gate(gate) else self._register.due_elsewhere(gate)
