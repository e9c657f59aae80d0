"""From the text of an entry to the entry, and what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_mandelbot.robots.dates import IN_SITEMAPS, read_date
from scrapy_mandelbot.robots.sitemaps.formats import (
    add_to,
    attributes_of,
    has_bare_ampersand,
    has_unknown_entity,
    plain_data,
    read_elements,
    unescape,
)
from scrapy_mandelbot.robots.sitemaps.urls import LONGEST_URL, absolute_url, is_relative

if TYPE_CHECKING:
    from scrapy_mandelbot.robots.sitemaps.formats import Element, Format
    from scrapy_mandelbot.robots.sitemaps.problems import Problems


@dataclass(frozen=True, slots=True)
class SitemapEntry:
    """One URL that a sitemap lists: a page, or in an index another sitemap.

    Source: sitemaps.org, "XML tag definitions" and "Sitemap index"; Google Search Central on
    image, video and news sitemaps and on localised versions.
    """

    loc: str
    """An absolute http or https URL, escaped as Scrapy escapes the URL of a request."""
    lastmod: datetime | None = None
    """With a time zone: UTC where the sitemap names none. None: there is none that can be read."""
    lastmod_text: str = ""
    """The date as written."""
    changefreq: str | None = None
    """``always``, ``hourly``, ``daily``, ``weekly``, ``monthly``, ``yearly``, ``never``."""
    priority: float | None = None
    """From 0.0 to 1.0, or None."""
    alternates: tuple[tuple[str, str], ...] = ()
    """Other versions of the page: (hreflang, URL); hreflang is empty where the link has none."""
    extensions: dict[str, Any] = field(default_factory=dict, hash=False)
    """Every other element of the entry, by its name without prefix.

    ``image``, ``video`` and ``news`` are lists of dicts. Within them, and for other elements: one
    without attributes and children is its text; one with either is a dict of its attributes, its
    children and, as ``text``, its text; one that stands there twice is a list. Strings, lists and
    dicts only.
    """


_FREQUENCIES = frozenset({"always", "hourly", "daily", "weekly", "monthly", "yearly", "never"})
_LONGEST_PRIORITY = 20  # characters
MOST_TAGS = 8_000  # of an entry
_MOST_ALTERNATES = 500  # of an entry; there are not as many languages and regions on the web
_LISTS = frozenset({"image", "video", "news"})  # extensions of which an entry may have several
_FIELDS = frozenset({"loc", "lastmod", "changefreq", "priority", "link"})


class EntryText(NamedTuple):
    """One entry."""

    text: str
    """From its tag to the tag that ends it; empty: it is too long."""
    plain: tuple[str, ...] | None
    """Where it holds nothing but the fields of `Format.plain`, in their order: what they hold. Most
    entries do, and need no further reading."""
    is_closed: bool
    """Whether its own closing tag followed."""
    is_cut: bool
    """Whether the file ends within it."""


_LONGEST_NAME = 64  # characters of a tag, as far as it has to be read to know what it is


class EntrySplitter:
    """Cuts simplified text, in pieces of any size, into entries."""

    __slots__ = (
        *("_boundary", "_entry", "_held", "_max_length", "_root_end", "_scanned"),
        "root_is_closed",
    )

    def __init__(self, form: Format, max_length: int) -> None:
        prefix = r"(?:[\w.-]{1,30}:)?"
        own, root = "|".join(form.entries), "|".join(form.roots)
        ends_entry = rf"</{prefix}(?:{own})(?=[\s/>])"
        self._entry = re.compile(
            _plain_pattern(own, form.plain) + rf"<{prefix}(?:{own})(?=[\s/>])"
            rf"[^<]*(?:<(?!/?{prefix}(?:{own}|{root})[\s/>])[^<]*)*(?P<closed>{ends_entry})?",
            re.IGNORECASE,
        )
        self._root_end = re.compile(
            rf"<(?:/{prefix}(?:{root})\b|{prefix}(?:{root})[^<>]*/>)", re.IGNORECASE
        )
        self._boundary = re.compile(rf"</?{prefix}(?:{own}|{root})[\s/>]", re.IGNORECASE)
        self._max_length = max_length
        self._held = ""
        self._scanned = 0  # what of an entry that goes on was looked through for its end
        self.root_is_closed = False

    def feed(self, text: str, *, final: bool) -> Iterator[EntryText]:
        """Yield the entries that are complete. The next piece is fed when all were taken."""
        text = self._held + text
        at = 0
        if self._scanned and not final and self._goes_on(text):
            return
        while (entry := self._entry.search(text, at)) is not None:
            is_last = entry.end() == len(text)
            if is_last and not final:
                break
            at = entry.end()
            if at - entry.start() > self._max_length:
                yield _TOO_LONG
            elif entry.lastgroup == "plain":
                yield EntryText(entry[0], entry.groups("")[1:-1], is_closed=True, is_cut=False)
            else:
                is_closed = entry["closed"] is not None
                yield EntryText(entry[0], None, is_closed, is_cut=is_last and not is_closed)
        self._scanned = 0
        if entry is not None and len(text) - entry.start() <= self._max_length:
            self._held = text[entry.start() :]
            self._scanned = len(self._held)
            return
        if entry is not None:
            yield _TOO_LONG
        elif self._root_end.search(text, at):
            self.root_is_closed = True
        start = text.rfind("<", max(at, len(text) - _LONGEST_NAME))
        self._held = text[start:] if start >= 0 else ""

    def _goes_on(self, text: str) -> bool:
        """Hold the entry that the text begins with, if it does not end there and is not too long.

        Only what came since is looked at: all of it again, block by block, would take long.
        """
        begun = max(1, self._scanned - _LONGEST_NAME)
        if len(text) > self._max_length or self._boundary.search(text, begun):
            return False
        self._held, self._scanned = text, len(text)
        return True


_TOO_LONG = EntryText("", None, is_closed=False, is_cut=False)


def _plain_pattern(entries: str, fields: tuple[str, ...]) -> str:
    """Return the pattern of an entry of these fields: the first is required, the others are not."""
    if not fields:
        return ""
    first, *others = (rf"<{field}>([^<]*)</{field}>\s*" for field in fields)
    optional = "".join(rf"(?:{field})?" for field in others)
    return rf"(?P<plain><(?:{entries})>\s*{first}{optional}</(?:{entries})(?=[\s/>]))|"


@dataclass(slots=True)
class EntryMaker:
    """Makes the entries of one sitemap, in order."""

    _base: str
    _form: Format
    _problems: Problems
    _max_length: int
    _entities: bool
    """Whether the file declares some of its own."""
    _number: int = 0

    def entry_of(self, piece: EntryText) -> SitemapEntry | None:
        """Return the entry; None: it names no URL that can be asked for."""
        self._number += 1
        text = piece.text
        if not text:
            self._note("entry-too-long", self._max_length)
            return None
        if piece.plain is not None:
            return self._entry(piece.plain)
        if text.rfind("<") == 0:  # it holds no element
            if not text.partition(">")[0].endswith("/"):
                self._note("cut-off" if piece.is_cut else "not-closed")
            if not piece.is_cut:
                self._note("no-loc")
            return None
        if text.count("<") > MOST_TAGS:
            self._note("many-tags", MOST_TAGS)
            return None
        if piece.is_cut:
            self._note("cut-off")
            element = read_elements(text[: text.rfind("<")])  # what no tag follows may be half
            return self._from_elements(element) if self._form.link(element) else None
        element = read_elements(text)
        if not piece.is_closed and not element.attributes.endswith("/"):
            self._note("not-closed")
        return self._from_elements(element)

    def _from_elements(self, element: Element) -> SitemapEntry | None:
        link = self._form.link(element)
        texts: dict[str, str] = {}
        for child in element.children:
            texts.setdefault(child.name, child.text)
        lastmod = next((texts[name] for name in self._form.dates if name in texts), "")
        if self._form.is_feed:
            return self._entry((link, lastmod, "", ""))
        alternates: list[tuple[str, str]] = []
        links = 0
        extensions: dict[str, Any] = {}
        for child in element.children:
            if child.name == "link":
                links += 1
                if links <= _MOST_ALTERNATES:
                    alternates += self._alternate(child)
            elif child.name not in _FIELDS:
                add_to(extensions, child.name, plain_data(child), is_list=child.name in _LISTS)
        if links > _MOST_ALTERNATES:
            self._note("many-alternates", _MOST_ALTERNATES)
        fields = (link, lastmod, texts.get("changefreq", ""), texts.get("priority", ""))
        return self._entry(fields, tuple(alternates), extensions)

    def _entry(
        self,
        fields: tuple[str, ...],
        alternates: tuple[tuple[str, str], ...] = (),
        extensions: dict[str, Any] | None = None,
    ) -> SitemapEntry | None:
        """Return the entry with these fields, as written and in the order of `Format.plain`."""
        link, lastmod, changefreq, priority = fields
        loc = self._loc(link)
        if loc is None:
            return None
        written = self._value(lastmod)
        return SitemapEntry(
            loc,
            self._lastmod(written),
            written,
            self._changefreq(changefreq) if changefreq else None,
            self._priority(priority) if priority else None,
            alternates,
            {} if extensions is None else extensions,
        )

    def _loc(self, text: str) -> str | None:
        value = self._value(text)
        if not value:
            self._note("no-loc")
            return None
        loc = absolute_url(value, self._base)
        if loc is None:
            self._note("bad-loc")
        elif len(loc) >= LONGEST_URL:
            self._note("long-loc")
        elif loc != value and is_relative(value):
            self._note("relative-loc")
        return loc

    def _lastmod(self, written: str) -> datetime | None:
        date = read_date(written, IN_SITEMAPS) if written else None
        if written and date is None:
            self._note("bad-lastmod", written)
        return date

    def _changefreq(self, text: str) -> str | None:
        value = self._value(text)
        if value and value.lower() not in _FREQUENCIES:
            self._note("bad-changefreq", value)
            return None
        return value.lower() or None

    def _priority(self, text: str) -> float | None:
        value = self._value(text)
        if not value:
            return None
        try:
            priority = float(value) if len(value) <= _LONGEST_PRIORITY else -1.0
        except ValueError:
            priority = -1.0
        if not 0.0 <= priority <= 1.0:
            self._note("bad-priority", value)
            return None
        return priority

    def _alternate(self, link: Element) -> list[tuple[str, str]]:
        attributes = attributes_of(link)
        if attributes.get("rel", "alternate") != "alternate" or "href" not in attributes:
            return []
        url = absolute_url(attributes["href"], self._base)
        if url is None:
            self._note("bad-alternate")
            return []
        return [(attributes.get("hreflang", ""), url)]

    def _value(self, text: str) -> str:
        if "&" in text:
            if self._entities and has_unknown_entity(text):
                self._note("entity")
                return ""
            if has_bare_ampersand(text):
                self._note("ampersand")
            text = unescape(text)
        return text.strip()

    def _note(self, code: str, detail: str | int = "") -> None:
        where = "" if code in self._problems else f"entry {self._number}"
        self._problems.note(code, where, detail)
