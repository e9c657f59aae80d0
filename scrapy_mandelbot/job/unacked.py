"""Claimed requests: what waits for them, and what their callbacks yielded or raised."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import PurePath
from traceback import walk_tb
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from scrapy import Spider


@dataclass(slots=True, eq=False)
class Unacked:
    """A request that was claimed, or that cannot be serialized and is in memory only.

    A row is acknowledged when its request and all requests in memory that came from it
    are done: after a crash, only the callback of the row can yield them again. A
    request in memory has no number, and names the rows that wait for it.
    """

    # number of a request whose lease was lost: its new owner has it
    LOST: ClassVar = -1

    number: int | None
    rows: tuple[Unacked, ...] = ()
    waits: int = 1  # itself, and the requests in memory that came from it
    # Of requests in memory that came from it: stored as seen when the row is
    # acknowledged.
    fingerprints: list[int] = field(default_factory=list)
    # sent back: the next end that the engine reports does not count
    has_come_back: bool = False
    is_out: bool = False  # in flight: the engine has it
    has_called: bool = False  # whether its callback has run in this run
    # Why its page is set aside, and the name of the exception that its callback raised.
    raised: tuple[str, str] | None = None
    _left: PendingChildren | None = None

    def fail(self, failure: Any, spider: Spider) -> str:
        """Note that its callback raised, so that its page is set aside; return why."""
        name = re.sub(r"\W", "_", type(failure.value).__name__)
        place = _last_line_of_project(failure.getTracebackObject(), spider)
        self.raised = f"{_RAISED}{name} at {place}", name
        return self.raised[0]

    @property
    def has_row(self) -> bool:
        return self.number not in {None, self.LOST}

    def gave_before(
        self, fingerprint: int, find: Callable[[int], Iterable[tuple[int, int]]]
    ) -> bool:
        """Return whether a previous run yielded the request, and count it off."""
        if self._left is None:
            if self.number is None:
                self._left = PendingChildren()
            else:
                self._left = PendingChildren(find(self.number))
        return self._left.take(fingerprint)

    def forget_children(self) -> None:
        """Skip none of the callback's requests from now on: it is called again."""
        self._left = PendingChildren()


class PendingChildren:
    """Fingerprints still to be skipped, and how often each: 10 bytes per fingerprint.

    `counted`: unique fingerprints in ascending order.
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
        """Return whether a request was yielded before, and count it off."""
        if not self._left:
            return False
        at = bisect_left(self._fingerprints, fingerprint)
        is_there = (
            at < len(self._fingerprints) and self._fingerprints[at] == fingerprint
        )
        if not is_there or not self._times[at]:
            return False
        self._times[at] -= 1
        self._left -= 1
        return True


_RAISED = "its callback raised "


def exception_of(why: str) -> str:
    """Return the exception for which a page is set aside; empty: another reason."""
    if not why.startswith(_RAISED):
        return ""
    return why.removeprefix(_RAISED).partition(" ")[0]


def _last_line_of_project(traceback: Any, spider: Spider) -> str:
    project = type(spider).__module__.partition(".")[0]
    place = "?"
    for frame, line in walk_tb(traceback):
        if str(frame.f_globals.get("__name__")).partition(".")[0] == project:
            place = f"{PurePath(frame.f_code.co_filename).name}:{line}"
    return place
