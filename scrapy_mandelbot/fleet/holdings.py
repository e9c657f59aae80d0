"""What a worker holds of the sites that are its own: requests that it may hand out."""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from math import inf
from typing import TYPE_CHECKING, NamedTuple, cast

from scrapy_mandelbot.job.job_store import START

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy_mandelbot.fleet.changes import Word
    from scrapy_mandelbot.fleet.server import LeftSite

KEPT_FOR = 60.0  # seconds for which it is known: no replica that is of use is behind by more
MOST_KEPT = 20_000  # words that are known, of the last exchanges, and as many sites
MOST_BYTES = 16 * 1024 * 1024  # bytes of requests in them
_NUMBER = 4  # where the number of a request stands that is pushed


class UnackedRoots(NamedTuple):
    """A word that a worker has to say, or has said."""

    word: Word
    size: int
    parent: int | None
    """The request that gave the one that is pushed; None: it is no push, or of no request."""

    @property
    def is_push(self) -> bool:
        return self.word[0] == "push"

    @property
    def is_alone(self) -> bool:
        """Whether no request of the job would have it said again."""
        return self.word[0] == "see" or (self.is_push and self.parent in {None, START})

    def moved(self, by: int) -> UnackedRoots:
        """Return it with another number of its request."""
        if not self.is_push:
            return self
        number: int = self.word[_NUMBER]  # type: ignore[assignment]
        return self._replace(word=(*self.word[:_NUMBER], number + by, *self.word[_NUMBER + 1 :]))


class Lost(NamedTuple):
    """What becomes of a lease that is lost."""

    is_whole: bool
    """False where Redis has not kept what was said so long ago that it cannot be said again."""
    left: list[LeftSite]
    """What was said of sites that were given back since: Redis may not have kept it."""


class SaidAlone:
    """The last exchanges, as far as no request gave what was said in them.

    `forgotten`: the number of an exchange of which something was, and is known no more.
    """

    def __init__(self, forgotten: int) -> None:
        self._forgotten = forgotten
        self._exchanges: deque[tuple[int, float, list[UnackedRoots]]] = deque()
        self._count = self._size = 0
        self._rests: dict[bytes, tuple[int, float, bytes, str]] = {}
        """Sites, and by which exchange, when and what was said of them; the last of each."""

    def add(self, number: int, now: float, words: Iterable[UnackedRoots]) -> None:
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

    def add_rests(self, number: int, now: float, words: Iterable[UnackedRoots]) -> None:
        """Note what is said of sites; now is in seconds."""
        rests = self._rests
        for one in words:
            if one.word[0] == "rest":
                site, state, milliseconds = cast("tuple[bytes, bytes, str]", one.word[1:])
                rests.pop(site, None)
                rests[site] = number, now, state, milliseconds
        while rests and (next(iter(rests.values()))[1] < now - KEPT_FOR or len(rests) > MOST_KEPT):
            del rests[next(iter(rests))]

    def rests_after(self, last: int, now: float) -> Iterator[tuple[bytes, bytes, str]]:
        """Yield what was said of sites after an exchange: state, and milliseconds that are left."""
        for site, (number, at, state, milliseconds) in self._rests.items():
            if number > last:
                left = max(0.0, float(milliseconds) - 1000 * (now - at))
                yield site, state, milliseconds if left == inf else f"{left:.0f}"

    def after(self, last: int) -> tuple[bool, list[UnackedRoots]]:
        """Return whether all is known that was said after an exchange, and what is."""
        words = [one for number, _, some in self._exchanges if number > last for one in some]
        return self._forgotten <= last, words


FIRST = 4  # requests that are claimed of a site that is new to a worker
_FEWEST = 2
MOST_HELD = 32  # requests that are claimed of a site at a time
_SOON, _LATE = 1.0, 10.0  # seconds in which that many were handed out


class HeldSite:
    """A site that is this worker's.

    It claims as many requests at a time as it hands out in some seconds, so that others wait where
    each worker can have them; and the next ones before the last ones are gone.
    """

    __slots__ = ("asked", "batch", "has_more", "name", "numbers", "said", "waiting", "when")

    def __init__(self, name: str, now: float) -> None:
        self.name = name
        self.numbers: set[int] = set()
        """Of requests that are claimed, whether they wait here or were handed out."""
        self.waiting = 0  # requests that are claimed, and may be handed out
        self.batch = FIRST
        self.when = now  # when requests were claimed last
        self.asked = 0  # how many are being claimed
        self.has_more = True  # whether more wait than were claimed, as far as that is known
        self.said: tuple[bytes, str] = b"", "0"
        """What its next owner is to know, as it was said last."""

    @property
    def is_low(self) -> bool:
        return not self.waiting or (self.has_more and self.waiting <= self.batch // 4)

    @property
    def is_dry(self) -> bool:
        """Whether nothing of it waits, here or there, as far as that is known."""
        return not self.waiting and not self.has_more and not self.asked

    def ask(self, now: float) -> int:
        """Return how many requests to claim; they are on their way from now on."""
        passed, self.when = now - self.when, now
        if self.has_more and passed < _SOON:
            self.batch = min(2 * self.batch, MOST_HELD)
        elif passed > _LATE:
            self.batch = max(self.batch // 2, _FEWEST)
        self.asked = max(1, self.batch - self.waiting)
        return self.asked

    def arrived(self, count: int) -> None:
        self.has_more = count >= self.asked
        self.asked = 0


class HeldLines:
    """Claimed requests by line, each in its order."""

    def __init__(self) -> None:
        self._lines: dict[str, list[tuple[tuple[int, int, int], int, bytes]]] = {}

    def lengths(self) -> dict[str, int]:
        return {line: len(heap) for line, heap in self._lines.items()}

    def add(self, line: str, place: tuple[int, int, int], number: int, body: bytes) -> None:
        heappush(self._lines.setdefault(line, []), (place, number, body))

    def take(self, line: str) -> tuple[int, bytes] | None:
        heap = self._lines.get(line)
        if heap is None:
            return None
        _, number, body = heappop(heap)
        if not heap:
            del self._lines[line]
        return number, body

    def drop(self, line: str) -> None:
        self._lines.pop(line, None)
