"""A job without a crawl: what ``scrapy robots job`` reads of it, and does to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from scrapy_mandelbot.job.job_store import Place
    from scrapy_mandelbot.job.site_handover import SiteHandover
    from scrapy_mandelbot.politeness.pause_policy import LeftPause


class NewRequest(NamedTuple):
    """A request to add to a job."""

    line: str
    place: Place
    body: bytes
    fingerprint: int
    is_lost: bool = False
    """Whether a crawl has lost it, so that it is sent again though it was seen."""


class StoredOutline(NamedTuple):
    """A request of a job, read without running its code."""

    site: str
    about: dict[str, Any] | None
    """URL, method, priority, callback and depth; None: it cannot be read."""


class JobContents(NamedTuple):
    """What is in a job, whether in a file or on a server.

    Counts are of requests, by site.
    """

    requests: Counter[str]
    """Without those set aside for good."""
    in_flight: Counter[str]
    """How many of them were in flight at the last commit."""
    known: Mapping[str, SiteHandover]
    """By site, what its next owner gets: pauses that had not ended, and its budget."""
    given_up: Mapping[str, int]
    """Those set aside for good, by the reason."""
    is_running: bool
    sections: Mapping[str, Counter[str]] = {}
    """Those that are set aside with a section, by site and section."""
    pauses: Mapping[str, LeftPause] = {}
    """From the store."""
    turns: Mapping[str, float] = {}
    """When a site's crawl delay ends."""
    workers: Mapping[int, tuple[float, int]] = {}
    """The seconds left of a worker's lease, and how many sites it has."""

    def without_complete(self) -> JobContents:
        """Return the contents without the sites of which nothing waits."""

        def unfinished(found: Mapping[str, Any]) -> dict[str, Any]:
            return {site: found[site] for site in found if self.requests[site]}

        return self._replace(
            known=unfinished(self.known), pauses=unfinished(self.pauses)
        )


class Repair(NamedTuple):
    """What was read of a damaged file."""

    aside: Path
    """The damaged file."""
    requests: int
    fingerprints: int
    lost: int | None
    """Requests that are lost, at least; None: nobody knows."""


class OpenedJob(Protocol):
    """A job in a folder or on a server. Calls raise StorageError where they fail."""

    name: str
    """Its folder, or its address without credentials."""

    def contents(self) -> JobContents:
        """Return what is in it."""

    def outlines(self) -> Iterator[StoredOutline]:
        """Iterate over all its requests, those set aside too."""

    def reports(self) -> tuple[list[bytes], int]:
        """Return what workers of its last run have left, and how many are gone."""

    def add(self, batches: Iterable[list[NewRequest]]) -> int:
        """Add requests that it has not seen, or has lost; return how many."""

    def requeue(self, wanted: str) -> list[str]:
        """End pauses, and restore what is set aside; return the sites.

        `wanted`: a site, the name of an exception of a callback; empty: all.
        """

    def repair(self) -> Repair | None:
        """Replace a damaged file by what can be read of it; None: it is whole."""

    def forget(self) -> None:
        """Delete it."""

    def close(self) -> None:
        """Let go of the server."""
