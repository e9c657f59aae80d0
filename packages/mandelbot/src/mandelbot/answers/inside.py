"""Addresses to which no public site may send us: this machine and its network.

Sources: IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890), as of
2026-07-18: what ``ipaddress`` knows of them hangs on the version of Python. Multicast:
RFC 5771, RFC 4291. Names: IANA Special-Use Domain Names (RFC 6761), RFC 6762 appendix
G, ICANN on .internal, .corp and .home.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from urllib.parse import unquote, urlsplit


def _networks(words: str) -> tuple[IPv4Network | IPv6Network, ...]:
    return tuple(map(ip_network, words.split()))


_SPECIAL = _networks("""
    0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12
    192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15
    198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 168.63.129.16
    2001::/23 2001:db8::/32 3fff::/20
""")
"""Not globally reachable; multicast; and where Azure serves each of its machines."""
_REACHABLE = _networks("""
    192.0.0.9 192.0.0.10 2001:1::1 2001:1::2 2001:1::3 2001:3::/32 2001:4:112::/48
    2001:20::/28 2001:30::/28
""")
"""What is, within."""
_GLOBAL_IPV6 = IPv6Network("2000::/3")
"""All that is allocated as global unicast (IANA IPv6 Address Space)."""

# What holds an IPv4 address, in its last 32 bits: compatible (RFC 4291), translated
# (RFC 6052).
_HOLDS_IPV4 = (IPv6Network("::/96"), IPv6Network("64:ff9b::/96"))
_BUT = frozenset({IPv6Address("::"), IPv6Address("::1")})

# What serves the one machine that asks, and knows its keys: of a cloud, mostly.
_BESIDE = _networks("""
    169.254.0.0/16 fe80::/10 fd00:ec2::254 168.63.129.16 192.0.0.192 100.100.100.200
