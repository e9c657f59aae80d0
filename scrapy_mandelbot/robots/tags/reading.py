"""The robot tags of a page, as they apply to one robot: the strictest of what is said to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache, partial
from itertools import chain, islice
from typing import Any

from scrapy_mandelbot.robots.formatting import shown
from scrapy_mandelbot.robots.robotstxt.agents import header_text, names_in_order
from scrapy_mandelbot.robots.tags.directives import (
    IMAGE_PREVIEWS,
    NO_LIMIT,
    directives_by_agent,
    directives_of,
    directives_of_list,
    effects_of,
)
from scrapy_mandelbot.robots.tags.head import CONTENT_LIMIT, Meta, meta_tags

DIRECTIVES_LIMIT = 300
"""Directives of a page that are read, the headers' first, whoever they are for."""
LIST_LIMIT = 8_192
"""Characters of a ``Robots-Tag`` header that are read: as many as draft-illyes-repext-03 asks."""
HEADERS_LIMIT = 16_384
"""Characters of a page's headers that are read."""


@dataclass(frozen=True, slots=True)
class RobotTag:
    """One directive, and where it stood."""

    where: str
    """``"header"`` for X-Robots-Tag, ``"robots-tag"`` for the header of that name, ``"meta"``, or
    ``"link"`` for the ``rel="nofollow"`` of a link."""
    text: str
    """The directive as written."""
    agent: str | None = None
    """The robot that it names, in lower case; None: it is for all."""
    line: int | None = None
    """The line of the page, the first is 1; None: it is not in the page's head."""

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
    """What the tags of a page say to a robot.

    All but the last two fields hold the strictest of what is said, in the header and in the page,
    to all robots and to this one (Google, "Handling combined indexing and serving rules").
    """

    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False
    nosnippet: bool = False
    noimageindex: bool = False
    notranslate: bool = False
    indexifembedded: bool = False
    """Said, whether or not ``noindex`` is: only with that it means anything."""
    noai: bool = False
    """Not to be used to train models, text and images."""
    noimageai: bool = False
    """The images of the page are not."""
    noml: bool = False
    """As ``noai``, by another name."""
    unavailable_after: datetime | None = None
    """In UTC; the earliest."""
    max_snippet: int | None = None
    """Characters; -1: no limit, and says so. None: nothing is said."""
    max_image_preview: str | None = None
    """``"none"``, ``"standard"`` or ``"large"``. None: nothing is said."""
    max_video_preview: int | None = None
    """Seconds; -1: no limit, and says so. None: nothing is said."""
    unknown: tuple[str, ...] = ()
    """Directives that are not known, or whose values make no sense, as written."""
    sources: tuple[RobotTag, ...] = ()
    """Every directive that applies to the robot, the headers' first.

    Of a page that says very much: those among the first :data:`DIRECTIVES_LIMIT`.
    """

    @property
    def none(self) -> bool:
        """Whether both ``noindex`` and ``nofollow`` are said, which is what ``none`` says."""
        return self.noindex and self.nofollow

    def is_unavailable(self, now: datetime) -> bool:
        """Return whether the page was to be forgotten before now."""
        return self.unavailable_after is not None and self.unavailable_after < now

    def decided_by(self, field: str) -> RobotTag | None:
        """Return the first tag that says what the field holds; None: none says just that."""
        said = (field, getattr(self, field))
        return next((tag for tag in self.sources if said in _effects(tag).items()), None)


NO_TAGS = RobotTags()


def robot_tags(
    headers: Iterable[tuple[str | bytes, str | bytes]],
    body: bytes,
    agent: str | bytes | Sequence[str],
) -> RobotTags:
    """Return what a page's robot tags say to a robot. Never raises on any headers and bytes.

    As much is read as any page has to say: :data:`HEADERS_LIMIT` characters of headers, the meta
    tags that ``head.py`` has limits for, :data:`DIRECTIVES_LIMIT` directives in all.

    Args:
        headers: name and value of each of the response's headers, or of the ``X-Robots-Tag`` and
            ``Robots-Tag`` ones.
        body: the HTML, decompressed; its first 256 KiB are enough. ``b""`` for what is no HTML.
        agent: a product token, a whole User-Agent header, or a sequence of tokens. The robot
            hears what is said to any of its names, and what is said to all.
    """
    # Every page of a crawl comes by here: what has no tags costs no further call.
    if not isinstance(agent, str):
        agent = header_text(agent) if isinstance(agent, bytes) else tuple(agent)
    names = _names(agent)
    values = tuple(_header_values(headers)) if headers else ()
    metas = meta_tags(body, names)
    return _read_tags(values, metas, names) if values or metas else NO_TAGS


