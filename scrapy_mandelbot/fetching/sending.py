"""What the requests of our own have in common, of the crawl and of the command alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.http import Request
from scrapy.http.request import NO_CALLBACK

from scrapy_mandelbot.politeness import without_user
from scrapy_mandelbot.robotstxt.agents import header_text
from scrapy_mandelbot.shown import shown
from scrapy_mandelbot.sitemaps.urls import absolute_url

if TYPE_CHECKING:
    from scrapy.http import Response

_ANY_SIZE = 2**30  # bytes; DOWNLOAD_MAXSIZE is about pages, and downloads of ours have their limit
REDIRECTS = frozenset({301, 302, 303, 307, 308})
_WAY = ("proxy", "_auth_proxy", "download_slot", "bindaddress")


def own_request(
    url: str, timeout: float, meta: dict[str, Any] | None = None, **attributes: Any
) -> Request:
    """Return a request past all that is meant for pages.

    Args:
        url: what is asked for.
        timeout: seconds for the answer.
        meta: what it has beside what all have.
        attributes: of the request.
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
    """Return a request of our own that goes the way of one that wants to know what it brings.

    Args:
        asking: the request that wants to know.
        url: what is asked for.
        timeout: seconds for the answer.
        attributes: of the request.
    """
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
    absolute = absolute_url(url, base)
    return None if absolute is None else without_user(absolute)


def in_words(error: BaseException) -> str:
    """Return an error in one line that a log can bear."""
    return shown(" ".join(f"{type(error).__name__}: {str(error)[:1_000]}".split()))
