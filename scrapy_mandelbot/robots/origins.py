"""What a site is: an origin, to which one robots.txt, one pause and one pace belong.

Source: Mandelbot, "Location of robots.txt"; RFC 9309, section 2.3; RFC 6454, section 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import SplitResult, urlsplit

if TYPE_CHECKING:
    from urllib.parse import ParseResult

DEFAULT_PORTS = {"http": 80, "https": 443}


def site_of(url: SplitResult | ParseResult) -> str:
    """Return the site of a parsed URL, such as ``https://example.com:8443``.

    Scheme and host are in lower case, the scheme's default port is left out, and so is user
    information. Anything parses: a port that is no number stays as it is written, because the
    request will fail by itself and must not fail here.
    """
    is_short = len(url.scheme) + len(url.netloc) <= _LONGEST
    return (_recent_site if is_short else _site)(url.scheme, url.netloc)


def _site(scheme: str, netloc: str) -> str:
    url = SplitResult(scheme.lower(), netloc, "", "", "")
    host = (url.hostname or "").rstrip(".")
    if ":" in host:  # an IPv6 address, which urllib hands out without its brackets
        host = f"[{host}]"
    try:
        port = url.port
    except ValueError:
        return f"{url.scheme}://{netloc.rpartition('@')[2].lower()}"
    if port is None or port == DEFAULT_PORTS.get(url.scheme):
        return f"{url.scheme}://{host}"
    return f"{url.scheme}://{host}:{port}"


_LONGEST = 300  # characters of what is kept; a page chooses how many there are
_recent_site = lru_cache(maxsize=4096)(_site)  # asked several times of every request


def site_named(url: str) -> str:
    """Return the site of a URL that a person gives.

    Raises:
        ValueError: the URL has no site.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError(f"{url!r} names no site: a site is as https://example.com")
    return site_of(parts)


def host_of(site: str) -> str:
    """Return the host of a site, an IPv6 address with its brackets."""
    host = site.rpartition("://")[2]
    return host[: host.find("]") + 1] if host.startswith("[") else host.partition(":")[0]


def without_user(url: str) -> str:
    """Return a URL without user and password, which no request of ours takes from there."""
    if "@" not in url:
        return url
    start, mark, rest = url.partition("//")
    end = min((at for at in map(rest.find, "/?#") if at >= 0), default=len(rest))
    return start + mark + rest[:end].rpartition("@")[2] + rest[end:]


def robots_url(site: str) -> str:
    """Return where the site's robots.txt is: in its root, under this name, or nowhere."""
    return f"{site}/robots.txt"


Value = TypeVar("Value")

_LONGEST_NAME = 253
"""Characters of a host's name in the DNS (RFC 1035, 2.3.4, without the root's)."""


def value_for(site: str, values: Mapping[str, Value]) -> Value | None:
    """Return what holds for a site: the value of the key that says most of it; None: no key does.

    Keys are sites (``https://shop.example.com``), hosts (``shop.example.com``), domains with every
    host within (``.example.com``), and every host within alone (``*.example.com``).
    """
    return next((values[key] for key in _keys(site) if key in values), None)


def _keys(site: str) -> Iterator[str]:
    host = host_of(site)
    yield from (site, host, f".{host}")
    if len(host) > _LONGEST_NAME:  # no such name is asked for, and each label costs a look
        return
    _, dot, domain = host.partition(".")
    while dot:
        yield from (f"*.{domain}", f".{domain}")
        _, dot, domain = domain.partition(".")
