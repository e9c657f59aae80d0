"""The gatekeeper of a crawl: which request did what to which gate."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from scrapy_mandelbot import engine
from scrapy_mandelbot.gates.alarms import Alarms
from scrapy_mandelbot.gates.announcements import Announcements
from scrapy_mandelbot.gates.answers import Answers
from scrapy_mandelbot.gates.evictions import evict_waiting
from scrapy_mandelbot.gates.handouts import Handouts
from scrapy_mandelbot.gates.paces import Paces
from scrapy_mandelbot.gates.passes import Passes
from scrapy_mandelbot.gates.proxies import TRY_ANOTHER_AFTER, gate_by_proxy, shown, site_of_gate
from scrapy_mandelbot.gates.queues import Queues
from scrapy_mandelbot.gates.register import Register
from scrapy_mandelbot.gates.sites import site_of_request
from scrapy_mandelbot.gates.waiting import WaitingRoom
from scrapy_mandelbot.politeness import GateState, Refusal, Transition

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_mandelbot.config import Config
    from scrapy_mandelbot.gates.queues import Queue
    from scrapy_mandelbot.gates.register import Entry
    from scrapy_mandelbot.stores import Store

REFUSAL_FLAG = "mandelbot_refused"
"""The flag of a response that answers for a site which was not asked."""

_JITTER = 0.1  # of a pause of our own choice, so that many crawls do not knock together


class Gatekeeper:
    """Keeps the gates of one crawl: knows which request is whose turn, and tells who waits."""

    def __init__(
        self, crawler: Crawler, config: Config, store: Store, now: Callable[[], float]
    ) -> None:
        self._crawler = crawler
        self._tries = config.pause_tries
        self._is_parking = config.inner_scheduler is not None
        self._store = store
        self._now = now
        self.gate_of = gate_by_proxy if config.pause_per_proxy else site_of_request
        """Returns the name of the gate that a request has to pass."""
        self._random = random.Random()  # noqa: S311 -- spreads probes in time, guards nothing
        self._register = Register(crawler, config.pause_law, now)
        self._queues = Queues()
        self.handouts = Handouts(crawler, self._queues.slot_changed)
        """The requests that the queues have handed out."""
        self.passes = Passes(self._register, self.handouts, self.gate_of, now)
        """Which requests have had their turn to be sent."""
        self._answers = Answers(crawler, config.pause_law, self.handouts, now)
        self._alarms = Alarms(now, self._ring)
        self._room = WaitingRoom(crawler, config.pause_wait, now)
        self._announce = Announcements(crawler, store, self._queues.waiting)
        self.paces = Paces(crawler, config, now, self._announce, self._site_is_due)
        """Whose turn it is to be sent to sites whose owners ask for a pace."""
        self.keeps_given_up = False
        """Whether the requests of a site that is given up stay in the queue, for the next run."""

    def add_queue(self, queue: Queue) -> None:
        """Let a queue hear when a site or slot that had to wait may be asked again."""
        if not len(self._queues):  # now there is a loop to set alarms on
            for name, gate in self._register.restore(self._store):
                self._alarms.set(name, gate.due(self._now()))
                self._announce.restored(name, gate)
            self.paces.restore(self._store.get_turns(self._now()))
        self._queues.add(queue)

    def close(self) -> None:
        """Cancel every timer."""
        self._alarms.close()
        self._room.close()
        self.paces.close()

    # Asked and told by the queue.

    def may_hand_out(self, gate: str) -> bool:
        """Return whether the queue may hand out a request that has to pass this gate now.

        If it may at a later time, the queue is told then.
        """
        entry = self._register.look(gate)
        if entry is not None:
            if entry.scout is not None:
                return False
            if entry.has_given_up:
                return not self.keeps_given_up  # handed out, they get the last refusal
        if entry is not None or self._register.is_by_proxy:
            due = self._register.due(gate)
            if due > self._now():
                self._alarms.set(gate, due)
                return False
        may_go = self.paces.may_go(site_of_gate(gate))
        if not may_go:
            self._register.note_way(gate)
        return may_go

    def awaits_an_end(self, gate: str) -> bool:
        """Return whether the gate is shut only until some request under way has ended."""
        entries = map(self._register.get, (gate, *self._register.ways(gate)))
        return any(entry and (entry.scout or entry.probe) for entry in entries)

    def is_poor_probe(self, request: Request, gate: str) -> bool:
        """Return whether some other request had better be the probe: this one failed last."""
        entry = self._register.get(gate)
        return (
            entry is not None
            and entry.gate.state is GateState.CLOSED
            and entry.last_refused == self._answers.fingerprint(request)
        )

    def hand_out(self, request: Request, gate: str, slot: str, *, as_scout: bool) -> None:
        """Note that the queue hands out the request; where a probe is due, this is it."""
        self.handouts.hand_out(request, slot, gate)
        if not as_scout:  # its site is asked for the rules first
            self.paces.take(request)
        entry = self._register.enter(gate) if as_scout else self._register.get(gate)
        if entry is None:
            return
        if as_scout:
            entry.scout = request
        if entry.gate.sent(self._now()):
            entry.probe = request

    # Asked by who wants to know how the crawl stands.

    @property
    def has_queue(self) -> bool:
        """Whether all requests of the crawl are in queues that ask the gates."""
        return bool(len(self._queues)) and not self._is_parking

    def waiting(self, gate: str) -> int:
        """Return how many requests in the queues have to pass this gate."""
        return self._queues.waiting(gate)

    def shut(self) -> set[str]:
        """Return the gates that let nobody through now: paused, probed, held, given up, unvisited.

        One that merely lets them through at a pace is none of these.
        """
        return self._register.shut().union(*map(self._register.of_site, self.paces.shut()))

    def shut_in_words(self) -> dict[str, str]:
        """Return how those gates stand, by name, in words."""
        closed, unvisited = self._register.shut(), self.paces.shut_in_words()
        return unvisited | {shown(gate): self._register.describe(gate) for gate in sorted(closed)}

    def given_up(self) -> set[str]:
        """Return the gates that let nobody through in this run."""
        return self._register.given_up()

    # Told by the operator.

    def hold(self, site: str, until: float, reason: str) -> None:
        """Leave the site alone until then, whatever it answers; its requests wait."""
        now = self._now()
        entry = self._register.enter(site)
        entry.gate.hold(now, until)
        evict_waiting(self._crawler, lambda request: site_of_request(request) == site)
        self._announce.held(site, until, reason)
        self._alarms.set(site, entry.gate.due(now))

    def end_hold(self, site: str) -> bool:
        """Let the site be asked again at once, if it is held or paused; return whether it was."""
        now = self._now()
        entry = self._register.get(site)
        if entry is None or entry.gate.due(now) <= now:
            return False
        if entry.gate.is_held:
            entry.gate.hold(now, now)
        entry.gate.end_pause(now)
        self._ring(site)
        return True

    def give_up_all(self, reason: str) -> None:
        """Give up every site that is shut."""
        for name in self.shut() - self.given_up():
            entry = self._register.enter(name)
            entry.probe = None
            entry.gate.give_up(reason)
            self._given_up(name, entry)

    # Asked by the middlewares, of a request on its way.

    def has_given_up(self, request: Request) -> bool:
        """Return whether the request's site is not asked again in this run."""
        entry = self._register.get(self.handouts.gate(request) or self.gate_of(request))
        return entry is not None and entry.has_given_up

    def can_go_back(self, request: Request) -> bool:
        """Return whether the request came from the queue, and the queue should keep it."""
        kept = self.keeps_given_up or not self.has_given_up(request)
        return kept and request in self.handouts

    def send_back(self, request: Request) -> Request:
        """Return the request as a middleware returns it to send it back to the queue."""
        self._crawler.stats.inc_value("mandelbot/pause/bounced")
        not_before = self._answers.may_go_at(request)
        gate = self.gate_of(request)
        if self.handouts.gate(request) != gate:  # the queue would hand it out again at once
            soon = self._now() + TRY_ANOTHER_AFTER
            not_before = max(not_before, min(self._register.due(gate), soon))
        return self.handouts.send_back(request, not_before)

    async def wait(self, request: Request) -> bool:
        """Wait at the gate, for a request that never was in the queue.

        Returns:
            Whether it may be sent now. If not, it has waited for MANDELBOT_PAUSE_WAIT in all, or
            its site was given up, or the crawl is closing.
        """
        gate, now = self.gate_of(request), self._now()
        may_go_at = self._answers.may_go_at(request)
        if may_go_at > now:  # it alone is refused: it waits alone
            place = f"{gate} {self._answers.fingerprint(request).hex()}"
            self._alarms.set(place, may_go_at)
            return await self._room.wait(request, place)
        if self.passes.admits(request):
            return True
        if self.has_given_up(request):
            return False
        self._alarms.set(gate, self._register.due(gate))
        self._crawler.stats.inc_value("mandelbot/pause/waited")
        return await self._room.wait(request, gate)

    def refusal_for(self, request: Request) -> Response | None:
        """Return the site's last refusal, as the answer to a request that is not sent."""
        entry = self._register.get(self.gate_of(request))
        if entry is None or entry.last_refusal is None:
            return None
        return entry.last_refusal.replace(url=request.url, request=request, flags=[REFUSAL_FLAG])

    def is_refused_alone(self, request: Request) -> bool:
        """Return whether the URL was tried often enough: it is refused, and no other is."""
        return self._answers.times_alone(request) >= self._tries

    # Told by the middlewares, of what became of it.

    def has_scouted(self, request: Request) -> None:
        """Note that the request has learnt its site's rules, or passed without them."""
        gate = self.handouts.gate(request) or self.gate_of(request)
        entry = self._register.get(gate)
        if entry is not None and entry.scout is request:
            entry.scout = None
            self._register.forget_if_plain(gate)
            self._gate_changed(gate)

    def is_silent(self, request: Request, *, is_certain: bool) -> bool:
        """Return whether a request without an answer means that its site is down for a while.

        ``is_certain``: nobody listens there, so that one request is proof enough.
        """
        if self.passes.is_shut_for(request):
            return True
        return self._answers.is_silent(request, is_certain=is_certain)

    def answered(self, request: Request) -> None:
        """Note that the site answered the request, and asked for no pause."""
        gate, now = self.gate_of(request), self._now()
        self._answers.good(request)
        entry = self._register.get(gate)
        if entry is None:
            return
        if entry.probe is request:
            entry.probe = None
            if entry.gate.probe_answered(now) is Transition.RESUMED:
                self._announce.resumed(gate, entry.gate.paused_for(now))
                self._go_on(gate, entry)
        elif entry.gate.answered(now):
            self._go_on(gate, entry)
        self._register.forget_if_plain(gate)

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
        gate, now = self.gate_of(request), self._now()
        refusal = Refusal(now, reason, retry_after, self._random.uniform(-_JITTER, _JITTER))
        entry = self._register.enter(gate)
        entry.last_refusal = response or entry.last_refusal
        entry.last_refused = self._answers.fingerprint(request)
        if self._answers.is_to_blame(request, refusal):
            self._announce.set_aside(gate, self._answers.may_go_at(request) - now, reason)
            if entry.probe is request:
                self._lose_probe(gate, entry)
            self._register.forget_if_plain(gate)
            return
        if entry.probe is request:
            entry.probe = None
            transition = entry.gate.probe_refused(refusal)
        else:
            site = site_of_gate(gate)
            ways = max(1, len(self._register.ways(site)))
            transition = entry.gate.refused(refusal, self._answers.good_rate(site) / ways)
        if transition is Transition.PAUSED:
            evict_waiting(self._crawler, lambda waiting: self.gate_of(waiting) == gate)
            self._announce.paused(gate, entry.gate)
        elif transition is Transition.PROLONGED:
            self._announce.prolonged(gate, entry.gate)
        elif transition is Transition.GAVE_UP:
            self._given_up(gate, entry)
        self._alarms.set(gate, entry.gate.due(now))

    def let_go(self, request: Request) -> None:
        """Note that the request is done with the downloader, whatever came of it."""
        self.has_scouted(request)
        self.handouts.let_go(request)
        self._room.forget(request)
        gate = self.gate_of(request)
        entry = self._register.get(gate)
        if entry is not None:
            entry.may_pass.discard(request)
            if entry.probe is request:
                self._lose_probe(gate, entry)

    def handed_on(self, request: Request) -> None:
        """Note that the request is handed on with its refusal: it is tried no more."""
        self._crawler.stats.inc_value("mandelbot/pause/handed_on")
        self._answers.forget(request)

    # The rest is the keeper's own.

    def _site_is_due(self, site: str) -> bool:
        """Let the queues know; return whether they have a request for the site."""
        self._gate_changed(site)
        return any(map(self.waiting, self._register.of_site(site)))

    def _given_up(self, gate: str, entry: Entry) -> None:
        paused_for = entry.gate.paused_for(self._now())
        self._announce.given_up(gate, entry.gate, paused_for, kept=self.keeps_given_up)
        self._room.release_all(gate, may_go=False)
        site = site_of_gate(gate)
        if gate != site and self._register.ways(site) <= self.given_up():
            self._register.enter(site).gate.give_up(entry.gate.reason)
        self._gate_changed(gate)

    def _lose_probe(self, gate: str, entry: Entry) -> None:
        """Let another probe go where one ended without a word of the site: dropped, forbidden."""
        entry.probe = None
        entry.gate.probe_lost(self._now())
        self._alarms.set(gate, entry.gate.due(self._now()))

    def _gate_changed(self, gate: str) -> None:
        for name in self._register.of_site(gate):
            self._queues.gate_changed(name)
        engine.wake(self._crawler)

    def _ring(self, name: str) -> None:
        """Let who waits at a gate go on: its time has come, or may have."""
        now = self._now()
        entry = self._register.get(name)
        if entry is not None:
            held_for = entry.gate.end_hold(now)
            if held_for is not None:
                self._announce.resumed(name, held_for)
            if entry.gate.due(now) > now:
                self._alarms.set(name, entry.gate.due(now))
                return
        waiter = self._room.first(name)
        if waiter is None:
            self._gate_changed(name)
            return
        if entry is not None:
            self.passes.let_pass(waiter, entry)
            self._alarms.set(name, entry.gate.due(now))  # for the next one
        self._room.release(name, waiter, may_go=True)

    def _go_on(self, gate: str, entry: Entry) -> None:
        """Let go on who waits for the site: at its pace, or all of them."""
        if entry.gate.state is GateState.OPEN:
            self._room.release_all(gate, may_go=True)
        elif self._room.first(gate) is not None:
            self._alarms.set(gate, entry.gate.due(self._now()))
        self._gate_changed(gate)
