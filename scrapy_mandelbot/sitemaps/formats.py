"""The formats of sitemaps: how each is told, and where its entries keep what. A table.

Sources: sitemaps.org, "XML tag definitions", "Sitemap index" and "Other Sitemap formats"; RSS 2.0
specification, "Elements of <item>"; RFC 4287 (Atom), sections 4.1.2 and 4.2.7.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from scrapy_mandelbot.sitemaps.elements import attributes_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_mandelbot.sitemaps.elements import Element


class Format(NamedTuple):
    """One format in XML."""

    kind: str
    roots: tuple[str, ...]
    """The elements around the entries."""
    entries: tuple[str, ...]
    """The elements that are entries: the first, and one that is mistaken for it."""
    link: Callable[[Element], str]
    """Finds the entry's URL, as written; empty: there is none."""
    dates: tuple[str, ...]
    """The elements that say when the page was changed, the best first."""
    plain: tuple[str, ...]
    """All the fields that most entries have, in their order; empty: entries differ."""

    @property
    def is_feed(self) -> bool:
        """Whether it was made for readers: what else is in it is theirs, and no sitemap's."""
        return not self.plain


def _loc(entry: Element) -> str:
    """Return <loc>: one with the entry's own prefix rather than one of an image astray."""
    found = [child for child in entry.children if child.name == "loc" and child.text.strip()]
    own = [child for child in found if child.prefix == entry.prefix]
    return next((child.text for child in (*own, *found)), "")


def _rss_link(item: Element) -> str:
    """Return <link>; else a <guid> that is a permalink; else the link of another namespace."""
    for child in item.children:
        if child.name == "link" and child.prefix == item.prefix and child.text.strip():
            return child.text
    for child in item.children:
        if child.name == "guid" and attributes_of(child).get("ispermalink", "true") == "true":
            return child.text
    return _atom_link(item)


def _atom_link(entry: Element) -> str:
    """Return the href of the link that is the entry itself: "alternate", or no relation."""
    for child in entry.children:
        if child.name == "link":
            attributes = attributes_of(child)
            if attributes.get("rel", "alternate") == "alternate" and "href" in attributes:
                return attributes["href"].replace("&", "&amp;")  # it is escaped again as text is
    return ""


_PLAIN = ("loc", "lastmod", "changefreq", "priority")
_UPDATED = ("updated", "modified", "published")
FORMATS = (
    Format("urlset", ("urlset",), ("url", "sitemap"), _loc, ("lastmod",), _PLAIN),
    Format("index", ("sitemapindex",), ("sitemap", "url"), _loc, ("lastmod",), _PLAIN),
    Format("rss", ("rss", "rdf", "channel"), ("item",), _rss_link, ("pubdate", "date"), ()),
    Format("atom", ("feed",), ("entry",), _atom_link, _UPDATED, ()),
)
_HTML = frozenset({"html", "head", "body"})

_BY_ROOT = {root: form for form in FORMATS for root in form.roots}
_BY_ENTRY = {form.entries[0]: form for form in FORMATS}
_TAG = re.compile(r"<(?:[\w.-]+:)?([A-Za-z]\w*)(?=[\s/>])")
_URL_LINE = re.compile(r"^[ \t\ufeff]*https?://\S", re.IGNORECASE | re.MULTILINE)


class Told(NamedTuple):
    """What the beginning of a file tells."""

    form: Format | None
    """The format, where it is XML."""
    is_text: bool
    """Whether it is a list of URLs."""
    problem: str = ""
    """A code of `problems.MESSAGES`, or empty."""
    detail: str = ""
    """For the problem's message."""


def tell_format(text: str, document_type: str) -> Told | None:
    """Return what the beginning of a file, simplified, tells; None: nothing yet.

    The first tag that means something decides, wherever it is: in front of a root there may be
    blank lines, or what a script had to complain about.
    """
    if document_type == "html":
        return Told(None, is_text=False, problem="html", detail="!DOCTYPE html")
    for tag in _TAG.finditer(text):
        name = tag[1].lower()
        if name in _HTML:
            return Told(None, is_text=False, problem="html", detail=name)
        if name in _BY_ROOT:
            is_late = bool(text[: tag.start()].strip())
            return Told(_BY_ROOT[name], is_text=False, problem="late-start" if is_late else "")
        if name in _BY_ENTRY:
            return Told(_BY_ENTRY[name], is_text=False, problem="no-root")
    if _URL_LINE.search(text):
        return Told(None, is_text=True)
    return None