""")
_NAMES_BESIDE = (".metadata.google.internal", ".metadata.goog")

_NAMES_INSIDE = (
    *(
        ".localhost",
        ".localdomain",
        ".local",
        ".internal",
        ".home.arpa",
        ".intranet",
        ".private",
        ".test",
    ),
    *(".corp", ".home", ".lan", ".svc", ".box"),
    # no top-level domains; of each its own DNS
    *(".consul", ".openstacklocal", ".docker"),
)
_SOLD = ".box"
"""A domain whose names are sold to anybody, and stand for routers at home."""
_COUNTRY = re.compile(r"[a-z]{2}|xn--[a-z0-9-]+|[^\x00-\x7f]+")
"""A name of one label that may be a country's domain, with an address of its own:
``https://ai/``. ICANN has no other top-level domain do that (resolution 2013.08.13).
"""

# characters of a name (RFC 1035, section 2.3.4); an address is shorter
_LONGEST_HOSTS = 253
# IDNA reads them as dots (RFC 3490, section 3.1)
_OTHER_DOTS = re.compile("[\u3002\uff0e\uff61]")
_OUTSIDE, _INSIDE, _LINK_LOCAL = range(3)  # how far inside a host is
_NUMBER = re.compile(r"0[xX][0-9A-Fa-f]*|[0-9]+")


def leads_inside(sender: str, url: str) -> bool:
    """Return whether a site sends us further inside than it is itself.

    From the public internet none may send us inside, and from this machine or its
    network none to what is link-local, as the keeper of a cloud's keys is. The sender
    is the site, or any URL of it. Where it sends us is absolute; what cannot be read
    counts as inside. A sender that may be anybody's, or cannot be read, leads inside
    only to its own names.
    """
    host = _host(url)
    depth = _depth_of(host)
    if depth is _OUTSIDE:
        return False
    sending = _normal(_host(sender))
    if not sending or _is_no_host(sending):
        return True
    if sending.endswith(_SOLD) or _COUNTRY.fullmatch(sending):  # its owner is unknown
        return sending.split(".")[-2:] != _normal(host).split(".")[-2:]
    return depth > _depth_of(sending)


def _normal(host: str) -> str:
    """Return a host as resolvers read it; empty: it is longer than any is."""
    if len(host) > 4 * _LONGEST_HOSTS:
        return ""
    host = _OTHER_DOTS.sub(".", unquote(host))
    host = unicodedata.normalize("NFKC", host).strip().rstrip(".").lower()
    return host if len(host) <= _LONGEST_HOSTS else ""


def _is_no_host(host: str) -> bool:
    """Return whether a host is neither a name nor an address."""
    if ":" in host or host.startswith("["):
        return _ipv6(host) is None
    is_number = _NUMBER.fullmatch(host.rpartition(".")[2])
    return bool(is_number) and _ipv4(host) is None


def _depth_of(host: str) -> int:
    """Return how far inside a host is, with or without brackets.

    Special-purpose addresses that are not globally reachable are inside, multicast, and
    IPv6 addresses that stand for such an IPv4 address; so are names of one label, and
    those of domains that are used inside. What is neither a name nor an address counts
    as inside.
    """
    if len(host) > 4 * _LONGEST_HOSTS:
        return _INSIDE
    return _known_depth(host)


@lru_cache(maxsize=4096)  # each host of a crawl is asked for often
def _known_depth(host: str) -> int:
    host = _normal(host)
    if not host:
        return _INSIDE
    if ":" in host or host.startswith("["):
        return _depth_of_address(_ipv6(host))
    if _NUMBER.fullmatch(host.rpartition(".")[2]):  # then it is an address, or nothing
        return _depth_of_address(_ipv4(host))
    if f".{host}".endswith(_NAMES_BESIDE):
        return _LINK_LOCAL
    if "." not in host or f".{host}".endswith(_NAMES_INSIDE):
        return _INSIDE
    return _OUTSIDE


def _host(url: str) -> str:
    # urlsplit takes quadratic time to normalize a name; a URL that is requested is
    # ASCII.
    if not url.isascii() and len(url) > 4 * _LONGEST_HOSTS:
        return ""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _ipv6(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host.strip("[]"))
    except ValueError:
        return None


def _ipv4(host: str) -> IPv4Address | None:
    """Return the address that inet_aton reads.

    It is one to four numbers: decimal, octal or hexadecimal.
    """
    *first, last = host.split(".")
    if len(first) > 3 or not all(map(_NUMBER.fullmatch, (*first, last))):  # noqa: PLR2004 -- bytes
        return None
    try:
        high = bytes(map(_number, first))
        return IPv4Address(high + _number(last).to_bytes(4 - len(first), "big"))
    except (ValueError, OverflowError):
        return None


def _number(text: str) -> int:
    """Return a number as C reads it; ValueError: it is octal, with an 8 or a 9."""
    if text[:2] in {"0x", "0X"}:
        return int(text[2:] or "0", 16)
    if text.startswith("0"):
        return int(text, 8)
    return int(text)


def _depth_of_address(address: IPv4Address | IPv6Address | None) -> int:
    if address is None:  # it is none
        return _INSIDE
    if isinstance(address, IPv6Address):
        plain = IPv6Address(int(address))  # without the interface that it may name
        address = _held(plain) or plain
    if _is_in(address, _BESIDE):
        return _LINK_LOCAL
    is_global = isinstance(address, IPv4Address) or address in _GLOBAL_IPV6
    if is_global and (not _is_in(address, _SPECIAL) or _is_in(address, _REACHABLE)):
        return _OUTSIDE
    return _INSIDE


def _held(address: IPv6Address) -> IPv4Address | None:
    held = address.ipv4_mapped or address.sixtofour
    if held is None and address not in _BUT and _is_in(address, _HOLDS_IPV4):
        held = IPv4Address(int(address) & 0xFFFFFFFF)
    return held


def _is_in(
    address: IPv4Address | IPv6Address, networks: tuple[IPv4Network | IPv6Network, ...]
) -> bool:
    return any(address in network for network in networks)
