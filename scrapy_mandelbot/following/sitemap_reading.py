"""From the response to a sitemap's request to its entries, a turn at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.following.selection import entry_data
from scrapy_mandelbot.sitemaps import SitemapReader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response

    from scrapy_mandelbot.config import Config
    from scrapy_mandelbot.sitemaps import SitemapEntry

_PIECE = 65_536  # bytes


class SitemapReading:
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

    def turns(self) -> Iterator[list[dict[str, Any]]]:
        """Read on; yield what each turn finds that is new enough, which often is nothing.

        A turn takes some milliseconds, whatever the sitemap holds.
        """
        for start in range(0, len(self._body), _PIECE):
            self.reader.feed(self._body[start : start + _PIECE])
            yield from self._steps()
            if self.reader.stopped:
                return
        self.reader.close()
        yield from self._steps()

    def _steps(self) -> Iterator[list[dict[str, Any]]]:
        while (entries := self.reader.step()) is not None:
            yield [entry_data(entry, self.url) for entry in entries if self._is_new_enough(entry)]

    def _is_new_enough(self, entry: SitemapEntry) -> bool:
        modified = entry.lastmod
        if self._since is None or not modified or modified.timestamp() >= self._since:
            return True
        self.older += 1
        return False
