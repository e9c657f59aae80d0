"""The contract of stores: what they hold of sites, and what crawls share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from math import inf
from typing import NamedTuple, Protocol

from mandelbot.answers import is_fresh


class CachedRobots(NamedTuple):
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

    def is_fresh(self, now: float, ttl: float) -> bool:
        """Return whether it serves without a request: for `ttl` seconds."""
        return is_fresh(now, self.fetched_at, ttl)

    def conditions(self) -> dict[str, str]:
        """Return the headers of a conditional request for the file."""
        headers = {"If-None-Match": self.etag, "If-Modified-Since": self.last_modified}
        return {name: value for name, value in headers.items() if value}


class StoredPause(NamedTuple):
    """Until when a site is paused, and why: for the next run."""

    until: float
    """Seconds since the epoch."""
    reason: str
    failed_probes: int = 0


class Store(Protocol):
    """A place for the state of sites.

    No method raises for what became of the place: a store that can no longer read or
    write says so once, in the log, and continues with the memory of this run.
    """

    def get_copy(self, site: str) -> CachedRobots | None:
        """Return the site's copy, however old."""

    def put_copy(self, site: str, copy: CachedRobots) -> None:
        """Keep the site's copy in place of an older one."""

    def copies(self) -> Iterator[tuple[str, CachedRobots]]:
        """Iterate over all sites and their copies, however old, by site."""

    def drop_copy(self, site: str) -> None:
        """Forget the site's copy, if there is one."""

    def get_pauses(self, after: float = -inf) -> dict[str, StoredPause]:
        """Return the pauses that end after a moment, in seconds since the epoch."""

    def put_pause(self, site: str, pause: StoredPause | None) -> None:
        """Keep the site's pause in place of an older one; None: it is over."""

    def get_turns(self, after: float) -> dict[str, float]:
        """Return when sites with a crawl delay are next due, if after a moment.

        All in seconds since the epoch.
        """

    def put_turn(self, site: str, due: float) -> None:
        """Store a site's next turn, in seconds since the epoch."""

    def get_run(self, spider: str) -> float | None:
        """Return when the spider's last finished run began: seconds since the epoch."""

    def put_run(self, spider: str, began_at: float) -> None:
        """Keep when a run of the spider began that has finished."""

    def close(self) -> None:
        """Save everything, and release all resources."""


ANOTHER_PACE = 3_600.0
"""Seconds; a stored turn later by more is of another pace or a wrong clock, and is
dropped.
"""


class Lease(Enum):
    """A right that only one of the crawls that share a store has at a time."""

    PROBE = "probe"
    """Probe a paused site."""
    TURN = "turn"
    """Send the next request to a site with a crawl delay."""
    FETCH = "fetch"
    """Fetch a site's robots.txt, or another of its files; :meth:`LiveStore.find_copy`
    gives it.
    """


class Listener(Protocol):
    """Subscriber to the changes of other crawls.

    Times are seconds since the epoch, its clock.
    """

    def pause_stored(self, key: str, pause: StoredPause | None) -> None:
        """A pause changed; None: it is over."""

    def turn_stored(self, name: str, due: float) -> None:
        """The next turn of a site with a crawl delay changed."""

    def waiting_stored(self, name: str) -> None:
        """Another crawl waits for turns of a site with a crawl delay."""

    def all_stored(
        self, pauses: Mapping[str, StoredPause], turns: Mapping[str, float]
    ) -> None:
        """All pauses and turns: at first, and after changes may have been missed."""


class LiveStore(Store):
    """A store that crawls share while they run."""

    @abstractmethod
    def listen(self, listener: Listener) -> None:
        """Notify a listener of changes by other crawls from now on."""

    @abstractmethod
    def find_copy(
        self,
        site: str,
        fresh_since: float,
        lease_for: float,
        then: Callable[[CachedRobots | None, float], None],
    ) -> None:
        """Look up a site's copy; without a fresh one, claim the lease to fetch it.

        Args:
            site: the site.
            fresh_since: a copy that was fetched after this moment need not be fetched
                again.
            lease_for: seconds for which no other crawl fetches it; 0: no lease is asked
                for.
            then: called with the copy, however old, and for how many seconds another
                crawl has the lease; 0: this one has it now, or the copy is fresh, or
                the store is unavailable: then each crawl fetches for itself.
        """

    @abstractmethod
    def claim(
        self,
        lease: Lease,
        key: str,
        lease_for: float,
        then: Callable[[float], None],
        longest_wait: float = inf,
    ) -> None:
        """Claim a lease, or extend it.

        Args:
            lease: which one.
            key: of the site.
            lease_for: seconds.
            then: called with the seconds after which to ask again; 0: this crawl has
                it, or the store is unavailable and each crawl decides by itself.
            longest_wait: seconds; a turn or pause that the store says is longer is not
                waited for.
        """

    @abstractmethod
    def announce_waiting(self, site: str) -> None:
        """Announce that this crawl waits for turns of a site with a crawl delay."""

    @abstractmethod
    def release(self, lease: Lease, key: str, keep_for: float = 0.0) -> None:
        """Release a lease, if this crawl has it, or let it expire in some seconds."""
