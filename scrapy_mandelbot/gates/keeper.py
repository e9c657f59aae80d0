"""The gatekeeper of a crawl: which request did what to which gate."""

from __future__ import annotations

import random
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol
from weakref import WeakSet

from scrapy.utils.asyncio import call_later
from scrapy.utils.httpobj import urlparse_cached

from scrapy_mandelbot import engine
from scrapy_mandelbot.gates.announcements import Announcements
from scrapy_mandelbot.gates.handouts import Handouts
from scrapy_mandelbot.gates.waiting import WaitingRoom
from scrapy_mandelbot.politeness import Gate, GateState, Goodput, Transition, site_of
from scrapy_mandelbot.stores import Pause

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.utils.asyncio import CallLaterResult

    from scrapy_mandelbot.config import Config
    from scrapy_mandelbot.stores import Store

REFUSAL_FLAG = "mandelbot_refused"
"""The flag of a response that answers for a site which was not asked."""

_REMEMBERED_SITES = 10_000  # of which it is known when they last answered well
_JITTER = 0.1  # of a pause of our own choice, so that many crawls do not knock together


class Queue(Protocol):
    """What the keeper needs of a queue that hands out requests."""

    def waiting(self, site: str) -> int:
        """Return how many requests of the site are in the queue."""

    def slot_changed(self, slot: str) -> None:
        """Note that a request was handed out to a download slot, or has left it."""

    def site_changed(self, site: str) -> None:
        """Note that a site which had to wait may be asked, perhaps."""


class SitePausedError(Exception):
    """Ends the wait in a download slot of a request whose site has closed meanwhile."""


@dataclass
class _Refusals:
    """How often one request was refused."""

    first_sent: int
    """When it was handed out first, in ticks."""
    count: int = 0


@dataclass
class _GoodAnswers:
    """The good answers of a site."""

    goodput: Goodput = field(default_factory=Goodput)
    latest: int = 0
    """In ticks of :class:`Handouts`."""
    unanswered_since: set[bytes] = field(default_factory=set)
    """The requests that got no answer since then."""


@dataclass
class _Site:
    """What the keeper knows of a site that is not simply open."""

    gate: Gate
    scout: Request | None = None
    """The one request on its way while nobody knows the site's rules."""
    probe: Request | None = None
    refusals: dict[bytes, _Refusals] = field(default_factory=dict)
    refused_since_good: set[bytes] = field(default_factory=set)
    """The requests refused since the site last answered one well."""
    last_refused: bytes | None = None
    last_refusal: Response | None = None
    may_pass: WeakSet[Request] = field(default_factory=WeakSet)
    """Requests that never were in the queue, and have waited for their turn."""
    alarm: CallLaterResult | None = None

    @property
    def is_plain(self) -> bool:
        """Whether nothing would be lost by forgetting the site."""
        return self.gate.state is GateState.OPEN and self.scout is None and not self.refusals


