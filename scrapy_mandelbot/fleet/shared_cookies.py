"""The cookies of a job on Redis, which all its workers have.

A worker begins with the cookies of the job. What its crawl changes goes to Redis before
the exchange that settles the pages which changed it. Changes of others come with each
exchange that brings a site, so that a site's next owner has its cookies, else once a
second. The last change of a cookie counts, whoever made it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from scrapy_mandelbot.job.cookies import MOST_COOKIES

if TYPE_CHECKING:
    from scrapy_mandelbot.fleet.changes import Reply
    from scrapy_mandelbot.fleet.holdings import Exchange
    from scrapy_mandelbot.fleet.job_server import CookieReply
    from scrapy_mandelbot.fleet.redis_job import RedisJobServer
    from scrapy_mandelbot.job.cookies import CookieChange, CookieWatch

MOST_AT_ONCE = 1_000  # cookies in a call, each way: others wait for it
_EVERY = 1.0  # seconds between two looks at the others' changes


class SharedCookies:
    """Exchanges the changes of this worker's cookies for those of the others.

    Calls of the server are made in another thread; what they bring waits until
    :meth:`take` is called in the crawl's own. `now` returns seconds.
    """

    def __init__(
        self, watch: CookieWatch, server: RedisJobServer, now: Callable[[], float]
    ) -> None:
        self._watch = watch
        self._server = server
        self._now = now
        self._last = 0  # number of the last change that is known
        self._next_look_at = 0.0
        self._unsaid: dict[str, bytes] = {}  # by key: changes that Redis does not have
        self._arrived: list[tuple[dict[str, bytes], CookieReply]] = []

    def restore(
        self, wait_for: Callable[[Callable[[], CookieReply]], CookieReply]
    ) -> None:
        """Put the job's cookies into the jars; `wait_for` waits for a call."""
        has_more = True
        while has_more:
            reply = wait_for(self._look)
            self._last = reply.last
            has_more = reply.has_more
            self._watch.restore(reply.bodies)

    def with_exchange(self, exchange: Exchange) -> Callable[[], Reply]:
        """Return a call that makes an exchange, and exchanges cookies around it."""
        self.take()
        self._collect(self._watch.changes())
        said = dict(islice(self._unsaid.items(), MOST_AT_ONCE))

        def call() -> Reply:
            if said:
                self._say(said)
            answer = self._server.exchange(exchange)
            if answer.sites or self._now() >= self._next_look_at:
                self._next_look_at = self._now() + _EVERY
                self._arrived.append(({}, self._look()))
            return answer

        return call

    def take(self) -> None:
        """Put what has arrived into the jars."""
        arrived = self._arrived
        self._arrived = []
        for said, reply in arrived:
            for key, body in said.items():
                if self._unsaid.get(key) == body:
                    del self._unsaid[key]
            if reply.last < self._last:  # Redis has an older state of the job
                self._watch.forget_known()
                self._collect(self._watch.all_changes())
            self._last = reply.last
            for body in reply.bodies:
                self._watch.take(body)

    def say_the_rest(self, wait_for: Callable[[Callable[[], None]], None]) -> None:
        """Store all changes at the end of a run; `wait_for` waits for a call."""
        self.take()
        self._collect(self._watch.all_changes())
        while self._unsaid:
            said = dict(islice(self._unsaid.items(), MOST_AT_ONCE))
            wait_for(partial(self._say, said))
            self.take()

    def _collect(self, changes: list[CookieChange]) -> None:
        for change in changes:
            self._unsaid[change.place.key] = change.written()

    def _say(self, said: dict[str, bytes]) -> None:
        self._arrived.append((said, self._look(said)))

    def _look(self, said: dict[str, bytes] | None = None) -> CookieReply:
        changes = (said or {}).items()
        return self._server.cookies(self._last, MOST_AT_ONCE, MOST_COOKIES, changes)
