"""What a worker has said of itself, as requests of ``start()``: for a while it can say that again.

What a request gave comes again with that request where Redis loses it. What none gave would be lost
with a server that dies before its replica, or its disk, has it.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from scrapy_mandelbot.stores.job.contract import START

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy_mandelbot.stores.shared_job.changes import Word

KEPT_FOR = 60.0
"""Seconds for which it is known: no replica that is of use is behind by more."""
MOST_KEPT = 20_000
"""Words that are known, of the last exchanges."""
MOST_BYTES = 16 * 1024 * 1024
"""Bytes of requests in them."""
_NUMBER = 4  # where the number of a request stands that is pushed


class Said(NamedTuple):
    """A word that a worker has to say, or has said."""

    word: Word
    size: int
    parent: int | None
    """The request that gave the one that is pushed; None: it is no push, or of no request."""

    @property
    def is_push(self) -> bool:
        """Whether it adds a request."""
        return self.word[0] == "push"

    @property
    def is_alone(self) -> bool:
        """Whether no request of the job would have it said again."""
        return self.word[0] in {"see", "keep"} or (self.is_push and self.parent in {None, START})

    def moved(self, by: int) -> Said:
        """Return it with another number of its request."""
        if not self.is_push:
            return self
        number: int = self.word[_NUMBER]  # type: ignore[assignment]
        return self._replace(word=(*self.word[:_NUMBER], number + by, *self.word[_NUMBER + 1 :]))


class SaidAlone:
    """The last exchanges, as far as no request gave what was said in them.

    Args:
        forgotten: the number of an exchange of which something was, and is known no more.
    """

    def __init__(self, forgotten: int) -> None:
        self._forgotten = forgotten
        self._exchanges: deque[tuple[int, float, list[Said]]] = deque()
        self._count = self._size = 0

    def add(self, number: int, now: float, words: Iterable[Said]) -> None:
        """Note what was said in an exchange that Redis has taken; now is in seconds."""
        alone = [one for one in words if one.is_alone]
        if alone:
            self._exchanges.append((number, now, alone))
            self._count += len(alone)
            self._size += sum(one.size for one in alone)
        while self._exchanges and (
            self._exchanges[0][1] < now - KEPT_FOR
            or self._count > MOST_KEPT
            or self._size > MOST_BYTES
        ):
            number, _, gone = self._exchanges.popleft()
            self._count -= len(gone)
            self._size -= sum(one.size for one in gone)
            if any(one.is_push for one in gone):
                self._forgotten = number

    def after(self, last: int) -> tuple[bool, list[Said]]:
        """Return whether all is known that was said after an exchange, and what is."""
        words = [one for number, _, some in self._exchanges if number > last for one in some]
        return self._forgotten <= last, words
