"""What is asked of a place where a job is kept.

A request is pushed, claimed when its turn comes, and acknowledged when it is settled. What a run
had claimed and not acknowledged waits again when the job is opened the next time. All that was done
since the last commit is kept together or not at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import scrapy.squeues
from scrapy.dupefilters import RFPDupeFilter
from scrapy.utils.misc import load_object

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.settings import BaseSettings

START = 0  # stands for ``start()`` where the number of a parent is asked for; no request has it


class StorageError(Exception):
    """Nothing can be kept for now, or what is kept cannot be read."""


class Place(NamedTuple):
    """Where in its line a request stands: the least is claimed first."""

    priority: int  # the lower, the sooner, as in Scrapy's queues: its priority, negated
    band: int  # within a priority the lower one first: start requests stand behind the others
    is_last_first: bool  # whether those that are pushed later are claimed sooner


class StoredRequest(NamedTuple):
    """A request that was claimed."""

    number: int
    body: bytes


class JobStore(Protocol):
    """Requests in lines, fingerprints seen, and what start() and cut callbacks gave.

    To claim, and to ask whether a fingerprint was seen, may raise StorageError. Fingerprints
    are whole numbers of 64 bits, with a sign.
    """

    @property
    def uncommitted(self) -> int:
        """How many operations are in memory only."""

    @property
    def uncommitted_bytes(self) -> int:
        """About how much memory they take."""

    def lengths(self) -> dict[str, int]:
        """Return how many requests wait in each line, of those that have any."""

    def push(self, line: str, place: Place, body: bytes) -> int:
        """Add a request; return its number, which no other one of the job has."""

    def push_new(
        self, line: str, place: Place, body: bytes, fingerprint: int, parent: int | None
    ) -> int:
        """Add a request and note its fingerprint as seen, which it was not; return its number."""

    def push_child(
        self, line: str, place: Place, body: bytes, fingerprint: int, parent: int
    ) -> int:
        """Add a request that no fingerprint stops when its parent gives it again, and count it."""

    def claim(self, line: str) -> StoredRequest | None:
        """Take the next request of a line; it stays in the job until it is acknowledged."""

    def put_back(self, number: int, line: str, place: Place, body: bytes) -> None:
        """Have a request that was claimed wait again, as the newest of its line."""

    def acknowledge(self, number: int) -> None:
        """Forget a request that was claimed, and what was counted of its children."""

    def has_seen(self, fingerprint: int) -> bool:
        """Return whether the fingerprint was seen."""

    def see(self, fingerprint: int) -> None:
        """Note a fingerprint as seen; it was not."""

    def forget_children(self, parent: int) -> None:
        """Forget what was counted of a parent's children."""


QUEUES: dict[type, bool] = {
    queue: "Lifo" in name
    for name, queue in vars(scrapy.squeues).items()
    if name.startswith(("Pickle", "Marshal"))
}
"""Scrapy's disk queues, and whether what comes last is asked for first."""


def are_scrapys_queues(settings: BaseSettings) -> bool:
    """Return whether the settings choose Scrapy's own dupe filter and disk queues.

    They may be loaded: what they are is asked when the reactor is there.
    """
    names = ("SCHEDULER_DISK_QUEUE", "SCHEDULER_START_DISK_QUEUE")
    queues = [load_object(settings[name]) for name in names if settings[name]]
    return load_object(settings["DUPEFILTER_CLASS"]) is RFPDupeFilter and all(
        queue in QUEUES for queue in queues
    )


class LineOrder:
    """In which order a line is asked for, as the settings choose Scrapy's queues.

    From its end, as SCHEDULER_DISK_QUEUE has it, and start requests as SCHEDULER_START_DISK_QUEUE
    does; None: they have no line of their own.
    """

    def __init__(self, *, is_last_first: bool, start_is_last_first: bool | None) -> None:
        self._is_last_first = is_last_first
        self._start_is_last_first = start_is_last_first

    @classmethod
    def of(cls, settings: BaseSettings) -> LineOrder:
        start = settings["SCHEDULER_START_DISK_QUEUE"]
        return cls(
            is_last_first=QUEUES[load_object(settings["SCHEDULER_DISK_QUEUE"])],
            start_is_last_first=QUEUES[load_object(start)] if start else None,
        )

    def place(self, request: Request) -> Place:
        if self._start_is_last_first is not None and request.meta.get("is_start_request"):
            return Place(-request.priority, 1, self._start_is_last_first)
        return Place(-request.priority, 0, self._is_last_first)
