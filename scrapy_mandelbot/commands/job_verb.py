"""The verb ``job``: what waits in a job, and why; to have sites asked again that were given up."""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from scrapy_mandelbot.commands.job import Result
from scrapy_mandelbot.commands.reports import waiting
from scrapy_mandelbot.commands.sources import CannotBeHadError
from scrapy_mandelbot.config import is_server, read_setting
from scrapy_mandelbot.crawl import STORE_FILE
from scrapy_mandelbot.jobs.job import CLAIMED, FILE, LOCK
from scrapy_mandelbot.jobs.kept_sites import IN_JOB
from scrapy_mandelbot.jobs.site_states import read_left
from scrapy_mandelbot.queue.names import key_of_name, section_of_name
from scrapy_mandelbot.shown import without_credentials
from scrapy_mandelbot.stores import KeptPause, SqliteStore
from scrapy_mandelbot.stores.job import CannotKeepError, JobLock, SqliteJob, connect_to_read
from scrapy_mandelbot.stores.job.schema import as_ours, read_states
from scrapy_mandelbot.stores.shared_job import JobServer
from scrapy_mandelbot.throttle import key_of, split_key

if TYPE_CHECKING:
    import sqlite3

    from scrapy_mandelbot.commands.job import Job
    from scrapy_mandelbot.politeness import LeftPause


def look_at_job(job: Job) -> Result:
    """Tell what waits, or have sites asked again whose pauses a run has left."""
    if is_server(job.args[0]):
        return _look_at_shared(job)
    folder = Path(job.args[0])
    path = folder / FILE
    if not path.exists():
        raise CannotBeHadError(f"{folder}: there is no job of JobScheduler's ({FILE})")
    is_running = JobLock(folder / LOCK).is_held()
    if job.args[1:]:
        return _requeue(folder, job.args[2] if job.args[2:] else None, is_running=is_running)
    try:
        found = _read(path)
    except CannotKeepError as error:
        raise CannotBeHadError(f"{path}: {error}") from None
    now = time.time()
    pauses = {
        key_of(site, one.route): KeptPause(one.until, one.reason, one.failed_probes)
        for site, one in found.left
        if not one.section
    }
    sections = {(site, one.section): one.until for site, one in found.left if one.section}
    tries = int(read_setting(job.settings, "pause_tries"))
    waits = waiting.Waits(now, tries, found.aside, pauses, sections=sections)
    store = _store(folder)
    if store is not None:
        waits = waits._replace(pauses=pauses | store.get_pauses(), turns=store.get_turns(now))
        store.close()
    report = waiting.of_job(found.lines, found.in_flight, waits)
    report |= {"folder": str(folder), "running": is_running}
    return Result(0, report, waiting.text(report, job.terminal.paint))


def _look_at_shared(job: Job) -> Result:
    """Tell what waits in a job on Redis, ``redis://…#NAME``."""
    url, _, name = job.args[0].partition("#")
    if not name or job.args[1:]:
        raise CannotBeHadError("a job on Redis is named after its address: redis://…/0#shops")
    try:
        server = JobServer(url, name, 1)
        lengths, workers = server.lengths(), server.workers()
        server.close()
    except (CannotKeepError, ValueError) as error:
        raise CannotBeHadError(f"{without_credentials(url)}: {error}") from None
    except ImportError as error:
        raise CannotBeHadError(f"{error}: pip install scrapy-mandelbot[redis]") from None
    lines = Counter({site: sum(counts) for site, counts in lengths.items()})
    in_flight = Counter({site: claimed for site, (_, claimed) in lengths.items() if claimed})
    waits = waiting.Waits(time.time(), int(read_setting(job.settings, "pause_tries")), {})
    report = waiting.of_job(lines, in_flight, waits)
    report |= {"folder": f"{without_credentials(url)}#{name}", "running": bool(workers)}
    return Result(0, report, waiting.text(report, job.terminal.paint))


class _Found(NamedTuple):
    """What there is in a job."""

    lines: Counter[str]
    """How many requests, by site and route."""
    in_flight: Counter[str]
    """Of those, at the last commit."""
    aside: dict[str, Counter[str]]
    """Of those that wait, by section."""
    left: list[tuple[str, LeftPause]]
    """Sites, and their pauses that were not over."""


def _read(path: Path) -> _Found:
    """Return what there is in the file of a job.

    Raises:
        CannotKeepError: the file cannot be read.
    """
    database = connect_to_read(path)
    try:
        with as_ours():
            row = database.execute("SELECT value FROM state WHERE name = ?", (CLAIMED,)).fetchone()
            claimed = json.loads(row[0]) if row else []
            lines, in_flight = _by_line(database, None), _by_line(database, claimed)
            kept = read_states(database, IN_JOB)
    finally:
        database.close()
    aside: dict[str, Counter[str]] = defaultdict(Counter)
    for name, count in (lines - in_flight).items():
        if section := section_of_name(name):
            aside[key_of_name(name)][section] += count
    left = [
        (name.removeprefix(IN_JOB), one) for name, state in kept.items() for one in read_left(state)
    ]
    return _Found(_by_key(lines), _by_key(in_flight), aside, left)


def _by_key(lines: Counter[str]) -> Counter[str]:
    keys: Counter[str] = Counter()
    for name, count in lines.items():
        keys[key_of_name(name)] += count
    return keys


def _by_line(database: sqlite3.Connection, numbers: list[int] | None) -> Counter[str]:
    query = "SELECT name, count(*) FROM requests JOIN lines ON lines.line = abs(requests.line)"
    where, values = "", []
    if numbers is not None:
        where, values = " WHERE number IN (SELECT value FROM json_each(?))", [json.dumps(numbers)]
    return Counter(dict(database.execute(f"{query}{where} GROUP BY name", values)))


def _requeue(folder: Path, site: str | None, *, is_running: bool) -> Result:
    if is_running:
        raise CannotBeHadError(f"{folder}: a run has this job; its console can resume a site")
    keys = _forget_pauses(folder, site)
    text = "".join(f"{waiting.named(key)} is asked again by the next run\n" for key in keys)
    remarks = [] if keys else [f"{site or 'no site'} is not paused or given up"]
    return Result(0 if keys else 1, {"requeued": keys}, text, remarks)


def _forget_pauses(folder: Path, site: str | None) -> list[str]:
    """Forget the pauses of one site, or of all; return of which sites and routes there were any."""
    keys = []
    store = _store(folder)
    if store is not None:
        keys = [key for key in store.get_pauses() if site in {None, split_key(key)[0]}]
        for key in keys:
            store.put_pause(key, None)
        store.close()
    try:
        job = SqliteJob(folder / FILE)
        try:
            for name in job.get_states(IN_JOB if site is None else IN_JOB + site):
                kept = name.removeprefix(IN_JOB)
                if site in {None, kept}:
                    job.put_state(name, None)
                    keys.append(kept)
            job.commit()
        finally:
            job.close()
    except CannotKeepError as error:
        raise CannotBeHadError(f"{folder / FILE}: {error}") from None
    return sorted(set(keys))


def _store(folder: Path) -> SqliteStore | None:
    path = folder / STORE_FILE
    return SqliteStore(path) if path.exists() else None
