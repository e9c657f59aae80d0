"""Leases in a store's file: who of several crawls may do something.

Each is asked for within one transaction of the store, which no other process's comes
between. A lease ends by the machine's clock at last.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_mandelbot.store.contract import Lease
from scrapy_mandelbot.store.rows import COPY_OF, NO_ROW_OF_OURS, as_copy

if TYPE_CHECKING:
    from scrapy_mandelbot.store.contract import CachedRobots

# seconds; a lease taken that far ahead was dated by a wrong clock
_ANOTHER_CLOCK = 60.0
_DUE = {
    Lease.PROBE: "SELECT until FROM pauses WHERE site = ?",
    Lease.TURN: "SELECT due FROM turns WHERE site = ?",
}


def lease_name(lease: Lease, site: str) -> str:
    return f"{lease.value}:{site}"


class LeaseRequest(NamedTuple):
    """A crawl's request for a lease, when no pause or turn holds it back."""

    lease: Lease
    key: str
    lease_for: float
    answer: Callable[..., None]
    longest_wait: float

    @property
    def name(self) -> str:
        return lease_name(self.lease, self.key)

    def try_to_claim(
        self, database: sqlite3.Connection, owner: str, now: float
    ) -> tuple[float]:
        """Return the seconds after which to ask again; 0: the owner has the lease."""
        row = database.execute(_DUE[self.lease], (self.key,)).fetchone()
        left = 0.0 if row is None else seconds_until(row[0], now)
        if 0.0 < left <= self.longest_wait:
            return (left,)
        return (LeaseTable(database, owner, now).take(self.name, self.lease_for),)


class FetchClaim(NamedTuple):
    """A crawl's request to fetch a robots.txt of which there is no fresh copy."""

    site: str
    fresh_since: float
    lease_for: float
    answer: Callable[..., None]

    @property
    def name(self) -> str:
        return lease_name(Lease.FETCH, self.site)

    def try_to_claim(
        self, database: sqlite3.Connection, owner: str, now: float
    ) -> tuple[CachedRobots | None, float]:
        """Return the copy, and for how many seconds another crawl has the lease.

        0: the owner has it, or the copy is fresh.
        """
        row = database.execute(COPY_OF, (self.site,)).fetchone()
        copy = None
        if row is not None:
            try:
                copy = as_copy(row)
            except NO_ROW_OF_OURS:
                pass  # it is fetched anew
            else:
                if copy.fetched_at > self.fresh_since:
                    return copy, 0.0
        return copy, LeaseTable(database, owner, now).take(self.name, self.lease_for)


class LeaseTable(NamedTuple):
    """The leases of a file, as one owner sees them within a transaction."""

    database: sqlite3.Connection
    owner: str
    now: float

    def take(self, name: str, lease_for: float) -> float:
        """Take a lease; return for how many seconds another has it instead."""
        whose, left = self.held_by(name)
        if left > 0 and whose != self.owner:
            return left
        values = name, self.owner, self.now, self.now + lease_for
        self.database.execute(
            "INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?)", values
        )
        return 0.0

    def held_by(self, name: str) -> tuple[Any, float]:
        """Return the owner of a lease, and for how many seconds yet."""
        query = "SELECT owner, taken_at, until FROM leases WHERE name = ?"
        row = self.database.execute(query, (name,)).fetchone()
        if row is None or seconds_until(row[1], self.now) > _ANOTHER_CLOCK:
            return None, 0.0
        return row[0], seconds_until(row[2], self.now)

    def release(self, name: str, keep_for: float) -> None:
        """Give a lease back that the owner has, or end it after some seconds."""
        if keep_for > 0:
            values = self.now, self.now + keep_for, name, self.owner
            self.database.execute(
                "UPDATE leases SET taken_at = ?, until = ?"
                " WHERE name = ? AND owner = ?",
                values,
            )
        else:
            self.database.execute(
                "DELETE FROM leases WHERE name = ? AND owner = ?", (name, self.owner)
            )


def seconds_until(moment: Any, now: float) -> float:
    """Return the seconds until a stored moment; 0: it is over, or no time at all."""
    try:
        left = float(moment) - now
    except NO_ROW_OF_OURS:
        return 0.0
    return max(0.0, left) if isfinite(left) else 0.0
