"""What a job that workers share asks of the server that carries it.

:class:`JobServer` has six calls, each of which the server applies as a whole or not at
all. ``docs/machines.rst`` has what a carrier promises, and
``tests/fleet/test_carrier_contract.py`` the tests of it. A carrier is chosen by the
scheme of ``MANDELBOT_JOB``: Redis and Valkey are part of this package, others are found
by their entry point in the group ``scrapy_mandelbot.job_servers``, which takes the URL
and :class:`JobTerms`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from scrapy_mandelbot.job.requests import identity_of

if TYPE_CHECKING:
    from scrapy_mandelbot.fleet.changes import Claimed, Reply
    from scrapy_mandelbot.fleet.holdings import Exchange, HandedOverSite
    from scrapy_mandelbot.settings.config import Config


class JobTerms(NamedTuple):
    """Which job a worker wants, and what its server has to know of the worker."""

    name: str
    lease: float = 30.0
    """Seconds; a worker that is silent for longer loses its sites."""
    version: str = ""
    """Of the worker's spider: others may be able to read what this one cannot."""
    deliveries: int = 3
    """Deaths of workers after which a request is set aside."""
    project: str = ""
    """The owner of the job; empty: any."""
    spider: str = ""
    """Name of a spider that reads no start URLs from the server itself."""

    @classmethod
    def of(cls, config: Config, spider: Any) -> JobTerms:
        """Return the terms of a crawl's settings and of this version of its spider."""
        project, version = identity_of(spider)
        reads_start_urls = hasattr(spider, "redis_key")
        return cls(
            name=config.job_name or str(spider.name),
            lease=config.job_lease,
            version=version,
            deliveries=config.job_deliveries,
            project="" if config.job_name else project,
            spider="" if reads_start_urls else str(spider.name),
        )


class FinishedJob(NamedTuple):
    """A job that a worker joins after it finished, with nothing new to do."""

    at: float  # seconds since the epoch, by the server's clock
    requests: int  # fingerprints that the job filters


class JoinReply(NamedTuple):
    """The server's reply to a worker that joins a job."""

    worker: int  # its number, unique in the job as far as the server knows
    run: int
    waiting: int  # sites that wait for a worker
    others: int  # other workers
    born: int  # when the job began; another time is another job
    token: str  # unique, where a server that was set back reuses the number
    risks: tuple[str, ...] = ()  # what is wrong with the server, at the first join
    finished: FinishedJob | None = None  # None: the job has never, or has work again


class CookieReply(NamedTuple):
    """What a job has of cookies that a worker does not know."""

    last: int  # the number of the last change that is known now
    has_more: bool
    bodies: list[bytes]


class JobView(Protocol):
    """What ``scrapy robots job`` reads of a job, and does to it."""

    def exists(self) -> bool:
        """Return whether any worker has ever joined the job."""

    def lengths(self) -> dict[str, tuple[int, int]]:
        """Return by site how many requests wait, and how many are claimed."""

    def workers(self) -> dict[int, tuple[float, int]]:
        """Return by worker the seconds left of its lease, and how many sites it has."""

    def left(self) -> dict[str, bytes]:
        """Return by site the state that its owner left for the next one."""

    def aside(self) -> dict[str, dict[str, int]]:
        """Return by site how many requests are set aside, by reason."""

    def requests(self) -> Iterator[Claimed]:
        """Yield all requests, in any order: waiting, claimed and set aside."""

    def reports(self) -> tuple[list[bytes], int]:
        """Return what workers of the last run have reported, and how many are gone.

        One for each process, the last that it wrote.
        """

    def requeue(self, wanted: str) -> list[str]:
        """Requeue what is set aside, and end pauses; return the sites.

        `wanted`: a site, the name of an exception, or empty: all.
        """

    def forget(self) -> None:
        """Delete the job; a StorageError while a worker has it."""


class JobServer(Protocol):
    """A job on a server that workers share.

    Calls are made from one thread at a time, and raise StorageError where the server
    cannot be reached. Then it is unknown whether a call was applied.
    """

    @property
    def where(self) -> str:
        """The job and its server, as a log names them: without a password."""

    def join(self) -> JoinReply:
        """Join the job; a StorageError if it has another format or project."""

    def exchange(self, exchange: Exchange) -> Reply:
        """Apply all that a worker says, and return what it gets, or do neither.

        The same exchange made twice is applied once.
        """

    def sends(self, worker: int, token: str, numbers: Iterable[int]) -> bool:
        """Record which requests a worker has sent: if it dies, one may be the cause.

        False: the lease is lost, and nothing was recorded.
        """

    def cookies(
        self, known: int, most: int, limit: int, changes: Iterable[tuple[str, bytes]]
    ) -> CookieReply:
        """Store changes by key; return up to `most` cookies that changed after `known`.

        The last change of a key counts. A number below `known`: the server has an older
        state of the job. `limit`: how many cookies it stores; it drops those that
        changed longest ago. A job that finishes loses them all.
        """

    def leave(
        self, worker: int, token: str, left: Iterable[HandedOverSite] = ()
    ) -> None:
        """Leave the job: other workers get its sites.

        `left`: states of sites that it held, for those without another owner by now.
        """

    def view(self) -> JobView:
        """Return what reads the job and mends it, without being a worker."""

    def close(self) -> None:
        """Disconnect."""
