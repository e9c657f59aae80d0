"""The site queue's storage over a job on Redis: requests of a worker's own sites."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from scrapy_mandelbot.job.job_storage import JobStorage
from scrapy_mandelbot.job.site_states import site_of_line
from scrapy_mandelbot.job.unacked import Unacked

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_mandelbot.fleet.shared_job import SharedJob


class SharedStorage(JobStorage):
    """Requests by line, of the sites that this worker owns.

    New ones go to Redis first.
    """

    sorts = False  # what waits here keeps the worker from claiming more of its site

    def __init__(self, job: SharedJob, *arguments: Any) -> None:
        super().__init__(job, *arguments)
        self._job = job
        self._away = _BySite()  # requests that are not here: in flight, or delayed
        # sites, and how many of their requests are not here
        self.under_way = self._away.counts
        # requests that cannot be written down, wherever they are
        self.here_alone = _BySite()
        self._lost: WeakSet[Request] = WeakSet()  # in flight when a lease was lost
        # sites whose requests came or went since the last look
        self.touched: dict[str, None] = {}
        # by site of others: lines of requests in memory
        self.homeless: dict[str, set[str]] = {}
        self.on_drop: Callable[[Request], None] | None = None
        """Called with each request that the queue drops in place of sending it."""

    def push_new(self, name: str, request: Request) -> bool:
        """Add a request that the job may have; return whether it can be serialized."""
        self._push(name, request)
        return request not in self.unacked  # as one in memory is

    def push(self, name: str, request: Request) -> None:
        """Take back a request that was handed out; add any other."""
        if request in self.unacked or request not in self._lost:
            self._note_return(request)
            self._push(name, request)

    def _push(self, name: str, request: Request) -> None:
        if request.meta.get("each_worker"):  # no other worker may send it
            self.push_in_memory(name, request)
            self.waits(name, is_in_memory=True)
        else:
            super().push(name, request)

    def put_at_hand(self, name: str, request: Request) -> None:
        # it was lost while the request was delayed
        if site_of_line(name) not in self._job.sites:
            self.push(name, request)
            return
        if request in self.unacked:
            self._note_return(request)
        super().put_at_hand(name, request)

    def leave_to_next_run(self, name: str, request: Request) -> bool:
        number = self.unacked[request].number
        super().leave_to_next_run(name, request)
        self._note_return(request)
        if number is not None:
            self._job.leave_to_next_run(number)
        return False

    def put_back(self, name: str, requests: list[Request]) -> None:
        for request in requests:
            self._note_return(request)
        super().put_back(name, requests)

    def pop(self, name: str) -> Request | None:
        if name not in self.lengths:
            return None
        request = super().pop(name)
        if request is not None:
            self.touched[self._away.add(name, request)] = None
        return request

    def acknowledged(self, request: Request) -> bool:
        is_acknowledged = super().acknowledged(request)
        if is_acknowledged:
            self._note_return(request)
        return is_acknowledged

    def drop(self, request: Request) -> None:
        super().drop(request)
        if self.on_drop is not None:
            self.on_drop(request)

    def taken(self, site: str) -> list[str]:
        self.touched[site] = None
        lines = sorted(self.homeless.pop(site, ()))
        for line in lines:
            if self._in_memory.get(line):
                self.grow(line, len(self._in_memory[line]))
        return lines

    def holds_in_memory(self, site: str) -> bool:
        return site in self.here_alone.counts

    def given_back(self, lines: list[str], delayed: list[Request]) -> None:
        """Hand over the requests that wait in these lines, and those that were delayed.

        Requests in memory that were handed out and came back stay.
        """
        for line in lines:
            self.total -= self.lengths.pop(line, 0)
            delayed = delayed + self.at_hand.pop(line, [])
        for request in delayed:
            self._away.discard(request)
            own_line = self.here_alone.line_of(request)
            if own_line is None:
                self.unacked.pop(request, None)
            else:
                self.push_in_memory(own_line, request)

    def lose(self) -> None:
        """Drop everything held under a lost lease, requests in flight included.

        Waiting requests in memory stay until this worker owns their sites again.
        """
        for request, one in list(self.unacked.items()):
            if one.number is not None:
                one.number = Unacked.LOST
                self._lost.add(request)
                del self.unacked[request]
                self._away.discard(request)
                self.here_alone.discard(request)
                self._sent_from_memory.discard(request)
        for line, heap in list(self._in_memory.items()):
            kept = [entry for entry in heap if entry[-1] in self.unacked]
            if kept:
                heapify(kept)
                self._in_memory[line] = kept
            else:  # others have what it held
                del self._in_memory[line]
        self.given_back(list(self.at_hand), [])
        self.lengths.clear()
        self.total = 0
        self.touched.clear()
        for line in self._in_memory:
            self.homeless.setdefault(site_of_line(line), set()).add(line)

    def set_aside(self, name: str) -> None:
        self.touched[site_of_line(name)] = None
        super().set_aside(name)

    def push_in_memory(self, name: str, request: Request) -> None:
        super().push_in_memory(name, request)
        self.here_alone.add(name, request)

    def release(self, request: Request, one: Unacked) -> None:
        super().release(request, one)
        self.here_alone.discard(request)

    def waits_anew(self, name: str, count: int = 1) -> None:
        """Leave a new request to Redis, which gives it to the owner of its site."""

    def waits(self, name: str, *, is_in_memory: bool) -> None:
        site = site_of_line(name)
        if site in self._job.sites:
            self.grow(name)
        elif is_in_memory:
            self.homeless.setdefault(site, set()).add(name)

    def _note_return(self, request: Request) -> None:
        site = self._away.discard(request)
        if site is not None:
            self.touched[site] = None


class _BySite:
    """Requests with their lines, counted by site."""

    def __init__(self) -> None:
        self._places: dict[Request, tuple[str, str]] = {}  # lines and sites
        # how many requests each site has, of those that have any
        self.counts: dict[str, int] = {}

    def add(self, line: str, request: Request) -> str:
        self.discard(request)
        site = site_of_line(line)
        self._places[request] = line, site
        self.counts[site] = self.counts.get(site, 0) + 1
        return site

    def discard(self, request: Request) -> str | None:
        if request not in self._places:
            return None
        _, site = self._places.pop(request)
        self.counts[site] -= 1
        if not self.counts[site]:
            del self.counts[site]
        return site

    def line_of(self, request: Request) -> str | None:
        return self._places.get(request, (None,))[0]
