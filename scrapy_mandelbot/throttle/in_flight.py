"""The queues as one, and the requests in flight, counted by download slot.

What a request needs is looked up once, when it is handed out, and stored on its flight.

A request goes back to the queue by being returned from a middleware. On its way it
passes the dupe filter again, so it is marked ``dont_filter`` until it is back; left on
it, the mark would be copied by redirects and would switch the off-site filter off. The
downloader writes ``download_slot`` into every request that it takes, and redirects copy
that too. A middleware may have given it a proxy, and may have to give it another one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from math import inf
from typing import TYPE_CHECKING, NamedTuple, Protocol
from weakref import WeakKeyDictionary

from mandelbot import Failure
from scrapy.exceptions import IgnoreRequest
from scrapy.http.request import NO_CALLBACK

from scrapy_mandelbot import engine, events
from scrapy_mandelbot.clock import LATE
from scrapy_mandelbot.engine import SLOT_KEY
from scrapy_mandelbot.politeness.concurrency_limit import (
    FEWEST,
    HALF,
    ConcurrencyLimit,
)
from scrapy_mandelbot.politeness.flight import Flight

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_mandelbot.politeness.site_state import Site
    from scrapy_mandelbot.politeness.tally import End

_CHANGED_ON_THE_WAY = frozenset({SLOT_KEY, "proxy"})  # meta keys
_HEADERS_OF_ANY = frozenset({b"Referer"})
"""What Scrapy itself gives a request that a callback yields."""
_FEW = 1_000  # flights; of more it is looked whether they are under way


IN_DOUBT = "_mandelbot_in_doubt"
"""Meta key of a job's requests that failed: a mark of the run, and the tries that they
spent while it was in doubt whether their site was out.
"""
ASKS_AGAIN = "_mandelbot_asks_again"
"""Meta key of a health check: a request for a page that the site answered well before.
"""


def is_of_the_package(request: Request) -> bool:
    """Return whether the package sends the request for itself, as for a robots.txt.

    So does Scrapy's own middleware for it, where it takes the place of this package's.
    """
    if request.callback is not NO_CALLBACK:
        return False
    meta = request.meta
    if meta.get("dont_pause") or ASKS_AGAIN in meta:
        return True
    return bool(meta.get("dont_obey_robotstxt")) and request.url.endswith("/robots.txt")


class SitePausedError(IgnoreRequest):
    """Fails a request that is not sent: its site is given up, or paused for too long.

    The errback gets this exception: no response is made up, and none of another URL is
    used.
    """


class PriorState(NamedTuple):
    """What a request that is sent back was when it was handed out."""

    dont_filter: bool
    meta: Mapping[str, object] | None
    site: str  # its name
    not_before: float
    """Seconds since the epoch. 0: it may be handed out at once; ``inf``: not in this
    run.
    """


class Uptime(Protocol):
    """How long the event loop has run, as `scrapy_mandelbot.clock.LoopUptime`."""

    def since(self, began: float) -> float:
        """Return for how many seconds the loop has run since a time."""

    def watch(self) -> None:
        """Watch the loop for a while."""


_HANGS = 1.0  # seconds; most sites that are there have answered by then
_HUNG_LATELY = 60.0  # seconds since the last one that hung


class Unresponsive(dict["Flight[Site]", None]):
    """Requests on their way to sites that have never answered, the oldest first.

    While sites hang, these requests hold at most half of the places of the downloader:
    a page and the robots.txt that it waits for hold one each. The other half is for the
    sites that answer. Places that these leave free are not left empty: the unresponsive
    ones may have them, but for as many as those in use by sites that answer, and one
    more.
    """

    def __init__(
        self,
        places: int,
        now: Callable[[], float],
        drop_if_lost: Callable[[Flight[Site]], bool],
        uptime: Uptime,
    ) -> None:
        super().__init__()
        self._uptime = uptime
        self._places = places or inf
        self._most = max(1, places // 2) if places else inf
        self._now = now
        self._drop_if_lost = drop_if_lost
        self._looked_at = -inf
        self._hung_at = -inf

    def fail(self, flight: Flight[Site], failure: Failure | None) -> None:
        """Note that a request got no answer, or one for its site's robots.txt."""
        if failure is Failure.TIMED_OUT and not flight.site.has_answered:
            self._hung_at = max(self._now(), self._hung_at)

    def found_slow(self, flight: Flight[Site]) -> None:
        """Note that a site hangs whose request holds no place of its own any more."""
        self.fail(flight, Failure.TIMED_OUT)
        self.pop(flight, None)

    def limit_to(self, most: int) -> None:
        """Limit them to so many places, whether any hangs or not; 0: all places.

        Of sites that never answered no one knows which of them share an address.
        """
        self._most = min(self._most, most or inf)
        self._places = self._most
        self._hung_at = inf

    def check_enough(self) -> bool:
        """Drop those that have ended; return whether no more are to be handed out."""
        if len(self) < self._most:
            return False
        for flight in [one for one in self if one.site.has_answered]:
            del self[flight]
        if len(self) < self._most:
            return False
        now = self._now()
        sent_at = next(iter(self)).sent_at
        if sent_at + _HANGS < now and self._uptime.since(sent_at) > _HANGS:
            self._hung_at = max(now, self._hung_at)
        if now > self._looked_at + _HANGS:
            self._looked_at = now
            self._uptime.watch()
            for flight in list(self):
                self._drop_if_lost(flight)
        return now < self._hung_at + _HUNG_LATELY

    def may_fill_up(self, in_flight: int) -> bool:
        """Return whether one more may be handed out although they are enough.

        Call it when no site that answers has a request to hand out. `in_flight`: the
        number of all requests in flight.
        """
        answering = in_flight - len(self)
        return len(self) < self._places - 2 * answering - 1


