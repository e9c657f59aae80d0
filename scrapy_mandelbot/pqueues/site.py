"""The SCHEDULER_PRIORITY_QUEUE."""

from __future__ import annotations

import logging
from math import inf
from typing import TYPE_CHECKING, Any

import scrapy.signals
from scrapy.pqueues import DownloaderAwarePriorityQueue, ScrapyPriorityQueue
from scrapy.utils.job import job_dir
from scrapy.utils.misc import build_from_crawler

from scrapy_mandelbot import engine
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.gates import site_of_request
from scrapy_mandelbot.pqueues.aside import Aside
from scrapy_mandelbot.pqueues.names import gate_of_name, queue_name, slot_of_name
from scrapy_mandelbot.pqueues.shelf import Shelf
from scrapy_mandelbot.pqueues.turns import Turns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.pqueues import QueueProtocol

logger = logging.getLogger(__name__)

_OPEN_DISK_QUEUES = 200
"""How many of Scrapy's disk queues are open at a time; each has a file or two."""
_LOOK_AGAIN = 1.0  # seconds
_NAMED = 10  # of the requests that are lost


class SiteQueue:
    """A ``SCHEDULER_PRIORITY_QUEUE`` that passes by the sites whose gate is closed.

    Requests are kept by gate and download slot. Among those that may be asked, the order is that
    of Scrapy's own ``DownloaderAwarePriorityQueue``: the slots with the fewest active downloads
    first, round robin among equals, by priority within. No slot gets more than it transfers at
    once. A pop costs the same however many sites there are. A request that came back and has to
    wait for a time of its own is set aside meanwhile.

    Its directories and state in JOBDIR have Scrapy's form, so that either queue can resume what
    the other left. Where Scrapy's queue left requests of several sites in one, each is moved to
    its own as it comes to light.
    """

    @classmethod
    def from_crawler(
        cls,
        crawler: Crawler,
        downstream_queue_cls: type[QueueProtocol],
        key: str,
        startprios: dict[str, Iterable[int]] | None = None,
        *,
        start_queue_cls: type[QueueProtocol] | None = None,
    ) -> Any:
        """Build the queue; Scrapy's own where MANDELBOT_ENABLED is False."""
        queue_class: Any = cls if Crawl.of(crawler).config.enabled else DownloaderAwarePriorityQueue
        return queue_class(
            crawler, downstream_queue_cls, key, startprios, start_queue_cls=start_queue_cls
        )

    def __init__(
        self,
        crawler: Crawler,
        downstream_queue_cls: type[QueueProtocol],
        key: str,
        startprios: dict[str, Iterable[int]] | None = None,
        *,
        start_queue_cls: type[QueueProtocol] | None = None,
    ) -> None:
        if startprios and not isinstance(startprios, dict):
            raise ValueError(
                "SiteQueue resumes what a queue left that keeps requests by download slot, as"
                " SiteQueue and scrapy.pqueues.DownloaderAwarePriorityQueue do. This JOBDIR holds"
                f" the state of another queue: {startprios!r}."
            )
        self._crawler = crawler
        self._crawl = Crawl.of(crawler)
        self._gates = self._crawl.gates

        def open_queue(directory: str, priorities: Iterable[int]) -> ScrapyPriorityQueue:
            queue: ScrapyPriorityQueue = build_from_crawler(
                self._crawl.config.inner_queue,
                crawler,
                downstream_queue_cls=downstream_queue_cls,
                key=directory,
                startprios=priorities,
                start_queue_cls=start_queue_cls,
            )
            return queue

        self._shelf = Shelf(open_queue, key, _OPEN_DISK_QUEUES)
        self._aside = Aside(self._crawl.now, self._come_back)
        self._turns = Turns(self._gates.handouts.in_slot)
        self._by_gate: dict[str, set[str]] = {}
        self._waits_for_an_end: set[str] = set()
        """Names out of line until a request under way has ended: a full slot, a scout, a probe."""
        self._looked_again_at = -inf
        for name, priorities in (startprios or {}).items():
            self._shelf.restore(name, priorities)
            self._join(name)
        self._gates.add_queue(self)
        if not key and job_dir(crawler.settings):  # Scrapy does not close the one in memory
            crawler.signals.connect(self._tell_lost, signal=scrapy.signals.spider_closed)

    def __len__(self) -> int:
        return len(self._shelf) + len(self._aside)

    def __contains__(self, name: str) -> bool:
        return name in self._shelf

    def push(self, request: Request) -> None:
        """Add a request, or take one back that was handed out and could not be sent.

        Raises:
            ValueError: the request cannot be written to disk.
        """
        not_before = self._gates.handouts.take_back(request)
        slot = engine.slot_key(self._crawler, request)
        name = queue_name(self._gates.gate_of(request), slot)
        if not_before > self._crawl.now():
            self._by_gate.setdefault(gate_of_name(name), set()).add(name)
            self._aside.put(name, request, not_before)
        else:
            self._shelf.push(name, request)
            self._join(name)

    def pop(self) -> Request | None:
        """Return the next request of a site that may be asked now, or None."""
        while (name := self._next_name()) is not None:
            gate = gate_of_name(name)
            self._turns.take(name)
            request = self._shelf.pop(name)
            if request is not None:
                request = self._better_probe(request, name, gate)
            self._leave_if_empty(name)
            if request is None or self._crawl.drops(request):
                continue
            actual_gate = self._gates.gate_of(request)
            if actual_gate != gate:
                # Left by Scrapy's queue, which does not tell sites apart.
                gate = actual_gate
                if not self._gates.may_hand_out(gate):
                    self.push(request)
                    continue
            slot, site = engine.slot_key(self._crawler, request), site_of_request(request)
            as_scout = self._crawl.needs_scout(request, site)
            if self._crawl.learn_pace(request, site) and not self._gates.may_hand_out(gate):
                self.push(request)
                continue
            self._gates.hand_out(request, gate, slot, as_scout=as_scout)
            return request
        return None

    def peek(self) -> Request | None:
        """Return what :meth:`pop` would return, and leave it in the queue.

        Raises:
            NotImplementedError: the queue class within cannot do so.
        """
        name = self._next_name()
        return None if name is None else self._shelf.peek(name)

    def drain(self) -> Iterator[Request]:
        """Take out all requests, whatever the gates say."""
        self._end_aside()
        while len(self._shelf):
            name = next(iter(self._shelf))
            request = self._shelf.pop(name)
            self._leave_if_empty(name)
            if request is not None:
                yield request

    def close(self) -> dict[str, list[int]]:
        """Close all, and return the state that a queue of either kind can be built from."""
        self._end_aside()
        self._warn_of(self._shelf.put_down())
        return self._shelf.close()

    # Told by the gates.

    def waiting(self, gate: str) -> int:
        """Return how many requests in the queue have to pass this gate."""
        names = self._by_gate.get(gate, ())
        return sum(self._shelf.length(name) + self._aside.length(name) for name in names)

    def slot_changed(self, slot: str) -> None:
        """Note that a request was handed out to a download slot, or has left it."""
        self._turns.slot_changed(slot)

    def gate_changed(self, gate: str) -> None:
        """Note that a gate which was shut may let requests through, perhaps."""
        names = self._by_gate.get(gate, ())
        self._turns.may_stand(name for name in names if name in self._turns)

    # The rest is the queue's own.

    def _join(self, name: str) -> None:
        if name in self._shelf and name not in self._turns:
            self._turns.join(name, slot_of_name(name))
            self._by_gate.setdefault(gate_of_name(name), set()).add(name)

    def _leave_if_empty(self, name: str) -> None:
        if name in self._shelf:
            return
        self._turns.leave(name)
        self._waits_for_an_end.discard(name)
        if self._aside.length(name):
            return
        names = self._by_gate[gate_of_name(name)]
        names.discard(name)
        if not names:
            del self._by_gate[gate_of_name(name)]

    def _come_back(self, name: str, request: Request) -> None:
        """Put a request that was set aside where it is the next of its queue."""
        self._shelf.put_at_hand(name, request)
        self._join(name)
        engine.wake(self._crawler)

    def _end_aside(self) -> None:
        for name, request in self._aside.drain():
            self._come_back(name, request)

    def _tell_lost(self) -> None:
        """Name what JOBDIR does not keep, as Scrapy could not write it to disk."""
        self._warn_of(list(self.drain()))

    def _warn_of(self, lost: list[Request]) -> None:
        if not lost:
            return
        logger.warning(
            "%(count)d requests are not in JOBDIR, as they cannot be written to disk (is each"
            " callback a method of the spider?), and are lost: %(requests)s%(more)s",
            {
                "count": len(lost),
                "requests": ", ".join(map(str, lost[:_NAMED])),
                "more": ", …" if len(lost) > _NAMED else "",
            },
            extra={"spider": self._crawler.spider},
        )

    def _next_name(self) -> str | None:
        """Return the name whose turn it is; those that must wait leave the line."""
        while True:
            name = self._turns.first()
            if name is None:
                if not self._look_again():
                    return None
            elif not self._gates.may_hand_out(gate_of_name(name)):
                self._turns.step_out(name)
                if self._gates.awaits_an_end(gate_of_name(name)):
                    self._waits_for_an_end.add(name)
            elif self._gates.handouts.is_full(slot_of_name(name)):
                self._turns.step_out(name)
                self._waits_for_an_end.add(name)
            else:
                return name

    def _look_again(self) -> bool:
        """Let names stand in line whose wait may have ended without a word.

        Every end is told, but that of a request which some middleware swallowed.
        """
        now = self._crawl.now()
        if not self._waits_for_an_end or now < self._looked_again_at + _LOOK_AGAIN:
            return False
        self._looked_again_at = now
        self._turns.may_stand(self._waits_for_an_end)
        self._waits_for_an_end.clear()
        return True

    def _better_probe(self, request: Request, name: str, gate: str) -> Request | None:
        """Return another request of the gate, if this one would be the probe and failed last."""
        if name not in self._shelf or not self._gates.is_poor_probe(request, gate):
            return request
        other = self._shelf.pop(name)
        self._shelf.put_at_hand(name, request)
        return other
