"""The robot tags of a page as they apply to one robot: the strictest wins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache, partial
from itertools import chain, islice
from typing import Any

from mandelbot.arguments import agent_key, check_headers, octets_of
from mandelbot.formatting import shown
from mandelbot.robotstxt.agents import header_text, names_in_order
from mandelbot.tags.directives import (
    IMAGE_PREVIEWS,
    NO_LIMIT,
    directives_by_agent,
    directives_of,
    directives_of_list,
    effects_of,
)
from mandelbot.tags.head import CONTENT_LIMIT, Meta, meta_tags

DIRECTIVES_LIMIT = 300
"""Directives of a page that are read, headers first, for all robots together."""
LIST_LIMIT = 8_192
"""Characters of a ``Robots-Tag`` header that are read: the minimum of
draft-illyes-repext-03.
"""
HEADERS_LIMIT = 16_384
"""Characters of a page's headers that are read."""


@dataclass(frozen=True, slots=True)
class RobotTag:
    """One directive and its place.

    >>> from mandelbot import robot_tags
    >>> tags = robot_tags([("X-Robots-Tag", "noindex")], b"", "Examplebot")
    >>> print(tags.sources[0])
    X-Robots-Tag: noindex
    """

    where: str
    """``"header"`` for X-Robots-Tag, ``"robots-tag"`` for the header of that name,
    ``"meta"``, or ``"link"`` for the ``rel="nofollow"`` of a link.
    """
    text: str
    """The directive as written."""
    agent: str | None = None
    """The robot that it names, in lower case; None: all robots."""
    line: int | None = None
    """The line of the page, from 1; None: it is not in the page's head."""

    def __str__(self) -> str:
        text = shown(self.text)
        if self.where == "header":
            return "X-Robots-Tag: " + (f"{self.agent}: " if self.agent else "") + text
        if self.where == "robots-tag":
            return f"Robots-Tag: {self.agent or '*'};{text}"
        if self.where == "link":
            return f'rel="{text}" on every link to it'
        return f'{text} in <meta name="{self.agent or "robots"}"> on line {self.line}'


@dataclass(frozen=True, slots=True)
class RobotTags:
    """The robot tags of a page for one robot.

    All fields but the last two combine the tags for all robots and for this one, in the
    headers and in the page: the strictest wins (Google, "Handling combined indexing and
    serving rules").

    >>> from mandelbot import robot_tags
    >>> tags = robot_tags([("X-Robots-Tag", "noindex")], b"", "Examplebot")
    >>> tags.noindex, tags.nofollow
    (True, False)
    """

    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False
    nosnippet: bool = False
    noimageindex: bool = False
    notranslate: bool = False
    indexifembedded: bool = False
    """Whether the tag is present; it has an effect only together with ``noindex``."""
    noai: bool = False
    """Neither text nor images may be used to train models."""
    noimageai: bool = False
    """The images may not be used to train models."""
    noml: bool = False
    """Another name of ``noai``."""
    unavailable_after: datetime | None = None
    """The earliest date, in UTC."""
    max_snippet: int | None = None
    """Characters; -1: explicitly no limit; None: no tag."""
    max_image_preview: str | None = None
    """``"none"``, ``"standard"`` or ``"large"``; None: no tag."""
    max_video_preview: int | None = None
    """Seconds; -1: explicitly no limit; None: no tag."""
    unknown: tuple[str, ...] = ()
    """Unknown directives, and those with invalid values, as written."""
    sources: tuple[RobotTag, ...] = ()
    """Every directive that applies to the robot, headers first.

    Only the first :data:`DIRECTIVES_LIMIT` directives of a page count.
    """

    @property
    def none(self) -> bool:
        """Whether both ``noindex`` and ``nofollow`` apply: ``none`` stands for both."""
        return self.noindex and self.nofollow

    def is_unavailable(self, now: datetime) -> bool:
        """Return whether ``unavailable_after`` is before `now`."""
        return self.unavailable_after is not None and self.unavailable_after < now

    def decided_by(self, field: str) -> RobotTag | None:
        """Return the first tag that sets the field to its value, or None."""
        said = (field, getattr(self, field))
        return next(
            (tag for tag in self.sources if said in _effects(tag).items()), None
        )


NO_TAGS = RobotTags()


def robot_tags(
    headers: Iterable[tuple[str | bytes, str | bytes]],
    body: bytes,
    agent: str | bytes | Sequence[str],
) -> RobotTags:
    """Return the robot tags of a page for one robot.

    Never raises, whatever the headers and bytes; TypeError names an argument of another
    type. Reads :data:`HEADERS_LIMIT` characters of headers, meta tags within the limits
    of ``head.py``, and :data:`DIRECTIVES_LIMIT` directives in all.

    >>> from mandelbot import robot_tags
    >>> page = b'<head><meta name="robots" content="nofollow"></head>'
    >>> robot_tags([], page, "Examplebot").nofollow
    True

    Args:
        headers: name and value of each of the response's headers, or of the
            ``X-Robots-Tag`` and ``Robots-Tag`` ones.
        body: the HTML, decompressed; its first 256 KiB suffice. ``b""`` for other
            types.
        agent: a product token, a whole User-Agent header, or a sequence of tokens. Tags
            for any of these names apply, and tags for all robots.
    """
    # Runs for every page of a crawl: a page without tags costs no further call.
    if not isinstance(agent, str):
        agent = header_text(agent) if isinstance(agent, bytes) else agent_key(agent)
    if type(body) is not bytes:
        body = octets_of(body, "body", "response.body")
    names = _names(agent)
    metas = meta_tags(body, names)
    if headers or metas:
        try:
            return tags_for(headers, metas, names)
        except (AttributeError, TypeError, ValueError):
            check_headers(headers)
            raise
    return NO_TAGS


