"""An entry of a sitemap, as handed out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datetime import datetime


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
