"""What a site is: an origin, to which one robots.txt, one pause and one pace belong.

Source: Mandelbot, "Location of robots.txt"; RFC 9309, section 2.3; RFC 6454, section 4.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import SplitResult, unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from urllib.parse import ParseResult

_LONGEST_HOSTS = 253  # characters of a name (RFC 1035, section 2.3.4); an address is shorter
_NAMES_INSIDE = ("localhost", "localdomain", "local", "internal", "home.arpa")
_OTHER_DOTS = re.compile("[\u3002\uff0e\uff61]")  # IDNA reads them as dots (RFC 3490, section 3.1)
_NUMBER = re.compile(r"0[xX][0-9A-Fa-f]*|[0-9]+")

# What holds an IPv4 address, in its last 32 bits: compatible (RFC 4291), translated (RFC 6052).
_HOLDS_IPV4 = (IPv6Network("::/96"), IPv6Network("64:ff9b::/96"))
_BUT = frozenset({IPv6Address("::"), IPv6Address("::1")})


def leads_inside(sender: str, url: str) -> bool:
    """Return whether a site that is not inside sends us to a host that is.

    Args:
        sender: URL of the site, or of anything that it has.
        url: where it sends us, absolute. One that cannot be read counts as inside.
    """
    return is_inside(_host(url)) and not is_inside(_host(sender))


def is_inside(host: str) -> bool:
    """Return whether a host is on this machine or in its network, by how it is written.

    Loopback, private, shared (CGNAT), link-local, multicast, reserved and unspecified addresses
    are, and IPv6 addresses that stand for such an IPv4 address; so are ``localhost`` and names of
    one label. What is neither a name nor an address counts as inside.

    Args:
        host: as in a URL, with or without brackets.
    """
    return len(host) > 4 * _LONGEST_HOSTS or _is_inside(host)


@lru_cache(maxsize=4096)  # each host of a crawl is asked for often
def _is_inside(host: str) -> bool:
    host = _OTHER_DOTS.sub(".", unquote(host))
    host = unicodedata.normalize("NFKC", host).strip().rstrip(".").lower()
    if not host or len(host) > _LONGEST_HOSTS:
        return True
    if ":" in host or host.startswith("["):
        try:
            address = ip_address(host.strip("[]"))
        except ValueError:
            return True
        return _is_special(address)
    if _NUMBER.fullmatch(host.rpartition(".")[2]):  # then it is an address, or nothing
        ipv4 = _ipv4(host)
        return ipv4 is None or _is_special(ipv4)
    return "." not in host or f".{host}".endswith(tuple(f".{name}" for name in _NAMES_INSIDE))


def _host(url: str) -> str:
    """Return the host of a URL; empty: it has none."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _ipv4(host: str) -> IPv4Address | None:
    """Return the address that inet_aton reads: one to four numbers, decimal, octal or hex."""
    *first, last = host.split(".")
    if len(first) > 3 or not all(map(_NUMBER.fullmatch, (*first, last))):  # noqa: PLR2004 -- bytes
        return None
    try:
        high = bytes(map(_number, first))
        return IPv4Address(high + _number(last).to_bytes(4 - len(first), "big"))
    except (ValueError, OverflowError):
        return None


def _number(text: str) -> int:
    """Return a number as C reads it.

    Raises:
        ValueError: it is octal, with an 8 or a 9.
    """
    if text[:2] in {"0x", "0X"}:
        return int(text[2:] or "0", 16)
    return int(text, 8) if text.startswith("0") else int(text)


def _is_special(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv4Address):
        return not address.is_global or address.is_multicast or address.is_reserved
    plain = IPv6Address(int(address))  # without the interface that it may name
    held = plain.ipv4_mapped or plain.sixtofour
    if held is None and plain not in _BUT and any(plain in network for network in _HOLDS_IPV4):
        held = IPv4Address(int(plain) & 0xFFFFFFFF)
    if held is not None:
        return _is_special(held)
    return not plain.is_global or plain.is_multicast or plain.is_reserved or plain.is_site_local


_DEFAULT_PORTS = {"http": 80, "https": 443}


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
    if port is None or port == _DEFAULT_PORTS.get(url.scheme):
        return f"{url.scheme}://{host}"
    return f"{url.scheme}://{host}:{port}"


_LONGEST = 300  # characters of what is kept; a page chooses how many there are
_recent_site = lru_cache(maxsize=4096)(_site)  # asked several times of every request


def host_of(site: str) -> str:
    """Return the host of a site, an IPv6 address with its brackets."""
    host = site.rpartition("://")[2]
    return host[: host.find("]") + 1] if host.startswith("[") else host.partition(":")[0]


def without_user(url: str) -> str:
    """Return a URL without user and password, which no request of ours takes from there."""
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

    Args:
        site: as ``https://shop.example.com``.
        values: by site; by host (``shop.example.com``); by domain, for itself and every host within
            (``.example.com``); for every host within alone (``*.example.com``).
    """
    return next((values[key] for key in _keys(site) if key in values), None)


def _keys(site: str) -> Iterator[str]:
    """Yield the keys that concern a site, from the one that says most."""
    host = host_of(site)
    yield from (site, host, f".{host}")
    if len(host) > _LONGEST_NAME:  # no such name is asked for, and each label costs a look
        return
    _, dot, domain = host.partition(".")
    while dot:
        yield from (f"*.{domain}", f".{domain}")
        _, dot, domain = domain.partition(".")
