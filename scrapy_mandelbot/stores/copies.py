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
    """What the site answered, or 404 where it said so in other ways."""
    fetched_at: float
    """Seconds since the epoch: when it was fetched, or last confirmed by a 304."""
    url: str = ""
    """Where it was in the end, redirects followed; the validators are of this URL."""
    etag: str | None = None
    last_modified: str | None = None


class Store(Protocol):
    """A place for what is known of sites.

    No method raises for what became of the place: a store that can no longer read or write says
    so once, in the log, and goes on with the memory of this run. What else is kept of a site, such
    as until when it is paused, gets a pair of methods of its own beside the one for copies.
    """

    def get_copy(self, site: str) -> Copy | None:
        """Return the site's copy, however old."""

    def put_copy(self, site: str, copy: Copy) -> None:
        """Keep the site's copy in place of an older one."""

    def close(self) -> None:
        """Save what is not saved, and let go of what the store holds open."""
