"""The sites that are asked at a pace, and whose turn it is to be sent to each.

A site with a pace gives one turn at a time. Who has it may be sent, and the next turn comes when
its answer has ended and the pace's delay is over. A turn that was not used, as the rules forbid the
request or the cache has its answer, costs no delay. Turns are given by the queue as it hands out,
and by the waiting room to requests that never were in the queue. Who comes without one, as nobody
knew of the pace when it set out, goes back to the queue.

A pace is the site's, whatever the proxy; and a site of which nobody wants anything is forgotten.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite
from typing import TYPE_CHECKING

from scrapy_mandelbot import engine
from scrapy_mandelbot.gates.alarms import Alarms
from scrapy_mandelbot.gates.sites import site_of_request
from scrapy_mandelbot.gates.waiting import WaitingRoom
from scrapy_mandelbot.politeness import (
    Metronome,
    Pace,
    pace_by_hand,
    pace_of_file,
    unreadable_lines,
)
from scrapy_mandelbot.stores import Recent

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_mandelbot.config import Config
    from scrapy_mandelbot.gates.announcements import Announcements
    from scrapy_mandelbot.robotstxt import RobotsTxt
    from scrapy_mandelbot.robotstxt.robots import Agent

_REMEMBERED_SITES = 10_000
_LOOK_AGAIN = 1.0  # seconds
_KEPT_FROM = 5.0  # seconds; of a shorter wait little is left when the next run has begun
_FREE = Pace()


@dataclass
class _Paced:
    """A site with a pace."""

    metronome: Metronome
    turn: Request | None = None
    """Whose turn it is, or was: the request that was sent last."""
    is_sent: bool = False
    """Whether that request has been sent."""
    waited_since: float | None = None
    """Since when somebody waits for the next turn."""
    shut_since: float | None = None
    """Since when somebody waits for the site's visit time."""


