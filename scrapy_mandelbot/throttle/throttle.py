"""Connects the states of sites to the queue and the middlewares.

Every change of a site ends in :meth:`Throttle.update`, which decides by its state which
requests may go now: those that wait outside the queue, those in the queues, or none
before a timer fires.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any

from mandelbot.formatting import counted
from scrapy.utils.job import job_dir

from scrapy_mandelbot import events
from scrapy_mandelbot.clock import LoopUptime, Timers
from scrapy_mandelbot.politeness.flight import GO, NEVER, Decision, Wait
from scrapy_mandelbot.politeness.network import Network
from scrapy_mandelbot.throttle.in_flight import ASKS_AGAIN, InFlight
from scrapy_mandelbot.throttle.paces import Paces
from scrapy_mandelbot.throttle.pauses import Pauses
from scrapy_mandelbot.throttle.peers import Peers
from scrapy_mandelbot.throttle.site_map import Sites
from scrapy_mandelbot.throttle.waiters import Waiters

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_mandelbot.clock import Clock
    from scrapy_mandelbot.events.emitter import Events
    from scrapy_mandelbot.politeness.flight import Flight
    from scrapy_mandelbot.politeness.site_state import Site
    from scrapy_mandelbot.settings.config import Config
    from scrapy_mandelbot.store import Store
    from scrapy_mandelbot.throttle.budgets import Budgets
    from scrapy_mandelbot.throttle.health_check import HealthCheck
    from scrapy_mandelbot.throttle.shared_limits import SharedLimits

_FOR_A_TIME = frozenset({Wait.PAUSE, Wait.RECOVERY, Wait.TURN, Wait.ROBOTS})
_MOST_SLOTS = 100  # download slots of a site; a project may choose one for each request


class Throttle:
    """Decides for one crawl which request may go to its site, and when."""

    def __init__(
        self,
        crawler: Crawler,
        config: Config,
        store: Store,
        clock: Clock,
        events_: Events,
    ) -> None:
        self._crawler = crawler
        self.now = clock.now
        """Returns seconds since the epoch."""
        self._now = clock.now
        self._count = events_.count
        self._emit = events_.emit
        self.is_paced = bool(config.crawl_delays) or config.obeys_pace
        """Whether any site can have a pace in this crawl."""
        self.paces = Paces(config, clock, events_.emit, self._pace_changed)
        self.timers: Timers[Any] = Timers(clock, self.update)
        """Wakes sites, waiting requests and the limit on waiting."""
        self.waiters = Waiters(
            crawler, self.timers, clock.now, self._look, config.pause_wait
        )
        self.keeps_given_up = bool(job_dir(crawler.settings)) or config.shares_job
        """Whether the requests of a site that is given up stay in the queue, for the
        next run.
        """
        total = config.pause_total
        patience = config.pause_policy.in_all() if total is None else total
        self.network = Network(patience)
        """Whether the crawl itself is cut off."""
        # Without a next run, what was not refused twice is sent once more.
        policy = config.pause_policy._replace(asks_once=not self.keeps_given_up)
        self.sites = Sites(policy, is_paced=self.is_paced)
        self.in_flight = InFlight(
            crawler,
            self.ended,
            events_.count,
            clock.now,
            self._limit_found,
            is_paced=self.is_paced,
            uptime=LoopUptime(self.timers, clock.now),
        )
        self.release = self.in_flight.release
        """Notes that a request is done with the downloader, whatever came of it."""
        self.budgets: Budgets | None = None
        """With MANDELBOT_SITE_BUDGET: what the crawl takes of each site."""
        if config.has_budgets:
            self.budgets = self._limit_sites(config, clock, events_)
        self.peers = Peers(
            store,
            sites=self.sites,
            in_flight=self.in_flight,
            timers=self.timers,
            now=clock.now,
            update=self.update,
            emit=self._emit_of_peer,
            is_paced=self.is_paced,
        )
        self.pauses = Pauses(
            events_,
            sites=self.sites,
            in_flight=self.in_flight,
            put_pause=self.peers.put_pause,
            now=clock.now,
            update=self.update,
            ask_again=self.ask_again,
            network=self.network,
            keeps_given_up=self.keeps_given_up,
            total=config.pause_total,
        )
        self.asked_again: set[Site] = set()
        """Sites of which a good page is requested again now, to see if they are well.
        """
        self.forbids: Callable[[Request], bool] = lambda _: False
        """Returns whether the rules in force forbid a request."""
        self.shared_limits: SharedLimits | None = None
        """With MANDELBOT_TOGETHER: sites that share slots, pauses and limits."""
        if config.together:
            self.shared_limits = self._share_limits(config.together)
        events_.subscribe(self._note_answer, events.ROBOTS_READ)

    def _limit_found(self, site: Site, most: int) -> None:
        """Report how many requests a site bears at once, where that has changed."""
        found = site.concurrency.found(most)
        bound = site.concurrency.bound
        number: dict[str, Any] = {"site": site.name, "bound": bound, "most": most}
        number["at_once"] = counted(bound, "request")
        if found is None:
            self._emit(events.CONCURRENCY_RAISED, **number)
            return
        if isinstance(found, int):
            self._emit(events.CONNECTIONS_LIMITED, **number)
            return
        self._emit(
            events.CONCURRENCY_LOWERED,
            **number,
            now_rate=f"{found.rate:.1f}",
            other=found.other,
            other_rate=f"{found.other_rate:.1f}",
            times=f"{found.times_as_long:.1f}",
        )

    def _limit_sites(self, config: Config, clock: Clock, events_: Events) -> Budgets:
        from scrapy_mandelbot.throttle.budgets import Budgets  # noqa: PLC0415 -- few crawls

        budgets = Budgets(
            config,
            clock,
            events_,
            sites=self.sites,
            keeps=self.keeps_given_up,
            update=self.update,
            waiting=self.in_flight.waiting,
        )
        self.sites.make = budgets.site
        return budgets

    def _share_limits(self, mode: str) -> SharedLimits:
        from scrapy_mandelbot.throttle.shared_limits import (  # noqa: PLC0415 -- few crawls
            SharedLimits,
        )

        limits = SharedLimits(
            mode,
            self._crawler,
            sites=self.sites,
            in_flight=self.in_flight,
            now=self.now,
            update=self.update,
        )
        self.pauses.shared_limits = limits
        return limits

    def ask_again(self, site: Site) -> bool:
        """Request a page again that the site answered well, as a health check.

        Returns whether that is possible, or under way already.
        """
        return self._health_check.request(site)

    @cached_property
    def _health_check(self) -> HealthCheck:
        from scrapy_mandelbot.throttle.health_check import (  # noqa: PLC0415 -- few crawls
            HealthCheck,
        )

        return HealthCheck(
            self._crawler,
            self._emit,
            sites=self.asked_again,
            forbids=self.forbids,
            done=self.update,
        )

    def _emit_of_peer(self, event: events.Event, site: Site, **more: Any) -> None:
        self.pauses.emit(event, site, **more)

    def close(self) -> None:
        """End all waits, and cancel every timer."""
        self.peers.close()
        self.waiters.close()
        self.timers.take()
        if self.budgets is not None:
            self.budgets.close()

    # Called by the queue.

    def decide(
        self, site: Site, flight: Flight[Site] | None = None, section: str = ""
    ) -> Decision:
        """Decide on a request: on the next of the queue, or on one that has left it.

        If it goes, it has taken its turn; if not, the queue and those that wait are
        notified when it is decided on again. `section`: the path of the section that is
        set aside with the next one.
        """
        if site.is_plain and (flight is None or not site.has_refused):
            return GO
        self.in_flight.drop_lost(site)
        if flight is None and site in self.asked_again:
            return Decision(Wait.PAUSE, inf)
        now = self._now()
        if flight is not None and site.has_refused and flight.fingerprint is None:
            self.in_flight.fingerprint_of(flight)
        decision = site.decide(now, flight, section)
        if decision is NEVER and flight is None and not self.keeps_given_up:
            return GO  # handed out, it gets the last refusal
        if decision is not GO:
            if decision.wait is Wait.TURN and flight is None:
                self._note_wait(site, now)
            until = decision.until
            if until == inf:  # until the probe has its answer, or takes too long
                until = self._probe_is_late_at(site)
            self.timers.set(site, until)
        elif flight is not None:
            site.let_pass(flight, now)
        return decision

    def _probe_is_late_at(self, site: Site) -> float:
        from scrapy_mandelbot.politeness.probe import (  # noqa: PLC0415 -- of a paused site
            late_at,
            pauses_of,
        )

        return min(late_at(site, pause) for pause in pauses_of(site))

    def decide_past_pauses(self, site: Site) -> Decision:
        """Decide on a request that waits for no pause: only for a delay, or a hold."""
        if site.budget is not None:
            decision = site.budget.decide()
            if decision is NEVER and not self.keeps_given_up:
                return GO
            if decision is not GO:
                return decision
        now = self._now()
        due = max(site.held_until, site.pacer.due(now))
        if due <= now:
            return GO
        self.timers.set(site, due)
        return Decision(Wait.TURN, due)

    def holds_back(self, site: Site, section: str = "") -> bool:
        """Return whether a site's requests wait for a time, not for another request."""
        wait = site.decide(self._now(), section=section).wait
        return wait in _FOR_A_TIME or (wait is Wait.NOTHING and self.keeps_given_up)

    def hand_out(self, flight: Flight[Site], now: float, *, as_scout: bool) -> None:
        """Note that the queue hands out a request; where a probe is due, this is it."""
        site = flight.site
        self.in_flight.add_from_queue(flight)
        site.handed_out(flight, now, as_scout=as_scout)
        if self.budgets is not None:
            self.budgets.handed_out(flight, now)
        if not site.is_plain:
            self._count_wait(site)
        if flight.slot not in site.slots and len(site.slots) < _MOST_SLOTS:
            site.slots += (flight.slot,)

    # Called by the middlewares for a request in flight.

    def flight_of(self, request: Request) -> Flight[Site]:
        """Return the flight of a request, with what is known of it."""
        flight = self.in_flight.get(request)
        if flight is None:
            flight = self.in_flight.add(request, self.sites.of_request(request))
        return flight

    def lets_pass(self, request: Request) -> bool:
        """Return whether a request that no pause holds back may leave uncounted.

        Not at a pace or quota, in a slot that sites share, or if a recovery counts what
        is sent.
        """
        if self.is_paced or self.shared_limits:
            return False
        site = self.sites.of_request(request)
        return site.pacer.is_free and site.pause.rate_control is None

    def has_given_up(self, flight: Flight[Site]) -> bool:
        """Return whether the request is not sent again in this run."""
        site = flight.site
        if not site.has_refused:
            return site.pause.is_given_up
        if flight.fingerprint is None:
            self.in_flight.fingerprint_of(flight)
        return site.has_given_up(flight)

    def can_go_back(self, flight: Flight[Site]) -> bool:
        """Return whether the request is from the queue, which keeps it."""
        return flight.is_from_queue and (
            self.keeps_given_up or not self.has_given_up(flight)
        )

    def admit(self, flight: Flight[Site]) -> Decision:
        """Decide whether a request may leave for its site now; if so, it does."""
        request = flight.request
        if "dont_pause" in request.meta:
            flight.keeps_pauses = not request.meta["dont_pause"]
        # nothing else holds it back
        if not flight.keeps_pauses and flight.site.pacer.is_free:
            self.let_leave(flight)
            return GO
        site = flight.site
        decision = self.decide(site, flight)
        if decision is not GO:
            return decision
        due = 0.0
        if site.pacer.is_needed(self._now()):
            due = self.peers.claim_turn(site)
        if due:
            site.pacer.postpone(due)  # takes it back
            return self.decide(site, flight)
        self.let_leave(flight)
        return GO

    def let_leave(self, flight: Flight[Site]) -> None:
        """Note that a request leaves for its site."""
        site = flight.site
        now = self._now()
        if not flight.is_from_queue and len(site.slots) < _MOST_SLOTS:
            slot = self.in_flight.slot_of(flight.request, site)
            if slot not in site.slots:
                site.slots += (slot,)
        site.sent(flight, now)
        self._count_wait(site)
        if site.pacer.is_on:
            site.tally.left(now)
            self._keep_turn(site, now, is_held=True)
        if site.pause.probe is flight:
            self.peers.note_probe(site)

    async def wait(
        self, flight: Flight[Site], decision: Decision | None = None
    ) -> bool:
        """Wait until a request from outside the queue may try again.

        Returns whether it may.

        It may not if it has waited for as long as the option "wait" allows, its site
        was given up, or the crawl is closing. Waits for a crawl delay have no limit;
        those for a visit time have.

        `decision` is why it waits; None: the site has refused it.
        """
        self.ended(flight)  # its turn is another's
        site = flight.site
        now = self._now()
        if flight.keeps_pauses and self.has_given_up(flight):
            return False
        if decision is None:
            decision = Decision(Wait.PAUSE, max(flight.not_before, site.pause_due(now)))
        is_turn = decision.wait is Wait.TURN
        if is_turn:
            self._note_wait(site, now)
        elif flight.not_before <= now:
            self._count(events.WAITED)
        self.timers.set(site, decision.until)
        has_limit = not is_turn or site.pacer.shut_since is not None
        return await self.waiters.wait(flight, has_limit=has_limit)

    # Called by the middlewares when a request has ended.

    def _note_answer(self, values: Mapping[str, Any]) -> None:
        """Note that a site has answered: if it fails to from now on, it is down."""
        outcome = values["outcome"]
        if outcome.is_new or outcome.case == "revalidated":
            site = self.sites.of(values["site"])
            site.has_answered = True
            if self.shared_limits is None:
                # else the limit counts those of its neighbors as well
                site.rules_asked_at = values["asked_at"]

    def scouted(self, flight: Flight[Site]) -> None:
        """Note that the request has learnt its site's rules, or passed without them."""
        if flight.scouted(self._now()):
            self.update(flight.site)

    def answered(self, flight: Flight[Site], *, is_page: bool = True) -> None:
        """Note that the site answered with a page or an error, and is not paused."""
        site = flight.site
        if self.network.silent:
            self.pauses.network_answers(flight.sent_at)
        if site.is_timed:
            site.tally.left(self._now())
        if site.concurrency.takes_times:
            site.concurrency.note(flight.at_once, flight.sent_at, self._now())
        if site.is_plain and not site.has_refused:
            # no matter when
            site.answered(flight, flight.sent_at, b"", is_page=is_page)
            return
        now = self._now()
        pause = site.pause
        before = set(site.faults.aside.values())
        fingerprint = self.in_flight.fingerprint_of(flight)
        is_check = ASKS_AGAIN in flight.request.meta
        effect = site.answered(
            flight, now, fingerprint, is_page=is_page, is_check=is_check
        )
        self.sites.note_trouble(site)
        if effect is not None:
            self.pauses.answered(effect, site, pause, before)
            self.update(site)

    def handed_on(self, flight: Flight[Site]) -> None:
        """Note that the request is handed on with its refusal: it is tried no more."""
        self._count(events.HANDED_ON)
        flight.site.forget(self.in_flight.fingerprint_of(flight))

    def send_back(
        self, flight: Flight[Site], event: events.Event = events.BOUNCED
    ) -> Request:
        """Return the request as a middleware returns it to send it back."""
        self._count(event)
        request = self.in_flight.send_back(flight, flight.not_before)
        if flight.reservations or self.is_paced:  # else nobody waits for its end
            self.ended(flight)
        return request

    def may_leave(self, flight: Flight[Site]) -> bool:
        """Return whether the next run can have a request that this one sends no more.

        It is from the queue, and stored.
        """
        if not (self.keeps_given_up and flight.is_from_queue):
            return False
        return all(one.may_leave(flight.request) for one in self.in_flight.queues)

    def leave_to_next_run(self, flight: Flight[Site], reason: str) -> Request:
        """Send a request back to the queue, where it waits for the next run."""
        site = flight.site
        if site.note_once("page given up"):
            request = flight.request
            self._emit(
                events.PAGE_GIVEN_UP, site=site.name, request=request, reason=reason
            )
        else:  # there may be many of a site
            self._count(events.PAGE_GIVEN_UP, site=site.name)
        site.forget(self.in_flight.fingerprint_of(flight))
        flight.not_before = inf
        return self.send_back(flight)

    # Paces.

    def _keep_turn(self, site: Site, now: float, *, is_held: bool = False) -> None:
        """Store when the next turn of a site is, for other crawls and the next run."""
        due = site.pacer.due_after(now)
        if due <= now:
            return
        if self.shared_limits:
            self.shared_limits.turn_taken(site, now)
        own = self.peers.put_turn(site.name, due, is_held=is_held)
        if own > due:
            site.pacer.postpone(own)

    def _note_wait(self, site: Site, now: float) -> None:
        opens = site.pacer.note_wait(now)
        if opens is None:
            return
        reason = site.pacer.pace.visits_text
        self.pauses.emit(events.SHUT, site, until=opens, reason=reason)
        for flight in self.waiters.of(site):  # they wait for the visit time now
            self.waiters.release(flight, may_go=True)

    def _count_wait(self, site: Site) -> None:
        if self.shared_limits:
            self.shared_limits.turn_taken(site, self._now())
        if site.pacer.wanted_since is None:
            return
        waited = site.pacer.end_wait(self._now())
        if waited is not None:
            self._count(events.TURN_WAITED, site=site.name, seconds=waited)

    def _pace_changed(self, site: Site) -> None:
        if self.shared_limits:
            self.shared_limits.join(site, self._now())
        self.sites.note_trouble(site)
        self.timers.set(site, self._now())  # waiting requests may go now

    def update(self, site: Site) -> None:
        """Release the requests that wait for a site and may go now, by its state."""
        if site.held_until > -inf or site.pacer.shut_since is not None:
            self._end_hold_or_shut(site)
        self.sites.note_trouble(site)
        for flight in self.waiters.of(site):
            decision = self.decide(site, flight)
            if decision is GO:
                self._count_wait(site)
            if decision is GO or decision is NEVER:
                self.waiters.release(flight, may_go=decision is GO)
        for queue in self.in_flight.queues:
            queue.site_changed(site)
        if self.shared_limits:
            self.shared_limits.updated(site)

    def _end_hold_or_shut(self, site: Site) -> None:
        """Report the end of a manual hold, and the begin of a visit time."""
        now = self._now()
        held_for = site.end_hold(now)
        if held_for is not None:
            self.pauses.emit(events.RESUMED, site, paused_for=held_for)
        if site.held_until > now:
            self.timers.set(site, site.held_until)
        if site.pacer.shut_since is None:
            return
        shut_for = site.pacer.end_shut(now)
        if shut_for is not None:
            self.pauses.emit(events.OPENED, site, paused_for=shut_for)

    def _look(self, site: Site) -> None:
        """Remove requests that ended unnoticed while others wait for them."""
        if self.in_flight.drop_lost(site):
            self.update(site)

    def ended(self, flight: Flight[Site]) -> None:
        """Note that a request has its answer or gets none; it may be sent again."""
        site = flight.site
        now = self._now()
        was_sent = flight.is_sent
        if not site.ended(flight, now):
            return
        if was_sent:
            self._keep_turn(site, now)
        self.update(site)
