"""The servers that ``laws.py`` simulates, and the crawls of them: a server, and how it
is asked.

Three tables: servers that are fast and kind, by which the law was made; servers that
are not kind; and some of either kind that nothing was tuned on.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from math import floor, inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

NO_TIME = 0.0
"""A refusal that names no time; else its seconds. A good answer is None."""

CHALLENGE = -1.0
"""An answer that has the mark of a challenge."""

SILENCE = -2.0
"""No answer: the connection hangs until the request times out."""

FAILURE = -3.0
"""A 502 without a time, or a connection that is dropped: the page's or the site's."""


class Server:
    """Answers everything well. ``now`` is when a request reaches it, in seconds."""

    def answer(self, _now: float, _url: str) -> float | None:
        """Return None for a good answer, or the seconds of a 503's Retry-After, or
        NO_TIME.
        """
        return None

    def left(self, now: float) -> None:
        """Note that an answer has left."""

    def quota(self, _now: float) -> tuple[int, float] | None:
        """Return what a good answer states: requests left, seconds until the reset."""
        return None

    def is_dead(self, _url: str) -> bool:
        """Return whether the URL never gets a good answer."""
        return False

    def is_early(self, _now: float) -> bool:
        """Return whether a request sent now comes too early and makes things worse."""
        return False


class Bucket(Server):
    """nginx's ``limit_req zone burst=N nodelay``: a leaky bucket."""

    def __init__(self, rate: float, burst: float) -> None:
        self.rate = rate
        self.burst = burst
        self._level = 0.0
        self._at = 0.0

    def answer(self, now: float, _url: str) -> float | None:
        if self.is_full(now):
            return NO_TIME
        self._level = self._level_at(now) + 1
        self._at = now
        return None

    def is_full(self, now: float) -> bool:
        """Return whether one more does not fit."""
        return self._level_at(now) > self.burst

    def _level_at(self, now: float) -> float:
        return max(0.0, self._level - (now - self._at) * self.rate)


class BucketInMilliseconds(Bucket):
    """The same as nginx counts: in whole milliseconds, and in thousandths of requests.

    With 30 requests a second and no burst, a request that comes 33 ms after the last
    one is refused, and one that comes after 34 ms is not.
    """

    def _level_at(self, now: float) -> float:
        ms = floor(1_000 * now) - floor(1_000 * self._at)
        return max(0.0, self._level - floor(self.rate * ms) / 1_000)


class Varying(Bucket):
    """A limit that changes, as of a server that others crawl as well."""

    def __init__(self, rate_at: Callable[[float], float], burst: float) -> None:
        super().__init__(rate_at(0.0), burst)
        self._rate_at = rate_at

    def answer(self, now: float, url: str) -> float | None:
        self.rate = self._rate_at(now)
        return super().answer(now, url)


class Buckets(Server):
    """Several ``limit_req`` for one location: what one refuses fills none."""

    def __init__(self, *buckets: Bucket) -> None:
        self._buckets = buckets

    def answer(self, now: float, url: str) -> float | None:
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
        if now - self._let_through[0] < self._seconds:
            return NO_TIME
        self._let_through.append(now)
        return None


class Window(Server):
    """So many in so many seconds, from the first one on."""

    def __init__(self, most: int, seconds: float, *, names_time: bool) -> None:
        self._most = most
        self._seconds = seconds
        self._names_time = names_time
        self._began = -inf
        self._count = 0

    def answer(self, now: float, _url: str) -> float | None:
        if now - self._began >= self._seconds:
            self._began = now
            self._count = 0
        if self._count >= self._most:
            return (
                self._began + self._seconds - now + 0.01
                if self._names_time
                else NO_TIME
            )
        self._count += 1
        return None


class StatedQuota(Window):
    """The same, and each good answer says how much is left (``RateLimit``)."""

    def __init__(self, most: int, seconds: float) -> None:
        super().__init__(most, seconds, names_time=False)

    def quota(self, now: float) -> tuple[int, float] | None:
        return self._most - self._count, self._began + self._seconds - now + 0.01


class Challenging(Server):
    """Answers robots with challenges, for some pages."""

    def __init__(self, is_dead: Callable[[str], bool]) -> None:
        self.is_dead = is_dead

    def answer(self, _now: float, url: str) -> float | None:
        return CHALLENGE if self.is_dead(url) else None


