"""What is told of the pauses of sites, and what of them is kept for the next run."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot import events
from scrapy_mandelbot.sites.pause import News
from scrapy_mandelbot.store.contract import KeptPause
from scrapy_mandelbot.throttle.site_map import in_words, key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from scrapy import Request

    from scrapy_mandelbot.clock import Clock
    from scrapy_mandelbot.sites.flight import Flight
    from scrapy_mandelbot.sites.pause import Pause
    from scrapy_mandelbot.sites.sections import Section
    from scrapy_mandelbot.sites.site import Site
    from scrapy_mandelbot.telling import Event, Events
    from scrapy_mandelbot.throttle.neighbours import Neighbours

_SEVERAL = 2  # of a unit, at least; less is told in the next one


class Reports:
    """Tells of pauses, and writes them down.

    Args:
        tell: tells of events; who keeps pauses hears them there.
        store: what the next run reads, and other crawls hear of.
        waiting: returns how many requests for a site are in the queues.
        clock: of the crawl.
        keeps_given_up: whether the requests of a site that is given up are left to the next run.
    """

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

    def refused(
        self, news: News, flight: Flight, reason: str, level: int | None = None
    ) -> None:
        """Tell what a refusal did, and have a pause that has no end kept."""
        site, route = flight.site, flight.route
        pause = site.routes.pause(route)
        if news is News.SET_ASIDE:
            seconds = flight.not_before - self._now()
            where = in_words(site.name, route)
            self._tell(events.SET_ASIDE, where=where, seconds=seconds, reason=reason)
        elif pause is not None and news is News.PAUSED:
            self.paused(events.PAUSED, site, route, pause.until, pause.reason, level=level)
        elif pause is not None and news is News.PROLONGED:
            self.prolonged(events.PROLONGED, site, route, pause, level=level)
        elif news is News.GAVE_UP or news is News.ASKS_ONCE_EACH:
            self.keep_given_up(site, route)
            is_over = news is News.GAVE_UP
            self.given_up(events.GIVEN_UP if is_over else events.ASKS_ONCE_EACH, site, route)
        else:
            self.section(news, site, flight.request)

    def answered(self, news: News, site: Site, route: str, pause: Pause | None) -> None:
        """Tell what an answer did, of a site that had this pause."""
        if news is News.RECOVERED:
            where = in_words(site.name, route)
            self._tell(events.RECOVERED, site=site.name, where=where)
        if news is News.RESUMED and pause is not None:
            self.resumed(events.RESUMED, site, route, pause.lasted(self._now()))
            self.slower(site, route, pause)

    def paused(  # noqa: PLR0913 -- what is told
        self,
        event: Event,
        site: Site,
        route: str,
        until: float,
        reason: str,
        *,
        level: int | None = None,
    ) -> None:
        """Tell that a site is left alone from now on."""
        self._tell(
            event,
            where=in_words(site.name, route),
            site=site.name,
            route=route,
            until=until,
            reason=reason,
            tries=0,
            waiting=self._waiting(site),
            level=level,
        )

    def prolonged(
        self,
        event: Event,
        site: Site,
        route: str,
        pause: Pause,
        *,
        level: int | None = None,
    ) -> None:
        """Tell that a site is left alone for longer than was said, or since a former run."""
        self._tell(
            event,
            where=in_words(site.name, route),
            site=site.name,
            route=route,
            until=pause.until,
            reason=pause.reason,
            tries=pause.failed_probes,
            end=min(pause.gives_up_at, self.total_ends_at),
            level=level,
        )

    def sections_resumed(self, site: Site, before: set[Section]) -> None:
        """Tell which sections are set aside no longer, of those that were before."""
        for section in sorted(
            before.difference(site.sections.set_aside()), key=lambda one: one.path
        ):
            if section.is_told:
                self._tell(
                    events.SECTION_RESUMED, where=site.name, site=site.name, path=section.path
                )

    def section(self, news: News, site: Site, request: Request) -> None:
        """Tell what a section's refusal did."""
        section = site.sections.of(request)
        if section is None:
            return
        event = events.SECTION_PROLONGED if section.is_told else events.SECTION_PAUSED
        if news is News.REFUSES_ROBOTS:
            event = events.REFUSES_ROBOTS
        elif news is News.SECTION_GIVEN_UP:
            is_robots = section.robots
            event = events.REFUSES_ROBOTS_STILL if is_robots else events.SECTION_GIVEN_UP
        section.is_told = True
        is_last_round = event is events.SECTION_GIVEN_UP
        fate = "those that were not refused twice are sent once more" if is_last_round else None
        self.of_section(event, site, section, fate)

    def slower(self, site: Site, route: str, pause: Pause) -> None:
        """Tell once of a limit that a site has, and how long what is queued takes at that."""
        recovery = pause.recovery
        if recovery is None or not recovery.is_far_below or not site.is_news("slower"):
            return
        waiting = self._waiting(site)
        self._tell(
            events.SLOWER,
            where=in_words(site.name, route),
            site=site.name,
            rate=recovery.rate,
            limit=rate_in_words(recovery.rate),
            waiting=waiting,
            time=time_in_words(waiting / recovery.rate),
        )

    def of_section(
        self, event: Event, site: Site, section: Section, fate: str | None = None
    ) -> None:
        """Tell what became of a section that is set aside, and what of its requests.

        `fate`: None: they end with it, as those of a site that is given up.
        """
        pause = section.pause
        assert pause is not None  # noqa: S101 -- it is set aside
        self._tell(
            event,
            where=site.name,
            site=site.name,
            path=section.path,
            until=pause.until,
            reason=pause.reason,
            tries=pause.failed_probes,
            end=min(pause.gives_up_at, self.total_ends_at),
            waiting=self._waiting(site),
            fate=fate or self._fate,
        )

    def resumed(self, event: Event, site: Site, route: str, paused_for: float) -> None:
        """Tell that a site is asked again, after so many seconds."""
        self._tell(
            event,
            where=in_words(site.name, route),
            site=site.name,
            route=route,
            paused_for=paused_for,
            waiting=self._waiting(site),
        )

    def given_up(self, event: Event, site: Site, route: str) -> None:
        """Tell that a site is not asked again in this run, but for what was never sent if so."""
        pause = site.routes.pause(route)
        assert pause is not None  # noqa: S101 -- what is given up was paused
        self._tell(
            event,
            where=in_words(site.name, route),
            site=site.name,
            tries=pause.failed_probes,
            paused_for=pause.lasted(self._now()),
            reason=pause.reason,
            waiting=self._waiting(site),
            fate=self._fate,
        )

    def keep_given_up(self, site: Site, route: str) -> None:
        """Have the next run, if its requests are left to that, know of a pause that has no end."""
        pause = site.routes.pause(route)
        if pause is not None and self._keeps_given_up:
            kept = KeptPause(pause.until, pause.reason, pause.failed_probes)
            self._store.put_pause(key_of(site.name, route), kept)

    def forget(self, site: Site, route: str) -> None:
        """Have the next run know of no pause."""
        self._store.put_pause(key_of(site.name, route), None)

    def _keep(self, values: Mapping[str, Any]) -> None:
        """Have the next run, and others, know until when a site is left alone."""
        kept = KeptPause(values["until"], values["reason"], values["tries"])
        self._store.put_pause(key_of(values["site"], values["route"]), kept)

    def _ended(self, values: Mapping[str, Any]) -> None:
        self._store.put_pause(key_of(values["site"], values.get("route", "")), None)

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


def rate_in_words(rate: float) -> str:
    """Return requests a second in a unit of which there are several."""
    for seconds, unit in ((1, "second"), (60, "minute")):
        if rate * seconds >= _SEVERAL:
            return f"{rate * seconds:.0f} requests a {unit}"
    return f"{rate * 3600:.0f} requests an hour"


def time_in_words(seconds: float) -> str:
    """Return seconds in a unit of which there are several."""
    for unit, name in ((3600, "hours"), (60, "minutes")):
        if seconds >= _SEVERAL * unit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds:.0f} seconds"
