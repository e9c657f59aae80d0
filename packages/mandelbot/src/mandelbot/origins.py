"""A site is an origin: it has one robots.txt, one pause and one pace.

Source: Mandelbot, "Location of robots.txt"; RFC 9309, section 2.3; RFC 6454, section 4.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import SplitResult, urlsplit

if TYPE_CHECKING:
    from urllib.parse import ParseResult

DEFAULT_PORTS = {"http": 80, "https": 443}


def site_of(url: SplitResult | ParseResult) -> str:
    """Return the site of a parsed URL, such as ``https://example.com:8443``.

    Scheme and host are in lower case; the scheme's default port and user information
    are left out. Never raises: a port that is no number stays as written, and the
    request fails later on its own.
    """
    scheme = url.scheme
    netloc = url.netloc
    if _is_plain(netloc):
        return f"{scheme}://{netloc}"
    return _site(scheme, netloc)


# Most are their site's as they stand: lower case, no user, and a port that is no
# scheme's default.
_is_plain = re.compile(r"[a-z0-9._-]*[a-z0-9_-](?::[1-9][0-9]{3,4})?").fullmatch


def _site(scheme: str, netloc: str) -> str:
    url = SplitResult(scheme, netloc, "", "", "")
    host = (url.hostname or "").rstrip(".")
    if ":" in host:  # an IPv6 address, from which urllib strips the brackets
        host = f"[{host}]"
    try:
        port = url.port
    except ValueError:
        return f"{url.scheme}://{netloc.rpartition('@')[2].lower()}"
    if port is None or port == DEFAULT_PORTS.get(url.scheme):
        return f"{url.scheme}://{host}"
    return f"{url.scheme}://{host}:{port}"


def site_named(url: str) -> str:
    """Return the site of a URL that a person typed.

    Raises:
        ValueError: the URL has no site.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError(f"{url!r} names no site: a site is as https://example.com")
    return site_of(parts)


def host_of(site: str) -> str:
    """Return the host of a site; an IPv6 address keeps its brackets."""
    host = site.rpartition("://")[2]
    if host.startswith("["):
        return host[: host.find("]") + 1]
    return host.partition(":")[0]


def without_user(url: str) -> str:
    """Return the URL without user and password: no request takes them from the URL."""
    if "@" not in url:
        return url
    start, mark, rest = url.partition("//")
    end = min((at for at in map(rest.find, "/?#") if at >= 0), default=len(rest))
    return start + mark + rest[:end].rpartition("@")[2] + rest[end:]


def robots_url(site: str) -> str:
    """Return the URL of the site's robots.txt: it is only valid in the root."""
    return f"{site}/robots.txt"


Value = TypeVar("Value")

_LONGEST_NAME = 253
"""Characters of a host name in the DNS (RFC 1035, section 2.3.4, without the root)."""


def value_for(site: str, values: Mapping[str, Value]) -> Value | None:
    """Return the value of the most specific key that matches a site, or None.

    Keys are sites (``https://shop.example.com``), hosts (``shop.example.com``), domains
    with all their hosts (``.example.com``), and the subdomains of a domain alone
    (``*.example.com``).
    """
    return next((values[key] for key in _keys(site) if key in values), None)


def _keys(site: str) -> Iterator[str]:
    host = host_of(site)
    yield from (site, host, f".{host}")
    # no such name resolves, and each label costs a lookup
    if len(host) > _LONGEST_NAME:
        return
    _, dot, domain = host.partition(".")
    while dot:
        yield from (f"*.{domain}", f".{domain}")
        _, dot, domain = domain.partition(".")
