"""The directives of robot tags, their effects, and the syntax of lists of them.

Sources: Google, "Robots meta tag, data-nosnippet, and X-Robots-Tag specifications";
Bing, "Robots Metatags"; Yandex, "Robots meta tag and X-Robots-Tag HTTP header";
DeviantArt, "Tell AI datasets they can't use your content" (2022), for ``noai`` and
``noimageai``; noml.info, for ``noml``; draft-illyes-repext-03 (April 2026), for the
``Robots-Tag`` header.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from functools import lru_cache
from typing import Any

NO_LIMIT = -1
"""The value of ``max-snippet`` and ``max-video-preview`` for no limit."""

IMAGE_PREVIEWS = ("none", "standard", "large")
"""The values of ``max-image-preview``, the strictest first."""

_FLAGS: dict[str, tuple[str, ...]] = {
    "noindex": ("noindex",),
    "nofollow": ("nofollow",),
    "none": ("noindex", "nofollow"),
    "noarchive": ("noarchive",),
    "nocache": ("noarchive",),  # Bing
    "nosnippet": ("nosnippet",),
    "noimageindex": ("noimageindex",),
    "notranslate": ("notranslate",),
    "indexifembedded": ("indexifembedded",),
    "noai": ("noai",),
    "noimageai": ("noimageai",),
    "noml": ("noml",),
}
_PERMISSIONS = frozenset({"all", "index", "follow", "archive"})
"""The defaults. A prohibition overrides them, as for Google; Yandex does the reverse.
"""

_NUMBER = re.compile(r"-1|[0-9]{1,18}")


def _number(text: str) -> int | None:
    return int(text) if _NUMBER.fullmatch(text) else None


def _moment(text: str) -> datetime | None:
    from mandelbot.dates import IN_TAGS, read_date  # noqa: PLC0415 -- few tags

    date = read_date(text, IN_TAGS)
    if date is None:
        return None
    return date.astimezone(timezone.utc)


_VALUES: dict[str, tuple[str, Callable[[str], object]]] = {
    "unavailable-after": ("unavailable_after", _moment),
    "max-snippet": ("max_snippet", _number),
    "max-image-preview": (
        "max_image_preview",
        lambda text: text.lower() if text.lower() in IMAGE_PREVIEWS else None,
    ),
    "max-video-preview": ("max_video_preview", _number),
}
"""Directives with a value: their field, and a parser, which returns None for a bad
value.
"""

_LONGEST = 200  # characters of a directive; longer ones are unknown, and cut
_LONGEST_DATE = 3  # parts between commas: "Tuesday, June 25, 2027"
_AGENT = re.compile(r"[^\s,:;\"]+")
_ANY_NUMBER = re.compile(r"-?[0-9.]+")
_KNOWN = _FLAGS.keys() | _VALUES.keys() | _PERMISSIONS
#: No directive has quotes: `Header set X-Robots-Tag '"noindex"'` is a server's slip
#: of configuration, and says clearly what is meant.
_NO_QUOTES = str.maketrans("", "", "\"'")
_OTHER_SEPARATORS = re.compile(r"[\s;|]+")


@lru_cache(maxsize=1024)
def effects_of(directive: str) -> dict[str, object] | None:
    """Return the fields of ``RobotTags`` that a directive sets. Do not modify the dict.

    None means to ignore the directive: it is unknown or has an invalid value (Google,
    "max-snippet", "unavailable_after").
    """
    name, _, value = directive.partition(":")
    name = _plain(name)
    if name in _FLAGS:
        return dict.fromkeys(_FLAGS[name], True)
    if name in _PERMISSIONS:
        return {}
    if name not in _VALUES:
        return None
    field, read = _VALUES[name]
    content = read(value.strip())
    if content is None:
        return None
    return {field: content}


def directives_of(text: str) -> Iterator[str]:
    """Yield the directives in the ``content`` of a meta tag, as written."""
    for _, directive in _listed(text, has_agents=False):
        yield directive


def directives_by_agent(text: str) -> Iterator[tuple[str | None, str]]:
    """Yield the directives of an ``X-Robots-Tag``, each with the agent that it is for.

    ``agent:`` applies to the directives after it, up to the next one (Google, "Using
    the X-Robots-Tag HTTP header"). Agents are in lower case, without version; None
    means all.
    """
    yield from _listed(text, has_agents=True)


def directives_of_list(text: str) -> Iterator[tuple[str | None, str]]:
    """Yield the directives of a ``Robots-Tag``, each with the agent that it is for.

    A List of RFC 9651 whose members are product tokens or ``*``, with the rules as
    parameters (draft-illyes-repext-03, "HTTP Response Header"). Other values are
    ignored.
    """
    import http_sf  # noqa: PLC0415 -- few pages have the header

    try:
        members: Any = http_sf.parse(
            text.encode("utf-8", "surrogatepass"), tltype="list"
        )
    except (http_sf.StructuredFieldError, ValueError, ArithmeticError):
        return
    for member in members:
        token, rules = member if isinstance(member, tuple) else (member, {})
        if isinstance(token, (http_sf.Token, str)):
            agent = _agent_name(str(token))
            for name, value in rules.items():
                yield agent, name if value is True else f"{name}:{value}"


def _listed(text: str, *, has_agents: bool) -> Iterator[tuple[str | None, str]]:
    if '"' in text or "'" in text:
        text = text.translate(_NO_QUOTES)
    parts = text.split(",")[::-1]  # popped from the end, in constant time
    agent: str | None = None
    while parts:
        part = parts.pop().strip()
        while has_agents and _names_an_agent(part):
            name, _, part = part.partition(":")
            agent = _agent_name(name)
            part = part.strip()
        if _plain(part.partition(":")[0]) == "unavailable-after":
            part = _with_whole_date(part, parts)
        for directive in _split_further(part):
            yield agent, directive


def _names_an_agent(part: str) -> bool:
    """Return whether ``name:`` at the start of the part names a robot, not a directive.

    A name that begins with ``max-`` or has a number as its value is rather a future
    directive: read as a robot, it would hide the rest of the list.
    """
    name, colon, value = part.partition(":")
    plain = _plain(name)
    if not colon or plain in _KNOWN or not _AGENT.fullmatch(name.strip()):
        return False
    is_to_come = plain.startswith("max-") or _ANY_NUMBER.fullmatch(value.strip())
    return not is_to_come or effects_of(value[:_LONGEST].strip()) is not None


def _agent_name(name: str) -> str | None:
    name = name.strip().partition("/")[0].lower()
    return None if name in {"robots", "*"} else name


def _with_whole_date(part: str, rest: list[str]) -> str:
    """Return the part with the rest of its date, removed from the end of `rest`.

    Dates may contain commas: ``Tue, 25 Jun 2027 15:00:00 PST``.
    """
    for more in range(min(_LONGEST_DATE - 1, len(rest)), 0, -1):
        added = rest[: -more - 1 : -1]
        joined = ",".join([part, *added])
        if (
            any(map(str.isdigit, added[-1]))
            and effects_of(joined[:_LONGEST]) is not None
        ):
            del rest[-more:]
            return joined
    return part


def _split_further(part: str) -> list[str]:
    """Return a part's directives: one, or several without commas between them.

    No document allows ``noindex nofollow`` or ``noindex; nofollow``, but many pages
    have them.
    """
    part = part[:_LONGEST]
    if not part:
        return []
    if effects_of(part) is not None:
        return [part]
    several = [one for one in _OTHER_SEPARATORS.split(part) if one]
    if several and all(effects_of(one) is not None for one in several):
        return several
    return [part]


def _plain(name: str) -> str:
    return name.strip().lower().replace("_", "-")
