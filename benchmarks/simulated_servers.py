"""The servers that ``laws.py`` simulates; ``simulated_scenarios.py`` says how they are asked."""

from __future__ import annotations

from collections import deque
from math import inf, pi, sin
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

NO_TIME = 0.0
"""A refusal that names no time; else its seconds. A good answer is None."""


class Server:
    """Answers everything well. ``now`` is when a request reaches it, in seconds."""

    def answer(self, _now: float, _url: str) -> float | None:
        """Return None for a good answer, or the seconds of a 503's Retry-After, or NO_TIME."""
        return None

    def left(self, now: float) -> None:
        """Note that an answer has left."""

    def is_dead(self, _url: str) -> bool:
        """Return whether the URL never gets a good answer."""
        return False

    def is_early(self, _now: float) -> bool:
        """Return whether a request sent now is one too early, that makes things worse."""
        return False


class Bucket(Server):
    """nginx's ``limit_req zone burst=N nodelay``: a leaky bucket."""

    def __init__(self, rate: float, burst: float) -> None:
        self.rate, self.burst = rate, burst
        self._level, self._at = 0.0, 0.0

    def answer(self, now: float, _url: str) -> float | None:
        """Refuse what does not fit into the bucket."""
        if self.is_full(now):
            return NO_TIME
        self._level, self._at = self._level_at(now) + 1, now
        return None

    def is_full(self, now: float) -> bool:
        """Return whether one more does not fit."""
        return self._level_at(now) > self.burst

    def _level_at(self, now: float) -> float:
        return max(0.0, self._level - (now - self._at) * self.rate)


class Moving(Bucket):
    """A limit that changes."""

    def __init__(self, rate: float, burst: float, at: float, then: float) -> None:
        super().__init__(rate, burst)
        self._moves_at, self._then = at, then

    def answer(self, now: float, url: str) -> float | None:
        """Refuse by the limit of the time."""
        if now >= self._moves_at:
            self.rate = self._then
        return super().answer(now, url)


class Swinging(Bucket):
    """A limit that goes up and down, as of a server that others ask as well."""

    def __init__(self, rate: float, burst: float, by: float, seconds: float) -> None:
        super().__init__(rate, burst)
        self._middle, self._by, self._seconds = rate, by, seconds

    def answer(self, now: float, url: str) -> float | None:
        """Refuse by the limit of the time."""
        self.rate = self._middle * (1 + self._by * sin(2 * pi * now / self._seconds))
        return super().answer(now, url)


class Buckets(Server):
    """Several ``limit_req`` for one location: what one refuses fills none."""

    def __init__(self, *buckets: Bucket) -> None:
        self._buckets = buckets

    def answer(self, now: float, url: str) -> float | None:
        """Refuse what does not fit into any."""
        if any(bucket.is_full(now) for bucket in self._buckets):
            return NO_TIME
        for bucket in self._buckets:
            bucket.answer(now, url)
        return None


class Quota(Server):
    """So many in any so many seconds, whenever they begin."""

    def __init__(self, most: int, seconds: float) -> None:
        self._seconds = seconds
        self._let_through: deque[float] = deque([-inf] * most, maxlen=most)

    def answer(self, now: float, _url: str) -> float | None:
        """Refuse what is one too many."""
        if now - self._let_through[0] < self._seconds:
            return NO_TIME
        self._let_through.append(now)
        return None


class Window(Server):
    """So many in so many seconds, from the first one on."""

    def __init__(self, most: int, seconds: float, *, names_time: bool) -> None:
        self._most, self._seconds, self._names_time = most, seconds, names_time
        self._began, self._count = -inf, 0

    def answer(self, now: float, _url: str) -> float | None:
        """Refuse what is too much for the window."""
        if now - self._began >= self._seconds:
            self._began, self._count = now, 0
        if self._count >= self._most:
            return self._began + self._seconds - now + 0.01 if self._names_time else NO_TIME
        self._count += 1
        return None


