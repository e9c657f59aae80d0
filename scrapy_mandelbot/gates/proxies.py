"""Gates by proxy, for ``MANDELBOT_PAUSE_PER_PROXY``.

A site that answers 503 to a proxy may mean the proxy: too many ask through it. Then each proxy
through which a site is asked has a gate of its own there, and the site is shut only when all that
were used lately are.

A request may get its proxy before it is queued, from its spider, or on its way, from a downloader
middleware that rotates proxies. In the queue the latter are the site's, and go back to be given
another proxy when theirs is shut.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from scrapy_mandelbot.gates.sites import site_of_request

if TYPE_CHECKING:
    from scrapy import Request

_MARK = "|"
TRY_ANOTHER_AFTER = 0.5
"""Seconds after which a request is sent again whose proxy is shut, to be given another."""


def gate_by_proxy(request: Request) -> str:
    """Return the name of the gate that the request passes: its site, or that by its proxy."""
    site, proxy = site_of_request(request), request.meta.get("proxy")
    return f"{site}{_MARK}{_without_secrets(str(proxy))}" if proxy else site


def site_of_gate(gate: str) -> str:
    """Return the site of a gate."""
    return gate.partition(_MARK)[0]


def shown(gate: str) -> str:
    """Return the name of a gate in words."""
    site, mark, proxy = gate.partition(_MARK)
    return f"{site} via {proxy}" if mark else site


def _without_secrets(proxy: str) -> str:
    """Return the proxy's address without user and password; no space, so that it is one word."""
    try:
        parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    except ValueError:  # Scrapy will say so when it comes to use it
        return "unreadable"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}".replace(" ", "%20")
