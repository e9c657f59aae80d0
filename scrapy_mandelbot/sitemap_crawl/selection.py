"""Selects the entries of a sitemap that a spider wants, in slices of the loop."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from mandelbot import SitemapReader
from scrapy import Request

from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.fetching.download_limits import CITED
from scrapy_mandelbot.throttle.site_map import site_of_request

if TYPE_CHECKING:
    from mandelbot import SitemapEntry
    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_mandelbot.settings.config import Config
    from scrapy_mandelbot.sitemap_crawl.entry_files import EntryFile


def entry_data(entry: SitemapEntry, sitemap: str) -> dict[str, Any]:
    """Return an entry as the dict of ``sitemap_filter`` and ``meta["sitemap_entry"]``.

    The keys of SitemapSpider's entries: ``loc``, ``lastmod`` (as written),
    ``changefreq``, ``priority``, ``alternate`` (a list of URLs). In addition
    ``modified`` (``lastmod`` in ISO 8601 with a time zone), ``hreflang`` (URLs by
    language), ``extensions`` and ``sitemap`` (its URL). Keys that the sitemap gives no
    value for are absent.
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
    return {
        name: value for name, value in data.items() if value not in (None, "", [], {})
    }


@dataclass
class SitePages:
    """The entries of a sitemap that list pages of one site."""

    entries: list[dict[str, Any]] = field(default_factory=list)
    """They may list pages of other sites, too."""
    pages: int = 0


class SitemapSelection:
    """Selects the entries that a spider wants, and their callbacks.

    ``sitemap_rules``, ``sitemap_follow``, ``sitemap_filter`` and
    ``sitemap_alternate_links`` work as in SitemapSpider; without them, all pages go to
    ``parse``.

    Raises:
        AttributeError: a callback of ``sitemap_rules`` is not a method of the spider.
        re.error: a pattern is not a regular expression.
    """

    def __init__(self, spider: Spider, since: float | None = None) -> None:
        self.since = since
        """Entries that were modified before are left out."""
        rules = getattr(spider, "sitemap_rules", [("", "parse")])
        self._rules = [
            (re.compile(pattern), _method(spider, name)) for pattern, name in rules
        ]
        self._follow = [
            re.compile(pattern) for pattern in getattr(spider, "sitemap_follow", [""])
        ]
        self.filter = getattr(spider, "sitemap_filter", None)
        self._takes_alternates = getattr(spider, "sitemap_alternate_links", False)

    def reading(self, crawl: Crawl, response: Response) -> SitemapReading:
        """Read the response to a request for a sitemap; its body may be elsewhere."""
        body = crawl.sitemap_bodies.get(response, response.body)
        return SitemapReading(response.url, body, crawl.config, self)

    def chosen(self, entries: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        if self.filter is None:
            return iter(entries)
        return iter(self.filter(entries) or ())

    def follows(self, sitemap: str) -> bool:
        return any(pattern.search(sitemap) for pattern in self._follow)

    def pages(self, entry: dict[str, Any]) -> Iterator[tuple[str, Callable[..., Any]]]:
        """Return the wanted URLs of an entry with their callbacks."""
        urls = [entry["loc"]]
        if self._takes_alternates:
            urls += entry.get("alternate", ())
        for url in urls:
            for pattern, callback in self._rules:
                if pattern.search(url):
                    yield url, callback
                    break

    def requests(self, entry: dict[str, Any]) -> Iterator[Request]:
        for url, callback in self.pages(entry):
            yield Request(url, callback=callback, meta={"sitemap_entry": entry})

    def pages_by_site(
        self, entries: Iterable[dict[str, Any]], own: str
    ) -> dict[str, SitePages]:
        """Return the wanted entries by the sites of their pages.

        The site whose robots.txt cites the sitemap, `own`, is always a key.
        """
        by_site = {own: SitePages()}
        sites = {own: own}
        for entry in entries:
            pages: Counter[str] = Counter()
            for url, _ in self.pages(entry):
                # ten times as fast as a Request
                origin = "/".join(url.split("/", 3)[:3])
                if origin not in sites:
                    sites[origin] = site_of_request(Request(url))
                pages[sites[origin]] += 1
            for site, count in pages.items():
                listed = by_site.setdefault(site, SitePages())
                listed.entries.append(entry)
                listed.pages += count
        return by_site


def _method(spider: Spider, callback: Any) -> Callable[..., Any]:
    if isinstance(callback, str):
        return getattr(spider, callback)  # type: ignore[no-any-return]
    return callback  # type: ignore[no-any-return]


_FILTERED = 50  # entries at a time


#: The web began then: an earlier date is what a program writes that knows none, as
#: 0001-01-01 (Go, .NET) and 1970-01-01 (the epoch of Unix).
_FIRST_YEAR = 1990


class SitemapReading:
    """Reads one sitemap, and leaves out what the spider does not want."""

    def __init__(
        self, url: str, body: bytes, config: Config, selection: SitemapSelection
    ) -> None:
        self.url = url
        self._body = body
        self._selection = selection
        self.reader = SitemapReader(
            url,
            max_bytes=config.sitemap_max_bytes,
            max_entries=config.sitemap_max_entries,
        )
        self.older = 0  # the number of entries left out

    def wanted(
        self, new_file: Callable[[], EntryFile]
    ) -> Iterator[list[dict[str, Any]]]:
        """Yield the wanted entries slice by slice. All exceptions are the spider's.

        A ``sitemap_filter`` may consume any number of entries before it yields one, so
        it reads them from a file once all are there.
        """
        if self._selection.filter is None:
            yield from self._turns()
            return
        everything = new_file()
        try:
            for some in self._turns():
                everything.write(some)
                yield []
            chosen = self._selection.chosen(everything.entries())
            while some := list(islice(chosen, _FILTERED)):
                yield some
        finally:
            everything.remove()

    def _turns(self) -> Iterator[list[dict[str, Any]]]:
        """Yield the new entries of each step, often none; a step takes about 1 ms."""
        self.reader.feed(self._body)
        self.reader.close()
        while (entries := self.reader.step()) is not None:
            new = filter(self._take_if_new, entries)
            yield [entry_data(entry, self.url) for entry in new]

    def _take_if_new(self, entry: SitemapEntry) -> bool:
        """Return whether an entry is new enough, and count one that is not."""
        modified = entry.lastmod
        since = self._selection.since
        if since is None or modified is None or modified.year < _FIRST_YEAR:
            return True
        if modified.timestamp() >= since:
            return True
        self.older += 1
        return False


# The engine hands out no request of any site while callbacks hold responses of more
# than SCRAPER_SLOT_MAX_ACTIVE_SIZE bytes, and a sitemap takes seconds to read. The
# scraper therefore counts an empty response, whose callback still runs until the whole
# sitemap is read.
MOST_BYTES = 128 * 2**20  # held, over all sites


class SitemapBodies:
    """The middleware next to the engine, which empties responses of sitemaps."""

    def __init__(self, crawler: Crawler) -> None:
        self._bodies = Crawl.of(crawler).sitemap_bodies

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> SitemapBodies:
        """Build the middleware."""
        return cls(crawler)

    def process_response(self, request: Request, response: Response) -> Response:
        """Return an empty response; above the bound, the response itself."""
        if CITED not in request.meta:
            return response
        if sum(map(len, self._bodies.values())) + len(response.body) > MOST_BYTES:
            return response
        # Its replace() would decode the whole body, to detect the encoding.
        kept = {*response.attributes} - {"body", "encoding"}
        empty = type(response)(**{name: getattr(response, name) for name in kept})
        self._bodies[empty] = response.body
        return empty