class Hanging(Server):
    """Some hosts take connections and never answer."""

    def __init__(self, hangs: Callable[[str], bool]) -> None:
        self.is_dead = hangs

    def answer(self, _now: float, url: str) -> float | None:
        return SILENCE if self.is_dead(url) else None


class AtOnce(Server):
    """So many at once, as nginx's ``limit_conn``; the others are refused."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._now = 0

    def answer(self, _now: float, _url: str) -> float | None:
        self._now += 1
        return None if self._now <= self._most else NO_TIME

    def left(self, _now: float) -> None:
        self._now -= 1


class Refusing(Server):
    """Refuses at some times, or by chance: one bad server of many behind one name."""

    def __init__(self, refuses: Callable[[float], bool]) -> None:
        self._refuses = refuses

    def answer(self, now: float, _url: str) -> float | None:
        return NO_TIME if self._refuses(now) else None


class Dead(Server):
    """Some pages are refused for good."""

    def __init__(self, is_dead: Callable[[str], bool]) -> None:
        self.is_dead = is_dead

    def answer(self, _now: float, url: str) -> float | None:
        return NO_TIME if self.is_dead(url) else None


class Failing(Server):
    """Some pages fail for good, all of them at times, and any by chance.

    `poison`: pages that take the site down for so many seconds each time.
    """

    def __init__(
        self,
        one: random.Random,
        is_dead: Callable[[str], bool] = lambda _: False,
        *times: tuple[float, float],
        share: float = 0.0,
        poison: float = 0.0,
    ) -> None:
        self._random = one
        self.is_dead = is_dead
        self._times = times
        self._share = share
        self._poison = poison
        self._down_until = 0.0

    def answer(self, now: float, url: str) -> float | None:
        if self.is_dead(url):
            if now >= self._down_until:
                self._down_until = now + self._poison
            return FAILURE
        is_down = any(begin <= now < end for begin, end in self._times)
        if is_down or now < self._down_until or self._random.random() < self._share:
            return FAILURE
        return None


class AsFailures(Server):
    """Fails where another server refuses: a 5xx that names no time."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def answer(self, now: float, url: str) -> float | None:
        return None if self._server.answer(now, url) is None else FAILURE


class Down(Server):
    """Down from time to time."""

    def __init__(self, *times: tuple[float, float], names_time: bool = False) -> None:
        self._times = times
        self._names_time = names_time

    def answer(self, now: float, _url: str) -> float | None:
        for begin, end in self._times:
            if begin <= now < end:
                return end - now + 0.01 if self._names_time else NO_TIME
        return None

    def is_early(self, now: float) -> bool:
        return self._names_time and any(
            begin + 1 < now < end for begin, end in self._times
        )


class Ban(Server):
    """Bans for so long who asks faster than so, and for twice as long who knocks too
    early.
    """

    def __init__(self, rate: float, burst: float, seconds: float) -> None:
        self._bucket = Bucket(rate, burst)
        self._first = seconds
        self._ban = seconds
        self._until = -inf
        self._grace = -inf

    def answer(self, now: float, url: str) -> float | None:
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
        return self._grace < now < self._until


class EachName(Server):
    """A server for each of the names of one address."""

    def __init__(self, make: Callable[[str], Server]) -> None:
        self._make = make
        self._servers: dict[str, Server] = {}

    def answer(self, now: float, url: str) -> float | None:
        name = url.split("/")[2]
        if name not in self._servers:
            self._servers[name] = self._make(name)
        return self._servers[name].answer(now, url)


class All(Server):
    """Refuses what any of some servers refuses; one that refuses does not count it."""

    def __init__(self, *servers: Server) -> None:
        self._servers = servers

    def answer(self, now: float, url: str) -> float | None:
        for server in self._servers:
            seconds = server.answer(now, url)
            if seconds is not None:
                return seconds
        return None

    def left(self, now: float) -> None:
        for server in self._servers:
            server.left(now)

    def is_dead(self, url: str) -> bool:
        return any(server.is_dead(url) for server in self._servers)

    def is_early(self, now: float) -> bool:
        return any(server.is_early(now) for server in self._servers)


