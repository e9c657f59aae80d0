"""The credentials that a request carries, and a fetcher of robots.txt for each.

A site may show its robots.txt, or another one, only to those who log in. A file that
was fetched with credentials says nothing to those without, nor may they learn it. So
each of several credentials has a fetcher of its own, whose files stay in the memory of
the run: no store gets them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Generic, TypeVar

from scrapy.utils.url import url_is_from_any_domain
from w3lib.http import basic_auth_header

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

Fetcher = TypeVar("Fetcher")

AUTHORIZATION = b"Authorization"
META_KEYS = frozenset({"http_user", "http_pass", "http_auth_domain"})
"""Meta keys from which HttpAuthMiddleware makes the header."""
MOST_CREDENTIALS = 20
"""Credentials whose files are remembered; of more, those that were used last."""


class Credentials:
    """Returns the value of the header ``Authorization`` with which a request leaves.

    As Scrapy's HttpAuthMiddleware, before and after it processes a request.
    """

    def __init__(self, crawler: Crawler) -> None:
        settings = crawler.settings
        self._domain = settings.get("HTTPAUTH_DOMAIN")
        user = settings.get("HTTPAUTH_USER") or ""
        password = settings.get("HTTPAUTH_PASS") or ""
        spider = crawler.spider or crawler.spidercls
        of_spider = [getattr(spider, key, "") for key in ("http_user", "http_pass")]
        if any(isinstance(one, (str, bytes)) and one for one in of_spider):
            user, password = of_spider
            self._domain = getattr(spider, "http_auth_domain", None)
        self._default = b""
        if user or password:
            self._default = basic_auth_header(user, password)
        self.has_default = bool(self._default)
        """Whether requests have credentials that neither header nor meta names."""

    def of(self, request: Request) -> bytes:
        """Return the credentials of a request; empty: it has none."""
        headers = dict.get(request.headers, AUTHORIZATION)
        if headers:
            return bytes(headers[-1] or b"")
        if not META_KEYS.isdisjoint(request.meta):
            meta = request.meta
            user = meta.get("http_user", "")
            password = meta.get("http_pass", "")
            if user or password:
                domain = meta.get("http_auth_domain")
                value = basic_auth_header(user, password)
                return value if _is_of(request, domain) else b""
        if self._default and _is_of(request, self._domain):
            return self._default
        return b""


def _is_of(request: Request, domain: str | None) -> bool:
    return not domain or url_is_from_any_domain(request.url, [domain])


class Fetchers(Generic[Fetcher]):
    """A fetcher for requests without credentials, and one for each credentials."""

    def __init__(
        self,
        credentials: Credentials,
        plain: Fetcher,
        build: Callable[[], Fetcher],
    ) -> None:
        self._credentials = credentials
        self._plain = plain
        self._build = build
        self._private: OrderedDict[bytes, Fetcher] = OrderedDict()

    def __iter__(self) -> Iterator[Fetcher]:
        yield self._plain
        yield from self._private.values()

    def of(self, request: Request) -> Fetcher:
        """Return the fetcher of the rules that apply to a request."""
        credentials = self._credentials.of(request)
        if not credentials:
            return self._plain
        found = self._private.get(credentials)
        if found is None:
            found = self._build()
            self._private[credentials] = found
            if len(self._private) > MOST_CREDENTIALS:
                self._private.popitem(last=False)
        else:
            self._private.move_to_end(credentials)
        return found
