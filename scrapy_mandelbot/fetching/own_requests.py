"""What the requests of our own have in common, of the crawl and of the command alike."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy.http import Request
from scrapy.http.request import NO_CALLBACK

from scrapy_mandelbot.robots.formatting import shown
from scrapy_mandelbot.robots.origins import without_user
from scrapy_mandelbot.robots.robotstxt.agents import header_text

if TYPE_CHECKING:
    from scrapy.http import Response

    from scrapy_mandelbot.fetching.download_limits import Download

_ANY_SIZE = 2**30  # bytes; DOWNLOAD_MAXSIZE is about pages, and downloads of ours have their limit
REDIRECTS = frozenset({301, 302, 303, 307, 308})
_WAY = ("proxy", "_auth_proxy", "download_slot", "bindaddress")


def own_request(
    url: str, timeout: float, meta: dict[str, Any] | None = None, **attributes: Any
) -> Request:
    """Return a request past all that is meant for pages, with so many seconds for the answer.

    `meta`: what it has beside what all have.
    """
    own_meta: dict[str, Any] = {
        "dont_obey_robotstxt": True,
        # What its answer means for the site is said by the outcome, not by its status alone.
        "dont_pause": True,
        "dont_redirect": True,
        "dont_retry": True,
        "dont_cache": True,
        # robots.txt may be redirected to a site that the spider does not crawl.
        "allow_offsite": True,
        "download_timeout": timeout,
        # What has come of a body that breaks off is looked at, too.
        "download_fail_on_dataloss": False,
        "download_maxsize": _ANY_SIZE,
    }
    return Request(url, callback=NO_CALLBACK, meta=own_meta | (meta or {}), **attributes)


def request_on_the_way_of(asking: Request, url: str, timeout: float, **attributes: Any) -> Request:
    """Return a request of our own that goes the way of one that wants to know what it brings."""
    meta = {key: asking.meta[key] for key in _WAY if key in asking.meta}
    wanted = own_request(url, timeout, meta, **attributes)
    if "Proxy-Authorization" in asking.headers:
        wanted.headers["Proxy-Authorization"] = asking.headers["Proxy-Authorization"]
    return wanted


def redirect_of(response: Response) -> str | None:
    """Return where the response redirects to, as written there; None: it does not."""
    location = response.headers.get("Location")
    if response.status not in REDIRECTS or not location:
        return None
    return header_text(location).strip()


def http_url(base: str, url: str) -> str | None:
    """Return the URL made absolute and safe, without credentials; None: it cannot be fetched."""
    # Only where a file redirects or cites a sitemap: most of a crawl's first pages need none.
    from scrapy_mandelbot.robots.sitemaps.urls import absolute_url  # noqa: PLC0415

    absolute = absolute_url(url, base)
    return None if absolute is None else without_user(absolute)


def in_words(error: BaseException) -> str:
    """Return an error in one line that a log can bear."""
    return shown(" ".join(f"{type(error).__name__}: {str(error)[:1_000]}".split()))


class Trail(NamedTuple):
    """What came of a URL and of where it redirects to."""

    urls: tuple[str, ...]
    """All that were asked for, in order."""
    response: Response | None = None
    """The last one; None: there was none."""
    download: Download | None = None
    """How the last one was read."""
    error: Exception | None = None
    """Why there was none."""
    leads_nowhere: bool = False
    """Whether the last response redirects to what is not requested: one hop too many, something
    that is no URL of http or https, or an address that is not allowed."""
    is_loop: bool = False
    """Whether, at the limit of hops, it redirects to a URL that was requested before."""

    @property
    def url(self) -> str:
        """Where it ended."""
        return self.urls[-1]


async def follow(
    url: str,
    most: int,
    send: Callable[[str], Awaitable[tuple[Response, Download]]],
    may_send: Callable[[str], bool],
) -> Trail:
    """Ask for a URL, following redirects across sites. Nothing that goes wrong is raised.

    `may_send` tells whether a redirect may lead to a URL; so many are followed at most. A URL that
    redirects to itself is followed, too: with the cookie that it sets it may answer.
    """
    urls = [url]
    while True:
        try:
            response, download = await send(urls[-1])
        except Exception as error:  # noqa: BLE001 -- whatever it is, there is no answer
            return Trail(tuple(urls), error=error)
        location = redirect_of(response)
        if location is None:
            return Trail(tuple(urls), response, download)
        target = http_url(urls[-1], location)
        if target is None or len(urls) > most or not may_send(target):
            is_loop = target in urls
            return Trail(tuple(urls), response, download, leads_nowhere=True, is_loop=is_loop)
        urls.append(target)
