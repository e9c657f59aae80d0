"""A site's state with the simplest queue around it, which follows it as the site queue
does.
"""

from __future__ import annotations

from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Any

from mandelbot.answers.outcome import Failure
from simulated_scenarios import CHALLENGE

from scrapy_mandelbot.politeness.concurrency_limit import FEWEST, HALF, ConcurrencyLimit
from scrapy_mandelbot.politeness.faults import REFUSES_ROBOTS
from scrapy_mandelbot.politeness.flight import GO, NEVER, Flight
from scrapy_mandelbot.politeness.measured_limit import MeasuredLimit
from scrapy_mandelbot.politeness.pause import Pause, PauseEffect
from scrapy_mandelbot.politeness.pause_policy import PausePolicy, Refusal
from scrapy_mandelbot.politeness.probe import (
    look_for_probe,
    looked_through,
    may_ask_again,
)
from scrapy_mandelbot.politeness.site_state import Site
from scrapy_mandelbot.throttle.in_flight import Unresponsive

if TYPE_CHECKING:
    from laws import Crawl


def _url_of(page):
    return page.url.encode()


class Page:
    """A request."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.method = "GET"
        self.headers: dict[str, list[str]] = {}
        self.meta: dict[str, object] = {}


class SiteAndQueue:
    """What queue, throttle and middlewares do, with no crawl around them."""

    finds_limits = False
    """Whether MANDELBOT_CONCURRENCY is "measured"."""

    def __init__(self, crawl: Crawl) -> None:
        self.crawl = crawl
        self.law = PausePolicy()
        self.site = Site("https://example.com", self.law)
        self._aside: dict[str, list[str]] = {}
        self._delayed: dict[str, None] = {}  # those that were refused longest ago first
        self._in_flight = self._answered = 0
        self._tries: dict[str, int] = {}
        self._is_asked = False

    def rules_read(self, sent: float) -> None:
        """Note that its robots.txt has come, which was asked for then."""
        self.site.rules_asked_at = sent

    def due(self, now: float) -> float:
        if self.site.pause.is_given_up:
            return now
        if self._in_flight >= self.most_at_once():
            return inf
        due = self.site.due(now)
        if not self._aside or due == inf:
            return due
        if self.crawl.queue:
            return due
        return max(
            due,
            min((one.due(now) for one in self.site.faults.aside.values()), default=now),
        )

    def take(self, now: float) -> str | None:
        queue = self.crawl.queue
        site = self.site
        if site.pause.is_given_up:
            while queue:
                self.crawl.fail(queue.pop(0))
            return None
        self._look_aside(now)
        if not queue:
            return None
        most = looked_through(site)
        number = 0
        if most > 1:
            pages = map(Page, queue)

            def more_pages(number):
                return list(islice(pages, number))

            chosen, _ = look_for_probe(site, more_pages, _url_of, most, self._check)
            if chosen is None:
                return None
            number = chosen
        url = queue.pop(number)
        section = site.faults.of(Page(url))
        decision = GO if section is None else section.decide(now)
        if section is not None and decision not in {GO, NEVER}:
            self._aside.setdefault(section.path, []).append(url)
            self.crawl.at(decision.until, self._look)
            return None
        flight = Flight(Page(url), site)
        flight.fingerprint = url.encode()
        if site.has_given_up(flight):
            self.crawl.fail(url)
            return None
        return url

    def _check(self, site: Site) -> bool:
        if not may_ask_again(site):
            return False
        self.crawl.send_again(site.well_url)
        return True

    def _look_aside(self, now: float) -> None:
        """Bring back what was set aside, where a section is due or over."""
        if not self._aside:
            return
        sections = {one.path: one for one in self.site.faults.aside.values()}
        for path, urls in list(self._aside.items()):
            section = sections.get(path)
            if section is None:
                self.crawl.queue[:0] = self._aside.pop(path)
            elif section.pause.is_given_up:
                for url in self._aside.pop(path):
                    self.crawl.fail(url)
            elif section.pause.due(now) <= now:
                self.crawl.queue.insert(0, urls.pop(0))
                if not urls:
                    del self._aside[path]

    def sent(self, url: str, now: float) -> Any:
        flight = Flight(Page(url), self.site)
        flight.tick = self.site.ticks
        flight.fingerprint = url.encode()
        flight.sent_at = now
        self._in_flight += 1
        self._look_at_limit(flight, now)
        self.site.handed_out(flight, now, as_scout=False)
        return flight

    def most_at_once(self) -> int:
        """Return how many requests may be in flight."""
        site = self.site
        if site.concurrency is ConcurrencyLimit.BEGINNING and self._answered >= HALF:
            site.concurrency = ConcurrencyLimit.STATED
        return site.concurrency.bound

    def _look_at_limit(self, flight: Flight, now: float) -> None:
        """Note that one more is in flight."""
        flight.at_once = self._in_flight
        site = self.site
        limit = site.concurrency
        most = self.crawl.scenario.in_flight
        if not site.is_plain or self._in_flight < min(limit.bound, most):
            return
        if limit.is_shared:
            if not self.finds_limits or self._answered + self._in_flight < FEWEST:
                return
            limit = MeasuredLimit(most, limit.bound)
            site.concurrency = limit
        limit.full(self._answered, now, most)

    def left(self, flight: Flight[Site], _url: str, now: float) -> None:
        self.site.sent(flight, now)

    def answered(self, flight: Flight[Site], url: str, now: float) -> None:
        self._in_flight -= 1
        self._answered += 1
        if self.crawl.is_again(url):
            self._is_asked = False
        quota = self.crawl.server.quota(now)
        if quota is not None:
            self.site.pacer.note_quota(flight, *quota, now)
            self.site.recheck()
        limit = self.site.concurrency
        if limit.takes_times:
            limit.note(flight.at_once, flight.sent_at, now)
        self.site.answered(flight, now, url.encode())
        self.site.ended(flight, now)
        self._look_later(now)

    def refused(
        self, flight: Flight[Site], url: str, now: float, retry_after: float | None
    ) -> None:
        page = url.encode()
        if flight.at_once:
            flight.at_once = max(flight.at_once, self._in_flight)
        self._in_flight -= 1
        if retry_after == CHALLENGE:
            self._challenged(flight, url, now)
            return
        jitter = self.crawl.random.random()
        refusal = Refusal(
            now, "503", retry_after, jitter, is_outage=retry_after is None
        )
        self.site.refused(flight, page, refusal)
        self.site.ended(flight, now)
        if self.crawl.is_again(url):
            return
        site = self.site
        if flight.is_refused_alone or site.has_given_up(flight):
            self.crawl.fail(url)
            site.forget(page)
        else:
            self._put_back(url, is_new=True)
        self._look_later(now)

    def failed(self, flight: Flight[Site], url: str, now: float) -> None:
        """Note a failure, which may cost a retry, as RetryMiddleware has it."""
        page = url.encode()
        if flight.at_once:
            flight.at_once = max(flight.at_once, self._in_flight)
        self._in_flight -= 1
        site = self.site
        jitter = self.crawl.random.random()
        refusal = Refusal(now, "502", None, jitter, is_outage=True, is_stated=False)
        is_check = self.crawl.is_again(url)
        goes_back, effect = site.failed(flight, page, refusal, is_check=is_check)
        if is_check:
            self._is_asked = False
        if effect is PauseEffect.DOUBTED and not self._is_asked:
            self._is_asked = self._check(site)
            if not self._is_asked and site.failures.continue_to_come:
                site.note_outage(flight, refusal)
        site.ended(flight, now)
        if is_check:
            return
        if goes_back:
            if site.has_given_up(flight):
                self.crawl.fail(url)
            else:
                self._put_back(url, is_new=True)
        else:
            tries = self._tries.get(url, 0) + 1 - site.failures.take_owed(page)
            self._tries[url] = tries
            if tries > 2:
                self.crawl.fail(url)
            else:
                self.crawl.queue.append(url)
        self._look_later(now)

    def _challenged(self, flight: Flight[Site], url: str, now: float) -> None:
        """Hand a challenge on, but that of a probe, which goes back."""
        section = self.site.faults.of(flight.request)
        is_probe = section is not None and section.pause.probe is flight
        refusal = Refusal(now, REFUSES_ROBOTS, marked=True)
        self.site.refused(flight, url.encode(), refusal)
        self.site.ended(flight, now)
        if is_probe:
            self._put_back(url)
        self._look_later(now)

    def _put_back(self, url: str, *, is_new: bool = False) -> None:
        """Put a request where it is the next one, if its time has come or it is the
        last.
        """
        page = url.encode()
        at, is_alone = self.site.may_go_at(page)
        if is_new and at > self.crawl.now and not (self.crawl.queue or is_alone):
            self._go_by_turns()
        if at > self.crawl.now and (self.crawl.queue or is_alone):
            self._delayed[url] = None
            self.crawl.at(at, lambda: self._wait_is_over(url))
        else:
            self.crawl.put_back(url)

    def _wait_is_over(self, url: str) -> None:
        if url in self._delayed:
            del self._delayed[url]
            self._put_back(url)

    def _go_by_turns(self) -> None:
        """Bring back what was refused with the site: no other request is left."""
        for url in [
            one for one in self._delayed if not self.site.may_go_at(one.encode())[1]
        ]:
            del self._delayed[url]
            self.crawl.queue.append(url)

    def _look_later(self, now: float) -> None:
        """Schedule a look at what is set aside."""
        if self._aside and not self.crawl.queue:
            pauses = [one.pause for one in self.site.faults.aside.values()]
            # of one that is given up they fail at once
            times = [now if one.is_given_up else one.due(now) for one in pauses]
            due = min(times, default=now)
            if due < inf:
                self.crawl.at(max(due, now), self._look)

    def _look(self) -> None:
        self._look_aside(self.crawl.now)


class MeasuredSiteAndQueue(SiteAndQueue):
    """The same with ``MANDELBOT_CONCURRENCY = "measured"``."""

    finds_limits = True


class _OfOneName:
    """The part of a crawl that is of one name: a queue of its own, and the rest of the
    crawl.
    """

    def __init__(self, crawl: Crawl, queue: list[str]) -> None:
        self._crawl = crawl
        self.queue = queue

    def __getattr__(self, name: str) -> Any:
        return getattr(self._crawl, name)

    def put_back(self, url: str) -> None:
        self.queue.insert(0, url)


class QueueOfNames:
    """The sites of one address, each with its queue, by turns.

    Args:
        crawl: which asks them.
        together: whether those share a pause that are refused together.
        queue: of one site.
    """

    def __init__(
        self,
        crawl: Crawl,
        *,
        together: bool = False,
        queue: type[SiteAndQueue] = SiteAndQueue,
    ) -> None:
        self._is_together = together
        self._pause: Pause | None = None
        self._refused_at: dict[str, float] = {}
        self._well_at: dict[str, float] = {}
        queues: dict[str, list[str]] = {}
        for url in crawl.queue:
            queues.setdefault(_name(url), []).append(url)
        self._parts = {name: _OfOneName(crawl, queue) for name, queue in queues.items()}
        self._sites = {name: queue(part) for name, part in self._parts.items()}  # type: ignore[arg-type]
        self._order = list(self._parts)
        crawl.queue = self  # type: ignore[assignment]

    def __bool__(self) -> bool:
        return any(part.queue for part in self._parts.values())

    def due(self, now: float) -> float:
        return min(
            (
                self._sites[name].due(now)
                for name, part in self._parts.items()
                if part.queue
            ),
            default=inf,
        )

    def take(self, now: float) -> str | None:
        for name in self._order:
            if self._parts[name].queue and self._sites[name].due(now) <= now:
                self._order.remove(name)
                self._order.append(name)
                return self._sites[name].take(now)
        return None

    def sent(self, url: str, now: float) -> Any:
        flight = self._sites[_name(url)].sent(url, now)
        self._recheck()
        return flight

    def left(self, flight: Flight[Site], url: str, now: float) -> None:
        self._sites[_name(url)].left(flight, url, now)

    def answered(self, flight: Flight[Site], url: str, now: float) -> None:
        self._well_at[_name(url)] = now
        self._sites[_name(url)].answered(flight, url, now)
        self._recheck()

    def refused(
        self, flight: Flight[Site], url: str, now: float, retry_after: float | None
    ) -> None:
        if self._is_together:
            self._share(_name(url), now)
        self._sites[_name(url)].refused(flight, url, now, retry_after)
        self._recheck()

    def _share(self, name: str, now: float) -> None:
        """Share one pause among names that are refused within a second, if they are
        half of all.
        """
        self._refused_at[name] = now
        refused = {one for one, at in self._refused_at.items() if at > now - 1}
        are_well = {one for one, at in self._well_at.items() if at > now - 1} - refused
        if len(refused) == 1 or len(refused) < len(are_well):
            return
        sites = [self._sites[one].site for one in refused]
        if self._pause is None or self._pause.is_faded(now):
            self._pause = next(
                (one.pause for one in sites if one.pause is not Pause.NONE), None
            )
        if self._pause is not None:
            for one in sites:
                one.pause = self._pause

    def _recheck(self) -> None:
        if self._pause is None:
            return
        for one in self._sites.values():
            if one.site.pause is self._pause:
                one.site.recheck()


class _AlwaysUp:
    """A loop that no callback blocks: its uptime is the time of the crawl."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl

    def since(self, began: float) -> float:
        return self._crawl.now - began

    def watch(self) -> None:
        """There is nothing to watch."""


