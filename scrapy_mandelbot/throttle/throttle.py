"""Connects the states of sites to the queue and the middlewares.

Every change of a site ends in :meth:`Throttle.update`, which decides by its state which requests
may go now: those that wait outside the queue, those in the queues, or none before a timer fires.
"""

from __future__ import annotations

import random
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any

from scrapy.utils.job import job_dir

from scrapy_mandelbot import engine, events
from scrapy_mandelbot.clock import Timers
from scrapy_mandelbot.politeness.flight import GO, NEVER, Decision, Purpose
from scrapy_mandelbot.politeness.outcome import Failure
from scrapy_mandelbot.politeness.pause import PauseEffect
from scrapy_mandelbot.politeness.pause_policy import JITTER, Refusal
from scrapy_mandelbot.throttle.in_flight import InFlight
from scrapy_mandelbot.throttle.leases import Leases
from scrapy_mandelbot.throttle.paces import Paces
from scrapy_mandelbot.throttle.pause_reports import Reports
from scrapy_mandelbot.throttle.peers import Peers
from scrapy_mandelbot.throttle.site_map import Sites, site_of_request
from scrapy_mandelbot.throttle.waiters import HealthCheck, Waiters

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_mandelbot.clock import Clock
    from scrapy_mandelbot.events import Event
    from scrapy_mandelbot.events.emitter import Events
    from scrapy_mandelbot.politeness.flight import Flight
    from scrapy_mandelbot.politeness.site_state import Site
    from scrapy_mandelbot.scheduling.site_queue import SiteQueue
    from scrapy_mandelbot.settings.config import Config
    from scrapy_mandelbot.store.contract import Store
    from scrapy_mandelbot.throttle.shared_limits import SharedLimits

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
        self._now = clock.now
        self._count = events_.count
        self._random = random.Random()  # noqa: S311 -- spreads probes in time, guards nothing
        self.is_paced = bool(config.crawl_delays) or config.obeys_pace
        """Whether any site can have a pace in this crawl."""
        self.paces = Paces(config, clock, events_.emit, self._pace_changed)
        """What the pace of each site is."""
        self.queues: list[SiteQueue] = []
        """Those that hand out requests: Scrapy has one in memory and one on disk."""
        self.timers: Timers[Any] = Timers(clock, self.update)
        """Wakes sites, waiting requests, leases and the limit on waiting."""
        self._leases = Leases(store, self.timers, clock.now, self.update)
        self.has_leases = self._leases.are_lent
        """Whether probes and turns take a lease of the store."""
        self.waiters = Waiters(crawler, self.timers, clock.now, self._look, config.pause_wait)
        self.health_check = HealthCheck(crawler, events_.emit, self.update)
        """Requests known pages again, to see whether their sites are well."""
        self.keeps_given_up = bool(job_dir(crawler.settings)) or config.shares_job
        """Whether the requests of a site that is given up stay in the queue, for the next run."""
        self.peers = Peers(self, store, clock.now)
        """Exchanges pauses and turns with other crawls and runs."""
        self.reports = Reports(self, events_, clock.now)
        """Reports pauses, and stores them."""
        policy = replace(config.pause_policy, asks_once=not self.keeps_given_up)
        self.sites = Sites(policy, is_paced=self.is_paced)
        """What is known of each site."""
        self.in_flight = InFlight(crawler, self.ended, events_.count, clock.now)
        """The requests outside of the queue."""
        self._shared_limits: SharedLimits | None = None
        if config.together:
            from scrapy_mandelbot.throttle.shared_limits import SharedLimits  # noqa: PLC0415

            self._shared_limits = SharedLimits(config.together, crawler, self, clock.now)

    def notify(self, queue: SiteQueue) -> None:
        """Notify a queue of changes of sites and slots from now on."""
        if not self.queues:
            self.peers.begin()  # now there is a loop for the timers
        self.queues.append(queue)
        self.in_flight.slot_changed.append(queue.slot_changed)

    def close(self) -> None:
        """Cancel every timer."""
        for part in self.peers, self._leases, self.waiters:
            part.close()
        self.timers.take()

    def waiting(self, site: Site) -> int:
        """Return how many requests for a site wait in the queues."""
        count = 0
        for queue in self.queues:  # without a generator, which would be one more call for a 503
            count += queue.waiting(site)
        return count

    def site_of(self, request: Request) -> Site:
        """Return the state of the site that a request goes to."""
        return self.sites.of(site_of_request(request))

    # Called by the queue.

    def may_hand_out(self, site: Site, section: str = "") -> bool:
        """Return whether the queue may hand out a request of a site now.

        If it may later, the queue is notified then. `section`: the path of the section that
        is set aside with the request.
        """
        if site.is_plain:
            return True
        self.in_flight.drop_lost(site)
        if site in self.health_check:
            return False
        is_over = site.scout is None and site.pause.is_given_up
        if is_over or site.faults.is_over(section):
            return not self.keeps_given_up  # handed out, they get the last refusal
        now = self._now()
        due = self._due(site, now, section)
        if due <= now:
            return True
        if site.pause_due(now) <= now and site.scout is None:
            self._note_wait(site, now)
        self.timers.set(site, due)
        return False

    def holds_back(self, site: Site, section: str = "") -> bool:
        """Return whether requests of a site have to wait for a time, not for another one."""
        is_given_up = site.pause.is_given_up and not self.keeps_given_up
        return not is_given_up and site.holds_back(self._now(), section)

    def hand_out(self, flight: Flight, now: float, *, as_scout: bool) -> None:
        """Note that the queue hands out a request; where a probe is due, this is it."""
        site = flight.site
        self.in_flight.hand_out(flight)
        site.hand_out(flight, now, as_scout=as_scout)
        if not site.is_plain:
            self._count_wait(site)
            self._note_leases(site)
        if flight.slot not in site.slots and len(site.slots) < _MOST_SLOTS:
            site.slots |= {flight.slot}

    # Called by the middlewares for a request in flight.

    def flight_of(self, request: Request) -> Flight:
        """Return the flight of a request, with what is known of it."""
        flight = self.in_flight.get(request)
        if flight is None:
            flight = self.in_flight.add(request, self.site_of(request))
        return flight

    def has_given_up(self, flight: Flight) -> bool:
        """Return whether the request is not sent again in this run."""
        site = flight.site
        if not site.has_refused:
            return site.pause.is_given_up
        return site.is_given_up_for(flight, flight.fingerprint or self._fingerprint(flight))

    def can_go_back(self, flight: Flight) -> bool:
        """Return whether the request came from the queue, and the queue should keep it."""
        return flight.is_from_queue and (self.keeps_given_up or not self.has_given_up(flight))

    def admit(self, flight: Flight) -> Decision:
        """Decide whether a request may leave for its site now; if so, it does."""
        request = flight.request
        if "dont_pause" in request.meta:
            flight.keeps_pauses = not request.meta["dont_pause"]
        if not flight.keeps_pauses and flight.site.pacer.is_free:  # nothing else holds it back
            self.let_leave(flight)
            return GO
        if not flight.site.is_plain:
            self.in_flight.drop_lost(flight.site)
        decision = self._decide(flight, self._now())
        if decision.goes:
            self.let_leave(flight)
        return decision

    def let_leave(self, flight: Flight) -> None:
        """Note that a request leaves for its site."""
        site, now = flight.site, self._now()
        if not flight.is_from_queue and len(site.slots) < _MOST_SLOTS:
            site.slots |= {engine.slot_key(self._crawler, flight.request)}
        site.sent(flight, now)
        self._count_wait(site)
        if site.pacer.is_on:
            site.tally.left(now)
            self._keep_turn(site, now)
        self._note_leases(site)

    async def wait(self, flight: Flight, decision: Decision | None = None) -> bool:
        """Wait until a request from outside the queue may try again; return whether it may.

        It may not if it has waited for as long as the option "wait" allows, its site was given up,
        or the crawl is closing. Waits for a crawl delay have no limit; those for a visit time have.

        `decision` is why it waits; None: the site has refused it.
        """
        self.ended(flight)  # its turn is another's
        site, now = flight.site, self._now()
        if flight.keeps_pauses and self.has_given_up(flight):
            return False
        if decision is None:
            decision = Decision(until=max(flight.not_before, site.pause_due(now)))
        if decision.is_turn:
            self._note_wait(site, now)
        elif flight.not_before <= now:
            self._count(events.WAITED)
        self.timers.set(site, decision.until)
        has_limit = not decision.is_turn or site.pacer.shut_since is not None
        return await self.waiters.wait(flight, has_limit=has_limit)

    # Called by the middlewares when a request has ended.

    def scouted(self, flight: Flight) -> None:
        """Note that the request has learnt its site's rules, or passed without them."""
        site = flight.site
        is_news = flight.settle(self._now(), Purpose.RULES)
        site.look_anew()
        if is_news:
            self.update(site)

    def answered(self, flight: Flight, *, is_page: bool = True) -> None:
        """Note that the site answered with a page, or an error, and asked for no pause."""
        site = flight.site
        if site.is_timed:
            site.tally.left(self._now())
        if site.is_plain and not site.has_refused:
            site.answered(flight, flight.sent_at, b"", is_page=is_page)  # no matter when
            return
        now = self._now()
        pause = site.pause
        before = set(site.faults.aside.values())
        fingerprint = flight.fingerprint or self._fingerprint(flight)
        effect = site.answered(flight, now, fingerprint, is_page=is_page)
        self.sites.note_trouble(site)
        if effect is not None:
            self.reports.answered(effect, site, pause, before)
            self.update(site)

    def refused(
        self,
        flight: Flight,
        reason: str,
        retry_after: float | None = None,
        response: Response | None = None,
        *,
        level: int | None = None,
    ) -> None:
        """Note that the site refused the request: by a pause status, or by no answer at all."""
        site, now = flight.site, self._now()
        if site.is_timed:
            site.tally.left(now)
        kind = "no answer" if response is None else str(response.status)
        is_outage = kind == "503" and retry_after is None
        jitter = self._random.uniform(0.0, JITTER)
        refusal = Refusal(now, reason, retry_after, jitter, is_outage=is_outage)
        named = None if response is None else retry_after  # without one, the wait is our own
        self._count(events.REFUSED, site=site.name, kind=kind, retry_after=named)
        fingerprint = flight.fingerprint or self._fingerprint(flight)
        if self._shared_limits:
            self._shared_limits.refused(site, now)
        effect = site.refused(flight, fingerprint, refusal)
        self.sites.note_trouble(site)
        if effect is None:
            return
        if effect is PauseEffect.PAUSED:
            self.in_flight.evict(site)
        self.reports.refused(effect, flight, reason, level)
        # A pause that begins lets no waiting request go.
        if effect is not PauseEffect.PAUSED or self._shared_limits:
            self.update(site)

    def is_silent(self, flight: Flight, failure: Failure) -> bool:
        """Return whether a request without an answer means that its site is down."""
        is_certain = failure is Failure.REFUSED  # nobody listens there: one request is proof enough
        self.in_flight.unresponsive.fail(flight, failure)
        page = flight.fingerprint or self._fingerprint(flight)
        return flight.site.is_silent(flight, page, self._now(), is_certain=is_certain)

    def handed_on(self, flight: Flight) -> None:
        """Note that the request is handed on with its refusal: it is tried no more."""
        self._count(events.HANDED_ON)
        flight.site.faults.forget(flight.fingerprint or self._fingerprint(flight))

    def send_back(self, flight: Flight, event: Event = events.BOUNCED) -> Request:
        """Return the request as a middleware returns it to send it back to the queue."""
        self._count(event)
        request = self.in_flight.send_back(flight, flight.not_before)
        self.ended(flight)
        return request

    def release(self, flight: Flight) -> None:
        """Note that the request is done with the downloader, whatever came of it."""
        self.in_flight.release(flight)
        if flight.reservations or self.is_paced or not flight.site.is_plain:
            self.ended(flight)

    # Paces.

    def _keep_turn(self, site: Site, now: float) -> None:
        """Store when the next turn of a site is, for other crawls and the next run."""
        due = site.pacer.due_after(now)
        if due <= now:
            return
        if self._shared_limits:
            self._shared_limits.turn_taken(site, now)
        own = self.peers.put_turn(site.name, due)
        if own > due:
            site.pacer.hold(own)

    def _note_wait(self, site: Site, now: float) -> None:
        if (opens := site.pacer.note_wait(now)) is not None:
            reason = site.pacer.pace.visits_text
            self.reports.emit(events.SHUT, site, until=opens, reason=reason)
            for flight in self.waiters.of(site):  # they wait for the visit time now
                self.waiters.release(flight, may_go=True)

    def _count_wait(self, site: Site) -> None:
        if self._shared_limits:
            self._shared_limits.turn_taken(site, self._now())
        if site.pacer.wanted_since is None:
            return
        if (waited := site.pacer.end_wait(self._now())) is not None:
            self._count(events.TURN_WAITED, site=site.name, seconds=waited)

    def _pace_changed(self, site: Site) -> None:
        if self._shared_limits:
            self._shared_limits.join(site, self._now())
        self.sites.note_trouble(site)
        self.timers.set(site, self._now())  # waiting requests may go now

    def _due(self, site: Site, now: float, section: str = "") -> float:
        """Leases count; ``inf``: it may go when another has ended."""
        due = max(site.due(now), site.faults.due(section, now))
        return due if due > now else self._leases.due(site, now)

    def _decide(self, flight: Flight, now: float) -> Decision:
        """Decide on a request on its way or waiting: where it goes, it has taken its turn."""
        site = flight.site
        if site.is_plain and not site.has_refused:
            return GO
        if flight.keeps_pauses and self.has_given_up(flight):
            return NEVER
        if flight.keeps_pauses and flight.not_before > now:  # its URL alone is refused
            return Decision(until=flight.not_before)
        if self.has_leases and not site.is_plain:
            # What is sent although its site is paused takes turns all the same.
            is_probe = flight.keeps_pauses and site.pause.awaits_probe
            may_be_next = site.due(now) <= now or site.pacer.has_unused
            if (is_probe or site.pacer.is_needed(now)) and may_be_next:
                due = self._leases.due(site, now)
                if due > now:
                    self.timers.set(site, due)
                    return Decision(until=due, is_turn=not is_probe)
        decision = site.admit(flight, now)
        if decision.goes:
            self._note_leases(site)
        return decision

    def _note_leases(self, site: Site) -> None:
        if self.has_leases and self._leases:
            self._leases.note_use(site)

    def update(self, site: Site) -> None:
        """Release the requests that wait for a site and may go now, by its state."""
        self._note_leases(site)
        now = self._now()
        if site.held_until > -inf and (held_for := site.end_hold(now)) is not None:
            self.reports.emit(events.RESUMED, site, paused_for=held_for)
        if site.pacer.shut_since is not None and (shut_for := site.pacer.end_shut(now)) is not None:
            self.reports.emit(events.OPENED, site, paused_for=shut_for)
        self.sites.note_trouble(site)
        if site.held_until > now:
            self.timers.set(site, site.held_until)
        for flight in self.waiters.of(site):
            decision = self._decide(flight, now)
            if decision.goes:
                self._count_wait(site)
            if decision.goes or decision.is_final:
                self.waiters.release(flight, may_go=decision.goes)
            else:
                self.timers.set(site, decision.until)
        for queue in self.queues:
            queue.site_changed(site)
        if self._shared_limits:
            self._shared_limits.updated(site)
        engine.wake(self._crawler)

    def _look(self, site: Site) -> None:
        """Remove requests that ended unnoticed while others wait for them."""
        if self.in_flight.drop_lost(site):
            self.update(site)

    def ended(self, flight: Flight) -> None:
        """Note that a request has its answer, or will get none; it may yet be sent again."""
        site, now, was_sent = flight.site, self._now(), flight.is_sent
        if not site.ended(flight, now):
            return
        if was_sent:
            self._keep_turn(site, now)
        self.update(site)

    def _fingerprint(self, flight: Flight) -> bytes:
        """Store the fingerprint on the flight."""
        flight.fingerprint = self._crawler.request_fingerprinter.fingerprint(flight.request)
        return flight.fingerprint
