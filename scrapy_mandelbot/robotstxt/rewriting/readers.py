"""Everyone who reads a robots.txt: the six dialects, and Python's own `urllib.robotparser`.

The last is what many small crawlers use. It is of no dialect here: the first group whose name is a
part of the robot's, the first rule that matches, blank lines that end a group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.robotparser import RobotFileParser

from scrapy_mandelbot.robotstxt.dialects import DIALECTS
from scrapy_mandelbot.robotstxt.robots import RobotsTxt

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Allowed = Callable[[str, str], bool]
    """Whether a URL may be fetched by an agent."""
    Reader = Callable[[bytes, int | None], Allowed | None]
    """Reads a body, of which so many bytes count; None: it cannot, and so has no rules."""

URLLIB = "urllib.robotparser"


def _reader(dialect: str) -> Reader:
    def read(body: bytes, max_bytes: int | None) -> Allowed:
        return RobotsTxt.parse(body, dialect=dialect, max_bytes=max_bytes).allowed

    return read


def _urllib(body: bytes, max_bytes: int | None) -> Allowed | None:
    if max_bytes is not None and len(body) > max_bytes:
        return None  # it reads all there is
    parser = RobotFileParser()
    try:
        parser.parse(body.decode("utf-8", "replace").splitlines())
    except ValueError:  # a path such as //[x
        return None
    parser.modified()

    def allowed(url: str, agent: str) -> bool:
        try:
            return parser.can_fetch(agent, url)
        except ValueError:
            return True

    return allowed


#: By name, how each of them reads a file.
READERS: Mapping[str, Reader] = {name: _reader(name) for name in DIALECTS} | {URLLIB: _urllib}
