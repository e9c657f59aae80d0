"""A request that is out of the queue and not settled, and what its row in the job waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_mandelbot.stores.job.children import ChildrenLeft
from scrapy_mandelbot.stores.job.contract import START

if TYPE_CHECKING:
    from collections.abc import Callable


class InHand:
    """A request that was claimed, or that cannot be written down and is in memory only.

    A row is acknowledged when its request is settled and so are all in memory that came of it: were
    the process to die before, only the callback of the row could give them again.

    Args:
        number: of its row; None: it is in memory only.
        rows: those in hand that wait for it, where it is in memory only.
    """

    __slots__ = ("_left", "fingerprints", "has_called", "has_come_back", "number", "rows", "waits")

    def __init__(self, number: int | None, rows: tuple[InHand, ...] = ()) -> None:
        self.number = number
        self.rows = rows
        self.waits = 1
        """For how many it waits: itself, and those in memory that came of it."""
        self.fingerprints: list[int] = []
        """Of those in memory that came of it: seen for good when the row is acknowledged."""
        self.has_come_back = False
        """Whether it was sent back, so that the end that the engine tells next is none."""
        self.has_called = False
        """Whether its callback has run in this run."""
        self._left: ChildrenLeft | None = None

    @property
    def is_start(self) -> bool:
        """Whether it stands for start(), which is never settled."""
        return self.number == START

    def gave_before(self, fingerprint: int, find: Callable[[int], ChildrenLeft]) -> bool:
        """Return whether a former run was given the request, and count it off.

        Args:
            fingerprint: of the request.
            find: returns what is left of a row's children.
        """
        if self._left is None:
            self._left = ChildrenLeft() if self.number is None else find(self.number)
        return self._left.take(fingerprint)

    def forget_children(self) -> None:
        """Pass over none of what the callback gives from now on: it is called once more."""
        self._left = ChildrenLeft()
