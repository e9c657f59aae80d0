"""The job on a server, without a crawl, for ``scrapy robots job``."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from mandelbot.formatting import without_credentials

from scrapy_mandelbot.fleet.job_server import JobTerms
from scrapy_mandelbot.fleet.shared_job import SharedJob
from scrapy_mandelbot.job.job_folder import JobFolder
from scrapy_mandelbot.job.job_store import StorageError
from scrapy_mandelbot.job.opened_job import (
    JobContents,
    NewRequest,
    StoredOutline,
)
from scrapy_mandelbot.job.outline import outline
from scrapy_mandelbot.job.site_handover import read_handover
from scrapy_mandelbot.job.site_states import site_of_line
from scrapy_mandelbot.settings.values import is_server

if TYPE_CHECKING:
    from scrapy_mandelbot.fleet.redis_view import RedisJobView
    from scrapy_mandelbot.job.opened_job import OpenedJob, Repair

_LEASE = 30.0  # seconds, of a worker that adds requests


def open_job_at(place: str) -> OpenedJob:
    """Open a job by its folder, or by ``URL#NAME`` if it is on a server.

    StorageError: there is none. ImportError: the server's package is not installed.
    """
    return ServerJob(place) if is_server(place) else JobFolder(place)


class ServerJob:
    """An :class:`~scrapy_mandelbot.job.opened_job.OpenedJob` on a server."""

    def __init__(self, place: str) -> None:
        url, _, name = place.partition("#")
        self.name = without_credentials(place)
        if not name:
            raise StorageError(
                "add the name of the job to the address: redis://…/0#shops"
            )
        from scrapy_mandelbot.fleet.redis_job import (  # noqa: PLC0415 -- optional
            RedisJobServer,
        )

        self._server = RedisJobServer(url, JobTerms(name, _LEASE))
        try:
            self._view = self._server.view()
            version = self._view.version()
            if version is None:
                raise StorageError(f"there is no job {name!r} there")  # noqa: TRY301 -- it is closed below
            self._version = version
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._server.close()

    def _read(self) -> RedisJobView:
        """Return a view of the job; StorageError: another version wrote it."""
        self._server.check(self._version)
        return self._view

    def requeue(self, wanted: str) -> list[str]:
        return self._read().requeue(wanted)

    def forget(self) -> None:
        self._view.forget()

    def repair(self) -> Repair | None:
        raise StorageError("a job on Redis has no file to repair")

    def reports(self) -> tuple[list[bytes], int]:
        return self._read().reports()

    def outlines(self) -> Iterator[StoredOutline]:
        for one in self._read().requests():
            yield StoredOutline(site_of_line(one.line), outline(one.body))

    def add(self, batches: Iterable[list[NewRequest]]) -> int:
        """As for a file; each batch by a worker without sites, which joins for it."""
        added = 0
        for batch in batches:
            job = SharedJob(self._server.join(), time.time)
            for one in batch:
                if one.is_lost:
                    job.see(one.fingerprint)
                    job.push(one.line, one.place, one.body)
                else:
                    job.push_new(*one[:4], None)
            added += len(batch)
            while job.uncommitted:
                answer = self._server.exchange(job.next_exchange(0, ""))
                if answer.is_lost:
                    raise StorageError(
                        "Redis was away for too long: some lines are not added"
                    )
                job.take_answer(answer)
                added -= answer.dropped
            self._server.leave(job.worker, job.token)
        return added

    def contents(self) -> JobContents:
        view = self._read()
        lengths = view.lengths()
        workers = view.workers()
        known = view.known()
        return JobContents(
            Counter({site: sum(counts) for site, counts in lengths.items()}),
            Counter({site: claimed for site, (_, claimed) in lengths.items()}),
            {site: read_handover(state) for site, state in known.items()},
            sum((Counter(why) for why in view.aside().values()), Counter()),
            is_running=bool(workers),
            workers=workers,
        )
