"""What refusals of sites lead to: pauses, log lines, stats, stored state, health checks."""

from __future__ import annotations

import random
from math import inf
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot import events
from scrapy_mandelbot.politeness.pause import PauseEffect
from scrapy_mandelbot.politeness.pause_policy import Refusal
from scrapy_mandelbot.robots.formatting import duration, rate_text
from scrapy_mandelbot.store.contract import StoredPause
from scrapy_mandelbot.throttle.peers import Peers
from scrapy_mandelbot.throttle.waiters import HealthCheck

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_mandelbot.events.emitter import Events
    from scrapy_mandelbot.politeness.faults import Section
    from scrapy_mandelbot.politeness.flight import Flight
    from scrapy_mandelbot.politeness.pause import Pause
    from scrapy_mandelbot.politeness.site_state import Site
    from scrapy_mandelbot.store.contract import Store
    from scrapy_mandelbot.throttle.throttle import Throttle

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
_WITHOUT_END = {PauseEffect.GAVE_UP, PauseEffect.LAST_ATTEMPTS}


class Pauses:
    """Pauses sites that refuse, and reports and stores their pauses for other runs and crawls."""

    def __init__(self, crawler: Crawler, throttle: Throttle, store: Store, events_: Events) -> None:
        self._throttle = throttle
        self._emit, self._count = events_.emit, events_.count
        self._now = throttle.now
        self._random = random.Random()  # noqa: S311 -- spreads probes in time, guards nothing
        self.peers = Peers(throttle, store)
        self.health_check = HealthCheck(crawler, events_.emit, throttle.update)
        self.total_ends_at = inf
        """When the run has waited long enough, and gives up all waiting sites."""
        self._fate = "kept for the next run" if throttle.keeps_given_up else "they fail"
        self._put_pause = put_pause = self.peers.put_pause
        events_.subscribe(lambda its: put_pause(its["site"], None), events.ROBOTS_UNANSWERED)

    def emit(
        self,
        event: events.Event,
        site: Site,
        pause: Pause | None = None,
        *,
        level: int | None = None,
        **more: Any,
    ) -> None:
        """Emit an event with the values of a pause, by default the site's; `more` wins."""
        pause = pause or site.pause
        values: dict[str, Any] = {
            "where": site.name,
            "site": site.name,
            "until": pause.until,
            "reason": pause.reason,
            "tries": pause.failed_probes,
            "waiting": self._throttle.in_flight.waiting(site),
            "fate": self._fate,
        }
        if "end" in event.in_text:
            values["end"] = min(pause.gives_up_at, self.total_ends_at)
        elif "paused_for" in event.in_text:
            values["paused_for"] = max(0.0, self._now() - pause.since)
        values |= more
        if event in _STORED:
            kept = StoredPause(values["until"], values["reason"], values["tries"])
            self._put_pause(site.name, kept)
        elif event is events.RESUMED:
            self._put_pause(site.name, None)
        self._emit(event, level=level, **values)

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
        throttle, site, now = self._throttle, flight.site, self._now()
        if site.is_timed:
            site.tally.left(now)
        kind = "no answer" if response is None else str(response.status)
        is_outage = kind == "503" and retry_after is None
        refusal = Refusal(now, reason, retry_after, self._random.random(), is_outage=is_outage)
        named = None if response is None else retry_after  # without one, the wait is our own
        self._count(events.REFUSED, site=site.name, kind=kind, retry_after=named)
        if throttle.shared_limits:
            throttle.shared_limits.refused(site, now)
        fingerprint = flight.fingerprint or throttle.fingerprint(flight)
        effect = site.refused(flight, fingerprint, refusal)
        throttle.sites.note_trouble(site)
        if effect is None:
            return
        if effect is PauseEffect.PAUSED:
            throttle.in_flight.evict(site)
        self._report(effect, flight, reason, level)
        # A pause that begins lets no waiting request go.
        if effect is not PauseEffect.PAUSED or throttle.shared_limits:
            throttle.update(site)

    def _report(self, effect: PauseEffect, flight: Flight, reason: str, level: int | None) -> None:
        """Report the effect of a refusal; store a pause without an end."""
        site, event = flight.site, _EVENTS.get(effect)
        if event is None:
            self.section(effect, site, flight.request)
        elif effect is PauseEffect.SET_ASIDE:
            self.emit(event, site, seconds=flight.not_before - self._now(), reason=reason)
        else:
            if effect in _WITHOUT_END:
                level = None
                if self._throttle.keeps_given_up:
                    left = site.pause
                    kept = StoredPause(left.until, left.reason, left.failed_probes)
                    self._put_pause(site.name, kept)
            self.emit(event, site, level=level)

    def answered(self, effect: PauseEffect, site: Site, pause: Pause, before: set[Section]) -> None:
        """Report the effect of an answer of a site that had this pause, and these sections."""
        ended = before.difference(site.faults.aside.values())
        for section in sorted(ended, key=lambda one: one.path):
            if section.is_reported:
                self.emit(events.SECTION_RESUMED, site, path=section.path)
        if effect is PauseEffect.RECOVERED or effect is PauseEffect.RESUMED:
            self.emit(_EVENTS[effect], site, pause)
        rates = pause.rate_control
        if effect is not PauseEffect.RESUMED or rates is None or not rates.is_far_below:
            return
        if site.is_news("slower"):  # once of a limit, and how long what is queued takes at that
            rate, waiting = rates.rate, self._throttle.in_flight.waiting(site)
            limit, time = rate_text(rate), duration(waiting / rate)
            self.emit(events.SLOWER, site, rate=rate, limit=limit, time=time)

    def section(self, effect: PauseEffect, site: Site, request: Request) -> None:
        """Report the effect of a refusal in a section."""
        section = site.faults.of(request)
        if section is None or section.pause is None:
            return
        is_over = section.pause.is_given_up or section.pause.is_last_round
        event, fate = events.SECTION_PROLONGED, self._fate
        if effect is PauseEffect.REFUSES_ROBOTS:
            event = events.REFUSES_ROBOTS
        elif is_over and section.robots:
            event = events.REFUSES_ROBOTS_STILL
        elif is_over:
            event = events.SECTION_GIVEN_UP
            if not self._throttle.keeps_given_up:
                fate = "those that were not refused twice are sent once more"
        elif not section.is_reported:
            event = events.SECTION_PAUSED
        section.is_reported = True
        self.emit(event, site, section.pause, path=section.path, fate=fate)
