"""Where the requests of a site queue are kept: by sub-queue, each in its order.

Scrapy's disk queues hold a file open for each site and priority, and a process may open
a thousand. Here the queues that were used longest ago are closed, and opened again when
their turn comes. What is on disk has Scrapy's form either way.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from heapq import heappop, heappush
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from mandelbot.formatting import counted, shown

from scrapy_mandelbot import engine

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.pqueues import ScrapyPriorityQueue

    OpenQueue = Callable[[str, Iterable[int]], ScrapyPriorityQueue]


logger = logging.getLogger(__name__)

_NAMED = 10  # of the requests that are lost
# of their delay, by which requests with delays may be late
_GRAIN = 1 / 16
# characters of the readable part of a directory; a path may be longer
_LONGEST_NAME = 100


class RequestStorage(ABC):
    """Requests by the names of their sub-queues; those that came back are the next.

    A class that builds on it keeps the others, and counts what it adds and takes.
    """

    sorts = True
    """Whether a request that was taken too early may go back to its place."""
    grain = 0.0
    """The part of their delay by which times of requests in one place may differ."""

    def __init__(self) -> None:
        self.lengths: dict[str, int] = {}
        """How many requests each sub-queue has, of those that have any."""
        self.total = 0
        """How many there are in all."""
        self.at_hand: dict[str, list[Request]] = {}
        """By sub-queue, those that were taken and are to be its next ones."""
        self.is_tired = False
        """Whether what can be sent is looked for in another turn of the loop."""
        self.left_to_next_run: list[tuple[str, Request]] = []
        """Requests that are not sent in this run, with the names of their sub-queues;
        they are not counted above.
        """

    def __len__(self) -> int:
        return self.total

    def __contains__(self, name: str) -> bool:
        return name in self.lengths

    def __iter__(self) -> Iterator[str]:
        return iter(self.lengths)

    def length(self, name: str) -> int:
        """Return how many requests the sub-queue has."""
        return self.lengths.get(name, 0)

    def grow(self, name: str, by: int = 1) -> None:
        """Count requests that were added to a sub-queue, one at least."""
        self.lengths[name] = self.lengths.get(name, 0) + by
        self.total += by

    def shrink(self, name: str) -> None:
        """Count a request out of its sub-queue, which ends with its last one."""
        self.total -= 1
        self.lengths[name] -= 1
        if not self.lengths[name]:
            del self.lengths[name]

    @abstractmethod
    def push(self, name: str, request: Request) -> None:
        """Add a request to a sub-queue.

        Raises:
            ValueError: it cannot be kept; nothing has changed.
        """

    @abstractmethod
    def pop(self, name: str) -> Request | None:
        """Take the next request of a sub-queue.

        None: it had none, or :attr:`is_tired`.
        """

    def keeps(self, request: Request) -> bool:  # noqa: ARG002 -- for others
        """Return whether a request that waits elsewhere is kept, if the process dies.

        In memory nothing is kept.
        """
        return True

    def take(self, name: str, most: int) -> list[Request]:
        """Take so many requests of a sub-queue, or all that :meth:`pop` gives."""
        taken: list[Request] = []
        while len(taken) < most and name in self.lengths:
            request = self.pop(name)
            if request is None:
                break
            taken.append(request)
        return taken

    def put_at_hand(self, name: str, request: Request) -> None:
        """Add a request that was taken, behind others that were."""
        self.at_hand.setdefault(name, []).append(request)
        self.grow(name)

    def put_back(self, name: str, requests: list[Request]) -> None:
        """Put requests that were taken back where they were, in front of the others."""
        if requests:
            self.at_hand[name] = requests + self.at_hand.get(name, [])
            self.grow(name, len(requests))

    def take_at_hand(self, name: str) -> Request:
        """Return the next one in :attr:`at_hand`; those are counted elsewhere."""
        requests = self.at_hand[name]
        request = requests.pop(0)
        if not requests:
            del self.at_hand[name]
        return request

    def peek(self, name: str) -> Request | None:
        """Return the request that :meth:`pop` would return, without taking it."""
        request = self.pop(name)
        if request is not None:
            self.put_back(name, [request])
        return request

    def drop(self, request: Request) -> None:  # noqa: B027 -- a few have something to do
        """Forget a request that was taken, and will not be sent."""

    def may_leave(self, request: Request) -> bool:  # noqa: ARG002 -- for others
        """Return whether a request that was taken can be left to the next run."""
        return True

    def leave_to_next_run(self, name: str, request: Request) -> bool:
        """Keep a request that was taken for the next run, and send it no more.

        Returns whether it waits here; False: on a server, for any worker.
        """
        self.left_to_next_run.append((name, request))
        return True

    def put_down(self) -> list[Request]:
        """Store the requests in memory for the next run. Returns those it cannot."""
        return []

    def close(self) -> dict[str, list[int]]:
        """Close all; return the state that Scrapy keeps of it for the next run."""
        self.lengths.clear()
        self.at_hand.clear()
        self.total = 0
        return {}


class ParkedRequests(RequestStorage):
    """Stores requests in memory, by priority, then in the order first taken.

    A request that comes back has its previous place, before those taken after it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._heaps: dict[str, list[tuple[int, int, Request]]] = {}
        self._numbers: WeakKeyDictionary[Request, int] = WeakKeyDictionary()
        self._next_number = count()

    def push(self, name: str, request: Request) -> None:
        """Add a request to a sub-queue, in its place."""
        number = self._numbers.get(request)
        if number is None:
            number = next(self._next_number)
            self._numbers[request] = number
        heappush(self._heaps.setdefault(name, []), (-request.priority, number, request))
        self.grow(name)

    put_at_hand = push

    def put_back(self, name: str, requests: list[Request]) -> None:
        """Put requests that were taken back where they were."""
        for request in requests:
            self.push(name, request)

    def pop(self, name: str) -> Request | None:
        """Take the next request of a sub-queue."""
        heap = self._heaps[name]
        _, _, request = heappop(heap)
        if not heap:
            del self._heaps[name]
        self.shrink(name)
        return request

    def put_down(self) -> list[Request]:
        """Return the remaining requests: the next run does not find them here."""
        remaining = []
        for heap in self._heaps.values():
            remaining += [request for _, _, request in sorted(heap)]
        return remaining

    def close(self) -> dict[str, list[int]]:
        """Forget all."""
        self._heaps.clear()
        return super().close()


