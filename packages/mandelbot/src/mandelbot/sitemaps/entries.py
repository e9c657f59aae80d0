"""Parses the entries of a sitemap, and notes their problems."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from mandelbot.dates import IN_SITEMAPS, read_date
from mandelbot.sitemaps.formats import (
    add_to,
    attributes_of,
    has_bare_ampersand,
    has_unknown_entity,
    plain_data,
    read_elements,
    unescape,
)
from mandelbot.sitemaps.urls import LONGEST_URL, absolute_url, is_relative

if TYPE_CHECKING:
    from mandelbot.sitemaps.formats import Element, Format
    from mandelbot.sitemaps.problems import Problems
    from mandelbot.sitemaps.splitting import EntryText


@dataclass(frozen=True, slots=True)
class SitemapEntry:
    r"""One URL that a sitemap lists: a page, or in an index another sitemap.

    Source: sitemaps.org, "XML tag definitions" and "Sitemap index"; Google Search
    Central on image, video and news sitemaps and on localised versions.

    >>> from mandelbot import SitemapReader
    >>> reader = SitemapReader("https://example.com/sitemap.txt")
    >>> (entry,) = [*reader.feed(b"https://example.com/a\n"), *reader.close()]
    >>> entry.loc
    'https://example.com/a'
    """

    loc: str
    """An absolute http or https URL, escaped as Scrapy escapes the URL of a request."""
    lastmod: datetime | None = None
    """With a time zone: UTC if the sitemap names none. None if it is missing or
    unreadable.
    """
    lastmod_text: str = ""
    """The date as written."""
    changefreq: str | None = None
    """``always``, ``hourly``, ``daily``, ``weekly``, ``monthly``, ``yearly``,
    ``never``.
    """
    priority: float | None = None
    """From 0.0 to 1.0, or None."""
    alternates: tuple[tuple[str, str], ...] = ()
    """Other versions of the page as (hreflang, URL); hreflang is empty if the link has
    none.
    """
    extensions: dict[str, Any] = field(default_factory=dict, hash=False)
    """Every other element of the entry, by its name without prefix.

    ``image``, ``video`` and ``news`` are lists of dicts. An element without attributes
    and children is its text; otherwise it is a dict of its attributes, its children
    and, as ``text``, its text. A repeated element is a list. There are only strings,
    lists and dicts.
    """


_FREQUENCIES = frozenset(
    {"always", "hourly", "daily", "weekly", "monthly", "yearly", "never"}
)
_LONGEST_PRIORITY = 20  # characters
MOST_TAGS = 8_000  # of an entry
#: Pages of apps, as Google documents them ("App Indexing"): no URL to fetch.
_OF_APPS = ("android-app:", "ios-app:")
_MOST_ALTERNATES = 500  # of an entry; more than the languages and regions on the web
_LISTS = frozenset({"image", "video", "news"})  # extensions that an entry may repeat
_FIELDS = frozenset({"loc", "lastmod", "changefreq", "priority", "link"})


@dataclass(slots=True)
class EntryMaker:
    """Parses the entries of one sitemap, in order."""

    _base: str
    _form: Format
    _problems: Problems
    _max_length: int
    _entities: bool
    """Whether the file declares entities."""
    _number: int = 0
    others: list[SitemapEntry | None] = field(default_factory=list)
    """What the last entry listed beside its first URL, until the caller takes it."""

    def entry_of(self, piece: EntryText) -> SitemapEntry | None:
        """Return the entry, or None if it has no URL that can be requested."""
        self._number += 1
        text = piece.text
        if not text:
            self._note("entry-too-long", self._max_length)
            return None
        if piece.plain is not None:
            return self._entry(piece.plain)
        if text.count("<") > MOST_TAGS:
            self._note("many-tags", MOST_TAGS)
            return None
        if piece.is_cut:
            self._note("cut-off")
            # it may be cut
            element = read_elements(text[: text.rfind("<")], _MOST_ALTERNATES)
            if self._form.link(element):
                return self._from_elements(element)
            return None
        element = read_elements(text, _MOST_ALTERNATES)
        if not piece.is_closed and not element.attributes.endswith("/"):
            self._note("not-closed")
        if element.text and element.text is self._form.link(element):
            self._note("bare-loc")
        return self._from_elements(element)

    def _from_elements(self, element: Element) -> SitemapEntry | None:
        link = self._form.link(element)
        texts: dict[str, str] = {}
        for child in element.children:
            texts.setdefault(child.name, child.text)
        lastmod = next((texts[name] for name in self._form.dates if name in texts), "")
        # other elements of feeds are no extensions of sitemaps
        if not self._form.plain:
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
                add_to(
                    extensions,
                    child.name,
                    plain_data(child),
                    is_list=child.name in _LISTS,
                )
        if links > _MOST_ALTERNATES:
            self._note("many-alternates", _MOST_ALTERNATES)
        fields = (link, lastmod, texts.get("changefreq", ""), texts.get("priority", ""))
        own = [
            child.text
            for child in element.children
            if child[:2] == (element.prefix, "loc")
        ]
        for other in own[1:]:
            if other.strip() not in {"", link.strip()}:
                self._note("several-locs")
                others = (other, *fields[1:])
                self.others.append(self._entry(others, tuple(alternates), extensions))
        return self._entry(fields, tuple(alternates), extensions)

    def _entry(
        self,
        fields: tuple[str, ...],
        alternates: tuple[tuple[str, str], ...] = (),
        extensions: dict[str, Any] | None = None,
    ) -> SitemapEntry | None:
        """The fields are as written, in the order of `Format.plain`."""
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
        loc = absolute_url(self._base, value)
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
        if (
            attributes.get("rel", "alternate") != "alternate"
            or "href" not in attributes
        ):
            return []
        href = attributes["href"]
        if href.lstrip().lower().startswith(_OF_APPS):
            return []
        url = absolute_url(self._base, href)
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
