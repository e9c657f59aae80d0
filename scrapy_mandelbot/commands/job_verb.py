"""The verb ``job``: what waits in a job and why; ends pauses on request."""

from __future__ import annotations

import json
import sqlite3
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mandelbot.cli import Result, UnavailableError
from mandelbot.formatting import without_credentials

from scrapy_mandelbot.commands import stored_report
from scrapy_mandelbot.commands.project_verbs import open_store
from scrapy_mandelbot.crawl import STORE_FILE
from scrapy_mandelbot.fleet.carriers import open_job_server
from scrapy_mandelbot.fleet.job_server import JobTerms
from scrapy_mandelbot.fleet.shared_job import SharedJob
from scrapy_mandelbot.job import (
    deliveries,
    job_file,
    outline,
    salvage,
    site_budgets,
    site_states,
)
from scrapy_mandelbot.job.job_lock import LOCK, JobLock
from scrapy_mandelbot.job.job_store import StorageError
from scrapy_mandelbot.settings.values import is_job_server

if TYPE_CHECKING:
    from scrapy.settings import Settings

    from scrapy_mandelbot.commands.project import ProjectInvocation

WATCHED_EVERY = 2.0
"""Seconds between two looks of ``--watch``."""
_CLEAR_SCREEN = "\x1b[H\x1b[2J\x1b[3J"
_AT_ONCE = 500  # requests that are added at a time
_LEASE = 30.0  # seconds, of a worker that adds requests
_REQUESTS = "FROM requests JOIN lines ON lines.line = abs(requests.line)"
_NUMBERED = "WHERE number IN (SELECT value FROM json_each(?))"

_NewRequest = tuple[str, Any, bytes, int]  # line, place, body and fingerprint