class Storage(RequestStorage):
    """Queues of Scrapy's by name, each with at least one request."""

    def __init__(
        self,
        open_queue: OpenQueue,
        directory: str,
        most_open: int,
        left: Mapping[str, Iterable[int]] | None = None,
        *,
        alone: bool = False,
    ) -> None:
        super().__init__()
        if directory:  # of each priority Scrapy's queue holds a file open
            self.grain = _GRAIN
        self._alone: dict[str, Request] | None = {} if alone else None
        """Requests that are the only one of their name and have no queue; None: each
        has one.
        """
        self._open_queue = open_queue
        self._directory = directory
        self._most_open = most_open if directory else 0
        self.opened: dict[str, ScrapyPriorityQueue] = {}  # used longest ago first
        self._in_memory = {} if self._most_open else self.opened
        self._closed: dict[str, list[int]] = {}  # priorities
        for name, priorities in (left or {}).items():
            self._closed[name] = list(priorities)
            self.grow(name, len(self._reach(name)))
            self._put_away_if_empty(name)

    def push(self, name: str, request: Request) -> None:
        """Add a request to a queue, which is made if need be.

        Raises:
            ValueError: it cannot be written to disk; nothing has changed.
        """
        queue = self._in_memory.get(name)
        if queue is None:
            if self._alone is not None and name not in self.lengths:
                self._alone[name] = request
                self.grow(name)
                return
            queue = self._reach(name)
        try:
            queue.push(request)
        except ValueError:
            self._put_away_if_empty(name)
            raise
        self.lengths[name] = self.lengths.get(name, 0) + 1
        self.total += 1

    def pop(self, name: str) -> Request | None:
        """Take the next request of a queue; the last one ends the queue."""
        if name in self.at_hand:
            return self._pop_at_hand(name)
        queue = self._in_memory.get(name)
        if queue is None:
            if self._alone and name in self._alone:
                self.shrink(name)
                return self._alone.pop(name)
            queue = self._reach(name)
        request = queue.pop()
        left = self.lengths[name] - 1
        self.total -= 1
        # A queue that lost what it held (its file was cut) is believed, not its former
        # length. To ask each one costs Scrapy's queue a look at all its priorities.
        if self._directory or request is None:
            lost = left - len(queue)
            left -= lost
            self.total -= lost
        self.lengths[name] = left
        if not left:
            self._put_away_if_empty(name)
        return request

    def put_down(self) -> list[Request]:
        """Write the requests in memory to disk; return those that cannot be written."""
        unwritable: list[Request] = []
        for name in list(self.at_hand):
            while name in self.at_hand:
                self._put_down(name, self._pop_at_hand(name), unwritable)
        while self.left_to_next_run:
            self._put_down(*self.left_to_next_run.pop(0), unwritable)
        return unwritable

    def _put_down(self, name: str, request: Request, unwritable: list[Request]) -> None:
        try:
            self.push(name, request)
        except ValueError:
            unwritable.append(request)

    def close(self) -> dict[str, list[int]]:
        """Close all; return their priorities by name, for the next run."""
        state = {name: queue.close() for name, queue in self.opened.items()}
        state.update(self._closed)
        self.opened.clear()
        self._closed.clear()
        return super().close() | state

    def _pop_at_hand(self, name: str) -> Request:
        request = self.take_at_hand(name)
        self.shrink(name)
        self._put_away_if_empty(name)
        return request

    def _reach(self, name: str) -> ScrapyPriorityQueue:
        if not self._most_open and name in self.opened:
            return self.opened[name]
        queue = self.opened.pop(name, None)
        if queue is None:
            if self._most_open and len(self.opened) >= self._most_open:
                longest_ago = next(iter(self.opened))
                self._closed[longest_ago] = self.opened.pop(longest_ago).close()
            directory = self._directory and self._directory_of(name)
            queue = self._open_queue(directory, self._closed.pop(name, ()))
            if self._alone and name in self._alone:
                queue.push(self._alone.pop(name))
        self.opened[name] = queue
        return queue

    def _put_away_if_empty(self, name: str) -> None:
        if self.lengths.get(name):
            return
        self.lengths.pop(name, None)
        if name in self._closed:
            self._reach(name)
        queue = self.opened.pop(name, None)
        if queue is None:
            return  # all it had was at hand
        queue.close()
        if self._directory:
            with suppress(OSError):  # a queue class may leave files of its own there
                Path(self._directory_of(name)).rmdir()

    def _directory_of(self, name: str) -> str:
        readable, _, digest = engine.path_safe(name).rpartition("-")
        return f"{self._directory}/{readable[:_LONGEST_NAME]}-{digest}"


_UNWRITABLE = (
    "that cannot be written to disk, and so not kept in JOBDIR (is each callback a"
    " method of the spider?)"
)


def warn_of_lost(crawler: Crawler, lost: list[Request], why: str = _UNWRITABLE) -> None:
    """Name the requests that nothing keeps; `why` goes on after their number."""
    if lost:
        some = ", ".join(shown(str(request)) for request in lost[:_NAMED])
        if len(lost) > _NAMED:
            some += ", …"
        number = counted(len(lost), "request")
        extra = {"spider": crawler.spider}
        logger.warning("Lost %s %s: %s", number, why, some, extra=extra)
