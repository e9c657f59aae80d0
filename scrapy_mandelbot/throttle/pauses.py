"""What refusals of sites lead to: pauses, log lines, stats, stored state."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from functools import partial
from math import inf, isfinite
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from mandelbot import Failure
from mandelbot.formatting import counted

from scrapy_mandelbot import events
from scrapy_mandelbot.politeness.pause import PauseEffect
from scrapy_mandelbot.politeness.pause_policy import LeftPause, Refusal
from scrapy_mandelbot.throttle.in_flight import ASKS_AGAIN, IN_DOUBT
from scrapy_mandelbot.time_text import clock_time, duration

if TYPE_CHECKING:
    from scrapy.http import Request, Response

    from scrapy_mandelbot.events.emitter import Events
    from scrapy_mandelbot.politeness.faults import Section
    from scrapy_mandelbot.politeness.flight import Flight
    from scrapy_mandelbot.politeness.network import Network
    from scrapy_mandelbot.politeness.pause import Pause
    from scrapy_mandelbot.politeness.site_state import Site
    from scrapy_mandelbot.throttle.in_flight import InFlight
    from scrapy_mandelbot.throttle.shared_limits import SharedLimits
    from scrapy_mandelbot.throttle.site_map import Sites

_EVENTS = {
    PauseEffect.PAUSED: events.PAUSED,
    PauseEffect.PROLONGED: events.PROLONGED,
    PauseEffect.RESUMED: events.RESUMED,
    PauseEffect.RECOVERED: events.RECOVERED,
    PauseEffect.GAVE_UP: events.GIVEN_UP,
    PauseEffect.LAST_ATTEMPTS: events.LAST_ATTEMPTS,
    PauseEffect.SET_ASIDE: events.SET_ASIDE,
}
"""Of the site, or of a page of it; the others are of a section."""
_STORED = frozenset({events.PAUSED, events.HELD, events.PROLONGED})
_GIVEN_UP = frozenset({events.LAST_ATTEMPTS, events.GIVEN_UP})
"""Of one pause, the second may follow the first."""
_WITHOUT_END = {PauseEffect.GAVE_UP, PauseEffect.LAST_ATTEMPTS}


class Pauses:
    """Pauses sites that refuse; reports and stores their pauses."""

    def __init__(  # noqa: PLR0913 -- what a pause has to do with
        self,
        events_: Events,
        *,
        sites: Sites,
        in_flight: InFlight,
        network: Network,
        put_pause: Callable[[str, LeftPause | None], None],
        ask_again: Callable[[Site], bool],
        now: Callable[[], float],
        update: Callable[[Site], None],
        keeps_given_up: bool,
        total: float | None = None,
    ) -> None:
        self._emit = events_.emit
        self._count = events_.count
        self._sites = sites
        self._in_flight = in_flight
        self._network = network
        self._put_pause = put_pause
        # requests a page that was well, of a site of which several failed
        self._ask_again = ask_again
        self._now = now
        self._update = update
        self._keeps_given_up = keeps_given_up
        self._total = total  # seconds for which the run goes on waiting
        self._fate = "kept for the next run" if keeps_given_up else "they fail"
        self._random = random.Random()  # noqa: S311 -- spreads probes in time, guards nothing
        self._run = self._random.getrandbits(32)  # marks what requests carry
        self.shared_limits: SharedLimits | None = None
        """Of sites that share pauses; None: none do."""
        self.total_ends_at = inf
        """When the run has waited long enough, and gives up all waiting sites."""
        self._has_network = False  # a site is known to have answered in this run
        events_.subscribe(self._robots_unanswered, events.ROBOTS_UNANSWERED)

    def _robots_unanswered(self, values: Mapping[str, Any]) -> None:
        self._put_pause(values["site"], None)
        self._given_up(self._sites.of(values["site"]), values["reason"])

    def _when_given_up(self, pause: Pause) -> str:
        """Return as text when a pause is given up at the latest."""
        latest = clock_time(min(pause.gives_up_at, self.total_ends_at))
        if self._total is None or isfinite(self.total_ends_at):
            return f"at about {latest}"
        idle = f"{duration(self._total)} after nothing else is left to do"
        return f"{idle}, or at about {latest}"

    def _given_up(self, site: Site, reason: str) -> None:
        """Report a site that is not requested again in this run."""
        lost = site.tally.lost
        if not self._keeps_given_up:
            lost += max(0, site.tally.taken - site.tally.ended)
        self._emit(events.SITE_GIVEN_UP, site=site.name, reason=reason, lost=lost)

    def emit(
        self,
        event: events.Event,
        site: Site,
        pause: Pause | None = None,
        *,
        level: int | None = None,
        **more: Any,
    ) -> None:
        """Emit an event with the values of a pause, by default the site's.

        `more` wins.
        """
        pause = pause or site.pause
        values: dict[str, Any] = {
            "where": site.name,
            "site": site.name,
            "since": pause.since,
            "until": pause.until,
            "reason": pause.reason,
            "tries": pause.backoff.failed,
            "waiting": partial(self._in_flight.waiting, site),
            "fate": self._fate,
        }
        if "end" in event.in_text:
            values["end"] = self._when_given_up(pause)
        elif "paused_for" in event.in_text:
            values["paused_for"] = max(0.0, self._now() - pause.since)
        values |= more
        if event in _STORED:
            kept = LeftPause(values["until"], values["reason"], values["tries"])
            self._put_pause(site.name, kept)
        elif event is events.RESUMED:
            self._put_pause(site.name, None)
        self._emit(event, level=level, **values)
        if event in _GIVEN_UP and site.note_once(f"given up {pause.since}"):
            self._given_up(site, values["reason"])

    def refused(  # noqa: PLR0913 -- what is known of it
        self,
        flight: Flight[Site],
        reason: str,
        retry_after: float | None = None,
        response: Response | None = None,
        *,
        level: int | None = None,
        now: float | None = None,
    ) -> None:
        """Note that the site refused a request, by a pause status or by no answer.

        `now`: when that is known, in seconds; None: just now.
        """
        site = flight.site
        if now is None:
            now = self._now()
        if site.is_timed:
            site.tally.left(now)
        kind = "no answer" if response is None else str(response.status)
        is_outage = kind == "503" and retry_after is None
        refusal = Refusal(
            now, reason, retry_after, self._random.random(), is_outage=is_outage
        )
        # without one, the wait is our own
        named = None if response is None else retry_after
        if response is not None:
            if self._network.silent:
                self.network_answers(flight.sent_at)
        elif self._network.is_down(now):
            refusal = refusal._replace(is_counted=False)
        self._count(
            events.REFUSED, site=site.name, kind=kind, retry_after=named, at=now
        )
        if self.shared_limits is not None:
            self.shared_limits.refused(site, now)
        fingerprint = self._in_flight.fingerprint_of(flight)
        self._in_flight.note_at_once(flight)
        effect = site.refused(flight, fingerprint, refusal)
        self._sites.note_trouble(site)
        if effect is None:
            return
        self._changed(effect, flight, reason, level)

    def failed(
        self,
        flight: Flight[Site],
        reason: str,
        status: int = 0,
        *,
        is_connection: bool = False,
    ) -> bool:
        """Note a failure that may be the page's or the site's: see `Failures`.

        `status`: of the answer; 0: there is none. `is_connection`: a new connection was
        lost. Returns whether the request is sent again without a retry being counted.
        """
        site = flight.site
        now = self._now()
        if status:
            if self._network.silent:
                self.network_answers(flight.sent_at)
            if site.is_timed:
                site.tally.left(now)
        refusal = Refusal(
            now,
            reason,
            jitter=self._random.random(),
            is_outage=status > 0,
            is_stated=not status and site.has_brought_page,
        )
        self._in_flight.note_at_once(flight)
        fingerprint = self._in_flight.fingerprint_of(flight)
        lost_at = 0
        if is_connection:
            lost_at = self._counted_with(flight, now)
        goes_back, effect = site.failed(
            flight,
            fingerprint,
            refusal,
            is_check=ASKS_AGAIN in flight.request.meta,
            lost_at=lost_at,
        )
        self._sites.note_trouble(site)
        if goes_back:
            kind = str(status or "no answer")
            self._count(
                events.REFUSED, site=site.name, kind=kind, retry_after=None, at=now
            )
        else:
            self._give_tries_back(flight, fingerprint)
        if site.ceiling.is_certain and site.note_once("connections"):
            self._report_ceiling(site, int(self._in_flight.limits[flight.slot]))
        if site.ceiling.is_in_doubt:
            self._ask_again(site)
        if effect is PauseEffect.DOUBTED:
            effect = self._doubted(flight, refusal, is_connection=is_connection)
        if effect is not None:
            self._changed(effect, flight, reason, None)
        return goes_back

    def _doubted(
        self, flight: Flight[Site], refusal: Refusal, *, is_connection: bool
    ) -> PauseEffect | None:
        """Request a page that was well.

        Where none was, and connections continue to be lost, the site is out.
        """
        site = flight.site
        if self._ask_again(site):
            return None
        if not _goes_on(site, is_connection=is_connection):
            return None
        return site.note_outage(flight, refusal)

    def _give_tries_back(self, flight: Flight[Site], page: bytes) -> None:
        """Give tries of RetryMiddleware back that were spent while the site was out.

        Those of this run, or of one that was killed while the site was out. So requests
        of a job carry the tries that they spent in doubt. A try that was not counted is
        counted now, if no limit on connections explains it.
        """
        site = flight.site
        meta = flight.request.meta
        tries = site.failures.take_owed(page)
        run, spent = meta.pop(IN_DOUBT, (self._run, 0))
        if site.was_out_before and run != self._run:
            tries += spent
        if tries < 0 or (tries and "retry_times" in meta):
            meta["retry_times"] = max(0, meta.get("retry_times", 0) - tries)
        if self._keeps_given_up and site.failures.spent(page):
            meta[IN_DOUBT] = (self._run, site.failures.spent(page))

    def _counted_with(self, flight: Flight[Site], now: float) -> int:
        """Return how many requests are in flight with this one that do not hang."""
        site = flight.site
        since = min(site.counts_since(now), flight.sent_at)
        return self._in_flight.count_since(site, flight.slot, since)

    def _report_ceiling(self, site: Site, most: int) -> None:
        """Report how many connections a site accepts, of those the project allows."""
        bound = int(site.ceiling.most)
        at_once = counted(bound, "request")
        self._emit(
            events.CONNECTIONS_LIMITED,
            site=site.name,
            bound=bound,
            most=most,
            at_once=at_once,
        )

    def _changed(
        self, effect: PauseEffect, flight: Flight[Site], reason: str, level: int | None
    ) -> None:
        site = flight.site
        if effect is PauseEffect.PAUSED:
            self._in_flight.evict(site)
        self._report(effect, flight, reason, level)
        # A pause that begins lets no waiting request go.
        if effect is not PauseEffect.PAUSED or self.shared_limits is not None:
            self._update(site)

    def _report(
        self, effect: PauseEffect, flight: Flight[Site], reason: str, level: int | None
    ) -> None:
        """Report the effect of a refusal; store a pause without an end."""
        site = flight.site
        event = _EVENTS.get(effect)
        if event is None:
            self.section(effect, site, flight.request)
            return
        if effect is PauseEffect.SET_ASIDE:
            seconds = flight.not_before - self._now()
            self.emit(event, site, seconds=seconds, reason=reason)
            return
        if effect in _WITHOUT_END:
            level = None
            if self._keeps_given_up:
                left = site.pause
                kept = LeftPause(left.until, left.reason, left.failed_probes)
                self._put_pause(site.name, kept)
        self.emit(event, site, level=level)

    def network_failed(self, site: Site) -> bool:
        """Note that a site did not answer; return whether the crawl is cut off."""
        network = self._network
        now = self._now()
        if network.failed(site, now):
            since = network.down_since
            self._emit(events.NETWORK_DOWN, since=since, until=network.counts_at)
        return network.is_down(now)

    def network_answers(self, sent_at: float = inf) -> None:
        """Note that a site answered; ask those at once that failed with the network.

        `sent_at`: what was sent before sites failed proves nothing.
        """
        network = self._network
        self._has_network = True
        if sent_at <= network.failed_since:
            return
        since = network.down_since
        silent = network.answered()
        if not silent:
            return
        now = self._now()
        self._emit(events.NETWORK_UP, paused_for=now - since)
        for site in silent:
            if site.has_answered:
                # one that was paused before has a trouble of its own
                if site.pause.since >= since:
                    site.pause.network_is_back(now)
            elif not site.pause.is_given_up:
                site.forget_refusals()
            self.look_again(site)

    def look_again(self, site: Site) -> None:
        """Let requests go that wait for a pause which has changed from outside."""
        for queue in self._in_flight.queues:
            queue.end_delays(site)
        self._update(site)

    def keeps_dead(self, failure: Failure | None) -> bool:
        """Return whether the requests of a dead host stay in the job.

        Not those for a name that no host has: the job would never be finished. Where
        nothing answered in this run, it may be the network that has no names.
        """
        if failure is None or not self._keeps_given_up:
            return False
        if failure is Failure.NO_SUCH_HOST:
            self._has_network = self._has_network or self._sites.has_answer()
            return not self._has_network
        return failure.is_outage

    def found_dead(self, site: Site, failure: Failure | None, until: float) -> None:
        """End the tries for a host that never answered: its requests fail, or are kept.

        `until`: when a new request may meet it again.
        """
        if self.keeps_dead(failure):
            site.dead_until = until
            site.give_up("it has never answered in this run")
        else:
            site.forget_refusals()  # no request waits
        self.look_again(site)

    def meet_anew(self, site: Site) -> None:
        """Forget that a host is dead, if its time has come: there is a new request."""
        if site.dead_until > self._now():
            return
        site.forget_refusals()
        self._update(site)

    def answered(
        self, effect: PauseEffect, site: Site, pause: Pause, before: set[Section]
    ) -> None:
        """Report the effect of an answer on a site's pause and its sections."""
        ended = before.difference(site.faults.aside.values())
        for section in sorted(ended, key=attrgetter("path")):
            if section.is_reported:
                self.emit(events.SECTION_RESUMED, site, path=section.path)
        if effect is PauseEffect.RECOVERED or effect is PauseEffect.RESUMED:
            self.emit(_EVENTS[effect], site, pause)
        rates = pause.rate_control
        if effect is not PauseEffect.RESUMED or rates is None or not rates.is_far_below:
            return
        # once of a limit, and how long what is queued takes at that
        if site.note_once("slower"):
            limit, time = rates.as_text(self._in_flight.waiting(site))
            self.emit(events.SLOWER, site, rate=rates.rate, limit=limit, time=time)

    def section(self, effect: PauseEffect, site: Site, request: Request) -> None:
        """Report the effect of a refusal in a section."""
        section = site.faults.of(request)
        if section is None:
            return
        pause = section.pause
        is_over = pause.is_given_up or pause.makes_final_attempts
        event = events.SECTION_PROLONGED
        fate = self._fate
        if effect is PauseEffect.REFUSES_ROBOTS:
            event = events.REFUSES_ROBOTS
        elif is_over and section.refuses_robots:
            event = events.REFUSES_ROBOTS_STILL
        elif is_over:
            event = events.SECTION_GIVEN_UP
            if not self._keeps_given_up:
                fate = "those that were not refused twice are sent once more"
        elif not section.is_reported:
            event = events.SECTION_PAUSED
        section.is_reported = True
        self.emit(event, site, section.pause, path=section.path, fate=fate)


def _goes_on(site: Site, *, is_connection: bool) -> bool:
    """Return whether so much fails that the site is out, as no page can be checked."""
    if site.has_brought_page:
        return site.failures.continue_to_come
    return is_connection and site.failures.are_repeated