def tags_for(
    headers: Iterable[tuple[str | bytes, str | bytes]],
    metas: tuple[Meta, ...],
    names: frozenset[str],
) -> RobotTags:
    """Return the robot tags in headers, and in meta tags that have one of the names."""
    values = tuple(_header_values(headers))
    length = sum(len(value) for _, value in values) + sum(
        len(meta.content) for meta in metas
    )
    said = _cached_tags if length <= _SHORT else _tags_in
    return said(values, metas, names)


_Header = tuple[str, str]  # `RobotTag.where` and the value
_HEADERS = {"x-robots-tag": "header", "robots-tag": "robots-tag"}


def _header_values(
    headers: Iterable[tuple[str | bytes, str | bytes]],
) -> Iterator[_Header]:
    left = HEADERS_LIMIT
    for name, value in headers:
        where = None
        if left > 0:
            where = _HEADERS.get(header_text(name).strip().lower())
        if where is not None:
            text = header_text(value)
            most = min(CONTENT_LIMIT if where == "header" else LIST_LIMIT, left)
            if len(text) > most:  # only whole members of a list count
                if where == "header":
                    text = text[:most]
                else:
                    text = text[:most].rpartition(",")[0]
            left -= max(len(text), 1)
            yield where, text


_GENERAL = "robots"
_OTHER_METADATA = frozenset(
    """
    application-name author color-scheme copyright date description generator keywords
    language rating referrer revisit-after subject theme-color title twitter viewport
    """.split()  # noqa: SIM905 -- words to be read
)
"""Names of other meta tags, which may be words of a User-Agent header."""


@lru_cache(maxsize=1024)
def _names(agent: str | tuple[str, ...]) -> frozenset[str]:
    return frozenset(names_in_order(agent)) - _OTHER_METADATA | {_GENERAL}


def names_of_robot(agent: str | bytes | Sequence[str]) -> frozenset[str]:
    """Return the meta tags' names for a robot, in lower case, including ``robots``.

    `agent` is a product token, a whole User-Agent header, or a sequence of tokens.
    """
    if not isinstance(agent, str):
        agent = header_text(agent) if isinstance(agent, bytes) else agent_key(agent)
    return _names(agent)


def _tags_in(
    values: tuple[_Header, ...], metas: tuple[Meta, ...], names: frozenset[str]
) -> RobotTags:
    in_headers = chain.from_iterable(map(_in_header, values))
    in_metas = chain.from_iterable(map(_in_meta, metas))
    said = islice(chain(in_headers, in_metas), DIRECTIVES_LIMIT)
    tags = tuple(tag for tag in said if tag.agent is None or tag.agent in names)
    return _strictest(tags) if tags else NO_TAGS


_SHORT = 256  # characters of all tags; most pages have fewer
# Pages of a site repeat their tags. The tags are untrusted: 256 of them take at most 8
# MiB.
_cached_tags = lru_cache(maxsize=256)(_tags_in)


def _in_header(header: _Header) -> Iterator[RobotTag]:
    where, value = header
    read = directives_by_agent if where == "header" else directives_of_list
    for agent, directive in read(value):
        yield RobotTag(where, directive, agent)


def _in_meta(meta: Meta) -> Iterator[RobotTag]:
    agent = None if meta.name == _GENERAL else meta.name
    for directive in directives_of(meta.content):
        yield RobotTag("meta", directive, agent, meta.line)


def _effects(tag: RobotTag) -> dict[str, Any]:
    return effects_of(tag.text) or {}


def _shorter(one: int, other: int) -> int:
    if NO_LIMIT in {one, other}:
        return max(one, other)
    return min(one, other)


_STRICTER: dict[str, Callable[[Any, Any], Any]] = {
    "unavailable_after": min,
    "max_snippet": _shorter,
    "max_image_preview": partial(min, key=IMAGE_PREVIEWS.index),
    "max_video_preview": _shorter,
}
"""The stricter of two values of a field; for flags that is True."""


def _strictest(tags: tuple[RobotTag, ...]) -> RobotTags:
    said: dict[str, Any] = {}
    for tag in tags:
        for field, value in _effects(tag).items():
            stricter = _STRICTER.get(field)
            said[field] = (
                stricter(said[field], value) if stricter and field in said else value
            )
    # Google, nosnippet: "Do not show a text snippet or video preview".
    if said.get("nosnippet"):
        said["max_snippet"] = 0
        said["max_video_preview"] = 0
    # Google, max-snippet: "Equivalent to nosnippet".
    elif said.get("max_snippet") == 0:
        said["nosnippet"] = True
    unknown = tuple(tag.text for tag in tags if effects_of(tag.text) is None)
    return RobotTags(**said, unknown=unknown, sources=tags)
