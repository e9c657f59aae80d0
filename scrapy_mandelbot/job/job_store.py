"""The contract of a job's store.

A request is pushed, claimed when its turn comes, and acknowledged when it is done.
Requests that a run claimed and did not acknowledge wait again when the job is next
opened. Everything since the last commit is stored together or not at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import scrapy.squeues
from scrapy.dupefilters import RFPDupeFilter
from scrapy.utils.misc import load_object

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.settings import BaseSettings

# Parent numbers that no request has: Scrapy's default ``start()``, and a spider's own.
START = 0
OWN_START = -2


class StorageError(Exception):
    """The job cannot be written for now, or cannot be read."""

    ends_run = ""
    """The reason with which a run ends at once; empty: it tries again."""


class Place(NamedTuple):
    """The position of a request in its line: the least is claimed first."""

    priority: int  # the lower, the sooner, as in Scrapy's queues: its priority, negated
    # within a priority the lower one first: start requests stand behind the others
    band: int
    is_last_first: bool  # whether those that are pushed later are claimed sooner


class StoredRequest(NamedTuple):
    """A request that was claimed."""

    number: int
    body: bytes


class JobStore(Protocol):
    """Requests in lines, fingerprints, and what interrupted callbacks yielded.

    :meth:`claim` and :meth:`has_seen` may raise StorageError. Fingerprints are signed
    64-bit integers.
    """

    @property
    def uncommitted(self) -> int:
        """How many operations are in memory only."""

    @property
    def uncommitted_bytes(self) -> int:
        """About how much memory they take."""

    def lengths(self) -> dict[str, int]:
        """Return the number of waiting requests of each line that has any."""

    def push(self, line: str, place: Place, body: bytes) -> int:
        """Add a request; return its number, unique in the job."""

    def push_new(
        self, line: str, place: Place, body: bytes, fingerprint: int, parent: int | None
    ) -> int:
        """Add a request and mark its new fingerprint as seen; return its number."""

    def push_child(
        self, line: str, place: Place, body: bytes, fingerprint: int, parent: int
    ) -> int:
        """Add a request with ``dont_filter``, and count it for its parent."""

    def claim(self, line: str) -> StoredRequest | None:
        """Take the next request of a line; it stays until it is acknowledged."""

    def put_back(self, number: int, line: str, place: Place, body: bytes) -> None:
        """Return a claimed request to its line, as the newest."""

    def acknowledge(self, number: int) -> None:
        """Delete a claimed request and the counts of its children."""

    def has_seen(self, fingerprint: int) -> bool:
        """Return whether the fingerprint was seen."""

    def see(self, fingerprint: int) -> None:
        """Mark an unseen fingerprint as seen."""

    def forget_children(self, parent: int) -> None:
        """Delete the counts of a parent's children."""


QUEUES: dict[type, bool] = {
    queue: "Lifo" in name
    for name, queue in vars(scrapy.squeues).items()
    if name.startswith(("Pickle", "Marshal"))
}
"""Scrapy's disk queues, and whether they are LIFO."""


JOB_FILE = "job.sqlite"
"""The file of a job, in JOBDIR."""


def are_scrapys_queues(settings: BaseSettings) -> bool:
    """Return whether the settings choose Scrapy's own dupe filter and disk queues.

    It loads them, so it is called once the reactor is installed.
    """
    names = ("SCHEDULER_DISK_QUEUE", "SCHEDULER_START_DISK_QUEUE")
    queues = [load_object(settings[name]) for name in names if settings[name]]
    return load_object(settings["DUPEFILTER_CLASS"]) is RFPDupeFilter and all(
        queue in QUEUES for queue in queues
    )


class LineOrder(NamedTuple):
    """The order within a line, as Scrapy's queue settings choose it.

    LIFO or FIFO from SCHEDULER_DISK_QUEUE, and for start requests from
    SCHEDULER_START_DISK_QUEUE; None: they are queued with the others.
    """

    is_last_first: bool
    start_is_last_first: bool | None

    @classmethod
    def of(cls, settings: BaseSettings) -> LineOrder:
        start = settings["SCHEDULER_START_DISK_QUEUE"]
        start_is_last_first = None
        if start:
            start_is_last_first = QUEUES[load_object(start)]
        is_last_first = QUEUES[load_object(settings["SCHEDULER_DISK_QUEUE"])]
        return cls(is_last_first, start_is_last_first)

    def place(self, request: Request) -> Place:
        if self.start_is_last_first is not None and request.meta.get(
            "is_start_request"
        ):
            return Place(-request.priority, 1, self.start_is_last_first)
        return Place(-request.priority, 0, self.is_last_first)
