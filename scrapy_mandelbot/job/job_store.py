"""What is asked of a place where a job is kept.

A request is pushed, claimed when its turn comes, and acknowledged when it is settled. What a run
had claimed and not acknowledged waits again when the job is opened the next time. All that was done
since the last commit is kept together or not at all.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable


class ChildrenLeft:
    """Fingerprints, each with how many times it is still to be passed over: 10 bytes for one.

    Args:
        counted: fingerprints in order, each once, and how many times it was given.
    """

    __slots__ = ("_fingerprints", "_left", "_times")

    def __init__(self, counted: Iterable[tuple[int, int]] = ()) -> None:
        self._fingerprints = array("q")
        self._times = array("H")
        self._left = 0
        for fingerprint, times in counted:
            self._fingerprints.append(fingerprint)
            self._times.append(max(0, min(times, 0xFFFF)))
            self._left += self._times[-1]

    def __len__(self) -> int:
        return self._left

    def take(self, fingerprint: int) -> bool:
        """Return whether a request was given before, and count it off."""
        if not self._left:
            return False
        at = bisect_left(self._fingerprints, fingerprint)
        if at == len(self._fingerprints) or self._fingerprints[at] != fingerprint:
            return False
        if not self._times[at]:
            return False
        self._times[at] -= 1
        self._left -= 1
        return True


START = 0
"""Stands for ``start()`` where the number of a parent is asked for; no request has it."""


class CannotKeepError(Exception):
    """Nothing can be kept for now, or what is kept cannot be read."""


class Place(NamedTuple):
    """Where in its line a request stands: the least is claimed first."""

    priority: int
    """The lower, the sooner, as in Scrapy's queues: its priority, negated."""
    band: int
    """Within a priority the lower one first: start requests stand behind the others."""
    is_last_first: bool
    """Whether those that are pushed later are claimed sooner."""


class KeptRequest(NamedTuple):
    """A request that was claimed."""

    number: int
    body: bytes


class JobStore(Protocol):
    """Requests in lines, fingerprints seen, and what start() and cut callbacks gave.

    To claim, and to ask whether a fingerprint was seen, may raise CannotKeepError. Fingerprints
    are whole numbers of 64 bits, with a sign.
    """

    def lengths(self) -> dict[str, int]:
        """Return how many requests wait in each line, of those that have any."""

    def push(self, line: str, place: Place, body: bytes) -> int:
        """Add a request; return its number, which no other one of the job has."""

    def push_new(
        self, line: str, place: Place, body: bytes, fingerprint: int, parent: int | None
    ) -> int:
        """Add a request and note its fingerprint as seen, which it was not; return its number."""

    def push_child(
        self, line: str, place: Place, body: bytes, fingerprint: int, parent: int
    ) -> int:
        """Add a request that no fingerprint stops when its parent gives it again, and count it."""

    def claim(self, line: str) -> KeptRequest | None:
        """Take the next request of a line; it stays in the job until it is acknowledged."""

    def put_back(self, number: int, line: str, place: Place, body: bytes) -> None:
        """Have a request that was claimed wait again, as the newest of its line."""

    def acknowledge(self, number: int) -> None:
        """Forget a request that was claimed, and what was counted of its children."""

    def has_seen(self, fingerprint: int) -> bool:
        """Return whether the fingerprint was seen."""

    def see(self, fingerprint: int) -> None:
        """Note a fingerprint as seen; it was not."""

    def forget_children(self, parent: int) -> None:
        """Forget what was counted of a parent's children."""
