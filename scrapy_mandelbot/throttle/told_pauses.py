"""What is told of the pauses of sites, and what of them is kept for the next run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot import events
from scrapy_mandelbot.politeness.pause import News
from scrapy_mandelbot.robots.formatting import duration, rate_in_words
from scrapy_mandelbot.store.contract import StoredPause

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_mandelbot.clock import Clock
    from scrapy_mandelbot.events.emitter import Event, Events
    from scrapy_mandelbot.politeness.flight import Flight
    from scrapy_mandelbot.politeness.pause import Pause
    from scrapy_mandelbot.politeness.sections import Section
    from scrapy_mandelbot.politeness.site_state import Site
    from scrapy_mandelbot.throttle.neighbours import Neighbours

_EVENTS = {
    News.PAUSED: events.PAUSED,
    News.PROLONGED: events.PROLONGED,
    News.RESUMED: events.RESUMED,
    News.RECOVERED: events.RECOVERED,
    News.GAVE_UP: events.GIVEN_UP,
    News.ASKS_ONCE_EACH: events.ASKS_ONCE_EACH,
    News.SET_ASIDE: events.SET_ASIDE,
}
"""Of the site, or of a page of it; the others are of a section."""
_WITHOUT_END = {News.GAVE_UP, News.ASKS_ONCE_EACH}


class Reports:
    """Tells of pauses, and writes them down."""

    def __init__(
        self,
        tell: Events,
        store: Neighbours,
        waiting: Callable[[Site], int],
        clock: Clock,
        *,
        keeps_given_up: bool,
    ) -> None:
        self._tell = tell.tell
        self._store = store
        self._waiting = waiting
        self._now = clock.now
        self._keeps_given_up = keeps_given_up
        self.total_ends_at = inf
        """When all sites that wait are given up, as the run has waited for long enough."""
        self.turn_taken: Callable[[Site, float], None] | None = None
        """Called with a site whose turn has ended, or begun, and when."""
        self._fate = "kept for the next run" if keeps_given_up else "they fail"
        tell.hear(self._keep, events.PAUSED, events.HELD, events.PROLONGED)
        tell.hear(self._ended, events.RESUMED, events.ROBOTS_UNANSWERED)

    def tell(
        self,
        event: Event,
        site: Site,
        pause: Pause | None = None,
        *,
        level: int | None = None,
        **more: Any,
    ) -> None:
        """Tell of a site, with all that its pause, or the one given, has to say; `more` wins."""
        pause = pause or site.pause
        values: dict[str, Any] = {
            "where": site.name,
            "site": site.name,
            "until": pause.until,
            "reason": pause.reason,
            "tries": pause.failed_probes,
            "waiting": self._waiting(site),
            "fate": self._fate,
        }
        if "end" in event.in_text:
            values["end"] = min(pause.gives_up_at, self.total_ends_at)
        elif "paused_for" in event.in_text:
            values["paused_for"] = pause.lasted(self._now())
        self._tell(event, level=level, **values | more)

    def refused(self, news: News, flight: Flight, reason: str, level: int | None = None) -> None:
        """Tell what a refusal did, and have a pause that has no end kept."""
        site, event = flight.site, _EVENTS.get(news)
        if event is None:
            self.section(news, site, flight.request)
        elif news is News.SET_ASIDE:
            self.tell(event, site, seconds=flight.not_before - self._now(), reason=reason)
        else:
            if news in _WITHOUT_END:
                self.keep_given_up(site)
                level = None
            self.tell(event, site, level=level)

    def answered(self, news: News, site: Site, pause: Pause) -> None:
        """Tell what an answer did, of a site that had this pause."""
        if news is News.RECOVERED or news is News.RESUMED:
            self.tell(_EVENTS[news], site, pause)
        recovery = pause.recovery
        if news is not News.RESUMED or recovery is None or not recovery.is_far_below:
            return
        if site.is_news("slower"):  # once of a limit, and how long what is queued takes at that
            rate, waiting = recovery.rate, self._waiting(site)
            limit, time = rate_in_words(rate), duration(waiting / rate)
            self.tell(events.SLOWER, site, rate=rate, limit=limit, time=time)

    def sections_resumed(self, site: Site, before: set[Section]) -> None:
        """Tell which sections are set aside no longer, of those that were before."""
        ended = before.difference(site.sections.set_aside())
        for section in sorted(ended, key=lambda one: one.path):
            if section.is_told:
                self.tell(events.SECTION_RESUMED, site, path=section.path)

    def section(self, news: News, site: Site, request: Request) -> None:
        """Tell what a section's refusal did."""
        section = site.sections.of(request)
        if section is None:
            return
        event, fate = events.SECTION_PROLONGED, self._fate
        if news is News.REFUSES_ROBOTS:
            event = events.REFUSES_ROBOTS
        elif news is News.SECTION_GIVEN_UP and section.robots:
            event = events.REFUSES_ROBOTS_STILL
        elif news is News.SECTION_GIVEN_UP:
            event = events.SECTION_GIVEN_UP
            fate = "those that were not refused twice are sent once more"
        elif not section.is_told:
            event = events.SECTION_PAUSED
        section.is_told = True
        self.tell(event, site, section.pause, path=section.path, fate=fate)

    def keep_given_up(self, site: Site) -> None:
        """Have the next run, if its requests are left to that, know of a pause that has no end."""
        if self._keeps_given_up:
            pause = site.pause
            kept = StoredPause(pause.until, pause.reason, pause.failed_probes)
            self._store.put_pause(site.name, kept)

    def forget(self, site: Site) -> None:
        """Have the next run know of no pause."""
        self._store.put_pause(site.name, None)

    def _keep(self, values: Mapping[str, Any]) -> None:
        """Have the next run, and others, know until when a site is left alone."""
        kept = StoredPause(values["until"], values["reason"], values["tries"])
        self._store.put_pause(values["site"], kept)

    def _ended(self, values: Mapping[str, Any]) -> None:
        self._store.put_pause(values["site"], None)

    def keep_turn(self, site: Site, now: float) -> None:
        """Have others, and the next run, know when the next turn of a site is."""
        due = site.turns.due_after(now)
        if due <= now:
            return
        if self.turn_taken is not None:
            self.turn_taken(site, now)
        own = self._store.put_turn(site.name, due)
        if own > due:
            site.turns.hold(own)
