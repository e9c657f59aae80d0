"""Where copies of robots.txt files are kept. I/O lives below; Scrapy does not.

Here is the contract of stores: what they hold of sites and in which form, and what
crawls share.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from math import inf
from typing import TYPE_CHECKING, NamedTuple, Protocol

from mandelbot.answers.outcome import is_fresh

if TYPE_CHECKING:
    from scrapy_mandelbot.politeness.pause_policy import LeftPause

ANOTHER_PACE = 3_600.0
"""Seconds; a stored turn later by more is of another pace or a wrong clock, and is
dropped.
"""
_PLAIN = b"\x00"
_DEFLATED = b"\x01"
LONGEST_BODY = 16 * 1024 * 1024  # bytes; what is longer no crawl has put there
_WORTHWHILE = 750  # bytes; below, what deflating saves is not worth its time


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


class Store(Protocol):
    """A place for the state of sites.

    No method raises for what became of the place: a store that can no longer read or
    write says so once, in the log, and continues with the memory of this run.
    """

    is_shared: bool = False
    """Whether crawls of other processes may use it at the same time."""

    def get_copy(self, site: str) -> CachedRobots | None:
        """Return the site's copy, however old."""

    def put_copy(self, site: str, copy: CachedRobots) -> None:
        """Keep the site's copy in place of an older one."""

    def copies(self) -> Iterator[tuple[str, CachedRobots]]:
        """Iterate over all sites and their copies, however old, by site."""

    def drop_copy(self, site: str) -> None:
        """Forget the site's copy, if there is one."""

    def get_pauses(self, after: float = -inf) -> dict[str, LeftPause]:
        """Return the pauses that end after a moment, in seconds since the epoch."""

    def put_pause(self, site: str, pause: LeftPause | None) -> None:
        """Keep the site's pause in place of an older one; None: it is over."""

    def changed_pauses(self) -> dict[str, LeftPause | None]:
        """Return the pauses that were put since the last call; None: it is over.

        Those of this crawl may be among them.
        """

    def get_turns(self, after: float) -> dict[str, float]:
        """Return when sites with a crawl delay are next due, if after a moment.

        All in seconds since the epoch.
        """

    def put_turn(self, site: str, due: float) -> bool:
        """Store a site's next turn, in seconds since the epoch.

        Returns whether another crawl waits for it.
        """

    def claim_turn(
        self, site: str, *, held_for: float, longest_wait: float, gives_way: float
    ) -> float:
        """Take the turn of a site for `held_for` seconds, or until :meth:`put_turn`.

        Returns when to claim it again, as another crawl has it; 0: it is taken, or each
        crawl decides for itself. Whoever was the first to ask meanwhile has the next
        one: for `gives_way` seconds no other takes it. A turn that ends in more than
        `longest_wait` seconds is of another pace, or a wrong clock, and does not count.
        """

    def get_run(self, spider: str) -> float | None:
        """Return when the spider's last finished run began: seconds since the epoch."""

    def put_run(self, spider: str, began_at: float) -> None:
        """Keep when a run of the spider began that has finished."""

    def close(self) -> None:
        """Save everything, and release all resources."""


def pack(body: bytes) -> bytes:
    """Return the form of a body in a store: deflated, if that is worth it."""
    if len(body) >= _WORTHWHILE:
        deflated = zlib.compress(body)
        if len(deflated) < len(body):
            return _DEFLATED + deflated
    return _PLAIN + body


def unpack(packed: bytes) -> bytes:
    """Return the body; a ValueError: it is damaged, too long, or in an unknown form."""
    if packed[:1] == _DEFLATED:
        inflating = zlib.decompressobj()
        try:
            body = inflating.decompress(packed[1:], LONGEST_BODY)
        except zlib.error as error:
            raise ValueError(f"a damaged body: {error}") from None
        if inflating.eof:
            return body
        raise ValueError("a damaged body: truncated, or longer than any that is stored")
    if packed[:1] == _PLAIN and len(packed) <= LONGEST_BODY:
        return packed[1:]
    raise ValueError(f"a body in an unknown form: {packed[:1]!r}")