class Paces:
    """The paces of a crawl, by site.

    Args:
        crawler: whose requests wait.
        config: what its project set.
        now: returns seconds since the epoch, by a clock that nobody sets.
        announce: tells the world.
        site_is_due: called with a site whose turn has come, which nobody has taken; returns whether
            any request for it is in the queues.
    """

    def __init__(
        self,
        crawler: Crawler,
        config: Config,
        now: Callable[[], float],
        announce: Announcements,
        site_is_due: Callable[[str], bool],
    ) -> None:
        self._crawler = crawler
        self._config = config
        self._now = now
        self._announce = announce
        self._site_is_due = site_is_due
        self.is_active = bool(config.crawl_delays) or config.obeys_pace
        """Whether any site can have a pace in this crawl."""
        self._sites: dict[str, _Paced] = {}
        self._known: Recent[tuple[Pace, float]] = Recent(_REMEMBERED_SITES)
        self._answered: Recent[float] = Recent(_REMEMBERED_SITES)
        """When sites whose pace is not known were last asked: their robots.txt counts."""
        self._left: dict[str, float] = {}
        """When sites may be asked that former runs have asked last, and this one has not yet."""
        self._told: set[str] = set()
        self._shut: set[str] = set()
        self._alarms = Alarms(now, self._ring)
        # Turns come as long as there are any; for a visit time nobody can wait in memory.
        self._turn_room = WaitingRoom(crawler, inf, now)
        self._shut_room = WaitingRoom(crawler, config.pause_wait, now)

    def __len__(self) -> int:
        return len(self._sites)

    def close(self) -> None:
        """Cancel every timer."""
        self._alarms.close()
        self._turn_room.close()
        self._shut_room.close()

    def restore(self, turns: dict[str, float]) -> None:
        """Go on as a former run has left: no site is asked sooner than its pace let that run."""
        self._left = turns

    # What the pace of a site is.

    def recall(self, site: str) -> bool | None:
        """Have a site's pace kept, if it is known.

        Returns:
            Whether its pace is another one than just now; None: it has to be learnt.
        """
        pace = self._pace_known(site)
        return None if pace is None else self._keep(site, pace)

    def learn(self, site: str, robots: RobotsTxt, agent: Agent, until: float) -> bool:
        """Have the pace kept that a site's robots.txt asks of an agent, or the project's own.

        Args:
            site: whose rules are known.
            robots: what its robots.txt says.
            agent: the robot that is asked for a pace.
            until: when the rules are to be looked up again.

        Returns:
            Whether the site's pace is another one than just now.
        """
        by_hand = self._config.delay_by_hand(site)
        if by_hand is None:
            pace = pace_of_file(robots, agent, self._config.pace_law)
            unreadable = unreadable_lines(robots, agent)
            if unreadable and site not in self._told:
                self._announce.unreadable(site, unreadable)
        else:
            pace = pace_by_hand(by_hand, robots, agent)
        self._known.put(site, (_FREE if pace.is_free else pace, until), 1)
        return self._keep(site, pace)

    def learn_by_hand(self, site: str) -> bool:
        """Have the pace kept that the project sets for a site, as long as no rules are known."""
        by_hand = self._config.delay_by_hand(site)
        if by_hand is None and site in self._left and self._config.obeys_pace:
            return self._keep_left(site)
        if by_hand is None or site in self._sites:
            return False
        pace = pace_by_hand(by_hand)
        if not self._config.obeys_pace:
            self._known.put(site, (pace, inf), 1)
        return self._keep(site, pace)

    def _pace_known(self, site: str) -> Pace | None:
        pace, until = self._known.get(site) or (None, 0.0)
        return pace if until > self._now() else None

    def _keep(self, site: str, pace: Pace) -> bool:
        paced = self._sites.get(site)
        if paced is not None:
            if paced.metronome.pace == pace:
                return False
            paced.metronome.keep_to(pace, self._now())
            self._alarms.set(site, self._now())  # who waits may have to wait no longer
        elif pace.is_free:
            return False
        else:
            self._sites[site] = self._paced(site, pace)
        if site not in self._told and not pace.is_free:
            self._told.add(site)
            self._announce.pace(site, pace)
        return True

    def _keep_left(self, site: str) -> bool:
        """Leave a site alone whose pace is not known yet, and was when a former run asked it."""
        longest = Pace(self._config.pace_law.longest)
        self._sites[site] = paced = self._paced(site, longest)
        paced.metronome.pace = _FREE  # its robots.txt is asked for next, and says what it asks for
        return True

    def _paced(self, site: str, pace: Pace) -> _Paced:
        now = self._now()
        since, left = self._answered.get(site), self._left.pop(site, -inf)
        self._answered.discard(site)
        metronome = Metronome(pace, -inf if since is None else since, left)
        metronome.keep_to(pace, now)
        if left > now:
            self._announce.turn_restored()
        return _Paced(metronome)

    # Whose turn it is.

    def may_go(self, site: str) -> bool:
        """Return whether a request may be sent to the site now; if not, who waits is told when."""
        paced = self._sites.get(site)
        if paced is None:
            return True
        now = self._now()
        # At a time without a delay everybody's turn is now.
        due = now if paced.metronome.is_free_at(now) else self._due(paced, now)
        if due <= now:
            return True
        self._note_wait(site, paced, now, due)
        return False

    def take(self, request: Request) -> bool:
        """Return whether it is the request's turn, which it takes if it is anybody's."""
        if not self._sites:
            return True
        site = site_of_request(request)
        paced = self._sites.get(site)
        if paced is None or paced.turn is request:
            return True
        if not self.may_go(site):
            return False
        self._give(paced, request)
        return True

    async def wait(self, request: Request) -> bool:
        """Wait for a turn, for a request that never was in the queue; it holds no place meanwhile.

        However many wait, turns come one after the other. For a site outside of its visit times
        the wait is MANDELBOT_PAUSE_WAIT at most.

        Returns:
            Whether to try again; if not, the wait is over, or the crawl is.
        """
        site = site_of_request(request)
        room = self._shut_room if site in self._shut else self._turn_room
        return await room.wait(request, site)

    def sent(self, request: Request) -> None:
        """Note that a request leaves for its site."""
        site = site_of_request(request) if self._sites else ""
        paced = self._sites.get(site)
        if paced is not None:
            paced.is_sent = paced.is_sent or paced.turn is request
            paced.metronome.sent(self._now())
            self._tell_next_run(site, paced)

    def ended(self, request: Request) -> None:
        """Note that a request has its answer, or will get none; a turn not used is free again."""
        if not self.is_active:
            return
        site = site_of_request(request)
        paced = self._sites.get(site)
        if paced is None:
            if self._pace_known(site) is None:
                self._answered.put(site, self._now(), 1)
        elif paced.turn is request:
            if paced.is_sent:
                self._tell_next_run(site, paced)
            self._end_turn(paced)
            self._ring(site)
        elif paced.metronome.is_free_at(self._now()):  # one of several that are under way
            paced.metronome.sent(self._now())
            paced.metronome.answered(self._now())

    # Sites outside of their visit times.

    def shut(self) -> set[str]:
        """Return the sites that are not to be asked at this time of the day, and would be."""
        return set(self._shut)

    def shut_in_words(self) -> dict[str, str]:
        """Return why those sites are not asked, in words."""
        return {
            site: f"outside of {self._sites[site].metronome.pace.visits_in_words}"
            for site in sorted(self._shut)
        }

    # The rest is for the above.

    def _due(self, paced: _Paced, now: float) -> float:
        """Return when the next turn is; for ever away, if the last is not used yet."""
        if paced.turn is not None and not engine.is_under_way(self._crawler, paced.turn):
            self._end_turn(paced)  # somebody has swallowed it, and told nobody
        if paced.turn is not None and not paced.is_sent:
            return inf
        if paced.turn is not None and engine.waits_in_slot(self._crawler, paced.turn):
            paced.metronome.sent(now)  # not yet, and no sooner
            return inf
        return paced.metronome.due(now)

    def _give(self, paced: _Paced, request: Request) -> None:
        paced.turn = request
        paced.is_sent = False
        if paced.waited_since is not None:
            self._announce.waited(self._now() - paced.waited_since)
            paced.waited_since = None

    def _end_turn(self, paced: _Paced) -> None:
        if paced.is_sent:
            paced.metronome.answered(self._now())
        paced.turn = None
        paced.is_sent = False

    def _tell_next_run(self, site: str, paced: _Paced) -> None:
        """Have the next run know until when the site is left alone, if it might begin before."""
        now = self._now()
        due = paced.metronome.due_after(now)
        if due - now >= _KEPT_FROM:
            self._announce.next_turn(site, due)

    def _note_wait(self, site: str, paced: _Paced, now: float, due: float) -> None:
        if paced.waited_since is None:
            paced.waited_since = now
        opens = paced.metronome.pace.opens(now)
        if opens > now and paced.shut_since is None:
            paced.shut_since = now
            self._shut.add(site)
            self._announce.shut(site, opens, paced.metronome.pace.visits_in_words)
            self._turn_room.release_all(site, may_go=True)  # they wait for the visit time now
        self._set_alarm(site, due)

    def _set_alarm(self, site: str, due: float) -> None:
        # Whose turn it is may have been swallowed by somebody who tells nobody.
        self._alarms.set(site, due if isfinite(due) else self._now() + _LOOK_AGAIN)

    def _ring(self, site: str) -> None:
        """Give the next turn, if it is due, and set the alarm for it if not."""
        paced = self._sites.get(site)
        if paced is None:
            return
        now = self._now()
        if paced.shut_since is not None and paced.metronome.pace.opens(now) <= now:
            self._announce.opened(site, now - paced.shut_since)
            paced.shut_since = None
            self._shut.discard(site)
            self._shut_room.release_all(site, may_go=True)
        due = self._due(paced, now)
        if due > now:
            self._set_alarm(site, due)
            return
        waiter = self._turn_room.first(site)
        if waiter is not None:
            self._give(paced, waiter)
            self._turn_room.release(site, waiter, may_go=True)
            return
        # Of a site that nobody wants to ask, and may ask at once, nothing is lost by forgetting it.
        if not self._site_is_due(site) and paced.turn is None:
            del self._sites[site]
