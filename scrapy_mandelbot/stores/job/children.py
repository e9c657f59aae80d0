"""What start() or a cut callback gave in a former run, to be passed over when it is given again."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING

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
            self._times.append(min(times, 0xFFFF))
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
