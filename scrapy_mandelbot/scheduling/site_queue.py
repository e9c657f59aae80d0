"""The SCHEDULER_PRIORITY_QUEUE."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, partial
from math import inf
from typing import TYPE_CHECKING, Any

import scrapy.signals
from mandelbot.origins import site_of
from scrapy.pqueues import DownloaderAwarePriorityQueue, ScrapyPriorityQueue
from scrapy.squeues import LifoMemoryQueue
from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.job import job_dir
from scrapy.utils.misc import build_from_crawler

from scrapy_mandelbot import engine
from scrapy_mandelbot.clock import Timers
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.politeness.flight import EXEMPT, GO, Decision, Flight
from scrapy_mandelbot.politeness.tally import End
from scrapy_mandelbot.scheduling.round_robin import (
    DELAYED,
    DUE,
    PAST_PAUSES,
    QueueCounts,
    QueueParts,
    RoundRobin,
    SubQueue,
)
from scrapy_mandelbot.scheduling.storage import RequestStorage, Storage, warn_of_lost

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.pqueues import QueueProtocol

    from scrapy_mandelbot.politeness.site_state import Site

_OPEN_DISK_QUEUES = 200  # of Scrapy's, at a time; each has a file or two
_SPECIAL = frozenset({"dont_pause", "dont_obey_budget", "delay", DUE})
"""Meta keys of requests that may have a sub-queue of their own."""
_LOADED = 20  # sub-queues at a time: 50,000 would take a second and more


class _Delayed:
    """A request that was refused, and waits for its own time in memory.

    The same one may be there twice.
    """

    __slots__ = ("queue", "request")

    def __init__(self, queue: SubQueue, request: Request) -> None:
        self.queue = queue
        self.request = request


class SiteQueue:
    """A ``SCHEDULER_PRIORITY_QUEUE`` that skips sites which may not be asked now.

    Its order is that of Scrapy's ``DownloaderAwarePriorityQueue``: the slots with the
    fewest active downloads first, round robin among equals, by priority within. No slot
    gets more than it transfers at once, and a pop costs the same however many sites
    there are.

    Its directories and state in JOBDIR have Scrapy's form: either queue can resume the
    other's.
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
        queue_class: Any = DownloaderAwarePriorityQueue
        if Crawl.of(crawler).config.enabled:
            queue_class = cls
        return queue_class(
            crawler,
            downstream_queue_cls,
            key,
            startprios,
            start_queue_cls=start_queue_cls,
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
                "SiteQueue resumes what a queue left that keeps requests by download"
                " slot, as SiteQueue and scrapy.pqueues.DownloaderAwarePriorityQueue"
                f" do. This JOBDIR holds the state of another queue: {startprios!r}."
            )
        self._crawler = crawler
        self._crawl = Crawl.of(crawler)
        self._throttle = self._crawl.throttle
        self._in_flight = self._throttle.in_flight
        # A delay is the project's own way, or AutoThrottle's, to hold requests back.
        self._in_flight.counts_at_once = (
            self._crawl.config.recovers and not engine.has_delays(crawler)
        )
        self._in_flight.finds_limits = (
            self._in_flight.counts_at_once
            and self._crawl.config.concurrency == "measured"
        )

        def open_queue(
            directory: str, priorities: Iterable[int]
        ) -> ScrapyPriorityQueue:
            queue: ScrapyPriorityQueue = build_from_crawler(
                self._crawl.config.inner_queue,
                crawler,
                downstream_queue_cls=downstream_queue_cls,
                key=directory,
                startprios=priorities,
                start_queue_cls=start_queue_cls,
            )
            return queue

        if storage is None:
            # A third-party queue may do anything with a request, also with one that is
            # alone.
            queues = {
                self._crawl.config.inner_queue.__module__,
                downstream_queue_cls.__module__,
            }
            alone = not key and queues == {"scrapy.pqueues", "scrapy.squeues"}
            storage = Storage(
                open_queue, key, _OPEN_DISK_QUEUES, startprios, alone=alone
            )
            # Scrapy does not close the one in memory.
            if not key and job_dir(crawler.settings):
                crawler.signals.connect(
                    self._warn_of_lost, signal=scrapy.signals.spider_closed
                )
        self._storage = storage
        self._delayed = Timers(self._crawl.clock, self._wait_is_over)
        self._not_due: dict[SubQueue, float] = {}
        """Sub-queues of which no request may be sent before its delay is over, and when
        the first is. They take no part until then.
        """
        self._left_to_next_run: Counter[Site] = Counter()
        self._round_robin = RoundRobin(self._in_flight.in_slot)
        self.slot_changed = self._round_robin.slot_changed
        self.counts = QueueCounts(storage, self._round_robin)
        """What waits in it, by what it waits for."""
        self._flights = self._in_flight.flights
        self._places = crawler.settings.getint("CONCURRENT_REQUESTS")
        self._names_left = frozenset(startprios or ())
        """Those that Scrapy's own queue may have given: any string is a slot's name
        there.
        """
        self.unloaded = deque(self._storage)
        """Names of sub-queues of the previous run that were not loaded yet."""
        if not self._in_flight.queues:
            self._throttle.peers.begin()  # now there is a loop for the timers
        self._in_flight.queues.append(self)
        self._crawl.load.add(self.counts)

    @cached_property
    def _name_slot(self) -> Callable[[Request], str]:
        """Names the download slot of a request; looked up once, as each has one."""
        return engine.slot_namer(self._crawler)

    @classmethod
    def over(cls, crawler: Crawler, storage: RequestStorage) -> SiteQueue:
        """Build the queue over requests that Scrapy's queues do not keep."""
        return cls(crawler, LifoMemoryQueue, "", storage=storage)

    def __len__(self) -> int:
        return len(self._storage) + len(self._delayed)

    def push(self, request: Request) -> None:  # noqa: C901, PLR0912 -- as pop()
        """Add a request, or take back one that could not be sent.

        Raises:
            ValueError: the request cannot be written to disk.
        """
        prior = None
        if request.dont_filter:
            prior = self._in_flight.take_back(request)
        slot = self._name_slot(request)
        name = site_of(urlparse_cached(request)) if prior is None else prior.site
        queue = self._round_robin.get((name, slot, ""))
        is_special = not _SPECIAL.isdisjoint(request.meta)
        due = 0.0
        if is_special:
            due = self._sort_by_due(request)
        if queue is None or is_special or not queue.site.is_plain:
            site = self._throttle.sites.of(name) if queue is None else queue.site
            path = ""
            if is_special or site.faults.aside:
                path = self._section_of(request, site)
            if path:
                queue = self._round_robin.get((name, slot, path))
            if queue is None:
                parts = QueueParts(name, slot, path)
                queue = self._add_queue(SubQueue(site, parts))
            if not queue.site.is_plain and queue.site.dead_until < inf:
                self._throttle.pauses.meet_anew(queue.site)
        if queue.site.has_refused or (prior is not None and prior.not_before):
            not_before = 0.0 if prior is None else prior.not_before
            if not_before == inf:
                self._leave_to_next_run(queue, request)
                return
            until = self._waits_until(queue, request, not_before, has_come=True)
            if until and self._storage.keeps(request):
                self._delay(_Delayed(queue, request), until)
                queue.site.tally.accept()
                return
        try:
            self._storage.push(queue.name, request)
        except ValueError:
            if queue.name not in self._storage.lengths:
                self._rest(queue)
            raise
        queue.site.tally.accept()
        if queue.apart is not None:
            queue.apart.put(queue, self._storage.length(queue.name))
        if not queue.has_joined:
            if due or self._not_due:
                self._join(queue, due)
            else:
                self._round_robin.join(queue)  # a call less for each new site

    def pop(self) -> Request | None:  # noqa: C901, PLR0912 -- a call less for each page
        """Return the next request of a site that may be asked now, or None."""
        if self.unloaded:
            self._load(_LOADED)
        while True:
            queue = self._next_queue()
            if queue is None:
                return None
            if queue.is_sharing:
                self._round_robin.take(queue)
            if queue.site.is_plain:
                request = self._storage.pop(queue.name)
            else:
                request = self._choose(queue)
            if queue.name not in self._storage.lengths:
                self._rest(queue)
            if request is None:
                if self._storage.is_tired:
                    return None
                continue
            if queue.section and self._has_moved(queue, request):
                continue
            if self._crawl.drops and self._crawl.drops(request):
                self._storage.drop(request)
                queue.site.tally.count(End.DROPPED)
            elif self._try_to_hand_out(request, queue):
                activity = queue.activity
                # another slot without any is next in any case
                if 0 not in self._round_robin.standing and (
                    activity is None
                    or activity >= queue.site.concurrency.bound
                    or activity >= self._in_flight.limits[queue.slot]
                    or activity >= queue.site.ceiling.most
                    or not queue.site.is_plain
                ):
                    self._look_for_another(request)
                return request
            else:
                queue.site.tally.return_to_queue()
                self.push(request)

    def peek(self) -> Request | None:
        """Return what :meth:`pop` would return, and leave it in the queue."""
        queue = self._next_queue()
        if queue is None:
            return None
        return self._storage.peek(queue.name)

    def drain(self) -> Iterator[Request]:
        """Take out all requests, whatever is known of their sites."""
        self._end_delays()
        self._load(len(self.unloaded))
        for queue in list(self._round_robin.values()):
            while queue.name in self._storage:
                request = self._storage.pop(queue.name)
                if queue.name not in self._storage.lengths:
                    self._rest(queue)
                if request is not None:
                    if DUE in request.meta:
                        self._end_delay(request)
                    yield request
        left = self._storage.left_to_next_run
        while left:
            yield left.pop(0)[1]

    def close(self) -> dict[str, list[int]]:
        """Close all queues. Returns the state from which any queue is built."""
        self._end_delays()
        warn_of_lost(self._crawler, self._storage.put_down())
        return self._storage.close()

    def count_ready(self) -> int:
        """Return how many requests wait for one in flight if :meth:`pop` has none."""
        ready = 0
        for slot in self._in_flight.slots():
            for queue in self._round_robin.of_slot(slot):
                if not self._throttle.holds_back(queue.site, queue.section):
                    ready += self._storage.length(queue.name)
        return ready

    def holds_back(self, request: Request) -> bool:
        """Return whether a request would have to wait for a time."""
        if DUE in request.meta:
            return True
        site = self._throttle.sites.of_request(request)
        if site.is_plain:
            return False
        if request.meta.get("dont_pause"):
            return False
        section = site.faults.of(request)
        path = "" if section is None else section.path
        return self._throttle.holds_back(site, path)

    def waiting(self, site: Site) -> int:
        """Return how many requests for the site it holds."""
        return sum(map(self._length, self._round_robin.of(site)))

    def load_some(self, most: int) -> bool:
        """Load some sub-queues of the previous run; return whether there are more."""
        self._load(most)
        return bool(self.unloaded)

    def sub_queues(self) -> Iterator[tuple[Site, str, int]]:
        """Yield site, section ("": none) and number of requests of each sub-queue."""
        self._load(len(self.unloaded))
        for queue in tuple(self._round_robin.values()):
            length = self._length(queue)
            if length:
                yield queue.site, queue.section, length

    def delayed(self) -> Iterator[tuple[Site, float, int]]:
        """Yield site, time and number of requests that wait for a time of their own."""
        for at, one in self._delayed:
            yield one.queue.site, at, 1
        for queue, at in tuple(self._not_due.items()):
            yield queue.site, at, self._storage.length(queue.name)

    def may_leave(self, request: Request) -> bool:
        """Return whether a request that it handed out can be left to the next run."""
        return self._storage.may_leave(request)

    def left_to_next_run(self) -> Mapping[Site, int]:
        """Return how many requests it keeps for the next run, by site."""
        return self._left_to_next_run

    def site_changed(self, site: Site) -> None:
        """Note that a waiting site may be due."""
        shared_slot = self._in_flight.shared_slot
        self._round_robin.is_settled = False
        for queue in self._round_robin.of(site):
            if queue.apart is not None and queue.has_joined:
                queue.apart.drop(queue)
            if shared_slot is not None:
                self._round_robin.move(queue, shared_slot)
            if queue.has_joined and queue.activity is None:
                self._round_robin.stand(queue)
        # whichever site's: they may be held until any has answered
        if self._storage.total:
            engine.wake(self._crawler)

    def end_delays(self, site: Site) -> None:
        """Return the delayed requests of a site whose time has changed."""
        taken = self._take_delayed(site)
        for one in taken:
            one.queue.delayed = 0
        # Before any of them is back, which would let others wait for it.
        times = [self._waits_until(one.queue, one.request) for one in taken]
        for one, until in zip(taken, times, strict=True):
            self._delay(one, until)

    def _take_delayed(self, site: Site) -> list[_Delayed]:
        return self._delayed.take(lambda one: one.queue.site is site)

    # Called by a job that workers share.

    def load(self, name: str) -> None:
        """Add the sub-queue of requests that the storage got elsewhere."""
        parts = QueueParts.of(name)
        queue = self._round_robin.get(parts[:3])
        if queue is None:
            queue = self._add_queue(
                SubQueue(self._throttle.sites.of(parts.site), parts)
            )
        if not queue.has_joined:
            self._join(queue)

    def delayed_of(self, site: Site) -> int:
        """Return how many requests of a site wait for a time of their own."""
        return sum(queue.delayed for queue in self._round_robin.of(site))

    def leave(self, site: Site) -> tuple[list[str], list[Request]]:
        """Remove a site's waiting requests. Returns its queues and delayed requests."""
        queues = tuple(self._round_robin.of(site))
        taken = self._take_delayed(site) if queues else []
        for queue in queues:
            self._rest(queue)
            self._round_robin.drop(queue)
        return [queue.name for queue in queues], [one.request for one in taken]

    def _try_to_hand_out(self, request: Request, queue: SubQueue) -> bool:
        """Hand the request out, if nothing that is found out only now forbids it."""
        site = queue.site
        slot = queue.slot
        if not queue.is_ours:  # Scrapy's queue may hold several sites
            site = self._throttle.sites.of_request(request)
            slot = self._in_flight.slot_of(request, site)
            if self._throttle.decide(site) is not GO:
                return False
        now = self._crawl.now()
        rules = site.rules()
        as_scout = False
        if rules is None or rules.until <= now:
            rules = None
            as_scout = self._needs_scout(request, site)
        if (
            self._throttle.is_paced
            and self._crawl.learn_pace(request, site)
            and self._throttle.decide(site) is not GO
        ):
            return False
        flight = Flight(request, site)
        flight.slot = slot
        flight.rules = rules
        if queue.section and queue.section == PAST_PAUSES:
            flight.keeps_pauses = not self._is_past_pauses(queue)
        self._throttle.hand_out(flight, now, as_scout=as_scout)
        return True

    def _needs_scout(self, request: Request, site: Site) -> bool:
        """Return whether the request finds out the rules of its site for all others.

        Be it in the store: it looks there first.
        """
        if not self._crawl.fetches_rules or request.meta.get("dont_obey_robotstxt"):
            return False
        if not site.name.startswith("http"):
            return False
        return self._crawl.fetchers.of(request).at_hand(site.name) is None

    def _load(self, most: int) -> None:
        for _ in range(min(most, len(self.unloaded))):
            name = self.unloaded.popleft()
            if name in self._storage:
                self.load(name)

    def _add_queue(self, queue: SubQueue) -> SubQueue:
        queue.is_ours = queue.name not in self._names_left
        self._round_robin.add(queue)
        if self._in_flight.shared_slot is not None:
            self._round_robin.move(queue, self._in_flight.shared_slot)
        return queue

    def _length(self, queue: SubQueue) -> int:
        return self._storage.lengths.get(queue.name, 0) + queue.delayed

    def _rest(self, queue: SubQueue) -> None:
        if queue.has_joined:
            self._round_robin.leave(queue)
        elif self._not_due:
            self._end_wait(queue)
        self._round_robin.rest(queue)

    def _join(self, queue: SubQueue, due: float = 0.0) -> None:
        """Let a sub-queue take part, at once or when its first request is due."""
        if due and self._storage.sorts and due > self._crawl.now():
            self.counts.paused.put(queue, self._storage.length(queue.name))
            if due < self._not_due.get(queue, inf):
                self._not_due[queue] = due
                self._throttle.timers.set(queue, due, self._is_due)
            return
        if queue in self._not_due:
            self._end_wait(queue)
        self._round_robin.join(queue)

    def _is_due(self, queue: SubQueue) -> None:
        """Let a sub-queue take part whose first request is due."""
        self._join(queue)
        engine.wake(self._crawler)

    def _end_wait(self, queue: SubQueue) -> None:
        """Note that a sub-queue waits for no time, if it did."""
        if self._not_due.pop(queue, None) is not None:
            self.counts.paused.drop(queue)
            self._throttle.timers.drop(queue)

    def _sort_by_due(self, request: Request) -> float:
        """Sort a request by when it may be sent, and return that; 0: at once."""
        if DUE not in request.meta and "delay" not in request.meta:
            return 0.0
        from scrapy_mandelbot.scheduling import delays  # noqa: PLC0415 -- few crawls

        now = self._crawl.now()
        if not delays.start_delay(request, now):
            return 0.0
        return delays.sort_by_due(request, now, self._storage.grain)

    def _end_delay(self, request: Request) -> float:
        from scrapy_mandelbot.scheduling.delays import end_delay  # noqa: PLC0415 -- few

        return end_delay(request, self._crawl.now())

    def _has_moved(self, queue: SubQueue, request: Request) -> bool:
        """Put a request back whose delay is not over; the others are due later.

        Or, if it is over, into the section that was set aside meanwhile. Returns
        whether the request waits again.
        """
        due = 0.0
        if DUE in request.meta:
            due = self._end_delay(request)
        if due and not self._storage.sorts:
            self._delay(_Delayed(queue, request), due)
            return True
        if due:
            if queue.has_joined:
                self._round_robin.leave(queue)
            self._move(queue, request)
            return True
        if queue.section == DELAYED and queue.site.faults.of(request) is not None:
            self._move(queue, request)
            return True
        return False

    def _move(self, queue: SubQueue, request: Request) -> None:
        """Put a request into the sub-queue in which it has to wait now."""
        queue.site.tally.return_to_queue()
        try:
            self.push(request)
        except Exception:
            self._storage.put_back(queue.name, [request])
            queue.site.tally.accept()
            raise

    def _section_of(self, request: Request, site: Site) -> str:
        """Return the section of the sub-queue in which a request waits."""
        path = ""
        if DUE in request.meta:
            path = DELAYED
        elif site.faults.aside:
            section = site.faults.of(request)
            if section is not None:
                path = section.path
        if request.meta.get("dont_pause"):
            path = PAST_PAUSES
        if request.meta.get("dont_obey_budget"):
            path = EXEMPT
        return path

    def _waits_until(
        self,
        queue: SubQueue,
        request: Request,
        not_before: float = 0.0,
        *,
        has_come: bool = False,
    ) -> float:
        """Return when a request that came back may be handed out; 0: now.

        One that was refused with its site lets others go first; if all were, those
        before it.
        """
        now = self._crawl.now()
        if not_before > now:
            return not_before
        fingerprint = self._crawler.request_fingerprinter.fingerprint(request)
        at, is_alone = queue.site.may_go_at(fingerprint)
        if at <= now or is_alone:
            if at > now:
                return at
            return 0.0
        is_only = queue.name not in self._storage.lengths
        if has_come and is_only and self._delayed.times:
            self.end_delays(queue.site)
        if queue.name in self._storage.lengths:
            return at
        return 0.0

    def _wait_is_over(self, one: _Delayed) -> None:
        """Put a delayed request back, unless its time has changed."""
        one.queue.delayed -= 1
        self._delay(one, self._waits_until(one.queue, one.request))

    def _delay(self, one: _Delayed, until: float) -> None:
        """Delay a request until a time; 0: put it where it is the next of its queue."""
        queue = one.queue
        if until:
            queue.delayed += 1
            self._delayed.set(one, until)
            return
        self._storage.put_at_hand(queue.name, one.request)
        if not queue.has_joined:
            self._round_robin.join(queue)
        engine.wake(self._crawler)

    def _leave_to_next_run(self, queue: SubQueue, request: Request) -> None:
        """Keep a request whose page alone is refused: it had its tries in this run.

        It is no longer counted among those that wait, so the spider becomes idle.
        """
        if self._storage.leave_to_next_run(queue.name, request):
            self._left_to_next_run[queue.site] += 1
        queue.site.tally.accept()
        if queue.name not in self._storage.lengths:
            self._rest(queue)

    def _end_delays(self) -> None:
        for one in self._delayed.take():
            one.queue.delayed -= 1
            self._delay(one, 0.0)

    def _warn_of_lost(self) -> None:
        warn_of_lost(self._crawler, list(self.drain()))

    def _look_for_another(self, request: Request) -> None:
        """See whether another may go beside a request; if none may, the engine waits.

        The engine is about to take that request, and none of its own sub-queue is known
        to be next.
        """
        in_flight = len(self._flights)
        if not self._storage.total + in_flight >= self._places > in_flight:
            return  # the engine waits anyway, or asks for more in any case
        self._in_flight.leaving = request
        for one in self._in_flight.queues:
            one.settle()
        self._in_flight.leaving = None

    def settle(self) -> bool:
        """Let sub-queues that must wait step out; return whether any may have its turn.

        While silent sites are kept out, :meth:`pop` finds that out.
        """
        if self._round_robin.kept_out:
            self._round_robin.is_settled = False
            return True
        return self._next_queue() is not None

    def _next_queue(self) -> SubQueue | None:  # noqa: C901, PLR0912 -- as pop()
        """Queues that must wait step out."""
        round_robin = self._round_robin
        in_flight = self._in_flight
        standing = round_robin.standing
        fills_up = False
        queue: SubQueue | None
        while True:
            if round_robin.kept_out and not in_flight.unresponsive.check_enough():
                queue = round_robin.let_one_in()
            elif standing:  # here, as it is looked for with each page
                least = 0 if 0 in standing else min(standing)
                queue = next(iter(standing[least]))
            else:
                if self.unloaded:
                    self._load(_LOADED)
                elif not round_robin.look_again(self._crawl.now()):
                    fills_up = self._fills_up()
                    if not fills_up:
                        round_robin.is_settled = True
                        if self._storage.total and not self._crawl.load.is_watched:
                            self._crawl.load.watch()
                        return None
                continue
            site = queue.site
            if not site.is_plain:
                decision = self._decide(queue)
                if decision is not GO:
                    round_robin.step_out(queue, until_an_end=bool(site.awaited))
                    self.counts.note(queue, decision.wait, self._crawl.now())
                    continue
                if queue.apart is not None:
                    queue.apart.drop(queue)
            activity = queue.activity
            if activity and (
                activity >= in_flight.limits[queue.slot]
                or activity >= site.concurrency.bound
                or activity >= site.ceiling.most
            ):
                in_flight.drop_lost_in(queue.slot)
                if self._has_enough_in_flight(site, queue.slot):
                    round_robin.step_out(queue, until_an_end=True)
                    continue
            if site.has_answered or fills_up:
                return queue
            if in_flight.unresponsive.check_enough():
                round_robin.keep_out(queue)
                self.counts.note_silent(queue)
                continue
            return queue

    def _fills_up(self) -> bool:
        """Let a site that never answered have a place that no other site needs now.

        Returns whether there are such a site and such a place.
        """
        in_flight = self._in_flight
        if not self._round_robin.kept_out:
            return False
        if not in_flight.unresponsive.may_fill_up(len(in_flight)):
            return False
        self._round_robin.let_one_in()
        return True

    def _has_enough_in_flight(self, site: Site, slot: str) -> bool:
        """Return whether a slot transfers no more, or a site bears no more."""
        in_flight = self._in_flight
        if in_flight.check_full(slot) or self._holds_at_ceiling(site, slot):
            return True
        return in_flight.check_limit(site, slot)

    def _holds_at_ceiling(self, site: Site, slot: str) -> bool:
        """Hold requests back that a site would reset; return whether it would.

        Until another one has ended, or hangs.
        """
        if site.ceiling.most == inf:
            return False
        now = self._crawl.now()
        since = site.counts_since(now)
        if self._in_flight.count_since(site, slot, since) < site.ceiling.most:
            return False
        self._throttle.timers.set(site, 2.0 * now - since)
        return True

    def _decide(self, queue: SubQueue) -> Decision:
        """Decide on the next request of a sub-queue."""
        if self._is_past_pauses(queue):
            return self._throttle.decide_past_pauses(queue.site)
        return self._throttle.decide(queue.site, None, queue.section)

    def _is_past_pauses(self, queue: SubQueue) -> bool:
        """Return whether the requests of a sub-queue wait for no pause now.

        They wait for the rules of their site, as all others do.
        """
        if queue.section != PAST_PAUSES or queue.site.is_plain:
            return False
        name = queue.site.name
        if not self._crawl.fetches_rules or not name.startswith("http"):
            return True
        return self._crawl.known_rules(name) is not None

    def _choose(self, queue: SubQueue) -> Request | None:
        """Take the request of a queue that may go next; None: it waits after all.

        A probe is chosen among several. A request of a section set aside changes its
        sub-queue.
        """
        if queue.section == DELAYED or self._is_past_pauses(queue):
            return self._storage.pop(queue.name)
        most = 1
        if queue.site.has_refused:
            from scrapy_mandelbot.politeness.probe import (  # noqa: PLC0415 -- few sites
                looked_through,
            )

            most = looked_through(queue.site)
        if most == 1:
            request = self._storage.pop(queue.name)
        else:
            request = self._probe(queue, most)
        if request is None or queue.section:
            return request
        if queue.site.faults.of(request) is None:
            return request
        self._move(queue, request)
        return None

    def _probe(self, queue: SubQueue, most: int) -> Request | None:
        """Take the request of a sub-queue that probes its site.

        None: a health check is sent.
        """
        from scrapy_mandelbot.politeness.probe import (  # noqa: PLC0415 -- few sites
            look_for_probe,
        )

        chosen, looked_at = look_for_probe(
            queue.site,
            partial(self._storage.take, queue.name),
            self._crawler.request_fingerprinter.fingerprint,
            most,
            self._throttle.ask_again,
        )
        request = None
        if chosen is not None:
            request = looked_at.pop(chosen)
        self._storage.put_back(queue.name, looked_at)
        return request
