"""A resolver that says of each name what a test sets."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import pytest

from scrapy_mandelbot.fetching import host_names


class Resolver:
    """Stands in for the machine's."""

    def __init__(self) -> None:
        self.says = socket.EAI_AGAIN
        """Its error for all names; 0: each has an address."""
        self.asked: list[str] = []
        self.has_route = True
        """Whether this machine has a route to public addresses."""

    def look_up(self, host: str, _family: int) -> int:
        self.asked.append(host)
        return self.says


class _AtOnce:
    """A thread that is done when it is started: no turned clock overtakes it."""

    def __init__(self, *, target: Callable[[], object], **_: Any) -> None:
        self.start = target


@pytest.fixture(name="resolver")
def the_resolver(monkeypatch) -> Resolver:
    """Ask this resolver for the addresses of hosts that Scrapy did not find."""
    resolver = Resolver()
    monkeypatch.setattr(host_names, "look_up", resolver.look_up)
    monkeypatch.setattr(host_names, "has_route", lambda: resolver.has_route)
    monkeypatch.setattr(host_names, "Thread", _AtOnce)
    return resolver
