"""A job in memory, as plain as can be: what the one in a file is held to."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from scrapy_mandelbot.job.job_store import StoredRequest

if TYPE_CHECKING:
    from scrapy_mandelbot.job.job_store import Place


class MemoryStates(dict[str, bytes]):
    """What a job keeps by name."""

    def with_prefix(self, prefix: str) -> dict[str, bytes]:
        """Return all that was kept under names that begin so."""
        return {name: value for name, value in self.items() if name.startswith(prefix)}

    def put(self, name: str, value: bytes | None) -> None:
        """Keep something under a name; None: nothing."""
        self.pop(name, None)
        if value is not None:
            self[name] = value


class MemoryJob:
    """A :class:`JobStore` that outlasts nothing."""

    def __init__(self) -> None:
        self._lines: dict[str, list[tuple[int, int, int, int, bytes]]] = {}
        self._claimed: set[int] = set()
        self._seen: set[int] = set()
        self._children: dict[int, Counter[int]] = {}
        self.states = MemoryStates()
        self._numbers = 0
        self._moves = 0
        self.uncommitted = 0
        self.uncommitted_bytes = 0

    def lengths(self) -> dict[str, int]:
        """Return how many requests wait in each line, of those that have any."""
        return {line: len(rows) for line, rows in self._lines.items()}

    def push(self, line: str, place: Place, body: bytes) -> int:
        """Add a request; return its number."""
        self._numbers += 1
        self._add(self._numbers, line, place, body)
        return self._numbers

    def claim(self, line: str) -> StoredRequest | None:
        """Take the next request of a line."""
        rows = self._lines.get(line)
        if not rows:
            return None
        rows.sort()
        *_, number, body = rows.pop(0)
        if not rows:
            del self._lines[line]
        self._claimed.add(number)
        return StoredRequest(number, body)

    def put_back(self, number: int, line: str, place: Place, body: bytes) -> None:
        """Let a request that was claimed wait again."""
        self._claimed.remove(number)
        self._add(number, line, place, body)

    def acknowledge(self, number: int) -> None:
        """Forget a request that was claimed."""
        self._claimed.remove(number)
        self.forget_children(number)

    def has_seen(self, fingerprint: int) -> bool:
        """Return whether the fingerprint was seen."""
        return fingerprint in self._seen

    def see(self, fingerprint: int) -> None:
        """Note a fingerprint as seen."""
        self._seen.add(fingerprint)

    def push_new(
        self,
        line: str,
        place: Place,
        body: bytes,
        fingerprint: int,
        parent: int | None,
    ) -> int:
        """Add a request and note its fingerprint as seen; return its number."""
        self.see(fingerprint)
        return self.push(line, place, body)

    def push_child(
        self, line: str, place: Place, body: bytes, fingerprint: int, parent: int
    ) -> int:
        """Add a request and count it of its parent's children."""
        self._children.setdefault(parent, Counter())[fingerprint] += 1
        return self.push(line, place, body)

    def children_left(self, parent: int) -> tuple[()]:
        """Return nothing: there was no former run."""
        return ()

    def forget_children(self, parent: int) -> None:
        """Forget what was counted of a parent's children."""
        self._children.pop(parent, None)

    def commit(self) -> None:
        """Do nothing: it is as kept as it will be."""

    def close(self) -> None:
        """Do nothing."""

    def _add(self, number: int, line: str, place: Place, body: bytes) -> None:
        self._moves += 1
        order = -self._moves if place.is_last_first else self._moves
        row = (place.priority, place.band, order, number, body)
        self._lines.setdefault(line, []).append(row)
