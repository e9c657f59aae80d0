"""What a worker of a job on Redis and its server say as it begins and ends.

In between they make exchanges (``fleet/changes.py``).
"""

from __future__ import annotations

import hashlib
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_mandelbot import engine
from scrapy_mandelbot.job.job_store import StorageError
from scrapy_mandelbot.job.requests import identity_of
from scrapy_mandelbot.settings.config import setting_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from scrapy.settings import BaseSettings

    from scrapy_mandelbot.settings.config import Config

_OF_SCRAPY = (
    "USER_AGENT",
    "COOKIES_ENABLED",
    "REQUEST_FINGERPRINTER_CLASS",
    "DOWNLOAD_DELAY",
    engine.AT_ONCE,
    "DEPTH_LIMIT",
)
_OF_PACKAGE = (
    "obey",
    "agent",
    "dialect",
    "pace",
    "robot_tags",
    "purposes",
    "usage",
    "job_deliveries",
    "job_pickles",
    "job_cookies",
    "job_errors",
)
"""Attributes of `Config`."""
_DIGITS = 8  # of a value's digest


class ServerAwayError(StorageError):
    """The server was not reached, or answers nobody yet: it may answer soon."""


class ServerRefusedError(StorageError):
    """The server refuses the user, the password or a command of this worker."""


def settings_digests(
    config: Config, settings: BaseSettings, spider: Any
) -> dict[str, str]:
    """Return a digest of each setting in which all workers of a job should agree.

    They decide what is sent to a site, or whether one worker can read what another one
    has written. The keys are names as users write them.
    """
    values = {name: settings.get(name) for name in _OF_SCRAPY}
    values["USER_AGENT"] = getattr(spider, "user_agent", None) or values["USER_AGENT"]
    values["COOKIES_ENABLED"] = settings.getbool("COOKIES_ENABLED")
    values["DOWNLOAD_DELAY"] = settings.getfloat("DOWNLOAD_DELAY")
    fingerprinter = values["REQUEST_FINGERPRINTER_CLASS"]
    if isinstance(fingerprinter, type):
        path = f"{fingerprinter.__module__}.{fingerprinter.__qualname__}"
        values["REQUEST_FINGERPRINTER_CLASS"] = path
    for attribute, name in setting_names(_OF_PACKAGE).items():
        values[name] = getattr(config, attribute)
    return {name: _digest(value) for name, value in values.items()}


def differing(own: Mapping[str, str], others: Iterable[str]) -> tuple[str, ...]:
    """Return the names of settings whose digests differ from those of any other worker.

    `others`: for each worker what :func:`written_digests` returned there. A setting
    that another version of the package does not compare does not differ.
    """
    found = set()
    for text in others:
        for entry in text.split():
            name, _, digest = entry.rpartition("=")
            if own.get(name, digest) != digest:
                found.add(name)
    return tuple(sorted(found))


def written_digests(digests: Mapping[str, str]) -> str:
    """Return digests as a worker leaves them with the job."""
    return " ".join(f"{name}={digest}" for name, digest in digests.items())


def _digest(value: object) -> str:
    return hashlib.sha256(str(value).encode()).hexdigest()[:_DIGITS]


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
    settings: Mapping[str, str] = MappingProxyType({})
    """Of `settings_digests`: the join names those in which other workers differ."""

    @classmethod
    def of(cls, config: Config, spider: Any, settings: BaseSettings) -> JobTerms:
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
            settings=settings_digests(config, settings, spider),
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
    differing: tuple[str, ...] = ()  # settings in which other workers differ


class CookieReply(NamedTuple):
    """What a job has of cookies that a worker does not know."""

    last: int  # the number of the last change that is known now
    has_more: bool
    bodies: list[bytes]
