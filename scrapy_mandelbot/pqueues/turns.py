"""Whose turn it is: the names with the fewest active downloads first, round robin among equals.

A turn costs the same among ten names and among fifty thousand. Names stand in line by how active
their slot is; nobody looks at a name twice to find that it must wait: it leaves the line until
somebody says that this may have changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class Turns:
    """The lines of names, by the activity of their slots."""

    def __init__(self, activity: Callable[[str], int]) -> None:
        self._activity = activity
        self._slots: dict[str, str] = {}
        self._by_slot: dict[str, dict[str, None]] = {}  # whose last turn is longest ago first
        self._lines: dict[int, dict[str, None]] = {}  # activity -> names, in order
        self._stands_in: dict[str, int] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._slots

    def join(self, name: str, slot: str) -> None:
        """Let a name take part, at the end of its line."""
        self._slots[name] = slot
        self._by_slot.setdefault(slot, {})[name] = None
        self.stand(name)

    def leave(self, name: str) -> None:
        """Let a name take part no longer."""
        self.step_out(name)
        slot = self._slots.pop(name)
        names = self._by_slot[slot]
        del names[name]
        if not names:
            del self._by_slot[slot]

    def first(self) -> str | None:
        """Return the name whose turn it is, and leave it in its place."""
        if not self._lines:
            return None
        return next(iter(self._lines[min(self._lines)]))

    def take(self, name: str) -> None:
        """Note that a name takes its turn: of those that share its slot it is the last now."""
        names = self._by_slot[self._slots[name]]
        del names[name]
        names[name] = None

    def step_out(self, name: str) -> None:
        """Take a name out of its line: it must wait for something."""
        activity = self._stands_in.pop(name, None)
        if activity is None:
            return
        line = self._lines[activity]
        del line[name]
        if not line:
            del self._lines[activity]

    def stand(self, name: str) -> None:
        """Put a name at the end of the line that it belongs in, wherever it stands."""
        self.step_out(name)
        activity = self._activity(self._slots[name])
        self._lines.setdefault(activity, {})[name] = None
        self._stands_in[name] = activity

    def slot_changed(self, slot: str) -> None:
        """Move the names of a slot whose activity has changed, those that had to wait too."""
        for name in tuple(self._by_slot.get(slot, ())):
            self.stand(name)

    def may_stand(self, names: Iterable[str]) -> None:
        """Put names that had to wait in line again; those in line keep their place."""
        for name in names:
            if name not in self._stands_in:
                self.stand(name)
