"""What a spider wants of sitemaps, in the names that Scrapy's SitemapSpider has for it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from scrapy import Request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from scrapy import Spider

    from scrapy_mandelbot.sitemaps import SitemapEntry


def entry_data(entry: SitemapEntry, sitemap: str) -> dict[str, Any]:
    """Return an entry as ``sitemap_filter`` and ``meta["sitemap_entry"]`` have it.

    What SitemapSpider's entries have is as there: ``loc``, ``lastmod`` (as written),
    ``changefreq``, ``priority``, ``alternate`` (a list of URLs). Beside that ``modified``
    (``lastmod`` in the form of ISO 8601, with a time zone), ``hreflang`` (URLs by language),
    ``extensions`` and ``sitemap`` (its URL). What the sitemap does not say is not there.
    """
    data: dict[str, Any] = {
        "loc": entry.loc,
        "lastmod": entry.lastmod_text,
        "modified": entry.lastmod and entry.lastmod.isoformat(),
        "changefreq": entry.changefreq,
        "priority": entry.priority,
        "alternate": [url for _, url in entry.alternates],
        "hreflang": {language: url for language, url in entry.alternates if language},
        "extensions": entry.extensions,
        "sitemap": sitemap,
    }
    return {name: value for name, value in data.items() if value not in (None, "", [], {})}


class Selection:
    """Which entries a spider wants, and where their responses go.

    ``sitemap_rules``, ``sitemap_follow``, ``sitemap_filter`` and ``sitemap_alternate_links`` mean
    what they mean for SitemapSpider; of a spider without them, all goes to ``parse``.

    Raises:
        AttributeError: a callback of ``sitemap_rules`` is no method of the spider.
        re.error: a pattern is no regular expression.
    """

    def __init__(self, spider: Spider) -> None:
        rules = getattr(spider, "sitemap_rules", [("", "parse")])
        self._rules = [(re.compile(pattern), _method(spider, name)) for pattern, name in rules]
        self._follow = [re.compile(pattern) for pattern in getattr(spider, "sitemap_follow", [""])]
        self._filter = getattr(spider, "sitemap_filter", None)
        self._takes_alternates = getattr(spider, "sitemap_alternate_links", False)

    @property
    def has_filter(self) -> bool:
        """Whether the spider has a ``sitemap_filter``."""
        return self._filter is not None

    def chosen(self, entries: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Return the entries that the spider's ``sitemap_filter`` lets through."""
        return iter(entries if self._filter is None else self._filter(entries) or ())

    def follows(self, sitemap: str) -> bool:
        """Return whether the spider wants a sitemap that an index lists."""
        return any(pattern.search(sitemap) for pattern in self._follow)

    def pages(self, entry: dict[str, Any]) -> Iterator[tuple[str, Callable[..., Any]]]:
        """Return the URLs of an entry that are wanted, and where their responses go."""
        urls = [entry["loc"], *(entry.get("alternate", ()) if self._takes_alternates else ())]
        for url in urls:
            for pattern, callback in self._rules:
                if pattern.search(url):
                    yield url, callback
                    break

    def requests(self, entry: dict[str, Any]) -> Iterator[Request]:
        """Return the requests for the pages of an entry."""
        for url, callback in self.pages(entry):
            yield Request(url, callback=callback, meta={"sitemap_entry": entry})


def _method(spider: Spider, callback: Any) -> Callable[..., Any]:
    return getattr(spider, callback) if isinstance(callback, str) else callback  # type: ignore[no-any-return]
