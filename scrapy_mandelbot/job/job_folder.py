"""The job in a folder, without a crawl, for ``scrapy robots job``."""

from __future__ import annotations

import json
import sqlite3
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path

from scrapy_mandelbot.crawl import STORE_FILE
from scrapy_mandelbot.job import (
    deliveries,
    job_file,
    repair,
    site_states,
)
from scrapy_mandelbot.job.job_lock import LOCK, JobLock
from scrapy_mandelbot.job.job_store import JOB_FILE, StorageError
from scrapy_mandelbot.job.opened_job import (
    JobContents,
    NewRequest,
    Repair,
    StoredOutline,
)
from scrapy_mandelbot.job.opening import open_locked
from scrapy_mandelbot.job.outline import outline
from scrapy_mandelbot.job.site_handover import read_handover
from scrapy_mandelbot.store.opener import open_to_look

_REQUESTS = "FROM requests JOIN lines ON lines.line = abs(requests.line)"
_NUMBERED = "WHERE number IN (SELECT value FROM json_each(?))"


class JobFolder:
    """An :class:`~scrapy_mandelbot.job.opened_job.OpenedJob` in a folder."""

    def __init__(self, place: str) -> None:
        self._folder = Path(place)
        self.name = str(self._folder)
        self._path = self._folder / JOB_FILE
        names = (JOB_FILE, job_file.REPAIRED_FILE)
        if not any((self._folder / one).exists() for one in names):
            raise StorageError(f"there is no job here ({JOB_FILE})")
        self._is_running = JobLock(self._folder / LOCK).is_held()

    def close(self) -> None:
        """Nothing is open between calls."""

    def outlines(self) -> Iterator[StoredOutline]:
        query = f"SELECT name, body, checksum, number {_REQUESTS}"
        with (
            closing(job_file.connect_to_read(self._path)) as database,
            job_file.AS_OURS,
        ):
            for name, body, *written in database.execute(query):
                is_whole = job_file.is_as_written(body, *written)
                site = site_states.site_of_line(job_file.name_of_line(name))
                read = outline(body) if is_whole else None
                yield StoredOutline(site, read)

    def reports(self) -> tuple[list[bytes], int]:
        raise StorageError(
            "workers of a job on a server leave reports; of a folder, MANDELBOT_REPORT"
            " has the report"
        )

    def requeue(self, wanted: str) -> list[str]:
        if self._is_running:
            raise StorageError("a run has this job; its console can resume a site")
        with ExitStack() as opened:
            lock, job = open_locked(self._folder, is_synced=True)
            opened.callback(lock.release)
            opened.callback(job.close)
            store = open_to_look(self._folder / STORE_FILE)
            opened.callback(store.close)
            found = [site for site in store.get_pauses() if wanted in {"", site}]
            for site in found:
                store.put_pause(site, None)
            for name, state in job.states.with_prefix(
                site_states.IN_JOB + wanted
            ).items():
                site = name.removeprefix(site_states.IN_JOB)
                known = read_handover(state)
                if wanted in {"", site} and known.pauses:
                    left = known._replace(pauses=()).written()
                    job.states.put(name, left or None)
                    found.append(site)
            back = deliveries.bring_back(
                job,
                lambda line, raised: (
                    wanted in {"", site_states.site_of_line(line), raised}
                ),
            )
            job.commit()
        return sorted({*found, *map(site_states.site_of_line, back)})

    def forget(self) -> None:
        raise StorageError("delete its folder")

    def repair(self) -> Repair | None:
        return repair.repair(self._folder)

    def add(self, batches: Iterable[list[NewRequest]]) -> int:
        added = 0
        with ExitStack() as opened:
            lock, job = open_locked(self._folder, is_synced=True)
            opened.callback(lock.release)
            opened.callback(job.close)
            for batch in batches:
                for one in batch:
                    is_seen = job.has_seen(one.fingerprint)
                    if not is_seen:
                        job.see(one.fingerprint)
                    if one.is_lost or not is_seen:
                        job.push(one.line, one.place, one.body)
                        added += 1
                job.commit()
        return added

    def contents(self) -> JobContents:
        with (
            closing(job_file.connect_to_read(self._path)) as database,
            job_file.AS_OURS,
        ):
            claimed = (
                job_file.read_state(database, deliveries.CLAIMED) or b"[]"
            ).decode()
            why = deliveries.read_aside(job_file.read_state(database, deliveries.ASIDE))
            in_flight = _by_line(database, _NUMBERED, claimed)
            lines = _by_line(database) - _by_line(
                database, _NUMBERED, json.dumps(list(why))
            )
            states = job_file.read_states(database, site_states.IN_JOB)
        with closing(open_to_look(self._folder / STORE_FILE)) as store:
            pauses = store.get_pauses()
            turns = store.get_turns(time.time())
        sections: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for name, count in (lines - in_flight).items():
            if section := site_states.section_of_line(name):
                sections[site_states.site_of_line(name)][section] += count
        known = {
            name.removeprefix(site_states.IN_JOB): read_handover(state)
            for name, state in states.items()
        }
        return JobContents(
            _by_site(lines),
            _by_site(in_flight),
            known,
            Counter(why.values()),
            self._is_running,
            sections,
            pauses,
            turns,
        )


def _by_site(lines: Mapping[str, int]) -> Counter[str]:
    sites: Counter[str] = Counter()
    for name, count in lines.items():
        sites[site_states.site_of_line(name)] += count
    return sites


def _by_line(
    database: sqlite3.Connection, where: str = "", *values: str
) -> Counter[str]:
    query = f"SELECT name, count(*) {_REQUESTS} {where} GROUP BY name"
    rows = database.execute(query, values)
    return Counter({job_file.name_of_line(name): count for name, count in rows})