class QueueOfHosts(QueueOfNames):
    """The sites of a broad crawl, some of which hang.

    A host that has not answered yet gets one request at a time, as for its robots.txt;
    all of its pages fail with that one.
    """

    def __init__(
        self, crawl: Crawl, *, queue: type[SiteAndQueue] = SiteAndQueue
    ) -> None:
        super().__init__(crawl, queue=queue)
        self._crawl = crawl
        self._unresponsive = Unresponsive(
            crawl.scenario.in_flight, self._now, self._drop_none, _AlwaysUp(crawl)
        )
        self._first: set[str] = set()  # hosts whose first request is on its way

    def _now(self) -> float:
        return self._crawl.now

    def _drop_none(self, _flight: Flight[Site]) -> bool:
        return False

    def due(self, now: float) -> float:
        names = self._names_to_ask(now)
        return min((self._sites[name].due(now) for name in names), default=inf)

    def take(self, now: float) -> str | None:
        names = self._names_to_ask(now)
        for name in self._order:
            if name in names and self._sites[name].due(now) <= now:
                self._order.remove(name)
                self._order.append(name)
                return self._sites[name].take(now)
        return None

    def _names_to_ask(self, now: float) -> set[str]:
        """Return the hosts of which a request may be handed out."""
        waiting = {name for name, part in self._parts.items() if part.queue}
        known = {name for name in waiting if self._sites[name].site.has_answered}
        if waiting == known:
            return known
        if not self._unresponsive.check_enough():
            return waiting - self._first
        if any(self._sites[name].due(now) <= now for name in known):
            return known
        if self._unresponsive.may_fill_up(self._crawl.in_flight):
            return waiting - self._first
        return known

    def sent(self, url: str, now: float) -> Any:
        flight = super().sent(url, now)
        if not flight.site.has_answered:
            self._unresponsive[flight] = None
            self._first.add(_name(url))
        return flight

    def answered(self, flight: Flight[Site], url: str, now: float) -> None:
        self._unresponsive.pop(flight, None)
        self._first.discard(_name(url))
        super().answered(flight, url, now)

    def timed_out(self, flight: Flight[Site], url: str) -> None:
        self._unresponsive.fail(flight, Failure.TIMED_OUT)
        self._unresponsive.pop(flight, None)
        self._parts[_name(url)].queue.clear()


def _name(url: str) -> str:
    return url.split("/")[2]