class _FileJob:
    """The job in a folder."""

    def __init__(self, place: str) -> None:
        self._folder = Path(place)
        self.name = str(self._folder)
        self._path = self._folder / salvage.FILE
        if not self._path.exists():
            raise StorageError(f"there is no job here ({salvage.FILE})")
        self._is_running = JobLock(self._folder / LOCK).is_held()

    def close(self) -> None:
        """Nothing is open between calls."""

    def requests(self) -> Iterator[tuple[str, bytes]]:
        query = f"SELECT name, body, checksum, number {_REQUESTS}"
        with (
            closing(job_file.connect_to_read(self._path)) as database,
            job_file.as_ours(),
        ):
            for name, body, *written in database.execute(query):
                yield name, body if job_file.is_as_written(body, *written) else b""

    def requeue(self, wanted: str) -> list[str]:
        if self._is_running:
            raise StorageError("a run has this job; its console can resume a site")
        with ExitStack() as opened:
            lock, job = salvage.open_locked(self._folder, is_synced=True)
            opened.callback(lock.release)
            opened.callback(job.close)
            store = opened.enter_context(closing(open_store(self._folder / STORE_FILE)))
            found = [site for site in store.get_pauses() if wanted in {"", site}]
            for site in found:
                store.put_pause(site, None)
            for name in job.get_states(site_states.IN_JOB + wanted):
                site = name.removeprefix(site_states.IN_JOB)
                if wanted in {"", site}:
                    job.put_state(name, None)
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

    def add(self, batches: Iterable[list[_NewRequest]]) -> int:
        """Add requests that the job has not seen, and return how many."""
        added = 0
        with ExitStack() as opened:
            lock, job = salvage.open_locked(self._folder, is_synced=True)
            opened.callback(lock.release)
            opened.callback(job.close)
            for batch in batches:
                for one in batch:
                    if not job.has_seen(one[-1]):
                        job.push_new(*one, None)
                        added += 1
                job.commit()
        return added

    def contents(self) -> stored_report.JobContents:
        with (
            closing(job_file.connect_to_read(self._path)) as database,
            job_file.as_ours(),
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
            budgets = job_file.read_states(database, site_budgets.IN_JOB)
        with closing(open_store(self._folder / STORE_FILE)) as store:
            pauses = store.get_pauses()
            turns = store.get_turns(time.time())
        sections: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for name, count in (lines - in_flight).items():
            if section := site_states.section_of_line(name):
                sections[site_states.site_of_line(name)][section] += count
        return stored_report.JobContents(
            _by_site(lines),
            _by_site(in_flight),
            {name.removeprefix(site_states.IN_JOB): states[name] for name in states},
            Counter(why.values()),
            self._is_running,
            sections,
            pauses,
            turns,
            budgets=_read_budgets(
                {
                    name.removeprefix(site_budgets.IN_JOB): value
                    for name, value in budgets.items()
                }
            ),
        )


def _read_budgets(
    values: Mapping[str, bytes],
) -> dict[str, site_budgets.StoredBudget]:
    read = {site: site_budgets.read_budget(value) for site, value in values.items()}
    return {site: stored for site, stored in read.items() if stored is not None}


def _by_site(lines: Mapping[str, int]) -> Counter[str]:
    sites: Counter[str] = Counter()
    for name, count in lines.items():
        sites[site_states.site_of_line(name)] += count
    return sites


def _by_line(
    database: sqlite3.Connection, where: str = "", *values: str
) -> Counter[str]:
    query = f"SELECT name, count(*) {_REQUESTS} {where} GROUP BY name"
    return Counter(dict(database.execute(query, values)))


class _ServerJob:
    """The job on a server, ``redis://…#NAME``."""

    def __init__(self, place: str) -> None:
        url, _, name = place.partition("#")
        self.name = without_credentials(place)
        if not name:
            raise StorageError(
                "add the name of the job to the address: redis://…/0#shops"
            )
        try:
            self._server = open_job_server(url, JobTerms(name, _LEASE))
        except ImportError as error:
            raise UnavailableError(
                f"{error}: pip install scrapy-mandelbot[redis]"
            ) from None
        self.close = self._server.close
        self._view = self._server.view()
        self.requeue = self._view.requeue
        self.forget = self._view.forget
        if not self._view.exists():
            self.close()
            raise StorageError(f"there is no job {name!r} there")

    def requests(self) -> Iterator[tuple[str, bytes]]:
        return ((one.line, one.body) for one in self._view.requests())

    def add(self, batches: Iterable[list[_NewRequest]]) -> int:
        """As for a file; each batch by a worker without sites, which joins for it."""
        added = 0
        for batch in batches:
            job = SharedJob(self._server.join(), time.time)
            for one in batch:
                job.push_new(*one, None)
            answer = self._server.exchange(job.next_exchange(0, ""))
            self._server.leave(job.worker, job.token)
            if answer.is_lost:
                raise StorageError(
                    "Redis was away for too long: some lines are not added"
                )
            added += len(batch) - answer.dropped
        return added

    def contents(self) -> stored_report.JobContents:
        lengths = self._view.lengths()
        workers = self._view.workers()
        left = self._view.left()
        return stored_report.JobContents(
            Counter({site: sum(counts) for site, counts in lengths.items()}),
            Counter({site: claimed for site, (_, claimed) in lengths.items()}),
            left,
            sum((Counter(why) for why in self._view.aside().values()), Counter()),
            is_running=bool(workers),
            workers=workers,
            budgets={
                site: stored
                for site, state in left.items()
                if (stored := site_states.budget_in(state)) is not None
            },
        )


def look_at_job(invocation: ProjectInvocation) -> Result:
    """Report what waits, export or add requests, or end the pauses of some sites."""
    opts = invocation.opts
    place = opts.job
    site = opts.site or ""
    if opts.watch:
        return _watched(invocation, place)
    try:
        with closing((_ServerJob if is_job_server(place) else _FileJob)(place)) as job:
            if opts.export:
                return _exported(job.requests())
            if opts.what == "requeue":
                return _requeued(job.requeue(site), site)
            if opts.what == "forget":
                job.forget()
                return Result(0, {"forgotten": job.name}, f"{job.name} is deleted\n")
            if opts.what == "add":
                with Path(site).open(encoding="utf-8", errors="replace") as lines:
                    return _added(job, lines, invocation.settings)
            report, text = _report(invocation, job)
            return Result(0, {"folder": job.name, **report}, text)
    except (StorageError, ValueError, OSError) as error:
        raise UnavailableError(f"{without_credentials(place)}: {error}") from None


def _report(
    invocation: ProjectInvocation, job: _FileJob | _ServerJob
) -> tuple[dict[str, Any], str]:
    """Return what waits in a job, as data and as text."""
    tries = int(invocation.setting("pause_tries"))
    paint = invocation.terminal.paint
    contents = job.contents()
    if invocation.opts.only_unfinished:
        contents = contents.without_complete()
    return stored_report.job_report(contents, tries, time.time(), paint)


def _watched(invocation: ProjectInvocation, place: str) -> Result:
    """Show what waits in a job, again and again, until Ctrl-C."""
    if not invocation.terminal.is_screen:
        raise UnavailableError("--watch needs a terminal")
    try:
        while True:
            with closing(
                (_ServerJob if is_job_server(place) else _FileJob)(place)
            ) as job:
                _, text = _report(invocation, job)
            invocation.terminal.write(f"{_CLEAR_SCREEN}{text}")
            time.sleep(WATCHED_EVERY)
    except KeyboardInterrupt:
        return Result(0, {}, "")
    except (StorageError, ValueError, OSError) as error:
        raise UnavailableError(f"{without_credentials(place)}: {error}") from None


def _exported(requests: Iterable[tuple[str, bytes]]) -> Result:
    read = [
        (site_states.site_of_line(line), outline.outline(body))
        for line, body in requests
    ]
    found = [{"site": site, **about} for site, about in read if about is not None]
    unread = len(read) - len(found)
    remarks = [stored_report.unread_text(unread)] if unread else []
    lines = "".join(f"{json.dumps(one)}\n" for one in found)
    return Result(1 if unread else 0, {"requests": found}, lines, remarks)


def _added(
    job: _FileJob | _ServerJob, lines: Iterable[str], settings: Settings
) -> Result:
    fingerprint, why_not = outline.fingerprinter_of(settings)
    remarks = []
    if why_not:
        remarks = [stored_report.fingerprints_text(why_not)]

    def read_lines() -> Iterator[_NewRequest]:
        for number, line in enumerate(map(str.strip, lines), start=1):
            try:
                if line:
                    yield outline.read_outline(line, fingerprint)
            except Exception as error:  # noqa: BLE001, PERF203 -- each line, and a project's code
                remarks.append(f"line {number}: {error}")

    requests = read_lines()
    added = job.add(iter(lambda: [*islice(requests, _AT_ONCE)], []))
    return Result(
        1 if remarks else 0, {"added": added}, stored_report.added_text(added), remarks
    )


def _requeued(sites: list[str], wanted: str) -> Result:
    if sites:
        remarks = []
    else:
        remarks = [f"{wanted or 'no site'} is not paused, given up or set aside"]
    text = stored_report.requeued_text(sites)
    return Result(0 if sites else 1, {"requeued": sites}, text, remarks)
