"""The site queue: hands out requests of sites that may be asked, and keeps the others' for later.

A request held here holds no downloader place, is counted, so that the crawl does not go idle, and
is written to JOBDIR like any other.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.pqueues import DownloaderAwarePriorityQueue, ScrapyPriorityQueue
from scrapy.utils.misc import build_from_crawler

from scrapy_mandelbot import engine
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.gates import site_of_request

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.pqueues import QueueProtocol


class SiteQueue:
    """A ``SCHEDULER_PRIORITY_QUEUE`` that passes by the sites whose gate is closed.

    Requests are kept by site and download slot. Among those that may be asked, the order is that
    of Scrapy's own ``DownloaderAwarePriorityQueue``: the slots with the fewest active downloads
    first, round robin among equals, by priority within.

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
        self._downstream_queue_cls = downstream_queue_cls
        self._start_queue_cls = start_queue_cls
        self._key = key
        self._inner_class = self._crawl.config.inner_queue
        self._last_handed_out = ""
        self.pqueues: dict[str, ScrapyPriorityQueue] = {
            name: self._inner_queue(name, priorities)
            for name, priorities in (startprios or {}).items()
        }
        """A queue for each site and download slot that has requests, by :func:`queue_name`."""
        self._crawl.add_queue(self.waiting)

    def __len__(self) -> int:
        return sum(map(len, self.pqueues.values()))

    def __contains__(self, name: str) -> bool:
        return name in self.pqueues

    def waiting(self, site: str) -> int:
        """Return how many requests of the site are in the queue."""
        return sum(len(queue) for name, queue in self.pqueues.items() if _site_of(name) == site)

    def push(self, request: Request) -> None:
        """Add a request, or take one back that was handed out and could not be sent.

        Raises:
            ValueError: the request cannot be written to disk.
        """
        self._crawl.gates.take_back(request)
        name = self._name_for(request)
        if name not in self.pqueues:
            self.pqueues[name] = self._inner_queue(name)
        try:
            self.pqueues[name].push(request)
        finally:
            self._drop_if_empty(name)

    def pop(self) -> Request | None:
        """Return the next request of a site that may be asked now, or None."""
        while (name := self._next_name()) is not None:
            self._last_handed_out = name
            queue = self.pqueues[name]
            request = queue.pop()
            if request is not None and _site_of(name) == site_of_request(request):
                request = self._better_probe(request, queue, _site_of(name))
            self._drop_if_empty(name)
            if request is None:
                continue
            site = site_of_request(request)
            if site != _site_of(name) and not self._crawl.gates.may_hand_out(site):
                self.push(request)  # left by Scrapy's queue among the requests of another site
                continue
            slot = engine.slot_key(self._crawler, request)
            as_scout = self._crawl.needs_scout(request, site)
            self._crawl.gates.hand_out(request, site, slot, as_scout=as_scout)
            return request
        return None

    def peek(self) -> Request | None:
        """Return what :meth:`pop` would return, and leave it in the queue.

        Raises:
            NotImplementedError: the queue class within cannot do so.
        """
        name = self._next_name()
        return None if name is None else self.pqueues[name].peek()

    def close(self) -> dict[str, list[int]]:
        """Close all, and return the state that a queue of either kind can be built from."""
        state = {name: queue.close() for name, queue in self.pqueues.items()}
        self.pqueues.clear()
        return state

    def _name_for(self, request: Request) -> str:
        return queue_name(site_of_request(request), engine.slot_key(self._crawler, request))

    def _inner_queue(self, name: str, priorities: Iterable[int] = ()) -> ScrapyPriorityQueue:
        queue: ScrapyPriorityQueue = build_from_crawler(
            self._inner_class,
            self._crawler,
            downstream_queue_cls=self._downstream_queue_cls,
            key=self._directory(name),
            startprios=priorities,
            start_queue_cls=self._start_queue_cls,
        )
        return queue

    def _drop_if_empty(self, name: str) -> None:
        queue = self.pqueues.get(name)
        if queue is not None and not len(queue):
            del self.pqueues[name]
            queue.close()
            if self._key:
                with suppress(OSError):  # a queue class may leave files of its own there
                    Path(self._directory(name)).rmdir()

    def _directory(self, name: str) -> str:
        return f"{self._key}/{engine.path_safe(name)}"

    def _next_name(self) -> str | None:
        """Return the queue whose turn it is: fewest active downloads, then round robin."""
        gates = self._crawl.gates
        best: tuple[int, bool, str] | None = None
        for name in self.pqueues:
            slot = _slot_of(name)
            if not gates.may_hand_out(_site_of(name)) or gates.is_full(slot):
                continue
            turn = (gates.in_slot(slot), name <= self._last_handed_out, name)
            if best is None or turn < best:
                best = turn
        return None if best is None else best[2]

    def _better_probe(
        self, request: Request, queue: ScrapyPriorityQueue, site: str
    ) -> Request | None:
        """Return another request of the site, if this one would be the probe and failed last."""
        if not len(queue) or not self._crawl.gates.is_poor_probe(request, site):
            return request
        other = queue.pop()
        queue.push(request)
        return other


# The name of a queue holds its site and, where that is not simply the site's host, its download
# slot. Names that Scrapy's own queue left in JOBDIR are download slots: hosts, mostly.


def queue_name(site: str, slot: str) -> str:
    """Return the name of the queue for a site's requests in a download slot."""
    return site if slot == _host_of(site) else f"{site} {slot}"


def _site_of(name: str) -> str:
    return name.partition(" ")[0]


def _slot_of(name: str) -> str:
    site, space, slot = name.partition(" ")
    return slot if space else _host_of(site)


def _host_of(site: str) -> str:
    host = site.rpartition("://")[2]
    return host[1 : host.find("]")] if host.startswith("[") else host.partition(":")[0]
