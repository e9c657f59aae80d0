"""From the response to a sitemap's request to its entries, a slice at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.following.wishes import entry_data
from scrapy_mandelbot.sitemaps import SitemapReader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response

    from scrapy_mandelbot.config import Config
    from scrapy_mandelbot.following.wishes import Wishes
    from scrapy_mandelbot.sitemaps import SitemapEntry

_PIECE = 65_536  # bytes


class Reading:
    """One sitemap, while it is read.

    Args:
        response: the sitemap.
        config: the limits.
        since: entries that were last modified before are left out; seconds since the epoch.
    """

    def __init__(self, response: Response, config: Config, since: float | None) -> None:
        self.url = response.url
        self._body = response.body
        self._since = since
        self.reader = SitemapReader(
            response.url,
            max_bytes=config.sitemap_max_bytes,
            max_entries=config.sitemap_max_entries,
        )
        self.older = 0
        """How many entries were left out as they were modified before."""

    @property
    def is_index(self) -> bool:
        """Whether its entries are sitemaps themselves. Known from the first entry on."""
        return self.reader.kind == "index"

    def chosen(self, wishes: Wishes) -> Iterator[dict[str, Any]]:
        """Iterate over the entries that are wanted; all exceptions are the spider's."""
        return wishes.chosen(self._new_enough())

    def _new_enough(self) -> Iterator[dict[str, Any]]:
        for entry in self._entries():
            modified = entry.lastmod
            if self._since is not None and modified and modified.timestamp() < self._since:
                self.older += 1
            else:
                yield entry_data(entry, self.url)

    def _entries(self) -> Iterator[SitemapEntry]:
        for start in range(0, len(self._body), _PIECE):
            yield from self.reader.feed(self._body[start : start + _PIECE])
            if self.reader.stopped:
                return
        yield from self.reader.close()
