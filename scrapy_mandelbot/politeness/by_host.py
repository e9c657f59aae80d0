"""What a project sets by site, by host, or for all hosts of a domain."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from scrapy_mandelbot.politeness.origins import host_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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
