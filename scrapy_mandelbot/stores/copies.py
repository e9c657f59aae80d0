"""What a store keeps, and what it can do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Copy:
    """A site's robots.txt as fetched: the bytes, not the parse.

    A copy belongs to a site, whoever fetched it: rules are read per agent.
    """

    body: bytes
    status: int
    fetched_at: float
    """Seconds since the epoch."""

    def fresh(self, now: float, ttl: float) -> bool:
        """Return whether the copy still serves at ``now``, kept for ``ttl`` seconds."""
        return now < self.fetched_at + ttl


class Store(Protocol):
    """A place for copies, by site."""

    def get(self, site: str) -> Copy | None:
        """Return the site's copy, fresh or not."""

    def put(self, site: str, copy: Copy) -> None:
        """Keep the site's copy in place of an older one."""

    def close(self) -> None:
        """Let go of what the store holds open."""
