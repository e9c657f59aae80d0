"""Which requests of ``start()`` a resumed run sends again.

Scrapy's default ``start()`` yields ``start_urls`` with ``dont_filter`` in each run. A
job skips those that an earlier run has sent. Where a spider's own ``start()`` sets
``dont_filter``, it does so on purpose: for a login, a token, a front page with news.
Such a request is sent in each run, as without a job.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mandelbot.formatting import without_credentials
from scrapy import Spider
from w3lib.url import safe_url_string

if TYPE_CHECKING:
    from scrapy import Request

_NAMED = 3  # requests in the log line
_MOST_NEW = 100_000  # fingerprints of start() that are remembered
_LISTS = list, tuple, set, frozenset


class ScrapysStart:
    """Recognizes what Scrapy's default ``start()`` yields for a spider."""

    def __init__(self, spider: Spider | None) -> None:
        self._spider = spider
        self._is_default = _has_scrapys_start(spider)
        self._urls: frozenset[str] | None = None
        self._are_escaped = False

    def yields(self, request: Request) -> bool:
        """Return whether a request is one of ``start_urls``, as Scrapy yields it."""
        if not self._is_default or request.method != "GET":
            return False
        return request.callback is None and self._has(request.url)

    def _has(self, url: str) -> bool:
        start_urls = getattr(self._spider, "start_urls", ())
        if not isinstance(start_urls, _LISTS):
            return True  # to look into an iterator would use it up
        if self._urls is None:
            self._urls = frozenset(start_urls)
        if url not in self._urls and not self._are_escaped:
            self._are_escaped = True
            self._urls |= {safe_url_string(one) for one in start_urls}
        return url in self._urls


def _has_scrapys_start(spider: Spider | None) -> bool:
    if "start" in vars(spider):
        return False
    kind: Any = type(spider)
    names = [name for name in ("start", "start_requests") if hasattr(Spider, name)]
    return all(getattr(kind, name) is getattr(Spider, name) for name in names)


class SkippedStarts:
    """Counts the requests of ``start()`` that a run skips, and names the first few."""

    def __init__(self) -> None:
        self.count = 0
        self._named: list[str] = []
        self._new: set[int] = set()  # fingerprints that this run's start() gave first

    def add(self, request: Request) -> None:
        self.count += 1
        if len(self._named) < _NAMED:
            self._named.append(without_credentials(f"{request.method} {request.url}"))

    def filters(self, fingerprint: int, *, is_seen: bool) -> bool:
        """Return whether an earlier run has sent a request that is to be filtered."""
        if fingerprint in self._new:
            return False  # a duplicate of this run
        if not is_seen and len(self._new) < _MOST_NEW:
            self._new.add(fingerprint)
        return is_seen and len(self._new) < _MOST_NEW

    def __str__(self) -> str:
        more = self.count - len(self._named)
        named = ", ".join(self._named)
        if not more:
            return named
        return f"{named} and {more} more"
