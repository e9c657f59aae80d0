"""Storage of a job's requests for the site queue: named lines, each in its order.

Of a waiting request, memory holds only its line's length.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.job.job_store import OWN_START, START, LineOrder, StorageError
from scrapy_mandelbot.job.requests import (
    CannotWriteError,
    RequestForm,
    fingerprint_number,
)
from scrapy_mandelbot.job.unacked import Unacked
from scrapy_mandelbot.scheduling.storage import RequestStorage

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler

    from scrapy_mandelbot.job.job_store import JobStore, Place

logger = logging.getLogger(__name__)

Storage = TypeVar("Storage", bound="JobStorage")

# requests that are claimed and cannot be made again before the loop has a turn
READ_AT_ONCE = 500


class StorageOwner(Protocol):
    """What a storage reports to its job, and asks of it."""

    @property
    def given_by(self) -> Callable[[Request], Unacked | None]:
        """Returns the parent of a new request; None: unknown."""

    def unwritable(self, request: Request, error: Exception) -> None:
        """Report a request that cannot be serialized, and stays in memory."""

    def unreadable(self, line: str, number: int, error: Exception) -> None:
        """Report a claimed request that cannot be read, and set it aside."""

    def set_aside(self, number: int, why: str, exception: str = "") -> None:
        """Set a claimed request aside: unreadable, or its callback raised."""

    def failed(self, error: StorageError) -> None:
        """Close the spider: the job cannot be read."""


class JobStorage(RequestStorage):
    """Requests of a job by line."""

    def __init__(
        self,
        store: JobStore,
        form: RequestForm,
        order: LineOrder,
        fingerprint: Callable[[Request], bytes],
        complaints: StorageOwner,
    ) -> None:
        super().__init__()
        self._store = store
        self.form = form
        self._place = order.place
        self._fingerprint = fingerprint
        self._complaints = complaints
        # Requests that are claimed, and those that cannot be serialized.
        self.unacked: dict[Request, Unacked] = {}
        # Whether the spider's own start() has yielded a request that each run sends:
        # the first goes before what waits, which may depend on it, as on a login.
        self._has_started = False
        # How many claimed requests could not be read so far.
        self._unreadable = 0
        # The request of which the fingerprint was computed last, and that fingerprint.
        self._asked_of: tuple[Request | None, int] = None, 0

        # Requests that cannot be serialized are in memory only:
        # by line, heaps of place, order of arrival and request; how many there were;
        self._in_memory: dict[str, list[tuple[Place, int, Request]]] = {}
        self._order_in_memory = 0
        # those that were handed out; fingerprints of them all.
        self._sent_from_memory: set[Request] = set()
        self._seen_in_memory: set[int] = set()

        for name, length in store.lengths().items():
            self.grow(name, length)

    @classmethod
    def of(  # noqa: PYI019 -- Python 3.10 has no Self
        cls: type[Storage],
        crawler: Crawler,
        spider: Spider,
        store: Any,
        complaints: StorageOwner,
    ) -> Storage:
        form = RequestForm(spider, pickles=Crawl.of(crawler).config.job_pickles)
        order = LineOrder.of(crawler.settings)
        fingerprint = crawler.request_fingerprinter.fingerprint
        return cls(store, form, order, fingerprint, complaints)

    def has_seen(self, request: Request) -> bool:
        number = self.number_of(request)
        return number in self._seen_in_memory or self._store.has_seen(number)

    def number_of(self, request: Request) -> int:
        if self._asked_of[0] is not request:
            self._asked_of = request, fingerprint_number(self._fingerprint(request))
        return self._asked_of[1]

    def push(self, name: str, request: Request) -> None:
        one = self.unacked.get(request)
        try:
            body = self.form.write(request)
        except CannotWriteError as error:
            if one is None:
                self._complaints.unwritable(request, error)
            self.push_in_memory(name, request)
            self.waits(name, is_in_memory=True)
            return
        if one is not None and one.number is not None:
            # others came of it, and its row waits for them
            is_in_memory = one.waits > 1
            self._put_back(one, name, request, body)
            self.waits(name, is_in_memory=is_in_memory)
        else:
            self._push_new(name, request, body)
            self.waits_anew(name)
            if one is not None:  # of those in memory, but it can be written down now
                self.release(request, one)

    def waits(self, name: str, *, is_in_memory: bool) -> None:  # noqa: ARG002 -- for others
        self.grow(name)

    waits_anew = RequestStorage.grow

    def keeps(self, request: Request) -> bool:
        """Return whether a request has a row: a retry of another one has none yet."""
        return request in self.unacked

    def put_at_hand(self, name: str, request: Request) -> None:
        """Put a request that was handed out at the front of its line.

        One that was not, because it was delayed on arrival, is stored as new.
        """
        if request not in self.unacked:
            self.push(name, request)
            return
        super().put_at_hand(name, request)

    def pop(self, name: str) -> Request | None:
        request: Request | None
        if name in self.at_hand:
            request = self.take_at_hand(name)
        elif name in self._in_memory:
            heap = self._in_memory[name]
            *_, request = heappop(heap)
            if not heap:
                del self._in_memory[name]
            self._sent_from_memory.add(request)
        else:
            request = self._claim(name)
            if request is None:
                if not self.is_tired:
                    self.total -= self.lengths.pop(name, 0)
                return None
        self.shrink(name)
        return request

    def bring_back(self, name: str, number: int, body: bytes) -> Request | None:
        try:
            request = self.form.read(body)
        except Exception as error:  # noqa: BLE001 -- as in claiming
            self._complaints.unreadable(name, number, error)
            return None
        self.unacked[request] = Unacked(number)
        self.put_at_hand(name, request)
        return request

    def drop(self, request: Request) -> None:
        self.acknowledged(request)

    def may_leave(self, request: Request) -> bool:
        one = self.unacked.get(request)
        # others came of it, and its row waits for them
        return one is not None and one.has_row and one.waits == 1

    def leave_to_next_run(self, name: str, request: Request) -> bool:  # noqa: ARG002 -- for others
        """Leave its row as it is, claimed: the next run finds it waiting."""
        del self.unacked[request]
        return True

    def sent(self, unsent: Collection[Request]) -> set[int]:
        """Return the numbers of those that may be why the process dies, if it does.

        All that were handed out, but those that are `unsent`. A callback may send its
        own request once more: it may be why all the same.
        """
        sent = {
            one.number
            for one in self.unacked.values()
            if one.is_out and one.number is not None
        }
        for request in unsent:
            one = self.unacked.get(request)
            if one is not None and one.number is not None and not one.has_called:
                sent.discard(one.number)
        return sent

    def acknowledged(self, request: Request) -> bool:
        """Record that a request is done; return whether it belonged to the job."""
        one = self.unacked.get(request)
        if one is None:
            return False
        if one.has_come_back:
            one.has_come_back = False
            return False
        self.release(request, one)
        return True

    def release(self, request: Request, one: Unacked) -> None:
        del self.unacked[request]
        self._sent_from_memory.discard(request)
        for row in one.rows or (one,):
            self._end_wait(row)

    def push_in_memory(self, name: str, request: Request) -> None:
        """Hold a request that cannot be serialized; it is not counted."""
        self._order_in_memory += 1
        place = self._place(request)
        order = self._order_in_memory
        if place.is_last_first:
            order = -order
        heappush(self._in_memory.setdefault(name, []), (place, order, request))
        self._sent_from_memory.discard(request)
        if request in self.unacked:
            return
        rows = self._rows_behind(request)
        self.unacked[request] = Unacked(None, rows)
        for row in rows:
            row.waits += 1
        if not request.dont_filter:
            number = self.number_of(request)
            self._seen_in_memory.add(number)
            for row in rows:
                row.fingerprints.append(number)

    def set_aside(self, name: str) -> None:
        self.shrink(name)

    def _end_wait(self, row: Unacked) -> None:
        row.waits -= 1
        if row.waits or not row.has_row:
            return
        assert row.number is not None  # noqa: S101 -- it has a row
        if row.raised is not None:
            self._complaints.set_aside(row.number, *row.raised)
        else:
            self._store.acknowledge(row.number)
        for number in row.fingerprints:
            self._seen_in_memory.discard(number)
            self._store.see(number)

    def _push_new(self, name: str, request: Request, body: bytes) -> None:
        place = self._place(request)
        number = None
        parent = self._complaints.given_by(request)
        if parent is not None and parent.number == Unacked.LOST:
            return  # the worker that owns the parent stores it
        if parent is not None and parent.waits:  # else it is settled
            number = parent.number
        if not request.dont_filter:
            asked_of, fingerprint = self._asked_of
            if asked_of is not request:  # most were asked of just now
                fingerprint = self.number_of(request)
            self._store.push_new(name, place, body, fingerprint, number)
        elif request.dont_filter and number is not None:
            if number == OWN_START and not self._has_started:
                self._has_started = True
                place = place._replace(band=0, is_last_first=True)
            self._store.push_child(name, place, body, self.number_of(request), number)
        else:
            self._store.push(name, place, body)

    def _put_back(self, one: Unacked, name: str, request: Request, body: bytes) -> None:
        assert one.number is not None  # noqa: S101 -- its caller has looked
        if one.has_called:  # what its callback gave is given once more by the next call
            one.forget_children()
            self._store.forget_children(one.number)
        if one.waits > 1:
            self.push_in_memory(name, request)
        else:
            del self.unacked[request]
            self._store.put_back(one.number, name, self._place(request), body)

    def _rows_behind(self, request: Request) -> tuple[Unacked, ...]:
        # The rows that wait for a request in memory.
        parent = self._complaints.given_by(request)
        if parent is not None:
            # start() is never settled
            if parent.number in {START, OWN_START} or not parent.waits:
                return ()
            if parent.number is None:
                return parent.rows
            return (parent,)
        # A redirect or another try of one in memory has its callbacks, and says no more
        # of it. Of several that have them, all are waited for.
        rows: dict[Unacked, None] = {}
        for other in self._sent_from_memory:
            is_alike = other.callback is request.callback
            if is_alike and other.errback is request.errback:
                rows |= dict.fromkeys(self.unacked[other].rows)
        return tuple(rows)

    def _claim(self, name: str) -> Request | None:
        while not self.is_tired:
            try:
                kept = self._store.claim(name)
            except StorageError as error:
                self._complaints.failed(error)
                return None
            if kept is None:
                return None
            try:
                request = self.form.read(kept.body)
            except Exception as error:  # noqa: BLE001 -- whatever a changed spider leads to
                self._complaints.unreadable(name, kept.number, error)
                self.set_aside(name)
                self._unreadable += 1
                self.is_tired = not self._unreadable % READ_AT_ONCE
                continue
            self.unacked[request] = Unacked(kept.number)
            return request
        return None
