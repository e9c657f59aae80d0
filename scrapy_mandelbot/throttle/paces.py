"""The pace of each site: the crawl delay of its robots.txt, or the project's."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING

from scrapy_mandelbot import events
from scrapy_mandelbot.politeness.pace import (
    PacePolicy,
    pace_by_hand,
    pace_of_file,
    unreadable_lines,
)

if TYPE_CHECKING:
    from mandelbot import Agent, RobotsTxt

    from scrapy_mandelbot.clock import Clock
    from scrapy_mandelbot.politeness.pace import Pace
    from scrapy_mandelbot.politeness.site_state import Site
    from scrapy_mandelbot.settings.config import Config

_NAMED = 5  # of the lines that cannot be read
_FIELDS = frozenset({"crawl-delay", "request-rate", "visit-time"})
_AS_WRITTEN = PacePolicy(longest=inf)


class Paces:
    """Sets the pace of sites.

    `pace_changed` is called with a site whose pace has changed.
    """

    def __init__(
        self,
        config: Config,
        clock: Clock,
        emit: Callable[..., None],
        pace_changed: Callable[[Site], None],
    ) -> None:
        self._config = config
        self._now = clock.now
        self._emit = emit
        self._pace_changed = pace_changed

    def learn(self, site: Site, robots: RobotsTxt, agent: Agent, until: float) -> bool:
        """Follow the pace that a robots.txt sets for an agent, or the project's delay.

        `until`: when the rules are to be looked up again. Returns whether the pace has
        changed.
        """
        by_hand = self._by_hand(site)
        if by_hand is not None:
            return self._follow(site, pace_by_hand(by_hand, robots, agent), until)
        lines = unreadable_lines(robots, agent)
        if lines and site.note_once("unreadable"):
            named = ", ".join(map(str, lines[:_NAMED]))
            self._emit(
                events.PACE_UNREADABLE, where=site.name, lines=named, count=len(lines)
            )
        return self._follow(
            site, pace_of_file(robots, agent, self._config.pace_policy), until
        )

    def report_not_obeyed(
        self, site: Site, robots: RobotsTxt, agent: Callable[[], Agent]
    ) -> None:
        """Report once the pace in a robots.txt that the project does not obey."""
        if _FIELDS.isdisjoint(robots.mentioned):
            return
        if "pace" in site.reported or self._config.obeys_pace_of(site.name):
            return
        if self._by_hand(site) is not None:
            return
        pace = pace_of_file(robots, agent(), _AS_WRITTEN)
        if not pace.is_free and site.note_once("pace"):
            site.is_timed = True
            site.recheck()
            self._emit(
                events.PACE_NOT_OBEYED, where=site.name, pace=pace, source=pace.source
            )

    def learn_by_hand(self, site: Site) -> bool:
        """Follow the project's manual delay while no rules are known.

        Returns:
            Whether the pace of the site has changed.
        """
        by_hand = self._by_hand(site)
        if by_hand is None:
            return self._restore(site)
        if site.pacer.is_on:
            return False
        until = -inf if self._config.obeys_pace_of(site.name) else inf
        return self._follow(site, pace_by_hand(by_hand), until)

    def _by_hand(self, site: Site) -> float | None:
        """Return the project's own delay for a site; None: it sets none."""
        delay = self._config.crawl_delays.of(site.name)
        return None if isinstance(delay, str) else delay

    def _follow(self, site: Site, pace: Pace, until: float) -> bool:
        now = self._now()
        is_restored = (
            not site.pacer.is_on and site.pacer.resumes_at > now and not pace.is_free
        )
        is_news = site.pacer.follow(pace, until, now)
        site.recheck()
        if not is_news:
            return False
        if is_restored:
            self._emit(events.TURN_RESTORED)
        if not pace.is_free and site.note_once("pace"):
            self._emit(events.PACE, where=site.name, pace=pace, source=pace.source)
            if pace.asked > pace.longest:
                asked = pace.asked
                longest = pace.longest
                self._emit(
                    events.PACE_CAPPED, where=site.name, asked=asked, longest=longest
                )
        self._pace_changed(site)
        return True

    def _restore(self, site: Site) -> bool:
        """Wait for the turn that the previous run left."""
        if not self._config.obeys_pace_of(site.name):
            site.pacer.known_until = inf
            return False
        if not site.pacer.restore(self._config.pace_longest, self._now()):
            return False
        site.recheck()
        self._emit(events.TURN_RESTORED)
        self._pace_changed(site)
        return True
