"""The alarms of gates: one each, at the second at which it may let somebody through."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import call_later

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.utils.asyncio import CallLaterResult


class Alarms:
    """At most one alarm for each name; it calls ``ring`` with the name."""

    def __init__(self, now: Callable[[], float], ring: Callable[[str], None]) -> None:
        self._now = now
        self._ring = ring
        self._set: dict[str, tuple[float, CallLaterResult]] = {}

    def __len__(self) -> int:
        return len(self._set)

    def set(self, name: str, at: float) -> None:
        """Set the alarm, in place of the one that is set; at no finite time, there is none."""
        if name in self._set:
            before, call = self._set[name]
            if before == at:
                return
            call.cancel()
            del self._set[name]
        if isfinite(at):
            self._set[name] = (at, call_later(max(0.0, at - self._now()), self._wake, name))

    def close(self) -> None:
        """Cancel all."""
        for _, call in self._set.values():
            call.cancel()
        self._set.clear()

    def _wake(self, name: str) -> None:
        at, _ = self._set.pop(name)
        if at > self._now():  # the loop's clock may be a hair ahead
            self.set(name, at)
        else:
            self._ring(name)