@dataclass(frozen=True)
class Scenario:
    """A server, and how it is asked."""

    server: Callable[[random.Random], Server]
    urls: Sequence[str]
    in_flight: int = 8
    latency: float = 0.05
    """Seconds from sending to the answer."""
    is_busy: bool = False
    allowed: float = 0.0
    """Pages a second that the server lets through; 0: no such number."""
    ideal: float = 0.0
    """Seconds that the server makes it take; 0: no such number."""
    held_up: float = 0.0
    """Seconds for which a busy machine does not let the crawl run, again and again; the
    mean.
    """
    asks_rules: bool = False
    """Whether its robots.txt is asked for first, which its limit counts."""
    names: int = 1
    """Of the server, at one address; the URLs are of each by turns."""
    timeout: float = 0.0
    """Seconds after which a request without an answer fails, where each name is a host
    that may hang; 0: all answer.
    """
    most_seconds: float = 20_000.0


def flat(number: int) -> list[str]:
    """Return URLs without a path in common."""
    return [f"/p{one}" for one in range(number)]


def with_section(before: int, dead: int, after: int) -> list[str]:
    """Return URLs, some of them in the section ``/dead/``."""
    good = [f"/s{one % 7}/p{one}" for one in range(before + after)]
    return [*good[:before], *(f"/dead/p{one}" for one in range(dead)), *good[before:]]


def partly_dead(every: int) -> Scenario:
    """Return a site with a section in which one page of so many answers well."""

    def is_dead(url: str) -> bool:
        return url.startswith("/dead/") and int(url.partition("/p")[2]) % every != 0

    return Scenario(lambda _: Dead(is_dead), with_section(40, 200, 100))


def within_section(dead: int, path: str = "dead/p") -> list[str]:
    """Return URLs of one section, some of them in a section within it."""
    good = [f"/shop/s{one % 7}/p{one}" for one in range(89)]
    return [*good[:40], *(f"/shop/{path}{one}" for one in range(dead)), *good[40:]]


def under(prefix: str) -> Callable[[str], bool]:
    return lambda url: url.startswith(prefix)


def spread(number: int, every: int) -> list[str]:
    """Return URLs, each so manieth of them in the section, by turns."""
    return [
        f"/dead/p{one}" if one % every == 0 else f"/s{one % 7}/p{one}"
        for one in range(number)
    ]


def some(first: int, last: int) -> Callable[[str], bool]:
    """Return whether a flat URL is one of these."""
    dead = {f"/p{one}" for one in range(first, last)}
    return dead.__contains__


def limit(
    rate: float, burst: float, pages: int, latency: float, **more: object
) -> Scenario:
    return Scenario(
        lambda _: Bucket(rate, burst),
        flat(pages),
        latency=latency,
        allowed=rate,
        **more,
    )


def nginx(rate: float, pages: int, **more: object) -> Scenario:
    """Return an nginx on this machine, with a limit without a burst."""
    one = limit(rate, 0, pages, 0.001, asks_rules=True, **more)
    return replace(one, server=lambda _: BucketInMilliseconds(rate, 0))


def slow(a_minute: float, burst: float, pages: int, dead: int = 0) -> Scenario:
    """Return nginx with a limit that is told a minute."""
    rate = a_minute / 60
    every = pages // max(1, dead)
    are_dead = {f"/p{number * every + every // 2}" for number in range(dead)}
    return Scenario(
        lambda _: All(Dead(are_dead.__contains__), Bucket(rate, burst)),
        flat(pages),
        ideal=(pages - dead - burst - 1) / rate,
    )