def tags_for(
    headers: Iterable[tuple[str | bytes, str | bytes]],
    metas: tuple[Meta, ...],
    names: frozenset[str],
) -> RobotTags:
    """Return what headers, and meta tags that have one of the names, say to a robot."""
    values = tuple(_header_values(headers))
    return _read_tags(values, metas, names) if values or metas else NO_TAGS


def _read_tags(
    values: tuple[_Header, ...], metas: tuple[Meta, ...], names: frozenset[str]
) -> RobotTags:
    length = sum(len(value) for _, value in values) + sum(len(meta.content) for meta in metas)
    said = _cached_tags if length <= _SHORT else _tags_in
    return said(values, metas, names)


_Header = tuple[str, str]  # where, as a tag has it, and the value
_HEADERS = {"x-robots-tag": "header", "robots-tag": "robots-tag"}


def _header_values(headers: Iterable[tuple[str | bytes, str | bytes]]) -> Iterator[_Header]:
    left = HEADERS_LIMIT
    for name, value in headers:
        where = _HEADERS.get(header_text(name).strip().lower()) if left > 0 else None
        if where is not None:
            text = header_text(value)
            most = min(CONTENT_LIMIT if where == "header" else LIST_LIMIT, left)
            if len(text) > most:  # of a list the whole members count
                text = text[:most] if where == "header" else text[:most].rpartition(",")[0]
            left -= max(len(text), 1)
            yield where, text


_GENERAL = "robots"
_OTHER_METADATA = frozenset(
    """
    application-name author color-scheme copyright date description generator keywords language
    rating referrer revisit-after subject theme-color title twitter viewport
    """.split()  # noqa: SIM905 -- words to be read
)
"""Names of meta tags that are no robot's, though a User-Agent header may have such a word."""


@lru_cache(maxsize=1024)
def _names(agent: str | tuple[str, ...]) -> frozenset[str]:
    return frozenset(names_in_order(agent)) - _OTHER_METADATA | {_GENERAL}


def names_of_robot(agent: str | bytes | Sequence[str]) -> frozenset[str]:
    """Return the names by which meta tags speak to a robot, in lower case, ``robots`` among them.

    It is a product token, a whole User-Agent header, or a sequence of tokens.
    """
    if not isinstance(agent, str):
        agent = header_text(agent) if isinstance(agent, bytes) else tuple(agent)
    return _names(agent)


def _tags_in(
    values: tuple[_Header, ...], metas: tuple[Meta, ...], names: frozenset[str]
) -> RobotTags:
    in_headers = chain.from_iterable(map(_in_header, values))
    in_metas = chain.from_iterable(map(_in_meta, metas))
    said = islice(chain(in_headers, in_metas), DIRECTIVES_LIMIT)
    tags = tuple(tag for tag in said if tag.agent is None or tag.agent in names)
    return _strictest(tags) if tags else NO_TAGS


_SHORT = 256  # characters of all that is said; most pages say less
# The pages of a site say the same again and again. A page chooses what it says: 256 of these take
# at most 8 MiB.
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
"""The stricter of two values, for the fields with values; of the others True is."""


def _strictest(tags: tuple[RobotTag, ...]) -> RobotTags:
    said: dict[str, Any] = {}
    for tag in tags:
        for field, value in _effects(tag).items():
            stricter = _STRICTER.get(field)
            said[field] = stricter(said[field], value) if stricter and field in said else value
    if said.get("nosnippet"):  # "Do not show a text snippet or video preview" (Google, nosnippet)
        said["max_snippet"] = said["max_video_preview"] = 0
    elif said.get("max_snippet") == 0:  # "Equivalent to nosnippet" (Google, max-snippet)
        said["nosnippet"] = True
    unknown = tuple(tag.text for tag in tags if effects_of(tag.text) is None)
    return RobotTags(**said, unknown=unknown, sources=tags)
