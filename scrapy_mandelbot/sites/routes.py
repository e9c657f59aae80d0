"""The routes to one site, and how each is paused.

There is one route, ``""``, but with the option ``per_proxy`` of pauses: a 503 through one of
several proxies may mean the proxy, as too many ask through it. Then each proxy through which the
site is asked is a route of its own, and ``""`` stands for requests that have no proxy yet: those
wait only while all proxies are shut.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_mandelbot.sites.pause import News, Pause, PauseState
from scrapy_mandelbot.sites.pause_law import PauseLaw

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy_mandelbot.sites.flight import Flight
    from scrapy_mandelbot.sites.pause_law import Refusal

MOST_ROUTES = 1_000
"""Proxies that are told apart for one site."""
REMEMBERED = 600.0
"""Seconds after its last pause for which it is known how a site refuses."""


class Routes(dict[str, Pause]):
    """The pause of each route by which a site is or was asked while any of them was in trouble."""

    def __init__(self, law: PauseLaw) -> None:
        super().__init__()
        self._law = law

    def pause(self, name: str = "") -> Pause | None:
        """Return the pause of a route; None: it was never paused."""
        return self.get(name)

    def use(self, name: str) -> Pause:
        """Return the pause of a route, noted if need be."""
        pause = self.get(name)
        if pause is None:
            if len(self) >= MOST_ROUTES:
                self._forget_one()
            pause = self[name] = Pause(self._law)
        return pause

    @property
    def is_plain(self) -> bool:
        """Whether none of them holds anything back."""
        for name, pause in self.items():  # noqa: SIM110 -- a generator is two calls more
            if name or pause.state is not PauseState.OPEN:
                return False
        return True

    def is_faded(self, now: float) -> bool:
        """Return whether nothing would be lost by forgetting all of them."""
        return self.is_plain and all(
            pause.lengths.is_faded(now, REMEMBERED) for pause in self.values()
        )

    @property
    def share(self) -> float:
        """The share of requests that is refused by chance; 0: it is not known."""
        recoveries = [pause.recovery for pause in self.values()]
        return max((one.share for one in recoveries if one is not None), default=0.0)

    def disregard(self, sent: Iterable[float]) -> None:
        """Take refusals, by the time they were sent, for no matter of the site's rate."""
        for pause in self.values():
            if pause.recovery is not None:
                pause.recovery.disregard(sent)

    def due(self, name: str, now: float) -> float:
        """Return when a request may be sent by a route."""
        due = self[name].due(now) if name in self else now
        proxies = () if name else self._proxies()
        return max(due, min((one.due(now) for one in proxies), default=due))

    def is_shut(self, name: str) -> bool:
        """Return whether nothing is sent by a route, not even at the rate of a recovery."""
        if name in self and not self[name].is_passable:
            return True
        proxies = () if name else self._proxies()
        return bool(proxies) and not any(one.is_passable for one in proxies)

    def has_given_up(self, name: str = "") -> bool:
        """Return whether a route is not used again in this run."""
        return name in self and self[name].is_given_up

    def is_shut_for(self, flight: Flight) -> bool:
        """Return whether a request has not had its turn to be sent by its route."""
        pause = self.get(flight.route)
        if pause is None or pause.probe is flight or pause.is_open:
            return False
        # Who comes from the queue was handed out at the rate of the recovery.
        return not pause.is_passable or flight.passed != flight.route

    def may_take_turn(self, flight: Flight, now: float) -> bool:
        """Return whether a request that is held back may go now, perhaps as the probe."""
        if flight.is_from_queue and flight.passed == flight.route:
            return False  # it goes back to the queue
        return self.use(flight.route).due(now) <= now

    def let_pass(self, flight: Flight, now: float) -> None:
        """Let a request pass by its route: as the probe, if one is due."""
        flight.passed = flight.route
        if flight.route in self:
            self[flight.route].let_pass(flight, now)

    def answered(self, flight: Flight, now: float) -> News | None:
        """Note a good answer."""
        return self[flight.route].answered(flight, now) if flight.route in self else None

    def refused(
        self, flight: Flight, refusal: Refusal, recent: Iterable[float], *, has_served: bool
    ) -> News | None:
        """Note a refusal that is the site's; see :meth:`Pause.refused`."""
        news = self.use(flight.route).refused(flight, refusal, recent, has_served=has_served)
        if news is News.GAVE_UP and all(one.is_given_up for one in self._proxies()):
            self.use("").give_up(refusal.reason)
        return news

    def ended(self, flight: Flight, now: float) -> bool:
        """Note that a request ended and has told nothing; return whether it was the probe."""
        return flight.route in self and self[flight.route].ended(flight, now)

    def end_pause(self, now: float) -> None:
        """Let the probe go at once, as the operator knows that the site is well."""
        if "" in self:
            self[""].be_due(now)

    def give_up(self, reason: str) -> list[str]:
        """Use none of them any more; return the names of those that were not given up yet."""
        self.use("")
        return [name for name, pause in self.items() if pause.give_up(reason)]

    def probes(self) -> Iterator[Flight]:
        """Yield the requests on their way that ask whether the pause of their route is over."""
        for pause in self.values():
            if pause.probe is not None:
                yield pause.probe

    def _proxies(self) -> list[Pause]:
        return [pause for name, pause in self.items() if name]

    def _forget_one(self) -> None:
        """Make room: the proxy goes that was noted first, of those that are open if any is."""
        proxies = [name for name in self if name]
        are_open = (name for name in proxies if self[name].is_open)
        del self[next(are_open, proxies[0])]


NO_ROUTES = Routes(PauseLaw())
"""Of all sites that were never in trouble; a site has routes of its own before it writes any."""