class Gatekeeper:
    """The gates of all sites of one crawl.

    A site of which nothing is known has no entry, and its gate is open: of a million sites only
    those in trouble cost anything.
    """

    def __init__(
        self, crawler: Crawler, config: Config, store: Store, now: Callable[[], float]
    ) -> None:
        self._crawler = crawler
        self._law = config.pause_law
        self._tries = config.pause_tries
        self._store = store
        self._now = now
        self._random = random.Random()  # noqa: S311 -- spreads probes in time, guards nothing
        self._sites: dict[str, _Site] = {}
        self._queues: list[Queue] = []
        self._handouts = Handouts(crawler, self._slot_changed)
        self._good: OrderedDict[str, _GoodAnswers] = OrderedDict()
        """Of the sites that answered well latest."""
        self._room = WaitingRoom(crawler, config.pause_wait, now)
        self._announce = Announcements(crawler, self.waiting)
        self.keeps_given_up = False
        """Whether the requests of a site that is given up stay in the queue, for the next run."""

    def add_queue(self, queue: Queue) -> None:
        """Let a queue hear when a site or slot that had to wait may be asked again."""
        if not self._queues:  # now there is a loop to set alarms on
            self._restore_pauses()
        self._queues.append(queue)

    def waiting(self, site: str) -> int:
        """Return how many requests of the site are in the queues."""
        return sum(queue.waiting(site) for queue in self._queues)

    # Asked and told by the queue.

    def may_hand_out(self, site: str) -> bool:
        """Return whether the queue may hand out a request of the site now."""
        state = self._sites.get(site)
        if state is None:
            return True
        if state.scout is not None:
            if engine.is_under_way(self._crawler, state.scout):
                return False
            state.scout = None
        if state.probe is not None and not engine.is_under_way(self._crawler, state.probe):
            self._lose_probe(site, state)
        if state.gate.state is GateState.GIVEN_UP:
            return not self.keeps_given_up  # handed out, they get the last refusal
        if state.gate.state is GateState.RECOVERING:
            return self._keeps_pace(site, state)
        return state.gate.window(self._now()) != 0

    def awaits_an_end(self, site: str) -> bool:
        """Return whether the site has to wait only until some request under way has ended."""
        state = self._sites.get(site)
        return state is not None and (state.scout is not None or state.probe is not None)

    def is_poor_probe(self, request: Request, site: str) -> bool:
        """Return whether some other request had better be the probe: this one failed last."""
        state = self._sites.get(site)
        return (
            state is not None
            and state.gate.state is GateState.CLOSED
            and state.last_refused == self._fingerprint(request)
        )

    def in_slot(self, slot: str) -> int:
        """Return how many requests the queue has handed out to the download slot."""
        return self._handouts.in_slot(slot)

    def is_full(self, slot: str) -> bool:
        """Return whether the download slot transfers as many requests as it may at once."""
        return self._handouts.is_full(slot)

    def hand_out(self, request: Request, site: str, slot: str, *, as_scout: bool) -> None:
        """Note that the queue hands out the request; where a probe is due, this is it."""
        self._handouts.hand_out(request, slot)
        state = self._state(site) if as_scout else self._sites.get(site)
        if state is None:
            return
        if as_scout:
            state.scout = request
        if state.gate.state is GateState.CLOSED:
            state.gate.probe_sent()
            state.probe = request
        elif state.gate.state is GateState.RECOVERING:
            state.gate.sent(self._now())

    def is_coming_back(self, request: Request) -> bool:
        """Return whether the request was sent back, and has not arrived in the queue yet."""
        return self._handouts.is_coming_back(request)

    def take_back(self, request: Request) -> None:
        """Make a request that comes back to the queue what it was when it was handed out."""
        self._handouts.take_back(request)

    def sites_given_up(self) -> set[str]:
        """Return the sites that are not asked again in this run."""
        return self._sites_that_are(GateState.GIVEN_UP)

    def sites_shut(self) -> set[str]:
        """Return the sites that are not asked now: paused, probed, or given up."""
        return self._sites_that_are(GateState.CLOSED, GateState.PROBING, GateState.GIVEN_UP)

    def give_up_all(self, reason: str) -> None:
        """Give up every site that is paused."""
        for site in self._sites_that_are(GateState.CLOSED, GateState.PROBING):
            state = self._sites[site]
            state.probe = None
            state.gate.give_up(reason)
            self._given_up(site, state)

    # Asked by the middlewares, of a request on its way.

    def is_shut_for(self, request: Request) -> bool:
        """Return whether the request may not be sent now."""
        state = self._sites.get(site_of_request(request))
        if state is None or state.probe is request:
            return False
        if state.gate.state is GateState.RECOVERING:
            # Who comes from the queue was handed out by the pace, the others wait their turn.
            return request not in self._handouts and request not in state.may_pass
        return state.gate.state is not GateState.OPEN

    def is_probe(self, request: Request) -> bool:
        """Return whether the request is the one that asks a paused site whether it is well."""
        state = self._sites.get(site_of_request(request))
        return state is not None and state.probe is request

    def has_given_up(self, request: Request) -> bool:
        """Return whether the request's site is not asked again in this run."""
        state = self._sites.get(site_of_request(request))
        return state is not None and state.gate.state is GateState.GIVEN_UP

    def can_go_back(self, request: Request) -> bool:
        """Return whether the request came from the queue, and the queue should keep it."""
        kept = self.keeps_given_up or not self.has_given_up(request)
        return kept and request in self._handouts

    def send_back(self, request: Request) -> Request:
        """Return the request as a middleware returns it to send it back to the queue."""
        self._crawler.stats.inc_value("mandelbot/pause/bounced")
        return self._handouts.send_back(request)

    async def wait(self, request: Request) -> bool:
        """Wait at the gate, for a request that never was in the queue.

        Returns:
            Whether it may be sent now. If not, it has waited for MANDELBOT_PAUSE_WAIT in all, or
            its site was given up, or the crawl is closing.
        """
        site = site_of_request(request)
        state = self._sites.get(site)
        if state is None or state.gate.state is GateState.OPEN:
            return True
        if state.gate.state is GateState.GIVEN_UP:
            return False
        if state.gate.window(self._now()):
            self._let_pass(request, state)
            return True
        if state.gate.state is GateState.RECOVERING:
            self._keeps_pace(site, state)  # wakes us when it is time
        self._crawler.stats.inc_value("mandelbot/pause/waited")
        return await self._room.wait(request, site)

    def refusal_for(self, request: Request) -> Response | None:
        """Return the site's last refusal, as the answer to a request that is not sent."""
        state = self._sites.get(site_of_request(request))
        if state is None or state.last_refusal is None:
            return None
        return state.last_refusal.replace(url=request.url, request=request, flags=[REFUSAL_FLAG])

    def is_refused_alone(self, request: Request) -> bool:
        """Return whether the URL was tried often enough: it is refused, and no other is."""
        site = site_of_request(request)
        state = self._sites.get(site)
        return state is not None and self._times_alone(request, site, state) >= self._tries

    # Told by the middlewares, of what became of it.

    def has_scouted(self, request: Request) -> None:
        """Note that the request has learnt its site's rules, or passed without them."""
        site = site_of_request(request)
        state = self._sites.get(site)
        if state is not None and state.scout is request:
            state.scout = None
            self._forget_if_plain(site, state)
            self._site_changed(site)

    def is_silent(self, request: Request, *, is_certain: bool) -> bool:
        """Return whether a request without an answer means that its site is down for a while.

        Not of a site that never answered in this run, and not of a single URL: such requests are
        RetryMiddleware's, as always.

        Args:
            request: the one that got no answer.
            is_certain: whether nobody listens there, so that one request is proof enough.
        """
        if self.is_shut_for(request):
            return True
        good = self._good.get(site_of_request(request))
        if good is None:
            return False
        good.unanswered_since.add(self._fingerprint(request))
        return is_certain or len(good.unanswered_since) > 1

    def answered(self, request: Request) -> None:
        """Note that the site answered the request, and asked for no pause."""
        site = site_of_request(request)
        now = self._now()
        self._note_good_answer(site, now)
        state = self._sites.get(site)
        if state is None:
            return
        state.refused_since_good.clear()
        if state.refusals:
            state.refusals.pop(self._fingerprint(request), None)
        if state.probe is request:
            state.probe = None
            if state.gate.probe_answered(now) is Transition.RESUMED:
                self._announce.resumed(site, state.gate.paused_for(now))
                self._store.put_pause(site, None)
                self._go_on(site, state)
        elif state.gate.answered(now):
            self._go_on(site, state)
        self._forget_if_plain(site, state)

    def refused(
        self,
        request: Request,
        reason: str,
        retry_after: float | None = None,
        response: Response | None = None,
    ) -> None:
        """Note that the site refused the request: by a pause status, or by no answer at all.

        Args:
            request: the one refused.
            reason: why, in words for the log.
            retry_after: seconds that the server asks for, if it does.
            response: what it said, if it said anything.
        """
        site = site_of_request(request)
        state = self._state(site)
        self._count_refusal(request, state)
        state.last_refusal = response or state.last_refusal
        jitter = self._random.uniform(-_JITTER, _JITTER)
        if state.probe is request:
            state.probe = None
            transition = state.gate.probe_refused(
                self._now(),
                reason,
                retry_after,
                jitter,
                times_alone=self._times_alone(request, site, state),
            )
        else:
            good = self._good.get(site)
            good_rate = good.goodput.rate(self._now()) if good else 0.0
            transition = state.gate.refused(
                self._now(), reason, retry_after, jitter, good_rate=good_rate
            )
        if transition is Transition.PAUSED:
            self._evict_waiting(site)
            self._announce.paused(site, state.gate)
        elif transition is Transition.PROLONGED:
            self._announce.prolonged(site, state.gate)
        elif transition is Transition.GAVE_UP:
            self._given_up(site, state)
        if state.gate.state is GateState.CLOSED:
            self._set_alarm(site, state)
            if transition is not None:
                self._keep_pause(site, state.gate)

    def let_go(self, request: Request) -> None:
        """Note that the request is done with the downloader, whatever came of it."""
        self._handouts.let_go(request)
        self._room.forget(request)
        self.has_scouted(request)
        site = site_of_request(request)
        state = self._sites.get(site)
        if state is not None:
            state.may_pass.discard(request)
            if state.probe is request:
                self._lose_probe(site, state)

    def handed_on(self, request: Request) -> None:
        """Note that the request is handed on with its refusal: it is tried no more."""
        self._crawler.stats.inc_value("mandelbot/pause/handed_on")
        site = site_of_request(request)
        state = self._sites.get(site)
        if state is not None:
            state.refusals.pop(self._fingerprint(request), None)
            self._forget_if_plain(site, state)

    def close(self) -> None:
        """Cancel every timer."""
        for state in self._sites.values():
            if state.alarm is not None:
                state.alarm.cancel()
        self._room.close()

    # The rest is the keeper's own.

    def _state(self, site: str) -> _Site:
        state = self._sites.get(site)
        if state is None:
            state = self._sites[site] = _Site(Gate(self._law))
        return state

    def _restore_pauses(self) -> None:
        """Go on with pauses that a former run has left, so that nobody knocks before their time."""
        for site, pause in self._store.get_pauses().items():
            gate = Gate(self._law)
            gate.restore(self._now(), pause.until, pause.reason, pause.failed_probes)
            if gate.state is GateState.CLOSED:
                self._sites[site] = _Site(gate)
                self._set_alarm(site, self._sites[site])
                self._announce.restored(site, gate)
            else:
                self._store.put_pause(site, None)

    def _keep_pause(self, site: str, gate: Gate) -> None:
        self._store.put_pause(site, Pause(gate.until, gate.reason, gate.failed_probes))

    def _sites_that_are(self, *states: GateState) -> set[str]:
        return {site for site, state in self._sites.items() if state.gate.state in states}

    def _given_up(self, site: str, state: _Site) -> None:
        paused_for = state.gate.paused_for(self._now())
        self._announce.given_up(site, state.gate, paused_for, kept=self.keeps_given_up)
        self._room.release_all(site, may_go=False)
        self._site_changed(site)

    def _forget_if_plain(self, site: str, state: _Site) -> None:
        if state.is_plain:
            self._sites.pop(site, None)

    def _fingerprint(self, request: Request) -> bytes:
        return self._crawler.request_fingerprinter.fingerprint(request)

    def _count_refusal(self, request: Request, state: _Site) -> None:
        fingerprint = self._fingerprint(request)
        first_sent = self._handouts.sent_at(request)
        refusals = state.refusals.setdefault(fingerprint, _Refusals(first_sent))
        refusals.count += 1
        state.refused_since_good.add(fingerprint)
        state.last_refused = fingerprint

    def _times_alone(self, request: Request, site: str, state: _Site) -> int:
        """Return how often the site refused this request while it answered all others well.

        0: it answered none well since this one was first sent, or has refused others as well.
        """
        fingerprint = self._fingerprint(request)
        refusals = state.refusals.get(fingerprint)
        if refusals is None or state.refused_since_good != {fingerprint}:
            return 0
        good = self._good.get(site)
        return refusals.count if good is not None and good.latest > refusals.first_sent else 0

    def _note_good_answer(self, site: str, now: float) -> None:
        good = self._good.get(site)
        if good is None:
            good = self._good[site] = _GoodAnswers()
            if len(self._good) > _REMEMBERED_SITES:
                self._good.popitem(last=False)
        else:
            self._good.move_to_end(site)
        good.goodput.answered(now)
        good.latest = self._handouts.tick()
        if good.unanswered_since:
            good.unanswered_since.clear()

    def _keeps_pace(self, site: str, state: _Site) -> bool:
        """Return whether a recovering site may be asked now; if not, see that it is later."""
        now = self._now()
        due = state.gate.due(now)
        if due > now and state.alarm is None:
            state.alarm = call_later(due - now, self._ring, site, state)
        return due <= now

    def _lose_probe(self, site: str, state: _Site) -> None:
        """Let another probe go where one ended without a word of the site: dropped, forbidden."""
        state.probe = None
        state.gate.probe_lost(self._now())
        self._set_alarm(site, state)

    def _site_changed(self, site: str) -> None:
        for queue in self._queues:
            queue.site_changed(site)
        engine.wake(self._crawler)

    def _slot_changed(self, slot: str) -> None:
        for queue in self._queues:
            queue.slot_changed(slot)

    def _set_alarm(self, site: str, state: _Site) -> None:
        if state.alarm is not None:
            state.alarm.cancel()
        delay = max(0.0, state.gate.due(self._now()) - self._now())
        state.alarm = call_later(delay, self._ring, site, state)

    def _ring(self, site: str, state: _Site) -> None:
        state.alarm = None
        if state.gate.state not in {GateState.CLOSED, GateState.RECOVERING}:
            return
        if state.gate.due(self._now()) > self._now():  # the loop's clock may be a hair ahead
            self._set_alarm(site, state)
            return
        waiter = self._room.first(site)
        if waiter is None:
            self._site_changed(site)
            return
        self._let_pass(waiter, state)
        self._room.release(site, waiter, may_go=True)
        if state.gate.state is GateState.RECOVERING:
            self._set_alarm(site, state)

    def _go_on(self, site: str, state: _Site) -> None:
        """Let go on who waits for the site: at its pace, or all of them."""
        if state.gate.state is GateState.OPEN:
            self._room.release_all(site, may_go=True)
        elif self._room.first(site) is not None:
            self._set_alarm(site, state)
        self._site_changed(site)

    def _let_pass(self, request: Request, state: _Site) -> None:
        """Let a request go that never was in the queue, its turn having come."""
        if state.gate.state is GateState.RECOVERING:
            state.gate.sent(self._now())
            state.may_pass.add(request)
        else:
            state.gate.probe_sent()
            state.probe = request

    def _evict_waiting(self, site: str) -> None:
        evicted = engine.evict_waiting(
            self._crawler,
            lambda waiting: site_of_request(waiting) == site and not waiting.meta.get("dont_pause"),
            SitePausedError(site),
        )
        if evicted:
            self._crawler.stats.inc_value("mandelbot/pause/evicted", evicted)


def site_of_request(request: Request) -> str:
    """Return the site that the request goes to."""
    return site_of(urlparse_cached(request))
