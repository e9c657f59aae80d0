"""Decisions on paused sites by the operator, or when no other work is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from math import inf
from typing import TYPE_CHECKING

import scrapy.signals
from scrapy.exceptions import CloseSpider, DontCloseSpider
from twisted.python.failure import Failure

from scrapy_mandelbot import engine, events, signals
from scrapy_mandelbot.politeness.flight import OUTLASTS_RUN, Wait

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_mandelbot.politeness.site_state import Site
    from scrapy_mandelbot.settings.config import Config
    from scrapy_mandelbot.throttle.throttle import Throttle


class ManualControl:
    """Pauses, resumes and gives up sites for the operator of a crawl."""

    def __init__(
        self,
        crawler: Crawler,
        config: Config,
        throttle: Throttle,
        end_last_waits: Callable[[Collection[Site]], bool],
        end_tries: Callable[[Site], bool],
    ) -> None:
        self._end_tries = end_tries
        self._throttle = throttle
        self._now = throttle.now
        self._idle_policy = IdlePolicy(crawler, config, throttle, self, end_last_waits)
        self.only_waits = self._idle_policy.only_waits
        """Notes that nothing is under way, and that no request may be sent now."""
        self.leaves_paused = self._idle_policy.leaves_paused
        """Whether the run ends while sites are paused."""

    def count_shut(self) -> tuple[int, int]:
        """Return how many queued requests are of shut parts, and of given-up sites.

        A site, a section or a page is shut while it waits for a time of its own.
        """
        now = self._now()
        shut = 0
        given_up = 0
        delayed: Counter[Site] = Counter()
        for site, at, count in self._delayed():
            if at > now:
                delayed[site] += count
        for site, section, count in self._throttle.in_flight.sub_queues():
            wait = site.decide(now, section=section).wait
            if wait in OUTLASTS_RUN:
                shut += count
                given_up += count
            elif wait is Wait.PAUSE or site.is_shut(now):
                shut += count
            else:
                pages = min(count, delayed[site])
                shut += pages
                delayed[site] -= pages
        return shut, given_up

    def count_above_budget(self) -> int:
        """Return how many queued requests wait for a larger budget of their site."""
        if self._throttle.budgets is None:
            return 0
        return sum(
            count
            for site, _, count in self._throttle.in_flight.sub_queues()
            if site.budget is not None and site.budget.is_reached
        )

    def waiting(self) -> set[Site]:
        """Return the sites of queued requests that may be sent in this run."""
        return {site for site, _ in self._waiting_parts(self._now())}

    def _delayed(self) -> Iterator[tuple[Site, float, int]]:
        """Yield site, time and number of requests that wait for their own time."""
        for queue in self._throttle.in_flight.queues:
            yield from queue.delayed()

    def _waiting_parts(self, now: float) -> Iterator[tuple[Site, str]]:
        """Yield the sites and sections of queued requests for which the run goes on."""
        for site, section, _ in self._throttle.in_flight.sub_queues():
            if site.decide(now, section=section).wait not in OUTLASTS_RUN:
                yield site, section

    def next_due(self) -> float:
        """Return the seconds until the queues' first request may be sent; 0: now."""
        now = self._now()
        times = [at for _, at, _ in self._delayed()]
        times.extend(
            site.due(now, section) for site, section in self._waiting_parts(now)
        )
        return max(0.0, min(times, default=inf) - now)

    def closed_sites(self) -> dict[str, str]:
        """Return the states of the sites that get no request now, by name, as text."""
        now = self._now()
        return {
            site.name: site.as_text(now)
            for site in self._throttle.sites.in_trouble()
            if site.is_shut(now)
        }

    def hold(self, name: str, until: float, reason: str) -> None:
        """Pause a site until a time, whatever it answers; its requests wait."""
        throttle = self._throttle
        site = throttle.sites.of(name)
        site.hold(self._now(), until)
        throttle.sites.note_trouble(site)
        throttle.in_flight.evict(site)
        throttle.pauses.emit(events.HELD, site, until=until, reason=reason, tries=0)
        throttle.update(site)
        throttle.timers.set(site, until)

    def end_hold(self, name: str) -> bool:
        """End the hold or pause of a site; return whether there was one."""
        throttle = self._throttle
        now = self._now()
        site = throttle.sites.get(name)
        if site is None or site.pause_due(now) <= now:
            return False
        site.release(now)
        site.pause.be_due(now)
        throttle.peers.put_pause(name, None)  # others wait for it
        throttle.pauses.look_again(site)
        return True

    def give_up_all(self, reason: str) -> None:
        """Give up every shut site, and the shut sections and pages of the others."""
        throttle = self._throttle
        now = self._now()
        for site in throttle.sites.in_trouble():
            if site.is_shut(now):
                if not site.has_answered and self._end_tries(site):
                    continue  # its requests fail with its error, or are kept
                if site.give_up(reason):
                    throttle.pauses.emit(events.GIVEN_UP, site)
            elif site.has_refused:
                for section in site.faults.give_up(reason):
                    throttle.pauses.emit(
                        events.SECTION_GIVEN_UP, site, section.pause, path=section.path
                    )
            throttle.pauses.look_again(site)


SITES_PAUSED = "sites_paused"
"""The finish reason of a spider whose remaining requests wait for the next run."""
BUDGET_REACHED = "budget_reached"
"""The finish reason if they wait for a larger budget of their sites."""
TOTAL_IS_OVER = "MANDELBOT_PAUSE_OPTIONS['total'] is over"
"""Why sites are given up on which the crawl has waited long enough."""


