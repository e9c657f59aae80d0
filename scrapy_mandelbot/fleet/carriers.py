"""Which server carries a job: by the scheme of its URL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_mandelbot.job.job_store import StorageError
from scrapy_mandelbot.settings.values import JOB_SERVERS, is_server

if TYPE_CHECKING:
    from scrapy_mandelbot.fleet.job_server import JobServer, JobTerms


def open_job_server(url: str, terms: JobTerms) -> JobServer:
    """Return the carrier of a job, chosen by the scheme of its URL.

    StorageError: no installed package has one for it.
    """
    if is_server(url):
        from scrapy_mandelbot.fleet.redis_job import (  # noqa: PLC0415 -- optional
            RedisJobServer,
        )

        return RedisJobServer(url, terms)
    from importlib.metadata import entry_points  # noqa: PLC0415 -- rarely needed

    scheme = url.partition(":")[0]
    for entry_point in entry_points(group=JOB_SERVERS, name=scheme):
        carrier: JobServer = entry_point.load()(url, terms)
        return carrier
    raise StorageError(f"no installed package carries a job at {scheme}://")
