"""The crawls that ``laws.py`` simulates: a server, and how it is asked.

Three tables: servers that are fast and kind, by which the law was made; servers that are not kind;
and some of either kind that nothing was tuned on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from simulated_servers import (
    All,
    AtOnce,
    Ban,
    Bucket,
    Buckets,
    Chance,
    Dead,
    Down,
    EachName,
    Flapping,
    Moving,
    Quota,
    Server,
    Swinging,
    Window,
)

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence


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
    """Seconds for which a busy machine does not let the crawl run, again and again; the mean."""
    names: int = 1
    """Of the server, at one address; the URLs are of each by turns."""
    most_seconds: float = 20_000.0


def flat(number: int) -> list[str]:
    """Return URLs without a path in common."""
    return [f"/p{one}" for one in range(number)]


def with_section(before: int, dead: int, after: int) -> list[str]:
    """Return URLs, some of them in the section ``/dead/``."""
    good = [f"/s{one % 7}/p{one}" for one in range(before + after)]
    return [*good[:before], *(f"/dead/p{one}" for one in range(dead)), *good[before:]]


def within_section(dead: int, path: str = "dead/p") -> list[str]:
    """Return URLs of one section, some of them in a section within it."""
    good = [f"/shop/s{one % 7}/p{one}" for one in range(89)]
    return [*good[:40], *(f"/shop/{path}{one}" for one in range(dead)), *good[40:]]


def spread_within(number: int) -> list[str]:
    """Return URLs of one section, by turns in a section within it."""
    pages = range(number)
    return [f"/shop/s{one % 7}/p{one}" if one % 2 else f"/shop/dead/p{one}" for one in pages]


def in_inner(url: str) -> bool:
    """Return whether a URL is in the section within."""
    return url.startswith("/shop/dead/")


def is_search(url: str) -> bool:
    """Return whether a URL is of the query."""
    return url.startswith("/shop/search?")


def in_dead(url: str) -> bool:
    """Return whether a URL is in the section."""
    return url.startswith("/dead/")


def spread(number: int, every: int) -> list[str]:
    """Return URLs, each so manieth of them in the section, by turns."""
    return [f"/dead/p{one}" if one % every == 0 else f"/s{one % 7}/p{one}" for one in range(number)]


def some(first: int, last: int) -> Callable[[str], bool]:
    """Return whether a flat URL is one of these."""
    dead = {f"/p{one}" for one in range(first, last)}
    return dead.__contains__


def limit(rate: float, burst: float, pages: int, latency: float, **more: object) -> Scenario:
    """Return nginx with a limit."""
    return Scenario(
        lambda _: Bucket(rate, burst), flat(pages), latency=latency, allowed=rate, **more
    )


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
        lambda _: Quota(most, seconds) if sliding else Window(most, seconds, names_time=False),
        flat(pages),
        ideal=seconds * ((pages - 1) // most),
    )


def named(server: Callable[[random.Random], Server], each: int, names: int = 20) -> Scenario:
    """Return one address with so many names, and so many pages of each."""
    urls = [f"//n{name}/p{page}" for page in range(each) for name in range(names)]
    return Scenario(server, urls, names=names, in_flight=16)


def chance(share: float, pages: int = 2_000) -> Scenario:
    """Return a site of which one server is bad; it bears 160 pages a second."""
    return Scenario(lambda one: Chance(share, one), flat(pages))


def down(seconds: float, pages: int = 400, **more: object) -> Scenario:
    """Return a site that is down after a second, for a while."""
    return Scenario(
        lambda one: Down((1.0, 1.0 + seconds * one.uniform(0.95, 1.05))), flat(pages), **more
    )


SCENARIOS: dict[str, Scenario] = {
    "22 dead, path": Scenario(lambda _: Dead(in_dead), with_section(60, 22, 118)),
    "22 dead, flat": Scenario(lambda _: Dead(some(60, 82)), flat(200)),
    "111 dead, path": Scenario(lambda _: Dead(in_dead), with_section(40, 111, 49)),
    "111 dead, by turns": Scenario(lambda _: Dead(in_dead), spread(200, 2)),
    "111 dead, flat": Scenario(lambda _: Dead(some(40, 151)), flat(200)),
    "30 dead first": Scenario(lambda _: Dead(in_dead), with_section(0, 30, 170)),
    "5 dead of 5,000, flat": Scenario(lambda _: Dead(some(40, 45)), flat(5_000)),
    "111 dead, inner path": Scenario(lambda _: Dead(in_inner), within_section(111)),
    "111 dead, inner query": Scenario(lambda _: Dead(is_search), within_section(111, "search?q=")),
    "100 dead, inner, by turns": Scenario(lambda _: Dead(in_inner), spread_within(200)),
    "dead behind 30/s": Scenario(
        lambda _: All(Dead(in_dead), Bucket(30, 5)), with_section(40, 111, 49)
    ),
    "dead and 5 % chance": Scenario(
        lambda one: All(Dead(in_dead), Chance(0.05, one)), with_section(40, 111, 49)
    ),
    "chance 0.5 %": chance(0.005, 4_000),
    "chance 1 %": chance(0.01),
    "chance 5 %": chance(0.05, 1_000),
    "chance 10 %": chance(0.10, 600),
    "chance 20 %": chance(0.20, 400),
    "30/5 and 1 % chance": Scenario(
        lambda one: All(Chance(0.01, one), Bucket(30, 5)), flat(600), latency=0.001, allowed=30
    ),
    "30/5 and 5 % chance": Scenario(
        lambda one: All(Chance(0.05, one), Bucket(30, 5)), flat(600), latency=0.001, allowed=30
    ),
    "down 2 s": down(2.0),
    "down 3 s": down(3.0),
    "down 30 s": down(30.0),
    "down 600 s": down(600.0),
    "down 3,000 s": down(3_000.0),
    "down thrice": Scenario(lambda _: Down((1, 31), (61, 91), (121, 151)), flat(9_000)),
    "down, names the time": Scenario(lambda _: Down((1, 10), (12, 21), names_time=True), flat(800)),
    "flapping 10, 5": Scenario(lambda _: Flapping(10, 5), flat(5_000)),
    "ban that doubles": Scenario(lambda _: Ban(5, 5, 3.0), flat(150)),
    "30/5, 1 ms": limit(30, 5, 600, 0.001),
    "30/5, 20 ms": limit(30, 5, 600, 0.02),
    "30/5, 100 ms": limit(30, 5, 600, 0.1),
    "30/5, busy": limit(30, 5, 600, 0.001, is_busy=True),
    "200/5, 1 ms": limit(200, 5, 2_000, 0.001),
    "200/5, busy": limit(200, 5, 2_000, 0.001, is_busy=True),
    "200/5, 5,000 pages": limit(200, 5, 5_000, 0.001),
    "5/5, 1 ms": limit(5, 5, 60, 0.001),
    "200/0, 1 ms": limit(200, 0, 2_000, 0.001),
    "30/0, 1 ms": limit(30, 0, 600, 0.001),
    "100 per 60 s": Scenario(lambda _: Window(100, 60, names_time=False), flat(500)),
    "100 per 60 s, named": Scenario(lambda _: Window(100, 60, names_time=True), flat(500)),
    "3 at once": Scenario(lambda _: AtOnce(3), flat(500)),
    "bears 100/s, down 30 s": Scenario(
        lambda _: Down((2, 32)), flat(2_000), latency=0.08, allowed=100
    ),
    "100/s after 30 s down": Scenario(
        lambda _: All(Down((2, 32)), Bucket(100, 20)), flat(2_000), latency=0.02, allowed=100
    ),
    "30 to 15 a second": Scenario(
        lambda _: Moving(30, 5, 10, 15), flat(600), latency=0.001, allowed=15
    ),
    "30 to 60 a second": Scenario(
        lambda _: Moving(30, 5, 10, 60), flat(1_200), latency=0.001, allowed=60
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
        lambda _: Moving(1 / 6, 5, 2_400, 0.5), flat(600), ideal=2_400 + (600 - 406) * 2
    ),
    "30/min with 5 dead": slow(30, 5, 150, dead=5),
    "30/min, section of 30 dead": Scenario(
        lambda _: All(Dead(in_dead), Bucket(0.5, 5)), with_section(60, 30, 60), ideal=228
    ),
    "300 dead, flat": Scenario(lambda _: Dead(some(40, 340)), flat(400)),
    "111 dead, flat, 30/5": Scenario(lambda _: All(Dead(some(40, 151)), Bucket(30, 5)), flat(200)),
    "10 in a minute": quota(10, 60, 100, sliding=False),
    "20 in any minute": quota(20, 60, 150, sliding=True),
    "30/5 and 60/min": Scenario(
        lambda _: Buckets(Bucket(30, 5), Bucket(1, 30)), flat(200), ideal=169
    ),
    "30/5 and 10/s, burst 50": Scenario(
        lambda _: Buckets(Bucket(30, 5), Bucket(10, 50)), flat(300), ideal=24.9, latency=0.02
    ),
    "30/5 that swings": Scenario(
        lambda _: Swinging(30, 5, 0.5, 20.0), flat(1_200), latency=0.02, allowed=30
    ),
    "2 at once, 64 in flight": Scenario(
        lambda _: AtOnce(2), flat(1_000), in_flight=64, latency=0.05, allowed=40
    ),
    "30/5, 64 in flight": limit(30, 5, 600, 0.1, in_flight=64),
    "5/5, held up": limit(5, 5, 60, 0.001, held_up=0.03),
    "30/5, held up": limit(30, 5, 600, 0.001, held_up=0.03),
    "200/5, held up": limit(200, 5, 2_000, 0.001, held_up=0.03),
    "200/0, held up": limit(200, 0, 2_000, 0.001, held_up=0.03),
    # Not tuned on.
    "2/2, 20 ms": limit(2, 2, 60, 0.02),
    "12/3, 20 ms": limit(12, 3, 300, 0.02),
    "70/10, 20 ms": limit(70, 10, 1_000, 0.02),
    "110/3, 5 ms": limit(110, 3, 1_500, 0.005),
    "450/8, 1 ms": limit(450, 8, 4_000, 0.001),
    "chance 0.3 %": chance(0.003, 4_000),
    "chance 3 %": chance(0.03, 1_000),
    "chance 15 %": chance(0.15, 400),
    "70/10 and 2 % chance": Scenario(
        lambda one: All(Chance(0.02, one), Bucket(70, 10)), flat(1_000), latency=0.02, allowed=70
    ),
    "45/min, burst 3": slow(45, 3, 120),
    "15/min, burst 2": slow(15, 2, 100),
    "8/min": slow(8, 0, 60),
    "3/min, burst 10": slow(3, 10, 60),
    "500/h, burst 20": slow(500 / 60, 20, 120),
    "12/min with 3 dead": slow(12, 4, 100, dead=3),
    "5 in any minute": quota(5, 60, 60, sliding=True),
    "15/3, held up": limit(15, 3, 300, 0.02, held_up=0.05),
    # One address with several names.
    "20 names, 30/5": named(lambda _: Bucket(30, 5), 40),
    "20 names, 60/min": named(lambda _: Bucket(1, 20), 20),
    "20 names, 30/5 each": named(lambda _: EachName(lambda _: Bucket(30, 5)), 40),
    "2 names, 30/5 each": named(lambda _: EachName(lambda _: Bucket(30, 5)), 300, 2),
    "4 names, 30/5 each": named(lambda _: EachName(lambda _: Bucket(30, 5)), 300, 4),
    "20 names, 2 limited": named(
        lambda _: EachName(lambda name: Bucket(3, 5) if name in {"n3", "n9"} else Server()), 40
    ),
    "20 names, 2 down": named(
        lambda _: EachName(lambda name: Down((1, 31)) if name in {"n3", "n9"} else Server()), 40
    ),
    "20 names, 1 % chance": named(lambda one: Chance(0.01, one), 40),
}
