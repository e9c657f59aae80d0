"""Sites of which a part fails, or all of them for a while, and nothing is stated."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from cell import Cell, CellSpider, World
from network import Answer, Asked, Fault, page, with_robots

OUT = 6.0
"""Seconds of an outage."""
PAUSED = (14.0, "the pause ends up to three times as late as the outage")
_ERROR = Answer(b"an error", 502)

Fails = Callable[[Asked], "Answer | Fault | None"]


def _world(fails: Fails, pages: int = 100, form: str = "/page/{}") -> World:
    def site(asked):
        return fails(asked) or page(asked)

    start = [form.format(number) for number in range(pages)]
    return World(with_robots(site, None), start)


def _each(every: int, trouble: Answer | Fault) -> Fails:
    """Return what fails on each page whose number is three above a multiple."""
    return lambda asked: trouble if asked.number % every == 3 else None


def _for(seconds: float, trouble: Answer | Fault, begins: float = 0.5) -> Fails:
    """Return what fails for a while."""
    ends = begins + seconds
    return lambda asked: trouble if begins <= asked.t < ends else None


def _in_turn(asked: Asked) -> Answer | None:
    """Fail for a quarter of each second but the first."""
    return _ERROR if asked.t > 1 and asked.t % 1 < 0.25 else None


def _once(asked: Asked) -> Answer | None:
    """Fail when a page is requested first."""
    return _ERROR if asked.n == 1 else None


def _dropped_once(asked: Asked) -> Fault | None:
    """Lose the connection when a page is requested first."""
    return Fault.LOST if asked.n == 1 else None


def _section() -> World:
    """Return a site of which a section stands behind a backend that is dead."""

    def site(asked):
        return _ERROR if asked.path.startswith("/api/") else page(asked)

    start = [f"/{place}/{i}" for i in range(40) for place in ("page", "api")]
    return World(with_robots(site, None), start)


def _black_hole(every: int) -> World:
    """Return a site that answers its robots.txt, and never every so many pages."""

    def site(asked):
        return Fault.HANG if asked.number % every == 0 else page(asked)

    return World(with_robots(site), [f"/page/{number}" for number in range(40)])


class _Heads(CellSpider):
    """Asks for one page whole, and for the headers of all others."""

    async def start(self):
        for number, url in enumerate(self.world.start):
            yield self.request(url, method="HEAD" if number else "GET")


def _drops_heads() -> World:
    def site(asked):
        return Fault.LOST if asked.method == "HEAD" else page(asked)

    start = [f"/page/{number}" for number in range(40)]
    return World(with_robots(site, None), start, _Heads)


def _cell(
    name: str,
    about: str,
    make: Callable[[], World],
    waits: tuple[float, str] = (0.0, ""),
    requests: int = 8,
) -> Cell:
    seconds, why = waits
    return Cell(
        f"half healthy: {name}",
        about,
        make,
        settings={"DOWNLOAD_TIMEOUT": 3},
        waits=seconds,
        requests=requests,
        why="; ".join(filter(None, (why, "a good page is asked for again"))),
    )


CELLS = [
    _cell(
        "pages that hang",
        "4 of 100 pages never answer",
        partial(_world, _each(25, Fault.HANG)),
    ),
    _cell(
        "pages that drop",
        "10 of 60 pages lose the connection",
        partial(_world, _each(6, Fault.LOST), 60),
    ),
    _cell(
        "pages that fail",
        "10 of 100 pages answer 502",
        partial(_world, _each(10, _ERROR)),
    ),
    _cell(
        "520 of a CDN",
        "14 of 100 pages answer 520",
        partial(_world, _each(7, Answer(b"", 520))),
    ),
    _cell(
        "pages that fail once",
        "each of 60 pages answers 502 at first",
        partial(_world, _once, 60),
    ),
    _cell(
        "pages that drop once",
        "each of 60 pages loses the connection at first",
        partial(_world, _dropped_once, 60),
    ),
    *(
        Cell(
            f"half healthy: black hole, {what}, {at_once} at once",
            f"{what} of 40 never answer, from the first on; robots.txt does",
            partial(_black_hole, every),
            settings={
                "DOWNLOAD_TIMEOUT": 3,
                "CONCURRENT_REQUESTS": at_once,
                "CONCURRENT_REQUESTS_PER_DOMAIN": at_once,
            },
        )
        for what, every in (("all pages", 1), ("half of the pages", 2))
        for at_once in (8, 16)
    ),
    _cell(
        "HEAD is dropped",
        "1 page by GET, 39 by HEAD, which loses the connection",
        _drops_heads,
        requests=3,
    ),
    _cell(
        "dead section",
        "40 pages, and 40 of a section that answer 502",
        _section,
    ),
    _cell(
        "503 for ever",
        "3 of 120 pages answer 503",
        partial(_world, _each(40, Answer(b"", 503)), 120),
        (420.0, "a page that refuses is tried for six minutes"),
        requests=40,
    ),
    _cell(
        "restarted backend",
        f"502 for {OUT:g} s",
        partial(_world, _for(OUT, _ERROR)),
        PAUSED,
        requests=20,
    ),
    _cell(
        "slow backend",
        f"504 for {OUT:g} s",
        partial(_world, _for(OUT, Answer(b"", 504))),
        PAUSED,
        requests=20,
    ),
    _cell(
        "520 for a while",
        f"520 for {OUT:g} s, which is not retried",
        partial(_world, _for(OUT, Answer(b"", 520))),
        PAUSED,
        requests=20,
    ),
    _cell(
        "out for a moment, in turn",
        "502 for a quarter of each second but the first",
        partial(_world, _in_turn, 400),
        (4.0, "a moment each time"),
        requests=20,
    ),
    _cell(
        "connections dropped for a while",
        f"connections are lost for {OUT:g} s",
        partial(_world, _for(OUT, Fault.LOST)),
        PAUSED,
        requests=20,
    ),
]
