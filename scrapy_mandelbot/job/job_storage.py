"""Where a job's requests are kept, as the site queue sees it: lines by name, each in its order.

It has the methods of ``queue.storage.Storage``, which keeps requests in queues of Scrapy's, and the
same tests are run on both. What it holds of a request that waits is its number in a line.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, Protocol

from scrapy_mandelbot.job.job_store import START, CannotKeepError, ChildrenLeft
from scrapy_mandelbot.job.requests import CannotWriteError, fingerprint_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from scrapy import Request

    from scrapy_mandelbot.job.job_store import JobStore, Place
    from scrapy_mandelbot.job.requests import LineOrder, RequestForm


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


class StorageWarnings(Protocol):
    """What is told of requests that cannot be kept as they should."""

    def unwritable(self, request: Request, error: Exception) -> None:
        """Tell of a request that is in memory only."""

    def unreadable(self, line: str, error: Exception) -> None:
        """Tell of a request that was kept, and cannot be made again."""

    def failed(self, error: CannotKeepError) -> None:
        """Tell that the job cannot be read."""


class JobStorage:
    """Requests of a job by line.

    Args:
        store: keeps them.
        form: writes them down.
        order: their order within a line.
        fingerprint: returns what tells a request from others, as octets.
        complaints: told what cannot be kept.
    """

    def __init__(
        self,
        store: JobStore,
        form: RequestForm,
        order: LineOrder,
        fingerprint: Callable[[Request], bytes],
        complaints: StorageWarnings,
    ) -> None:
        self._store = store
        self._form = form
        self._place = order.place
        self._fingerprint = fingerprint
        self._complaints = complaints
        self.lengths: dict[str, int] = store.lengths()
        """How many requests each line has, of those that have any."""
        self._total = sum(self.lengths.values())
        self._at_hand: dict[str, list[Request]] = {}
        self._in_memory: dict[str, list[tuple[Place, int, Request]]] = {}
        """By line, heaps of those that cannot be written down."""
        self._order_in_memory = 0
        self._sent_from_memory: set[Request] = set()
        self._seen_in_memory: set[int] = set()
        self._asked_of: tuple[Request | None, int] = None, 0
        self.in_hand: dict[Request, InHand] = {}
        """Those that are not settled, or in memory only."""
        self.is_taking_over = False
        """Whether the fingerprints of what is pushed are known already."""
        self.given_by: Callable[[Request], InHand | None] = lambda _: None
        """Returns what has given a new request, where that is known."""

    def __len__(self) -> int:
        return self._total

    def __contains__(self, name: str) -> bool:
        return name in self.lengths

    def __iter__(self) -> Iterator[str]:
        return iter(self.lengths)

    def length(self, name: str) -> int:
        """Return how many requests the line has."""
        return self.lengths.get(name, 0)

    def restore(self, name: str, priorities: Iterable[int]) -> None:
        """Do nothing: the job knows what a former run has left."""

    def has_seen(self, request: Request) -> bool:
        """Return whether a request like it was seen.

        Raises:
            CannotKeepError: it cannot be found out.
        """
        number = self.number_of(request)
        return number in self._seen_in_memory or self._store.has_seen(number)

    def number_of(self, request: Request) -> int:
        """Return the fingerprint of a request as a number."""
        if self._asked_of[0] is not request:
            self._asked_of = request, fingerprint_number(self._fingerprint(request))
        return self._asked_of[1]

    def push(self, name: str, request: Request) -> None:
        """Add a request to a line, or take back one that was handed out."""
        one = self.in_hand.get(request)
        try:
            body = self._form.write(request)
        except CannotWriteError as error:
            if one is None:
                self._complaints.unwritable(request, error)
            self._push_in_memory(name, request)
        else:
            if one is not None and one.number is not None:
                self._put_back(one, name, request, body)
            else:
                self._push_new(name, request, body)
                if one is not None:  # of those in memory, but it can be written down now
                    self._let_go(request, one)
        self._grow(name)

    def put_at_hand(self, name: str, request: Request) -> None:
        """Add a request that was handed out, and is to be the next of its line.

        One that was not, as it was delayed when it came, is kept as a new one is.
        """
        if request not in self.in_hand:
            self.push(name, request)
            return
        self._at_hand.setdefault(name, []).append(request)
        self._grow(name)

    def put_back(self, name: str, requests: list[Request]) -> None:
        """Put requests that were taken back where they were, in front of the others."""
        if requests:
            self._at_hand[name] = requests + self._at_hand.get(name, [])
            self.lengths[name] = self.lengths.get(name, 0) + len(requests)
            self._total += len(requests)

    def pop(self, name: str) -> Request | None:
        """Take the next request of a line, which ends with its last one."""
        request: Request | None
        if name in self._at_hand:
            requests = self._at_hand[name]
            request = requests.pop(0)
            if not requests:
                del self._at_hand[name]
        elif name in self._in_memory:
            heap = self._in_memory[name]
            *_, request = heappop(heap)
            if not heap:
                del self._in_memory[name]
            self._sent_from_memory.add(request)
        else:
            request = self._claim(name)
            if request is None:
                self._total -= self.lengths.pop(name, 0)
                return None
        self._shrink(name)
        return request

    def peek(self, name: str) -> Request | None:
        """Return what :meth:`pop` would, and leave it."""
        request = self.pop(name)
        if request is not None:
            self.put_back(name, [request])
        return request

    def drop(self, request: Request) -> None:
        """Forget a request that was taken, and will not be sent."""
        self.settled(request)

    def put_down(self) -> list[Request]:
        """Return no request: what is at hand has its row."""
        return []

    def close(self) -> dict[str, list[int]]:
        """Return nothing: the job knows what is left."""
        self.lengths.clear()
        self._at_hand.clear()
        self._in_memory.clear()
        self._total = 0
        return {}

    def left_in_memory(self) -> int:
        """Return how many requests cannot be written down, and are not settled."""
        return sum(one.number is None for one in self.in_hand.values())

    def settled(self, request: Request) -> bool:
        """Note that nothing is left to do for a request; return whether it was one of the job's."""
        one = self.in_hand.get(request)
        if one is None:
            return False
        if one.has_come_back:
            one.has_come_back = False
            return False
        self._let_go(request, one)
        return True

    def _let_go(self, request: Request, one: InHand) -> None:
        del self.in_hand[request]
        self._sent_from_memory.discard(request)
        for row in one.rows or (one,):
            self._end_wait(row)

    def _end_wait(self, row: InHand) -> None:
        row.waits -= 1
        if row.waits or row.number is None:
            return
        self._store.acknowledge(row.number)
        for number in row.fingerprints:
            self._seen_in_memory.discard(number)
            self._store.see(number)

    def _push_new(self, name: str, request: Request, body: bytes) -> None:
        self._store.push(name, self._place(request), body)
        parent = self.given_by(request)
        if not request.dont_filter:
            if not self.is_taking_over:
                self._store.see(self.number_of(request))
        elif parent is not None and parent.number is not None and parent.waits:
            self._store.count_child(parent.number, self.number_of(request))

    def _put_back(self, one: InHand, name: str, request: Request, body: bytes) -> None:
        assert one.number is not None  # noqa: S101 -- its caller has looked
        if one.has_called:  # what its callback gave is given once more by the next call
            one.forget_children()
            self._store.forget_children(one.number)
        if one.waits > 1:  # others came of it, and its row waits for them
            self._push_in_memory(name, request)
        else:
            del self.in_hand[request]
            self._store.put_back(one.number, name, self._place(request), body)

    def _push_in_memory(self, name: str, request: Request) -> None:
        self._order_in_memory += 1
        place = self._place(request)
        order = -self._order_in_memory if place.is_last_first else self._order_in_memory
        heappush(self._in_memory.setdefault(name, []), (place, order, request))
        self._sent_from_memory.discard(request)
        if request in self.in_hand:
            return
        rows = self._rows_behind(request)
        self.in_hand[request] = InHand(None, rows)
        for row in rows:
            row.waits += 1
        if not request.dont_filter:
            number = self.number_of(request)
            self._seen_in_memory.add(number)
            for row in rows:
                row.fingerprints.append(number)

    def _rows_behind(self, request: Request) -> tuple[InHand, ...]:
        """Return the rows that are to wait for a request which is in memory only."""
        parent = self.given_by(request)
        if parent is not None:
            if parent.is_start or not parent.waits:
                return ()
            return parent.rows if parent.number is None else (parent,)
        # A redirect or another try of one in memory has its callbacks, and says no more of it. Of
        # several that have them, all are waited for.
        rows = {
            row: None
            for other in self._sent_from_memory
            if other.callback is request.callback and other.errback is request.errback
            for row in self.in_hand[other].rows
        }
        return tuple(rows)

    def _claim(self, name: str) -> Request | None:
        while True:
            try:
                kept = self._store.claim(name)
            except CannotKeepError as error:
                self._complaints.failed(error)
                return None
            if kept is None:
                return None
            try:
                request = self._form.read(kept.body)
            except Exception as error:  # noqa: BLE001 -- whatever a changed spider leads to
                self._complaints.unreadable(name, error)
                self._shrink(name)
                continue
            self.in_hand[request] = InHand(kept.number)
            return request

    def _grow(self, name: str) -> None:
        self.lengths[name] = self.lengths.get(name, 0) + 1
        self._total += 1

    def _shrink(self, name: str) -> None:
        self._total -= 1
        self.lengths[name] -= 1
        if not self.lengths[name]:
            del self.lengths[name]
