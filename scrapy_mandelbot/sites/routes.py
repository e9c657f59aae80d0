"""The routes to one site, and how each is paused.

There is one route, ``""``, but with the option ``per_proxy`` of pauses: a 503 through one of
several proxies may mean the proxy, as too many ask through it. Then each proxy through which the
site is asked is a route of its own, and ``""`` stands for requests that have no proxy yet: those
wait only while all proxies are shut.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from scrapy_mandelbot.sites.pause import Pause, PauseLaw, Refusal
from scrapy_mandelbot.sites.pause_table import Fact, News, PauseState
from scrapy_mandelbot.sites.recovery import Recovery

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy_mandelbot.sites.flight import Flight

MOST_ROUTES = 1_000
"""Proxies that are told apart for one site."""
REMEMBERED = 600.0
"""Seconds after its last pause for which it is known how a site refuses."""
_AWAITS_PROBE = frozenset({PauseState.PAUSED, PauseState.ONCE_EACH})


class Route:
    """A way to a site: its pause, and the one request that asks whether that is over."""

    __slots__ = ("opened_at", "pause", "probe")

    def __init__(self, law: PauseLaw) -> None:
        self.pause = Pause(law)
        self.probe: Flight | None = None
        self.opened_at = -inf
        """When it was opened last, in seconds: what was sent before is no news of it."""


class Routes:
    """The routes by which a site is or was asked while any of them was in trouble."""

    __slots__ = ("_by_name", "_law")

    def __init__(self, law: PauseLaw) -> None:
        self._law = law
        self._by_name: dict[str, Route] = {}

    def __len__(self) -> int:
        return len(self._by_name)

    def names(self) -> Iterable[str]:
        """Return those that were used, and the one that is none."""
        return {"", *self._by_name}

    def items(self) -> Iterator[tuple[str, Route]]:
        """Yield the routes with their names."""
        yield from self._by_name.items()

    def pause(self, name: str = "") -> Pause | None:
        """Return the pause of a route; None: it was never paused."""
        route = self._by_name.get(name)
        return None if route is None else route.pause

    def use(self, name: str) -> Route:
        """Return a route, noted if need be."""
        route = self._by_name.get(name)
        if route is None:
            route = Route(self._law)
            if len(self._by_name) >= MOST_ROUTES:
                self._forget_one()
            self._by_name[name] = route
        return route

    @property
    def is_plain(self) -> bool:
        """Whether none of them holds anything back."""
        for name, route in self._by_name.items():
            if name or route.pause.state is not PauseState.OPEN:
                return False
        return True

    def is_faded(self, now: float) -> bool:
        """Return whether nothing would be lost by forgetting all of them."""
        return self.is_plain and all(
            route.pause.lengths.is_faded(now, REMEMBERED) for route in self._by_name.values()
        )

    @property
    def share(self) -> float:
        """The share of requests that is refused by chance; 0: it is not known."""
        recoveries = [route.pause.recovery for route in self._by_name.values()]
        return max((one.share for one in recoveries if one is not None), default=0.0)

    def disregard(self, sent: Iterable[float]) -> None:
        """Take refusals, by the time they were sent, for no matter of the site's rate."""
        for route in self._by_name.values():
            if route.pause.recovery is not None:
                route.pause.recovery.disregard(sent)

    @property
    def has_proxies(self) -> bool:
        """Whether the site is asked by proxies that are told apart."""
        return len(self._by_name) > ("" in self._by_name)

    def due(self, name: str, now: float) -> float:
        """Return when a request may be sent by a route."""
        route = self._by_name.get(name)
        due = now if route is None else route.pause.due(now)
        return due if name else max(due, self._elsewhere_due(now))

    def is_shut(self, name: str) -> bool:
        """Return whether nothing is sent by a route, not even at the rate of a recovery."""
        route = self._by_name.get(name)
        if route is not None and not route.pause.is_passable:
            return True
        if name or not self.has_proxies:
            return False
        return not any(one.pause.is_passable for proxy, one in self._by_name.items() if proxy)

    def has_given_up(self, name: str = "") -> bool:
        """Return whether a route is not used again in this run."""
        route = self._by_name.get(name)
        return route is not None and route.pause.state is PauseState.GIVEN_UP

    def is_shut_for(self, flight: Flight) -> bool:
        """Return whether a request has not had its turn to be sent by its route."""
        route = self._by_name.get(flight.route)
        if route is None or route.probe is flight or route.pause.is_open:
            return False
        # Who comes from the queue was handed out at the rate of the recovery.
        return not route.pause.is_passable or flight.passed != flight.route

    def may_take_turn(self, flight: Flight, now: float) -> bool:
        """Return whether a request that is held back may go now, perhaps as the probe."""
        if flight.is_from_queue and flight.passed == flight.route:
            return False  # it goes back to the queue
        return self.use(flight.route).pause.due(now) <= now

    def let_pass(self, flight: Flight, now: float) -> None:
        """Let a request pass by its route: as the probe, if one is due."""
        flight.passed = flight.route
        route = self._by_name.get(flight.route)
        if route is None:
            return
        is_probe = route.pause.state in _AWAITS_PROBE
        route.pause.take(Fact.SENT, now)
        if is_probe:
            route.probe = flight

    def sent(self, flight: Flight, now: float) -> None:
        """Note that a request leaves by its route."""
        pause = self.pause(flight.route)
        if pause is not None and pause.recovery is not None:
            pause.recovery.left(now)

    def answered(self, flight: Flight, now: float) -> News | None:
        """Note a good answer."""
        route = self._by_name.get(flight.route)
        if route is None:
            return None
        pause = route.pause
        if route.probe is flight:
            route.probe = None
            route.opened_at = now
            return pause.take(Fact.PROBE_ANSWERED, now)
        if flight.sent_at < route.opened_at:
            return None
        if pause.recovery is not None:
            pause.recovery.good(flight.sent_at, now)
        return pause.take(Fact.ANSWERED, now)

    def refused(
        self, flight: Flight, refusal: Refusal, recent: Iterable[float], *, has_served: bool
    ) -> News | None:
        """Note a refusal that is the site's.

        Args:
            flight: the request.
            refusal: what is known of it.
            recent: when those requests were sent that the site answered well lately.
            has_served: whether it answered anything well in this run, and what was never sent is
                to be sent once before it fails.
        """
        route = self.use(flight.route)
        pause = route.pause
        if route.probe is flight:
            route.probe = None
            fact = Fact.PROBE_REFUSED
        elif flight.sent_at < route.opened_at and refusal.retry_after is None:
            return None  # it was sent before the pause that is over
        else:
            fact = Fact.REFUSED
        if pause.recovery is None and self._law.recovers:
            pause.recovery = Recovery(recent)
        if pause.recovery is not None and flight.sent_at >= route.opened_at:
            pause.recovery.refused(flight.sent_at, refusal.now)
        news = pause.take(fact, refusal.now, refusal, has_served=has_served)
        if news is News.GAVE_UP and all(map(self.has_given_up, filter(None, self._by_name))):
            self.use("").pause.take(Fact.GIVE_UP, refusal.now, refusal)
        return news

    def lost(self, flight: Flight, now: float) -> bool:
        """Note that a request ended and has told nothing; return whether it was the probe.

        Another one may go at once then.
        """
        route = self._by_name.get(flight.route)
        if route is None or route.probe is not flight:
            return False
        route.probe = None
        route.pause.take(Fact.PROBE_LOST, now)
        return True

    def end_pause(self, now: float) -> None:
        """Let the probe go at once, as the operator knows that the site is well."""
        pause = self.pause()
        if pause is not None:
            pause.take(Fact.ENDED_BY_HAND, now)

    def give_up(self, now: float, reason: str) -> list[str]:
        """Use none of them any more; return the names of those that were not given up yet."""
        self.use("")
        refusal, names = Refusal(now, reason), []
        for name, route in self._by_name.items():
            route.probe = None
            if route.pause.take(Fact.GIVE_UP, now, refusal) is News.GAVE_UP:
                names.append(name)
        return names

    def forget(self, name: str) -> None:
        """Know nothing of a route, as of one that was never used."""
        self._by_name.pop(name, None)

    def is_probed(self, name: str) -> bool:
        """Return whether a probe is on its way by a route."""
        route = self._by_name.get(name)
        return route is not None and route.probe is not None

    def awaits_probe(self, name: str) -> bool:
        """Return whether the request that goes next by a route is the probe."""
        pause = self.pause(name)
        return pause is not None and pause.state in _AWAITS_PROBE

    def probes(self) -> Iterator[Flight]:
        """Yield the requests on their way that ask whether the pause of their route is over."""
        for route in self._by_name.values():
            if route.probe is not None:
                yield route.probe

    def _forget_one(self) -> None:
        """Make room: the proxy goes that was noted first, of those that are open if any is."""
        proxies = [name for name in self._by_name if name]
        are_open = (name for name in proxies if self._by_name[name].pause.is_open)
        del self._by_name[next(are_open, proxies[0])]

    def _elsewhere_due(self, now: float) -> float:
        """Return when the first of the proxies is due, for a request that has none yet."""
        if not self.has_proxies:
            return -inf
        return min(route.pause.due(now) for name, route in self._by_name.items() if name)


NO_ROUTES = Routes(PauseLaw())
"""Of all sites that were never in trouble; a site has routes of its own before it writes any."""
