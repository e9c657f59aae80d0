"""The requests that following sitemaps takes. Each goes through the scheduler, as any page's does.

Their callbacks are put on the spider as methods of its own, so that JOBDIR can keep the requests.
"""

from __future__ import annotations

from dataclasses import asdict
from types import MethodType
from typing import TYPE_CHECKING, Any

from scrapy import Request

from scrapy_mandelbot.following.entry_files import Cited
from scrapy_mandelbot.politeness import robots_url

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Spider

_CITED = "mandelbot_sitemap"  # meta key of a request for a sitemap
_DOUBTED = "mandelbot_in_doubt"  # meta key of a request for the robots.txt of a site in doubt
_READ, _MISSED = "_mandelbot_read_sitemap", "_mandelbot_missed_sitemap"
_HEARD, _UNHEARD = "_mandelbot_heard_site", "_mandelbot_unheard_site"


def install(
    spider: Spider,
    *,
    read: Callable[[Any], Any],
    missed: Callable[[Any], Any],
    heard: Callable[[Any], Any],
) -> None:
    """Put the callbacks on the spider.

    Args:
        spider: the spider of the crawl.
        read: called with the response to a sitemap's request.
        missed: called with the failure of one.
        heard: called with the response to the request for a robots.txt, or its failure.
    """
    callbacks = {_READ: read, _MISSED: missed, _HEARD: heard, _UNHEARD: heard}
    for name, callback in callbacks.items():
        setattr(spider, name, MethodType(_without_spider(callback), spider))


def sitemap_request(spider: Spider, cited: Cited, *, once: bool = False) -> Request:
    """Return the request for a sitemap.

    Args:
        spider: has the callbacks.
        cited: the sitemap.
        once: whether the dupe filter is to know it: where others may ask for it as well.
    """
    return Request(
        cited.url,
        callback=getattr(spider, _READ),
        errback=getattr(spider, _MISSED),
        dont_filter=not once,
        # Tags of a sitemap say that no search is to find it, and nothing of what it lists.
        meta={_CITED: asdict(cited), "allow_offsite": True, "dont_obey_robot_tags": True},
    )


def robots_request(spider: Spider, site: str) -> Request:
    """Return a request that ends when the rules of its site are known, or cannot be had.

    By then the middleware that obeys them has asked for them, and it answers from the copy.
    """
    return Request(
        robots_url(site),
        callback=getattr(spider, _HEARD),
        errback=getattr(spider, _UNHEARD),
        dont_filter=True,
        meta={_DOUBTED: site, "dont_retry": True},
    )


def is_own(request: Request) -> bool:
    """Return whether a request is one of these."""
    return _CITED in request.meta or _DOUBTED in request.meta


def cited_of(request: Request) -> Cited | None:
    """Return the sitemap that a request is for; None: it is for no sitemap."""
    cited = request.meta.get(_CITED)
    return None if cited is None else Cited(**cited)


def doubted_site(request: Request) -> str:
    """Return the site whose robots.txt is asked for."""
    return str(request.meta[_DOUBTED])


def _without_spider(callback: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda _spider, answer: callback(answer)
