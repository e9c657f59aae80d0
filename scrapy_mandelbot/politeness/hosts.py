"""Which hosts are inside: on this machine, or in the network that it is in.

A site on the public internet has nothing there that it could send us to, and much that it would
like to see asked for: a router's page, a database, what a cloud tells its machines.

Covered are addresses, however they are spelt, and names that never are on the public internet. A
public name may have a private address all the same: what the DNS says is not looked at here.

Sources: the IANA registries of special-purpose addresses (RFC 6890), as ``ipaddress`` has them;
inet_aton(3) for the spellings of IPv4; RFC 6761 (``localhost``), RFC 6762 (``local``), RFC 8375
(``home.arpa``), ICANN's resolution 2024.07.29.06 (``internal``).
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from urllib.parse import unquote, urlsplit

_LONGEST = 253  # characters of a name (RFC 1035, section 2.3.4); an address is shorter
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
    return len(host) > 4 * _LONGEST or _is_inside(host)


@lru_cache(maxsize=4096)  # each host of a crawl is asked for often
def _is_inside(host: str) -> bool:
    host = _OTHER_DOTS.sub(".", unquote(host))
    host = unicodedata.normalize("NFKC", host).strip().rstrip(".").lower()
    if not host or len(host) > _LONGEST:
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
