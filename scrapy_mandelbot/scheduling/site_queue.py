"""The SCHEDULER_PRIORITY_QUEUE."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

import scrapy.signals
from scrapy.pqueues import DownloaderAwarePriorityQueue, ScrapyPriorityQueue
from scrapy.squeues import LifoMemoryQueue
from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.job import job_dir
from scrapy.utils.misc import build_from_crawler

from scrapy_mandelbot import engine
from scrapy_mandelbot.clock import Timers
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.politeness.flight import End, Flight
from scrapy_mandelbot.politeness.probe import look_for_probe, looked_through, refused_longest_ago
from scrapy_mandelbot.robots.origins import site_of
from scrapy_mandelbot.scheduling.round_robin import Line, RoundRobin
from scrapy_mandelbot.scheduling.storage import (
    RequestStorage,
    Storage,
    parts_of_name,
    queue_name,
    warn_of_lost,
)
from scrapy_mandelbot.throttle.in_flight import AT_FIRST

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.pqueues import QueueProtocol

    from scrapy_mandelbot.politeness.site_state import Site

_OPEN_DISK_QUEUES = 200  # of Scrapy's, at a time; each has a file or two
_LOADED = 20  # queues of a former run at a time: 50,000 would take a second and more


@dataclass(eq=False)
class _Delayed:
    """A request that waits for a time of its own; the same one may be there twice."""

    line: Line
    request: Request


class SiteQueue:
    """A ``SCHEDULER_PRIORITY_QUEUE`` that skips the sites that may not be requested now.

    Its order is that of Scrapy's ``DownloaderAwarePriorityQueue``: the slots with the fewest active
    downloads first, round robin among equals, by priority within. No slot gets more than it
    transfers at once, and a pop costs the same however many sites there are.

    Its directories and state in JOBDIR have Scrapy's form: either queue can resume the other's.
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

    def __init__(  # noqa: PLR0913 -- Scrapy's arguments, and one of ours
        self,
        crawler: Crawler,
        downstream_queue_cls: type[QueueProtocol],
        key: str,
        startprios: dict[str, Iterable[int]] | None = None,
        *,
        start_queue_cls: type[QueueProtocol] | None = None,
        storage: RequestStorage | None = None,
    ) -> None:
        if startprios and not isinstance(startprios, dict):
            raise ValueError(
                "SiteQueue resumes what a queue left that keeps requests by download slot, as"
                " SiteQueue and scrapy.pqueues.DownloaderAwarePriorityQueue do. This JOBDIR holds"
                f" the state of another queue: {startprios!r}."
            )
        self._crawler = crawler
        self._crawl = Crawl.of(crawler)
        self._throttle = self._crawl.throttle
        self._in_flight = self._throttle.in_flight
        self._at_first = AT_FIRST if self._crawl.config.recovers else inf

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

        self._storage: RequestStorage = (
            Storage(open_queue, key, _OPEN_DISK_QUEUES, startprios) if storage is None else storage
        )
        self._delayed = Timers(self._crawl.clock, self._wait_is_over)
        self._lines = RoundRobin(self._in_flight.in_slot)
        self.slot_changed = self._lines.slot_changed
        self._names_left = frozenset(startprios or ())
        """Those that Scrapy's own queue may have given: any string is a slot's name there."""
        self.unloaded = deque(self._storage)
        """Names of queues that a former run has left, and of which nothing was looked at."""
        self._throttle.listen(self)
        # Scrapy does not close the one in memory.
        if storage is None and not key and job_dir(crawler.settings):
            crawler.signals.connect(self._tell_lost, signal=scrapy.signals.spider_closed)

    @classmethod
    def over(cls, crawler: Crawler, storage: RequestStorage) -> SiteQueue:
        """Build the queue over requests that are kept elsewhere than in queues of Scrapy's."""
        return cls(crawler, LifoMemoryQueue, "", storage=storage)

    def __len__(self) -> int:
        return len(self._storage) + len(self._delayed)

    def __contains__(self, name: str) -> bool:
        return name in self._storage

    def push(self, request: Request) -> None:
        """Add a request, or take one back that was handed out and could not be sent.

        Raises:
            ValueError: the request cannot be written to disk.
        """
        was = self._in_flight.take_back(request) if self._in_flight.coming_back else None
        slot = engine.slot_key(self._crawler, request)
        name = site_of(urlparse_cached(request)) if was is None else was.site
        line = self._lines.get((name, slot, ""))
        if line is None or not line.site.is_plain:
            line = self._line_for(request, self._throttle.sites.of(name), slot)
        if line.site.has_refused or (was is not None and was.not_before):
            not_before = 0.0 if was is None else was.not_before
            if until := self._waits_until(line, request, not_before, has_come=True):
                self._delay(_Delayed(line, request), until)
                line.site.tally.taken += 1
                return
        try:
            self._storage.push(line.name, request)
        except ValueError:
            self._leave_if_empty(line)
            raise
        line.site.tally.taken += 1
        if not line.has_joined:
            self._lines.join(line)

    def pop(self) -> Request | None:
        """Return the next request of a site that may be asked now, or None."""
        if self.unloaded:
            self._load(_LOADED)
        while (line := self._next_line()) is not None:
            if line.is_sharing:
                self._lines.take(line)
            request = self._storage.pop(line.name) if line.site.is_plain else self._choose(line)
            if line.name not in self._storage.lengths:
                self._leave_if_empty(line)
            if request is None and self._storage.is_tired:
                break
            if request is None:
                continue
            if self._crawl.drops and self._crawl.drops(request):
                self._storage.drop(request)
                line.site.tally.count(End.DROPPED)
            elif self._hands_out(request, line):
                return request
            else:
                line.site.tally.taken -= 1  # it is counted anew
                self.push(request)
        return None

    def peek(self) -> Request | None:
        """Return what :meth:`pop` would return, and leave it in the queue.

        Raises:
            NotImplementedError: the queue class within cannot do so.
        """
        line = self._next_line()
        return None if line is None else self._storage.peek(line.name)

    def drain(self) -> Iterator[Request]:
        """Take out all requests, whatever is known of their sites."""
        self._end_delays()
        self._load(len(self.unloaded))
        for line in list(self._lines.values()):
            while line.name in self._storage:
                request = self._storage.pop(line.name)
                self._leave_if_empty(line)
                if request is not None:
                    yield request

    def close(self) -> dict[str, list[int]]:
        """Close all, and return the state that a queue of either kind can be built from."""
        self._end_delays()
        warn_of_lost(self._crawler, self._storage.put_down())
        return self._storage.close()

    def count_ready(self) -> int:
        """Return how many requests wait for one in flight, where :meth:`pop` finds none."""
        return sum(
            self._storage.length(line.name)
            for slot in self._in_flight.slots()
            for line in self._lines.lines_of(slot)
            if not self._throttle.holds_back(line.site, line.section)
        )

    def holds_back(self, request: Request) -> bool:
        """Return whether a request would have to wait for a time of its site."""
        site = self._throttle.site_of(request)
        if site.is_plain:
            return False
        path = section.path if (section := site.faults.of(request)) else ""
        return self._throttle.holds_back(site, path)

    # Asked and told by the throttle.

    def waiting(self, site: Site) -> int:
        """Return how many requests for the site it holds."""
        return sum(map(self._length, self._lines.of(site)))

    def load_some(self, most: int) -> bool:
        """Let so much of what a former run has left take part; return whether there is more."""
        self._load(most)
        return bool(self.unloaded)

    def lines(self) -> Iterator[tuple[Site, str, int]]:
        """Yield site, section ("" for none) and number of requests of each sub-queue."""
        self._load(len(self.unloaded))
        for line in tuple(self._lines.values()):
            yield line.site, line.section, self._length(line)

    def delayed(self) -> Iterator[tuple[Site, float]]:
        """Yield site and time of each request that waits for a time of its own, likewise."""
        return ((one.line.site, at) for at, one in self._delayed)

    def site_changed(self, site: Site) -> None:
        """Note that a site which had to wait may be asked, perhaps."""
        shared_slot = self._in_flight.shared_slot
        for line in self._lines.of(site):
            if shared_slot is not None:
                self._lines.move(line, shared_slot)
            if line.activity is None and line.name in self._storage:
                self._lines.stand(line)

    def end_delays(self, site: Site) -> None:
        """Have those requests of a site come back that wait for a time which is another one now."""
        taken = self._delayed.take(lambda one: one.line.site is site)
        for one in taken:
            one.line.delayed = 0
        for one, until in [(one, self._waits_until(one.line, one.request)) for one in taken]:
            self._delay(one, until)

    # Told by a job that others share.

    def load(self, name: str) -> None:
        """Have a line take part to which requests have come by themselves."""
        line = self._line_named(name)
        if not line.has_joined:
            self._lines.join(line)

    def delayed_of(self, site: Site) -> int:
        """Return how many requests of a site wait for a time of their own."""
        return sum(line.delayed for line in self._lines.of(site))

    def leave(self, site: Site) -> tuple[list[str], list[Request]]:
        """Forget what waits of a site; return its lines, and the requests that were delayed."""
        lines = tuple(self._lines.of(site))
        taken = self._delayed.take(lambda one: one.line.site is site) if lines else []
        for line in lines:
            if line.has_joined:
                self._lines.leave(line)
            self._lines.drop(line)
        return [line.name for line in lines], [one.request for one in taken]

    def _hands_out(self, request: Request, line: Line) -> bool:
        """Hand the request out, if it may be after all that is found out about it only now."""
        site, slot = line.site, line.slot
        if not line.is_ours:  # Scrapy's queue does not tell sites apart
            site = self._throttle.site_of(request)
            slot = self._in_flight.slot_of(request, site)
            if not self._throttle.may_hand_out(site):
                return False
        now = self._crawl.now()
        as_scout = self._crawl.needs_scout(request, site, now)
        is_news = self._throttle.is_paced and self._crawl.learn_pace(request, site)
        if is_news and not self._throttle.may_hand_out(site):
            return False
        flight = Flight(request, site)
        flight.slot = slot
        self._throttle.hand_out(flight, now, as_scout=as_scout)
        return True

    def _load(self, most: int) -> None:
        for _ in range(min(most, len(self.unloaded))):
            name = self.unloaded.popleft()
            if name in self._storage:
                self.load(name)

    def _line_named(self, name: str) -> Line:
        parts = parts_of_name(name)
        line = self._lines.get((parts.site, parts.slot, parts.section))
        if line is None:
            line = self._add_line(Line(name, self._throttle.sites.of(parts.site), *parts[1:3]))
        return line

    def _add_line(self, line: Line) -> Line:
        line.is_ours = line.name not in self._names_left
        self._lines.add(line)
        if self._in_flight.shared_slot is not None:
            self._lines.move(line, self._in_flight.shared_slot)
        return line

    def _length(self, line: Line) -> int:
        return self._storage.length(line.name) + line.delayed

    def _leave_if_empty(self, line: Line) -> None:
        if line.name in self._storage:
            return
        if line.has_joined:
            self._lines.leave(line)
        if not line.delayed:
            self._lines.drop(line)

    def _line_for(self, request: Request, site: Site, slot: str) -> Line:
        path = section.path if (section := site.faults.of(request)) else ""
        line = self._lines.get((site.name, slot, path))
        if line is None:
            name = queue_name(site.name, slot, path)
            line = self._add_line(Line(name, site, slot, path))
        return line

    def _waits_until(
        self, line: Line, request: Request, not_before: float = 0.0, *, has_come: bool = False
    ) -> float:
        """Return when a request that came back, perhaps just now, may be handed out; 0: now.

        One that was refused with its site lets others go first; if all were, those before it.
        """
        now = self._crawl.now()
        if not_before > now:
            return not_before
        at, is_alone = self._throttle.may_go_at(request, line.site)
        if at <= now or is_alone:
            return at if at > now else 0.0
        if has_come and self._delayed and line.name not in self._storage.lengths:
            self.end_delays(line.site)
        return at if line.name in self._storage.lengths else 0.0

    def _wait_is_over(self, one: _Delayed) -> None:
        """Have a delayed request come back, if nothing has changed its time."""
        one.line.delayed -= 1
        self._delay(one, self._waits_until(one.line, one.request))

    def _delay(self, one: _Delayed, until: float) -> None:
        """Delay a request until a time; 0: put it where it is the next of its queue."""
        line = one.line
        if until:
            line.delayed += 1
            self._delayed.set(one, until)
            return
        self._storage.put_at_hand(line.name, one.request)
        if not line.has_joined:
            self._lines.join(line)
        engine.wake(self._crawler)

    def _end_delays(self) -> None:
        for one in self._delayed.take():
            one.line.delayed -= 1
            self._delay(one, 0.0)

    def _tell_lost(self) -> None:
        warn_of_lost(self._crawler, list(self.drain()))

    def _next_line(self) -> Line | None:
        """Return the line whose turn it is; those that must wait step out."""
        round_robin, in_flight, first = self._lines, self._in_flight, self._at_first
        limits, unresponsive, begins = in_flight.limits, in_flight.unresponsive, in_flight.begins
        while True:
            if round_robin.held and not unresponsive.are_enough():
                round_robin.stand_one_held()
            line = round_robin.first()
            if line is None:
                if self.unloaded:
                    self._load(_LOADED)
                elif not round_robin.look_again(self._crawl.now()):
                    return None
            elif not (line.site.is_plain or self._throttle.may_hand_out(line.site, line.section)):
                round_robin.step_out(line, until_an_end=bool(line.site.awaited))
            elif line.activity and (
                (line.activity >= limits[line.slot] and in_flight.is_full(line.slot))
                or (line.activity >= first + line.site.tally.pages and begins(line.site, line.slot))
            ):
                round_robin.step_out(line, until_an_end=True)
            elif not line.site.has_answered and unresponsive.are_enough():
                round_robin.hold(line)
            else:
                return line

    def _choose(self, line: Line) -> Request | None:
        """Take the request of a line that may go next; None: it waits after all.

        The probe of a paused site comes from elsewhere than what was refused, so some requests are
        looked through. What is of a section that was set aside moves to a line of its own.
        """
        most = looked_through(line.site)
        request = self._storage.pop(line.name) if most == 1 else self._probe(line, most)
        if request is None or line.section or line.site.faults.of(request) is None:
            return request
        line.site.tally.taken -= 1
        try:
            self.push(request)
        except Exception:
            self._storage.put_back(line.name, [request])
            line.site.tally.taken += 1
            raise
        return None

    def _probe(self, line: Line, most: int) -> Request | None:
        """Take the request of a line that asks its site how it is; None: another one is asked for.

        `most`: how many requests are looked through at first.
        """
        site, take = line.site, self._storage.take
        of = self._crawler.request_fingerprinter.fingerprint
        chosen, looked_at = look_for_probe(site, lambda more: take(line.name, more), of, most)
        if chosen is None and looked_at and not self._throttle.health_check.ask(site):
            chosen = refused_longest_ago(site, looked_at, of)
        request = None if chosen is None else looked_at.pop(chosen)
        self._storage.put_back(line.name, looked_at)
        return request
