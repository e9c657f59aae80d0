"""The names of a robot, from a token or a User-Agent header, and how they match."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from mandelbot.arguments import agent_key

Agent = str | Sequence[str]
"""A product token, a User-Agent header, or several of these, the preferred first."""

#: Words of every browser's header name no robot: `User-agent: Mozilla` does not apply
#: to a crawler whose header begins like a browser's.
BROWSER_WORDS = frozenset(
    """
    mozilla applewebkit webkit gecko khtml like chrome chromium crios safari version
    mobile tablet compatible msie trident firefox fxios edge edg opera opr presto
    seamonkey iceweasel windows nt win32 win64 wow64 x64 x11 u i macintosh intel ppc mac
    os x cpu iphone ipad ipod touch android linux ubuntu debian i386 i586 i686 x86_64
    amd64 arm arm64 armv7l aarch64 build wv k en us en-us
    """.split()  # noqa: SIM905 -- words to be read
)
_TOKEN = re.compile(r"[A-Za-z0-9_.!\-]*[A-Za-z][A-Za-z0-9_.!\-]*")
_BARE_TOKEN = re.compile(r"[^\s/();,]+")
_WORD_ENDS = re.compile(r"[\s();,]+")


@lru_cache(maxsize=1024)
def product_tokens(agent: str) -> tuple[str, ...]:
    """Return the names to look for in a file, in lower case, the longest first.

    `agent` is a product token (``Mandelbot``), or a User-Agent header. A header gives
    its product tokens, including those in comments, without versions, URLs and the
    words of browsers.

    >>> product_tokens("Mozilla/5.0 (compatible; Mandelbot/1.0; +https://example.com/bot)")
    ('mandelbot',)
    """
    if _BARE_TOKEN.fullmatch(agent):
        return (agent.lower(),)
    names = (
        word.partition("/")[0] for word in _WORD_ENDS.split(agent) if "://" not in word
    )
    tokens = {name.lower() for name in names if _TOKEN.fullmatch(name)} - BROWSER_WORDS
    return tuple(sorted(tokens, key=lambda token: (-len(token), token)))


def names_in_order(agent: str | Sequence[str]) -> tuple[str, ...]:
    """Return the names of agents, preferred first; a sequence keeps its order."""
    if isinstance(agent, str):
        return product_tokens(agent)
    agents = agent_key(agent)
    return tuple(dict.fromkeys(name for one in agents for name in product_tokens(one)))


def header_text(value: str | bytes) -> str:
    """Decode a header or URL as UTF-8, or else as Latin-1, which accepts every byte."""
    if isinstance(value, str):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


Rank = tuple[int, int]
"""How well a name in the file matches a robot: the position among the robot's names,
the preferred first; then, in dialects that match parts of names, the negative length,
so that the exact name comes first. The smallest rank wins, and the first in the file
among equals.
"""


def _equal(name: str, robot: tuple[str, ...]) -> Rank | None:
    return (robot.index(name), 0) if name in robot else None


def _inside(name: str, robot: tuple[str, ...]) -> Rank | None:
    """The name in the file is a part of the robot's; the longest part comes first."""
    for place, own in enumerate(robot):
        if name in own:
            return place, -len(name)
    return None


def _inside_first(name: str, robot: tuple[str, ...]) -> Rank | None:
    """The name in the file is a part of the robot's; the first in the file counts."""
    for place, own in enumerate(robot):
        if name in own:
            return place, 0
    return None


def _contains(name: str, robot: tuple[str, ...]) -> Rank | None:
    """The robot's name is a part of that in the file."""
    for place, own in enumerate(robot):
        if own in name:
            return place, 0
    return None


#: The rank of a name in the file for a robot, both in lower case; None: no match.
NAMES: dict[str, Callable[[str, tuple[str, ...]], Rank | None]] = {
    "token": _equal,
    "google": _equal,
    "inside": _inside,
    "inside-first": _inside_first,
    "contains": _contains,
}

#: Crawlers that use the group of another one if the file has none for them, by the
#: tokens and their order in Google's "List of Google crawlers and fetchers"
#: (moderatobot: "If the group is not found, it will search for Googlebot").
GOOGLES_CRAWLERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("googlebot-image", ("googlebot",)),
    ("googlebot-mobile", ("googlebot",)),
    ("googlebot-news", ("googlebot",)),
    ("googlebot-video", ("googlebot",)),
    ("google-cloudvertexbot", ("googlebot",)),
    ("google-inspectiontool", ("googlebot",)),
    ("googleother-image", ("googleother",)),
    ("googleother-video", ("googleother",)),
)
