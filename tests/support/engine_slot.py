"""A slot of the engine as schedulers see it."""

from __future__ import annotations

from queueing import FakeSlot


class EngineSlot(FakeSlot):
    """As much of the engine's as a job looks at."""

    nextcall = closing = None

    def add_request(self, request):
        """Note nothing."""

    def remove_request(self, request):
        """Note nothing."""
