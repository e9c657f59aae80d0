"""Who is asking: the names of a robot, from whatever a crawler calls itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

#: What every browser's header says names no robot: `User-agent: Mozilla` is not about a crawler
#: that begins its header like a browser.
BROWSER_WORDS = frozenset(
    """
    mozilla applewebkit webkit gecko khtml like chrome chromium crios safari version mobile tablet
    compatible msie trident firefox fxios edge edg opera opr presto seamonkey iceweasel
    windows nt win32 win64 wow64 x64 x11 u i macintosh intel ppc mac os x cpu iphone ipad ipod touch
    android linux ubuntu debian i386 i586 i686 x86_64 amd64 arm arm64 armv7l aarch64 build wv k
    en us en-us
    """.split()  # noqa: SIM905 - words to be read
)
_TOKEN = re.compile(r"[A-Za-z0-9_.!\-]*[A-Za-z][A-Za-z0-9_.!\-]*")
_BARE_TOKEN = re.compile(r"[^\s/();,]+")
_WORD_ENDS = re.compile(r"[\s();,]+")


@lru_cache(maxsize=1024)
def product_tokens(agent: str) -> tuple[str, ...]:
    """Return the names, in lower case, by which the robot is looked for: the longest first.

    `agent` is a product token (``Mandelbot``), which stands for itself, or a User-Agent header,
    from which the product tokens in and outside of comments are taken, without versions, URLs
    and the words of browsers.

    >>> product_tokens("Mozilla/5.0 (compatible; Mandelbot/1.0; +https://example.com/bot)")
    ('mandelbot',)
    """
    if _BARE_TOKEN.fullmatch(agent):
        return (agent.lower(),)
    words = (word.partition("/")[0] for word in _WORD_ENDS.split(agent) if "://" not in word)
    tokens = {word.lower() for word in words if _TOKEN.fullmatch(word)} - BROWSER_WORDS
    return tuple(sorted(tokens, key=lambda token: (-len(token), token)))


def names_in_order(agent: str | tuple[str, ...]) -> tuple[str, ...]:
    """Return the names to look for, the preferred first; a sequence keeps its order."""
    if isinstance(agent, str):
        return product_tokens(agent)
    return tuple(dict.fromkeys(name for one in agent for name in product_tokens(one)))


def header_text(value: str | bytes) -> str:
    """Return a header or URL as text: UTF-8, or else Latin-1, which takes every byte."""
    if isinstance(value, str):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


Rank = tuple[int, int]
"""How well a name in the file fits a robot: which of the robot's names it is, the preferred first;
then, where a part will do, the longer part first: the exact name is the longest. The smallest rank
is taken, of equals the first in the file."""


def _equal(name: str, robot: tuple[str, ...]) -> Rank | None:
    return (robot.index(name), 0) if name in robot else None


#: How well a name in the file fits a robot, both in lower case; None: not at all.
NAMES: dict[str, Callable[[str, tuple[str, ...]], Rank | None]] = {
    "token": _equal,
    "google": _equal,
    "inside": lambda name, robot: next(
        ((place, -len(name)) for place, own in enumerate(robot) if name in own), None
    ),
    "inside-first": lambda name, robot: next(
        ((place, 0) for place, own in enumerate(robot) if name in own), None
    ),
    "contains": lambda name, robot: next(
        ((place, 0) for place, own in enumerate(robot) if own in name), None
    ),
}

#: The crawlers that take the group of another one where the file has none for them, and whose: as
#: Google's "List of Google crawlers and fetchers" gives each one's tokens, in the order in which it
#: looks for them (moderatobot: "If the group is not found, it will search for Googlebot").
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


def with_fallbacks(
    names: tuple[str, ...], fallbacks: tuple[tuple[str, tuple[str, ...]], ...]
) -> tuple[str, ...]:
    """Return a robot's names, each with those by which it is looked for where it is not found."""
    if not fallbacks:
        return names
    others = dict(fallbacks)
    return tuple(dict.fromkeys(one for name in names for one in (name, *others.get(name, ()))))