class _SlotLimits(dict[str, float]):
    """How many requests each download slot transfers at once, looked up when needed."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__()
        self._crawler = crawler

    def __missing__(self, slot: str) -> float:
        limit = engine.slot_concurrency(self._crawler, slot)
        self[slot] = limit
        return limit


class Queue(Protocol):
    """A queue that hands out requests, as far as those in flight concern it."""

    def __len__(self) -> int:
        """Return how many requests it holds."""

    def settle(self) -> bool:
        """Note which sites must wait; return whether any may be asked now."""

    def waiting(self, site: Site) -> int:
        """Return how many requests for the site it holds."""

    def load_some(self, most: int) -> bool:
        """Load some of what the previous run left; return whether there is more."""

    def sub_queues(self) -> Iterator[tuple[Site, str, int]]:
        """Yield site, section ("": none) and number of requests of each sub-queue."""

    def delayed(self) -> Iterator[tuple[Site, float, int]]:
        """Yield site, time and number of requests that wait for a time of their own."""

    def may_leave(self, request: Request) -> bool:
        """Return whether a request that it handed out can be left to the next run."""

    def left_to_next_run(self) -> Mapping[Site, int]:
        """Return how many requests it keeps for the next run, by site."""

    def slot_changed(self, slot: str, activity: int) -> None:
        """Note how many requests a download slot has now."""

    def site_changed(self, site: Site) -> None:
        """Note that a waiting site may be due."""

    def end_delays(self, site: Site) -> None:
        """Return the delayed requests of a site whose time has changed."""


class _InSlot(set["Flight[Site]"]):
    """The requests in flight through a download slot."""

    def __init__(self, site: Site) -> None:
        super().__init__()
        self.site: Site | None = site
        """The site of all of them; None: they are of several."""


def _answers(site: Site) -> int:
    """Return how many answers a site has given that cause no pause."""
    tally = site.tally
    return tally.pages + tally.others + tally.cached


class InFlight:
    """The requests in flight.

    The downloader counts a request in its slot a turn or two of the loop after it was
    handed out, by which time the engine has taken as many again: the queue counts by
    this class.
    """

    def __init__(  # noqa: PLR0913 -- its collaborators
        self,
        crawler: Crawler,
        ended: Callable[[Flight[Site]], None],
        count: Callable[..., None],
        now: Callable[[], float],
        limit_found: Callable[[Site, int], None],
        *,
        is_paced: bool,
        uptime: Uptime,
    ) -> None:
        self._crawler = crawler
        self._ended = ended
        self._count = count
        self._now = now
        # receives a site whose limit is news, and what the project allows
        self._limit_found = limit_found
        self.is_paced = is_paced
        """Whether any site may have a crawl delay."""
        self.queues: list[Queue] = []
        """Those that hand out requests: Scrapy has one in memory and one on disk."""
        self.flights: dict[Request, Flight[Site]] = {}
        self.leaving: Request | None = None
        """The request that is being handed out: it is not under way yet."""
        self._in_slots: dict[str, _InSlot] = {}
        self.counts_at_once = False
        """Whether each flight notes with how many others it was handed out."""
        self.finds_limits = False
        """Whether it is found out how many requests each site bears at once."""
        self.limits = _SlotLimits(crawler)
        """Of the slots that have any, as it was when their second request was to go."""
        # What each was, and when it may go; not its flight, which would keep the
        # request for ever.
        self.coming_back: WeakKeyDictionary[Request, PriorState] = WeakKeyDictionary()
        self.fates: WeakKeyDictionary[Request, End] = WeakKeyDictionary()
        """How requests end that fail now, where that is not to be seen from the
        exception.
        """
        self._look_at = _FEW
        self.shared_slot: Callable[[Site, str], str] | None = None
        """Returns the download slot of a site's requests, given Scrapy's, if sites
        share some.
        """
        self.unresponsive = Unresponsive(
            crawler.settings.getint("CONCURRENT_REQUESTS"),
            now,
            self.drop_if_lost,
            uptime,
        )
        self.get = self.flights.get
        """Returns the flight of a request; None: there is none."""

    def __len__(self) -> int:
        return len(self.flights)

    def sub_queues(self) -> Iterator[tuple[Site, str, int]]:
        """Yield what the sub-queues of all queues have: site, section, requests."""
        for queue in self.queues:
            yield from queue.sub_queues()

    def waiting(self, site: Site) -> int:
        """Return how many requests for a site wait in the queues."""
        count = 0
        # without a generator, which would be one more call for a 503
        for queue in self.queues:
            count += queue.waiting(site)
        return count

    def add_from_queue(self, flight: Flight[Site]) -> None:  # noqa: C901 -- no call more for a page
        """Note what a request is as it leaves the queue for its download slot."""
        request: Request = flight.request
        self.flights[request] = flight
        slot = flight.slot
        if not request.headers.keys() <= _HEADERS_OF_ANY:
            flight.has_headers = True
        if not _CHANGED_ON_THE_WAY.isdisjoint(request.meta):
            meta = request.meta
            flight.meta = {key: meta[key] for key in _CHANGED_ON_THE_WAY if key in meta}
        if self.shared_slot is not None:
            engine.put_in_slot(request, slot)
        site = flight.site
        in_slot = self._in_slots.get(slot)
        if in_slot is None:
            in_slot = _InSlot(site)
            self._in_slots[slot] = in_slot
        in_slot.add(flight)
        if not site.has_answered:
            self.unresponsive[flight] = None
        activity = len(in_slot)
        if self.counts_at_once:
            flight.at_once = activity
            if in_slot.site is not site:
                self._share(in_slot, flight)
            if activity >= site.concurrency.bound or (
                self.finds_limits and activity >= self.limits.get(slot, inf)
            ):
                self._look_at_limit(flight)
        for queue in self.queues:
            queue.slot_changed(slot, activity)
        if len(self.flights) > self._look_at:
            self._drop_all_lost()

    def found_slow(self, request: Request) -> None:
        """Note that a request waits for a robots.txt that is slow to come."""
        flight = self.flights.get(request)
        if flight is not None:
            self.unresponsive.found_slow(flight)

    def add(self, request: Request, site: Site) -> Flight[Site]:
        """Note a request on its way, which need not be from the queue."""
        flight = Flight(request, site)
        flight.tick = site.ticks
        flight.has_headers = True  # perhaps: the middlewares have seen it
        self.flights[request] = flight
        if not site.has_answered:
            self.unresponsive[flight] = None
        if not is_of_the_package(request):
            site.tally.accept()
        if self.shared_slot is not None:
            engine.put_in_slot(request, self.slot_of(request, site))
        if len(self.flights) > self._look_at:
            self._drop_all_lost()
        return flight

    def fingerprint_of(self, flight: Flight[Site]) -> bytes:
        """Return the fingerprint of a request, which its flight keeps."""
        if flight.fingerprint is None:
            fingerprinter = self._crawler.request_fingerprinter
            flight.fingerprint = fingerprinter.fingerprint(flight.request)
        return flight.fingerprint

    def note_at_once(self, flight: Flight[Site]) -> None:
        """Note how many requests are in flight, if those are more than when it left."""
        # requests need not arrive in the order they were sent in
        if flight.at_once:
            now_at_once = len(self._in_slots.get(flight.slot, ()))
            flight.at_once = max(flight.at_once, now_at_once)

    def slot_of(self, request: Request, site: Site) -> str:
        """Return the download slot that a request will go through."""
        slot = engine.slot_key(self._crawler, request)
        if self.shared_slot is None:
            return slot
        return self.shared_slot(site, slot)

    def share_slots(self, site: Site) -> None:
        """Move a site's scout to the download slot that the site shares from now on."""
        if site.scout is None or self.shared_slot is None:
            return
        flight = self.get(site.scout.request)
        if flight is None:
            return
        request = flight.request
        slot = self.shared_slot(site, flight.slot)
        self.release(flight, ends=False)
        flight.slot = slot
        engine.put_in_slot(request, slot)
        self.flights[request] = flight
        in_slot = self._in_slots.setdefault(slot, _InSlot(site))
        in_slot.add(flight)
        for queue in self.queues:
            queue.slot_changed(slot, len(in_slot))

    def in_slot(self, slot: str) -> int:
        """Return how many requests were handed out to the slot and have not ended."""
        return len(self._in_slots.get(slot, ()))

    def unsent(self) -> Collection[Request]:
        """Return the requests that wait in their download slots.

        They have no part in what happens to the process meanwhile. One that waits for a
        robots.txt is not among them, as that file is fetched for it; nor is one that a
        middleware of the project holds, which may be fetching the page.
        """
        if not self._in_slots:
            return ()
        return engine.waiting_in_slots(self._crawler, self._in_slots)

    def slots(self) -> Collection[str]:
        """Return the download slots that have any."""
        return self._in_slots.keys()

    def drop_lost_in(self, slot: str) -> None:
        """Drop the requests of a slot that have ended without a word.

        A middleware may swallow a request. Then it is no longer the downloader's.
        """
        for flight in list(self._in_slots.get(slot, ())):
            self.drop_if_lost(flight)

    def check_full(self, slot: str) -> bool:
        """Look up how many requests a slot transfers; return whether it has as many."""
        flights = self._in_slots.get(slot)
        if flights is None:
            return False
        most = engine.slot_concurrency(self._crawler, slot)
        self.limits[slot] = most  # it may have changed since
        return len(flights) >= most

    def check_limit(self, site: Site, slot: str) -> bool:
        """Look at the limit of a site; return whether as many are in flight as it lets.

        A site that has answered enough of the first ones may have more from now on.
        """
        limit = site.concurrency
        if self.count(site, slot) < limit.bound:
            return False
        if limit is ConcurrencyLimit.BEGINNING and _answers(site) >= HALF:
            site.concurrency = ConcurrencyLimit.STATED
            return False
        return True

    def _share(self, in_slot: _InSlot, flight: Flight[Site]) -> None:
        """Note that a slot has requests of several sites: each is counted alone."""
        in_slot.site = None
        flight.at_once = self.count(flight.site, flight.slot)

    def _look_at_limit(self, flight: Flight[Site]) -> None:
        """Note that a slot has as many requests as its site bears, or it may have."""
        site = flight.site
        slot = flight.slot
        limit = site.concurrency
        most = self.limits[slot]
        if flight.at_once < min(limit.bound, most) or not site.is_plain:
            return
        answers = _answers(site)
        if answers < limit.look_at and answers <= limit.full_at + 2 * limit.bound:
            limit.full_at = answers  # nothing else to do, for most of the pages
            return
        if limit.is_shared:
            if not self.finds_limits or most <= 1:
                return
            if answers + flight.at_once < FEWEST:
                return
            if flight.at_once < most and answers >= HALF:
                site.concurrency = ConcurrencyLimit.STATED
                return
            # once a site, where "measured" is set
            from scrapy_mandelbot.politeness.measured_limit import (  # noqa: PLC0415
                MeasuredLimit,
            )

            limit = MeasuredLimit(int(most), limit.bound)
            site.concurrency = limit
            site.recheck()
        if limit.full(answers, self._now(), int(most)):
            self._limit_found(site, int(most))

    def count(self, site: Site, slot: str) -> int:
        """Return how many requests to a site are in flight through a slot."""
        return sum(one.site is site for one in self._in_slots.get(slot, ()))

    def count_since(self, site: Site, slot: str, since: float) -> int:
        """Return how many of them were handed out, or sent, since a time."""
        flights = self._in_slots.get(slot, ())
        return sum(one.site is site and one.sent_at >= since for one in flights)

    def drop_if_lost(self, flight: Flight[Site]) -> bool:
        """Drop a request that has ended without a word. Returns whether it has."""
        if flight.is_waiting or flight.request is self.leaving:
            return False
        if engine.is_under_way(self._crawler, flight.request):
            return False
        self.release(flight, ends=False)
        if not is_of_the_package(flight.request):
            flight.site.tally.count(flight.end)
        self._ended(flight)
        return True

    def drop_lost(self, site: Site) -> bool:
        """Let no site wait for a request that a middleware swallowed without a word.

        Returns:
            Whether there was one.
        """
        lost = False
        for flight in site.awaited:
            if self.drop_if_lost(flight):
                lost = True
            elif flight.is_sent and engine.waits_in_slot(self._crawler, flight.request):
                site.pacer.sent(self._now())  # in its download slot: DOWNLOAD_DELAY
            elif self._check_late(site, flight):
                self._ended(flight)  # another request may be the probe
                lost = True
        return lost

    def _check_late(self, site: Site, flight: Flight[Site]) -> bool:
        """Note that a probe takes too long; return whether it does.

        Where the look itself is late, an answer may have come that could not be read:
        the probe gets as much time from now on, once, and no more than a probe has.
        """
        from scrapy_mandelbot.politeness.probe import (  # noqa: PLC0415 -- of a paused site
            PROBE_IS_LATE,
            late_at,
            pauses_of,
        )

        for pause in pauses_of(site):
            if pause.probe is not flight:
                continue
            late = self._now() - late_at(site, pause)
            if late > LATE and not flight.held_up:
                flight.held_up = late + min(late, PROBE_IS_LATE)
                return False
            if late >= 0.0:
                pause.late_probes += 1
                return True
        return False

    def send_back(self, flight: Flight[Site], not_before: float = 0.0) -> Request:
        """Return the request as a middleware returns it to send it back."""
        request: Request = flight.request
        self.release(flight, ends=False)
        flight.site.tally.return_to_queue()
        self.coming_back[request] = PriorState(
            request.dont_filter, flight.meta, flight.site.name, not_before
        )
        request.dont_filter = True
        return request

    def take_back(self, request: Request) -> PriorState | None:
        """Make a returning request what it was when it was handed out.

        Returns that, or None if it does not come back.
        """
        prior = self.coming_back.pop(request, None)
        if prior is None:
            return None
        request.dont_filter = prior.dont_filter
        for key in _CHANGED_ON_THE_WAY:
            if prior.meta and key in prior.meta:
                request.meta[key] = prior.meta[key]
            else:
                request.meta.pop(key, None)
        return prior

    def release(self, flight: Flight[Site], *, ends: bool = True) -> None:
        """Note that a request is done with the downloader, whatever came of it.

        `ends`: what it has reserved is given back, too.
        """
        self.flights.pop(flight.request, None)
        if self.unresponsive:
            self.unresponsive.pop(flight, None)
        slot = flight.slot
        flights = self._in_slots.get(slot)
        if flights is not None and flight in flights:
            flights.discard(flight)
            if not flights:
                del self._in_slots[slot]
                self.limits.pop(slot, None)
            for queue in self.queues:
                queue.slot_changed(slot, len(flights))
        if ends and (flight.reservations or self.is_paced or not flight.site.is_plain):
            self._ended(flight)

    def evict(self, site: Site) -> None:
        """Send a site's requests back that wait in download slots, unsent."""

        def is_meant(request: Request) -> bool:
            flight = self.get(request)
            if flight is None or flight.site is not site:
                return False
            return not request.meta.get("dont_pause")

        count = engine.evict_waiting(
            self._crawler, site.slots or (), is_meant, SitePausedError()
        )
        if count:
            self._count(events.EVICTED, count=count)

    def _drop_all_lost(self) -> None:
        for flight in list(self.flights.values()):
            self.drop_if_lost(flight)
        self._look_at = max(_FEW, 2 * len(self.flights))
