"""Log lines, stats and stored state of pauses."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot import events
from scrapy_mandelbot.politeness.pause import PauseEffect
from scrapy_mandelbot.robots.formatting import duration, rate_text
from scrapy_mandelbot.store.contract import StoredPause

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_mandelbot.events import Event
    from scrapy_mandelbot.events.emitter import Events
    from scrapy_mandelbot.politeness.faults import Section
    from scrapy_mandelbot.politeness.flight import Flight
    from scrapy_mandelbot.politeness.pause import Pause
    from scrapy_mandelbot.politeness.site_state import Site
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


class Reports:
    """Reports pauses, and stores them for the next run and other crawls."""

    def __init__(self, throttle: Throttle, events_: Events, now: Callable[[], float]) -> None:
        self._throttle = throttle
        self._emit = events_.emit
        self._now = now
        self.total_ends_at = inf
        """When the run has waited long enough, and gives up all waiting sites."""
        self._fate = "kept for the next run" if throttle.keeps_given_up else "they fail"
        self._put_pause = put_pause = throttle.peers.put_pause
        events_.subscribe(lambda its: put_pause(its["site"], None), events.ROBOTS_UNANSWERED)

    def emit(
        self,
        event: Event,
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
            "waiting": self._throttle.waiting(site),
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
        self, effect: PauseEffect, flight: Flight, reason: str, level: int | None = None
    ) -> None:
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
            rate, waiting = rates.rate, self._throttle.waiting(site)
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
