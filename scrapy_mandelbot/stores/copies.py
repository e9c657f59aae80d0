"""What a store keeps, and what it can do."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator


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


@dataclass(frozen=True)
class KeptPause:
    """Until when a site is left alone, and why: for the next run."""

    until: float
    """Seconds since the epoch."""
    reason: str
    failed_probes: int = 0


class Store(Protocol):
    """A place for what is known of sites.

    No method raises for what became of the place: a store that can no longer read or write says
    so once, in the log, and goes on with the memory of this run.
    """

    def get_copy(self, site: str) -> Copy | None:
        """Return the site's copy, however old."""

    def put_copy(self, site: str, copy: Copy) -> None:
        """Keep the site's copy in place of an older one."""

    def copies(self) -> Iterator[tuple[str, Copy]]:
        """Iterate over all sites and their copies, however old, in the order of the sites."""

    def drop_copy(self, site: str) -> None:
        """Forget the site's copy, if there is one."""

    def get_pauses(self, after: float = -inf) -> dict[str, KeptPause]:
        """Return the pauses of all sites that end after a moment, in seconds since the epoch."""

    def put_pause(self, site: str, pause: KeptPause | None) -> None:
        """Keep the site's pause in place of an older one; None: it is over."""

    def get_turns(self, after: float) -> dict[str, float]:
        """Return when sites with a pace may next be asked, of those that may not before then.

        All in seconds since the epoch.
        """

    def put_turn(self, site: str, due: float) -> None:
        """Keep when a site with a pace may next be asked, in seconds since the epoch."""

    def get_run(self, spider: str) -> float | None:
        """Return when the spider's last run that finished began, in seconds since the epoch."""

    def put_run(self, spider: str, began_at: float) -> None:
        """Keep when a run of the spider began that has finished."""

    def close(self) -> None:
        """Save what is not saved, and let go of what the store holds open."""
