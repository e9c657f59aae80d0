"""URLs that tell two files apart: derived from a rule, on its border and near it."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING

from scrapy_mandelbot.robotstxt.paths import split_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_FILLINGS = ("", "x", "y/z.w")
"""What stands for a run of any characters."""
_MEETINGS = 8
"""So many others a rule with wildcards meets."""
_BRACKET = re.compile(r"\[!?(\]?[^\[\]]+|\])\]")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")

ALWAYS = ("/", "/robots.txt", "/zz/unlisted.html?q=1")
"""What is asked of every file."""


def probes(value: str) -> Iterator[str]:
    """Yield targets near a rule's path: some that it matches, some just outside of it."""
    path = _path(value)
    yield from _near(path)  # as written: a wildcard that is none
    bare = path.removesuffix("$")
    for filling in _FILLINGS if any(sign in path for sign in "*?[") else _FILLINGS[:1]:
        yield from _near(_filled(bare, filling))


def meetings(values: Iterable[str]) -> Iterator[str]:
    """Yield targets that a rule with wildcards and another may both match.

    What the other matches stands for the first wildcard. Each rule meets a few of those that it can
    meet, the next rule the next few: of many pairs a part, spread evenly.
    """
    paths = list(map(_path, values))
    literals = sorted({_filled(path.removesuffix("$"), "") for path in paths})
    turn = 0
    for path in paths:
        head, star, rest = path.partition("*")
        if not star:
            continue
        first, last = bisect_left(literals, head), bisect_left(literals, f"{head}\U0010ffff")
        for place in range(turn, turn + min(_MEETINGS, last - first)):
            other = literals[first + place % (last - first)]
            both = other + _filled(rest.removesuffix("$"), "")
            yield both
            yield f"{both}x"  # past a $
        turn += _MEETINGS


def _path(value: str) -> str:
    """Return the path of a rule: from the root, of a URL its own, with # as no fragment."""
    parts = split_url(value) if "://" in value else None
    path = parts[1] if parts else value
    return f"/{path.removeprefix('/')}".replace("#", "%23")


def _filled(path: str, filling: str) -> str:
    """Return the path with something for its wildcards, and for those of globs."""
    path = _BRACKET.sub(lambda bracket: bracket[1][0], path) if "[" in path else path
    return path.replace("*", filling).replace("?", "?" if not filling else "q").replace("\\", "")


def _near(path: str) -> Iterator[str]:
    """Yield a path, what goes on from it, what is shorter, what differs by a little."""
    yield path
    yield f"{path}x"
    yield f"{path}/y.html?z=1"
    yield path[:-1] or "/"
    yield f"{path[:-1]}~"
    yield path.rpartition("/")[0] or "/"
    yield path.swapcase()
    if "%" in path:
        yield _ESCAPE.sub(lambda escape: escape[0].swapcase(), path)
