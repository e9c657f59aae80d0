"""Exchanges of a worker with a job on Redis, and the entries to repeat after a loss."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain
from math import inf
from typing import Any, NamedTuple, cast

from scrapy_mandelbot.job.job_store import OWN_START, START

# seconds for which it is known: no replica that is of use is behind by more
KEPT_FOR = 60.0
MOST_KEPT = 20_000  # words that are known, of the last exchanges, and as many sites
MOST_BYTES = 16 * 1024 * 1024  # bytes of requests in them
_NUMBER = 4  # where the number of a request stands that is pushed


Entry = tuple[object, ...]  # one of the words of ``exchange.lua``, and its arguments


class Exchange(NamedTuple):
    """What is said and asked for in one call."""

    worker: int
    token: str
    number: int
    last: int  # the last one that is kept: else the job is in an older state
    run: int
    take: int  # how many sites more are asked for
    first: int  # requests claimed of each; 0: the lease is renewed, and no more
    idle: str
    """Empty: the worker has something to do. ``close``: it would not wait for paused
    sites.
    """
    entries: tuple[Entry, ...]

    def arguments(self, lease: int, reader: tuple[str, str]) -> list[Any]:
        """Return them as the script takes them; the lease in milliseconds.

        `reader`: the version of the worker's spider, and by the number of deaths how
        many requests that were in flight in them it sends at a time.
        """
        who = (self.worker, self.token, self.number, self.last)
        head = (
            lease,
            self.run,
            self.take,
            self.first,
            self.idle,
            *reader,
        )
        return [*who, *head, *chain.from_iterable(self.entries)]


class UnackedEntry(NamedTuple):
    """A word that a worker has to say, or has said."""

    entry: Entry
    size: int
    parent: int | None  # gave the one that is pushed

    @property
    def is_push(self) -> bool:
        return self.entry[0] == "push"

    @property
    def is_alone(self) -> bool:
        """Whether no request of the job would have it said again."""
        if self.is_push:
            return self.parent in {None, START, OWN_START}
        return self.entry[0] == "see"

    def moved(self, by: int) -> UnackedEntry:
        """Return it with another number of its request."""
        if not self.is_push:
            return self
        number: int = self.entry[_NUMBER]  # type: ignore[assignment]
        return self._replace(
            entry=(*self.entry[:_NUMBER], number + by, *self.entry[_NUMBER + 1 :])
        )


HandedOverSite = tuple[str, bytes, str]  # site, state, milliseconds to leave it alone


class LostLease(NamedTuple):
    """What becomes of a lease that is lost."""

    is_whole: bool  # else Redis has lost what cannot be said again
    # said of sites given back since: Redis may not have kept it
    left: list[HandedOverSite]


class UnackedExchanges:
    """The entries of the last exchanges that no request of a worker can restore.

    `forgotten`: the number of the last exchange with a request among the dropped
    entries.
    """

    def __init__(self, forgotten: int) -> None:
        self._forgotten = forgotten
        self._exchanges: deque[tuple[int, float, list[UnackedEntry]]] = deque()
        self._count = 0  # entries in them
        self._size = 0  # bytes of those

    def add(self, number: int, now: float, entries: Iterable[UnackedEntry]) -> None:
        kept = [one for one in entries if one.is_alone or one.entry[0] == "rest"]
        if kept:
            self._exchanges.append((number, now, kept))
            self._count += len(kept)
            self._size += sum(one.size for one in kept)
        while self._exchanges and self._is_too_much(now):
            number, _, gone = self._exchanges.popleft()
            self._count -= len(gone)
            self._size -= sum(one.size for one in gone)
            if any(one.is_push for one in gone):
                self._forgotten = number

    def _is_too_much(self, now: float) -> bool:
        _, oldest, _ = self._exchanges[0]
        if oldest < now - KEPT_FOR:
            return True
        return self._count > MOST_KEPT or self._size > MOST_BYTES

    def rests_after(self, last: int, now: float) -> Iterator[tuple[bytes, bytes, str]]:
        """Yield sites reported after an exchange, with state and milliseconds left."""
        rests: dict[bytes, tuple[bytes, bytes, str]] = {}
        for at, one in self._entries_after(last):
            if one.entry[0] == "rest":
                site, state, milliseconds = cast(
                    "tuple[bytes, bytes, str]", one.entry[1:]
                )
                rests.pop(site, None)
                left = max(0.0, float(milliseconds) - 1000 * (now - at))
                if left != inf:
                    milliseconds = f"{left:.0f}"
                rests[site] = site, state, milliseconds
        yield from rests.values()

    def after(self, last: int) -> tuple[bool, list[UnackedEntry]]:
        """Return whether all later entries are known, and those to repeat."""
        entries = [one for _, one in self._entries_after(last) if one.is_alone]
        return self._forgotten <= last, entries

    def _entries_after(self, last: int) -> Iterator[tuple[float, UnackedEntry]]:
        for number, at, entries in self._exchanges:
            if number > last:
                yield from ((at, one) for one in entries)
