"""Asks and tells the states of sites what the queue and the middlewares want to know and have seen.

Every change of a site ends in :meth:`Throttle.update`, which works out from its state who may go on
now: those who wait outside of the queue, the queues, or nobody before the alarm rings.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scrapy.utils.job import job_dir

from scrapy_mandelbot import engine, events
from scrapy_mandelbot.politeness.flight import GO, NEVER, Decision, Purpose
from scrapy_mandelbot.politeness.outcome import Failure
from scrapy_mandelbot.politeness.pause import News
from scrapy_mandelbot.politeness.pause_law import JITTER, Refusal
from scrapy_mandelbot.store.contract import LiveStore
from scrapy_mandelbot.throttle.claims import Claims
from scrapy_mandelbot.throttle.in_flight import InFlight, Queues
from scrapy_mandelbot.throttle.paces import Paces
from scrapy_mandelbot.throttle.site_map import Sites, site_of_request
from scrapy_mandelbot.throttle.told_pauses import Reports
from scrapy_mandelbot.throttle.waiting import Alarm, AskingAgain, WaitingRoom

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
    from scrapy_mandelbot.throttle.neighbours import Neighbours
    from scrapy_mandelbot.throttle.together import Together

_MOST_SLOTS = 100  # download slots of a site; a project may choose one for each request


class Throttle:
    """How the sites of one crawl are asked."""

    def __init__(
        self,
        crawler: Crawler,
        config: Config,
        neighbours: Neighbours,
        clock: Clock,
        tell: Events,
    ) -> None:
        self._crawler = crawler
        self._neighbours = neighbours
        self._now = clock.now
        self._count = tell.count
        self._random = random.Random()  # noqa: S311 -- spreads probes in time, guards nothing
        self.is_paced = bool(config.crawl_delays) or config.obeys_pace
        """Whether any site can have a pace in this crawl."""
        self.paces = Paces(config, clock, tell.emit, self._pace_changed)
        """What the pace of each site is."""
        self.queues = Queues()
        """Those that hand out requests."""
        store = neighbours.store
        self.has_claims = isinstance(store, LiveStore)
        """Whether this is done by one crawl at a time, of all that share the store."""
        self._claims = Claims(store if isinstance(store, LiveStore) else None, clock, self.update)
        self.alarm = Alarm(clock, self.update)
        """When sites are looked at again."""
        self.room = WaitingRoom(crawler, clock, self._look, config.pause_wait)
        self.again = AskingAgain(crawler, tell.emit, self.update)
        """The pages that are asked for again."""
        self.keeps_given_up = bool(job_dir(crawler.settings)) or config.shares_job
        """Whether the requests of a site that is given up stay in the queue, for the next run."""
        self.reports = Reports(
            tell, neighbours, self.queues.waiting, clock, keeps_given_up=self.keeps_given_up
        )
        """Tells of pauses, and has them kept."""
        law = replace(config.pause_law, asks_once=not self.keeps_given_up)
        self.sites = Sites(law)
        """What is known of each site."""
        self.in_flight = InFlight(crawler, self.ended, tell.count, clock.now)
        """The requests outside of the queue."""
        self._together: Together | None = None
        if config.together:
            from scrapy_mandelbot.throttle.together import Together  # noqa: PLC0415

            self._together = Together(config.together, crawler, self, clock.now)
        self.before_queues: list[Callable[[], None]] = []
        """Called before the first queue hands anything out: then there is a loop for the alarm."""

    def listen(self, queue: SiteQueue) -> None:
        """Have a queue hear when a site or slot that had to wait may be asked again."""
        if not self.queues:
            for begin in self.before_queues:
                begin()
        self.queues.add(queue)
        self.in_flight.slot_changed.append(queue.slot_changed)

    def close(self) -> None:
        """Cancel every timer."""
        for part in self._neighbours, self._claims, self.alarm, self.room:
            part.close()

    def site_of(self, request: Request) -> Site:
        """Return what is known of the site that a request goes to."""
        return self.sites.of(site_of_request(request))

    # Asked and told by the queue.

    def may_hand_out(self, site: Site, section: str = "") -> bool:
        """Return whether the queue may hand out a request of a site now.

        If it may at a later time, the queue is told then. `section`: the path of the section that
        is set aside with the request.
        """
        if site.is_plain:
            return True
        self.in_flight.drop_lost(site)
        if site in self.again:
            return False
        is_over = site.scout is None and site.pause.is_given_up
        if is_over or site.sections.is_over(section):
            return not self.keeps_given_up  # handed out, they get the last refusal
        now = self._now()
        due = self._due(site, now, section)
        if due <= now:
            return True
        if site.pause_due(now) <= now and site.scout is None:
            self._note_wait(site, now)
        self.alarm.set(site, due)
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
            self._note_claims(site)
        if flight.slot not in site.slots and len(site.slots) < _MOST_SLOTS:
            site.slots.add(flight.slot)

    def may_go_at(self, request: Request, site: Site) -> tuple[float, bool]:
        """Return when a request may go that was refused, and whether its page is to blame."""
        if not site.has_refused:
            return 0.0, False
        return site.may_go_at(self._crawler.request_fingerprinter.fingerprint(request))

    # Asked by the middlewares, of a request on its way.

    def flight_of(self, request: Request) -> Flight:
        """Return what is known of a request on its way."""
        flight = self.in_flight.get(request)
        if flight is None:
            flight = self.in_flight.add(request, self.site_of(request))
        return flight

    def has_given_up(self, flight: Flight) -> bool:
        """Return whether the request's site is not asked again in this run."""
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
            site.slots.add(engine.slot_key(self._crawler, flight.request))
        site.sent(flight, now)
        if site.turns.is_on:
            site.tally.left(now)
        self._count_wait(site)
        self.reports.keep_turn(site, now)
        self._note_claims(site)

    async def wait(self, flight: Flight, decision: Decision | None = None) -> bool:
        """Wait until a request may try again that never was in the queue; return whether it may.

        Not if it has waited as long as the option "wait" says, or its site was given up, or the
        crawl is closing. Turns at a pace have no limit, as they come; a visit time has.

        `decision`: that it waits; None: the site has refused it.
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
        self.alarm.set(site, decision.until)
        has_limit = not decision.is_turn or site.turns.shut_since is not None
        return await self.room.wait(flight, has_limit=has_limit)

    # Told by the middlewares, of what became of it.

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
        if site.is_plain and not site.has_refused:
            site.answered(flight, flight.sent_at, b"", is_page=is_page)  # no matter when
            return
        now = self._now()
        pause = site.pause
        before = set(site.sections.set_aside())
        fingerprint = flight.fingerprint or self._fingerprint(flight)
        news = site.answered(flight, now, fingerprint, is_page=is_page)
        self.sites.note_trouble(site)
        self.reports.sections_resumed(site, before)
        if news is not None:
            self.reports.answered(news, site, pause)
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
        refusal = Refusal(now, reason, retry_after, self._random.uniform(0.0, JITTER))
        kind = "no answer" if response is None else str(response.status)
        self._count(events.REFUSED, site=site.name, kind=kind, retry_after=retry_after)
        fingerprint = flight.fingerprint or self._fingerprint(flight)
        if self._together:
            self._together.refused(site, now)
        news = site.refused(flight, fingerprint, refusal)
        self.sites.note_trouble(site)
        if news is None:
            return
        if news is News.PAUSED:
            self.in_flight.evict(site)
        self.reports.refused(news, flight, reason, level)
        if news is not News.PAUSED or self._together:  # else none who waits may go now, nor sooner
            self.update(site)

    def is_silent(self, flight: Flight, failure: Failure) -> bool:
        """Return whether a request without an answer means that its site is down for a while."""
        is_certain = failure is Failure.REFUSED  # nobody listens there: one request is proof enough
        self.in_flight.unheard.fail(flight, failure)
        page = flight.fingerprint or self._fingerprint(flight)
        return flight.site.is_silent(flight, page, self._now(), is_certain=is_certain)

    def handed_on(self, flight: Flight) -> None:
        """Note that the request is handed on with its refusal: it is tried no more."""
        self._count(events.HANDED_ON)
        flight.site.sections.forget(flight.fingerprint or self._fingerprint(flight))

    def send_back(self, flight: Flight, event: Event = events.BOUNCED) -> Request:
        """Return the request as a middleware returns it to send it back to the queue."""
        self._count(event)
        request = self.in_flight.send_back(flight, flight.not_before)
        self.ended(flight)
        return request

    def let_go(self, flight: Flight) -> None:
        """Note that the request is done with the downloader, whatever came of it."""
        self.in_flight.let_go(flight)
        if flight.reservations or self.is_paced or not flight.site.is_plain:
            self.ended(flight)

    # Paces.

    def _note_wait(self, site: Site, now: float) -> None:
        if (opens := site.turns.note_wait(now)) is not None:
            reason = site.turns.pace.visits_in_words
            self.reports.tell(events.SHUT, site, until=opens, reason=reason)
            for waiter in self.room.of(site):  # they wait for the visit time now
                self.room.release(waiter, may_go=True)

    def _count_wait(self, site: Site) -> None:
        if self._together:
            self._together.turn_taken(site, self._now())
        if (waited := site.turns.end_wait(self._now())) is not None:
            self._count(events.TURN_WAITED, site=site.name, seconds=waited)

    def _pace_changed(self, site: Site) -> None:
        if self._together:
            self._together.join(site, self._now())
        self.sites.note_trouble(site)
        self.alarm.set(site, self._now())  # who waits may have to wait no longer

    def _due(self, site: Site, now: float, section: str = "") -> float:
        """Return when a site may be asked, leases and all; ``inf``: when another has ended."""
        due = max(site.due(now), site.sections.due(section, now))
        return due if due > now else self._claims.due(site, now)

    def _decide(self, flight: Flight, now: float) -> Decision:
        """Decide on a request on its way or waiting: where it goes, it has taken its turn."""
        site = flight.site
        if site.is_plain and not site.has_refused:
            return GO
        if flight.keeps_pauses and self.has_given_up(flight):
            return NEVER
        if flight.keeps_pauses and flight.not_before > now:  # its URL alone is refused
            return Decision(until=flight.not_before)
        if self.has_claims and not site.is_plain:
            # What is sent although its site is paused takes turns all the same.
            is_probe = flight.keeps_pauses and site.pause.awaits_probe
            may_be_next = site.due(now) <= now or site.turns.has_unused
            if (is_probe or site.turns.is_needed(now)) and may_be_next:
                due = self._claims.due(site, now)
                if due > now:
                    self.alarm.set(site, due)
                    return Decision(until=due, is_turn=not is_probe)
        decision = site.admit(flight, now)
        if decision.goes:
            self._note_claims(site)
        return decision

    def _note_claims(self, site: Site) -> None:
        if self.has_claims and self._claims:
            self._claims.note_use(site)

    def update(self, site: Site) -> None:
        """Let those go on who wait for a site and may ask it now, by what is known of it."""
        self._note_claims(site)
        now = self._now()
        held_for, shut_for = site.end_hold(now), site.turns.end_shut(now)
        if held_for is not None:
            self.reports.tell(events.RESUMED, site, paused_for=held_for)
        if shut_for is not None:
            self.reports.tell(events.OPENED, site, paused_for=shut_for)
        self.sites.note_trouble(site)
        if site.held_until > now:
            self.alarm.set(site, site.held_until)
        for waiter in self.room.of(site):
            self._let_wait_end(waiter, now)
        self.queues.site_changed(site)
        if self._together:
            self._together.updated(site)
        engine.wake(self._crawler)

    def _let_wait_end(self, waiter: Any, now: float) -> None:
        flight = waiter.flight
        decision = self._decide(flight, now)
        if decision.goes:
            self._count_wait(flight.site)
        if decision.goes or decision.is_final:
            self.room.release(waiter, may_go=decision.goes)
        else:
            self.alarm.set(flight.site, decision.until)

    def _look(self, site: Site) -> None:
        """See whether those have ended without a word that others wait for."""
        if self.in_flight.drop_lost(site):
            self.update(site)

    def ended(self, flight: Flight) -> None:
        """Note that a request has its answer, or will get none; it may yet be sent again."""
        site, now, was_sent = flight.site, self._now(), flight.is_sent
        if not site.ended(flight, now):
            return
        if was_sent:
            self.reports.keep_turn(site, now)
        self.update(site)

    def _fingerprint(self, flight: Flight) -> bytes:
        """Return what tells a flight's request from others, also after it was on disk."""
        flight.fingerprint = self._crawler.request_fingerprinter.fingerprint(flight.request)
        return flight.fingerprint
