"""What former runs, other workers and other crawls say of sites: those are left alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_mandelbot import events
from scrapy_mandelbot.sites.pause import LeftPause, Refusal
from scrapy_mandelbot.throttle.neighbours import GIVES_WAY
from scrapy_mandelbot.throttle.site_map import split_key

if TYPE_CHECKING:
    from scrapy_mandelbot.clock import Clock
    from scrapy_mandelbot.store.contract import KeptPause
    from scrapy_mandelbot.throttle.neighbours import Neighbours
    from scrapy_mandelbot.throttle.throttle import Throttle


class OtherCrawls:
    """Has sites left alone as others do, or did."""

    def __init__(self, throttle: Throttle, neighbours: Neighbours, clock: Clock) -> None:
        self._throttle = throttle
        self._neighbours = neighbours
        self._now = clock.now

    def begin(self) -> None:
        """Go on with what a former run has left, and hear of others from now on."""
        now, throttle = self._now(), self._throttle
        for key, kept in self._neighbours.store.get_pauses().items():
            if kept.until <= now:
                self._neighbours.put_pause(key, None)
                continue
            self._neighbours.know_pause(key, kept)
            name, route = split_key(key)
            self.take_over(name, LeftPause(route, kept.until, kept.reason, kept.failed_probes))
        for name, due in self._neighbours.store.get_turns(now).items():
            site = throttle.sites.of(name)
            site.turns.resumes_at = due
            throttle.alarm.set(site, due)  # and keep the site until then
        self._neighbours.begin(self)

    def take_over(self, name: str, left: LeftPause, *, is_newest: bool = False) -> None:
        """Go on with a pause that a former run, or another worker, has left of a site.

        One that is over by now ends with a probe all the same; one that is known goes on as it is,
        and where the other is the newest of the site for as long as that one says, too.
        """
        throttle, now = self._throttle, self._now()
        site = throttle.sites.of(name)
        known = site.routes.pause(left.route)
        is_news = left.until > now and not left.section and (known is None or known.is_open)
        site.go_on(now, left)
        if is_newest and left.until > now and not left.section:
            site.overhear(now, left.route, Refusal(now, left.reason, left.until - now))
        throttle.sites.note_trouble(site)
        pause = site.routes.pause(left.route)
        if is_news and pause is not None:
            throttle.alarm.set(site, pause.until)
            throttle.reports.prolonged(events.RESTORED, site, left.route, pause)

    def hear_pause(self, key: str, pause: KeptPause) -> None:
        """Leave a site alone, as another crawl does; that one is the first to ask it again."""
        throttle, now = self._throttle, self._now()
        name, route = split_key(key)
        site = throttle.sites.of(name)
        refusal = Refusal(now, pause.reason, max(0.0, pause.until - now) + GIVES_WAY)
        heard = site.overhear(now, route, refusal)
        throttle.sites.note_trouble(site)
        if heard is not None:
            throttle.in_flight.evict(site, route)
            throttle.reports.paused(events.OVERHEARD, site, route, heard.until, heard.reason)
            throttle.alarm.set(site, heard.until)

    def hear_end(self, key: str, pause: KeptPause) -> None:
        """Ask a site again that was left alone for another crawl, which has found it well."""
        name, route = split_key(key)
        site = self._throttle.sites.get(name)
        own = None if site is None else site.routes.pause(route)
        if site is None or own is None or route or own.until > pause.until + 2 * GIVES_WAY:
            return
        site.routes.end_pause(self._now())
        self._throttle.update(site)

    def hear_turn(self, name: str, due: float) -> bool:
        """Leave a site alone until its next turn, and return whether a request waits for that."""
        throttle = self._throttle
        if not throttle.is_paced:
            return False
        site = throttle.sites.of(name)
        site.turns.hold(due)
        throttle.alarm.set(site, due)
        return throttle.queues.waiting(site) > 0
