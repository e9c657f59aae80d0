"""The gatekeeper of a crawl: which request did what to which gate."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import call_later

from scrapy_mandelbot import engine
from scrapy_mandelbot.gates.announcements import Announcements
from scrapy_mandelbot.gates.handouts import Handouts
from scrapy_mandelbot.gates.queues import Queues
from scrapy_mandelbot.gates.sites import LatelyWell, SiteState, site_of_request
from scrapy_mandelbot.gates.waiting import WaitingRoom
from scrapy_mandelbot.politeness import Gate, GateState, Transition

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_mandelbot.config import Config
    from scrapy_mandelbot.gates.queues import Queue
    from scrapy_mandelbot.stores import Store

REFUSAL_FLAG = "mandelbot_refused"
"""The flag of a response that answers for a site which was not asked."""

_JITTER = 0.1  # of a pause of our own choice, so that many crawls do not knock together


class SitePausedError(Exception):
    """Ends the wait in a download slot of a request whose site has closed meanwhile."""


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
        self._sites: dict[str, SiteState] = {}
        self._queues = Queues()
        self.handouts = Handouts(crawler, self._queues.slot_changed)
        """The requests that the queues have handed out."""
        self._lately_well = LatelyWell()
        self._room = WaitingRoom(crawler, config.pause_wait, now)
        self._announce = Announcements(crawler, store, self._queues.waiting)
        self.keeps_given_up = False
        """Whether the requests of a site that is given up stay in the queue, for the next run."""

    def add_queue(self, queue: Queue) -> None:
        """Let a queue hear when a site or slot that had to wait may be asked again."""
        if not len(self._queues):  # now there is a loop to set alarms on
            self._restore_pauses()
        self._queues.add(queue)

    def waiting(self, site: str) -> int:
        """Return how many requests of the site are in the queues."""
        return self._queues.waiting(site)

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

    def hand_out(self, request: Request, site: str, slot: str, *, as_scout: bool) -> None:
        """Note that the queue hands out the request; where a probe is due, this is it."""
        self.handouts.hand_out(request, slot)
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
            return request not in self.handouts and request not in state.may_pass
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
        return kept and request in self.handouts

    def send_back(self, request: Request) -> Request:
        """Return the request as a middleware returns it to send it back to the queue."""
        self._crawler.stats.inc_value("mandelbot/pause/bounced")
        return self.handouts.send_back(request)

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
        if state is None:
            return False
        good = self._lately_well.get(site)
        return state.times_alone(self._fingerprint(request), good) >= self._tries

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
        good = self._lately_well.get(site_of_request(request))
        if good is None:
            return False
        good.unanswered_since.add(self._fingerprint(request))
        return is_certain or len(good.unanswered_since) > 1

    def answered(self, request: Request) -> None:
        """Note that the site answered the request, and asked for no pause."""
        site = site_of_request(request)
        now = self._now()
        self._lately_well.note(site, now, self.handouts.tick())
        state = self._sites.get(site)
        if state is None:
            return
        state.note_good_answer(self._fingerprint(request))
        if state.probe is request:
            state.probe = None
            if state.gate.probe_answered(now) is Transition.RESUMED:
                self._announce.resumed(site, state.gate.paused_for(now))
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
        fingerprint = self._fingerprint(request)
        state.note_refusal(fingerprint, self.handouts.sent_at(request))
        state.last_refusal = response or state.last_refusal
        jitter = self._random.uniform(-_JITTER, _JITTER)
        good = self._lately_well.get(site)
        if state.probe is request:
            state.probe = None
            transition = state.gate.probe_refused(
                self._now(),
                reason,
                retry_after,
                jitter,
                times_alone=state.times_alone(fingerprint, good),
            )
        else:
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

    def let_go(self, request: Request) -> None:
        """Note that the request is done with the downloader, whatever came of it."""
        self.handouts.let_go(request)
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
            state.forget_refusals(self._fingerprint(request))
            self._forget_if_plain(site, state)

    def close(self) -> None:
        """Cancel every timer."""
        for state in self._sites.values():
            if state.alarm is not None:
                state.alarm.cancel()
        self._room.close()

    # The rest is the keeper's own.

    def _state(self, site: str) -> SiteState:
        state = self._sites.get(site)
        if state is None:
            state = self._sites[site] = SiteState(Gate(self._law))
        return state

    def _restore_pauses(self) -> None:
        """Go on with pauses that a former run has left, so that nobody knocks before their time."""
        for site, pause in self._store.get_pauses().items():
            gate = Gate(self._law)
            gate.restore(self._now(), pause.until, pause.reason, pause.failed_probes)
            if gate.state is GateState.CLOSED:
                self._sites[site] = SiteState(gate)
                self._set_alarm(site, self._sites[site])
                self._announce.restored(site, gate)
            else:
                self._store.put_pause(site, None)

    def _sites_that_are(self, *states: GateState) -> set[str]:
        return {site for site, state in self._sites.items() if state.gate.state in states}

    def _given_up(self, site: str, state: SiteState) -> None:
        paused_for = state.gate.paused_for(self._now())
        self._announce.given_up(site, state.gate, paused_for, kept=self.keeps_given_up)
        self._room.release_all(site, may_go=False)
        self._site_changed(site)

    def _forget_if_plain(self, site: str, state: SiteState) -> None:
        if state.is_plain:
            self._sites.pop(site, None)

    def _fingerprint(self, request: Request) -> bytes:
        return self._crawler.request_fingerprinter.fingerprint(request)

    def _keeps_pace(self, site: str, state: SiteState) -> bool:
        """Return whether a recovering site may be asked now; if not, see that it is later."""
        now = self._now()
        due = state.gate.due(now)
        if due > now and state.alarm is None:
            state.alarm = call_later(due - now, self._ring, site, state)
        return due <= now

    def _lose_probe(self, site: str, state: SiteState) -> None:
        """Let another probe go where one ended without a word of the site: dropped, forbidden."""
        state.probe = None
        state.gate.probe_lost(self._now())
        self._set_alarm(site, state)

    def _site_changed(self, site: str) -> None:
        self._queues.site_changed(site)
        engine.wake(self._crawler)

    def _set_alarm(self, site: str, state: SiteState) -> None:
        if state.alarm is not None:
            state.alarm.cancel()
        delay = max(0.0, state.gate.due(self._now()) - self._now())
        state.alarm = call_later(delay, self._ring, site, state)

    def _ring(self, site: str, state: SiteState) -> None:
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

    def _go_on(self, site: str, state: SiteState) -> None:
        """Let go on who waits for the site: at its pace, or all of them."""
        if state.gate.state is GateState.OPEN:
            self._room.release_all(site, may_go=True)
        elif self._room.first(site) is not None:
            self._set_alarm(site, state)
        self._site_changed(site)

    def _let_pass(self, request: Request, state: SiteState) -> None:
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
