"""The paces of sites: what their owners ask for, or the project has set, as far as it is known."""

from __future__ import annotations

import re
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
    from scrapy_mandelbot.clock import Clock
    from scrapy_mandelbot.politeness.pace import Pace
    from scrapy_mandelbot.politeness.site_state import Site
    from scrapy_mandelbot.robots.robotstxt import RobotsTxt
    from scrapy_mandelbot.robots.robotstxt.robots_txt import Agent
    from scrapy_mandelbot.settings.config import Config

_NAMED = 5  # of the lines that cannot be read
_SPEAKS = re.compile(rb"crawl-delay|request-rate|visit-time", re.IGNORECASE)
_AS_WRITTEN = PacePolicy(longest=inf)


class Paces:
    """Has sites asked at their pace; `pace_changed` is called with a site that has another one."""

    def __init__(
        self,
        config: Config,
        clock: Clock,
        tell: Callable[..., None],
        pace_changed: Callable[[Site], None],
    ) -> None:
        self._config = config
        self._now = clock.now
        self._tell = tell
        self._pace_changed = pace_changed

    def learn(self, site: Site, robots: RobotsTxt, agent: Agent, until: float) -> bool:
        """Have a site asked as its robots.txt asks of an agent, or as the project has set.

        Until the rules are to be looked up again. Returns whether it is another pace than just now.
        """
        by_hand = self._config.configured_delay(site.name)
        if by_hand is not None:
            return self._keep_to(site, pace_by_hand(by_hand, robots, agent), until)
        lines = unreadable_lines(robots, agent)
        if lines and site.is_news("unreadable"):
            named = ", ".join(map(str, lines[:_NAMED]))
            self._tell(events.PACE_UNREADABLE, where=site.name, lines=named, count=len(lines))
        return self._keep_to(site, pace_of_file(robots, agent, self._config.pace_policy), until)

    def tell_not_obeyed(self, site: Site, robots: RobotsTxt, agent: Agent) -> None:
        """Tell once what a robots.txt asks of an agent, where the project does not obey it."""
        if self._config.obeys_pace or "pace" in site.told:
            return
        if not _SPEAKS.search(robots.body.replace(b"\0", b"")):  # it may be UTF-16
            return
        pace = pace_of_file(robots, agent, _AS_WRITTEN)
        is_by_hand = self._config.configured_delay(site.name) is not None
        if not pace.is_free and not is_by_hand and site.is_news("pace"):
            self._tell(events.PACE_NOT_OBEYED, where=site.name, pace=pace, source=pace.source)

    def learn_by_hand(self, site: Site) -> bool:
        """Have a site asked as the project has set, as long as no rules are known.

        Returns:
            Whether the site's pace is another one than just now.
        """
        by_hand = self._config.configured_delay(site.name)
        if by_hand is None:
            return self._keep_to_what_is_left(site)
        if site.pacer.is_on:
            return False
        until = -inf if self._config.obeys_pace else inf
        return self._keep_to(site, pace_by_hand(by_hand), until)

    def _keep_to(self, site: Site, pace: Pace, until: float) -> bool:
        now = self._now()
        is_restored = not site.pacer.is_on and site.pacer.resumes_at > now and not pace.is_free
        if not site.keep_to(pace, until, now):
            return False
        if is_restored:
            self._tell(events.TURN_RESTORED)
        if not pace.is_free and site.is_news("pace"):
            self._tell(events.PACE, where=site.name, pace=pace, source=pace.source)
            if pace.asked > pace.longest:
                asked, longest = pace.asked, pace.longest
                self._tell(events.PACE_CAPPED, where=site.name, asked=asked, longest=longest)
        self._pace_changed(site)
        return True

    def _keep_to_what_is_left(self, site: Site) -> bool:
        """Leave a site alone as long as the pace that a former run knew lets it be."""
        if not self._config.obeys_pace:
            site.pacer.known_until = inf
            return False
        if not site.pacer.restore(self._config.pace_longest, self._now()):
            return False
        site.look_anew()
        self._tell(events.TURN_RESTORED)
        self._pace_changed(site)
        return True