class AtOnce(Server):
    """So many at once, as nginx's ``limit_conn``; the others are refused."""

    def __init__(self, most: int) -> None:
        self._most, self._now = most, 0

    def answer(self, _now: float, _url: str) -> float | None:
        """Refuse more."""
        self._now += 1
        return None if self._now <= self._most else NO_TIME

    def left(self, _now: float) -> None:
        """One less."""
        self._now -= 1


class Chance(Server):
    """One bad server of many behind one name."""

    def __init__(self, share: float, chance: random.Random) -> None:
        self._share, self._random = share, chance

    def answer(self, _now: float, _url: str) -> float | None:
        """Refuse by chance."""
        return NO_TIME if self._random.random() < self._share else None


class Dead(Server):
    """Some pages are refused for good."""

    def __init__(self, is_dead: Callable[[str], bool], seconds: float = NO_TIME) -> None:
        self._is_dead, self._seconds = is_dead, seconds

    def answer(self, _now: float, url: str) -> float | None:
        """Refuse those."""
        return self._seconds if self._is_dead(url) else None

    def is_dead(self, url: str) -> bool:
        """Return whether it is one of those."""
        return self._is_dead(url)


class Down(Server):
    """Down from time to time."""

    def __init__(self, *times: tuple[float, float], names_time: bool = False) -> None:
        self._times, self._names_time = times, names_time

    def answer(self, now: float, _url: str) -> float | None:
        """Refuse while it is down."""
        for begin, end in self._times:
            if begin <= now < end:
                return end - now + 0.01 if self._names_time else NO_TIME
        return None

    def is_early(self, now: float) -> bool:
        """Return whether it is down, and was told."""
        return self._names_time and any(begin + 1 < now < end for begin, end in self._times)


class Flapping(Server):
    """Up for so long, down for so long, again and again."""

    def __init__(self, up: float, down: float) -> None:
        self._up, self._down = up, down

    def answer(self, now: float, _url: str) -> float | None:
        """Refuse while it is down."""
        return NO_TIME if now % (self._up + self._down) >= self._up else None


class Ban(Server):
    """Bans for so long who asks faster than so, and for twice as long who knocks too early."""

    def __init__(self, rate: float, burst: float, seconds: float) -> None:
        self._bucket = Bucket(rate, burst)
        self._first, self._ban, self._until = seconds, seconds, -inf
        self._grace = -inf

    def answer(self, now: float, url: str) -> float | None:
        """Refuse who is banned."""
        if now < self._until:
            if now > self._grace:  # what was under way as it banned is no knock
                self._ban *= 2
                self._until = now + self._ban
                self._grace = now + 0.2
            return NO_TIME
        if self._bucket.answer(now, url) is not None:
            self._ban = self._first
            self._until = now + self._ban
            self._grace = now + 0.2
            return NO_TIME
        return None

    def is_early(self, now: float) -> bool:
        """Return whether it is banned."""
        return self._grace < now < self._until


class EachName(Server):
    """A server for each of the names of one address."""

    def __init__(self, make: Callable[[str], Server]) -> None:
        self._make = make
        self._servers: dict[str, Server] = {}

    def answer(self, now: float, url: str) -> float | None:
        """Ask the one with the name."""
        name = url.split("/")[2]
        if name not in self._servers:
            self._servers[name] = self._make(name)
        return self._servers[name].answer(now, url)


class All(Server):
    """Refuses what any of some servers refuses; one that refuses does not count it."""

    def __init__(self, *servers: Server) -> None:
        self._servers = servers

    def answer(self, now: float, url: str) -> float | None:
        """Ask them in their order."""
        for server in self._servers:
            seconds = server.answer(now, url)
            if seconds is not None:
                return seconds
        return None

    def left(self, now: float) -> None:
        """Tell them."""
        for server in self._servers:
            server.left(now)

    def is_dead(self, url: str) -> bool:
        """Return whether it is dead for any."""
        return any(server.is_dead(url) for server in self._servers)

    def is_early(self, now: float) -> bool:
        """Return whether it is early for any."""
        return any(server.is_early(now) for server in self._servers)
