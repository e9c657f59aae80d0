"""What a worker of a job on Redis and its server say as it begins and ends.

In between they make exchanges (``fleet/changes.py``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_mandelbot.job.requests import identity_of

if TYPE_CHECKING:
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
        if config.job_name:
            project = ""
        name = str(spider.name)
        return cls(
            name=config.job_name or name,
            lease=config.job_lease,
            version=version,
            deliveries=config.job_deliveries,
            project=project,
            spider="" if reads_start_urls else name,
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
