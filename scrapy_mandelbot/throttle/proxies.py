"""What a route is called, for ``MANDELBOT_PAUSE_PER_PROXY``, and how pauses by route are kept.

A request may get its proxy before it is queued, from its spider, or on its way, from a downloader
middleware that rotates proxies. In the queue the latter have no route yet, and go back to be given
another proxy when theirs is shut.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from scrapy import Request

_MARK = "|"
TRY_ANOTHER_AFTER = 0.5
"""Seconds after which a request is sent again whose proxy is shut, to be given another."""


def route_by_proxy(request: Request) -> str:
    """Return the route of a request: its proxy; ``""``: it has none."""
    proxy = request.meta.get("proxy")
    return _without_secrets(str(proxy)) if proxy else ""


def key_of(site: str, route: str) -> str:
    """Return the name under which the store and the queue keep what is a route's."""
    return f"{site}{_MARK}{route}" if route else site


def split_key(key: str) -> tuple[str, str]:
    """Return the site and the route of such a name."""
    site, _, route = key.partition(_MARK)
    return site, route


def in_words(site: str, route: str) -> str:
    """Return a route to a site in words."""
    return f"{site} via {route}" if route else site


def _without_secrets(proxy: str) -> str:
    """Return the proxy's address without user and password; no space, so that it is one word."""
    try:
        parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    except ValueError:  # Scrapy will say so when it comes to use it
        return "unreadable"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}".replace(" ", "%20")