class IdlePolicy:
    """Decides how long an idle crawl waits for paused sites."""

    def __init__(
        self,
        crawler: Crawler,
        config: Config,
        throttle: Throttle,
        manual_control: ManualControl,
        end_last_waits: Callable[[Collection[Site]], bool],
    ) -> None:
        self._crawler = crawler
        self._end_last_waits = end_last_waits
        self._throttle = throttle
        self._manual_control = manual_control
        self._now = throttle.now
        self._sends_idle = config.signals_idle
        self._fails = config.pause_idle == "fail"
        self._closes: float | None = None
        """Seconds; the run ends where nothing is due so soon."""
        if throttle.keeps_given_up:
            self._closes = config.closes_unless_due_within
        self.leaves_paused = self._closes is not None
        """Whether the run ends while sites are paused."""
        self._left = config.pause_total
        """Seconds for which the run goes on waiting; None: for as long as it takes."""
        self._waits_since: float | None = None
        connect = crawler.signals.connect
        connect(self._scheduler_empty, signal=scrapy.signals.scheduler_empty)
        connect(self._stop_waiting, signal=signals.site_resumed)
        connect(self._spider_idle, signal=scrapy.signals.spider_idle)
        connect(self._spider_closed, signal=scrapy.signals.spider_closed)

    def _spider_idle(self) -> None:
        """End a run whose queues keep pages for the next one, if nothing else is left.

        A spider that feeds the crawl in batches goes on.
        """
        queues = self._throttle.in_flight.queues
        if any(one.left_to_next_run() for one in queues):
            raise CloseSpider(SITES_PAUSED)

    def only_waits(self) -> None:
        """Do the same where so many requests wait that no signal asks for more.

        A ``start()`` may wait for that signal. The run waits for its sites then, too.
        """
        if not self._throttle.sites.had_trouble:
            return
        if engine.is_idle_but_for_the_scheduler(self._crawler):
            self._scheduler_empty()
        elif engine.is_idle_but_for_start(self._crawler):
            self._begin_to_wait()

    def _scheduler_empty(self) -> None:
        """Wait, close or go on: the scheduler hands out nothing, yet may hold some."""
        if not self._throttle.sites.had_trouble:
            return  # no request waits for a time
        if not engine.is_idle_but_for_the_scheduler(self._crawler):
            return
        held = engine.scheduler_length(self._crawler)
        if not held:
            self._stop_waiting()
            return
        shut, given_up = self._manual_control.count_shut()
        left_over = engine.scheduler_left_over(self._crawler)
        shut += left_over
        given_up += left_over
        if not self._only_waits(held, shut):
            self._stop_waiting()
            return
        if shut > given_up and self._end_last_waits(self._manual_control.waiting()):
            return
        if self._leaves_the_rest(is_all_given_up=shut == given_up):
            self._close(self._why_the_rest_is_left())
            return
        self._begin_to_wait()
        if self._sends_idle:
            self._send_idle()

    def _begin_to_wait(self) -> None:
        if self._waits_since is not None:
            return
        self._waits_since = self._now()
        if self._left is not None:
            at = self._waits_since + self._left
            self._throttle.pauses.total_ends_at = at
            self._throttle.timers.set(self, at, self._give_up)

    def _only_waits(self, held: int, shut: int) -> bool:
        """Return whether all requests that the scheduler holds wait for a time."""
        if held == shut:
            return True
        return bool(shut) and engine.scheduler_only_waits(self._crawler)

    def _leaves_the_rest(self, *, is_all_given_up: bool) -> bool:
        """Return whether the waiting requests are left to the next run."""
        if not self._throttle.keeps_given_up:
            return False
        if is_all_given_up:
            return True
        return (
            self._closes is not None and self._manual_control.next_due() > self._closes
        )

    def _why_the_rest_is_left(self) -> str:
        """Return the finish reason; budgets are one if nothing else holds requests."""
        if self._throttle.budgets is None:
            return SITES_PAUSED
        are_budgets = all(
            site.budget is not None and site.budget.is_reached
            for site, _, _ in self._throttle.in_flight.sub_queues()
        )
        return BUDGET_REACHED if are_budgets else SITES_PAUSED

    def _stop_waiting(self) -> None:
        """Note that the crawl has more to do than to wait for paused sites."""
        if self._waits_since is not None and self._left is not None:
            self._left = max(0.0, self._left - (self._now() - self._waits_since))
        self._waits_since = None
        self._throttle.pauses.total_ends_at = inf
        self._throttle.timers.drop(self)

    def _spider_closed(self, reason: str) -> None:
        self._stop_waiting()
        # whoever closed it: a worker does so itself
        if reason == SITES_PAUSED and self._fails:
            engine.fail(self._crawler, "", lambda: None)

    def _give_up(self, _: IdlePolicy) -> None:
        self._left = 0.0
        self._manual_control.give_up_all(TOTAL_IS_OVER)

    def _send_idle(self) -> None:
        """Send spider_idle to spiders that feed the crawl in batches.

        Scrapy does not send it while requests wait in the queue.
        """
        results = self._crawler.signals.send_catch_log(
            scrapy.signals.spider_idle,
            spider=self._crawler.spider,
            dont_log=(CloseSpider, DontCloseSpider),
        )
        for _, result in results:
            if isinstance(result, Failure) and isinstance(result.value, CloseSpider):
                self._close(result.value.reason or "cancelled")
                return

    def _close(self, reason: str) -> None:
        engine.schedule(self._crawler.engine.close_spider_async(reason=reason))