def quota(most: int, seconds: float, pages: int, *, sliding: bool) -> Scenario:
    """Return a site that answers so many in so many seconds, and names no time."""
    return Scenario(
        lambda _: (
            Quota(most, seconds) if sliding else Window(most, seconds, names_time=False)
        ),
        flat(pages),
        ideal=seconds * ((pages - 1) // most),
    )


def named(
    server: Callable[[random.Random], Server], each: int, names: int = 20
) -> Scenario:
    """Return one address with so many names, and so many pages of each."""
    urls = [f"//n{name}/p{page}" for page in range(each) for name in range(names)]
    return Scenario(server, urls, names=names, in_flight=16)


def hanging(hosts: int, good: int, pages: int) -> Scenario:
    """Return a broad crawl: of so many hosts so many answer, for so many pages each.

    The good ones are met evenly among the others.
    """
    are_good = {f"n{one * hosts // good}" for one in range(good)}
    first = [f"//n{name}/p0" for name in range(hosts)]
    others = [f"//{name}/p{page}" for page in range(1, pages) for name in are_good]

    def hangs(url: str) -> bool:
        return url.split("/")[2] not in are_good

    return Scenario(
        lambda _: Hanging(hangs),
        [*first, *sorted(others)],
        names=hosts,
        in_flight=16,
        latency=0.2,
        timeout=10.0,
    )


def by_chance(share: float, one: random.Random) -> Server:
    """Return a server that refuses such a share of requests."""
    return Refusing(lambda _: one.random() < share)


def chance(share: float, pages: int = 2_000) -> Scenario:
    """Return a site of which one server is bad; it bears 160 pages a second."""
    return Scenario(lambda one: by_chance(share, one), flat(pages))


def down(seconds: float, pages: int = 400, **more: object) -> Scenario:
    """Return a site that is down after a second, for a while."""
    return Scenario(
        lambda one: Down((1.0, 1.0 + seconds * one.uniform(0.95, 1.05))),
        flat(pages),
        **more,
    )


SCENARIOS: dict[str, Scenario] = {
    "22 dead, path": Scenario(
        lambda _: Dead(under("/dead/")), with_section(60, 22, 118)
    ),
    "22 dead, flat": Scenario(lambda _: Dead(some(60, 82)), flat(200)),
    "111 dead, path": Scenario(
        lambda _: Dead(under("/dead/")), with_section(40, 111, 49)
    ),
    "111 dead, by turns": Scenario(lambda _: Dead(under("/dead/")), spread(200, 2)),
    "111 dead, flat": Scenario(lambda _: Dead(some(40, 151)), flat(200)),
    "30 dead first": Scenario(
        lambda _: Dead(under("/dead/")), with_section(0, 30, 170)
    ),
    "5 dead of 5,000, flat": Scenario(lambda _: Dead(some(40, 45)), flat(5_000)),
    "111 dead, inner path": Scenario(
        lambda _: Dead(under("/shop/dead/")), within_section(111)
    ),
    "111 dead, inner query": Scenario(
        lambda _: Dead(under("/shop/search?")), within_section(111, "search?q=")
    ),
    # A section that fails in part: a failing shard behind one path.
    "section, 1 in 2 is well": partly_dead(2),
    "section, 1 in 3 is well": partly_dead(3),
    "section, 1 in 5 is well": partly_dead(5),
    "section, 1 in 10 is well": partly_dead(10),
    "section, 1 in 20 is well": partly_dead(20),
    "section, 1 in 50 is well": partly_dead(50),
    "down 7,000 s": Scenario(lambda _: Down((1, 7_001)), flat(400)),
    "down 20,000 s": Scenario(lambda _: Down((1, 20_001)), flat(400)),
    "dead behind 30/s": Scenario(
        lambda _: All(Dead(under("/dead/")), Bucket(30, 5)), with_section(40, 111, 49)
    ),
    "dead and 5 % chance": Scenario(
        lambda one: All(Dead(under("/dead/")), by_chance(0.05, one)),
        with_section(40, 111, 49),
    ),
    "chance 1 %": chance(0.01),
    "chance 5 %": chance(0.05, 1_000),
    "chance 20 %": chance(0.20, 400),
    "30/5 and 1 % chance": Scenario(
        lambda one: All(by_chance(0.01, one), Bucket(30, 5)),
        flat(600),
        latency=0.001,
        allowed=30,
    ),
    "30/5 and 5 % chance": Scenario(
        lambda one: All(by_chance(0.05, one), Bucket(30, 5)),
        flat(600),
        latency=0.001,
        allowed=30,
    ),
    "down 2 s": down(2.0),
    "down 30 s": down(30.0),
    "down 60 s": down(60.0, 300),
    "down 600 s": down(600.0),
    "down, names the time": Scenario(
        lambda _: Down((1, 10), (12, 21), names_time=True), flat(800)
    ),
    "flapping 10, 5": Scenario(
        lambda _: Refusing(lambda now: now % 15 >= 10), flat(5_000)
    ),
    "ban that doubles": Scenario(lambda _: Ban(5, 5, 3.0), flat(150)),
    "30/5, 1 ms": limit(30, 5, 600, 0.001),
    "30/5, 20 ms": limit(30, 5, 600, 0.02),
    "30/0, 5 ms": limit(30, 0, 600, 0.005),
    "30/0, nginx": nginx(30, 600),
    "30/0, nginx, busy": nginx(30, 600, is_busy=True),
    "30/0, nginx, held up": nginx(30, 600, held_up=0.004),
    "12/3, 2 ms": limit(12, 3, 300, 0.002),
    "100/5, 2 ms": limit(100, 5, 1_500, 0.002),
    "200/5, 1 ms": limit(200, 5, 2_000, 0.001),
    "200/5, busy": limit(200, 5, 2_000, 0.001, is_busy=True),
    "5/5, 1 ms": limit(5, 5, 60, 0.001),
    "200/0, 1 ms": limit(200, 0, 2_000, 0.001),
    "100 per 60 s, named": Scenario(
        lambda _: Window(100, 60, names_time=True), flat(500)
    ),
    "3 at once": Scenario(lambda _: AtOnce(3), flat(500)),
    "30 to 15 a second": Scenario(
        lambda _: Varying(lambda now: 15 if now >= 10 else 30, 5),
        flat(600),
        latency=0.001,
        allowed=15,
    ),
    "30 to 60 a second": Scenario(
        lambda _: Varying(lambda now: 60 if now >= 10 else 30, 5),
        flat(1_200),
        latency=0.001,
        allowed=60,
    ),
    # Servers that are slow, and machines that are busy.
    "30/min, burst 5": slow(30, 5, 200),
    "20/min, burst 10": slow(20, 10, 200),
    "10/min, burst 5": slow(10, 5, 150),
    "10/min": slow(10, 0, 150),
    "10/min, 20 pages": slow(10, 0, 21),
    "20/min, burst 10, 50 pages": slow(20, 10, 51),
    "6/min, burst 5": slow(6, 5, 100),
    "1/min, burst 5": slow(1, 5, 80),
    "1,000/h, burst 50": slow(1_000 / 60, 50, 250),
    "10 to 30 a minute": Scenario(
        lambda _: Varying(lambda now: 0.5 if now >= 2_400 else 1 / 6, 5),
        flat(600),
        ideal=2_400 + (600 - 406) * 2,
    ),
    "30/min with 5 dead": slow(30, 5, 150, dead=5),
    "30/min, section of 30 dead": Scenario(
        lambda _: All(Dead(under("/dead/")), Bucket(0.5, 5)),
        with_section(60, 30, 60),
        ideal=228,
    ),
    "300 dead, flat": Scenario(lambda _: Dead(some(40, 340)), flat(400)),
    "111 dead, flat, 30/5": Scenario(
        lambda _: All(Dead(some(40, 151)), Bucket(30, 5)), flat(200)
    ),
    # Few of the good ones that the limit refused are left among many dead.
    "60 dead, flat, 40/5": Scenario(
        lambda _: All(Dead(some(30, 90)), Bucket(40, 5)), flat(300)
    ),
    "20 in 4 s, stated": Scenario(lambda _: StatedQuota(20, 4), flat(200), ideal=36),
    "500 challenged, path": Scenario(
        lambda _: Challenging(under("/dead/")), with_section(60, 500, 60)
    ),
    "10 in a minute": quota(10, 60, 100, sliding=False),
    "20 in any minute": quota(20, 60, 150, sliding=True),
    "30/5 and 60/min": Scenario(
        lambda _: Buckets(Bucket(30, 5), Bucket(1, 30)), flat(200), ideal=169
    ),
    "2 at once, 64 in flight": Scenario(
        lambda _: AtOnce(2), flat(1_000), in_flight=64, latency=0.05, allowed=40
    ),
    "30/5, 64 in flight": limit(30, 5, 600, 0.1, in_flight=64),
    "200/0, held up": limit(200, 0, 2_000, 0.001, held_up=0.03),
    # Not tuned on.
    "2/2, 20 ms": limit(2, 2, 60, 0.02),
    "12/3, 20 ms": limit(12, 3, 300, 0.02),
    "70/10, 20 ms": limit(70, 10, 1_000, 0.02),
    "110/3, 5 ms": limit(110, 3, 1_500, 0.005),
    "chance 3 %": chance(0.03, 1_000),
    "chance 15 %": chance(0.15, 400),
    "45/min, burst 3": slow(45, 3, 120),
    "15/min, burst 2": slow(15, 2, 100),
    "8/min": slow(8, 0, 60),
    "3/min, burst 10": slow(3, 10, 60),
    "500/h, burst 20": slow(500 / 60, 20, 120),
    "12/min with 3 dead": slow(12, 4, 100, dead=3),
    "5 in any minute": quota(5, 60, 60, sliding=True),
    # One address with several names.
    "20 names, 60/min": named(lambda _: Bucket(1, 20), 20),
    "300 of 400 hosts hang": hanging(400, 100, 50),
    "2 names, 30/5 each": named(lambda _: EachName(lambda _: Bucket(30, 5)), 300, 2),
}

OF_DEAD_PAGES = [
    "22 dead, path",
    "22 dead, flat",
    "111 dead, path",
    "111 dead, by turns",
    "111 dead, flat",
    "30 dead first",
    "5 dead of 5,000, flat",
    "111 dead, inner path",
    "111 dead, inner query",
    "300 dead, flat",
]
FAILING: dict[str, Scenario] = {
    "1 in 10 fails": Scenario(
        lambda one: Failing(one, lambda url: url.endswith("3")), flat(400)
    ),
    "1 in 2 fails": Scenario(
        lambda one: Failing(one, lambda url: int(url[2:]) % 2 == 1), flat(400)
    ),
    "last 4 fail": Scenario(lambda one: Failing(one, some(396, 400)), flat(400)),
    "last 200 fail": Scenario(lambda one: Failing(one, some(200, 400)), flat(400)),
    "first 200 fail": Scenario(lambda one: Failing(one, some(8, 200)), flat(400)),
    "section fails": Scenario(
        lambda one: Failing(one, under("/dead/")), with_section(60, 111, 200)
    ),
    "10 % fail by chance": Scenario(lambda one: Failing(one, share=0.1), flat(800)),
    "30 % fail by chance": Scenario(lambda one: Failing(one, share=0.3), flat(800)),
    "50 % fail by chance": Scenario(lambda one: Failing(one, share=0.5), flat(800)),
    "fails for 1 s": Scenario(
        lambda one: Failing(one, lambda _: False, (1, 2)), flat(400)
    ),
    "fails for 6 s": Scenario(
        lambda one: Failing(one, lambda _: False, (1, 7)), flat(400)
    ),
    "fails for 60 s": Scenario(
        lambda one: Failing(one, lambda _: False, (1, 61)), flat(400)
    ),
    "fails for good": Scenario(
        lambda one: Failing(one, lambda _: False, (1, 1e9)), flat(400)
    ),
    "fails three times": Scenario(
        lambda one: Failing(one, lambda _: False, (1, 4), (8, 12), (20, 22)), flat(900)
    ),
    "fails at the end": Scenario(
        lambda one: Failing(one, lambda _: False, (2.3, 8)), flat(400)
    ),
    "1 in 10, and 6 s": Scenario(
        lambda one: Failing(one, lambda url: url.endswith("3"), (1, 7)), flat(400)
    ),
    "10 %, and 6 s": Scenario(
        lambda one: Failing(one, lambda _: False, (1, 7), share=0.1), flat(400)
    ),
    "poison, 3 s": Scenario(
        lambda one: Failing(one, some(40, 41), poison=3), flat(400)
    ),
    "4 poison, 3 s": Scenario(
        lambda one: Failing(one, lambda url: int(url[2:]) % 100 == 40, poison=3),
        flat(400),
    ),
}
SCENARIOS["5/5, as failures"] = Scenario(
    lambda _: AsFailures(Bucket(5, 5)), flat(100), latency=0.02, allowed=5
)
SCENARIOS["5 of 100 crash, 0.3 s"] = Scenario(
    lambda one: Failing(
        one, lambda url: url[2:] in {"17", "31", "58", "63", "88"}, poison=0.3
    ),
    flat(100),
)
SCENARIOS |= FAILING
SCENARIOS |= {
    f"{name}, one at a time": replace(one, in_flight=1) for name, one in FAILING.items()
}
SCENARIOS |= {
    f"{name}, slow": replace(one, latency=1.0) for name, one in FAILING.items()
}

FEW_IN_FLIGHT = (4, 5, 6)
"""With so many, some dead pages are refused in two groups, as by a limit."""
SCENARIOS |= {
    f"{name}, {most} in flight": replace(SCENARIOS[name], in_flight=most)
    for name in OF_DEAD_PAGES
    for most in FEW_IN_FLIGHT
}
